//! Writes what an archive holds into a fresh folder: limits on bytes, number and ratio, each name once, fixed modes.
//!
//! Nothing is followed: the folder is new, every folder in it was made here, files are created exclusively, and
//! symbolic links come last, when nothing is written any more.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::names::{keys, link_target, parts};
use super::{Limits, UnpackError};

/// Unpacked bytes for each byte of the archive, beyond [`RATIO_FROM`]; deflate reaches 1032.
const MOST_RATIO: u64 = 1100;
/// Up to here no ratio is looked at: a small archive of zeros harms nobody.
const RATIO_FROM: u64 = 64 << 20;

const COPY_BUFFER: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Folder,
    File,
    Link,
}

pub(super) struct Writer {
    root: PathBuf,
    limits: Limits,
    archive_size: u64,
    entries: u64,
    bytes: u64,
    /// By the fold of the path: the path itself, and what it is.
    known: BTreeMap<u64, (u64, Kind)>,
    links: Vec<(PathBuf, String)>,
    buffer: Vec<u8>,
}

impl Writer {
    pub(super) fn create(
        root: &Path,
        limits: Limits,
        archive_size: u64,
    ) -> Result<Self, UnpackError> {
        make_folder(root)?;
        Ok(Self {
            root: root.to_owned(),
            limits,
            archive_size,
            entries: 0,
            bytes: 0,
            known: BTreeMap::new(),
            links: Vec::new(),
            buffer: vec![0; COPY_BUFFER],
        })
    }

    /// Makes a folder; one that is there already is the same folder.
    pub(super) fn folder(&mut self, raw: &[u8]) -> Result<(), UnpackError> {
        let parts = checked(raw)?;
        self.folders(&parts, raw)
    }

    /// Writes a file to its end; `executable` is all that is kept of its mode.
    pub(super) fn file(
        &mut self,
        raw: &[u8],
        executable: bool,
        content: &mut dyn Read,
    ) -> Result<(), UnpackError> {
        let path = self.place(raw, Kind::File)?;
        let mode = if executable { 0o755 } else { 0o644 };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)
            .map_err(|error| cannot_write(&error))?;
        self.copy(raw, content, &mut file)
    }

    fn copy(
        &mut self,
        raw: &[u8],
        content: &mut dyn Read,
        file: &mut File,
    ) -> Result<(), UnpackError> {
        loop {
            let read = match content.read(&mut self.buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(UnpackError::Refused(format!("{}: {error}", shown(raw))));
                }
            };
            self.bytes += read as u64;
            self.check_bytes()?;
            file.write_all(&self.buffer[..read]).map_err(|error| cannot_write(&error))?;
        }
    }

    fn check_bytes(&self) -> Result<(), UnpackError> {
        if self.bytes > self.limits.bytes {
            return Err(UnpackError::TooLarge(format!(
                "it unpacks to more than the {} bytes that are left beside it",
                self.limits.bytes
            )));
        }
        if self.bytes > RATIO_FROM && self.bytes / MOST_RATIO > self.archive_size {
            return Err(UnpackError::Refused(format!(
                "it unpacks to more than {MOST_RATIO} times its own size"
            )));
        }
        Ok(())
    }

    /// Remembers a symbolic link.
    pub(super) fn symbolic_link(&mut self, raw: &[u8], target: &[u8]) -> Result<(), UnpackError> {
        let depth = checked(raw)?.len().saturating_sub(1);
        let target = link_target(target, depth).map_err(|wrong| refused(raw, wrong))?;
        let path = self.place(raw, Kind::Link)?;
        if self.links.len() == self.limits.links {
            return Err(UnpackError::Refused(format!(
                "it holds more than {} symbolic links",
                self.limits.links
            )));
        }
        self.links.push((path, target));
        Ok(())
    }

    /// Makes a hard link to a file that the archive had before.
    pub(super) fn hard_link(&mut self, raw: &[u8], target: &[u8]) -> Result<(), UnpackError> {
        let parts = parts(target).map_err(|wrong| refused(raw, wrong))?;
        let (fold, exact) = keys(&parts);
        if self.known.get(&fold) != Some(&(exact, Kind::File)) {
            return Err(refused(raw, "a hard link to what is no earlier file of the archive"));
        }
        let path = self.place(raw, Kind::File)?;
        fs::hard_link(join(&self.root, &parts), path).map_err(|error| cannot_write(&error))
    }

    /// Makes the links; gives the number of entries and of bytes.
    pub(super) fn finish(self) -> Result<(u64, u64), UnpackError> {
        for (path, target) in &self.links {
            symlink(target, path).map_err(|error| cannot_write(&error))?;
        }
        Ok((self.entries, self.bytes))
    }

    /// The path of a new file or link, with its folders made.
    fn place(&mut self, raw: &[u8], kind: Kind) -> Result<PathBuf, UnpackError> {
        let parts = checked(raw)?;
        let Some((_, folders)) = parts.split_last() else {
            return Err(refused(raw, "a file without a name"));
        };
        if raw.ends_with(b"/") {
            return Err(refused(raw, "a file whose name ends with a slash"));
        }
        self.folders(folders, raw)?;
        let (fold, exact) = keys(&parts);
        match self.known.get(&fold) {
            None => {}
            Some((known, _)) if *known == exact => {
                return Err(refused(raw, "a name that is there twice"));
            }
            Some(_) => {
                return Err(refused(
                    raw,
                    "a name that differs from another in letter case or Unicode form only",
                ));
            }
        }
        self.add(fold, exact, kind)?;
        Ok(join(&self.root, &parts))
    }

    fn folders(&mut self, parts: &[String], raw: &[u8]) -> Result<(), UnpackError> {
        for depth in 1..=parts.len() {
            let (fold, exact) = keys(&parts[..depth]);
            match self.known.get(&fold) {
                Some((known, Kind::Folder)) if *known == exact => {}
                Some((known, _)) if *known == exact => {
                    return Err(refused(raw, "a folder where a file or link is"));
                }
                Some(_) => {
                    return Err(refused(
                        raw,
                        "a folder that differs from another name in letter case or Unicode form only",
                    ));
                }
                None => {
                    self.add(fold, exact, Kind::Folder)?;
                    make_folder(&join(&self.root, &parts[..depth]))?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, fold: u64, exact: u64, kind: Kind) -> Result<(), UnpackError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(UnpackError::Refused(format!(
                "it holds more than {} files, folders and links",
                self.limits.entries
            )));
        }
        self.known.insert(fold, (exact, kind));
        Ok(())
    }
}

fn make_folder(path: &Path) -> Result<(), UnpackError> {
    DirBuilder::new().mode(0o755).create(path).map_err(|error| cannot_write(&error))
}

fn join(root: &Path, parts: &[String]) -> PathBuf {
    let mut path = root.to_owned();
    path.extend(parts);
    path
}

fn checked(raw: &[u8]) -> Result<Vec<String>, UnpackError> {
    parts(raw).map_err(|wrong| refused(raw, wrong))
}

/// A refusal of one entry.
pub(super) fn refused(raw: &[u8], wrong: &str) -> UnpackError {
    UnpackError::Refused(format!("it holds {wrong}: {}", shown(raw)))
}

/// At most the first 60 characters of a name, escaped.
fn shown(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let short: String = text.chars().take(60).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}

fn cannot_write(error: &std::io::Error) -> UnpackError {
    UnpackError::Io(format!("the inputs volume cannot be written: {error}"))
}
