//! The archive that is published: a tar in gzip whose bytes depend on nothing but the output and the evidence.
//!
//! ```text
//! gzip member 1   output/, output/...      sorted by the bytes of their paths; empty when there is no output
//! gzip member 2   evidence.json, the end of the tar
//! gzip member 3   nothing but the seal     where member 2 begins, SHA-256 of members 1 and 2
//! ```
//!
//! A gzip file may have several members (RFC 1952, section 2.2), and every usual tool reads them as one stream. The
//! members let a reader find the evidence of a large archive with two short requests, and the seal leaves no bit,
//! not even the padding inside of compressed data, that could be changed unseen. Format version 1 is frozen.

mod entry;
mod names;
mod pack;
mod read;
mod seal;
mod survey;

#[cfg(test)]
mod tests;

pub use names::readable_name;
pub use pack::{Contents, FileEntry, Packed, Packer};
pub use read::{Break, Found, evidence_of_member, read};
pub use seal::{SEAL_BYTES, Seal};
pub use survey::{Node, Survey, survey};

use serde::{Deserialize, Serialize};

/// The folder of the output inside of the archive.
pub const OUTPUT_PREFIX: &[u8] = b"output/";

/// The evidence inside of the archive.
pub const EVIDENCE_NAME: &[u8] = b"evidence.json";

/// How hard to compress, 0 to 9: publication has an allowance, and the fastest level gives most of the gain.
const LEVEL: u32 = 1;

/// The unit of a tar.
const BLOCK: usize = 512;

/// The longest path below the output folder, in bytes: `PATH_MAX` of Linux.
pub const MAX_PATH_BYTES: usize = 4096;

/// How deep folders may lie in each other; each open one costs a descriptor.
pub const MAX_DEPTH: usize = 100;

/// Something in the output folder that is not, or not quite, in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Oddity {
    /// Its path below the output folder, spelt as in the subjects.
    pub name: String,
    /// What is odd about it.
    pub reason: OddityReason,
}

/// Why something is not, or not quite, in the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OddityReason {
    /// A symbolic link, which is not followed.
    SymbolicLink,
    /// A device, which is not opened.
    Device,
    /// A named pipe, which is not opened.
    Pipe,
    /// A socket.
    Socket,
    /// A file or folder that `publish` may not read.
    Unreadable,
    /// It was gone, or something else, when it was to be read.
    Vanished,
    /// Folders too deep in each other.
    TooDeep,
    /// A path that is too long.
    PathTooLong,
    /// A file that became longer while it was read: only its first bytes are there.
    Grown,
    /// A file that became shorter, or stopped being readable, while it was read: zeros stand for the rest.
    Shrunk,
}
