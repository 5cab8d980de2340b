//! Walks a zip archive by its central directory: what each entry is, and that nothing stands before or behind it.

use std::cell::Cell;
use std::io::{Read, Seek, SeekFrom};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::UnpackError;
use super::metered::{Metered, broken};
use super::writer::{Writer, refused};

/// What the central directory may take: it is kept in memory.
const LONGEST_DIRECTORY: u64 = 16 << 20;
const EXCESS: &str = "its directory takes more than 16 MiB";
/// The longest target of a symbolic link.
const LONGEST_TARGET: u64 = 4096;
/// How the last record begins, and its length without the comment (APPNOTE.TXT, 4.3.16).
const END: &[u8] = b"PK\x05\x06";
const END_LENGTH: i64 = 22;

/// Unpacks everything.
pub(super) fn unpack(stream: impl Read + Seek, writer: &mut Writer) -> Result<(), UnpackError> {
    let allowed = Cell::new(LONGEST_DIRECTORY);
    let mut archive =
        ZipArchive::new(Metered::new(stream, &allowed, EXCESS)).map_err(|error| broken(&error))?;
    allowed.set(u64::MAX);
    if archive.has_duplicate_names() {
        return Err(UnpackError::Refused("it holds a name that is there twice".to_owned()));
    }
    for index in 0..archive.len() {
        entry(&mut archive, index, writer)?;
    }
    nothing_around(archive)
}

fn entry<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    writer: &mut Writer,
) -> Result<(), UnpackError> {
    let name = archive.name_for_index(index).and_then(Result::ok).unwrap_or_default();
    let name = name.as_bytes().to_owned();
    let mut entry = archive.by_index(index).map_err(|error| match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => {
            refused(&name, "an encrypted file")
        }
        error => broken(&error),
    })?;
    let name = entry.name_raw().to_owned();
    if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        let wrong =
            "a file that is compressed in a way that harness does not read (it reads deflate)";
        return Err(refused(&name, wrong));
    }
    let mode = entry.unix_mode().unwrap_or(0o644);
    match mode & 0o170_000 {
        0o120_000 => {
            let mut target = Vec::new();
            entry
                .by_ref()
                .take(LONGEST_TARGET)
                .read_to_end(&mut target)
                .map_err(|_| refused(&name, "a link that is broken"))?;
            writer.symbolic_link(&name, &target)
        }
        0 | 0o100_000 | 0o040_000 if name.ends_with(b"/") => writer.folder(&name),
        0 | 0o100_000 => writer.file(&name, mode & 0o100 != 0, &mut entry),
        0o040_000 => writer.folder(&name),
        _ => Err(refused(&name, "a device, pipe or socket")),
    }
}

/// What stands around an archive would be unpacked by one tool and not by another.
fn nothing_around<R: Read + Seek>(archive: ZipArchive<R>) -> Result<(), UnpackError> {
    if archive.offset() != 0 {
        return Err(UnpackError::Refused("it does not begin at its beginning".to_owned()));
    }
    let from_end = END_LENGTH + i64::try_from(archive.comment().len()).unwrap_or(i64::MAX / 2);
    let mut stream = archive.into_inner();
    let mut begin = [0; END.len()];
    stream
        .seek(SeekFrom::End(-from_end))
        .and_then(|_| stream.read_exact(&mut begin))
        .map_err(|error| broken(&error))?;
    if begin != END {
        return Err(UnpackError::Refused("it goes on behind its end".to_owned()));
    }
    Ok(())
}
