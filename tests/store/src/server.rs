//! The S3 server: built once, then kept in a cache; and one running process of it.
//!
//! It is a package of its own (`tests/store/server`) with its own lock file, because it needs an asynchronous
//! runtime and some 150 crates that nothing of harness should be resolved or audited with. The cache lies outside
//! the checkout, under a key of everything that decides what is built.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use ring::digest;

use crate::sign::{ACCESS_KEY, SECRET_KEY};

const MANIFEST: &str = include_str!("../server/Cargo.toml");
const LOCK: &str = include_str!("../server/Cargo.lock");
const SOURCE: &str = include_str!("../server/src/main.rs");
const PROGRAM: &str = "harness-test-store-server";

/// How long the server may take to remove what it holds.
const END: Duration = Duration::from_secs(10);

/// Ends the build with the process that wanted it: only that process holds the other end of the input.
const BUILD: &str = r#"
exec 3<&0 </dev/null
"$@" 3<&- &
build=$!
( read -r _ <&3; kill -s KILL 0 ) &
wait "$build"
"#;

/// A running server; it ends with this value, and with this process however that ends.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    input: Option<ChildStdin>,
    pub(crate) port: u16,
}

impl Server {
    /// Starts a server over `folder/objects`, whose sub-folders are buckets, as are sub-domains of `domains`.
    ///
    /// From then on the folder is the server's, which removes it when it ends.
    pub(crate) fn start(folder: &Path, domains: &[String]) -> Result<Self> {
        let program = program()?;
        let log = &folder.join("server.log");
        let mut process = Command::new(&program)
            .arg(folder)
            .args([ACCESS_KEY, SECRET_KEY])
            .args(domains)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log)?)
            .spawn()
            .with_context(|| format!("{} could not be started", program.display()))?;
        let input = process.stdin.take();
        let output = process.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let mut server = Self { process, input, port: 0 };
        server.port = line.trim().parse().ok().with_context(|| {
            let said = fs::read_to_string(log).unwrap_or_default();
            format!("the S3 server did not start: {}", said.trim())
        })?;
        Ok(server)
    }

    /// Ends it as SIGKILL does: it removes nothing and finishes nothing.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.process.kill()?;
        Ok(self.process.wait().map(drop)?)
    }

    /// Its process id.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.input = None;
        if !harness_test_cluster::until(END, || matches!(self.process.try_wait(), Ok(Some(_)))) {
            // It may have ended by itself.
            drop(self.process.kill());
        }
        drop(self.process.wait());
    }
}

/// The program of the S3 server; builds it first, in a few minutes, if it is not in the cache.
pub fn program() -> Result<PathBuf> {
    let cache = cache_folder()?;
    fs::create_dir_all(&cache)
        .with_context(|| format!("the cache {} could not be created", cache.display()))?;
    let key = key()?;
    let program = cache.join(&key).join(PROGRAM);
    if !program.exists() {
        let lock = File::options().create(true).append(true).open(cache.join("lock"))?;
        if lock.try_lock().is_err() {
            say("another process builds the S3 server, waiting for it");
            lock.lock()?;
        }
        if !program.exists() {
            build(&cache, &key)?;
        }
    }
    Ok(program)
}

/// Builds in a folder beside the final one, which is renamed at the end; the caller holds the lock.
fn build(cache: &Path, key: &str) -> Result<()> {
    let folder = cache.join("building");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), MANIFEST)?;
    fs::write(folder.join("Cargo.lock"), LOCK)?;
    fs::write(folder.join("src/main.rs"), SOURCE)?;
    say(&format!("building s3s-fs once, a few minutes, into {}", cache.join(key).display()));
    let log = folder.join("build.log");
    let mut shell = Command::new("/bin/sh")
        .args(["-c", BUILD, "build"])
        .arg(cargo())
        .args(["build", "--release", "--locked", "--target-dir"])
        .arg(folder.join("target"))
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("RUSTFLAGS")
        .current_dir(&folder)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?)
        .spawn()
        .context("/bin/sh could not be started")?;
    let input = shell.stdin.take();
    let status = shell.wait()?;
    drop(input);
    if !status.success() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        bail!("the S3 server of tests/store/server could not be built:\n{}", said.trim());
    }
    let program = folder.join("program");
    fs::create_dir(&program)?;
    fs::rename(folder.join("target/release").join(PROGRAM), program.join(PROGRAM))?;
    fs::rename(&program, cache.join(key))?;
    Ok(fs::remove_dir_all(folder)?)
}

/// A line on stderr itself: what `eprintln` writes, the test runner keeps until the test has ended.
fn say(line: &str) {
    drop(writeln!(io::stderr(), "harness-test-store: {line}"));
}

/// The cargo that runs the tests, if one does.
fn cargo() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

fn cache_folder() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("harness-test-store"))
        .context("neither XDG_CACHE_HOME nor HOME is an absolute path; set one, the built S3 server is kept there")
}

fn key() -> Result<String> {
    let version = Command::new(cargo())
        .arg("--version")
        .output()
        .context("`cargo --version` could not be started; the S3 server is built with cargo")?;
    let mut hash = digest::Context::new(&digest::SHA256);
    for part in [MANIFEST.as_bytes(), LOCK.as_bytes(), SOURCE.as_bytes(), &version.stdout] {
        hash.update(part);
        hash.update(&[0]);
    }
    let mut key = String::new();
    for byte in &hash.finish().as_ref()[..10] {
        let _ = write!(key, "{byte:02x}");
    }
    Ok(key)
}
