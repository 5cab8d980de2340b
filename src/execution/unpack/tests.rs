//! Archives that are sound, and archives that are not.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tar::{Builder, EntryType, Header};

use super::*;

mod damaged;
mod forms;
mod limits;

const LIMITS: Limits = Limits { bytes: 1 << 20, entries: 1000, links: 100 };

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("snapshot")
    }

    fn unpack(&self, archive: &[u8], limits: Limits) -> Result<Unpacked, UnpackError> {
        let path = self.folder.path().join("archive");
        fs::write(&path, archive).unwrap();
        let ended = unpack(&path, &self.target(), limits);
        assert_eq!(path.exists(), ended.is_err(), "the archive is removed when it was used");
        ended
    }
}

fn header(name: &[u8], kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_cksum();
    header
}

/// Name, kind, mode, content or target.
type Entry<'a> = (&'a str, EntryType, u32, &'a str);

fn tar_of(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, mode, content) in entries {
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        let mut header =
            header(name.as_bytes(), *kind, *mode, if is_link { 0 } else { content.len() as u64 });
        if is_link {
            header.as_mut_bytes()[157..157 + content.len()].copy_from_slice(content.as_bytes());
            header.set_cksum();
            builder.append(&header, &b""[..]).unwrap();
        } else {
            builder.append(&header, content.as_bytes()).unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn sound_tar() -> Vec<u8> {
    tar_of(&[
        ("./", EntryType::Directory, 0o755, ""),
        ("a/", EntryType::Directory, 0o700, ""),
        ("a/run.sh", EntryType::Regular, 0o6755, "#!/bin/sh\n"),
        ("a/b/data", EntryType::Regular, 0o600, "data"),
        ("a/same", EntryType::Link, 0o600, "a/b/data"),
        ("link", EntryType::Symlink, 0o777, "a/b/data"),
        ("a/up", EntryType::Symlink, 0o777, "../link"),
    ])
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zst(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn zip_of(entries: &[(&str, u32, &str)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    for (name, mode, content) in entries {
        let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode);
        if mode & 0o170_000 == 0o120_000 {
            writer.add_symlink(*name, *content, options).unwrap();
        } else if name.ends_with('/') {
            writer.add_directory(*name, options).unwrap();
        } else {
            writer.start_file(*name, options).unwrap();
            writer.write_all(content.as_bytes()).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

fn sound_zip() -> Vec<u8> {
    zip_of(&[
        ("a/", 0o755, ""),
        ("a/run.sh", 0o755, "#!/bin/sh\n"),
        ("a/b/data", 0o600, "data"),
        ("link", 0o120_777, "a/b/data"),
    ])
}

#[test]
fn every_format_is_known_by_its_first_bytes() {
    let tar = sound_tar();
    let twice = {
        let (one, other) = tar.split_at(700);
        [zst(one), b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec(), zst(other)].concat()
    };
    let members = {
        let (one, other) = tar.split_at(700);
        [gz(one), gz(other)].concat()
    };
    for (format, archive) in [
        ("tar", tar.clone()),
        ("tar.gz", gz(&tar)),
        ("tar.gz", members),
        ("tar.zst", zst(&tar)),
        ("tar.zst", twice),
        ("zip", sound_zip()),
    ] {
        let place = Place::new();
        let unpacked = place.unpack(&archive, LIMITS).unwrap();
        assert_eq!(unpacked.format, format);
        let target = place.target();
        assert_eq!(fs::read(target.join("a/b/data")).unwrap(), b"data");
        assert_eq!(fs::read(target.join("link")).unwrap(), b"data", "{format}");
        let mode = |name: &str| fs::metadata(target.join(name)).unwrap().permissions().mode();
        assert_eq!(mode("a/run.sh") & 0o7100, 0o100, "{format}");
        assert_eq!(mode("a/b/data") & 0o7111, 0, "{format}");
    }
}

#[test]
fn what_is_no_archive_is_one_file() {
    for content in [
        &b""[..],
        b"P",
        b"hello",
        &[0; 10240],
        &gz(b"no tar"),
        &zst(b"no tar"),
        &gz(&sound_tar())[..40],
        &[0x1f, 0x8b, 8, 0, 0],
    ] {
        let place = Place::new();
        let unpacked = place.unpack(content, LIMITS).unwrap();
        assert_eq!((unpacked.format, unpacked.entries), ("file", 1));
        assert_eq!(fs::read(place.target().join("data")).unwrap(), content);
    }
}

#[test]
fn what_is_not_safe_is_refused() {
    let file = EntryType::Regular;
    let link = EntryType::Symlink;
    let cases: &[(&str, &[Entry<'_>])] = &[
        ("an absolute path", &[("/etc/x", file, 0o644, "")]),
        ("`..`", &[("../x", file, 0o644, "")]),
        ("`..`", &[("a/../../x", file, 0o644, "")]),
        ("a backslash", &[("..\\x", file, 0o644, "")]),
        ("a drive letter", &[("C:x", file, 0o644, "")]),
        ("a device", &[("x", EntryType::Char, 0o644, "")]),
        ("a device", &[("x", EntryType::Block, 0o644, "")]),
        ("a named pipe", &[("x", EntryType::Fifo, 0o644, "")]),
        ("absolute or odd path", &[("x", link, 0o777, "/etc")]),
        ("leads out", &[("x", link, 0o777, "..")]),
        ("leads out", &[("a/x", link, 0o777, "../../b")]),
        ("not at its beginning", &[("b", link, 0o777, "."), ("x", link, 0o777, "b/..")]),
        ("a file or link is", &[("x", link, 0o777, "y"), ("x/z", file, 0o644, "")]),
        ("no earlier file", &[("x", EntryType::Link, 0o644, "y")]),
        ("no earlier file", &[("y", link, 0o777, "z"), ("x", EntryType::Link, 0o644, "y")]),
        ("`..`", &[("x", EntryType::Link, 0o644, "../y")]),
        ("there twice", &[("x", file, 0o644, "1"), ("x", file, 0o644, "2")]),
        ("letter case", &[("x", file, 0o644, "1"), ("X", file, 0o644, "2")]),
        ("letter case", &[("a/x", file, 0o644, "1"), ("A/y", file, 0o644, "2")]),
        ("letter case", &[("\u{e9}", file, 0o644, "1"), ("e\u{301}", file, 0o644, "2")]),
        ("a file or link is", &[("x", file, 0o644, "1"), ("x/", EntryType::Directory, 0o755, "")]),
    ];
    for (wrong, entries) in cases {
        let place = Place::new();
        let error = place.unpack(&tar_of(entries), LIMITS).unwrap_err();
        assert!(matches!(error, UnpackError::Refused(_)), "{error:?}");
        assert!(error.to_string().contains(wrong), "{error} instead of {wrong}");
    }
    for (wrong, entries) in [
        ("`..`", &[("../x", 0o644, "")][..]),
        ("an absolute path", &[("/x", 0o644, "")]),
        ("absolute or odd", &[("x", 0o120_777, "/etc/passwd")]),
        ("letter case", &[("x", 0o644, ""), ("X", 0o644, "")]),
    ] {
        let error = Place::new().unpack(&zip_of(entries), LIMITS).unwrap_err();
        assert!(error.to_string().contains(wrong), "{error} instead of {wrong}");
    }
}

#[test]
fn what_is_broken_or_goes_on_is_refused() {
    let tar = sound_tar();
    let behind = [tar.clone(), tar.clone()].concat();
    let mut flipped = gz(&tar);
    let length = flipped.len();
    flipped[length - 6] ^= 1;
    for archive in [
        behind.clone(),
        gz(&behind),
        zst(&behind),
        [gz(&tar), b"garbage".to_vec()].concat(),
        [zst(&tar), b"garbage".to_vec()].concat(),
        flipped,
        gz(&tar)[..length - 4].to_vec(),
        tar[..1100].to_vec(),
        sound_zip()[..60].to_vec(),
    ] {
        let ended = Place::new().unpack(&archive, LIMITS);
        assert!(matches!(ended, Err(UnpackError::Refused(_))), "{ended:?}");
    }
}
