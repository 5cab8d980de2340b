//! Strict JSON with places: what `serde_json` parses, minus what it is lenient about.
//!
//! `serde_json` knows the grammar; this file adds what it does not report: where each value starts,
//! keys that stand twice (last one wins there), and problems beyond the first. Numbers stay text, so
//! that `1e3` or a value beyond 64 bits is judged by the field that takes it. It never echoes input.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::problem::{Code, Fault, Position, Problem};
use super::{kind, syntax};

/// The largest document that is read, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The deepest nesting that is read: `serde_json`'s own limit, which it does not apply to raw values.
const MAX_DEPTH: usize = 128;

/// The most characters of a key that a pointer shows.
const MAX_TOKEN: usize = 128;

/// No more problems than this are reported for one document.
pub const MAX_PROBLEMS: usize = 100;

/// The document is empty, too large, not UTF-8, or starts with a byte order mark.
pub static UNREADABLE: Code = Code {
    name: "json-unreadable",
    summary: "the file is not a text that could hold one JSON document",
    explanation: "A document is UTF-8 without a byte order mark, not empty and at most 1 MiB (1048576 bytes). \
Save the file as plain UTF-8; if it is larger, something that does not belong into it was pasted.",
};

/// The text is not JSON.
pub static SYNTAX: Code = Code {
    name: "json-syntax",
    summary: "the text is not one JSON document",
    explanation: "The file must hold exactly one JSON value as RFC 8259 defines it: no comments, no trailing commas, \
no data after the closing brace, at most 128 levels deep. The line and column say where reading stopped. \
The text itself is not shown, since a broken file may hold signed URLs anywhere.",
};

/// One key stands twice in one object.
pub static DUPLICATE_KEY: Code = Code {
    name: "json-duplicate-key",
    summary: "one key stands twice in the same object",
    explanation: "Programs disagree on which of two equal keys counts, so a reviewer may read one value while another runs. \
Keys are compared after their escapes are decoded. Remove one of the two.",
};

/// A string holds half of a surrogate pair.
pub static BAD_STRING: Code = Code {
    name: "json-string",
    summary: "a string cannot be decoded",
    explanation: "A `\\u` escape in the string is half of a surrogate pair, which is no character. \
Write the character itself, in UTF-8.",
};

/// More problems than are reported.
pub static TOO_MANY: Code = Code {
    name: "too-many-problems",
    summary: "the document has more problems than are listed",
    explanation: "Reading stops after 100 problems. Mend the ones that are listed and validate again.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&UNREADABLE, &SYNTAX, &DUPLICATE_KEY, &BAD_STRING, &TOO_MANY];

/// A JSON value and the byte at which it starts.
#[derive(Debug)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Offset of its first byte in the document.
    pub offset: usize,
}

/// What a [`Node`] holds.
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number as it is written.
    Number(String),
    /// A decoded string.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object in the order of the text; a repeated key keeps its first value.
    Object(Vec<(String, Node)>),
    /// What could not be decoded; its problem is reported already.
    Unreadable,
}

impl Value {
    /// The value's type in words, for "what was found".
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
            Value::Unreadable => "a value that cannot be decoded",
        }
    }
}

/// Shows the type only: a value may be a signed URL.
impl fmt::Debug for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.type_name())
    }
}

/// A document's text and the problems found in it so far.
#[derive(Debug)]
pub struct Document<'a> {
    text: Hidden<'a>,
    problems: Vec<Problem>,
}

struct Hidden<'a>(&'a str);

impl fmt::Debug for Hidden<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.0.len())
    }
}

