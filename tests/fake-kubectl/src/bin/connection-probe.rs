//! A process that holds a connection and does what standard input says, so that a test can kill it.
//!
//! Arguments: kubectl and the folder for the socket. Commands, one a line: `get` reads the namespace
//! `lab` and prints `done`, `refused` or `unknown: WHY`; `panic`; `exit` leaves without dropping anything;
//! `end`, or the end of input, drops the connection. It survives SIGINT, as harness does.
#![expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "a test program: leaving without dropping anything is what it is for"
)]

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use harness::clock::{Clock, SystemClock};
use harness::cluster::{Access, ConnectOptions, Connection, Context, Outcome, guard};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(first) = arguments.next() else { return ExitCode::from(2) };
    if first == guard::ARGUMENT {
        return guard::guard_main(arguments);
    }
    let mut options = ConnectOptions::new(Context::Named("test".to_owned()), "lab", Access::Submit);
    options.kubectl = first.into();
    options.folders = arguments.map(Into::into).collect();
    match hold(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{error}"));
            ExitCode::FAILURE
        }
    }
}

fn hold(options: &ConnectOptions) -> Result<(), Box<dyn std::error::Error>> {
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let connection = Connection::open(options, &clock)?;
    say("ready");
    for line in io::stdin().lock().lines() {
        match line?.as_str() {
            "get" => match connection.send(&connection.requests().read_namespace()) {
                Outcome::Done(_) => say("done"),
                Outcome::Refused(_) => say("refused"),
                Outcome::Unknown(unknown) => say(&format!("unknown: {unknown}")),
            },
            "panic" => panic!("asked to"),
            "exit" => std::process::exit(3),
            _ => break,
        }
    }
    drop(connection);
    say("ended");
    Ok(())
}

fn say(text: &str) {
    let mut output = io::stdout().lock();
    // The test that reads this may be gone.
    let _ = writeln!(output, "{text}").and_then(|()| output.flush());
}
