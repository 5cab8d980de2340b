//! Shows statuses: a page of 80 columns for people, lines for programs. Pure.

use std::fmt::Write as _;

use anyhow::Result;

use super::neutral;
use crate::status::{Status, StepState, StepStatus, duration};

/// Columns of a page.
const COLUMNS: usize = 80;

/// Columns of the labels, with what stands before and after them.
const MARGIN: usize = 15;

/// One status for people.
pub fn for_people(status: &Status) -> String {
    let mut page = Page(format!("{}: {}", status.name, status.phase.name()));
    let diagnosis = &status.diagnosis;
    page.line("why", &format!("{} [{}]", diagnosis.sentence, diagnosis.category.name()));
    page.maybe("help", diagnosis.remedy.as_deref());
    status.remarks.iter().for_each(|remark| page.line("remark", remark));
    let times = &status.times;
    page.maybe("created", times.created_at.as_deref().map(|at| aged(at, status)).as_deref());
    page.maybe("started", times.started_at.as_deref());
    page.maybe("finished", times.finished_at.as_deref());
    for (label, left) in
        [("Job ends in", times.job_left_seconds), ("pod ends in", times.pod_left_seconds)]
    {
        page.maybe(label, left.map(duration).as_deref());
    }
    status.steps.iter().for_each(|step| page.line(step.step.name(), &step_line(step)));
    page.line("namespace", &status.namespace);
    page.maybe("job uid", status.job_uid.as_deref());
    if let Some(pod) = &status.pod {
        page.line("pod", &pod.name);
        page.maybe("node", pod.node.as_deref());
    }
    let identity = &status.identity;
    page.maybe("attempt", identity.attempt_id.as_deref());
    page.maybe("mission", identity.mission_id.as_deref());
    page.maybe("image", identity.image.as_deref());
    page.maybe("result", identity.result_object.as_deref());
    page.maybe("submission", identity.submission_digest.as_deref());
    page.maybe("evidence", status.evidence_digest.as_deref());
    page.0
}

fn aged(created: &str, status: &Status) -> String {
    match status.times.age_seconds {
        Some(age) => format!("{created} ({} ago)", duration(age)),
        None => created.to_owned(),
    }
}

fn step_line(step: &StepStatus) -> String {
    let state = match step.state {
        StepState::Waiting => "waiting",
        StepState::Running => "at work",
        StepState::Succeeded => "done",
        StepState::Failed => "failed",
        StepState::Unknown => "not known",
    };
    let mut shown = state.to_owned();
    if let Some(seconds) = step.seconds {
        write!(shown, ", {}", duration(seconds)).expect("writing to a String");
    }
    match (step.allowance_seconds, step.left_seconds) {
        (_, Some(left)) => write!(shown, ", {} left", duration(left)),
        (Some(allowance), None) => write!(shown, " (of {})", duration(allowance)),
        (None, None) => Ok(()),
    }
    .expect("writing to a String");
    if let Some(code) = step.exit_code.filter(|code| *code != 0) {
        write!(shown, ", code {code}").expect("writing to a String");
    }
    shown
}

/// What is going on, in one line: for progress and for logs.
pub fn in_one_line(status: &Status) -> String {
    let left = left(status).map(|left| format!("; {left}")).unwrap_or_default();
    let sentence = neutral::text(&status.diagnosis.sentence);
    format!("{}: {sentence} [{}]{left}", status.phase.name(), status.diagnosis.category.name())
}

/// The same for a line that is cut at the width of a terminal: what matters most comes first.
pub(super) fn at_a_glance(status: &Status) -> String {
    let left = left(status).map(|left| format!(", {left}")).unwrap_or_default();
    format!("{}{left}: {}", status.phase.name(), neutral::text(&status.diagnosis.sentence))
}

/// What is left of a step is not what is left of everything.
fn left(status: &Status) -> Option<String> {
    let of_step = status.steps.iter().find_map(|step| step.left_seconds);
    match (of_step, status.times.job_left_seconds) {
        (Some(left), _) => Some(format!("{} left", duration(left))),
        (None, Some(left)) => Some(format!("the Job ends in {} at the latest", duration(left))),
        (None, None) => None,
    }
}

/// One status of several: a line of a table.
pub fn wide(status: &Status) -> String {
    let age = status.times.age_seconds.map(duration).unwrap_or_default();
    let node = status.pod.as_ref().and_then(|pod| pod.node.as_deref()).unwrap_or("-");
    format!(
        "{:<43}  {:<10}  {:<20}  {:>12}  {:<16}  {}",
        status.name,
        status.phase.name(),
        status.diagnosis.category.name(),
        age,
        neutral::text(node),
        neutral::text(&status.diagnosis.sentence)
    )
}

/// The head of [`wide`].
pub fn wide_head() -> String {
    format!(
        "{:<43}  {:<10}  {:<20}  {:>12}  {:<16}  {}",
        "NAME", "PHASE", "CATEGORY", "AGE", "NODE", "WHY"
    )
}

/// The name as kubectl takes it.
pub fn name(name: &str) -> String {
    format!("job.batch/{name}")
}

/// One status for programs, in one line.
pub fn json(status: &Status) -> String {
    neutral::json(&serde_json::to_string(status).expect("a status serialises"))
}

/// One status as a YAML document.
pub fn yaml(status: &Status) -> Result<String> {
    let document = serde_json::to_value(status)?;
    Ok(format!("---\n{}", neutral::yaml(&document)?))
}

/// Lines of a label and a text, which is neutralised and broken between words.
struct Page(String);

impl Page {
    fn maybe(&mut self, label: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.line(label, text);
        }
    }

    fn line(&mut self, label: &str, text: &str) {
        for (index, line) in broken(&neutral::text(text)).iter().enumerate() {
            let label = if index == 0 { label } else { "" };
            write!(self.0, "\n  {label:<12} {line}").expect("writing to a String");
        }
    }
}

/// Lines of at most the width of a page; a word that is longer is broken.
fn broken(text: &str) -> Vec<String> {
    let width = COLUMNS - MARGIN;
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut rest: Vec<char> = word.chars().collect();
        let used = lines.last().map_or(0, |line| line.chars().count());
        if used > 0 && used + 1 + rest.len() > width {
            lines.push(String::new());
        } else if used > 0 {
            lines.last_mut().expect("there is one").push(' ');
        }
        while rest.len() > width {
            // The backslash that breaks up a command stays before it.
            let rest_begins_command = rest[width..].starts_with(&[':', ':'])
                || rest[width..].starts_with(&['#', '#', '[']);
            let cut = if rest_begins_command { width - 1 } else { width };
            let head: String = rest.drain(..cut).collect();
            lines.last_mut().expect("there is one").push_str(&head);
            lines.push(String::new());
        }
        lines.last_mut().expect("there is one").extend(rest);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_broken_up_wherever_a_line_ends() {
        for before in 0..200 {
            for command in ["::error::x", "##[group]x"] {
                let raw = format!("{}{command}", "w".repeat(before));
                let lines = broken(&neutral::text(&raw));
                assert_eq!(lines.concat().replace('\\', ""), raw);
                for line in lines {
                    assert!(!line.starts_with("::") && !line.starts_with("##["), "{line}");
                    assert!(line.len() <= COLUMNS - MARGIN, "{line}");
                }
            }
        }
    }

    #[test]
    fn lines_are_broken_between_words_and_never_too_long() {
        let text = format!("{} {} end", "word ".repeat(30), "x".repeat(150));
        let lines = broken(&text);
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMNS - MARGIN), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        assert_eq!(broken(""), [""]);
    }
}
