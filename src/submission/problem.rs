//! Problems: what is wrong with an input, where, what is allowed and what to do next.
//!
//! Nothing here holds a query string or any other secret: whoever builds a [`Fault`] leaves it out.

use std::borrow::Cow;
use std::fmt;

/// A stable name for one kind of problem, with the story that `harness explain` tells.
///
/// A code is declared beside the rule that it belongs to; [`crate::submission::problem`] only knows
/// its shape. Names are kebab-case, never reused and never renamed.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Code {
    /// The stable name, such as `image-not-pinned`.
    pub name: &'static str,
    /// One line that says what the code means.
    pub summary: &'static str,
    /// Why the rule exists, what is allowed and how to mend it, as paragraphs of plain text.
    pub explanation: &'static str,
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// What is wrong with one value, before it is known where the value stands.
///
/// The three texts are lower-case fragments without a final period.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fault {
    /// The kind of problem.
    pub code: &'static Code,
    /// What was found; never a query string, at most a short and escaped part of the input.
    pub found: Cow<'static, str>,
    /// What is allowed here.
    pub allowed: Cow<'static, str>,
    /// What to do next.
    pub remedy: Cow<'static, str>,
}

impl Fault {
    /// Builds a fault from its code and its three texts: found, allowed, remedy.
    pub fn new(
        code: &'static Code,
        found: impl Into<Cow<'static, str>>,
        allowed: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { code, found: found.into(), allowed: allowed.into(), remedy: remedy.into() }
    }

    /// Says where the value stands.
    pub fn at(self, pointer: impl Into<String>, position: Option<Position>) -> Problem {
        Problem { fault: self, pointer: pointer.into(), position }
    }
}

/// A place in the input text; both counts start at 1, columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A [`Fault`] and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Problem {
    /// What is wrong.
    pub fault: Fault,
    /// JSON pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)) of the value; empty for the whole document.
    pub pointer: String,
    /// Where it starts in the text, where that is known.
    pub position: Option<Position>,
}
