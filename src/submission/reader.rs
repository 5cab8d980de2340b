//! Reads an object's fields one by one and collects every problem instead of stopping at the first.
//!
//! A closed object: whatever is not asked for is an unknown field. Pure, and it echoes nothing but
//! excerpts.

use std::collections::BTreeMap;

use super::excerpt::excerpt;
use super::problem::{Code, Fault};
use super::strict::{Document, Node, Value, token};

/// A field that must be there is missing.
pub static MISSING_FIELD: Code = Code {
    name: "field-missing",
    summary: "a required field is missing",
    explanation: "The field must be there; `harness schema submission` prints the whole form and `harness init` writes a complete example.",
};

/// A field that nobody knows.
pub static UNKNOWN_FIELD: Code = Code {
    name: "field-unknown",
    summary: "a field is unknown",
    explanation: "Unknown fields are refused, since a misspelt one would be ignored in silence and the run would not be the one that \
was meant. Check the spelling and the place: `harness schema submission` prints the whole form.",
};

/// A value of another type than the field takes.
pub static WRONG_TYPE: Code = Code {
    name: "field-type",
    summary: "a value has the wrong type",
    explanation: "Texts stand in quotation marks, numbers do not; an object is written in braces and never as an array. \
`null` is not the same as leaving a field out: leave it out.",
};

/// A number outside of its range.
pub static OUT_OF_RANGE: Code = Code {
    name: "number-out-of-range",
    summary: "a number is outside of its range or not a whole one",
    explanation: "The field takes whole numbers in the range that the message gives, written with digits only: `600`, not `6e2` or `600.0`.",
};

/// Every code that this file can report.
pub static CODES: &[&Code] = &[&MISSING_FIELD, &UNKNOWN_FIELD, &WRONG_TYPE, &OUT_OF_RANGE];

/// The fields of one object that nobody has asked for yet.
#[derive(Debug)]
pub struct Fields {
    pointer: String,
    offset: usize,
    remaining: BTreeMap<String, Node>,
    known: Vec<&'static str>,
}

/// A value that was read, and where it stands.
#[derive(Clone)]
pub struct Read<T> {
    /// The value.
    pub value: T,
    /// Its JSON pointer.
    pub pointer: String,
    /// Its offset in the document.
    pub offset: usize,
}

impl Fields {
    /// Opens the object at `pointer`; anything else is a problem.
    pub fn open(document: &mut Document<'_>, node: Node, pointer: &str) -> Option<Self> {
        let offset = node.offset;
        match node.value {
            Value::Object(members) => {
                let remaining = members.into_iter().collect();
                Some(Self { pointer: pointer.to_owned(), offset, remaining, known: Vec::new() })
            }
            other => {
                report_type(document, &other, "an object", pointer, offset);
                None
            }
        }
    }

    /// Takes a field out, if it is there.
    pub fn take(&mut self, name: &'static str) -> Option<Read<Value>> {
        self.known.push(name);
        let node = self.remaining.remove(name)?;
        Some(Read {
            value: node.value,
            pointer: format!("{}/{name}", self.pointer),
            offset: node.offset,
        })
    }

    /// Takes a field that must be there.
    pub fn require(
        &mut self,
        document: &mut Document<'_>,
        name: &'static str,
    ) -> Option<Read<Value>> {
        let read = self.take(name);
        if read.is_none() {
            let fault = Fault::new(
                &MISSING_FIELD,
                "nothing",
                format!("the field `{name}`"),
                format!("add `{name}`"),
            );
            document.report(fault, &format!("{}/{name}", self.pointer), self.offset);
        }
        read
    }

    /// Reports whatever is left; `elsewhere` tells where a field of that name belongs instead.
    pub fn close(
        self,
        document: &mut Document<'_>,
        elsewhere: impl Fn(&str) -> Option<&'static str>,
    ) {
        for (name, node) in &self.remaining {
            let remedy = match (elsewhere(name), closest(name, &self.known)) {
                (Some(place), _) => format!("move it to {place}"),
                (None, Some(known)) => format!("did you mean `{known}`?"),
                (None, None) => "remove it".to_owned(),
            };
            let allowed = format!("one of {}", self.known.join(", "));
            let fault = Fault::new(&UNKNOWN_FIELD, excerpt(name), allowed, remedy);
            document.report(fault, &format!("{}/{}", self.pointer, token(name)), node.offset);
        }
    }
}

