//! `harness prediction dispatch list`: all experiments of a namespace, running, finished and pruned.

use std::sync::Arc;

use anyhow::Result;

use super::args::{ListArgs, ListOutput, Since};
use super::exit::Exit;
use super::terminal::{self, Tone};
use super::{connect, neutral, statuses};
use crate::clock::{Clock, SystemClock};
use crate::cluster::Access;
use crate::status::listing::{self, Filter, Row};
use crate::status::{ReadError, duration};

pub(super) fn run(args: &ListArgs) -> Result<Exit> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = connect::options(&args.cluster, Access::Watch, true);
    let connection = match connect::open(&options, &clock)? {
        Ok(connection) => connection,
        Err(why) => return Ok(connect::unreachable(&why)),
    };
    let filter = Filter {
        phases: args.phase.clone(),
        mission: args.mission.clone(),
        since: args.since.map(|since| match since {
            Since::Time(time) => time,
            Since::Ago(duration) => clock.now() - duration,
        }),
        image: args.image.clone(),
    };
    match listing::list(&connection, &*clock, &filter) {
        Ok(rows) => {
            show(&rows, args.output);
            if rows.is_empty() {
                terminal::say(Tone::Note, "no experiment here is as asked for");
            }
            Ok(Exit::Done)
        }
        Err(error) => {
            terminal::say(Tone::Error, &neutral::lines(&error.to_string()));
            Ok(match error {
                ReadError::Refused(_) => Exit::Refused,
                ReadError::Unknown(_) => Exit::Unknown,
            })
        }
    }
}

fn show(rows: &[Row], output: ListOutput) {
    let head = match output {
        ListOutput::Text => Some(format!("{:<43}  {:<10}  {:>12}  WHY", "NAME", "PHASE", "AGE")),
        ListOutput::Wide => Some(format!(
            "{:<43}  {:<10}  {:>12}  {:<20}  {:<20}  {:<20}  {:<12}  IMAGE",
            "NAME", "PHASE", "AGE", "WHY", "ATTEMPT", "MISSION", "SUBMISSION"
        )),
        ListOutput::Csv => Some(
            "name,phase,category,created_at,attempt_id,mission_id,image,submission_digest,is_recorded"
                .to_owned(),
        ),
        ListOutput::Name | ListOutput::Json => None,
    };
    // RFC 4180 ends every line with both.
    let end = if output == ListOutput::Csv { "\r\n" } else { "\n" };
    terminal::lines(head.into_iter().chain(rows.iter().map(|row| line(row, output))), end);
}

fn line(row: &Row, output: ListOutput) -> String {
    let age = row.age_seconds.map(duration).unwrap_or_default();
    let (phase, category) = (row.phase.name(), row.category.name());
    let text = |text: &Option<String>| neutral::text(text.as_deref().unwrap_or("-"));
    match output {
        ListOutput::Text => format!("{:<43}  {phase:<10}  {age:>12}  {category}", row.name),
        ListOutput::Wide => {
            let digest: String = text(&row.submission_digest).chars().take(12).collect();
            format!(
                "{:<43}  {phase:<10}  {age:>12}  {category:<20}  {:<20}  {:<20}  {digest:<12}  {}",
                row.name,
                text(&row.attempt_id),
                text(&row.mission_id),
                text(&row.image)
            )
        }
        ListOutput::Name => statuses::name(&row.name),
        ListOutput::Json => neutral::json(&serde_json::to_string(row).expect("a row serialises")),
        ListOutput::Csv => [
            row.name.as_str(),
            phase,
            category,
            row.created_at.as_deref().unwrap_or_default(),
            row.attempt_id.as_deref().unwrap_or_default(),
            row.mission_id.as_deref().unwrap_or_default(),
            row.image.as_deref().unwrap_or_default(),
            row.submission_digest.as_deref().unwrap_or_default(),
            if row.is_recorded { "true" } else { "false" },
        ]
        .map(csv)
        .join(","),
    }
}

/// One field of RFC 4180. A spreadsheet would run what begins like a formula, in wide characters too, so that gets an
/// apostrophe: <https://owasp.org/www-community/attacks/CSV_Injection>. Tabs and line ends never get this far.
fn csv(field: &str) -> String {
    let harmless = neutral::text(field);
    let begins_a_formula = harmless.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let guarded = if begins_a_formula { format!("'{harmless}") } else { harmless };
    if guarded.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", guarded.replace('"', "\"\""))
    } else {
        guarded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_csv_are_quoted_and_never_formulas() {
        for (field, shown) in [
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("=1+1", "'=1+1"),
            ("=a,\"b\"", "\"'=a,\"\"b\"\"\""),
            ("＝1", "'＝1"),
            ("\t=1", "\\u{9}=1"),
            ("a\r\nb", "a\\u{d}\\u{a}b"),
            ("", ""),
        ] {
            assert_eq!(csv(field), shown);
        }
    }
}
