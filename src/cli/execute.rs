//! `harness prediction execute`: an experiment on this machine, without a cluster, with the code of the pod.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};

use super::args::{ExecuteArgs, ExecuteOutput};
use super::executions::Execution;
use super::input::{self, STANDARD_INPUT};
use super::notes::Notes;
use super::submit::{Prepared, prepare};
use super::terminal::{self, Tone};
use super::{Exit, neutral, problems, profiles, signals, stage, step};
use crate::clock::{Clock, SystemClock};
use crate::execution::execute::{self, Ended, Folder, Log, Settings};
use crate::profile::Profiles;
use crate::render::{self, Fitted, identity, life};
use crate::submission::{Problem, Submission};
use crate::submit::receipt::ProblemReceipt;

/// What is said at the first signal.
const STOPPING: &str = "stopping: the runner is asked to end, and what it has left by then is published as `stopped`; a \
second signal ends at once, without publishing";

/// Executes; returns the exit code of the step that decides, or that of other commands before anything was begun.
pub(super) fn run(options: &ExecuteArgs) -> u8 {
    match begin(options) {
        Ok(0) if terminal::output_failed() => Exit::Unknown.number(),
        Ok(code) => code,
        Err(error) => {
            terminal::say(Tone::Error, &super::chain(&error));
            Exit::Usage.number()
        }
    }
}

fn begin(options: &ExecuteArgs) -> Result<u8> {
    input::check_standard_input([&options.submission].into_iter().chain(&options.signed))?;
    let profiles = profiles::load(&options.profiles)?;
    let environment = environment(&options.variables)?;
    let source = input::read(&options.submission)?;
    let mut notes = Notes::default();
    let prepared = prepare(&source, options.signed.as_deref(), &mut notes)?;
    notes.finish();
    let fitted = match fit(&prepared, &profiles, options.public_inputs) {
        Ok(fitted) => fitted,
        Err(problems) => return Ok(refuse(options, &prepared, &problems)),
    };
    if options.command.is_empty() {
        bail!("{}", no_command(fitted.submission));
    }
    warn(options, fitted.submission);
    let settings = Settings {
        fitted: &fitted,
        command: options.command.clone(),
        environment,
        store: step::store_settings(),
        binary: stage::binary(),
    };
    let stop = signals::stop_flag(STOPPING)?;
    let folder = folder(options.root.as_deref())?;
    let ended = execute(&settings, &folder, &stop);
    let kept = keep_or_remove(folder, &ended);
    let digest = identity::submission_digest(&fitted);
    let document =
        Execution::of(&prepared.source, fitted.submission, digest, &options.command, &ended, kept);
    show(options.output, &document);
    Ok(document.exit_code)
}

/// The submission with its profile, if nothing keeps it from beginning now.
fn fit<'a>(
    prepared: &'a Prepared,
    profiles: &'a Profiles,
    public_inputs: bool,
) -> Result<Fitted<'a>, Vec<Problem>> {
    let Some(submission) = prepared.submission.as_ref().filter(|_| prepared.problems.is_empty())
    else {
        return Err(prepared.problems.clone());
    };
    let fitted = render::fit(submission, profiles)?;
    let mut problems = execute::obstacles(&fitted);
    problems.extend(life::obstacles(&fitted, public_inputs, SystemClock.now()));
    if problems.is_empty() { Ok(fitted) } else { Err(problems) }
}

fn refuse(options: &ExecuteArgs, prepared: &Prepared, problems: &[Problem]) -> u8 {
    let code = Exit::Invalid.number();
    let file = prepared.overlay.as_deref().unwrap_or(&prepared.source);
    for problem in problems {
        terminal::say(Tone::Error, &problems::for_people(file, problem));
    }
    let problems = problems.iter().map(|problem| ProblemReceipt {
        file: prepared.overlay.clone(),
        ..ProblemReceipt::from(problem)
    });
    let submission = prepared.submission.as_ref();
    let problems = problems.collect();
    let document =
        Execution::invalid(&prepared.source, submission, &options.command, problems, code);
    if options.output == ExecuteOutput::Json {
        terminal::data(&document.for_programs());
    }
    code
}

