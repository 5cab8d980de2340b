//! The archive's bytes: frozen, the same for the same output, hard to fool.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::submission::Sha256Digest;

fn pack(root: &Path) -> (Vec<u8>, Contents, Packed) {
    let surveyed = survey(root, 1000).unwrap();
    let mut bytes = Vec::new();
    let mut archive = Packer::new(&mut bytes);
    let contents = archive.output(root, &surveyed.nodes).unwrap();
    let packed = archive.finish(b"{}").unwrap();
    (bytes, contents, packed)
}

fn sample() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("a")).unwrap();
    fs::write(root.path().join("a/x"), "one").unwrap();
    fs::write(root.path().join("a-b"), "two").unwrap();
    fs::write(root.path().join("z".repeat(200)), vec![7; 1500]).unwrap();
    fs::create_dir(root.path().join("empty")).unwrap();
    root
}

#[test]
fn the_bytes_are_frozen() {
    let root = sample();
    let (bytes, contents, packed) = pack(root.path());
    assert_eq!(packed.digest, Sha256Digest::of(&bytes));
    assert_eq!(packed.bytes, bytes.len() as u64);
    let names: Vec<&str> = contents.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a-b", "a/x", "z".repeat(200).as_str()]);
    // Compressed data may differ with another version of zlib-rs; the tar may not.
    let mut tar = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut tar)
        .unwrap();
    assert_eq!(
        Sha256Digest::of(&tar).to_hex(),
        "100dee73f324c3c6aefa033e95687acd0a87207ab095e5e4ae39a527fb02150d"
    );
    let found = read(&bytes[..]).unwrap();
    assert_eq!(found.files, contents.files);
    assert_eq!((found.bytes, found.evidence.as_slice(), found.output), (1506, &b"{}"[..], true));
    assert_eq!(found.digest, packed.digest);
}

#[test]
fn without_output_there_is_evidence_alone() {
    let mut bytes = Vec::new();
    Packer::new(&mut bytes).finish(b"{}").unwrap();
    let found = read(&bytes[..]).unwrap();
    assert!(!found.output && found.files.is_empty());
    assert_eq!(found.evidence, b"{}");
}

#[test]
fn any_changed_bit_is_found() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("a"), "some content that compresses, content").unwrap();
    let (bytes, ..) = pack(root.path());
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            assert!(read(&changed[..]).is_err(), "bit {bit} of byte {at}");
        }
    }
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "cut at {length}");
    }
    assert!(read(&[&bytes[..], &[0]].concat()[..]).is_err());
}

#[test]
fn the_evidence_is_found_from_the_end() {
    let root = sample();
    let (bytes, ..) = pack(root.path());
    let (before, last) = bytes.split_at(bytes.len() - SEAL_BYTES);
    let seal = Seal::parse(last).unwrap();
    let member = &before[usize::try_from(seal.evidence_at).unwrap()..];
    assert_eq!(evidence_of_member(member).unwrap(), b"{}");
    assert!(evidence_of_member(&[member, &[0]].concat()).is_err());
    assert!(evidence_of_member(&member[1..]).is_err());
}

#[test]
fn what_is_odd_is_left_out_and_said() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    fs::write(at("file"), "content").unwrap();
    fs::hard_link(at("file"), at("hard")).unwrap();
    symlink("/etc/passwd", at("link")).unwrap();
    symlink("/etc", at("folder-link")).unwrap();
    symlink("loop", at("loop")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    // A character device of number 0 is what overlay file systems mark removed files with, and anybody may make it.
    let device = rustix::fs::FileType::CharacterDevice;
    rustix::fs::mknodat(rustix::fs::CWD, at("device"), device, rustix::fs::Mode::RWXU, 0).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    fs::write(at("line\nfeed"), "1").unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"odd%\xff");
    fs::write(root.path().join(odd), "2").unwrap();
    let surveyed = survey(root.path(), 1000).unwrap();
    let mut left_out: Vec<(String, OddityReason)> =
        surveyed.left_out.into_iter().map(|oddity| (oddity.name, oddity.reason)).collect();
    left_out.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("device", OddityReason::Device),
        ("folder-link", OddityReason::SymbolicLink),
        ("link", OddityReason::SymbolicLink),
        ("loop", OddityReason::SymbolicLink),
        ("pipe", OddityReason::Pipe),
        ("socket", OddityReason::Socket),
    ];
    assert_eq!(left_out, expected.map(|(name, reason)| (name.to_owned(), reason)));
    let (bytes, contents, _) = pack(root.path());
    let names: Vec<&str> = contents.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["file", "hard", "line%0Afeed", "odd%25%FF"]);
    assert_eq!(contents.files[0].digest, contents.files[1].digest);
    read(&bytes[..]).unwrap();
}

#[test]
fn what_changes_under_way_is_said() {
    let root = tempfile::tempdir().unwrap();
    for name in ["gone", "linked", "piped"] {
        fs::write(root.path().join(name), "0123456789").unwrap();
    }
    let surveyed = survey(root.path(), 1000).unwrap();
    fs::remove_file(root.path().join("gone")).unwrap();
    fs::remove_file(root.path().join("linked")).unwrap();
    symlink("/etc/passwd", root.path().join("linked")).unwrap();
    fs::remove_file(root.path().join("piped")).unwrap();
    let pipe = root.path().join("piped");
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, pipe, fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    let mut bytes = Vec::new();
    let mut archive = Packer::new(&mut bytes);
    let contents = archive.output(root.path(), &surveyed.nodes).unwrap();
    archive.finish(b"{}").unwrap();
    assert!(contents.files.is_empty());
    assert!(contents.left_out.iter().all(|oddity| oddity.reason == OddityReason::Vanished));
    assert_eq!(contents.left_out.len(), 3);
    read(&bytes[..]).unwrap();
}

