//! From the end of the run to an archive in the spool, whatever the output is like.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::{Ran, Settings};
use crate::execution::archive::{self, Contents, Oddity, OddityReason, Packed, Packer, Survey};
use crate::execution::evidence::{self, Told};
use crate::execution::report::Limit;
use crate::execution::run::entries_allowed;
use crate::execution::{Category, Ending, Reason, Step};

/// The archive's name in the spool.
const ARCHIVE: &str = "result.tar.gz";

/// How the run ended, in one word and in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) category: Category,
    pub(super) sentence: String,
}

/// What is to be sent.
pub(super) struct Package {
    pub(super) archive: PathBuf,
    pub(super) packed: Packed,
    pub(super) outcome: Outcome,
    /// How many files are in it, and how many things in the output are not.
    pub(super) files: usize,
    pub(super) left_out: usize,
}

/// Packs the output with its evidence, or the evidence alone where the output cannot be packed.
pub(super) fn pack(
    settings: &Settings,
    object: &str,
    ran: &Ran,
    now: Timestamp,
) -> Result<Package, Reason> {
    let output = settings.places.output();
    let survey = archive::survey(&output, entries_allowed(settings.output_bytes));
    let outcome = outcome(settings, ran, &survey);
    let survey = survey.unwrap_or_default();
    let fits = !survey.too_many && survey.bytes <= settings.output_bytes;
    let archive = settings.places.spool().join(ARCHIVE);
    let with_output = Attempt { settings, object, ran, now, archive: &archive };
    if fits {
        match with_output.write(outcome.clone(), Some((&output, &survey))) {
            Ok(package) => return Ok(package),
            Err(error) => {
                let sentence = format!("the output could not be packed into the spool: {error}");
                let outcome = worse(outcome, Category::Environment, &sentence);
                return with_output.write(outcome, None).map_err(|error| spool_failed(&error));
            }
        }
    }
    with_output.write(outcome, None).map_err(|error| spool_failed(&error))
}

struct Attempt<'a> {
    settings: &'a Settings,
    object: &'a str,
    ran: &'a Ran,
    now: Timestamp,
    archive: &'a Path,
}

impl Attempt<'_> {
    fn write(&self, mut outcome: Outcome, output: Option<(&Path, &Survey)>) -> io::Result<Package> {
        match fs::remove_file(self.archive) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut archive = Packer::new(File::create_new(self.archive)?);
        let (contents, mut left_out) = match output {
            Some((root, survey)) => (archive.output(root, &survey.nodes)?, survey.left_out.clone()),
            None => (Contents::default(), Vec::new()),
        };
        left_out.extend(contents.left_out);
        if let Some(odd) = left_out.iter().chain(&contents.changed).find(|odd| is_a_loss(odd)) {
            let sentence =
                format!("the runner left output that cannot be published as it is: `{}`", odd.name);
            outcome = worse(outcome, Category::RunnerFailed, &sentence);
        }
        let (files, left) = (contents.files.len(), left_out.len());
        let report = self.ran.report.clone();
        let finished_on = report
            .as_ref()
            .map_or_else(|| self.now.to_string(), |report| report.finished_at.clone());
        let statement = evidence::build(
            &self.settings.facts,
            Told {
                result_object: self.object.to_owned(),
                command: self.ran.command.clone(),
                started_on: self.ran.started_on,
                finished_on,
                outcome: outcome.category,
                report,
                archived: output.is_some(),
                files: contents.files,
                bytes: contents.bytes,
                left_out,
                changed: contents.changed,
            },
        );
        let packed = archive.finish(&statement.to_bytes())?;
        Ok(Package { archive: self.archive.to_owned(), packed, outcome, files, left_out: left })
    }
}

/// Links, pipes and sockets are no results; a file or folder that cannot be had whole is a loss.
fn is_a_loss(odd: &Oddity) -> bool {
    match odd.reason {
        OddityReason::SymbolicLink
        | OddityReason::Device
        | OddityReason::Pipe
        | OddityReason::Socket => false,
        OddityReason::Unreadable
        | OddityReason::Vanished
        | OddityReason::TooDeep
        | OddityReason::PathTooLong
        | OddityReason::Grown
        | OddityReason::Shrunk => true,
    }
}

/// A success becomes this; a failure keeps its own reason.
fn worse(outcome: Outcome, category: Category, sentence: &str) -> Outcome {
    match outcome.category {
        Category::Succeeded => Outcome { category, sentence: sentence.to_owned() },
        _ => outcome,
    }
}

fn outcome(settings: &Settings, ran: &Ran, survey: &io::Result<Survey>) -> Outcome {
    let of_run = match &ran.report {
        Some(report) => {
            Outcome { category: report.ending.category(), sentence: ending(&report.ending) }
        }
        None => Outcome {
            category: Category::OutOfTime,
            sentence: "`run` did not report by the time when publication had to begin".to_owned(),
        },
    };
    match survey {
        Err(error) => {
            let sentence = format!("the output folder could not be looked at: {error}");
            worse(of_run, Category::Environment, &sentence)
        }
        Ok(survey) if survey.too_many => {
            let allowed = entries_allowed(settings.output_bytes);
            let sentence = format!(
                "the output has more than the {allowed} files and folders that are allowed"
            );
            worse(of_run, Category::LimitExceeded, &sentence)
        }
        Ok(survey) if survey.bytes > settings.output_bytes => {
            let sentence = format!(
                "the output has {} bytes, and {} are allowed",
                survey.bytes, settings.output_bytes
            );
            worse(of_run, Category::LimitExceeded, &sentence)
        }
        Ok(_) => of_run,
    }
}

/// What happened to the runner, in words.
fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Exited { code: 0 } => "the runner succeeded".to_owned(),
        Ending::Exited { code } => format!("the runner ended with exit status {code}"),
        Ending::Signalled { signal } => format!("the runner was ended by signal {signal}"),
        Ending::BudgetExceeded => {
            "the runner was still running at the end of its budget".to_owned()
        }
        Ending::OutOfMemory => "the runner needed more memory than it may use".to_owned(),
        Ending::LimitExceeded { limit } => {
            let what = match limit {
                Limit::OutputBytes => "bytes into the output",
                Limit::OutputEntries => "files and folders into the output",
                Limit::ScratchBytes => "bytes into scratch",
                Limit::ScratchEntries => "files and folders into scratch",
            };
            format!("the runner wrote more {what} than is allowed")
        }
        Ending::NotExecuted { cause } => format!("the runner could not be started: {cause}"),
        Ending::Stopped => "the run was stopped, and the runner with it".to_owned(),
        Ending::Lost => {
            "everything in `run`'s container was killed at once, most often for want of memory"
                .to_owned()
        }
    }
}

fn spool_failed(error: &io::Error) -> Reason {
    Reason::new(
        Step::Publish,
        Category::PublicationFailed,
        &format!("not even the evidence could be written to the spool: {error}"),
        "look at the node's disk; the run is not repeated, submit with a new attempt_id",
    )
}
