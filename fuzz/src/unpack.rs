//! Archives that somebody else made, unpacked onto the disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use harness::execution::unpack::{self, Limits, UnpackError, Unpacked};
use tempfile::TempDir;

use crate::common::check_shown;

/// What may be unpacked here.
const LIMIT: u64 = 1 << 16;

/// The bytes of an archive; what looks like the header of a tar entry gets a right checksum.
///
/// Nothing is written beside the folder, no link leads out of it, sizes and numbers are within the limit and as reported,
/// no mode is special, and a tar is unpacked to the same in gzip.
pub fn unpack(data: &[u8]) {
    let plain = unpacked(data);
    let summed = with_checksums(data);
    let own = if summed == data { plain } else { unpacked(&summed) };
    if let Outcome { report: Some(report), .. } = &own
        && report.format == "tar"
    {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&summed).expect("memory takes everything");
        let other = unpacked(&encoder.finish().expect("memory takes everything"));
        assert_eq!(other.report.map(|report| report.format), Some("tar.gz"));
        assert_eq!(own.tree, other.tree);
    }
}

/// Headers of the later formats of tar say so at this place, and have their sum at that one.
fn with_checksums(data: &[u8]) -> Vec<u8> {
    let mut summed = data.to_vec();
    for block in summed.chunks_exact_mut(512).filter(|block| &block[257..262] == b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    summed
}

struct Outcome {
    report: Option<Unpacked>,
    tree: BTreeMap<PathBuf, String>,
}

fn unpacked(archive: &[u8]) -> Outcome {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    let base = base.expect("a folder can be made");
    let (path, target) = (base.path().join("archive"), base.path().join("inputs"));
    fs::write(&path, archive).expect("it can be written");
    fs::write(base.path().join("beside"), "untouched").expect("it can be written");
    let report = match unpack::unpack(&path, &target, Limits::of_bytes(LIMIT)) {
        Ok(report) => Some(report),
        Err(UnpackError::Refused(why) | UnpackError::TooLarge(why)) => {
            check_shown(&why);
            None
        }
        // No name is too long for a file system, and no path.
        Err(UnpackError::Io(why)) => panic!("{why}"),
    };
    assert_eq!(fs::read_to_string(base.path().join("beside")).ok().as_deref(), Some("untouched"));
    let beside = fs::read_dir(base.path()).expect("it can be listed");
    let beside: Vec<_> = beside.map(|entry| entry.expect("it can be listed").file_name()).collect();
    assert!(
        beside.iter().all(|name| name == "archive" || name == "beside" || name == "inputs"),
        "{beside:?}"
    );
    let mut tree = BTreeMap::new();
    let mut sizes = BTreeMap::new();
    if target.exists() {
        look(&target, Path::new(""), &mut tree, &mut sizes);
    }
    let bytes: u64 = sizes.values().sum();
    if let Some(report) = &report
        && report.format != "file"
    {
        assert!(bytes <= LIMIT && bytes == report.bytes, "{report:?} {bytes}");
        assert_eq!(tree.len() as u64, report.entries, "{tree:?}");
    }
    Outcome { report, tree }
}

/// Everything below a folder: its path and what it is; the size of each file, which may have several names.
fn look(
    root: &Path,
    inside: &Path,
    tree: &mut BTreeMap<PathBuf, String>,
    sizes: &mut BTreeMap<u64, u64>,
) {
    for entry in fs::read_dir(root.join(inside)).expect("it can be listed") {
        let path = inside.join(entry.expect("it can be listed").file_name());
        let whole = root.join(&path);
        let metadata = fs::symlink_metadata(&whole).expect("it is there");
        let what = if metadata.is_symlink() {
            let target = fs::read_link(&whole).expect("it is a link");
            check_inside(inside, &target);
            format!("to {}", target.display())
        } else {
            assert_eq!(metadata.permissions().mode() & 0o7000, 0, "{}", path.display());
            if metadata.is_dir() {
                look(root, &path, tree, sizes);
                "folder".to_owned()
            } else {
                assert!(metadata.is_file(), "{} is no file", path.display());
                sizes.insert(metadata.ino(), metadata.len());
                format!("{:?}", fs::read(&whole).expect("it can be read"))
            }
        };
        tree.insert(path, what);
    }
}

/// A link's target, step by step, never leaves the folder.
fn check_inside(folder: &Path, target: &Path) {
    let mut depth = folder.components().count();
    for component in target.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => {
                depth = depth
                    .checked_sub(1)
                    .unwrap_or_else(|| panic!("{} leads out", target.display()));
            }
            Component::RootDir | Component::Prefix(_) => panic!("{} leads out", target.display()),
        }
    }
}