/// Does something once, when so many bytes of the archive have been written.
struct Disturbed<'a> {
    bytes: Vec<u8>,
    after: usize,
    disturb: Option<Box<dyn FnOnce() + 'a>>,
}

impl std::io::Write for Disturbed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= self.after
            && let Some(disturb) = self.disturb.take()
        {
            disturb();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Packs a file that does not compress and meets this when about half of it has been read.
fn pack_disturbed(disturb: impl FnOnce(&Path)) -> (Contents, Found) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("file");
    let mut state = 1_u32;
    let content: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(4 << 20)
    .collect();
    fs::write(&path, &content).unwrap();
    let surveyed = survey(root.path(), 1000).unwrap();
    let disturb: Box<dyn FnOnce()> = Box::new(|| disturb(&path));
    let mut disturbed = Disturbed { bytes: Vec::new(), after: 2 << 20, disturb: Some(disturb) };
    let mut archive = Packer::new(&mut disturbed);
    let contents = archive.output(root.path(), &surveyed.nodes).unwrap();
    archive.finish(b"{}").unwrap();
    assert!(disturbed.disturb.is_none());
    let found = read(&disturbed.bytes[..]).unwrap();
    assert_eq!(found.files, contents.files);
    assert_eq!(found.bytes, 4 << 20, "the size that was announced");
    (contents, found)
}

fn open(path: &Path) -> fs::File {
    fs::File::options().append(true).open(path).unwrap()
}

#[test]
fn a_file_that_changes_while_it_is_read() {
    let change =
        |contents: &Contents| contents.changed.iter().map(|odd| odd.reason).collect::<Vec<_>>();
    let (untouched, _) = pack_disturbed(|_| {});
    assert_eq!(change(&untouched), []);
    // The descriptor holds the whole file, whatever becomes of its name.
    for disturb in [
        |path: &Path| fs::remove_file(path).unwrap(),
        |path: &Path| {
            fs::write(path.with_extension("new"), "other").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        },
    ] as [fn(&Path); 2]
    {
        let (contents, _) = pack_disturbed(disturb);
        assert_eq!(change(&contents), []);
        assert_eq!(contents.files, untouched.files);
    }
    let (grown, _) =
        pack_disturbed(|path| std::io::Write::write_all(&mut open(path), b"more").unwrap());
    assert_eq!(change(&grown), [OddityReason::Grown]);
    // What stood there at first is there.
    assert_eq!(grown.files, untouched.files);
    for length in [0, 1 << 20, (4 << 20) - 1] {
        let (shrunk, _) = pack_disturbed(|path| open(path).set_len(length).unwrap());
        assert_eq!(change(&shrunk), [OddityReason::Shrunk], "{length}");
        assert_ne!(shrunk.files[0].digest, untouched.files[0].digest);
    }
    // Cut and filled up again: the size is right, and the digest is that of what was packed.
    let (refilled, _) = pack_disturbed(|path| {
        open(path).set_len(1 << 20).unwrap();
        open(path).set_len(4 << 20).unwrap();
    });
    assert_eq!(change(&refilled), []);
    assert_ne!(refilled.files[0].digest, untouched.files[0].digest);
}

#[test]
fn a_full_disk_is_an_error_of_the_archive() {
    let root = sample();
    let surveyed = survey(root.path(), 1000).unwrap();
    let mut archive = Packer::new(fs::File::options().write(true).open("/dev/full").unwrap());
    let ended = archive.output(root.path(), &surveyed.nodes).map(|_| archive.finish(b"{}"));
    let error = ended.map_or_else(Some, Result::err).unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn limits_hold() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = root.path().to_owned();
    for _ in 0..MAX_DEPTH + 2 {
        folder.push("d");
    }
    fs::create_dir_all(&folder).unwrap();
    let surveyed = survey(root.path(), 1000).unwrap();
    assert_eq!(surveyed.left_out[0].reason, OddityReason::TooDeep);
    assert_eq!(surveyed.nodes.len(), MAX_DEPTH);
    assert!(survey(root.path(), 5).unwrap().too_many);
    let sparse = tempfile::tempdir().unwrap();
    fs::File::create(sparse.path().join("giant")).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(survey(sparse.path(), 5).unwrap().bytes, 1 << 40);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_same_output_gives_the_same_bytes(
        files in prop::collection::btree_map("[a-c./-]{1,4}", prop::collection::vec(any::<u8>(), 0..1200), 1..8),
        seed in any::<u64>(),
    ) {
        let names: Vec<(&String, &Vec<u8>)> = files
            .iter()
            .filter(|(name, _)| !name.split('/').any(|part| matches!(part, "" | "." | "..")))
            .collect();
        let build = |reversed: bool| {
            let root = tempfile::tempdir().unwrap();
            let order: Vec<_> = if reversed { names.iter().rev().collect() } else { names.iter().collect() };
            for (name, content) in order {
                let path = root.path().join(name);
                // A name may be a folder of another one; whichever order, files of the longest names win.
                if names.iter().any(|(other, _)| other.starts_with(&format!("{name}/"))) {
                    continue;
                }
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, content).unwrap();
                if reversed {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
                    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seed % 1_000_000);
                    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
                }
            }
            root
        };
        let (one, other) = (build(false), build(true));
        let (bytes, contents, _) = pack(one.path());
        prop_assert_eq!(&bytes, &pack(other.path()).0);
        prop_assert_eq!(read(&bytes[..]).unwrap().files, contents.files);
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>) {
        prop_assert!(read(&bytes[..]).is_err());
        prop_assert!(Seal::parse(&bytes).is_none());
    }
}
