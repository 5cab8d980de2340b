//! Walks a YAML tree, checks each value and collects every problem with its JSON pointer.
//!
//! A reading function returns `None` exactly when it has reported a problem, so that a caller can read
//! on and only the end asks whether there were any.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Display;

use super::names::quoted;
use super::yaml::{Key, Node, TOO_LARGE, Value};
use crate::submission::problem::{Code, Fault, Position, Problem};

/// A field that the schema does not have.
pub(super) static UNKNOWN_FIELD: Code = Code {
    name: "profile-field-unknown",
    summary: "the profile has a field that its schema does not have",
    explanation: "The schema is closed: a misspelt field would otherwise be ignored, and a field of a newer harness \
would silently do nothing. `harness schema profile` prints all fields.",
};

/// A field that must be there is not.
pub(super) static MISSING_FIELD: Code = Code {
    name: "profile-field-missing",
    summary: "a required field of the profile is missing",
    explanation: "A profile decides what an experiment may use, so nothing of it is guessed. `harness schema profile` \
prints all fields and which are required.",
};

/// A value has the wrong type.
pub(super) static WRONG_TYPE: Code = Code {
    name: "profile-type-wrong",
    summary: "a value of the profile has the wrong type",
    explanation: "In YAML, `1` is a number, `true` a boolean and an empty value is null. Where a text is asked for, \
write such a value in quotes; leave out what you do not want to set.",
};

/// A list names the same thing twice.
pub(super) static REPEATED_ENTRY: Code = Code {
    name: "profile-entry-repeated",
    summary: "a list names the same thing twice",
    explanation: "A name that stands twice does nothing more than once, so one of the two is most likely a slip for \
another name.",
};

/// The problems found so far.
#[derive(Default)]
pub(super) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub(super) fn into_vec(self) -> Vec<Problem> {
        self.0.into_inner()
    }

    fn push(&self, problem: Problem) {
        self.0.borrow_mut().push(problem);
    }
}

/// A value in the tree together with where it stands.
pub(super) struct Place<'a> {
    node: &'a Node,
    pointer: String,
    problems: &'a Problems,
}

/// The fields of a map; [`Fields::finish`] reports those that nobody asked for.
pub(super) struct Fields<'a> {
    entries: &'a [(Key, Node)],
    asked: Vec<&'static str>,
    pointer: String,
    position: Option<Position>,
    problems: &'a Problems,
}

/// How many entries a list or map may have.
const MAXIMUM_ENTRIES: usize = 64;

impl<'a> Place<'a> {
    pub(super) fn root(node: &'a Node, problems: &'a Problems) -> Self {
        Self { node, pointer: String::new(), problems }
    }

    fn child(&self, step: &str, node: &'a Node) -> Self {
        Self { node, pointer: join(&self.pointer, step), problems: self.problems }
    }

    /// Reports a problem of this value.
    pub(super) fn report(&self, fault: Fault) {
        self.problems.push(fault.at(self.pointer.clone(), self.node.position));
    }

