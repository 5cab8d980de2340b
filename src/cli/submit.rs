//! `harness prediction dispatch submit`: every submission exactly once, one receipt each.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::args::{DryRunMode, ReceiptOutput, StatusOutput, SubmitArgs};
use super::exit::Exit;
use super::input::{self, STANDARD_INPUT, Source};
use super::notes::Notes;
use super::terminal::{self, Tone};
use super::{connect, profiles, receipts, signals, status};
use crate::clock::{Clock, SystemClock};
use crate::cluster::Access;
use crate::profile::Profiles;
use crate::render;
use crate::status::Target;
use crate::submission::{Problem, SignedUrls, Submission};
use crate::submit::batch::{self, Item};
use crate::submit::receipt::Turn;
use crate::submit::{Intent, Limits, Receipt, ReceiptOutcome};

/// A submission with its signatures, or what is wrong with it.
pub(super) struct Prepared {
    pub(super) source: String,
    pub(super) submission: Option<Submission>,
    pub(super) problems: Vec<Problem>,
    /// Where the problems are, if not in the submission.
    pub(super) overlay: Option<String>,
}

/// Prints each receipt as it comes and keeps only what it means for the exit code, and what is to be waited for.
struct Receipts {
    output: ReceiptOutput,
    fail_if_failed: bool,
    is_waiting: bool,
    exits: Mutex<Vec<Exit>>,
    targets: Mutex<Vec<Target>>,
}

impl Receipts {
    fn done(&self, receipt: &Receipt) {
        match self.output {
            ReceiptOutput::Text => terminal::data(&receipts::for_people(receipt)),
            ReceiptOutput::Json => terminal::data(&receipts::for_programs(receipt)),
        }
        let exit = Exit::of_receipt(receipt, self.fail_if_failed);
        self.ended([exit]);
        if self.is_waiting {
            let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
            targets.extend(to_follow(receipt));
        }
    }

    fn ended(&self, exits: impl IntoIterator<Item = Exit>) {
        self.exits.lock().unwrap_or_else(PoisonError::into_inner).extend(exits);
    }

