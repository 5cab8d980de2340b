//! YAML text to a tree of values with their places, within tight budgets.
//!
//! Knows nothing of profiles. A tree in between, rather than serde into structs, is what makes it
//! possible to report every problem of a file at once.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde_yaml::budget::BudgetBreach;
use serde_yaml::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_yaml::{Location, MessageFormatter as _, Options, Spanned, UserMessageFormatter};

use crate::submission::problem::{Code, Fault, Position, Problem};

/// A profile is longer than any profile needs to be.
pub(super) static TOO_LARGE: Code = Code {
    name: "profile-too-large",
    summary: "the profile's file, or a list or text in it, is too long",
    explanation: "A profile has at most 64 KiB, each list and map in it at most 64 entries. Real profiles have a few \
dozen lines; a longer file is most likely not a profile.",
};

/// The file is not one YAML document that harness reads.
pub(super) static INVALID_YAML: Code = Code {
    name: "profile-yaml-invalid",
    summary: "the file is not one YAML document in UTF-8",
    explanation: "A profile is one YAML 1.2 document in UTF-8, a mapping. Duplicate keys, several documents, merge keys \
(`<<`), unknown tags and more than a few anchors and aliases are refused, since readers disagree about them.",
};

/// The longest file, in bytes.
pub(super) const MAXIMUM_BYTES: usize = 64 * 1024;

/// A value and where it starts.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) position: Option<Position>,
}

/// A YAML value; scalars are resolved by the core schema of YAML 1.2. No field is a boolean, so which
/// one it is does not matter.
#[derive(Debug)]
pub(super) enum Value {
    Null,
    Boolean,
    Integer(i64),
    /// A number that is no `i64`, as text that reads back as the same number.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

/// A key of a map and where it starts.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) position: Option<Position>,
}

/// Parses one document.
pub(super) fn parse(bytes: &[u8]) -> Result<Node, Problem> {
    if bytes.len() > MAXIMUM_BYTES {
        let found = format!("{} bytes", bytes.len());
        let fault =
            Fault::new(&TOO_LARGE, found, "at most 65536 bytes", "check that it is a profile");
        return Err(fault.at("", None));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        invalid(format!("a byte that is not UTF-8, after {} good ones", error.valid_up_to()))
            .at("", None)
    })?;
    match serde_yaml::from_str_with_options::<Spanned<Value>>(text, options()) {
        Ok(node) => Ok(Node::from(node)),
        Err(error) => {
            let message = message_of(&error);
            Err(invalid(message).at("", error.location().and_then(position)))
        }
    }
}

fn invalid(found: String) -> Fault {
    Fault::new(
        &INVALID_YAML,
        found,
        "one YAML document in UTF-8, a mapping without duplicate keys",
        "correct the YAML",
    )
}

/// The parser's words for its users, as one bounded line; they may quote the file, so control characters
/// are escaped. Its words about budgets name its own types, so those are replaced.
fn message_of(error: &serde_yaml::Error) -> String {
    let error = error.without_snippet();
    let text = match error {
        serde_yaml::Error::Budget { breach: BudgetBreach::Documents { .. }, .. }
        | serde_yaml::Error::MultipleDocuments { .. } => "more than one document".into(),
        serde_yaml::Error::Budget { .. } => {
            "more nesting, aliases or values than a profile needs".into()
        }
        _ => UserMessageFormatter.format_message(error),
    };
    let escape =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().take(200).map(escape).collect()
}