fn no_command(submission: &Submission) -> String {
    let own = submission.runner_command().map_or_else(
        || "the submission leaves it to its image".to_owned(),
        |command| format!("the submission's own, for its image, is {command:?}"),
    );
    format!(
        "no command: the image is not run here, so say behind `--` what this machine is to start as the runner, such as \
         `-- python3 /home/me/search.py`; {own}"
    )
}

/// What is not as in a pod, where it matters for what the runner can reach.
fn warn(options: &ExecuteArgs, submission: &Submission) {
    let note = |text: &str| terminal::say(Tone::Note, &neutral::lines(text));
    let signed = options.signed.as_deref().unwrap_or(&options.submission);
    if signed.as_os_str() != STANDARD_INPUT {
        note(&format!(
            "the runner has your rights and can read the signed URLs in {}; give them through a pipe and `-` to keep them from it",
            input::shown(signed)
        ));
    }
    if rustix::process::geteuid().is_root() {
        terminal::say(
            Tone::Warning,
            "you are root, and so is the runner: nothing on this machine is out of its reach; run this as an ordinary user",
        );
    }
    if let Some(secret) = submission.runner_secret_name() {
        note(&format!(
            "the Secret {secret} of the submission is not read here; give its variables with `--env NAME`"
        ));
    }
}

/// What the runner finds of this environment: no credential by accident.
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
fn environment(names: &[String]) -> Result<Vec<(OsString, OsString)>> {
    let is_harmless =
        |name: &str| ["PATH", "LANG", "LANGUAGE", "TZ"].contains(&name) || name.starts_with("LC_");
    let mut environment: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_harmless)).collect();
    for name in names {
        let value = std::env::var_os(name).filter(|_| !name.contains('='));
        let value = value.with_context(|| {
            format!("`--env {}`: there is no variable of this name", neutral::text(name))
        })?;
        environment.push((name.into(), value));
    }
    Ok(environment)
}

fn folder(root: Option<&Path>) -> Result<Folder> {
    let folder = if let Some(path) = root {
        Folder::named(path)
            .with_context(|| format!("cannot use the folder {}", input::shown(path)))?
    } else {
        let parent: PathBuf = std::env::temp_dir();
        Folder::temporary(&parent)
            .with_context(|| format!("cannot make a folder in {}", input::shown(&parent)))?
    };
    terminal::say(Tone::Note, &format!("working in {}", input::shown(folder.path())));
    Ok(folder)
}

fn execute(settings: &Settings<'_>, folder: &Folder, stop: &Arc<AtomicBool>) -> Ended {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut stream = neutral::Stream::default();
    let log: Log = Box::new(move |piece| terminal::pass_on(&stream.bytes(piece)));
    execute::execute(settings, folder, log, &clock, stop, &mut step::say)
}

/// Where the folder is, if it stays.
fn keep_or_remove(folder: Folder, ended: &Ended) -> Option<String> {
    let path = input::shown(folder.path());
    if !folder.is_temporary() {
        return Some(path);
    }
    if ended.has_something_to_lose() {
        terminal::say(
            Tone::Note,
            &format!("{path} is kept: what the run left is in it, and not in the result object"),
        );
        return Some(path);
    }
    match folder.remove() {
        Ok(()) => None,
        Err(error) => {
            terminal::say(Tone::Warning, &format!("{path} cannot be removed: {error}"));
            Some(path)
        }
    }
}

fn show(output: ExecuteOutput, document: &Execution<'_>) {
    match output {
        ExecuteOutput::Text => terminal::data(&document.for_people()),
        ExecuteOutput::Json => terminal::data(&document.for_programs()),
        ExecuteOutput::Name => {
            if let (true, Some(object)) = (document.published, &document.result_object) {
                terminal::data(&neutral::text(object));
            }
        }
    }
}
