//! Why a container was made and not started, from the runtime's words, and what to do about that. Pure.

use super::category::Category;
use super::report::{Basis, Diagnosis};
use super::seen::diagnosis;
use super::words::cause;
use crate::execution::Step;

/// A step whose container could not be started.
pub(super) fn error(step: Step, message: &str) -> Diagnosis {
    let sentence = format!("`{}` could not be started: {}", step.name(), cause(message));
    let mut found = diagnosis(Category::CONTAINER_START, sentence, Basis::Container).of(step);
    if let Some(remedy) = remedy(message) {
        found.remedy = Some(remedy.to_owned());
    }
    found
}

fn remedy(message: &str) -> Option<&'static str> {
    let message = message.to_lowercase();
    PHRASES.iter().find(|(phrase, _)| message.contains(phrase)).map(|(_, remedy)| *remedy)
}

/// The words are those of Linux and of runc, which containerd and CRI-O hand on.
const PHRASES: &[(&str, &str)] = &[
    (
        "exec format error",
        "push the image for the node's platform, or take a profile whose nodes fit the image",
    ),
    ("oom-killed", "take a profile with more memory for this step"),
    ("cannot allocate memory", "take a profile with more memory for this step"),
    ("no space left on device", "have the node's disk looked at, and take a new attempt_id"),
    (
        "not a directory",
        "take the file out of the image that stands where harness mounts a folder: /harness and /tmp are harness's",
    ),
    (
        "permission denied",
        "set the mode of the file that the sentence names, so that everybody may execute it",
    ),
    ("executable file not found", NO_FILE),
    ("no such file or directory", NO_FILE),
];

const NO_FILE: &str = "check that this is the image that was meant: it does not have the file that the sentence names";

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of runc 1.1 to 1.4 and crun 1.14.
    #[test]
    fn what_the_runtime_says_decides_the_remedy() {
        for (message, part) in [
            (
                "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: \
                 unable to start container process: error during container init: exec: \"/a\": stat /a: no such file or directory",
                "does not have the file",
            ),
            ("executable file `a` not found in $PATH: executable file not found", "does not have"),
            ("runc create failed: exec /a: exec format error", "platform"),
            ("exec: \"/a\": permission denied", "everybody may execute"),
            ("error mounting \"x\" to rootfs at \"/harness\": mkdir: not a directory", "/harness"),
            ("container init was OOM-killed (memory limit too low?)", "more memory"),
        ] {
            let found = error(Step::Run, message);
            assert!(found.remedy.as_ref().unwrap().contains(part), "{message}: {found:?}");
            assert!(found.sentence.starts_with("`run` could not be started: "), "{found:?}");
        }
        let unheard = error(Step::Stage, "a word that nobody knows");
        assert_eq!(unheard.remedy.as_deref(), Some(Category::CONTAINER_START.remedy()));
    }
}
