//! Makes text that is not ours harmless for a terminal and for a CI log. Pure.
//!
//! Control and bidirectional characters could redraw a terminal or hide a change from a reviewer; CI
//! systems run commands that they find in a log: `::name` and `##[name]`
//! (<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>).

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_yaml::{DoubleQuoted, SerializerOptions};

use crate::submission::excerpt::is_printable;

/// Text for people: dangerous characters as `\u{..}`, workflow commands broken up with a backslash.
pub fn text(raw: &str) -> String {
    let mut shown = String::with_capacity(raw.len());
    for (index, character) in raw.char_indices() {
        if !is_printable(character) {
            write!(shown, "\\u{{{:x}}}", u32::from(character)).expect("writing to a String");
            continue;
        }
        if begins_command(&raw[index..]) {
            shown.push('\\');
        }
        shown.push(character);
    }
    shown
}

/// Several lines of text for people: as [`text`], line by line.
pub fn lines(raw: &str) -> String {
    raw.lines().map(text).collect::<Vec<_>>().join("\n")
}

/// Another program's output, which comes in pieces that end anywhere.
#[derive(Debug, Default)]
pub struct Stream {
    /// The end of the piece before, as far as a command could begin in it.
    end: String,
    /// The piece before ended with a carriage return, which is left out before a line feed only.
    is_returning: bool,
    /// The begin of a character whose end has not come yet.
    held: Vec<u8>,
}

impl Stream {
    /// One piece of bytes for people, with all whole characters that came so far.
    pub(super) fn bytes(&mut self, raw: &[u8]) -> String {
        self.held.extend_from_slice(raw);
        let whole = self.held.len() - begun(&self.held);
        let text = String::from_utf8_lossy(&self.held[..whole]).into_owned();
        self.held.drain(..whole);
        self.piece(&text)
    }

    /// What was held for a character that never became whole.
    pub(super) fn rest(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.piece(&String::from_utf8_lossy(&held))
    }

    /// One piece for people: line feeds and tabs stay, and a prompt without an end of line is shown at once.
    pub fn piece(&mut self, raw: &str) -> String {
        let begin = if self.is_returning { "\r" } else { "" };
        let whole = format!("{begin}{raw}");
        let raw = whole.trim_end_matches('\r');
        self.is_returning = raw.len() < whole.len();
        let joined = format!("{}{raw}", self.end);
        let is_split = self.end.char_indices().any(|(index, _)| {
            !begins_command(&self.end[index..]) && begins_command(&joined[index..])
        });
        let start = joined.char_indices().rev().map(|(index, _)| index).take(2).last();
        let columns = |line: &str| line.split('\t').map(text).collect::<Vec<_>>().join("\t");
        let lines = raw.split('\n').map(|line| columns(line.trim_end_matches('\r')));
        let shown = lines.collect::<Vec<_>>().join("\n");
        joined[start.unwrap_or(0)..].clone_into(&mut self.end);
        if is_split { format!("\\{shown}") } else { shown }
    }
}

/// How many bytes at the end begin a character of UTF-8 that may still be completed.
fn begun(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last().map(|chunk| chunk.invalid()).unwrap_or_default();
    let may_go_on = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
    if may_go_on { last.len() } else { 0 }
}

/// JSON text: the same characters as escapes, which change no value.
pub fn json(serialised: &str) -> String {
    // Outside of strings JSON is plain ASCII without `:` or `#` pairs, so this only meets strings.
    escape(serialised, |character, shown| {
        for unit in character.encode_utf16(&mut [0; 2]) {
            write!(shown, "\\u{unit:04x}").expect("writing to a String");
        }
    })
}

/// A document as YAML for people: one value a line, never folded, the same characters as escapes.
///
/// Values are read back as they were. So are keys without invisible characters, which are all that harness, profiles and
/// Kubernetes have; in another the escape stays what it looks like.
pub fn yaml(document: &Value) -> Result<String> {
    let options = yaml_options();
    let serialised = serde_yaml::to_string_with_options(&Quoted(document), options)
        .context("cannot write YAML")?;
    // `Quoted` has put every text that needs an escape into double quotes, where YAML reads escapes.
    Ok(escape(&serialised, |character, shown| {
        write!(shown, "\\U{:08x}", u32::from(character)).expect("writing to a String");
    }))
}

/// Long texts stay in their line: folded ones are hard to compare and to search.
pub fn yaml_options() -> SerializerOptions {
    serde_yaml::ser_options! { prefer_block_scalars: false }
}

fn escape(serialised: &str, write_escape: impl Fn(char, &mut String)) -> String {
    if is_plainly_harmless(serialised) {
        return serialised.to_owned();
    }
    let mut shown = String::with_capacity(serialised.len());
    for (index, character) in serialised.char_indices() {
        let is_layout = character == '\n';
        if (!is_printable(character) && !is_layout) || begins_command(&serialised[index..]) {
            write_escape(character, &mut shown);
        } else {
            shown.push(character);
        }
    }
    shown
}

/// A value whose texts stand in double quotes where they hold what has to be escaped.
struct Quoted<'a>(&'a Value);

