//! The `harness` command: argv in, exit code out.

use std::process::ExitCode;

use harness::{cli, cluster::guard};

fn main() -> ExitCode {
    let mut argv = std::env::args_os();
    // The guard of kubectl is this same binary, so that it is there wherever harness is.
    if argv.nth(1).is_some_and(|word| word == guard::ARGUMENT) {
        return guard::guard_main(argv);
    }
    cli::run(std::env::args_os())
}
