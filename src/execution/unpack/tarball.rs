//! Walks a tar stream: what each entry is, and that nothing stands behind the end.

use std::cell::Cell;
use std::io::{self, Read};

use tar::{Archive, EntryType};

use super::UnpackError;
use super::metered::{Metered, broken};
use super::pax;
use super::writer::{Writer, refused};

/// What the headers of one entry may take: long names and pax records are kept in memory by the reader.
const LONGEST_HEADERS: u64 = 1 << 20;
const EXCESS: &str = "the headers of an entry take more than 1 MiB";

/// Unpacks everything.
pub(super) fn unpack(stream: impl Read, writer: &mut Writer) -> Result<(), UnpackError> {
    let allowed = Cell::new(LONGEST_HEADERS);
    let mut archive = Archive::new(Metered::new(stream, &allowed, EXCESS));
    let mut entries = archive.entries().map_err(|error| broken(&error))?;
    loop {
        allowed.set(LONGEST_HEADERS);
        let Some(entry) = entries.next() else { break };
        let mut entry = entry.map_err(|error| broken(&error))?;
        allowed.set(u64::MAX);
        let kind = entry.header().entry_type();
        // `git archive` writes one with the commit.
        if kind == EntryType::XGlobalHeader {
            pax::check_global(&mut entry)?;
        } else if let Some(records) = entry.pax_extensions().map_err(|error| broken(&error))? {
            pax::check(records)?;
        }
        let name = entry.path_bytes().into_owned();
        let link = entry.link_name_bytes().map(std::borrow::Cow::into_owned).unwrap_or_default();
        match kind {
            EntryType::Regular | EntryType::Continuous if name.ends_with(b"/") => {
                writer.folder(&name)?;
            }
            EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
                let executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
                writer.file(&name, executable, &mut entry)?;
            }
            EntryType::Directory => writer.folder(&name)?,
            EntryType::Symlink => writer.symbolic_link(&name, &link)?,
            EntryType::Link => writer.hard_link(&name, &link)?,
            EntryType::XGlobalHeader => {}
            EntryType::Char | EntryType::Block => return Err(refused(&name, "a device")),
            EntryType::Fifo => return Err(refused(&name, "a named pipe")),
            _ => return Err(refused(&name, "an entry of an unknown kind")),
        }
        // Entries without a content may announce one: it is skipped with a name for an error.
        io::copy(&mut entry, &mut io::sink()).map_err(|error| broken(&error))?;
    }
    allowed.set(u64::MAX);
    let rest = archive.into_inner();
    if rest.ended {
        let cut = "it ends without the mark of its end, so it may have been cut";
        return Err(UnpackError::Refused(cut.to_owned()));
    }
    only_zeros(rest)
}

/// Behind the end stands padding; anything else would be unpacked by one tool and not by another. It also brings the
/// decompressor to its checksum.
fn only_zeros(mut rest: impl Read) -> Result<(), UnpackError> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match rest.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) if buffer[..read].iter().all(|byte| *byte == 0) => {}
            Ok(_) => {
                return Err(UnpackError::Refused("it goes on behind its end".to_owned()));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(broken(&error)),
        }
    }
}