impl Serialize for Quoted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) if text_is_dangerous(text) => {
                DoubleQuoted(text.as_str()).serialize(serializer)
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Quoted)),
            Value::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    if text_is_dangerous(key) {
                        map.serialize_entry(&DoubleQuoted(key.as_str()), &Quoted(value))?;
                    } else {
                        map.serialize_entry(key, &Quoted(value))?;
                    }
                }
                map.end()
            }
            plain => plain.serialize(serializer),
        }
    }
}

/// The usual case, told without looking at each character: printable ASCII and line feeds, no workflow command.
fn is_plainly_harmless(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
        && COMMANDS.iter().all(|begin| !text.contains(begin))
}

fn text_is_dangerous(text: &str) -> bool {
    let is_one_line = !text.contains('\n');
    if is_one_line && is_plainly_harmless(text) {
        return false;
    }
    text.char_indices()
        .any(|(index, character)| !is_printable(character) || begins_command(&text[index..]))
}

/// How a workflow command begins. `::` counts at any place: a log may add text before it.
const COMMANDS: [&str; 2] = ["::", "##["];

fn begins_command(rest: &str) -> bool {
    COMMANDS.iter().any(|begin| rest.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_dangerous_is_left() {
        assert_eq!(text("plain é 漢 🚀"), "plain é 漢 🚀");
        assert_eq!(text("a\u{1b}[31mb\r\n"), "a\\u{1b}[31mb\\u{d}\\u{a}");
        assert_eq!(text("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(text("x ::error file=a::b"), "x \\::error file=a\\::b");
        assert_eq!(text("##[error]x"), "\\##[error]x");
        assert_eq!(text(":::warning"), "\\:\\::warning");
        assert_eq!(lines("a\n::b"), "a\n\\::b");
    }

    #[test]
    fn a_command_in_two_pieces_is_broken_up_too() {
        let check = |whole: &str, shown: &str| {
            let bare = shown.replace("\\::", "").replace("\\##[", "");
            assert!(!bare.contains("##[") && !bare.contains("::"), "{shown}");
            assert_eq!(shown.replace('\\', ""), whole);
        };
        for whole in ["::error file=a::b", "x ##[error]y", ":::warning", "a: b\n::c", "Password:"] {
            for cut in 0..=whole.len() {
                let mut stream = Stream::default();
                let (first, second) = whole.split_at(cut);
                check(whole, &(stream.piece(first) + &stream.piece(second)));
            }
            let mut stream = Stream::default();
            let single: String =
                whole.chars().map(|one| stream.piece(one.encode_utf8(&mut [0; 4]))).collect();
            check(whole, &single);
        }
    }

    #[test]
    fn output_keeps_its_columns() {
        let mut stream = Stream::default();
        assert_eq!(stream.piece("a\tb\r\n\t::c\u{1b}\n"), "a\tb\n\t\\::c\\u{1b}\n");
    }

    #[test]
    fn a_carriage_return_between_two_pieces_hides_no_command() {
        let shown = |pieces: &[&str]| {
            let mut stream = Stream::default();
            pieces.iter().map(|piece| stream.piece(piece)).collect::<String>()
        };
        assert_eq!(shown(&[":\r", ":error"]), ":\\u{d}:error");
        assert_eq!(shown(&["a\r", "\nb\r", "\n"]), "a\nb\n");
        assert_eq!(shown(&["a\r", "", "b"]), "a\\u{d}b");
    }

    #[test]
    fn json_keeps_its_values() {
        let value = serde_json::json!({"a": "x ##[group] ::set-output \u{202e}\u{200b} é \u{1b}", "b": [1, null]});
        for serialised in [serde_json::to_string(&value), serde_json::to_string_pretty(&value)] {
            let shown = json(&serialised.unwrap());
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
            assert!(!shown.contains("##[") && !shown.contains("::"));
            assert!(shown.chars().all(|c| is_printable(c) || c == '\n'));
        }
    }

    #[test]
    fn yaml_keeps_its_values_and_never_folds() {
        let long = "word ".repeat(60) + "end";
        let value = serde_json::json!({
            "dangerous": "x ##[group] ::set-output \u{202e}\u{200b}\u{e0001} é \u{1b}[31m\r\n\ttab \u{7f}\u{85}",
            "key \u{1b} ::": {"a": ["::x", "plain", ": ", "# no comment", "- 1", "yes", "1e3", "null", "", " "]},
            "long": long,
            "lines": "first\nsecond\n",
            "numbers": [0, -1, 1.5, u64::MAX, true, null],
            "quotes": "a \" b ' c \\ d \\n",
            "empty": [{}, []],
        });
        let shown = yaml(&value).unwrap();
        assert_eq!(serde_yaml::from_str::<Value>(&shown).unwrap(), value, "{shown}");
        assert!(!shown.contains("##[") && !shown.contains("::"), "{shown}");
        assert!(shown.chars().all(|c| is_printable(c) || c == '\n'), "{shown}");
        assert!(shown.lines().any(|line| line == format!("long: {long}")), "{shown}");
    }

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
