//! `harness prediction dispatch submit`: every submission exactly once, one receipt each.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};

use super::args::{ClusterArgs, DryRunMode, ReceiptOutput, SubmitArgs};
use super::exit::Exit;
use super::input::{self, STANDARD_INPUT, Source};
use super::terminal::{self, Tone};
use super::{neutral, problems, profiles, receipts, signals};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{self, Access, ConnectOptions, Connection};
use crate::profile::Profiles;
use crate::render;
use crate::submission::{Problem, SignedUrls, Submission};
use crate::submit::batch::{self, Item};
use crate::submit::receipt::Turn;
use crate::submit::{Intent, Limits, Receipt};

/// A submission with its signatures, or what is wrong with it.
struct Prepared {
    source: String,
    submission: Option<Submission>,
    problems: Vec<Problem>,
}

pub(super) fn run(args: &SubmitArgs) -> Result<Exit> {
    input::check_standard_input(args.submissions.submissions.iter().chain(&args.signed))?;
    let profiles = profiles::load(&args.profiles)?;
    let sources = input::read_all(&args.submissions.submissions)?;
    let prepared: Vec<Prepared> = sources
        .into_iter()
        // Each text goes as soon as it is read: thousands of files may be named.
        .map(|source| prepare(&source, args.signed.as_deref()))
        .collect::<Result<_>>()?;
    let (items, invalid) = plan(&prepared, &profiles, args);
    let mut exits = Vec::new();
    let mut done = |receipt: &Receipt| {
        print(receipt, args.output);
        exits.push(Exit::of_receipt(receipt, args.fail_if_failed));
    };
    invalid.iter().for_each(&mut done);
    match args.dry_run {
        DryRunMode::Client => {
            for item in &items {
                done(&rehearsed_here(item, args));
            }
        }
        DryRunMode::None | DryRunMode::Server => {
            submit_items(&items, args)?.iter().for_each(|receipt| {
                exits.push(Exit::of_receipt(receipt, args.fail_if_failed));
            });
        }
    }
    Ok(Exit::most_urgent(exits))
}

fn prepare(source: &Source, signed: Option<&Path>) -> Result<Prepared> {
    let prepared =
        |submission, problems| Prepared { source: source.name.clone(), submission, problems };
    let submission = match Submission::parse(&source.bytes) {
        Ok(submission) => submission,
        Err(problems) => return Ok(prepared(None, problems)),
    };
    // Most notes are about signatures, and those may come apart.
    let warn = |submission: &Submission| {
        for note in submission.notes() {
            terminal::say(Tone::Warning, &problems::for_people(&source.name, note));
        }
    };
    let Some(file) = signed_file(signed, &submission) else {
        warn(&submission);
        return Ok(prepared(Some(submission), Vec::new()));
    };
    let overlay = input::read(&file).with_context(|| {
        format!("the signed URLs of {} are missing; nothing was submitted", source.name)
    })?;
    let merged =
        SignedUrls::parse(&overlay.bytes).and_then(|signed| submission.clone().sign(signed));
    match merged {
        Ok(merged) => {
            warn(&merged);
            Ok(prepared(Some(merged), Vec::new()))
        }
        Err(problems) => {
            warn(&submission);
            // The receipt lists them, but its places are those of this file, which it does not name.
            let found =
                format!("{}: refused; the receipt of {} says why", overlay.name, source.name);
            terminal::say(Tone::Error, &found);
            Ok(prepared(Some(submission), problems))
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

/// Plans what can go; the rest is receipts already.
fn plan<'a>(
    prepared: &'a [Prepared],
    profiles: &'a Profiles,
    args: &'a SubmitArgs,
) -> (Vec<Item<'a>>, Vec<Receipt>) {
    let intent = Intent {
        public_inputs: args.public_inputs,
        rehearse_only: args.dry_run == DryRunMode::Server,
    };
    let mut items = Vec::new();
    let mut receipts = Vec::new();
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
            Err(problems) => {
                receipts.push(Receipt::invalid(
                    turn(&file.source, args),
                    file.submission.as_ref(),
                    &problems,
                ));
            }
        }
    }
    let twins = batch::same_result_twice(&items);
    let mut index = 0;
    items.retain(|item| {
        let twin = twins.get(&index);
        index += 1;
        if let Some(problem) = twin {
            receipts.push(Receipt::invalid(
                turn(item.source(), args),
                Some(item.submission()),
                std::slice::from_ref(problem),
            ));
        }
        twin.is_none()
    });
    (items, receipts)
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

fn submit_items(items: &[Item<'_>], args: &SubmitArgs) -> Result<Vec<Receipt>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let stop = signals::stop_flag()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let connection = match Connection::open(&connect_options(&args.cluster, args), &clock) {
        Ok(connection) => connection,
        Err(error) if error.is_usage() => return Err(error.into()),
        Err(error) => {
            let why = super::chain(&anyhow::Error::from(error));
            let unreachable = |item: &Item<'_>| {
                Receipt::unreachable(turn(item.source(), args), &item.plan(), &why)
            };
            let receipts: Vec<Receipt> = items.iter().map(unreachable).collect();
            for receipt in &receipts {
                print(receipt, args.output);
            }
            return Ok(receipts);
        }
    };
    let progress = super::progress::Progress::start(items.len());
    let done = |receipt: &Receipt| progress.aside(|| print(receipt, args.output));
    let receipts = batch::submit_all(
        &connection,
        &SystemClock,
        Limits::default(),
        items,
        usize::from(args.jobs),
        &stop,
        &done,
    );
    if stop.load(Ordering::Relaxed) {
        terminal::say(
            Tone::Warning,
            "stopped; the receipts say what is known, and running the same command again is safe",
        );
    }
    Ok(receipts)
}

fn connect_options(cluster: &ClusterArgs, args: &SubmitArgs) -> ConnectOptions {
    let reads_stdin = args
        .submissions
        .submissions
        .iter()
        .chain(&args.signed)
        .any(|path| path.as_os_str() == STANDARD_INPUT);
    options_for(cluster, Access::Submit, !reads_stdin)
}

/// How a command with this access reaches the cluster.
pub(super) fn options_for(
    cluster: &ClusterArgs,
    access: Access,
    stdin_is_free: bool,
) -> ConnectOptions {
    let context = match &cluster.context {
        Some(name) => cluster::Context::Named(name.clone()),
        None => cluster::Context::InCluster { token: cluster::SERVICE_ACCOUNT_TOKEN.into() },
    };
    let stderr = Mutex::new(neutral::Stream::default());
    ConnectOptions {
        kubectl: cluster.kubectl.clone(),
        kubeconfig: cluster.kubeconfig.clone(),
        impersonate_user: cluster.impersonate_user.clone(),
        impersonate_groups: cluster.impersonate_groups.clone(),
        request_timeout: cluster.request_timeout,
        stdin_is_free,
        folders: input::temporary_folders(),
        on_stderr: Some(Arc::new(move |bytes: &[u8]| {
            let mut stream = stderr.lock().unwrap_or_else(PoisonError::into_inner);
            terminal::pass_on(&stream.piece(&String::from_utf8_lossy(bytes)));
        })),
        ..ConnectOptions::new(context, cluster.namespace.as_str(), access)
    }
}

fn print(receipt: &Receipt, output: ReceiptOutput) {
    match output {
        ReceiptOutput::Text => terminal::data(&receipts::for_people(receipt)),
        ReceiptOutput::Json => terminal::data(&receipts::for_programs(receipt)),
    }
}
