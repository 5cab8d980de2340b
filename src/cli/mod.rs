//! The command line: reads arguments, calls the library, prints, and picks the exit code.
//!
//! One file a command. Nothing below this module prints, reads the environment or knows an exit code.

pub mod args;
pub mod exit;
mod explain;
mod init;
mod input;
mod neutral;
mod problems;
mod profiles;
mod progress;
mod publish;
mod receipts;
mod render;
mod run;
mod schema;
mod signals;
mod step;
mod submit;
mod terminal;
mod validate;
mod verify;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use args::{Cli, Command, DispatchCommand, EvidenceCommand, PredictionCommand};
pub use exit::Exit;
pub use explain::codes;
use terminal::Tone;

/// Runs the command line `argv`, program name first. The steps of the pod have exit codes of their own
/// ([`Category::exit_code`](crate::execution::Category::exit_code)), all other commands those of [`Exit`].
pub fn run(argv: impl IntoIterator<Item = OsString>) -> ExitCode {
    forbid_core_dumps();
    let cli = match Cli::try_parse_from(argv) {
        Ok(cli) => cli,
        Err(error) => return stopped_by_clap(&error).into(),
    };
    let ended = match &cli.command {
        Command::Prediction(PredictionCommand::Dispatch(command)) => match command {
            DispatchCommand::Validate(options) => validate::run(options),
            DispatchCommand::Render(options) => render::run(options),
            DispatchCommand::Submit(options) => submit::run(options),
        },
        Command::Prediction(PredictionCommand::Run(options)) => return run::run(options).into(),
        Command::Prediction(PredictionCommand::Publish(options)) => {
            return publish::run(options).into();
        }
        Command::Evidence(EvidenceCommand::Verify(options)) => verify::run(options),
        Command::Init(options) => init::run(options),
        Command::Profiles(options) => profiles::run(options),
        Command::Explain(options) => explain::run(options),
        Command::Schema(options) => Ok(schema::run(options)),
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
        && ["validate", "render", "submit"].contains(&word.as_str())
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
