//! A container's output on its way to standard output: raw, or harmless where eyes see it.

use crate::cli::{neutral, terminal};

/// What has been shown of one container's output.
#[derive(Default)]
pub(super) struct Output {
    has_shown: bool,
    stream: neutral::Stream,
    ends_a_line: bool,
}

impl Output {
    /// Shows the next piece, which may end anywhere.
    pub(super) fn take(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        self.has_shown = true;
        self.ends_a_line = piece.last() == Some(&b'\n');
        if !terminal::is_seen() {
            terminal::raw(piece);
            return;
        }
        terminal::raw(self.stream.bytes(piece).as_bytes());
    }

    /// Whether there was any.
    pub(super) fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// A prompt of the shell must not stand behind the last line.
    pub(super) fn end(&mut self) {
        if terminal::is_seen() {
            terminal::raw(self.stream.rest().as_bytes());
            if self.has_shown && !self.ends_a_line {
                terminal::raw(b"\n");
            }
        }
        self.ends_a_line = true;
    }
}
