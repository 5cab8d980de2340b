//! `harness prediction dispatch render`: what would run, for review and CI.

use anyhow::Result;

use super::args::{RenderArgs, RenderOutput};
use super::exit::Exit;
use super::notes::Notes;
use super::problems::for_people;
use super::terminal::{self, Tone};
use super::{input, neutral, profiles};
use crate::render::{self, Bundle, mask};
use crate::submission::{Problem, Submission};

pub(super) fn run(args: &RenderArgs) -> Result<Exit> {
    let profiles = profiles::load(&args.profiles)?;
    let source = input::read(&args.submission)?;
    let bundle = Submission::parse(&source.bytes).and_then(|submission| {
        Notes::default().say(&source.name, submission.notes());
        let fitted = render::fit(&submission, &profiles)?;
        render::render(&fitted, &args.namespace).map_err(|problem| vec![problem])
    });
    match bundle {
        Ok(bundle) => {
            terminal::data(&document(bundle, args)?);
            Ok(Exit::Done)
        }
        Err(problems) => {
            report(&source.name, &problems);
            Ok(Exit::Invalid)
        }
    }
}

fn document(bundle: Bundle, args: &RenderArgs) -> Result<String> {
    let document = if args.reveal_secrets { mask::revealed(bundle) } else { mask::masked(bundle) };
    let text = match args.output {
        RenderOutput::Json => neutral::json(&serde_json::to_string_pretty(&document)?),
        RenderOutput::Yaml => neutral::yaml(&document)?,
    };
    Ok(text)
}

fn report(source: &str, problems: &[Problem]) {
    for problem in problems {
        terminal::say(Tone::Error, &for_people(source, problem));
    }
}