impl Read<Value> {
    /// The text, or a problem.
    pub fn text(self, document: &mut Document<'_>) -> Option<Read<String>> {
        match self.value {
            Value::String(value) => {
                Some(Read { value, pointer: self.pointer, offset: self.offset })
            }
            other => {
                let allowed = "a text in quotation marks";
                report_type(document, &other, allowed, &self.pointer, self.offset);
                None
            }
        }
    }

    /// A whole number from `least` to `most`, or a problem.
    pub fn whole_number(self, document: &mut Document<'_>, least: u32, most: u32) -> Option<u32> {
        let found = match &self.value {
            Value::Number(digits) => match digits.parse::<u32>() {
                Ok(number) if (least..=most).contains(&number) => return Some(number),
                _ => excerpt(digits),
            },
            other => {
                report_type(document, other, "a number", &self.pointer, self.offset);
                return None;
            }
        };
        let allowed = format!("a whole number from {least} to {most}, written with digits only");
        let fault = Fault::new(&OUT_OF_RANGE, found, allowed, "choose a number in this range");
        document.report(fault, &self.pointer, self.offset);
        None
    }

    /// The elements of an array, or a problem.
    pub fn elements(self, document: &mut Document<'_>) -> Option<Vec<Read<Value>>> {
        let pointer = self.pointer;
        match self.value {
            Value::Array(nodes) => Some(
                nodes
                    .into_iter()
                    .enumerate()
                    .map(|(index, node)| Read {
                        value: node.value,
                        pointer: format!("{pointer}/{index}"),
                        offset: node.offset,
                    })
                    .collect(),
            ),
            other => {
                report_type(document, &other, "an array", &pointer, self.offset);
                None
            }
        }
    }

    /// The members of a map from names to texts, or problems.
    pub fn text_map(self, document: &mut Document<'_>) -> Option<Vec<(String, Read<String>)>> {
        let Value::Object(members) = self.value else {
            report_type(document, &self.value, "an object", &self.pointer, self.offset);
            return None;
        };
        let mut texts = Vec::new();
        for (name, node) in members {
            let pointer = format!("{}/{}", self.pointer, token(&name));
            let read = Read { value: node.value, pointer, offset: node.offset };
            texts.extend(read.text(document).map(|text| (name, text)));
        }
        Some(texts)
    }

    /// Opens a nested object, or reports a problem.
    pub fn object(self, document: &mut Document<'_>) -> Option<Fields> {
        Fields::open(document, Node { value: self.value, offset: self.offset }, &self.pointer)
    }
}

impl Read<String> {
    /// Applies a newtype's parser and reports its fault at this place.
    pub fn parse<T>(
        &self,
        document: &mut Document<'_>,
        parser: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<T> {
        match parser(&self.value) {
            Ok(value) => Some(value),
            Err(fault) => {
                document.report(fault, &self.pointer, self.offset);
                None
            }
        }
    }
}

/// Reports a value of the wrong type, unless it has its problem already.
fn report_type(
    document: &mut Document<'_>,
    found: &Value,
    allowed: &'static str,
    pointer: &str,
    offset: usize,
) {
    let remedy = match found {
        Value::Unreadable => return,
        Value::Null => "leave the field out instead",
        _ => "write the value in that form",
    };
    document.report(Fault::new(&WRONG_TYPE, found.type_name(), allowed, remedy), pointer, offset);
}

/// The known name that was most likely meant: at most two edits away.
fn closest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    if name.len() > 64 {
        return None;
    }
    known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), *candidate))
        .filter(|(distance, _)| *distance <= 2)
        .min()
        .map(|(_, candidate)| candidate)
}
