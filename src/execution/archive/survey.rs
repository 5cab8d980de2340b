//! What lies in the output folder, by names and kinds alone: nothing is followed, and nothing but folders is opened.
//!
//! The folder is hostile. Each level is opened below the open one above it, so that no link that is put into its place
//! meanwhile can lead elsewhere.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{MAX_DEPTH, MAX_PATH_BYTES, Oddity, OddityReason, readable_name};

/// A file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its path below the output folder; a folder's ends with a slash.
    pub path: Vec<u8>,
    /// The bytes of a file; none for a folder.
    pub size: Option<u64>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Survey {
    /// Files and folders by the bytes of their paths.
    pub nodes: Vec<Node>,
    /// What will not be in the archive.
    pub left_out: Vec<Oddity>,
    /// Bytes of all files, by their names: a file with two names counts twice, and holes count.
    pub bytes: u64,
    /// Whether the look ended early because there are more entries than allowed.
    pub too_many: bool,
}

/// Opens the folder itself, which must be one.
pub(super) fn open_root(root: &Path) -> io::Result<OwnedFd> {
    Ok(fs::open(root, FOLDER, Mode::empty())?)
}

/// Never a link, never another file: `O_DIRECTORY` refuses all but folders before they are opened.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Looks through `root`; what cannot be looked at is left out and said.
pub fn survey(root: &Path, most_entries: u64) -> io::Result<Survey> {
    let mut survey = Survey::default();
    let folder = open_root(root)?;
    let mut left = most_entries;
    walk(&folder, &mut Vec::new(), 0, &mut left, &mut survey)?;
    Ok(survey)
}

/// One name in a folder, with a slash behind it if it is one, so that names sort as whole paths do.
type Named = (Vec<u8>, fs::Stat);

fn walk(
    folder: &OwnedFd,
    path: &mut Vec<u8>,
    depth: usize,
    left: &mut u64,
    survey: &mut Survey,
) -> io::Result<()> {
    let own_length = path.len();
    for (name, stat) in list(folder, path, left, survey)? {
        if survey.too_many {
            return Ok(());
        }
        path.truncate(own_length);
        path.extend_from_slice(&name);
        if path.len() > MAX_PATH_BYTES {
            leave_out(survey, path, OddityReason::PathTooLong);
            continue;
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let size = u64::try_from(stat.st_size).unwrap_or(0);
                survey.bytes = survey.bytes.saturating_add(size);
                survey.nodes.push(Node { path: path.clone(), size: Some(size) });
            }
            FileType::Directory if depth == MAX_DEPTH => {
                leave_out(survey, path, OddityReason::TooDeep);
            }
            FileType::Directory => {
                match fs::openat(folder, without_slash(&name), FOLDER, Mode::empty()) {
                    Ok(inner) => {
                        survey.nodes.push(Node { path: path.clone(), size: None });
                        walk(&inner, path, depth + 1, left, survey)?;
                    }
                    Err(Errno::MFILE | Errno::NFILE) => return Err(Errno::MFILE.into()),
                    Err(Errno::ACCESS | Errno::PERM) => {
                        leave_out(survey, path, OddityReason::Unreadable);
                    }
                    Err(_) => leave_out(survey, path, OddityReason::Vanished),
                }
            }
            FileType::Symlink => leave_out(survey, path, OddityReason::SymbolicLink),
            FileType::Fifo => leave_out(survey, path, OddityReason::Pipe),
            FileType::Socket => leave_out(survey, path, OddityReason::Socket),
            _ => leave_out(survey, path, OddityReason::Device),
        }
    }
    path.truncate(own_length);
    Ok(())
}

fn without_slash(name: &[u8]) -> CString {
    let name = name.strip_suffix(b"/").unwrap_or(name);
    CString::new(name).expect("a name from a folder holds no NUL")
}

fn leave_out(survey: &mut Survey, path: &[u8], reason: OddityReason) {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    survey.left_out.push(Oddity { name: readable_name(path), reason });
}

fn list(
    folder: &OwnedFd,
    path: &[u8],
    left: &mut u64,
    survey: &mut Survey,
) -> io::Result<Vec<Named>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder.as_fd())? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if *left == 0 {
            survey.too_many = true;
            return Ok(Vec::new());
        }
        *left -= 1;
        match fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let mut name = name.to_vec();
                if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                    name.push(b'/');
                }
                names.push((name, stat));
            }
            Err(Errno::ACCESS | Errno::PERM) => {
                leave_out(survey, &[path, name].concat(), OddityReason::Unreadable);
            }
            Err(_) => leave_out(survey, &[path, name].concat(), OddityReason::Vanished),
        }
    }
    names.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(names)
}
