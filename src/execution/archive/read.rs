//! Reads an archive and holds every byte of it to the format: what differs is named by its place.
//!
//! Whoever wrote it may be hostile: memory is bounded by the limits below, and nothing is written anywhere.

use std::fmt;
use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;
use sha2::{Digest as _, Sha256};
use tar::{EntryType, Header};

use super::entry::{Kind, blocks, padding};
use super::pack::FileEntry;
use super::seal::{SEAL_BYTES, Seal};
use super::{BLOCK, EVIDENCE_NAME, MAX_PATH_BYTES, OUTPUT_PREFIX, readable_name};
use crate::submission::Sha256Digest;

/// The largest evidence that is read.
const MAX_EVIDENCE_BYTES: u64 = 256 << 20;

/// The most entries that are read.
const MAX_ENTRIES: usize = 4_000_000;

/// Where and how an archive is not what the format says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break(String);

impl Break {
    fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Break {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a whole archive holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Whether the output folder is there.
    pub output: bool,
    /// Its files, in order, and what they really hash to.
    pub files: Vec<FileEntry>,
    /// Bytes of all files.
    pub bytes: u64,
    /// The evidence, byte for byte.
    pub evidence: Vec<u8>,
    /// SHA-256 of the whole archive.
    pub digest: Sha256Digest,
}

/// Reads a whole archive, once and to its end.
pub fn read(archive: impl BufRead) -> Result<Found, Break> {
    let mut tap = Tap { from: archive, hasher: Sha256::new(), taken: 0 };
    let mut found = Found {
        output: false,
        files: Vec::new(),
        bytes: 0,
        evidence: Vec::new(),
        digest: Sha256Digest::from_bytes([0; 32]),
    };
    output_member(&mut tap, &mut found)?;
    let evidence_at = tap.taken;
    found.evidence = evidence_member(&mut tap)?;
    let digest = Sha256Digest::from_bytes(tap.hasher.clone().finalize().into());
    let expected = Seal { evidence_at, digest };
    let mut last = Vec::new();
    let limit = SEAL_BYTES as u64 + 1;
    (&mut tap)
        .take(limit)
        .read_to_end(&mut last)
        .map_err(|error| unreadable("the seal", &error))?;
    match Seal::parse(&last) {
        Some(seal) if seal == expected => {}
        Some(_) => {
            return Err(Break::new(
                "the seal is of other bytes: the compressed data or the seal itself was changed",
            ));
        }
        None => return Err(Break::new(format!("no seal at byte {}", expected_at(&tap, &last)))),
    }
    found.digest = Sha256Digest::from_bytes(tap.hasher.finalize().into());
    Ok(found)
}

fn expected_at<R>(tap: &Tap<R>, last: &[u8]) -> u64 {
    tap.taken - last.len() as u64
}

/// The evidence alone, from the bytes between the place that a seal names and the seal itself.
pub fn evidence_of_member(member: &[u8]) -> Result<Vec<u8>, Break> {
    let mut tap = Tap { from: member, hasher: Sha256::new(), taken: 0 };
    let evidence = evidence_member(&mut tap)?;
    if tap.taken != member.len() as u64 {
        return Err(Break::new("something stands between the evidence and the seal"));
    }
    Ok(evidence)
}

/// Counts and hashes what is taken from the archive.
struct Tap<R> {
    from: R,
    hasher: Sha256,
    taken: u64,
}

impl<R: BufRead> Read for Tap<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Tap<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    /// Whoever calls has just seen the bytes through `fill_buf`.
    fn consume(&mut self, amount: usize) {
        if let Ok(bytes) = self.from.fill_buf() {
            self.hasher.update(&bytes[..amount]);
        }
        self.taken += amount as u64;
        self.from.consume(amount);
    }
}

fn unreadable(place: &str, error: &io::Error) -> Break {
    Break::new(format!("{place} cannot be read: {error}"))
}

fn output_member<R: BufRead>(tap: &mut Tap<R>, found: &mut Found) -> Result<(), Break> {
    let mut content = GzDecoder::new(tap);
    let mut before: Option<Vec<u8>> = None;
    while let Some(entry) = next_entry(&mut content, before.as_deref())? {
        let inside = match (&before, entry.kind) {
            (None, Kind::Folder) if entry.path == OUTPUT_PREFIX => b"".as_slice(),
            (None, _) => return Err(Break::new("the first entry is not the folder `output/`")),
            (Some(_), _) => inside_output(&entry.path)?,
        };
        if before.as_ref().is_some_and(|before| *before >= entry.path) {
            let name = readable_name(&entry.path);
            return Err(Break::new(format!("the entry `{name}` is not in the order of the paths")));
        }
        if found.files.len() == MAX_ENTRIES {
            return Err(Break::new(format!("more than {MAX_ENTRIES} files")));
        }
        if entry.kind == Kind::File {
            let name = readable_name(inside);
            let mut hasher = Sha256::new();
            take_content(&mut content, entry.size, &name, &mut |bytes| hasher.update(bytes))?;
            found.bytes = found.bytes.saturating_add(entry.size);
            let digest = Sha256Digest::from_bytes(hasher.finalize().into());
            found.files.push(FileEntry { name, digest });
        }
        found.output = true;
        before = Some(entry.path);
    }
    Ok(())
}

