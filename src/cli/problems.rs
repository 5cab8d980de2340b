//! Shows problems: for people, for programs, and as annotations of a pull request. Pure.

use std::fmt::Write as _;

use serde::Serialize;

use super::neutral;
use super::terminal::Tone;
use crate::submission::Problem;
use crate::submit::receipt::ProblemReceipt;

/// A problem for people: place, then found, allowed and help.
pub(super) fn for_people(source: &str, problem: &Problem) -> String {
    let mut place = source.to_owned();
    if let Some(position) = problem.position {
        write!(place, ":{}:{}", position.line, position.column).expect("writing to a String");
    }
    if !problem.pointer.is_empty() {
        write!(place, " at {}", neutral::text(&problem.pointer)).expect("writing to a String");
    }
    format!(
        "{place}: {} [{}]\nfound:   {}\nallowed: {}\nhelp:    {}",
        problem.fault.code.summary,
        problem.fault.code,
        neutral::text(&problem.fault.found),
        neutral::text(&problem.fault.allowed),
        neutral::text(&problem.fault.remedy),
    )
}

/// A file's validation for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Validation<'a> {
    /// `prediction_validation.v1`.
    pub schema_version: &'static str,
    /// The file, `-` for standard input.
    pub source: &'a str,
    /// Whether there are no problems.
    pub valid: bool,
    /// What is wrong.
    pub problems: Vec<ProblemReceipt>,
    /// What is accepted and still worth saying.
    pub notes: Vec<ProblemReceipt>,
}

/// One annotation of GitHub Actions; data and properties are escaped as its toolkit does
/// (<https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts>).
pub(super) fn annotation(tone: Tone, source: &str, problem: &Problem) -> String {
    let level = match tone {
        Tone::Error => "error",
        Tone::Warning => "warning",
        Tone::Note => "notice",
    };
    let mut properties = format!("file={}", property(source));
    if let Some(position) = problem.position {
        write!(properties, ",line={},col={}", position.line, position.column)
            .expect("writing to a String");
    }
    let title = format!("{} [{}]", problem.fault.code.summary, problem.fault.code);
    let message = format!(
        "{}: found {}; allowed: {}; help: {}",
        problem.pointer, problem.fault.found, problem.fault.allowed, problem.fault.remedy
    );
    format!(
        "::{level} {properties},title={}::{}",
        property(&title),
        escape(&neutral::text(&message))
    )
}

fn escape(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escape(&neutral::text(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::submission::Fault;
    use crate::submission::image::NOT_PINNED;
    use crate::submission::problem::Position;

    #[test]
    fn an_annotation_cannot_be_broken_out_of() {
        let fault = Fault::new(&NOT_PINNED, "a\n::set-output name=x::y", "b", "c %0A ##[error]");
        let problem = fault.at("/a\r\n::error::x", Some(Position { line: 3, column: 7 }));
        let shown = annotation(Tone::Error, "dir/a,b:c\n::debug::.json", &problem);
        assert_eq!(shown.lines().count(), 1);
        assert_eq!(shown.matches("##[").count(), shown.matches("\\##[").count());
        let (_, after) = shown.split_once("::").unwrap();
        let (properties, _) = after.split_once("::").unwrap();
        assert!(properties.starts_with("error file=dir/a%2Cb%3Ac"), "{properties}");
        assert!(properties.contains(",line=3,col=7,title="), "{properties}");
    }
}
