//! A container's output on its way to standard output: raw, or harmless where eyes see it.

use crate::cli::{neutral, terminal};

/// What has been shown of one container's output.
#[derive(Default)]
pub(super) struct Output {
    has_shown: bool,
    stream: neutral::Stream,
    /// The begin of a character whose end has not come yet.
    held: Vec<u8>,
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
        self.held.extend_from_slice(piece);
        let whole = self.held.len() - begun(&self.held);
        let text = String::from_utf8_lossy(&self.held[..whole]).into_owned();
        self.held.drain(..whole);
        terminal::raw(self.stream.piece(&text).as_bytes());
    }

    /// Whether there was any.
    pub(super) fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// A prompt of the shell must not stand behind the last line.
    pub(super) fn end(&mut self) {
        if terminal::is_seen() {
            let rest = String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned();
            terminal::raw(self.stream.piece(&rest).as_bytes());
            if self.has_shown && !self.ends_a_line {
                terminal::raw(b"\n");
            }
        }
        self.ends_a_line = true;
    }
}

/// How many bytes at the end begin a character of UTF-8 that may still be completed.
fn begun(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map(|chunk| chunk.invalid()).unwrap_or_default();
    let may_go_on = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if may_go_on { last.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_become_a_character_is_held() {
        let rocket = "🚀".as_bytes();
        for (bytes, held) in [
            (b"plain".to_vec(), 0),
            (rocket.to_vec(), 0),
            (rocket[..3].to_vec(), 3),
            ([b"\xff a ", &rocket[..2]].concat(), 2),
            (b"\xff".to_vec(), 0),
            ([&rocket[..2], b"x"].concat(), 0),
            (Vec::new(), 0),
        ] {
            assert_eq!(begun(&bytes), held, "{bytes:?}");
        }
    }
}
