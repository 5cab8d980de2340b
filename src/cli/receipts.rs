//! Shows receipts: a few lines for people, one line of JSON for programs. Pure.

use std::fmt::Write as _;

use super::neutral;
use crate::submit::Receipt;
use crate::submit::receipt::ProblemReceipt;

/// One receipt for people.
pub(super) fn for_people(receipt: &Receipt) -> String {
    let mut shown = format!("{}: {}", receipt.source, receipt.outcome.name());
    if let Some(job) = &receipt.job {
        write!(shown, " job/{} in {}", job.name, receipt.namespace.name)
            .expect("writing to a String");
    }
    let mut line = |label: &str, text: &str| {
        let indented = neutral::lines(text).replace('\n', "\n               ");
        write!(shown, "\n  {label:<12} {indented}").expect("writing to a String");
    };
    line("detail", &receipt.detail);
    if let Some(remedy) = &receipt.remedy {
        line("help", remedy);
    }
    if let Some(uid) = receipt.job.as_ref().and_then(|job| job.uid.as_deref()) {
        line("job uid", uid);
    }
    if let Some(uid) = &receipt.namespace.uid {
        line("namespace uid", uid);
    }
    if let Some(secret) = &receipt.secret {
        line("secret", &format!("{} ({})", secret.name, secret.state));
    }
    if let Some(identity) = &receipt.identity {
        line("submission", &identity.submission_digest);
    }
    receipt.differences.iter().for_each(|path| line("differs at", path));
    receipt
        .drift
        .iter()
        .for_each(|drift| line("drift", &format!("{} ({})", drift.path, drift.kind)));
    receipt.remarks.iter().for_each(|remark| line("remark", remark));
    receipt.warnings.iter().for_each(|warning| line("warning", warning));
    receipt.problems.iter().for_each(|problem| line("problem", &in_one_line(problem)));
    shown
}

fn in_one_line(problem: &ProblemReceipt) -> String {
    let place = match (problem.file.as_deref(), problem.line, problem.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column} "),
        (None, Some(line), Some(column)) => format!("{line}:{column} "),
        (Some(file), ..) => format!("{file} "),
        (None, ..) => String::new(),
    };
    format!(
        "{place}{} [{}] found {}; allowed: {}; help: {}",
        problem.pointer, problem.code, problem.found, problem.allowed, problem.remedy
    )
}

/// One receipt for programs, in one line.
pub(super) fn for_programs(receipt: &Receipt) -> String {
    neutral::json(&serde_json::to_string(receipt).expect("a receipt serialises"))
}
