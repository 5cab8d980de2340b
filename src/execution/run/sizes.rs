//! How much the output and scratch folders hold, looked at again and again, so that too much is said and not evicted.
//!
//! The kubelet evicts a pod whose volume is over its size, and nothing could be published then. It looks every ten seconds
//! or less often; this looks sooner, and less often the longer a look takes. What cannot be read is not counted: the
//! runner can hide what it wrote, and gets the eviction that it asks for.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::supervise::Event;
use crate::clock::{Clock as _, SystemClock};
use crate::execution::report::Limit;

/// The shortest wait between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// A look may take one part in twenty of one processor's time.
const PARTS: u32 = 19;

/// The longest wait, however long a look takes.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// File systems have an inode for each 16 KiB of their size (`mke2fs`), and a volume its share of them.
const BYTES_AN_ENTRY: u64 = 16 << 10;

/// Small volumes hold small files too.
const FEWEST_ENTRIES: u64 = 10_000;

/// How many files and folders a volume of this size may hold.
pub fn entries_allowed(bytes: u64) -> u64 {
    (bytes / BYTES_AN_ENTRY).max(FEWEST_ENTRIES)
}

/// What a folder may hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowed {
    bytes: (u64, Limit),
    entries: (u64, Limit),
}

impl Allowed {
    /// The output folder of a volume of this size.
    pub(super) fn output(bytes: u64) -> Self {
        let entries = (entries_allowed(bytes), Limit::OutputEntries);
        Self { bytes: (bytes, Limit::OutputBytes), entries }
    }

    /// The scratch folder of a volume of this size.
    pub(super) fn scratch(bytes: u64) -> Self {
        let entries = (entries_allowed(bytes), Limit::ScratchEntries);
        Self { bytes: (bytes, Limit::ScratchBytes), entries }
    }
}

/// A thread that looks until it is dropped.
pub(super) struct SizeWatch {
    /// Dropped to end it.
    _stop: Sender<()>,
}

impl SizeWatch {
    /// Tells of the first folder that holds more than it may.
    pub(super) fn start(
        folders: Vec<(PathBuf, Allowed)>,
        events: Sender<Event>,
    ) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let task = move || {
            let mut pause = PAUSE;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let begun = SystemClock.boottime();
                let over = folders.iter().find_map(|(folder, allowed)| over(folder, allowed));
                if let Some(limit) = over {
                    let _ = events.send(Event::Over(limit));
                    return;
                }
                let taken = SystemClock.boottime().saturating_sub(begun);
                pause = (taken * PARTS).clamp(PAUSE, LONGEST_PAUSE);
            }
        };
        std::thread::Builder::new().name("sizes".to_owned()).spawn(task)?;
        Ok(Self { _stop: stop })
    }
}

/// The limit that `folder` is over. Links are not followed; a file with several names counts once, as for the kubelet.
fn over(folder: &Path, allowed: &Allowed) -> Option<Limit> {
    let (mut bytes, mut entries) = (0_u64, 0_u64);
    let mut seen = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        // Gone again, unreadable, or too deep for a path.
        let Ok(listed) = fs::read_dir(&folder) else { continue };
        for entry in listed.map_while(Result::ok) {
            entries += 1;
            if entries > allowed.entries.0 {
                return Some(allowed.entries.1);
            }
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                open.push(entry.path());
            } else if metadata.nlink() > 1 && !seen.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            // In units of 512 bytes, whatever the blocks of the file system: `man 3 stat`.
            bytes = bytes.saturating_add(metadata.blocks().saturating_mul(512));
            if bytes > allowed.bytes.0 {
                return Some(allowed.bytes.1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED_BYTES: u64 = 1 << 20;

    fn over_in(folder: &Path) -> Option<Limit> {
        over(folder, &Allowed::output(ALLOWED_BYTES))
    }

    #[test]
    fn bytes_count_once_a_file_and_not_through_links() {
        let folder = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let large = vec![1; 600 << 10];
        fs::create_dir(folder.path().join("deep")).unwrap();
        fs::write(folder.path().join("deep/a"), &large).unwrap();
        fs::write(other.path().join("b"), &large).unwrap();
        fs::hard_link(folder.path().join("deep/a"), folder.path().join("again")).unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("round")).unwrap();
        assert_eq!(over_in(folder.path()), None);
        fs::write(folder.path().join("deep/c"), &large).unwrap();
        assert_eq!(over_in(folder.path()), Some(Limit::OutputBytes));
    }

    #[test]
    fn a_hole_takes_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let file = fs::File::create(folder.path().join("sparse")).unwrap();
        file.set_len(1 << 30).unwrap();
        assert_eq!(over_in(folder.path()), None);
    }

    #[test]
    fn entries_count_whatever_they_are() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=FEWEST_ENTRIES {
            std::os::unix::fs::symlink("/none", folder.path().join(number.to_string())).unwrap();
        }
        assert_eq!(over_in(folder.path()), Some(Limit::OutputEntries));
        assert_eq!(entries_allowed(10 << 30), 655_360);
        assert_eq!(over_in(&folder.path().join("none")), None);
    }
}
