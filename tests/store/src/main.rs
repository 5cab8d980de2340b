//! `harness-test-store`: a throw-away object store by hand.

use std::fs;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Parser, Subcommand};
use harness_test_store::{
    ACCESS_KEY, FileServer, Options, REGION, SECRET_KEY, Signing, Store, program, send,
};
use jiff::Timestamp;

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
    /// Print a signed URL of an object of a running store, good for an hour.
    Sign {
        /// The store, as `up` prints it.
        #[arg(long, value_name = "URL", env = "ENDPOINT")]
        endpoint: String,
        /// Sign that the object is created and never overwritten.
        #[arg(long)]
        create_only: bool,
        /// The method, such as GET.
        method: String,
        /// Bucket and key, such as `inputs/mission.json`.
        object: String,
    },
    /// Put a file into a running store.
    Put {
        #[command(flatten)]
        running: Running,
        /// Bucket and key, such as `inputs/mission.json`.
        object: String,
        /// The file.
        file: PathBuf,
    },
    /// Get an object of a running store into a file.
    Get {
        #[command(flatten)]
        running: Running,
        /// Bucket and key, such as `results/attempt-1.tar`.
        object: String,
        /// The file.
        file: PathBuf,
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

/// A store that another process holds.
#[derive(Debug, Args)]
struct Running {
    /// The store, as `up` prints it.
    #[arg(long, value_name = "URL", env = "ENDPOINT")]
    endpoint: String,
    /// The certificate of its authority, as `up` prints it.
    #[arg(long, value_name = "FILE", env = "AUTHORITY")]
    authority: PathBuf,
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
        Command::Sign { endpoint, create_only, method, object } => {
            let signing = signing(&endpoint, &method, &object);
            let signing = if create_only { signing.create_only() } else { signing };
            Ok(writeln!(io::stdout(), "{}", signing.url())?)
        }
        Command::Put { running, object, file } => put(&running, &object, &file),
        Command::Get { running, object, file } => get(&running, &object, &file),
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

fn host(endpoint: &str) -> &str {
    endpoint.trim_start_matches("https://").trim_end_matches('/')
}

#[expect(
    clippy::disallowed_methods,
    reason = "a signature begins now, and a test kit knows the time"
)]
fn signing(endpoint: &str, method: &str, object: &str) -> Signing {
    Signing::new(method, host(endpoint), object, Timestamp::now())
}

fn put(running: &Running, object: &str, file: &Path) -> Result<()> {
    let body = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    exchange(running, "PUT", object, &body)?;
    Ok(())
}

fn get(running: &Running, object: &str, file: &Path) -> Result<()> {
    let body = exchange(running, "GET", object, &[])?;
    fs::write(file, body).with_context(|| format!("{} cannot be written", file.display()))
}

/// One signed request, which has to be answered well and whole.
fn exchange(running: &Running, method: &str, object: &str, body: &[u8]) -> Result<Vec<u8>> {
    let url = signing(&running.endpoint, method, object).url();
    let host = host(&running.endpoint);
    let answer = send(host, &running.authority, method, &url, &[], body)
        .with_context(|| format!("the store at {host} does not answer"))?;
    let status = answer.status;
    ensure!(status == 200, "{method} {object}: the store answered {status}: {}", answer.text());
    ensure!(answer.end.is_none(), "{method} {object}: the answer was cut off");
    Ok(answer.body)
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
