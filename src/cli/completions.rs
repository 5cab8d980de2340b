//! `harness completions SHELL`, and the answers to the shell's questions.
//!
//! The script is small and asks harness itself at each key, through [`VARIABLE`], so it never knows another version's
//! options and knows commands at any depth.

use std::ffi::OsString;

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

use super::args::{Cli, CompletionsArgs};
use super::exit::Exit;
use super::terminal;

/// Set by the scripts only.
const VARIABLE: &str = "HARNESS_COMPLETE";

pub(super) fn run(args: &CompletionsArgs) -> Result<Exit> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).context("there is no script for this shell")?;
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "harness", "harness", "harness", &mut script)
        .context("cannot write the script")?;
    terminal::data(&String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}

/// Answers a shell that completes a command line; `None` when no shell asks.
pub(super) fn answer(argv: &[OsString]) -> Option<Exit> {
    let folder = std::env::current_dir().ok();
    let answered = CompleteEnv::with_factory(Cli::command)
        .var(VARIABLE)
        .try_complete(argv.iter().cloned(), folder.as_deref());
    match answered {
        Ok(false) => None,
        Ok(true) => Some(Exit::Done),
        Err(error) => {
            // Nothing may be printed into a line that is being typed, but a script by hand shows it.
            let _ = error.print();
            Some(Exit::Usage)
        }
    }
}
