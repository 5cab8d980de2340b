//! Finds the runner's program as a shell would, and says in a sentence why it cannot be executed.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;

use super::Settings;
use super::program::{self, HEAD_BYTES};
use crate::submission::excerpt::excerpt;

/// Where programs are looked for when the image has no `PATH`; what container runtimes set then.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program that is there and says that it can be executed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Its file.
    pub(super) program: PathBuf,
    /// The command as it was given, the program's name first.
    pub(super) words: Vec<String>,
}

/// Finds the program of `words`, of which there is at least one.
pub(super) fn find(words: Vec<String>, settings: &Settings) -> Result<Found, String> {
    let name = words.first().map(String::as_str).unwrap_or_default();
    let program = if name.contains('/') {
        at_path(name, &settings.places.scratch())?
    } else {
        let path = settings.path.as_deref().unwrap_or(DEFAULT_PATH.as_ref());
        in_path(name, path)?
    };
    Ok(Found { program, words })
}

/// A name with a slash is a path, which begins at the folder that the runner starts in.
fn at_path(name: &str, scratch: &Path) -> Result<PathBuf, String> {
    let file = scratch.join(name);
    match executable(&file) {
        Ok(()) => Ok(file),
        Err(Errno::NOENT) if !name.starts_with('/') => Err(format!(
            "{} does not exist: a relative path begins at the scratch folder, where the runner starts, and that is empty",
            excerpt(name)
        )),
        Err(error) => Err(refusal(&excerpt(name), error)),
    }
}

fn in_path(name: &str, path: &std::ffi::OsStr) -> Result<PathBuf, String> {
    let mut there = None;
    for folder in std::env::split_paths(path).filter(|folder| folder.is_absolute()) {
        let file = folder.join(name);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            // As a shell does: it goes on, and tells of it when nothing else is found.
            Err(error) => there = there.or(Some((file, error))),
        }
    }
    match there {
        Some((file, error)) => Err(refusal(&excerpt(&file.to_string_lossy()), error)),
        None => Err(format!(
            "there is no program {} in any folder of the image's PATH ({})",
            excerpt(name),
            excerpt(&path.to_string_lossy())
        )),
    }
}

fn executable(file: &Path) -> Result<(), Errno> {
    let metadata = fs::metadata(file)
        .map_err(|error| error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))?;
    if metadata.is_dir() {
        return Err(Errno::ISDIR);
    }
    rustix::fs::access(file, Access::EXEC_OK)
}

fn refusal(name: &str, error: Errno) -> String {
    match error {
        Errno::NOENT => format!("{name} does not exist in the image"),
        Errno::ISDIR => format!("{name} is a folder"),
        Errno::ACCESS => {
            format!(
                "{name} is not executable for the user of the pod: `chmod a+rx` it when the image is built"
            )
        }
        other => format!("{name} cannot be executed: {}", io::Error::from(other)),
    }
}

/// Why the kernel refused to execute a program that was found.
pub(super) fn explain(file: &Path, error: &io::Error) -> String {
    let name = excerpt(&file.to_string_lossy());
    let kind = || program::kind(&head(file));
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => program::missing_part(&name, &kind()),
        Some(Errno::NOEXEC) => program::format_trouble(&name, &kind(), std::env::consts::ARCH),
        Some(Errno::TOOBIG) => {
            format!(
                "{name} cannot be given its arguments and environment: they are too long together"
            )
        }
        Some(Errno::ACCESS) => format!(
            "{name} or the interpreter that it names is not executable for the user of the pod, or lies on a volume that forbids it"
        ),
        _ => format!("{name} cannot be executed: {error}"),
    }
}

fn head(file: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    // What cannot be read tells nothing, and the kernel's own error is said then.
    let read =
        File::open(file).and_then(|file| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    if read.is_err() { Vec::new() } else { head }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn write(file: &Path, mode: u32) {
        fs::write(file, "#!/bin/sh\n").unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_name_is_looked_up_folder_by_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&first).unwrap();
        fs::create_dir(&second).unwrap();
        let path = std::env::join_paths([&first, &second]).unwrap();
        let cause = in_path("search", &path).unwrap_err();
        assert!(cause.starts_with("there is no program `search`"), "{cause}");
        write(&first.join("search"), 0o644);
        let cause = in_path("search", &path).unwrap_err();
        assert!(cause.contains("not executable"), "{cause}");
        write(&second.join("search"), 0o755);
        assert_eq!(in_path("search", &path), Ok(second.join("search")));
        write(&first.join("search"), 0o755);
        assert_eq!(in_path("search", &path), Ok(first.join("search")));
        fs::create_dir(first.join("data")).unwrap();
        assert!(in_path("data", &path).unwrap_err().contains("is a folder"));
    }

    #[test]
    fn a_path_begins_at_scratch() {
        let folder = tempfile::tempdir().unwrap();
        let cause = at_path("./search", folder.path()).unwrap_err();
        assert!(cause.contains("begins at the scratch folder"), "{cause}");
        assert_eq!(
            at_path("/none", folder.path()).unwrap_err(),
            "`/none` does not exist in the image"
        );
        assert_eq!(at_path("/bin/sh", folder.path()), Ok(PathBuf::from("/bin/sh")));
    }
}
