//! What `run` starts: the submission's own command and the Secret that becomes its environment.

use super::name::SecretName;
use super::problem::{Code, Fault};
use super::reader::Read;
use super::strict::{Document, Value};

/// The runner's command is empty, too long or holds what no process can be given.
pub(super) static INVALID_COMMAND: Code = Code {
    name: "runner-command-invalid",
    summary: "the runner's command cannot be started",
    explanation: "`runner_command` is an array of 1 to 64 texts, the program first and each argument apart, none empty, none with a \
NUL character, 16 KiB (16384 bytes) in all. No shell reads it: write `[\"sh\", \"-c\", \"...\"]` where one is wanted. \
Leave the field out when the image says what to start in its `HARNESS_RUNNER`.",
};

/// The runner's Secret carries a name that belongs to harness.
pub(super) static RESERVED_SECRET: Code = Code {
    name: "runner-secret-reserved",
    summary: "the runner's Secret has a name that belongs to harness",
    explanation: "Names that begin with `prediction-` are the Secrets that hold signed URLs, which research code never sees.",
};

/// Every code that this file can report.
pub(super) static CODES: &[&Code] = &[&INVALID_COMMAND, &RESERVED_SECRET];

/// The most texts of a command.
pub(crate) const MAX_ARGUMENTS: usize = 64;
/// The most bytes of a command's texts together.
pub(crate) const MAX_COMMAND_BYTES: usize = 16 * 1024;

/// Reads `runner_command`.
pub(super) fn command(document: &mut Document<'_>, read: Read<Value>) -> Option<Vec<String>> {
    let (pointer, offset) = (read.pointer.clone(), read.offset);
    let elements = read.elements(document)?;
    let count = elements.len();
    let texts: Vec<String> = elements
        .into_iter()
        .filter_map(|element| element.text(document))
        .map(|text| text.value)
        .collect();
    if texts.len() < count {
        return None;
    }
    match check(&texts) {
        None => Some(texts),
        Some(found) => {
            let fault = Fault::new(
                &INVALID_COMMAND,
                found,
                "1 to 64 texts, none empty, without NUL, 16384 bytes in all",
                "write the program and its arguments, or leave the field out",
            );
            document.report(fault, &pointer, offset);
            None
        }
    }
}

fn check(texts: &[String]) -> Option<String> {
    let bytes: usize = texts.iter().map(String::len).sum();
    if texts.is_empty() {
        Some("an empty array".to_owned())
    } else if texts.len() > MAX_ARGUMENTS {
        Some(format!("{} texts", texts.len()))
    } else if let Some(index) = texts.iter().position(String::is_empty) {
        Some(format!("an empty text at index {index}"))
    } else if let Some(index) = texts.iter().position(|text| text.contains('\0')) {
        Some(format!("a NUL character at index {index}"))
    } else if bytes > MAX_COMMAND_BYTES {
        Some(format!("{bytes} bytes in all"))
    } else {
        None
    }
}

/// Parses `runner_secret_name`.
pub(super) fn secret_name(text: &str) -> Result<SecretName, Fault> {
    if text.starts_with("prediction-") {
        return Err(Fault::new(
            &RESERVED_SECRET,
            "a name that begins with `prediction-`",
            "the name of a Secret that the profile allows to runners",
            "choose one that `harness profiles NAME` lists",
        ));
    }
    SecretName::parse(text)
}
