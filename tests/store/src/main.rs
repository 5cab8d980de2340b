//! `harness-test-store`: a throw-away object store by hand.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use harness_test_store::{ACCESS_KEY, FileServer, Options, REGION, SECRET_KEY, Store, program};

/// A real S3 store behind TLS on 127.0.0.1, with a certificate of an authority of its own.
///
/// The first start builds s3s-fs, which takes minutes.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start one with the buckets `inputs` and `results`; it ends with this program, at the end of its input or Ctrl-C.
    Up {
        /// The address to listen on, with a free port.
        #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
        address: IpAddr,
        /// A domain below which the first label of a host is a bucket; may be repeated.
        #[arg(long, value_name = "DOMAIN")]
        domain: Vec<String>,
    },
    /// Serve files as they are, without signatures, as fast as TLS goes; for measurements.
    Serve {
        /// The files; the URL of each is printed.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Only build the S3 server, and print where it is.
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
        Command::Up { address, domain } => up(&Options { domains: domain, ..Options::at(address) }),
        Command::Serve { files } => serve(&files),
        Command::Build => Ok(writeln!(io::stdout(), "{}", program()?.display())?),
    }
}

fn up(options: &Options) -> Result<()> {
    let store = Store::start_with(options)?;
    let mut output = io::stdout();
    writeln!(output, "ENDPOINT=https://{}", store.host())?;
    writeln!(output, "AUTHORITY={}", store.authority().display())?;
    writeln!(output, "OBJECTS={}", store.objects().display())?;
    writeln!(output, "SERVER_PROCESS={}", store.server_process())?;
    writeln!(output, "AWS_ACCESS_KEY_ID={ACCESS_KEY}")?;
    writeln!(output, "AWS_SECRET_ACCESS_KEY={SECRET_KEY}")?;
    writeln!(output, "AWS_DEFAULT_REGION={REGION}")?;
    until_input_ends()
}

fn serve(files: &[PathBuf]) -> Result<()> {
    let server = FileServer::start(files)?;
    let mut output = io::stdout();
    writeln!(output, "AUTHORITY={}", server.authority().display())?;
    for url in server.urls() {
        writeln!(output, "URL={url}")?;
    }
    until_input_ends()
}

fn until_input_ends() -> Result<()> {
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}
