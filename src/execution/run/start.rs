//! What must hold before the runner may be started: nothing ran here, and everything still fits into the pod's time.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::{Refusal, Settings};
use crate::clock::Clock;
use crate::execution::{Category, Places, pod_start};

/// The folder in scratch that is the container's `/tmp`; the kubelet makes it with the mount.
pub(super) const TEMPORARY: &str = "tmp";

/// Refuses folders that hold something: a runner was there already.
///
/// This is only the first look. What decides is `publish`'s go, whose marker lies out of the runner's reach.
pub(super) fn refuse_an_earlier_start(places: &Places) -> Result<(), Refusal> {
    for (name, folder) in [("output", places.output()), ("scratch", places.scratch())] {
        let is_empty = match name {
            "output" => is_empty(&folder),
            _ => is_empty_but_for_temporary(&folder),
        };
        match is_empty {
            Ok(true) => {}
            Ok(false) => {
                return Err(Refusal::new(
                    Category::AlreadyStarted,
                    format!("the {name} folder holds something: a runner was started here before"),
                    "nothing is run twice: read the result if there is one, or submit with a new attempt_id",
                ));
            }
            Err(error) => {
                return Err(Refusal::new(
                    Category::Environment,
                    format!("the {name} folder {} cannot be read: {error}", folder.display()),
                    "the Job mounts it; check that nothing changed the Job on its way",
                ));
            }
        }
    }
    Ok(())
}

fn is_empty(folder: &Path) -> io::Result<bool> {
    Ok(fs::read_dir(folder)?.next().transpose()?.is_none())
}

fn is_empty_but_for_temporary(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != TEMPORARY
            || !entry.file_type()?.is_dir()
            || !is_empty(&entry.path())?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses a runner whose whole budget and the publication behind it do not fit any more.
///
/// The pod's deadline is the sum of pull, staging, budget and publication, so this refuses exactly when pulling and
/// staging took longer than their allowances together. A shorter budget than the submission's is never given.
pub(super) fn refuse_what_does_not_fit(
    settings: &Settings,
    clock: &dyn Clock,
) -> Result<(), Refusal> {
    let (output, scratch) = (settings.places.output(), settings.places.scratch());
    let age = pod_start::age(&[&output, &scratch], clock.now());
    let left = Duration::from_secs(settings.pod_deadline).saturating_sub(age);
    let needed = Duration::from_secs(u64::from(settings.max_seconds) + settings.publication);
    if left >= needed {
        return Ok(());
    }
    Err(Refusal::new(
        Category::OutOfTime,
        format!(
            "the pod has {} s left of its {} s, and the budget of {} s and {} s of publication no longer fit",
            left.as_secs(),
            settings.pod_deadline,
            settings.max_seconds,
            settings.publication
        ),
        "pulling the images and staging took longer than the profile allows: choose a profile with larger `pull` and `staging` allowances",
    ))
}

/// Whether `stage` left a resume.
pub(super) fn has_resume(places: &Places) -> bool {
    places.resume().exists()
}

/// Outside of a pod nobody makes the folder for temporary files.
pub(super) fn make_temporary_folder(places: &Places) -> io::Result<()> {
    match fs::create_dir(places.scratch().join(TEMPORARY)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::below(folder.path());
        fs::create_dir(places.output()).unwrap();
        fs::create_dir(places.scratch()).unwrap();
        (folder, places)
    }

    #[test]
    fn empty_folders_are_a_first_start() {
        let (_folder, places) = places();
        assert!(refuse_an_earlier_start(&places).is_ok());
        make_temporary_folder(&places).unwrap();
        make_temporary_folder(&places).unwrap();
        assert!(refuse_an_earlier_start(&places).is_ok());
    }

    #[test]
    fn anything_else_is_not() {
        let (_folder, places) = places();
        make_temporary_folder(&places).unwrap();
        let category = || refuse_an_earlier_start(&places).err().map(|refusal| refusal.category);
        for left in
            [places.output().join("a"), places.scratch().join("a"), places.scratch().join("tmp/a")]
        {
            fs::write(&left, "").unwrap();
            assert_eq!(category(), Some(Category::AlreadyStarted), "{left:?}");
            fs::remove_file(left).unwrap();
            assert_eq!(category(), None);
        }
        fs::remove_dir(places.output()).unwrap();
        assert_eq!(category(), Some(Category::Environment));
    }
}
