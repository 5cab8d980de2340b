//! The folder that stands for the pod's volumes: new or empty, made once, and removed when nothing in it can be lost.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::execution::control::SOCKET_NAME;
use crate::execution::{Category, Places, Reason, Step};

/// Nobody but this user has business in it.
const MODE: u32 = 0o700;

/// A folder for one attempt.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    is_temporary: bool,
}

impl Folder {
    /// The folder at `path`, which is made if it does not exist.
    pub fn named(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(MODE).create(path)?;
        // The runner starts in another folder and is told absolute paths.
        Ok(Self { path: path.canonicalize()?, is_temporary: false })
    }

    /// A new one below `parent`.
    pub fn temporary(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("harness-execute.").tempdir_in(parent)?;
        Ok(Self { path: folder.keep().canonicalize()?, is_temporary: true })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether nobody named it.
    pub fn is_temporary(&self) -> bool {
        self.is_temporary
    }

    /// Makes what stands for the volumes. Of two that begin at once in one folder, one fails here.
    pub(super) fn furnish(&self) -> Result<Places, Reason> {
        let places = Places::below(&self.path);
        if SocketAddr::from_pathname(places.control().join(SOCKET_NAME)).is_err() {
            return Err(self.unusable("its path is too long for the socket that has to lie in it"));
        }
        let entries = fs::read_dir(&self.path);
        let is_empty = entries.map(|mut entries| entries.next().is_none());
        if !is_empty.map_err(|error| self.unusable(&error.to_string()))? {
            return Err(self.already_started());
        }
        // The spool first: it holds the marker.
        for folder in
            [places.spool(), places.inputs(), places.control(), places.output(), places.scratch()]
        {
            DirBuilder::new().mode(MODE).create(&folder).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => self.already_started(),
                _ => self.unusable(&error.to_string()),
            })?;
        }
        Ok(places)
    }

    fn already_started(&self) -> Reason {
        Reason::new(
            Step::Stage,
            Category::AlreadyStarted,
            &format!(
                "the folder {} holds something: an attempt began there before",
                self.path.display()
            ),
            "a step is never run over an earlier start: look for the result object, or name a new or empty folder",
        )
    }

    fn unusable(&self, why: &str) -> Reason {
        Reason::new(
            Step::Stage,
            Category::Environment,
            &format!("the folder {} cannot be used: {why}", self.path.display()),
            "name another new or empty folder with `--root`",
        )
    }

    /// Removes it with everything in it.
    pub fn remove(self) -> io::Result<()> {
        if fs::remove_dir_all(&self.path).is_ok() {
            return Ok(());
        }
        // A runner may have left folders that nothing can be removed from, as Go's module cache does.
        open_up(&self.path);
        fs::remove_dir_all(&self.path)
    }
}

/// Makes every folder below `path` writable again, as far as that goes; links are not followed.
fn open_up(path: &Path) {
    let mut open = vec![path.to_owned()];
    while let Some(folder) = open.pop() {
        // Where this fails, the removal says why.
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(MODE));
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_furnished_once() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::named(&parent.path().join("new/one")).unwrap();
        let places = folder.furnish().unwrap();
        assert_eq!(fs::metadata(places.output()).unwrap().permissions().mode() & 0o777, MODE);
        assert_eq!(folder.furnish().unwrap_err().category, Category::AlreadyStarted);
        let again = Folder::named(folder.path()).unwrap();
        assert_eq!(again.furnish().unwrap_err().category, Category::AlreadyStarted);
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_said() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::named(&parent.path().join("x".repeat(120))).unwrap();
        let reason = folder.furnish().unwrap_err();
        assert!(reason.sentence.contains("too long"), "{reason:?}");
    }

    #[test]
    fn what_a_runner_closed_is_removed_all_the_same() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::temporary(parent.path()).unwrap();
        let path = folder.path().to_owned();
        let places = folder.furnish().unwrap();
        let inner = places.scratch().join("cache/deep");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), "").unwrap();
        for closed in [inner.clone(), places.scratch().join("cache")] {
            fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).unwrap();
        }
        std::os::unix::fs::symlink(parent.path(), places.scratch().join("link")).unwrap();
        folder.remove().unwrap();
        assert!(!path.exists() && parent.path().exists());
    }
}