fn options() -> Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_reader_input_bytes: Some(MAXIMUM_BYTES),
            max_events: 20_000,
            max_aliases: 64,
            max_anchors: 64,
            max_recorded_anchor_events: 4096,
            max_recorded_anchor_bytes: MAXIMUM_BYTES,
            max_depth: 16,
            max_documents: 1,
            max_nodes: 10_000,
            max_total_scalar_bytes: MAXIMUM_BYTES,
            max_merge_keys: 0,
            flow_nesting_limit: 16,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        alias_limits: serde_yaml::alias_limits! {
            max_total_replayed_events: 4096,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 64,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        // What a reviewer sees is what counts: `!!binary` decodes nothing.
        ignore_binary_tag_for_string: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn position(location: Location) -> Option<Position> {
    let line = u32::try_from(location.line()).ok()?;
    let column = u32::try_from(location.column()).ok()?;
    (line > 0 && column > 0).then_some(Position { line, column })
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self { position: position(spanned.referenced), value: spanned.value }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Boolean)
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or_else(|_| Value::Number(value.to_string()), Value::Integer))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    /// `Display` of `f64` is the shortest text that reads back as the same number, without exponent.
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<Value>>()? {
            items.push(Node::from(item));
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = access.next_entry::<Spanned<String>, Spanned<Value>>()? {
            let key = Key { position: position(key.referenced), text: key.value };
            entries.push((key, Node::from(value)));
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str) -> Problem {
        parse(text.as_bytes()).expect_err(text)
    }

    #[test]
    fn scalars_keep_their_kind_and_place() {
        let node =
            parse(b"a: 1\nb:\n  - 0.5\n  - yes\n  - 'x'\n  - 0755\n  - ~\n  - true\n").unwrap();
        let Value::Map(entries) = node.value else { panic!("no map") };
        assert_eq!(entries[1].0.text, "b");
        assert_eq!(entries[1].0.position, Some(Position { line: 2, column: 1 }));
        assert!(matches!(entries[0].1.value, Value::Integer(1)));
        let Value::List(items) = &entries[1].1.value else { panic!("no list") };
        assert!(matches!(&items[0].value, Value::Number(text) if text == "0.5"));
        assert!(matches!(&items[1].value, Value::Text(text) if text == "yes"));
        assert!(matches!(&items[2].value, Value::Text(text) if text == "x"));
        assert!(matches!(&items[3].value, Value::Text(text) if text == "0755"));
        assert!(matches!(items[4].value, Value::Null));
        assert!(matches!(items[5].value, Value::Boolean));
        assert_eq!(items[2].position, Some(Position { line: 5, column: 5 }));
    }

    #[test]
    fn what_readers_disagree_about_is_refused() {
        for bad in [
            "a: 1\na: 2\n",
            "a: 1\n---\nb: 2\n",
            "x: &x {a: 1}\ny: {<<: *x}\n",
            "a: [1\n",
            "a: !unknown 1\n",
            "a:\n\tb: 1\n",
        ] {
            assert_eq!(refused(bad).fault.code, &INVALID_YAML, "{bad:?}");
        }
        assert_eq!(refused("a: 1\na: 2\n").position.map(|place| place.line), Some(2));
        assert_eq!(parse(b"a: \xff").unwrap_err().fault.code, &INVALID_YAML);
    }

    #[test]
    fn bombs_are_small() {
        let mut bomb = String::from("a: &a [x, x, x, x, x, x, x, x, x]\n");
        for (name, before) in [("b", "a"), ("c", "b"), ("d", "c"), ("e", "d"), ("f", "e")] {
            let aliases = vec![format!("*{before}"); 9].join(", ");
            bomb = format!("{bomb}{name}: &{name} [{aliases}]\n");
        }
        assert_eq!(refused(&bomb).fault.code, &INVALID_YAML);
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        assert_eq!(refused(&deep).fault.code, &INVALID_YAML);
        let long = format!("a: {}", "x".repeat(MAXIMUM_BYTES));
        assert_eq!(refused(&long).fault.code, &TOO_LARGE);
        assert_eq!(refused(&"- 1\n".repeat(16_000)).fault.code, &INVALID_YAML);
    }

    #[test]
    fn messages_are_for_people() {
        for (text, found) in [
            ("a: 1\na: 2\n", "duplicate mapping key `a` is not allowed here"),
            ("a: 1\n---\nb: 1\n", "more than one document"),
            ("a: [1\n", "unclosed bracket '['"),
            (&"- 1\n".repeat(16_000), "more nesting, aliases or values than a profile needs"),
        ] {
            assert_eq!(refused(text).fault.found, found);
        }
    }

    #[test]
    fn messages_are_one_line_without_control_characters() {
        let problem = refused("a: 1\n\"a\\u001b[31m\": 2\n\"a\\u001b[31m\": 3\n");
        assert!(!problem.fault.found.chars().any(char::is_control), "{:?}", problem.fault.found);
    }
}
