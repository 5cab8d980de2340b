//! Walks a zip archive by its central directory: what each entry is.

use std::cell::Cell;
use std::io::{Read, Seek};

use zip::ZipArchive;

use super::UnpackError;
use super::metered::{Metered, broken};
use super::writer::{Writer, refused};

/// What the central directory may take: it is kept in memory.
const LONGEST_DIRECTORY: u64 = 16 << 20;
const EXCESS: &str = "its directory takes more than 16 MiB";
/// The longest target of a symbolic link.
const LONGEST_TARGET: u64 = 4096;

/// Unpacks everything.
pub(super) fn unpack(stream: impl Read + Seek, writer: &mut Writer) -> Result<(), UnpackError> {
    let allowed = Cell::new(LONGEST_DIRECTORY);
    let mut archive = ZipArchive::new(Metered { stream, allowed: &allowed, excess: EXCESS })
        .map_err(|error| broken(&error))?;
    allowed.set(u64::MAX);
    if archive.has_duplicate_names() {
        return Err(UnpackError::Refused("it holds a name that is there twice".to_owned()));
    }
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| broken(&error))?;
        let name = entry.name_raw().to_owned();
        let mode = entry.unix_mode().unwrap_or(0o644);
        if entry.encrypted() {
            return Err(refused(&name, "an encrypted file"));
        }
        match mode & 0o170_000 {
            0o120_000 => {
                let mut target = Vec::new();
                entry
                    .by_ref()
                    .take(LONGEST_TARGET)
                    .read_to_end(&mut target)
                    .map_err(|_| refused(&name, "a link that is broken"))?;
                writer.symbolic_link(&name, &target)?;
            }
            0 | 0o100_000 | 0o040_000 if name.ends_with(b"/") => writer.folder(&name)?,
            0 | 0o100_000 => writer.file(&name, mode & 0o100 != 0, &mut entry)?,
            0o040_000 => writer.folder(&name)?,
            _ => return Err(refused(&name, "a device, pipe or socket")),
        }
    }
    Ok(())
}
