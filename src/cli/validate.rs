//! `harness prediction dispatch validate`: every problem of every submission at once.

use anyhow::Result;
use jiff::Timestamp;

use super::args::{ValidateArgs, ValidateOutput};
use super::exit::Exit;
use super::input::{self, Source};
use super::notes::Notes;
use super::problems::{Validation, annotation, for_people};
use super::sarif::Finding;
use super::terminal::{self, Tone};
use super::{neutral, profiles, sarif};
use crate::clock::{Clock as _, SystemClock};
use crate::profile::Profiles;
use crate::render::placeholder::placeholders;
use crate::render::{self, life};
use crate::submission::{Problem, Sha256Digest, Submission};
use crate::submit::batch;
use crate::submit::receipt::ProblemReceipt;

/// What is known about one file.
struct Checked {
    source: String,
    problems: Vec<Problem>,
    notes: Vec<Problem>,
    result: Option<Sha256Digest>,
}

impl Checked {
    /// Notes first, so that what decides stands last on a screen.
    fn findings(&self) -> impl Iterator<Item = Finding<'_>> {
        let of = |tone| move |problem| Finding { source: &self.source, tone, problem };
        self.notes.iter().map(of(Tone::Warning)).chain(self.problems.iter().map(of(Tone::Error)))
    }
}

pub(super) fn run(args: &ValidateArgs) -> Result<Exit> {
    let profiles = profiles::load(&args.profiles)?;
    let at = args.at.unwrap_or_else(|| SystemClock.now());
    let mut checked = Vec::new();
    let mut unreadable = 0_usize;
    for source in input::read_each(&args.submissions.submissions)? {
        match source {
            Ok(source) => checked.push(check(&source, &profiles, at)),
            Err(error) => {
                unreadable += 1;
                terminal::say(Tone::Error, &super::chain(&error));
            }
        }
    }
    let results = checked.iter().map(|file| (file.source.as_str(), file.result));
    for (index, problem) in batch::same_result_twice(results) {
        checked[index].problems.push(problem);
    }
    match args.output {
        ValidateOutput::Text => print_text(&checked),
        ValidateOutput::Json => checked.iter().try_for_each(print_json)?,
        ValidateOutput::Github => checked.iter().for_each(print_annotations),
        ValidateOutput::Sarif => {
            let findings: Vec<_> = checked.iter().flat_map(Checked::findings).collect();
            terminal::data(&sarif::document(&findings));
        }
    }
    let invalid = checked.iter().filter(|file| !file.problems.is_empty()).count();
    if args.output == ValidateOutput::Text && checked.len() > 1 {
        terminal::say(
            Tone::Note,
            &format!("{} of {} submissions are valid", checked.len() - invalid, checked.len()),
        );
    }
    Ok(if unreadable > 0 {
        Exit::Usage
    } else if invalid > 0 {
        Exit::Invalid
    } else {
        Exit::Done
    })
}

fn check(source: &Source, profiles: &Profiles, at: Timestamp) -> Checked {
    let checked =
        |problems, notes, result| Checked { source: source.name.clone(), problems, notes, result };
    let submission = match Submission::parse(&source.bytes) {
        Ok(submission) => submission,
        Err(problems) => return checked(problems, Vec::new(), None),
    };
    let notes = submission.notes().to_vec();
    let result = Some(submission.result_identity());
    match render::fit(&submission, profiles) {
        Ok(fitted) => {
            let no_image = fitted.harness_image().err().into_iter().collect();
            let notes = [notes, placeholders(&fitted), no_image].concat();
            checked(life::dead_urls(&fitted, at), notes, result)
        }
        Err(problems) => checked(problems, notes, result),
    }
}

fn print_text(checked: &[Checked]) {
    let mut notes = Notes::default();
    for file in checked {
        notes.say(&file.source, &file.notes);
        for problem in &file.problems {
            terminal::say(Tone::Error, &for_people(&file.source, problem));
        }
        if file.problems.is_empty() {
            terminal::data(&format!("{}: valid", file.source));
        }
    }
    notes.finish();
}

fn print_json(file: &Checked) -> Result<()> {
    let validation = Validation {
        schema_version: "prediction_validation.v1",
        source: &file.source,
        valid: file.problems.is_empty(),
        problems: file.problems.iter().map(ProblemReceipt::from).collect(),
        notes: file.notes.iter().map(ProblemReceipt::from).collect(),
    };
    terminal::data(&neutral::json(&serde_json::to_string(&validation)?));
    Ok(())
}

fn print_annotations(file: &Checked) {
    for finding in file.findings() {
        terminal::data(&annotation(finding.tone, finding.source, finding.problem));
    }
}