    /// Keeps a good value and reports a fault.
    pub(super) fn keep<T>(&self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.report(fault)).ok()
    }

    fn wrong_type(&self, wanted: &'static str) {
        let found = match &self.node.value {
            Value::Null => "null (nothing stands here)",
            Value::Boolean => "a boolean",
            Value::Integer(_) | Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        };
        let remedy = match &self.node.value {
            Value::Boolean | Value::Integer(_) | Value::Number(_) if wanted == "a text" => {
                "write the value in quotes"
            }
            Value::Null => "write a value or leave the field out",
            _ => "write the value as the documentation of the field shows it",
        };
        self.report(Fault::new(&WRONG_TYPE, found, wanted, remedy));
    }

    /// The fields of a mapping.
    pub(super) fn fields(&self) -> Option<Fields<'a>> {
        let Value::Map(entries) = &self.node.value else {
            self.wrong_type("a mapping");
            return None;
        };
        Some(Fields {
            entries,
            asked: Vec::new(),
            pointer: self.pointer.clone(),
            position: self.node.position,
            problems: self.problems,
        })
    }

    /// The text of a text.
    pub(super) fn text(&self) -> Option<&'a str> {
        let Value::Text(text) = &self.node.value else {
            self.wrong_type("a text");
            return None;
        };
        Some(text)
    }

    /// Parses a text with a newtype's `parse`.
    pub(super) fn parse<T>(&self, parse: impl FnOnce(&str) -> Result<T, Fault>) -> Option<T> {
        let text = self.text()?;
        self.keep(parse(text))
    }

    /// Parses a text or a number, as Kubernetes takes both for quantities.
    pub(super) fn parse_number<T>(
        &self,
        parse: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        match &self.node.value {
            Value::Text(text) | Value::Number(text) => self.keep(parse(text)),
            Value::Integer(number) => self.keep(parse(&number.to_string())),
            _ => {
                self.wrong_type("a quantity: a number or a text such as `8Gi`");
                None
            }
        }
    }

    /// A whole number within a range; `code` names the problem of one outside.
    pub(super) fn integer(
        &self,
        range: std::ops::RangeInclusive<u32>,
        code: &'static Code,
        unit: &str,
    ) -> Option<u32> {
        let found = match &self.node.value {
            Value::Integer(number) => {
                match u32::try_from(*number).ok().filter(|number| range.contains(number)) {
                    Some(number) => return Some(number),
                    None => number.to_string(),
                }
            }
            Value::Number(text) => text.chars().take(40).collect(),
            _ => {
                self.wrong_type("a whole number");
                return None;
            }
        };
        let allowed = format!("a whole number of {unit} from {} to {}", range.start(), range.end());
        self.report(Fault::new(code, found, allowed, "choose a value in this range"));
        None
    }

    /// Reads every item of a list; `None` if any has a problem.
    pub(super) fn list<T>(&self, read: impl Fn(&Self) -> Option<T>) -> Option<Vec<T>> {
        let Value::List(items) = &self.node.value else {
            self.wrong_type("a list");
            return None;
        };
        self.bounded(items.len())?;
        // Collected first, so that the problems of all items are reported.
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| read(&self.child(&index.to_string(), item)))
            .collect();
        read.into_iter().collect()
    }

    /// Reads a list of names, each of which stands there once.
    pub(super) fn names<T: PartialEq + Display>(
        &self,
        parse: fn(&str) -> Result<T, Fault>,
    ) -> Option<Vec<T>> {
        let names = self.list(|place| place.parse(parse))?;
        let repeated =
            names.iter().enumerate().find(|(index, name)| names[..*index].contains(name));
        let Some((_, name)) = repeated else {
            return Some(names);
        };
        let found = format!("`{name}` twice");
        self.report(Fault::new(&REPEATED_ENTRY, found, "each name once", "remove one of the two"));
        None
    }

    /// Reads a mapping with free keys; `None` if any entry has a problem.
    pub(super) fn map<K: Ord, V>(
        &self,
        key: impl Fn(&str) -> Result<K, Fault>,
        value: impl Fn(&Self) -> Option<V>,
    ) -> Option<BTreeMap<K, V>> {
        let Value::Map(entries) = &self.node.value else {
            self.wrong_type("a mapping");
            return None;
        };
        self.bounded(entries.len())?;
        let read: Vec<Option<(K, V)>> = entries
            .iter()
            .map(|(name, node)| {
                let place = self.child(&name.text, node);
                let key = key(&name.text).map_err(|fault| {
                    self.problems.push(fault.at(place.pointer.clone(), name.position));
                });
                let value = value(&place);
                Some((key.ok()?, value?))
            })
            .collect();
        read.into_iter().collect()
    }

    fn bounded(&self, count: usize) -> Option<()> {
        if count <= MAXIMUM_ENTRIES {
            return Some(());
        }
        let found = format!("{count} entries");
        self.report(Fault::new(&TOO_LARGE, found, "at most 64 entries", "keep what is needed"));
        None
    }
}

impl<'a> Fields<'a> {
    /// A field that may be absent.
    pub(super) fn optional(&mut self, name: &'static str) -> Option<Place<'a>> {
        self.asked.push(name);
        let (_, node) = self.entries.iter().find(|(key, _)| key.text == name)?;
        Some(Place { node, pointer: join(&self.pointer, name), problems: self.problems })
    }

    /// A field that must be there; its absence is reported where its mapping stands.
    pub(super) fn required(&mut self, name: &'static str) -> Option<Place<'a>> {
        let place = self.optional(name);
        if place.is_none() {
            let fault = Fault::new(
                &MISSING_FIELD,
                format!("no `{name}`"),
                format!("`{name}` is required here"),
                format!("add `{name}`"),
            );
            self.problems.push(fault.at(self.pointer.clone(), self.position));
        }
        place
    }

    /// Reports the fields that nobody asked for.
    pub(super) fn finish(self) {
        for (key, _) in self.entries.iter().filter(|(key, _)| !self.asked.contains(&&*key.text)) {
            let fault = Fault::new(
                &UNKNOWN_FIELD,
                format!("the unknown field {}", quoted(&key.text)),
                self.asked.join(", "),
                "correct the spelling or remove the field",
            );
            self.problems.push(fault.at(join(&self.pointer, &key.text), key.position));
        }
    }
}

/// Appends a step to a JSON pointer, escaped as RFC 6901 says.
fn join(pointer: &str, step: &str) -> String {
    let step: String = step.chars().take(320).collect();
    format!("{pointer}/{}", step.replace('~', "~0").replace('/', "~1"))
}
