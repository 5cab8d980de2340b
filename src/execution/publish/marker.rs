//! The started marker: a file in the spool, out of the runner's reach, that exists once something may have run.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use crate::execution::{Category, Reason, Step};

const NAME: &str = "started";

/// Whether something may have run in the life of this volume.
pub(super) fn exists(spool: &Path) -> bool {
    fs::symlink_metadata(spool.join(NAME)).is_ok()
}

/// Makes the marker, which must not be there; it is on the disk when this returns.
pub(super) fn make(spool: &Path) -> io::Result<()> {
    let mut file = File::create_new(spool.join(NAME))?;
    file.write_all(b"the runner may have been started\n")?;
    file.sync_all()?;
    File::open(spool)?.sync_all()
}

/// Nothing is run twice.
pub(super) fn already_started() -> Reason {
    Reason::new(
        Step::Publish,
        Category::AlreadyStarted,
        "the spool says that the runner was started before in this pod; it is not started again, and nothing is published",
        "look for the result object, and submit with a new attempt_id if there is none",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_once() {
        let spool = tempfile::tempdir().unwrap();
        assert!(!exists(spool.path()));
        make(spool.path()).unwrap();
        assert!(exists(spool.path()));
        assert_eq!(make(spool.path()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
