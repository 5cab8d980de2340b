//! Plays schedules, and prints what was counted.
//!
//! `--seeds N` plays so many (1000), `--from S` from this seed on (0); `--seed S` plays one and prints what happened.

use std::io::Write as _;
use std::process::ExitCode;

use harness_simulator::many::{Found, many};
use harness_simulator::play::play;

const USAGE: &str = "usage: harness-simulator [--seeds N] [--from S] | --seed S";

/// What is asked for.
enum Wish {
    Many { from: u64, count: u64 },
    One(u64),
}

fn wish() -> Option<Wish> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut from, mut count, mut one) = (0, 1000, None);
    for pair in arguments.chunks(2) {
        let [name, number] = pair else { return None };
        let number = number.parse().ok()?;
        match name.as_str() {
            "--seeds" => count = number,
            "--from" => from = number,
            "--seed" => one = Some(number),
            _ => return None,
        }
    }
    Some(one.map_or(Wish::Many { from, count }, Wish::One))
}

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    let problems = match wish() {
        None => {
            let _ = writeln!(out, "{USAGE}");
            return ExitCode::from(2);
        }
        Some(Wish::One(seed)) => {
            let played = play(seed, None);
            let _ = writeln!(out, "{}\n{}", played.trace.join("\n"), played.figures);
            played.problems.len()
        }
        Some(Wish::Many { from, count }) => {
            let Found { figures, bad, took } = many(from, count, None);
            let _ = writeln!(out, "{figures}in {:.1} s", took.as_secs_f64());
            for (seed, problems) in &bad {
                let _ = writeln!(out, "seed {seed}: {}", problems.join("; "));
            }
            bad.len()
        }
    };
    if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
