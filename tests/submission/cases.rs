//! One document and the problems that it must cause.

use harness::submission::{Problem, Submission};

use crate::form::{Form, text};

/// Code, pointer, and line with column where there is one.
pub(crate) type Expected = (&'static str, String, Option<(u32, u32)>);

pub(crate) struct Case {
    pub(crate) what: String,
    pub(crate) document: Vec<u8>,
    pub(crate) expected: Vec<Expected>,
}

/// Line and column at which the value of a field starts.
pub(crate) fn place(form: &Form, name: &str) -> (u32, u32) {
    let index = form.fields().iter().position(|(field, _)| field == name).unwrap();
    let column = "  ".len() + text(name).chars().count() + ": ".len() + 1;
    (u32::try_from(index + 2).unwrap(), u32::try_from(column).unwrap())
}

impl Case {
    /// Each of `codes` at the value of the field `name`.
    pub(crate) fn at_field(
        what: impl Into<String>,
        form: &Form,
        name: &str,
        codes: &[&'static str],
    ) -> Self {
        let place = Some(place(form, name));
        let expected = codes.iter().map(|code| (*code, format!("/{name}"), place)).collect();
        Self { what: what.into(), document: form.json().into_bytes(), expected }
    }

    /// A document with one problem.
    pub(crate) fn document(
        what: impl Into<String>,
        document: impl Into<Vec<u8>>,
        code: &'static str,
        pointer: &str,
        place: Option<(u32, u32)>,
    ) -> Self {
        Self {
            what: what.into(),
            document: document.into(),
            expected: vec![(code, pointer.to_owned(), place)],
        }
    }

    /// What does not hold, if anything.
    fn check(&self) -> Result<(), String> {
        let problems = match Submission::parse(&self.document) {
            Ok(_) => return Err(format!("{} is accepted", self.what)),
            Err(problems) => problems,
        };
        let found = found(&problems);
        if found != self.expected {
            return Err(format!("{}: found {found:?}, expected {:?}", self.what, self.expected));
        }
        let is_fragment = |text: &str| {
            !text.is_empty() && !text.ends_with('.') && !text.chars().any(char::is_control)
        };
        let fragments = problems.iter().map(|problem| &problem.fault).all(|fault| {
            [&fault.found, &fault.allowed, &fault.remedy].into_iter().all(|text| is_fragment(text))
        });
        if fragments { Ok(()) } else { Err(format!("{}: no fragment in {problems:#?}", self.what)) }
    }
}

pub(crate) fn found(problems: &[Problem]) -> Vec<Expected> {
    problems
        .iter()
        .map(|problem| {
            let place = problem.position.map(|position| (position.line, position.column));
            (problem.fault.code.name, problem.pointer.clone(), place)
        })
        .collect()
}

pub(crate) fn check_all(cases: &[Case]) {
    let wrong: Vec<String> = cases.iter().filter_map(|case| case.check().err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
