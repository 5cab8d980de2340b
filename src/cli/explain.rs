//! `harness explain CODE`: the whole story of a problem code, a receipt's outcome, a category of a status or an exit code.

use anyhow::{Result, bail};

use super::args::ExplainArgs;
use super::exit::Exit;
use super::terminal;
use crate::execution;
use crate::ledger::LedgerOutcome;
use crate::status::Category;
use crate::submission::Code;
use crate::submit::ReceiptOutcome;
use crate::{profile, render, submission, submit};

/// Every problem code, by name.
pub fn codes() -> Vec<&'static Code> {
    let mut codes = submission::codes();
    codes.extend(profile::CODES);
    codes.extend(render::codes());
    codes.extend(submit::batch::CODES);
    codes.extend(execution::execute::CODES);
    codes.sort_by_key(|code| code.name);
    codes
}

pub(super) fn run(args: &ExplainArgs) -> Result<Exit> {
    match &args.code {
        None => list(),
        Some(word) => match story(word) {
            Some(story) => terminal::data(&story),
            None => bail!(
                "there is no problem code, receipt outcome, category or exit code {}; `harness explain` lists them",
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
    terminal::data("\nReceipt outcomes of `cancel`, `release` and `prune`:");
    for outcome in LedgerOutcome::ALL {
        terminal::data(&format!("  {:<34} {}", outcome.name(), outcome.summary()));
    }
    terminal::data("\nCategories of a status:");
    for category in Category::all() {
        terminal::data(&format!("  {:<34} {}", category.name(), category.summary()));
    }
    terminal::data("\nExit codes:");
    let mut exits = Exit::BY_URGENCY;
    exits.sort_by_key(|exit| exit.number());
    for exit in exits {
        terminal::data(&format!("  {:<34} {}", exit.number(), exit.meaning()));
    }
    terminal::data("\nExit codes of the steps in the pod:");
    for category in steps_categories() {
        let name = format!("{} {}", category.exit_code(), category.name());
        terminal::data(&format!("  {name:<34} {}", category.summary()));
    }
}

/// How a step of the pod can end otherwise than well, with exit codes that no other command has.
fn steps_categories() -> impl Iterator<Item = execution::Category> {
    execution::Category::ALL.into_iter().filter(|category| category.exit_code() != 0)
}

fn story(word: &str) -> Option<String> {
    // Codes have hyphens and outcomes have underscores, which nobody remembers.
    let is_meant = |name: &str| name.replace('_', "-") == word.replace('_', "-");
    let code = codes().into_iter().find(|code| is_meant(code.name));
    let outcome = ReceiptOutcome::ALL.into_iter().find(|outcome| is_meant(outcome.name()));
    let exit = Exit::BY_URGENCY.into_iter().find(|exit| exit.number().to_string() == word);
    let category = Category::all().find(|category| is_meant(category.name()));
    let told = |kind: &str, name: &str, summary: &str, explanation: &str| {
        (format!("{name}: {summary}\n\n{}", wrap(explanation)), kind.to_owned())
    };
    let mut stories: Vec<(String, String)> = Vec::new();
    stories.extend(code.map(|it| told("a problem code", it.name, it.summary, it.explanation)));
    stories.extend(outcome.map(|outcome| {
        told("a receipt outcome", outcome.name(), outcome.summary(), outcome.explanation())
    }));
    let ended = LedgerOutcome::ALL.into_iter().find(|outcome| is_meant(outcome.name()));
    stories.extend(ended.map(|outcome| {
        let kind = "a receipt outcome of `cancel`, `release` and `prune`";
        told(kind, outcome.name(), outcome.summary(), outcome.explanation())
    }));
    stories.extend(category.map(|category| {
        let remedy = match category.remedy() {
            "" => String::new(),
            remedy => format!("\n\nhelp: {remedy}"),
        };
        let (story, kind) = told(
            "a category of a status",
            category.name(),
            category.summary(),
            category.explanation(),
        );
        (story + &wrap_help(&remedy), kind)
    }));
    stories.extend(exit.map(|exit| {
        told("an exit code", &format!("exit code {word}"), exit.meaning(), exit.explanation())
    }));
    let step = steps_categories().find(|step| step.exit_code().to_string() == word);
    stories.extend(step.map(|step| {
        let name = format!("{} (exit code {word} of a step in the pod)", step.name());
        told("an exit code of a step", &name, step.summary(), step.explanation())
    }));
    // Some words are an outcome of `submit`, one of `cancel` and a category of `status`; all are told then.
    match stories.as_slice() {
        [] => None,
        [(story, _)] => Some(story.clone()),
        several => {
            let several: Vec<String> =
                several.iter().map(|(story, kind)| format!("As {kind}:\n\n{story}")).collect();
            Some(several.join("\n\n"))
        }
    }
}

fn wrap_help(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!("\n\n{}", wrap(remedy)) }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser as _;
    use clap::error::ErrorKind;

    use super::*;
    use crate::cli::args::Cli;

    /// Everything that has a story: its word, its one line and the story.
    fn stories() -> Vec<(String, &'static str, &'static str)> {
        let codes = codes().into_iter().map(|it| (it.name.to_owned(), it.summary, it.explanation));
        let outcomes = ReceiptOutcome::ALL
            .into_iter()
            .map(|it| (it.name().to_owned(), it.summary(), it.explanation()));
        let exits = Exit::BY_URGENCY
            .into_iter()
            .map(|it| (it.number().to_string(), it.meaning(), it.explanation()));
        codes.chain(outcomes).chain(exits).collect()
    }

    /// Categories and outcomes of the ledger share words with other outcomes and codes; all are told then.
    fn categories() -> Vec<(String, &'static str, &'static str)> {
        let ended = LedgerOutcome::ALL
            .into_iter()
            .map(|it| (it.name().to_owned(), it.summary(), it.explanation()));
        Category::all()
            .map(|it| (it.name().to_owned(), it.summary(), it.explanation()))
            .chain(ended)
            .collect()
    }

    #[test]
    fn every_word_is_told_apart_and_has_a_story_of_its_own() {
        let (mut words, mut told) = (BTreeSet::new(), BTreeSet::new());
        for (index, (word, summary, explanation)) in
            stories().into_iter().chain(categories()).enumerate()
        {
            assert!((10..=160).contains(&summary.chars().count()), "{word}: {summary}");
            assert!(!summary.contains('\n') && !summary.ends_with('.'), "{word}: {summary}");
            assert!(explanation.chars().count() >= 60, "{word}: {explanation}");
            assert!(explanation.ends_with('.'), "{word}: {explanation}");
            assert!(told.insert(explanation), "{word} tells the story of another");
            let whole = story(&word).unwrap();
            assert!(whole.contains(summary), "{whole}");
            let is_head =
                |line: &str| line.ends_with(&format!(": {summary}")) || line.starts_with(&word);
            assert!(
                whole.lines().all(|line| is_head(line) || line.chars().count() <= 80),
                "{whole}"
            );
            let is_new = words.insert(word.clone());
            assert!(is_new || index >= stories().len(), "{word} has two meanings");
        }
        assert!(words.len() > 80);
    }

    #[test]
    fn codes_are_kebab_case_and_outcomes_snake_case() {
        let is_case = |word: &str, separator: char| {
            word.split(separator).all(|part| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            })
        };
        for code in codes() {
            assert!(is_case(code.name, '-'), "{code}");
        }
        for outcome in ReceiptOutcome::ALL {
            assert!(is_case(outcome.name(), '_'), "{}", outcome.name());
            assert_eq!(serde_json::json!(outcome), outcome.name());
        }
        for outcome in LedgerOutcome::ALL {
            assert!(is_case(outcome.name(), '_'), "{}", outcome.name());
            assert_eq!(serde_json::json!(outcome), outcome.name());
        }
    }

    /// What a story tells to run can be run, at most with more arguments.
    #[test]
    fn stories_name_commands_that_exist() {
        let mut count = 0;
        for (word, _, explanation) in stories().into_iter().chain(categories()) {
            for command in explanation.split("`harness ").skip(1) {
                let command = command.split('`').next().unwrap();
                let argv = ["harness"].into_iter().chain(command.split(' ')).map(Into::into);
                let error = Cli::try_parse_from(argv.collect::<Vec<std::ffi::OsString>>()).err();
                let exists =
                    error.is_none_or(|error| error.kind() == ErrorKind::MissingRequiredArgument);
                assert!(exists, "{word}: harness {command}");
                count += 1;
            }
        }
        assert!(count >= 5);
    }

    #[test]
    fn unknown_words_have_no_story() {
        for word in ["", "no-such-code", "99", "-1", "Created"] {
            assert!(story(word).is_none(), "{word}");
        }
    }
}
