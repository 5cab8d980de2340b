//! Text that is not ours, kept short. Making it harmless for a terminal is left to whoever prints it.

/// At most `limit` bytes of `text`, with an ellipsis where something was cut off.
pub(super) fn bounded(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(limit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        assert_eq!(bounded("äöü", 6), "äöü");
        assert_eq!(bounded("äöü", 5), "äö…");
        assert_eq!(bounded("äöü", 1), "…");
        assert_eq!(bounded("", 0), "");
    }
}
