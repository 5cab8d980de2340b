//! The command line: reads arguments, calls the library, prints, and picks the exit code.
//!
//! One file a command. Nothing below this module prints, reads the environment or knows an exit code.

pub mod args;
mod completions;
mod connect;
mod execute;
mod executions;
pub mod exit;
mod explain;
mod init;
mod input;
mod ledger;
mod list;
mod logs;
mod man;
pub mod neutral;
mod notes;
mod problems;
mod profiles;
mod progress;
mod publish;
mod receipts;
mod render;
mod run;
mod sarif;
mod schema;
mod signals;
mod stage;
mod status;
pub mod statuses;
mod step;
mod submit;
mod terminal;
mod validate;
mod verdict;
mod verify;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser as _};

use args::{Cli, Command, DispatchCommand, EvidenceCommand, PredictionCommand};
pub use exit::Exit;
pub use explain::codes;
use terminal::Tone;

/// Runs the command line `argv`, program name first. The steps of the pod have exit codes of their own
/// ([`Category::exit_code`](crate::execution::Category::exit_code)), all other commands those of [`Exit`].
pub fn run(argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    forbid_core_dumps();
    let argv: Vec<OsString> = argv.into_iter().collect();
    if let Some(exit) = completions::answer(&argv) {
        return exit.into();
    }
    let cli = match parse(argv) {
        Ok(cli) => cli,
        Err(error) => return stopped_by_clap(&error).into(),
    };
    let ended = match &cli.command {
        Command::Prediction(PredictionCommand::Dispatch(command)) => match command {
            DispatchCommand::Validate(options) => validate::run(options),
            DispatchCommand::Render(options) => render::run(options),
            DispatchCommand::Submit(options) => submit::run(options),
            DispatchCommand::Status(options) => status::run(options),
            DispatchCommand::List(options) => list::run(options),
            DispatchCommand::Logs(options) => logs::run(options),
            DispatchCommand::Cancel(options) => ledger::cancel(options),
            DispatchCommand::Release(options) => ledger::release(options),
            DispatchCommand::Prune(options) => ledger::prune(options),
        },
        Command::Prediction(PredictionCommand::Stage(options)) => {
            return stage::run(options).into();
        }
        Command::Prediction(PredictionCommand::Run(options)) => return run::run(options).into(),
        Command::Prediction(PredictionCommand::Publish(options)) => {
            return publish::run(options).into();
        }
        Command::Prediction(PredictionCommand::Execute(options)) => {
            return execute::run(options).into();
        }
        Command::Evidence(EvidenceCommand::Verify(options)) => verify::run(options),
        Command::Init(options) => init::run(options),
        Command::Profiles(options) => profiles::run(options),
        Command::Explain(options) => explain::run(options),
        Command::Schema(options) => Ok(schema::run(options)),
        Command::Completions(options) => completions::run(options),
        Command::Man(options) => man::run(options),
    };
    let exit = match ended {
        Ok(_) if terminal::output_failed() => Exit::Unknown,
        Ok(exit) => exit,
        Err(error) => {
            terminal::say(Tone::Error, &chain(&error));
            Exit::Usage
        }
    };
    exit.into()
}

/// As a plugin of kubectl (`kubectl-harness` in PATH) the command calls itself `kubectl harness`, as it is typed.
fn parse(argv: Vec<OsString>) -> Result<Cli, clap::Error> {
    let program = argv.first().and_then(|program| Path::new(program).file_name());
    if program.is_none_or(|name| name != "kubectl-harness") {
        return Cli::try_parse_from(argv);
    }
    // clap takes its name from the first word otherwise.
    let command = Cli::command().no_binary_name(true).bin_name("kubectl harness");
    let matches = command.try_get_matches_from(argv.into_iter().skip(1))?;
    Cli::from_arg_matches(&matches)
}

/// A core file would hold signed URLs: a quit from the keyboard writes one where they are switched on. What is
/// started from here decides for itself again.
fn forbid_core_dumps() {
    #[cfg(target_os = "linux")]
    // Where the kernel refuses, the site's limit for core files is what is left.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// `--help` and `--version` are data; everything else is wrong usage.
fn stopped_by_clap(error: &clap::Error) -> Exit {
    let printed = error.print();
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && ["validate", "render", "submit", "status", "list", "logs", "cancel", "release", "prune"]
            .contains(&word.as_str())
    {
        terminal::say(Tone::Note, &format!("it is `harness prediction dispatch {word}`"));
    }
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion if printed.is_ok() => Exit::Done,
        _ => Exit::Usage,
    }
}

/// The error and its causes, outermost first.
fn chain(error: &anyhow::Error) -> String {
    neutral::lines(&error.chain().map(ToString::to_string).collect::<Vec<_>>().join(": "))
}
