//! Which command is the runner: the submission's, or the image's own. Pure.
//!
//! The kubelet replaces an image's entrypoint by `run` itself, so the image says what to start in its environment.

use std::ffi::OsStr;

use crate::submission::runner::{MAX_ARGUMENTS, MAX_COMMAND_BYTES};

/// The variable in which an image names its runner.
pub(super) const VARIABLE: &str = "HARNESS_RUNNER";

/// The words to start, or why there are none.
pub(super) fn choose(
    submitted: &[String],
    of_image: Option<&OsStr>,
) -> Result<Vec<String>, String> {
    if !submitted.is_empty() {
        return Ok(submitted.to_vec());
    }
    let Some(text) = of_image else {
        return Err(format!(
            "the submission has no runner_command and the image has no {VARIABLE} in its environment"
        ));
    };
    let text = text.to_str().ok_or_else(|| format!("the image's {VARIABLE} is not UTF-8"))?;
    let words: Vec<String> = serde_json::from_str(text).map_err(|error| {
        format!("the image's {VARIABLE} is not a JSON array of texts such as [\"python3\", \"-m\", \"search\"]: {error}")
    })?;
    check(&words).map_or(Ok(()), |found| {
        Err(format!(
            "the image's {VARIABLE} holds {found}; allowed are the texts of a runner_command"
        ))
    })?;
    Ok(words)
}

/// What is wrong with words that come from an image; a submission's are checked when it is parsed.
fn check(words: &[String]) -> Option<&'static str> {
    if words.is_empty() {
        Some("no text")
    } else if words.len() > MAX_ARGUMENTS {
        Some("more than 64 texts")
    } else if words.iter().any(|word| word.is_empty() || word.contains('\0')) {
        Some("an empty text or a NUL character")
    } else if words.iter().map(String::len).sum::<usize>() > MAX_COMMAND_BYTES {
        Some("more than 16384 bytes")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_image(text: &str) -> Result<Vec<String>, String> {
        choose(&[], Some(OsStr::new(text)))
    }

    #[test]
    fn the_submission_comes_first() {
        let submitted = ["sh".to_owned()];
        assert_eq!(choose(&submitted, Some(OsStr::new("[\"image\"]"))), Ok(vec!["sh".to_owned()]));
        assert_eq!(of_image("[\"image\", \"-a\"]"), Ok(vec!["image".to_owned(), "-a".to_owned()]));
    }

    #[test]
    fn what_is_no_command_is_said() {
        assert!(choose(&[], None).unwrap_err().contains("no HARNESS_RUNNER"));
        for (text, said) in [
            ("", "not a JSON array"),
            ("python3 -m search", "not a JSON array"),
            ("{}", "not a JSON array"),
            ("[1]", "not a JSON array"),
            ("[]", "no text"),
            ("[\"a\", \"\"]", "an empty text"),
            ("[\"a\\u0000\"]", "NUL"),
        ] {
            let cause = of_image(text).unwrap_err();
            assert!(cause.contains(said), "{text}: {cause}");
        }
        let many = serde_json::to_string(&vec!["a"; 65]).unwrap();
        assert!(of_image(&many).unwrap_err().contains("more than 64"));
        let long = serde_json::to_string(&vec!["a".repeat(9000); 2]).unwrap();
        assert!(of_image(&long).unwrap_err().contains("more than 16384"));
    }

    #[cfg(unix)]
    #[test]
    fn bytes_are_no_text() {
        use std::os::unix::ffi::OsStrExt as _;
        let cause = choose(&[], Some(OsStr::from_bytes(b"[\"\xff\"]"))).unwrap_err();
        assert!(cause.contains("not UTF-8"), "{cause}");
    }
}