/// The path below the output folder, which leads nowhere else.
fn inside_output(path: &[u8]) -> Result<&[u8], Break> {
    let odd = |part: &[u8]| part.is_empty() || part == b"." || part == b"..";
    let below = path.strip_prefix(OUTPUT_PREFIX).filter(|below| {
        !below.contains(&0)
            && !below.strip_suffix(b"/").unwrap_or(below).split(|b| *b == b'/').any(odd)
    });
    below.ok_or_else(|| {
        Break::new(format!("the path `{}` is not below `output/`", readable_name(path)))
    })
}

fn evidence_member<R: BufRead>(tap: &mut Tap<R>) -> Result<Vec<u8>, Break> {
    let mut content = GzDecoder::new(tap);
    let entry = next_entry(&mut content, None)?
        .filter(|entry| entry.path == EVIDENCE_NAME && entry.kind == Kind::File)
        .ok_or_else(|| Break::new("`evidence.json` is not where it must be, after the output"))?;
    if entry.size > MAX_EVIDENCE_BYTES {
        return Err(Break::new(format!("`evidence.json` has {} bytes", entry.size)));
    }
    let mut evidence = Vec::new();
    take_content(&mut content, entry.size, "evidence.json", &mut |bytes| {
        evidence.extend_from_slice(bytes);
    })?;
    let mut end = Vec::new();
    let limit = 2 * BLOCK as u64 + 1;
    content
        .take(limit)
        .read_to_end(&mut end)
        .map_err(|error| unreadable("the end of the tar", &error))?;
    if end != [0; 2 * BLOCK] {
        return Err(Break::new(
            "the tar does not end with two blocks of zeros after `evidence.json`",
        ));
    }
    Ok(evidence)
}

struct Entry {
    path: Vec<u8>,
    kind: Kind,
    size: u64,
}

/// The next entry, whose header must be, byte for byte, the one that harness writes for it.
fn next_entry(content: &mut impl Read, before: Option<&[u8]>) -> Result<Option<Entry>, Break> {
    let place = || match before {
        None => "the first header".to_owned(),
        Some(before) => format!("the header after `{}`", readable_name(before)),
    };
    let Some(mut raw) = block(content, &place)? else { return Ok(None) };
    let mut long_name = None;
    let first = Header::from_byte_slice(&raw);
    if first.entry_type() == EntryType::GNULongName {
        let length = usize::try_from(first.entry_size().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        if length > OUTPUT_PREFIX.len() + MAX_PATH_BYTES + 1 || length == 0 {
            return Err(Break::new(format!("{} has a name of {length} bytes", place())));
        }
        let with_padding = length.next_multiple_of(BLOCK);
        let start = raw.len();
        raw.resize(start + with_padding, 0);
        content.read_exact(&mut raw[start..]).map_err(|error| unreadable(&place(), &error))?;
        long_name = Some(raw[start..start + length - 1].to_vec());
        let second = block(content, &place)?;
        raw.extend(second.ok_or_else(|| Break::new(format!("{} is cut off", place())))?);
    }
    let header = Header::from_byte_slice(&raw[raw.len() - BLOCK..]);
    let kind = match header.entry_type() {
        EntryType::Directory => Kind::Folder,
        EntryType::Regular => Kind::File,
        _ => return Err(Break::new(format!("{} is of neither a file nor a folder", place()))),
    };
    let size = header.entry_size().map_err(|error| unreadable(&place(), &error))?;
    let path = long_name.unwrap_or_else(|| header.path_bytes().into_owned());
    let form_holds =
        (kind == Kind::Folder) == path.ends_with(b"/") && (kind == Kind::File || size == 0);
    if !form_holds || blocks(&path, kind, size) != raw {
        let name = readable_name(&path);
        return Err(Break::new(format!("the header of `{name}` is not as harness writes it")));
    }
    Ok(Some(Entry { path, kind, size }))
}

/// One block, or none at the end of the member.
fn block(content: &mut impl Read, place: &dyn Fn() -> String) -> Result<Option<Vec<u8>>, Break> {
    let mut raw = Vec::with_capacity(BLOCK);
    content
        .take(BLOCK as u64)
        .read_to_end(&mut raw)
        .map_err(|error| unreadable(&place(), &error))?;
    match raw.len() {
        0 => Ok(None),
        BLOCK => Ok(Some(raw)),
        _ => Err(Break::new(format!("{} is cut off", place()))),
    }
}

fn take_content(
    content: &mut impl Read,
    size: u64,
    name: &str,
    to: &mut dyn FnMut(&[u8]),
) -> Result<(), Break> {
    let place = || format!("the content of `{name}`");
    let mut buffer = vec![0; usize::try_from(size).unwrap_or(usize::MAX).clamp(1, 64 << 10)];
    let mut left = size;
    while left > 0 {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let read = match content.read(&mut buffer[..wanted]) {
            Ok(0) => return Err(Break::new(format!("{} is cut off", place()))),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(&place(), &error)),
        };
        to(&buffer[..read]);
        left -= read as u64;
    }
    let mut zeros = [0; BLOCK];
    let padding = &mut zeros[..padding(size)];
    content.read_exact(padding).map_err(|error| unreadable(&place(), &error))?;
    if padding.iter().any(|byte| *byte != 0) {
        return Err(Break::new(format!("{} is not followed by zeros", place())));
    }
    Ok(())
}