    fn take_targets(&self) -> Vec<Target> {
        std::mem::take(&mut self.targets.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn exit(self) -> Exit {
        Exit::most_urgent(self.exits.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) fn run(args: &SubmitArgs) -> Result<Exit> {
    input::check_standard_input(args.submissions.submissions.iter().chain(&args.signed))?;
    let receipts = Receipts {
        output: args.output,
        fail_if_failed: args.fail_if_failed,
        is_waiting: args.wait.is_some(),
        exits: Mutex::default(),
        targets: Mutex::default(),
    };
    let stop = submit(args, &receipts)?;
    // A wait may last for days: by now the signed URLs have left this memory, and the kubectl that carried them is gone.
    if let (Some(limit), Some(stop), DryRunMode::None) = (args.wait, stop, args.dry_run) {
        wait(args, limit.0, &receipts, &stop);
    }
    Ok(receipts.exit())
}

/// Submits all; gives the request to stop, once it is heard.
fn submit(args: &SubmitArgs, receipts: &Receipts) -> Result<Option<Arc<AtomicBool>>> {
    let profiles = profiles::load(&args.profiles)?;
    let sources = input::read_all(&args.submissions.submissions)?;
    let mut notes = Notes::default();
    let prepared: Vec<Prepared> = sources
        .into_iter()
        // Each text goes as soon as it is read: thousands of files may be named.
        .map(|source| prepare(&source, args.signed.as_deref(), &mut notes))
        .collect::<Result<_>>()?;
    notes.finish();
    let items = plan(&prepared, &profiles, args, receipts);
    match args.dry_run {
        DryRunMode::Client => {
            for item in &items {
                receipts.done(&rehearsed_here(item, args));
            }
            Ok(None)
        }
        DryRunMode::None | DryRunMode::Server if items.is_empty() => Ok(None),
        DryRunMode::None | DryRunMode::Server => {
            let stop = signals::stop_flag(signals::RECEIPTS)?;
            submit_items(&items, args, receipts, &stop)?;
            Ok(Some(stop))
        }
    }
}

/// Waits as `status --wait` does, over a connection that may only read.
fn wait(args: &SubmitArgs, limit: Option<Duration>, receipts: &Receipts, stop: &Arc<AtomicBool>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = connect::options(&args.cluster, Access::Watch, !reads_standard_input(args));
    let output = match args.output {
        ReceiptOutput::Text => StatusOutput::Text,
        ReceiptOutput::Json => StatusOutput::Json,
    };
    let waiting = status::Waiting { begun: clock.boottime(), limit, is_watching: false, output };
    let targets = receipts.take_targets();
    receipts.ended(status::follow_to_the_end(&clock, &options, None, targets, waiting, stop));
}

/// Reads a submission and brings the signatures of `signed` to it.
pub(super) fn prepare(
    source: &Source,
    signed: Option<&Path>,
    notes: &mut Notes,
) -> Result<Prepared> {
    let prepared = |submission, problems, overlay| Prepared {
        source: source.name.clone(),
        submission,
        problems,
        overlay,
    };
    let submission = match Submission::parse(&source.bytes) {
        Ok(submission) => submission,
        Err(problems) => return Ok(prepared(None, problems, None)),
    };
    // Most notes are about signatures, and those may come apart.
    let Some(file) = signed_file(signed, &submission) else {
        notes.say(&source.name, submission.notes());
        return Ok(prepared(Some(submission), Vec::new(), None));
    };
    let overlay = input::read(&file).with_context(|| {
        format!("the signed URLs of {} are missing; nothing was submitted", source.name)
    })?;
    let merged =
        SignedUrls::parse(&overlay.bytes).and_then(|signed| submission.clone().sign(signed));
    match merged {
        Ok(merged) => {
            // Those with a place are about what the signed file holds; it has no other fields.
            let (signed, reviewed): (Vec<_>, Vec<_>) =
                merged.notes().iter().cloned().partition(|note| note.position.is_some());
            notes.say(&overlay.name, &signed);
            notes.say(&source.name, &reviewed);
            Ok(prepared(Some(merged), Vec::new(), None))
        }
        Err(problems) => {
            notes.say(&source.name, submission.notes());
            Ok(prepared(Some(submission), problems, Some(overlay.name)))
        }
    }
}

/// The file with the signatures: the one that is named, or `ATTEMPT_ID.json` in the directory that is named.
fn signed_file(signed: Option<&Path>, submission: &Submission) -> Option<std::path::PathBuf> {
    let signed = signed?;
    if signed.is_dir() {
        Some(signed.join(format!("{}.json", submission.attempt_id())))
    } else {
        Some(signed.to_owned())
    }
}

/// Plans what can go; the rest are receipts already.
fn plan<'a>(
    prepared: &'a [Prepared],
    profiles: &'a Profiles,
    args: &'a SubmitArgs,
    receipts: &Receipts,
) -> Vec<Item<'a>> {
    let intent = Intent {
        public_inputs: args.public_inputs,
        rehearse_only: args.dry_run == DryRunMode::Server,
    };
    let mut items = Vec::new();
    for file in prepared {
        let planned = match &file.submission {
            Some(submission) if file.problems.is_empty() => render::fit(submission, profiles)
                .and_then(|fitted| {
                    Item::new(file.source.clone(), fitted, &args.cluster.namespace, intent)
                }),
            _ => Err(file.problems.clone()),
        };
        match planned {
            Ok(item) => items.push(item),
            Err(problems) => receipts.done(&Receipt::invalid(
                turn(&file.source, args),
                file.submission.as_ref(),
                &problems,
                file.overlay.as_deref(),
            )),
        }
    }
    let results =
        items.iter().map(|item| (item.source(), Some(item.submission().result_identity())));
    let twins = batch::same_result_twice(results);
    let mut index = 0;
    items.retain(|item| {
        let twin = twins.get(&index);
        index += 1;
        if let Some(problem) = twin {
            receipts.done(&Receipt::invalid(
                turn(item.source(), args),
                Some(item.submission()),
                std::slice::from_ref(problem),
                None,
            ));
        }
        twin.is_none()
    });
    items
}

fn turn(source: &str, args: &SubmitArgs) -> Turn {
    Turn {
        source: source.to_owned(),
        namespace: args.cluster.namespace.to_string(),
        started: SystemClock.now(),
        milliseconds: 0,
    }
}

/// `--dry-run=client`: everything that needs no cluster, by the local clock.
fn rehearsed_here(item: &Item<'_>, args: &SubmitArgs) -> Receipt {
    let turn = turn(item.source(), args);
    let plan = item.plan();
    let obstacles = plan.obstacles_at(turn.started);
    Receipt::checked_here(turn, &plan, obstacles)
}

fn submit_items(
    items: &[Item<'_>],
    args: &SubmitArgs,
    receipts: &Receipts,
    stop: &AtomicBool,
) -> Result<()> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = connect::options(&args.cluster, Access::Submit, !reads_standard_input(args));
    let connection = match connect::open(&options, &clock)? {
        Ok(connection) => connection,
        Err(why) => {
            for item in items {
                let turn = turn(item.source(), args);
                receipts.done(&Receipt::unreachable(turn, &item.plan(), &why));
            }
            return Ok(());
        }
    };
    let progress = super::progress::Progress::start(items.len());
    let done = |receipt: &Receipt| progress.aside(|| receipts.done(receipt));
    batch::submit_all(
        &connection,
        &SystemClock,
        Limits::default(),
        items,
        usize::from(args.jobs),
        stop,
        &done,
    );
    if stop.load(Ordering::Relaxed) {
        terminal::say(
            Tone::Warning,
            "stopped; the receipts say what is known, and running the same command again is safe",
        );
    }
    Ok(())
}

fn reads_standard_input(args: &SubmitArgs) -> bool {
    let mut files = args.submissions.submissions.iter().chain(&args.signed);
    files.any(|path| path.as_os_str() == STANDARD_INPUT)
}

/// The Job of a receipt whose experiment is under way or over.
fn to_follow(receipt: &Receipt) -> Option<Target> {
    let is_there =
        matches!(receipt.outcome, ReceiptOutcome::Created | ReceiptOutcome::AlreadySubmitted);
    let job = receipt.job.as_ref().filter(|_| is_there)?;
    let digest = receipt.identity.as_ref().map(|identity| identity.submission_digest.clone());
    Some(Target { name: job.name.clone(), uid: job.uid.clone(), submission_digest: digest })
}
