//! What a reader of archives may take into memory, and its errors in words.

use std::cell::Cell;
use std::fmt::Display;
use std::io::{self, Read, Seek, SeekFrom};

use super::UnpackError;

/// A stream of which no more than `allowed` bytes are read; who reads raises and lowers that as it goes.
pub(super) struct Metered<'a, R> {
    /// What is read.
    pub(super) stream: R,
    /// How many bytes are left.
    pub(super) allowed: &'a Cell<u64>,
    /// What is said when they do not suffice.
    pub(super) excess: &'static str,
    /// Whether the stream has ended: the last read found nothing more.
    pub(super) ended: bool,
}

impl<'a, R> Metered<'a, R> {
    /// A stream of which nothing has been read.
    pub(super) fn new(stream: R, allowed: &'a Cell<u64>, excess: &'static str) -> Self {
        Self { stream, allowed, excess, ended: false }
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.ended = read == 0 && !buffer.is_empty();
        match self.allowed.get().checked_sub(read as u64) {
            Some(left) => self.allowed.set(left),
            None => return Err(io::Error::other(self.excess)),
        }
        Ok(read)
    }
}

impl<R: Seek> Seek for Metered<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.stream.seek(to)
    }
}

/// An error of a library that reads archives, which may quote the archive.
pub(super) fn broken(error: &impl Display) -> UnpackError {
    let text: String = error.to_string().chars().take(150).collect();
    UnpackError::Refused(format!("it is broken: {}", text.escape_debug()))
}
