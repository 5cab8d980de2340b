//! The last lines of the runner's output, kept as they come and made harmless. Pure.

use crate::submission::excerpt::is_printable;

/// The most bytes of text that are kept.
pub(super) const TAIL_BYTES: usize = 16 << 10;

/// A line that is longer is kept in pieces.
const LONGEST_PART: usize = 4 << 10;

/// Two streams as one text: whole lines in the order in which they ended.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: Vec<u8>,
    begun: [Vec<u8>; 2],
}

impl Tail {
    /// Adds a piece of one of the two streams.
    pub(super) fn add(&mut self, stream: usize, piece: &[u8]) {
        // More than this can never be shown, whatever comes behind it.
        let piece = &piece[piece.len().saturating_sub(2 * TAIL_BYTES)..];
        let ended = piece.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if ended > 0 {
            self.kept.append(&mut self.begun[stream]);
            self.kept.extend_from_slice(&piece[..ended]);
        }
        self.begun[stream].extend_from_slice(&piece[ended..]);
        if self.begun[stream].len() > LONGEST_PART {
            self.kept.append(&mut self.begun[stream]);
        }
        // Twice the size before cutting, so that little is moved often.
        if self.kept.len() > 2 * TAIL_BYTES {
            self.kept.drain(..self.kept.len() - TAIL_BYTES);
        }
    }

    /// The text, at most [`TAIL_BYTES`] long.
    pub(super) fn text(&self) -> String {
        let mut all = self.kept.clone();
        for begun in &self.begun {
            if !begun.is_empty() && all.last().is_some_and(|byte| *byte != b'\n') {
                all.push(b'\n');
            }
            all.extend_from_slice(begun);
        }
        let text = harmless(&String::from_utf8_lossy(&all));
        let cut = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES));
        text[cut..].to_owned()
    }
}

/// Line feeds and tabs stay, a carriage return starts a line, and what could command a terminal is replaced.
fn harmless(text: &str) -> String {
    let shown = |character| match character {
        '\r' => '\n',
        '\n' | '\t' => character,
        _ if is_printable(character) => character,
        _ => '\u{fffd}',
    };
    text.replace("\r\n", "\n").chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_whole_and_in_the_order_of_their_ends() {
        let mut tail = Tail::default();
        tail.add(0, b"one, ");
        tail.add(1, b"two\nthr");
        tail.add(0, b"begun\n");
        tail.add(1, b"ee");
        assert_eq!(tail.text(), "two\none, begun\nthree");
        tail.add(0, b"four");
        assert_eq!(tail.text(), "two\none, begun\nfour\nthree");
    }

    #[test]
    fn a_flood_leaves_its_end() {
        let mut tail = Tail::default();
        for number in 0..100_000 {
            tail.add(0, format!("line {number}\n").as_bytes());
        }
        tail.add(1, &vec![b'x'; 1 << 20]);
        tail.add(0, b"the end\n");
        let text = tail.text();
        assert!(text.len() <= TAIL_BYTES && text.len() > TAIL_BYTES - 8, "{}", text.len());
        assert!(text.ends_with("xthe end\n"), "{}", &text[text.len() - 40..]);
        assert!(tail.kept.capacity() <= 8 * TAIL_BYTES);
    }

    #[test]
    fn nothing_in_it_commands_a_terminal() {
        let mut tail = Tail::default();
        tail.add(0, b"\x1b[2J\x00\x07 10%\r20%\r\nred\xff\xfe\n");
        tail.add(0, "tab\there, caf\u{e9}, \u{202e}evil\n".as_bytes());
        let text = tail.text();
        assert_eq!(
            text,
            "\u{fffd}[2J\u{fffd}\u{fffd} 10%\n20%\nred\u{fffd}\u{fffd}\ntab\there, café, \u{fffd}evil\n"
        );
        // Text of replacement characters is longer than its bytes were, and still bounded.
        tail.add(0, &vec![0xff; 1 << 20]);
        assert!(tail.text().len() <= TAIL_BYTES);
    }
}
