//! `harness profiles`: lists the profiles, or shows one; and loads them for the other commands.

use anyhow::{Result, bail};
use serde::Serialize;

use super::args::{ProfileArgs, ProfilesArgs, ProfilesOutput};
use super::exit::Exit;
use super::terminal::{self, Tone};
use super::{input, neutral, problems};
use crate::profile::{Profile, Profiles};

/// The built-in profiles with the site's own and the harness image; problems are printed.
pub(super) fn load(args: &ProfileArgs) -> Result<Profiles> {
    let mut profiles = Profiles::embedded();
    let mut broken = 0_usize;
    if let Some(directory) = &args.profiles {
        for path in input::list(directory, &["yaml", "yml"])? {
            let source = input::read(&path)?;
            for problem in profiles.add_file(&source.name, &source.bytes).err().unwrap_or_default()
            {
                broken += 1;
                terminal::say(Tone::Error, &problems::for_people(&source.name, &problem));
            }
        }
    }
    if broken > 0 {
        let (problems, them) = if broken == 1 { ("problem", "it") } else { ("problems", "them") };
        bail!("the site's profiles have {broken} {problems}; mend {them} first");
    }
    match &args.harness_image {
        None => Ok(profiles),
        Some(image) => profiles.with_harness_image(image).map_err(|fault| {
            anyhow::anyhow!(
                "`--harness-image` (or HARNESS_IMAGE): found {}; allowed: {}; help: {}",
                fault.found,
                fault.allowed,
                fault.remedy
            )
        }),
    }
}

/// One profile in the list.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    digest: String,
    largest_budget_seconds: u32,
    active_deadline_seconds: u32,
    harness_image: Option<&'a str>,
    file: Option<&'a str>,
    description: Option<&'a str>,
}

pub(super) fn run(args: &ProfilesArgs) -> Result<Exit> {
    let profiles = load(&args.profiles)?;
    match &args.name {
        None => list(&profiles, args.output)?,
        Some(name) => match profiles.find(name) {
            Ok(profile) => show(profile, args.output)?,
            Err(fault) => {
                bail!("found {}; allowed: {}; help: {}", fault.found, fault.allowed, fault.remedy)
            }
        },
    }
    Ok(Exit::Done)
}

fn list(profiles: &Profiles, output: ProfilesOutput) -> Result<()> {
    let rows: Vec<Row<'_>> = profiles.iter().map(|profile| row(profiles, profile)).collect();
    match output {
        ProfilesOutput::Json => {
            terminal::data(&neutral::json(&serde_json::to_string_pretty(&rows)?));
        }
        ProfilesOutput::Text => {
            let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(4);
            terminal::data(&format!("{:width$}  BUDGET UP TO  DESCRIPTION", "NAME"));
            for row in rows {
                let description = neutral::text(row.description.unwrap_or_default());
                let budget = format!("{} s", row.largest_budget_seconds);
                terminal::data(
                    format!("{:width$}  {budget:<12}  {description}", row.name).trim_end(),
                );
            }
        }
    }
    Ok(())
}

fn row<'a>(profiles: &'a Profiles, profile: &'a Profile) -> Row<'a> {
    let name = profile.name.as_str();
    Row {
        name,
        digest: profile.digest().to_hex(),
        largest_budget_seconds: profile.largest_budget(),
        active_deadline_seconds: profile.allowances.active_deadline,
        harness_image: profile.harness_image.as_deref(),
        file: profiles.file_of(name),
        description: profile.description.as_deref(),
    }
}

fn show(profile: &Profile, output: ProfilesOutput) -> Result<()> {
    match output {
        ProfilesOutput::Json => {
            terminal::data(&neutral::json(&serde_json::to_string_pretty(profile)?));
        }
        ProfilesOutput::Text => {
            terminal::data(&format!("# digest {}", profile.digest()));
            let text = serde_yaml::to_string_with_options(profile, neutral::yaml_options())?;
            terminal::data(&neutral::lines(&text));
        }
    }
    Ok(())
}
