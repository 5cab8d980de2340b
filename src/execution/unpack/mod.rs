//! Unpacks an archive that somebody else made: tar, tar.gz, tar.zst or zip by its first bytes, else one plain file.
//!
//! The archive's digest was right before, so it is what the submission names; that does not make it harmless. What is
//! written lies in a fresh folder that nobody else writes to, with names, kinds, sizes and numbers that `names.rs` and
//! `writer.rs` allow. A plain file becomes `data`.

mod metered;
mod names;
mod pax;
mod tarball;
mod writer;
mod zipped;
mod zstandard;

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use thiserror::Error;

use writer::Writer;

/// The most files, folders and links of one archive.
const MOST_ENTRIES: u64 = 500_000;
/// Symbolic links wait for the end, so their number is bounded further.
const MOST_LINKS: usize = 50_000;

/// What may be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of all files together, so that they and the archive fit the volume.
    pub bytes: u64,
    /// The most files, folders and links.
    pub entries: u64,
    /// The most symbolic links.
    pub links: usize,
}

impl Limits {
    /// The numbers that hold for every archive, and these bytes.
    pub fn of_bytes(bytes: u64) -> Self {
        Self { bytes, entries: MOST_ENTRIES, links: MOST_LINKS }
    }
}

/// Why an archive was not unpacked; what there is of it stays and may not be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnpackError {
    /// It is broken or not safe.
    #[error("{0}")]
    Refused(String),
    /// It is larger than what fits.
    #[error("{0}")]
    TooLarge(String),
    /// The volume cannot be written.
    #[error("{0}")]
    Io(String),
}

/// What was unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpacked {
    /// `tar`, `tar.gz`, `tar.zst`, `zip` or `file`.
    pub format: &'static str,
    /// Files, folders and links.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Buffer of what is read from the archive.
const BUFFER: usize = 128 * 1024;

/// Unpacks `archive` into the folder `target`, which must not exist yet, and removes it; a plain file is moved.
pub fn unpack(archive: &Path, target: &Path, limits: Limits) -> Result<Unpacked, UnpackError> {
    let broken = |error: io::Error| UnpackError::Io(format!("the archive cannot be read: {error}"));
    let size = fs::metadata(archive).map_err(broken)?.len();
    let format = format_of(archive).map_err(broken)?;
    let mut writer = Writer::create(target, limits, size)?;
    if format == "file" {
        fs::rename(archive, target.join("data")).map_err(|error| {
            UnpackError::Io(format!("the file cannot be moved into place: {error}"))
        })?;
        return Ok(Unpacked { format, entries: 1, bytes: size });
    }
    let file = File::open(archive).map_err(broken)?;
    let reader = BufReader::with_capacity(BUFFER, file);
    match format {
        "tar" => tarball::unpack(reader, &mut writer)?,
        "tar.gz" => tarball::unpack(MultiGzDecoder::new(reader), &mut writer)?,
        "tar.zst" => tarball::unpack(zstandard::Frames::new(reader), &mut writer)?,
        _ => zipped::unpack(reader, &mut writer)?,
    }
    let (entries, bytes) = writer.finish()?;
    fs::remove_file(archive)
        .map_err(|error| UnpackError::Io(format!("the archive cannot be removed: {error}")))?;
    Ok(Unpacked { format, entries, bytes })
}

/// The format by the first bytes; what is compressed and holds no tar is a plain file.
fn format_of(archive: &Path) -> io::Result<&'static str> {
    let mut file = File::open(archive)?;
    let head = head_of(&mut file);
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(file);
    Ok(match head.get(..4) {
        Some([b'P', b'K', 3, 4] | [b'P', b'K', 5, 6]) => "zip",
        Some([0x1f, 0x8b, 8, _]) if is_tar(&head_of(MultiGzDecoder::new(&mut reader))) => "tar.gz",
        Some([0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18])
            if is_tar(&head_of(zstandard::Frames::new(&mut reader))) =>
        {
            "tar.zst"
        }
        _ if is_tar(&head) => "tar",
        _ => "file",
    })
}

/// The first block, or what can be read of it.
fn head_of(reader: impl Read) -> Vec<u8> {
    let mut head = Vec::new();
    // What is broken is no archive, and then it is a plain file.
    let _ = reader.take(512).read_to_end(&mut head);
    head
}

/// Whether a block is the header of a tar entry: its checksum fits, which also the oldest form has.
fn is_tar(block: &[u8]) -> bool {
    let Ok(block) = <&[u8; 512]>::try_from(block) else { return false };
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(index, byte)| if (148..156).contains(&index) { 32 } else { u32::from(*byte) })
        .sum();
    let digits = std::str::from_utf8(&block[148..156]).unwrap_or_default();
    let digits = digits.trim_matches(['\0', ' ']);
    block[0] != 0 && u32::from_str_radix(digits, 8) == Ok(sum)
}

#[cfg(test)]
mod tests;
