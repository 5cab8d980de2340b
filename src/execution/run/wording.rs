//! What is said of a runner's end: one sentence, and what to do next. Pure.
//!
//! `run` says it as a hint and `publish` as the record, in the same words.

use crate::execution::report::Limit;
use crate::execution::{Ending, Reason, Step};

/// Signals by number, the same on every processor that Kubernetes has: `man 7 signal`.
const SIGNALS: [(i32, &str); 12] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
];

/// The reason of a step that ends as the runner did.
pub fn reason(step: Step, ending: &Ending, max_seconds: u32) -> Reason {
    Reason::new(step, ending.category(), &sentence(ending, max_seconds), remedy(ending))
}

/// What happened. `max_seconds` is the budget, 0 where it is not known.
pub fn sentence(ending: &Ending, max_seconds: u32) -> String {
    match ending {
        Ending::Exited { code: 0 } => "the runner ended with status 0".to_owned(),
        Ending::Exited { code } => format!("the runner ended with status {code}"),
        Ending::Signalled { signal } => {
            format!("the runner was ended by {}, which harness did not send", signal_name(*signal))
        }
        Ending::BudgetExceeded if max_seconds == 0 => {
            "the runner was still running at the end of its budget and was ended".to_owned()
        }
        Ending::BudgetExceeded => format!(
            "the runner was still running at the end of its budget of {max_seconds} s and was ended"
        ),
        Ending::OutOfMemory => "the runner needed more memory than it may use".to_owned(),
        Ending::LimitExceeded { limit } => {
            format!("the runner was ended because it wrote too much: {}", limit_name(*limit))
        }
        Ending::NotExecuted { cause } => format!("the runner could not be started: {cause}"),
        Ending::Stopped => {
            "the runner was ended because the step was asked to stop (TERM)".to_owned()
        }
        Ending::Lost => "everything in the runner's container was killed at once".to_owned(),
    }
}

/// What to do next; empty where nothing is to be done.
pub fn remedy(ending: &Ending) -> &'static str {
    match ending {
        Ending::Exited { code: 0 } => "",
        Ending::Exited { .. } => "see the end of its output",
        Ending::Signalled { .. } => {
            "see the end of its output; SIGKILL is often want of memory, SIGSEGV and SIGABRT are crashes"
        }
        Ending::BudgetExceeded => {
            "let it stop by itself before HARNESS_DEADLINE, or ask for a larger search_budget"
        }
        Ending::OutOfMemory | Ending::Lost => {
            "let it use less, or choose a profile with more memory; /dev/shm and other folders in memory count too"
        }
        Ending::LimitExceeded { limit: Limit::OutputBytes | Limit::OutputEntries } => {
            "let it write less or fewer files, or choose a profile with a larger `output` volume"
        }
        Ending::LimitExceeded { limit: Limit::ScratchBytes | Limit::ScratchEntries } => {
            "let it write less or fewer files to scratch, HOME and /tmp, or choose a profile with a larger `scratch` volume"
        }
        Ending::NotExecuted { .. } => {
            "correct `runner_command` in the submission or HARNESS_RUNNER in the image, and submit with a new attempt_id"
        }
        Ending::Stopped => {
            "the pod's deadline passed, or it was cancelled or evicted: see the Job's and the pod's conditions"
        }
    }
}

fn signal_name(signal: i32) -> String {
    let known = SIGNALS.iter().find(|(number, _)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(_, name)| format!("{name} ({signal})"))
}

fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::OutputBytes => "the output folder is larger than the profile's `output` volume",
        Limit::OutputEntries => "the output folder holds more files than its volume has room for",
        Limit::ScratchBytes => "the scratch folder is larger than the profile's `scratch` volume",
        Limit::ScratchEntries => "the scratch folder holds more files than its volume has room for",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_names() {
        assert_eq!(
            sentence(&Ending::Signalled { signal: 11 }, 60),
            "the runner was ended by SIGSEGV (11), which harness did not send"
        );
        assert!(sentence(&Ending::Signalled { signal: 64 }, 60).contains("signal 64"));
    }

    #[test]
    fn only_success_needs_no_remedy() {
        assert_eq!(remedy(&Ending::Exited { code: 0 }), "");
        for ending in [
            Ending::Exited { code: 3 },
            Ending::Signalled { signal: 9 },
            Ending::BudgetExceeded,
            Ending::OutOfMemory,
            Ending::LimitExceeded { limit: Limit::ScratchEntries },
            Ending::NotExecuted { cause: "a cause".to_owned() },
            Ending::Stopped,
            Ending::Lost,
        ] {
            assert!(!remedy(&ending).is_empty(), "{ending:?}");
            let reason = reason(Step::Run, &ending, 86400);
            assert!(reason.sentence.len() < 300, "{}", reason.sentence);
        }
    }
}
