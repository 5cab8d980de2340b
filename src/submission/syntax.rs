//! Says what is wrong with a text that is no JSON: where reading stopped, and the mistake by its usual name.
//!
//! It never echoes input: a broken file may hold signed URLs anywhere.

use serde_json::value::RawValue;

use super::kind;
use super::problem::{Fault, Position, Problem};
use super::strict::SYNTAX;

/// What is wrong with a text that `serde_json` does not take, and where.
pub(super) fn problem(text: &str, error: &serde_json::Error) -> Problem {
    // `serde_json` names what it expected and never quotes the input in these messages.
    let message = error.to_string();
    let found = message.split(" at line ").next().unwrap_or("a syntax error").to_owned();
    let line = u32::try_from(error.line()).unwrap_or(u32::MAX).max(1);
    let characters = text.lines().nth(line as usize - 1).map_or(0, |line| {
        line.bytes().take(error.column()).filter(|byte| byte & 0xc0 != 0x80).count()
    });
    // For this one error `serde_json` names the column before.
    let characters = characters + usize::from(found.starts_with("control character"));
    let column = u32::try_from(characters).unwrap_or(u32::MAX).max(1);
    let (before, from) = around(text, error);
    let (found, remedy) = if kind::is_yaml(text) {
        ("YAML".to_owned(), "write it as JSON: one object in braces, names in double quotes")
    } else {
        usual_mistake(before, from).unwrap_or((found, "mend the text at this place"))
    };
    Fault::new(&SYNTAX, found, "one JSON document", remedy).at("", Some(Position { line, column }))
}

/// The text before and from the byte at which `serde_json` stopped.
fn around<'a>(text: &'a str, error: &serde_json::Error) -> (&'a str, &'a str) {
    let start_of_line: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let stopped = start_of_line + error.column().saturating_sub(1);
    text.split_at_checked(stopped).unwrap_or((text, ""))
}

/// Names the mistakes that people make; the words of a parser tell them little.
fn usual_mistake(before: &str, from: &str) -> Option<(String, &'static str)> {
    let last = before.trim_end().chars().next_back();
    let (found, remedy) = match (last, from.chars().next()) {
        (Some(','), Some('}' | ']')) => {
            ("a comma after the last entry", "remove the comma before the closing bracket")
        }
        (_, Some('\'')) => ("a single quote", "write names and texts in double quotes"),
        (_, Some('#')) => ("a comment", "remove it; JSON has no comments"),
        (_, Some('/')) if from.starts_with("//") || from.starts_with("/*") => {
            ("a comment", "remove it; JSON has no comments")
        }
        (Some('}'), Some('{')) if serde_json::from_str::<&RawValue>(before).is_ok() => {
            ("a second document", "give each document a file of its own")
        }
        (None, Some(first)) if !matches!(first, '{' | '[' | '"') => (
            "a text that does not start with `{`",
            "check that this is the right file; YAML and other formats are not read",
        ),
        _ => return None,
    };
    Some((found.to_owned(), remedy))
}

#[cfg(test)]
mod tests {
    use crate::submission::strict::Document;

    #[test]
    fn usual_mistakes_are_called_by_their_name() {
        for (text, expected) in [
            ("{\"a\":1,}", "a comma after the last entry"),
            ("{\n  \"é\": [1,\n  2,\n  ]\n}", "a comma after the last entry"),
            ("{'a':1}", "a single quote"),
            ("{\"a\": 'b'}", "a single quote"),
            ("// x\n{}", "a comment"),
            ("{\n\"a\":1, /* x */ \"b\":2}", "a comment"),
            ("{\"a\":1}\n{\"a\":2}\n", "a second document"),
            ("# x\n[1]\n", "a comment"),
            ("attempt_id\n", "a text that does not start with `{`"),
            ("true?", "trailing characters"),
            ("{\"a\" 1}", "expected `:`"),
            ("{\"a\":", "EOF while parsing a value"),
        ] {
            let (document, _) = Document::parse(text.as_bytes());
            let problems = document.into_problems();
            assert_eq!(problems[0].fault.found, expected, "{text}");
        }
    }
}
