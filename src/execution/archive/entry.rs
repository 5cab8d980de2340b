//! The blocks that stand before each entry of the tar: one form for each path, kind and size. Pure.
//!
//! GNU's form, since it has room for every path and size: <https://www.gnu.org/software/tar/manual/html_node/Standard.html>.

use tar::{EntryType, Header};

use super::BLOCK;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A folder; its path ends with a slash.
    Folder,
    /// A file.
    File,
}

/// The bytes of a name in a header.
const NAME_BYTES: usize = 100;

/// The header of an entry, with the one for its long name before it where that is needed.
pub(super) fn blocks(path: &[u8], kind: Kind, size: u64) -> Vec<u8> {
    let mut blocks = Vec::with_capacity(BLOCK);
    if path.len() > NAME_BYTES {
        let with_end = path.len() as u64 + 1;
        let long = header(b"././@LongLink", EntryType::GNULongName, 0o644, with_end);
        blocks.extend_from_slice(long.as_bytes());
        blocks.extend_from_slice(path);
        blocks.push(0);
        blocks.resize(blocks.len().next_multiple_of(BLOCK), 0);
    }
    let (entry_type, mode) = match kind {
        Kind::Folder => (EntryType::Directory, 0o755),
        Kind::File => (EntryType::Regular, 0o644),
    };
    let header = header(&path[..path.len().min(NAME_BYTES)], entry_type, mode, size);
    blocks.extend_from_slice(header.as_bytes());
    blocks
}

/// No time, no owner, no host: what differs from machine to machine is left out.
fn header(name: &[u8], entry_type: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(entry_type);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header.set_cksum();
    header
}

/// How many zeros follow a content of `size` bytes.
pub(super) fn padding(size: u64) -> usize {
    let beyond = usize::try_from(size % BLOCK as u64).expect("less than a block");
    (BLOCK - beyond) % BLOCK
}
