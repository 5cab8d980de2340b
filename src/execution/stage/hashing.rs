//! SHA-256 on a thread of its own, so that it overlaps with TLS and the disk; memory is a handful of buffers.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use sha2::{Digest as _, Sha256};

use crate::submission::Sha256Digest;

/// Bytes of one buffer.
const SIZE: usize = 256 * 1024;
/// Buffers under way.
const COUNT: usize = 8;

/// A buffer and how much of it is used.
pub(super) struct Buffer {
    pub(super) bytes: Vec<u8>,
    pub(super) used: usize,
}

/// Takes buffers in order and gives them back empty.
pub(super) struct Hasher {
    full: SyncSender<Buffer>,
    empty: Receiver<Buffer>,
    lent: usize,
    thread: JoinHandle<Sha256>,
}

impl Hasher {
    /// Starts with nothing hashed.
    pub(super) fn start() -> std::io::Result<Self> {
        let (full, filled) = mpsc::sync_channel::<Buffer>(COUNT);
        let (emptied, empty) = mpsc::sync_channel::<Buffer>(COUNT);
        let thread = thread::Builder::new().name("sha256".to_owned()).spawn(move || {
            let mut hash = Sha256::new();
            for buffer in filled {
                hash.update(&buffer.bytes[..buffer.used]);
                // Nobody waits for the last ones.
                let _ = emptied.send(buffer);
            }
            hash
        })?;
        Ok(Self { full, empty, lent: 0, thread })
    }

    /// An empty buffer.
    pub(super) fn buffer(&mut self) -> Buffer {
        if self.lent < COUNT {
            self.lent += 1;
            return Buffer { bytes: vec![0; SIZE], used: 0 };
        }
        let mut buffer = self.empty.recv().expect("the thread ends after its channel only");
        buffer.used = 0;
        buffer
    }

    /// Hashes what is used of a buffer.
    pub(super) fn add(&self, buffer: Buffer) {
        self.full.send(buffer).expect("the thread ends after its channel only");
    }

    /// The digest of everything.
    pub(super) fn finish(self) -> Sha256Digest {
        drop(self.full);
        drop(self.empty);
        let hash = self.thread.join().expect("hashing does not panic");
        Sha256Digest::from_bytes(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_in_one_go() {
        let content: Vec<u8> = (0..5_000_000_u32).map(|index| (index % 251) as u8).collect();
        let mut hasher = Hasher::start().unwrap();
        for part in content.chunks(100_000) {
            let mut buffer = hasher.buffer();
            buffer.bytes[..part.len()].copy_from_slice(part);
            buffer.used = part.len();
            hasher.add(buffer);
        }
        assert_eq!(hasher.finish(), Sha256Digest::of(&content));
    }
}
