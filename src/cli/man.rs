//! `harness man [COMMAND]...`: manual pages, as roff.

use anyhow::{Context as _, Result, bail};
use clap::CommandFactory as _;

use super::args::{Cli, ManArgs};
use super::exit::Exit;
use super::terminal;
use crate::submission::excerpt::excerpt;

pub(super) fn run(args: &ManArgs) -> Result<Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(find(&args.command)?)
        .manual("harness manual")
        .render(&mut page)
        .context("cannot write the page")?;
    terminal::data(&String::from_utf8_lossy(&page));
    Ok(Exit::Done)
}

/// The command at the end of `path`, named as its page is: `harness-prediction-dispatch-submit`.
fn find(path: &[String]) -> Result<clap::Command> {
    let mut name = "harness".to_owned();
    let mut found = Cli::command().disable_help_subcommand(true);
    found.build();
    for word in path {
        let Some(inner) = found.find_subcommand(word) else {
            let known: Vec<&str> = found.get_subcommands().map(clap::Command::get_name).collect();
            bail!(
                "`{}` has no command {}; it has: {}",
                name.replace('-', " "),
                excerpt(word),
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            );
        };
        name = format!("{name}-{word}");
        found = inner.clone().display_name(name.clone());
    }
    Ok(found)
}