impl<'a> Document<'a> {
    /// Parses `bytes`. Without a node the document could not be read at all, and the problems say why.
    pub fn parse(bytes: &'a [u8]) -> (Self, Option<Node>) {
        let text = match decode(bytes) {
            Ok(text) => text,
            Err(problem) => return (Self { text: Hidden(""), problems: vec![problem] }, None),
        };
        let mut document = Self { text: Hidden(text), problems: Vec::new() };
        let root = match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => document.root(raw),
            Err(error) => {
                document.problems.push(syntax::problem(text, &error));
                None
            }
        };
        (document, root)
    }

    /// Line and column of the value at `offset`.
    pub fn position(&self, offset: usize) -> Position {
        position(self.text.0, offset)
    }

    /// Records a fault of the value at `offset`; beyond [`MAX_PROBLEMS`] only that there are more.
    pub fn report(&mut self, fault: Fault, pointer: &str, offset: usize) {
        let position = Some(self.position(offset));
        match self.problems.len() {
            0..MAX_PROBLEMS => self.problems.push(fault.at(pointer, position)),
            MAX_PROBLEMS => self.problems.push(
                Fault::new(
                    &TOO_MANY,
                    "more problems than are listed",
                    format!("{MAX_PROBLEMS} problems are reported"),
                    "mend these and validate again",
                )
                .at("", None),
            ),
            _ => {}
        }
    }

    /// The problems, in the order of the text.
    pub fn into_problems(mut self) -> Vec<Problem> {
        self.problems.sort_by(|a, b| {
            let key = |problem: &Problem| (problem.position.is_none(), problem.position);
            key(a).cmp(&key(b))
        });
        self.problems
    }

    /// Where a part of the document starts; `RawValue` borrows from the text.
    fn offset(&self, part: &RawValue) -> usize {
        part.get().as_ptr() as usize - self.text.0.as_ptr() as usize
    }

    fn root(&mut self, raw: &RawValue) -> Option<Node> {
        // Each level reads its text again, so depth is bounded before anything else is done.
        if let Some(offset) = too_deep(self.text.0) {
            let found = format!("more than {MAX_DEPTH} levels of nesting");
            let allowed = format!("at most {MAX_DEPTH} levels");
            self.report(Fault::new(&SYNTAX, found, allowed, "flatten the document"), "", offset);
            return None;
        }
        Some(self.node(raw, &mut String::new()))
    }

    fn node(&mut self, part: &RawValue, pointer: &mut String) -> Node {
        let raw = part.get();
        let offset = self.offset(part);
        let value = match raw.as_bytes().first() {
            Some(b'{') => self.object(raw, pointer),
            Some(b'[') => self.array(raw, pointer),
            Some(b'"') => {
                if let Ok(text) = serde_json::from_str(raw) {
                    Value::String(text)
                } else {
                    self.report(lone_surrogate(), pointer, offset);
                    Value::Unreadable
                }
            }
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Null,
            _ => Value::Number(raw.to_owned()),
        };
        Node { value, offset }
    }

    fn array(&mut self, raw: &str, pointer: &mut String) -> Value {
        let parts =
            serde_json::Deserializer::from_str(raw).deserialize_seq(Parts).unwrap_or_default();
        let mut nodes = Vec::with_capacity(parts.len());
        for (index, part) in parts.into_iter().enumerate() {
            let length = push_token(pointer, &index.to_string());
            nodes.push(self.node(part, pointer));
            pointer.truncate(length);
        }
        Value::Array(nodes)
    }

    fn object(&mut self, raw: &str, pointer: &mut String) -> Value {
        let members =
            serde_json::Deserializer::from_str(raw).deserialize_map(Members).unwrap_or_default();
        let mut seen = BTreeSet::new();
        let mut nodes = Vec::with_capacity(members.len());
        for (key, part) in members {
            // The grammar passed, so nothing but half a surrogate pair can fail here.
            let Ok(name) = serde_json::from_str::<String>(key.get()) else {
                let offset = self.offset(key);
                self.report(lone_surrogate(), pointer, offset);
                continue;
            };
            let length = push_token(pointer, &name);
            if seen.insert(name.clone()) {
                nodes.push((name, self.node(part, pointer)));
            } else {
                let fault = Fault::new(
                    &DUPLICATE_KEY,
                    "the same key a second time",
                    "each key once",
                    "remove one of the two",
                );
                let offset = self.offset(part);
                self.report(fault, pointer, offset);
            }
            pointer.truncate(length);
        }
        Value::Object(nodes)
    }
}

/// Where the first value stands that is nested too deeply. The text is JSON.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0, false, false);
    text.bytes().position(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
        depth > MAX_DEPTH
    })
}

fn lone_surrogate() -> Fault {
    Fault::new(
        &BAD_STRING,
        "half of a surrogate pair",
        "characters, written in UTF-8 or as whole `\\u` pairs",
        "write the character itself",
    )
}

/// One reference token of a pointer, escaped as RFC 6901 section 3 says. No key that the form has is cut, but one that
/// was pasted may be a signed URL: from a `?` on nothing of it is shown, nor beyond [`MAX_TOKEN`] characters.
pub(super) fn token(name: &str) -> String {
    let end = name.char_indices().nth(MAX_TOKEN).map_or(name.len(), |(index, _)| index);
    let end = name.find('?').map_or(end, |index| index.min(end));
    let dots = if end < name.len() { "…" } else { "" };
    format!("{}{dots}", name[..end].replace('~', "~0").replace('/', "~1"))
}

/// Appends one reference token; returns the length before.
fn push_token(pointer: &mut String, name: &str) -> usize {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&token(name));
    length
}

fn decode(bytes: &[u8]) -> Result<&str, Problem> {
    let unreadable = |found: String, remedy: &'static str| {
        Fault::new(
            &UNREADABLE,
            found,
            "UTF-8 text of 1 to 1048576 bytes without a byte order mark",
            remedy,
        )
    };
    if let Some(name) = kind::of_bytes(bytes) {
        return Err(unreadable(name.to_owned(), "check that this is the right file").at("", None));
    }
    if bytes.len() > MAX_BYTES {
        let found = format!("more than {MAX_BYTES} bytes");
        return Err(unreadable(found, "check that this is the right file").at("", None));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        let fault =
            unreadable("a byte order mark".to_owned(), "save the file as UTF-8 without one");
        return Err(fault.at("", Some(Position { line: 1, column: 1 })));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(unreadable("UTF-16".to_owned(), "save the file as UTF-8").at("", None));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let place = position(&valid, valid.len());
        unreadable("a byte that is not UTF-8".to_owned(), "save the file as UTF-8")
            .at("", Some(place))
    })?;
    if text.trim().is_empty() {
        return Err(unreadable("nothing".to_owned(), "write a document first").at("", None));
    }
    Ok(text)
}

