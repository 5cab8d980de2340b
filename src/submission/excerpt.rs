//! A short, harmless piece of a text that is not ours, for "what was found".
//!
//! Wherever a value may be shown it goes through here: control, bidirectional and invisible characters
//! are escaped, long texts are cut, and everything from a `?` on is left out, since a signed URL may
//! have been pasted into any field.

use std::fmt::Write as _;

const MAX_CHARACTERS: usize = 60;

/// Quotes `text` in backticks, escaped, cut to 60 characters and at the first `?`.
pub fn excerpt(text: &str) -> String {
    let mut shown = String::from("`");
    for (index, character) in text.chars().enumerate() {
        if index == MAX_CHARACTERS || character == '?' {
            shown.push('…');
            break;
        }
        if is_printable(character) {
            shown.push(character);
        } else {
            write!(shown, "\\u{{{:x}}}", u32::from(character)).expect("writing to a String");
        }
    }
    shown.push('`');
    shown
}

/// How much of what two texts have in common is shown before the place where they part.
const SHARED_CHARACTERS: usize = 20;

/// Quotes two texts as [`excerpt`] does, each from shortly before the place where they differ: two long URLs
/// of one bucket are the same in their first 60 characters.
pub fn excerpts_apart(one: &str, other: &str) -> (String, String) {
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b && *a != '?').count();
    if shared + SHARED_CHARACTERS <= MAX_CHARACTERS {
        return (excerpt(one), excerpt(other));
    }
    let from_there = |text: &str| {
        let rest: String = text.chars().skip(shared - SHARED_CHARACTERS).collect();
        excerpt(&rest).replacen('`', "`…", 1)
    };
    (from_there(one), from_there(other))
}

/// Whether a character shows as itself: no control, bidirectional, zero-width or line-breaking one.
///
/// The list follows Unicode's `Bidi_Control` and `Default_Ignorable_Code_Point` properties, without
/// the variation selectors' use inside emoji, which is no reason to allow them in an identifier.
pub fn is_printable(character: char) -> bool {
    !character.is_control()
        && !matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{excerpt, excerpts_apart};

    #[test]
    fn shows_no_query_no_control_and_not_too_much() {
        assert_eq!(excerpt("plain é"), "`plain é`");
        assert_eq!(excerpt("https://h/k?X-Amz-Signature=canary"), "`https://h/k…`");
        assert_eq!(excerpt("a\u{1b}[31m\u{202e}b"), "`a\\u{1b}[31m\\u{202e}b`");
        assert_eq!(excerpt(&"x".repeat(100)), format!("`{}…`", "x".repeat(60)));
    }

    #[test]
    fn two_long_texts_are_shown_where_they_differ() {
        let url = |key: &str| {
            format!("https://my-bucket.s3.eu-central-1.amazonaws.com/lab/results/{key}")
        };
        let (one, other) =
            excerpts_apart(&url("attempt-1/r.tar"), &url("attempt-2/r.tar?X=canary"));
        assert_eq!(one, "`…lab/results/attempt-1/r.tar`");
        assert_eq!(other, "`…lab/results/attempt-2/r.tar…`");
        let short = ("`https://a/k`".to_owned(), "`https://b/k`".to_owned());
        assert_eq!(excerpts_apart("https://a/k", "https://b/k"), short);
        let (one, other) = excerpts_apart(&format!("{}?a", url("")), &format!("{}?b", url("")));
        assert_eq!((one.as_str(), one.contains('?')), (other.as_str(), false));
    }
}
