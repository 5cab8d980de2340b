//! `harness explain CODE`: the whole story of a problem code, a receipt outcome or an exit code.

use anyhow::{Result, bail};

use super::args::ExplainArgs;
use super::exit::Exit;
use super::terminal;
use crate::submission::Code;
use crate::submit::ReceiptOutcome;
use crate::{profile, render, submission, submit};

/// Every problem code, by name.
pub fn codes() -> Vec<&'static Code> {
    let mut codes = submission::codes();
    codes.extend(profile::CODES);
    codes.extend(render::codes());
    codes.extend(submit::batch::CODES);
    codes.sort_by_key(|code| code.name);
    codes
}

pub(super) fn run(args: &ExplainArgs) -> Result<Exit> {
    match &args.code {
        None => list(),
        Some(word) => match story(word) {
            Some(story) => terminal::data(&story),
            None => bail!(
                "there is no problem code, receipt outcome or exit code {}; `harness explain` lists them",
                submission::excerpt::excerpt(word)
            ),
        },
    }
    Ok(Exit::Done)
}

fn list() {
    terminal::data("Problem codes:");
    for code in codes() {
        terminal::data(&format!("  {:<34} {}", code.name, code.summary));
    }
    terminal::data("\nReceipt outcomes:");
    for outcome in ReceiptOutcome::ALL {
        terminal::data(&format!("  {:<34} {}", outcome.name(), outcome.summary()));
    }
    terminal::data("\nExit codes:");
    let mut exits = Exit::BY_URGENCY;
    exits.sort_by_key(|exit| exit.number());
    for exit in exits {
        terminal::data(&format!("  {:<34} {}", exit.number(), exit.meaning()));
    }
}

fn story(word: &str) -> Option<String> {
    let code = codes().into_iter().find(|code| code.name == word);
    let outcome = ReceiptOutcome::ALL.into_iter().find(|outcome| outcome.name() == word);
    let exit = Exit::BY_URGENCY.into_iter().find(|exit| exit.number().to_string() == word);
    let told = |name: &str, summary: &str, explanation: &str| {
        format!("{name}: {summary}\n\n{}", wrap(explanation))
    };
    code.map(|code| told(code.name, code.summary, code.explanation))
        .or_else(|| {
            outcome.map(|outcome| told(outcome.name(), outcome.summary(), outcome.explanation()))
        })
        .or_else(|| {
            exit.map(|exit| told(&format!("exit code {word}"), exit.meaning(), exit.explanation()))
        })
}

/// Paragraphs in lines of at most 80 columns.
fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > 80 {
            wrapped.push('\n');
            column = 0;
        } else if column > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += length;
    }
    wrapped
}
