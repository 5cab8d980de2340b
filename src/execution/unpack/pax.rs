//! Extended headers of a tar (POSIX, pax interchange format): what in them would be read otherwise by another tool.
//!
//! The reader of archives takes `path`, `linkpath` and `size` from them by itself, and nothing else is used.

use std::io::Read;

use tar::PaxExtensions;

use super::UnpackError;
use super::metered::broken;

/// What decides where an entry goes and how long it is.
const DECISIVE: [&[u8]; 3] = [b"path", b"linkpath", b"size"];
/// GNU tar's sparse files in pax archives: the content is not where a reader looks that does not know them.
const SPARSE: &[u8] = b"GNU.sparse.";
/// The longest global header in bytes.
const LONGEST_GLOBAL: u64 = 1 << 20;

/// Checks the headers of one entry.
pub(super) fn check(records: PaxExtensions<'_>) -> Result<(), UnpackError> {
    let mut seen = [false; DECISIVE.len()];
    for record in records {
        // The reader splits records at line feeds, so what follows one inside of a value would be taken for a record.
        let record = record.map_err(|_| {
            refused("an extended header that is broken or has a line feed in a value; make it without --xattrs and --acls")
        })?;
        let key = record.key_bytes();
        if key.starts_with(SPARSE) {
            return Err(refused(
                "a sparse file in the pax form; make it without --sparse, or with --format=gnu",
            ));
        }
        if key == b"size" && record.value().ok().and_then(|text| text.parse::<u64>().ok()).is_none()
        {
            return Err(refused("an extended header whose size is no number"));
        }
        if let Some(index) = DECISIVE.iter().position(|decisive| *decisive == key)
            && std::mem::replace(&mut seen[index], true)
        {
            return Err(refused("an extended header that says the same thing twice"));
        }
    }
    Ok(())
}

/// Checks headers for all entries that follow, which the reader of archives passes over.
pub(super) fn check_global(content: &mut impl Read) -> Result<(), UnpackError> {
    let mut bytes = Vec::new();
    content.take(LONGEST_GLOBAL + 1).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
    if bytes.len() as u64 > LONGEST_GLOBAL {
        return Err(refused("a global header of more than 1 MiB"));
    }
    for record in PaxExtensions::new(&bytes) {
        let record = record.map_err(|error| broken(&error))?;
        let key = record.key_bytes();
        if DECISIVE.contains(&key) || key.starts_with(SPARSE) {
            return Err(refused("a global header that names or sizes the entries behind it"));
        }
    }
    Ok(())
}

fn refused(what: &str) -> UnpackError {
    UnpackError::Refused(format!("it holds {what}"))
}
