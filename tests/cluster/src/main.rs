//! `harness-test-cluster`: a throw-away control plane by hand.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use harness_test_cluster::{ADMIN_CONTEXT, ControlPlane, Options, Programs, end_detached};

/// A real Kubernetes control plane on 127.0.0.1, without root and without nodes: pods stay pending.
///
/// The first start builds etcd, kubectl and Kubernetes from the Go module proxy, which takes minutes.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start one; it ends with this program, at the end of its input or Ctrl-C.
    Up {
        /// Let it run on in the background, with all that it keeps in this new folder.
        #[arg(long, value_name = "DIR")]
        state: Option<PathBuf>,
        /// Let etcd sync to disk.
        #[arg(long)]
        fsync: bool,
    },
    /// End the one that `up --state DIR` has started, and remove its folder.
    Down {
        /// The folder.
        #[arg(long, value_name = "DIR")]
        state: PathBuf,
    },
    /// Only build the programs, and print their folder.
    Build,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_error(&error);
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "errors go to stderr")]
fn print_error(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Up { state, fsync } => up(state, &Options { fsync, ..Options::default() }),
        Command::Down { state } => end_detached(&std::path::absolute(state)?),
        Command::Build => Ok(writeln!(io::stdout(), "{}", Programs::obtain()?.folder().display())?),
    }
}

fn up(state: Option<PathBuf>, options: &Options) -> Result<()> {
    if let Some(state) = state {
        let cluster = ControlPlane::start_in(options, &std::path::absolute(state)?)?;
        describe(&cluster)?;
        return cluster.detach();
    }
    let cluster = ControlPlane::start(options)?;
    describe(&cluster)?;
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// Lines of `NAME=value`, fit for `export`.
fn describe(cluster: &ControlPlane) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "KUBECONFIG={}", cluster.kubeconfig().display())?;
    writeln!(output, "CONTEXT={ADMIN_CONTEXT}")?;
    writeln!(output, "KUBECTL={}", cluster.kubectl().display())
}
