//! Makes text that is not ours harmless for a terminal and for a CI log. Pure.
//!
//! Control and bidirectional characters could redraw a terminal or hide a change from a reviewer; CI
//! systems run commands that they find in a log: `::name` and `##[name]`
//! (<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>).

use std::fmt::Write as _;

use serde_json::Value;

use crate::submission::excerpt::is_printable;

/// Text for people: dangerous characters as `\u{..}`, workflow commands broken up with a backslash.
pub(super) fn text(raw: &str) -> String {
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
pub(super) fn lines(raw: &str) -> String {
    raw.lines().map(text).collect::<Vec<_>>().join("\n")
}

/// A piece of another program's standard error: line feeds stay, a prompt may end without one.
pub(super) fn stream(raw: &str) -> String {
    raw.split('\n').map(|line| text(line.trim_end_matches('\r'))).collect::<Vec<_>>().join("\n")
}

/// JSON text: the same characters as escapes, which change no value.
pub(super) fn json(serialised: &str) -> String {
    let mut shown = String::with_capacity(serialised.len());
    for (index, character) in serialised.char_indices() {
        let is_layout = matches!(character, '\n');
        if (!is_printable(character) && !is_layout) || begins_command(&serialised[index..]) {
            // Outside of strings JSON is plain ASCII without `:` or `#` pairs, so this only meets strings.
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(shown, "\\u{unit:04x}").expect("writing to a String");
            }
        } else {
            shown.push(character);
        }
    }
    shown
}

/// A document as YAML: texts with such characters in double quotes and with escapes, which change no value.
pub(super) fn yaml(document: &Value) -> Result<String, serde_yaml::ser::Error> {
    let mut stand_in = "quoted".to_owned();
    let json = document.to_string();
    while json.contains(&stand_in) {
        stand_in.push('q');
    }
    let mut document = document.clone();
    let mut quoted = Vec::new();
    set_aside(&mut document, &stand_in, &mut quoted);
    let mut yaml = serde_yaml::to_string(&document)?;
    for (index, text) in quoted.iter().enumerate() {
        yaml = yaml.replace(&format!("{stand_in}-{index}-text"), text);
    }
    Ok(yaml)
}

/// Puts a stand-in for each text that has to be escaped.
fn set_aside(value: &mut Value, stand_in: &str, quoted: &mut Vec<String>) {
    match value {
        Value::String(text) if is_dangerous(text) => {
            let stand_in = format!("{stand_in}-{}-text", quoted.len());
            quoted.push(yaml_quoted(text));
            *text = stand_in;
        }
        Value::Array(items) => items.iter_mut().for_each(|item| set_aside(item, stand_in, quoted)),
        Value::Object(map) => map.values_mut().for_each(|value| set_aside(value, stand_in, quoted)),
        _ => {}
    }
}

fn is_dangerous(text: &str) -> bool {
    text.char_indices().any(|(index, character)| {
        (!is_printable(character) && character != '\n') || begins_command(&text[index..])
    })
}

/// A scalar in double quotes (YAML 1.2, section 7.3.1).
fn yaml_quoted(text: &str) -> String {
    let mut shown = String::from("\"");
    for (index, character) in text.char_indices() {
        if !is_printable(character) || begins_command(&text[index..]) {
            write!(shown, "\\U{:08x}", u32::from(character)).expect("writing to a String");
        } else {
            if matches!(character, '"' | '\\') {
                shown.push('\\');
            }
            shown.push(character);
        }
    }
    shown.push('"');
    shown
}

/// Whether a workflow command could begin here. `::` counts at any place: a log may add text before it.
fn begins_command(rest: &str) -> bool {
    rest.starts_with("##[") || rest.starts_with("::")
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
    fn yaml_keeps_every_value_and_shows_nothing_dangerous() {
        let texts = [
            "\u{1b}[31mred\u{7}",
            "a\u{202e}b\u{200b}",
            "line\n::error::x",
            "##[group]",
            "\" \\ \u{85}\u{2028}\u{e0041}",
            "quoted-0-text",
            "plain: text # here",
            "two\nlines",
        ];
        let document = serde_json::json!({ "texts": texts, "nested": { "a": [texts] } });
        let shown = yaml(&document).unwrap();
        assert_eq!(serde_yaml::from_str::<Value>(&shown).unwrap(), document);
        assert!(shown.chars().all(|c| is_printable(c) || c == '\n'), "{shown:?}");
        assert!(!shown.contains("::error") && !shown.contains("##["), "{shown}");
        let harmless = serde_json::json!({ "a": ["b", { "c": 1 }] });
        assert_eq!(yaml(&harmless).unwrap(), serde_yaml::to_string(&harmless).unwrap());
    }
}
