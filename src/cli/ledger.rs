//! `cancel`, `release` and `prune`: what stands is ended, one receipt for each experiment.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};

use super::args::{ClusterArgs, EndArgs, PruneArgs, ReceiptOutput};
use super::exit::Exit;
use super::input::{self, STANDARD_INPUT};
use super::terminal::{self, Tone};
use super::{connect, problems, receipts, signals};
use crate::clock::{Clock, SystemClock};
use crate::cluster::{Access, Connection};
use crate::ledger::survey::{self, Wish};
use crate::ledger::{Command, LedgerReceipt, Limits, drive};
use crate::render::identity;
use crate::submission::Submission;

pub(super) fn cancel(args: &EndArgs) -> Result<Exit> {
    let question = "its run ends, and nothing starts it again; what it has published stays";
    one(args, Command::Cancel, question)
}

pub(super) fn release(args: &EndArgs) -> Result<Exit> {
    let question = "if it provably never ran, its Job and Secrets go and it can be submitted again";
    one(args, Command::Release, question)
}

/// One experiment.
fn one(args: &EndArgs, command: Command, question: &str) -> Result<Exit> {
    let EndArgs { experiment, cluster, yes, output } = args;
    let reads_stdin = experiment.submission.as_deref() == Some(Path::new(STANDARD_INPUT));
    let name = match (&experiment.name, &experiment.submission) {
        (Some(name), _) => name.clone(),
        (None, Some(file)) => match name_of(file)? {
            Some(name) => name,
            None => return Ok(Exit::Invalid),
        },
        (None, None) => bail!("name an experiment, or its submission with `-f`"),
    };
    let verb = if command == Command::Cancel { "cancel" } else { "release" };
    let place = place(cluster);
    if !confirm(&format!("{verb} {name} in {place}? {question}"), *yes, reads_stdin)? {
        return Ok(Exit::Done);
    }
    let namespace = cluster.namespace.as_str();
    let (connection, stop) = match open(cluster, Access::Operate, !reads_stdin)? {
        Ok(connected) => connected,
        Err(why) => {
            let receipt = LedgerReceipt::unreachable(namespace, &name, command, &why);
            return Ok(show(&receipt, *output));
        }
    };
    let driven = drive(&connection, &SystemClock, Limits::default(), command, &name, &stop);
    Ok(show(&LedgerReceipt::of(namespace, &name, command, driven), *output))
}

pub(super) fn prune(args: &PruneArgs) -> Result<Exit> {
    let what = if args.secrets_only { "remove unneeded Secrets of" } else { "prune" };
    let hours = args.older_than.as_secs() / 3600;
    let place = place(&args.cluster);
    let question = format!("{what} experiments that ended more than {hours} h ago in {place}?");
    if !args.dry_run && !confirm(&question, args.yes, false)? {
        return Ok(Exit::Done);
    }
    let (connection, stop) = match open(&args.cluster, Access::Prune, true)? {
        Ok(connected) => connected,
        Err(why) => {
            terminal::say(Tone::Error, &format!("{why}; nothing was changed"));
            return Ok(Exit::Unknown);
        }
    };
    let wish = Wish {
        older_than: args.older_than,
        secrets_only: args.secrets_only,
        dry_run: args.dry_run,
    };
    let found = match survey::survey(&connection, &SystemClock, wish) {
        Ok(found) => found,
        Err(why) => {
            terminal::say(
                Tone::Error,
                &super::neutral::lines(&format!("{why}; nothing was changed")),
            );
            return Ok(Exit::Unknown);
        }
    };
    let receipts = survey::carry_out(
        &connection,
        &SystemClock,
        Limits::default(),
        &found.tasks,
        args.dry_run,
        usize::from(args.jobs),
        &stop,
        &|receipt| {
            show(receipt, args.output);
        },
    );
    if args.output == ReceiptOutput::Text {
        let (jobs, due) = (found.jobs, receipts.len());
        terminal::say(
            Tone::Note,
            &format!("experiments with a Job: {jobs}; with something to do: {due}"),
        );
    }
    Ok(Exit::most_urgent(receipts.iter().map(|receipt| Exit::of_ledger(receipt.outcome))))
}

/// The name of a submission's Job; `None` after its problems were said.
fn name_of(file: &Path) -> Result<Option<String>> {
    let source = input::read(file)?;
    match Submission::parse(&source.bytes) {
        Ok(submission) => Ok(Some(identity::job_name(submission.result_identity()))),
        Err(found) => {
            for problem in &found {
                terminal::say(Tone::Error, &problems::for_people(&source.name, problem));
            }
            Ok(None)
        }
    }
}

fn place(cluster: &ClusterArgs) -> String {
    match &cluster.context {
        Some(context) => format!("namespace {} of {context}", cluster.namespace),
        None => format!("namespace {} of this cluster", cluster.namespace),
    }
}

/// Asks on a terminal; where nobody can be asked, `--yes` must have been given.
fn confirm(question: &str, yes: bool, reads_stdin: bool) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    if reads_stdin || !io::stdin().is_terminal() {
        bail!("nobody can be asked here; give `--yes`");
    }
    terminal::ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let agreed = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !agreed {
        terminal::say(Tone::Note, "nothing was changed");
    }
    Ok(agreed)
}

type Connected = (Connection, Arc<AtomicBool>);

/// A connection, or in words why there is none.
fn open(
    cluster: &ClusterArgs,
    access: Access,
    stdin_is_free: bool,
) -> Result<Result<Connected, String>> {
    let stop = signals::stop_flag(signals::RECEIPTS)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let opened = connect::open(&connect::options(cluster, access, stdin_is_free), &clock)?;
    Ok(opened.map(|connection| (connection, stop)))
}

fn show(receipt: &LedgerReceipt, output: ReceiptOutput) -> Exit {
    match output {
        ReceiptOutput::Text => terminal::data(&receipts::ledger_for_people(receipt)),
        ReceiptOutput::Json => terminal::data(&receipts::ledger_for_programs(receipt)),
    }
    Exit::of_ledger(receipt.outcome)
}
