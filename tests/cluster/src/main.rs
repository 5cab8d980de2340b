//! `harness-test-cluster`: a throw-away control plane by hand.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use harness_test_cluster::{ADMIN_CONTEXT, ControlPlane, Node, Options, Programs, end_detached};

/// A real Kubernetes control plane on 127.0.0.1, without root; pods stay pending unless a node is asked for.
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
        #[arg(long, conflicts_with = "node")]
        fsync: bool,
        /// With a node, in a network of its own; needs root.
        #[arg(long)]
        node: bool,
        /// With Kueue.
        #[arg(long)]
        queue: bool,
    },
    /// End the one that `up --state DIR` has started, and remove its folder.
    Down {
        /// The folder.
        #[arg(long, value_name = "DIR")]
        state: PathBuf,
    },
    /// Only build the programs, and print their folder.
    Build {
        /// Those of a node too, and print a second folder.
        #[arg(long)]
        node: bool,
        /// Kueue too, and print its folder last.
        #[arg(long)]
        queue: bool,
    },
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
        Command::Up { state, node: true, queue, .. } => up_node(state.as_deref(), queue),
        Command::Up { state, fsync, queue, .. } => {
            up(state.as_deref(), &Options { fsync, ..Options::default() }, queue)
        }
        Command::Down { state } => end_detached(&state),
        Command::Build { node, queue } => build(node, queue),
    }
}

fn build(node: bool, queue: bool) -> Result<()> {
    let mut output = io::stdout();
    writeln!(output, "{}", Programs::obtain()?.folder().display())?;
    if node {
        writeln!(output, "{}", Programs::obtain_for_node()?.folder().display())?;
    }
    if queue {
        writeln!(output, "{}", Programs::obtain_for_queue()?.folder().display())?;
    }
    Ok(())
}

fn up_node(state: Option<&Path>, queue: bool) -> Result<()> {
    let node = match state {
        Some(state) => Node::start_in(state)?,
        None => Node::start()?,
    };
    if queue {
        node.cluster().start_queue()?;
    }
    describe(node.cluster())?;
    let mut output = io::stdout();
    // The addresses exist in there only.
    writeln!(output, "ENTER=nsenter --net --target={}", node.first_process().as_raw_nonzero())?;
    writeln!(output, "CRANE={}", node.crane().display())?;
    writeln!(output, "REGISTRY={}", node.registry_address())?;
    if state.is_some() {
        return node.detach();
    }
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

fn up(state: Option<&Path>, options: &Options, queue: bool) -> Result<()> {
    let cluster = match state {
        Some(state) => ControlPlane::start_in(options, state)?,
        None => ControlPlane::start(options)?,
    };
    if queue {
        cluster.start_queue()?;
    }
    describe(&cluster)?;
    if state.is_some() {
        return cluster.detach();
    }
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
