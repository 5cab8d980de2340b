//! Writes the archive: every byte of the output is read once, hashed, compressed and hashed again on its way.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use rustix::fs::{self, FileType, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::entry::{Kind, blocks, padding};
use super::seal::Seal;
use super::survey::open_root;
use super::{
    BLOCK, EVIDENCE_NAME, LEVEL, Node, OUTPUT_PREFIX, Oddity, OddityReason, readable_name,
};
use crate::submission::Sha256Digest;

/// How much is read and written at a time.
const CHUNK: usize = 256 << 10;

/// A file in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its path below the output folder.
    pub name: String,
    /// SHA-256 of what the archive holds of it.
    pub digest: Sha256Digest,
}

/// What was packed of the output.
#[derive(Debug, Default)]
pub struct Contents {
    /// Files in the order of the archive.
    pub files: Vec<FileEntry>,
    /// Bytes of all files.
    pub bytes: u64,
    /// What could not be opened after all.
    pub left_out: Vec<Oddity>,
    /// What changed under way.
    pub changed: Vec<Oddity>,
}

/// A finished archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of the whole archive.
    pub digest: Sha256Digest,
    /// SHA-256 of the evidence in it.
    pub evidence: Sha256Digest,
}

/// An archive that is being written. Its errors are of the file that it goes to, never of the output.
pub struct Packer<W: Write> {
    encoder: GzEncoder<Sink<W>>,
}

struct Sink<W: Write> {
    to: BufWriter<W>,
    hasher: Sha256,
    written: u64,
}

impl<W: Write> Write for Sink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes)?;
        self.hasher.update(bytes);
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn member<W: Write>(sink: W) -> GzEncoder<W> {
    // 255: no known system (RFC 1952, section 2.3.1).
    GzBuilder::new().mtime(0).operating_system(255).write(sink, Compression::new(LEVEL))
}

impl<W: Write> Packer<W> {
    /// An archive at the beginning of `to`.
    pub fn new(to: W) -> Self {
        let to = BufWriter::with_capacity(CHUNK, to);
        Self { encoder: member(Sink { to, hasher: Sha256::new(), written: 0 }) }
    }

    /// Packs the surveyed `nodes` of the output folder `root`.
    pub fn output(&mut self, root: &Path, nodes: &[Node]) -> io::Result<Contents> {
        let mut contents = Contents::default();
        let root = open_root(root)?;
        let mut buffer = vec![0; CHUNK];
        self.encoder.write_all(&blocks(OUTPUT_PREFIX, Kind::Folder, 0))?;
        for node in nodes {
            let inside = [OUTPUT_PREFIX, &node.path].concat();
            if node.size.is_none() {
                self.encoder.write_all(&blocks(&inside, Kind::Folder, 0))?;
                continue;
            }
            match open_file(&root, &node.path) {
                Ok((file, size)) => {
                    self.file(&inside, file, size, &mut buffer, &mut contents)?;
                }
                Err(reason) => {
                    contents.left_out.push(Oddity { name: readable_name(&node.path), reason });
                }
            }
        }
        Ok(contents)
    }

    fn file(
        &mut self,
        inside: &[u8],
        mut file: File,
        size: u64,
        buffer: &mut [u8],
        contents: &mut Contents,
    ) -> io::Result<()> {
        self.encoder.write_all(&blocks(inside, Kind::File, size))?;
        let mut hasher = Sha256::new();
        let mut left = size;
        let mut change = None;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(buffer.len()).min(buffer.len());
            let read =
                if change.is_some() { 0 } else { read_some(&mut file, &mut buffer[..wanted]) };
            let read = if read == 0 {
                change = Some(OddityReason::Shrunk);
                buffer[..wanted].fill(0);
                wanted
            } else {
                read
            };
            hasher.update(&buffer[..read]);
            self.encoder.write_all(&buffer[..read])?;
            left -= read as u64;
        }
        if change.is_none() && read_some(&mut file, &mut buffer[..1]) == 1 {
            change = Some(OddityReason::Grown);
        }
        self.encoder.write_all(&[0; BLOCK][..padding(size)])?;
        let name = readable_name(&inside[OUTPUT_PREFIX.len()..]);
        contents.changed.extend(change.map(|reason| Oddity { name: name.clone(), reason }));
        contents.bytes += size;
        let digest = Sha256Digest::from_bytes(hasher.finalize().into());
        contents.files.push(FileEntry { name, digest });
        Ok(())
    }

    /// Adds the evidence and the seal, and ends the archive.
    pub fn finish(self, evidence: &[u8]) -> io::Result<Packed> {
        let sink = self.encoder.finish()?;
        let evidence_at = sink.written;
        let mut encoder = member(sink);
        encoder.write_all(&blocks(EVIDENCE_NAME, Kind::File, evidence.len() as u64))?;
        encoder.write_all(evidence)?;
        encoder.write_all(&[0; BLOCK][..padding(evidence.len() as u64)])?;
        encoder.write_all(&[0; 2 * BLOCK])?;
        let mut sink = encoder.finish()?;
        let before = Sha256Digest::from_bytes(sink.hasher.clone().finalize().into());
        sink.write_all(&Seal { evidence_at, digest: before }.to_bytes())?;
        sink.flush()?;
        Ok(Packed {
            bytes: sink.written,
            digest: Sha256Digest::from_bytes(sink.hasher.finalize().into()),
            evidence: Sha256Digest::of(evidence),
        })
    }
}

/// What cannot be read ends the file.
fn read_some(file: &mut File, buffer: &mut [u8]) -> usize {
    loop {
        match file.read(buffer) {
            Ok(read) => return read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return 0,
        }
    }
}

/// Opens a file level by level; a link, or anything but a file, is refused also if it was put there a moment ago.
fn open_file(root: &OwnedFd, path: &[u8]) -> Result<(File, u64), OddityReason> {
    let mut folder: Option<OwnedFd> = None;
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let above = folder.as_ref().unwrap_or(root);
        let kind = if parts.peek().is_some() { OFlags::DIRECTORY } else { OFlags::NONBLOCK };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY | kind;
        folder =
            Some(fs::openat(above, part, flags, Mode::empty()).map_err(|error| match error {
                Errno::ACCESS | Errno::PERM => OddityReason::Unreadable,
                _ => OddityReason::Vanished,
            })?);
    }
    let opened = folder.ok_or(OddityReason::Vanished)?;
    let stat = fs::fstat(&opened).map_err(|_| OddityReason::Unreadable)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(OddityReason::Vanished);
    }
    Ok((File::from(opened), u64::try_from(stat.st_size).unwrap_or(0)))
}