/// Line and column of a byte offset; a line ends with a line feed.
fn position(text: &str, offset: usize) -> Position {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |index| index + 1);
    let lines = before.iter().filter(|byte| **byte == b'\n').count();
    let columns = before[line_start..].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
    Position {
        line: u32::try_from(lines + 1).unwrap_or(u32::MAX),
        column: u32::try_from(columns + 1).unwrap_or(u32::MAX),
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = access.next_element()? {
            parts.push(part);
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Place = Option<(u32, u32)>;

    fn problems(bytes: &[u8]) -> Vec<(&'static str, String, Place)> {
        let (document, _) = Document::parse(bytes);
        let place = |position: Position| (position.line, position.column);
        document
            .into_problems()
            .into_iter()
            .map(|problem| (problem.fault.code.name, problem.pointer, problem.position.map(place)))
            .collect()
    }

    #[test]
    fn unreadable_and_broken_documents() {
        let one = |code, place| vec![(code, String::new(), place)];
        let cases: &[(&[u8], &str, Place)] = &[
            (b"", "json-unreadable", None),
            (b" \n\t", "json-unreadable", None),
            (b"\xef\xbb\xbf{}", "json-unreadable", Some((1, 1))),
            (b"\xff\xfe{\0}\0", "json-unreadable", None),
            (b"{\n\"a\xff\"", "json-unreadable", Some((2, 3))),
            (b"{", "json-syntax", Some((1, 1))),
            (b"{} {}", "json-syntax", Some((1, 4))),
            (b"{\"a\":1,}", "json-syntax", Some((1, 8))),
            (b"{'a':1}", "json-syntax", Some((1, 2))),
            (b"{\"a\":01}", "json-syntax", Some((1, 7))),
            (b"// x\n{}", "json-syntax", Some((1, 1))),
            (b"nul", "json-syntax", Some((1, 3))),
            (b"{\"a\":\"\x01\"}", "json-syntax", Some((1, 7))),
        ];
        for (bytes, code, place) in cases {
            assert_eq!(problems(bytes), one(*code, *place), "{:?}", String::from_utf8_lossy(bytes));
        }
        assert_eq!(problems(&vec![b' '; MAX_BYTES + 1])[0].0, "json-unreadable");
        assert_eq!(problems("[".repeat(MAX_BYTES).as_bytes())[0].0, "json-syntax");
    }

    #[test]
    fn duplicate_keys_at_every_depth_also_through_escapes() {
        let found = problems(b"{\"a\":1,\n \"b\":[{\"x\":1,\"\\u0078\":2}],\n\"a\":3}");
        let expected = [
            ("json-duplicate-key", "/b/0/x".to_owned(), Some((2, 23))),
            ("json-duplicate-key", "/a".to_owned(), Some((3, 5))),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn lone_surrogates_in_keys_and_values() {
        assert_eq!(problems(br#"{"a/b":"\ud800"}"#)[0].0, "json-string");
        assert_eq!(problems(br#"{"a/b":"\ud800"}"#)[0].1, "/a~1b");
        assert_eq!(problems(br#"{"\udc00":1}"#)[0].0, "json-string");
        assert!(problems(br#"{"a":"\ud83d\ude00"}"#).is_empty());
    }

    #[test]
    fn problems_are_bounded() {
        let members: Vec<String> = (0..500).map(|_| "\"a\":1".to_owned()).collect();
        let found = problems(format!("{{{}}}", members.join(",")).as_bytes());
        assert_eq!(found.len(), MAX_PROBLEMS + 1);
        assert_eq!(found[MAX_PROBLEMS].0, "too-many-problems");
    }

    #[test]
    fn deep_nesting_is_a_problem_not_a_crash() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(problems(deep.as_bytes())[0].0, "json-syntax");
        let allowed = format!("{}\"[[\\\"[\"{}", "[".repeat(128), "]".repeat(128));
        assert!(problems(allowed.as_bytes()).is_empty());
        let very_deep = format!("{}{}", "[".repeat(MAX_BYTES / 2), "]".repeat(MAX_BYTES / 2));
        assert_eq!(problems(very_deep.as_bytes())[0].0, "json-syntax");
    }

    #[test]
    fn debug_shows_no_input() {
        let (document, node) = Document::parse(br#"{"a":"canary"}"#);
        assert!(!format!("{document:?} {node:?}").contains("canary"));
    }
}
