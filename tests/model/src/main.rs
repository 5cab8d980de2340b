//! Checks settings of the model, and prints what it found.
//!
//! `cargo run -p harness-model` checks what continuous integration does; `--deep` more, `--only NAME` one setting.

use std::io::Write as _;
use std::process::ExitCode;

use harness_model::check::{Check, Order};
use harness_model::setting::{Setting, deep, named, quick};
use harness_model::variant::Variant;
use stateright::HasDiscoveries;

const USAGE: &str = "usage: harness-model [--deep | --only NAME]";

/// The settings, and in which order their states are visited: there is no memory for the frontier of a deep one.
fn chosen() -> Option<(Vec<Setting>, Order)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some((quick(), Order::Breadth)),
        ["--deep"] => Some((deep(), Order::Depth)),
        ["--only", name] => named(name).map(|setting| (vec![setting], Order::Depth)),
        _ => None,
    }
}

fn main() -> ExitCode {
    let mut out = std::io::stdout();
    let Some((settings, order)) = chosen() else {
        let _ = writeln!(out, "{USAGE}");
        return ExitCode::from(2);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut is_well = true;
    for setting in settings {
        let until = HasDiscoveries::AnyFailures;
        let (setting, variant) = (&setting, Variant::Sound);
        let tells = order == Order::Depth;
        let found = Check { setting, variant, order, threads, until, tells }.run();
        let seconds = found.took.as_secs_f64();
        let _ = writeln!(
            out,
            "{:>9} states, depth {:>3}, {seconds:>6.1} s  {}",
            found.states, found.depth, setting.name
        );
        for violation in &found.violations {
            is_well = false;
            let _ = writeln!(out, "does not hold: {}\n{}", violation.property, violation.story);
        }
    }
    if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
