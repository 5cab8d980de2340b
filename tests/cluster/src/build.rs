//! The programs of a cluster: built once from the Go module proxy, then kept in a cache.
//!
//! The cache lies outside the checkout, under a key of everything that decides what is built, so `cargo
//! clean` and a second checkout do not build again. A program in the cache is complete: it is built in a
//! folder beside it that is renamed at the end.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context as _, Result, bail};
use rustix::process::Pid;

use crate::recipe::{CONTROL_PLANE, Manifests, Module, NODE, Program, QUEUE, Recipe};
use crate::supervisor::{Environment, Network, Supervisor, is_running, log_tail};
use crate::wait;

/// How often a build says that it goes on.
const PROGRESS: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// A folder with all the programs of a recipe.
#[derive(Debug, Clone)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Gives the cached programs of the control plane, after building them if they are not there.
    ///
    /// Two processes at a time build once; the build ends with the process that wanted it.
    pub fn obtain() -> Result<Self> {
        Self::of(&CONTROL_PLANE)
    }

    /// The same for what a node needs beside the control plane: kubelet, scheduler, containerd, crane.
    pub fn obtain_for_node() -> Result<Self> {
        Self::of(&NODE)
    }

    /// The same for Kueue.
    pub fn obtain_for_queue() -> Result<Self> {
        Self::of(&QUEUE)
    }

    fn of(recipe: &Recipe) -> Result<Self> {
        let cache = cache_folder()?;
        fs::create_dir_all(&cache)
            .with_context(|| format!("the cache {} could not be created", cache.display()))?;
        let key = recipe.key(&go_version()?);
        let folder = cache.join(&key);
        if !folder.exists() {
            let _lock = lock(&cache.join(format!("{key}.lock")))?;
            if !folder.exists() {
                build(recipe, &cache, &key, &folder)?;
            }
        }
        Ok(Self { folder })
    }

    /// The folder that holds them.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn path(&self, program: &str) -> PathBuf {
        self.folder.join(program)
    }
}

/// A line on stderr itself: what `eprintln` writes, the test runner keeps until the test has ended.
fn say(line: &str) {
    drop(writeln!(io::stderr(), "harness-test-cluster: {line}"));
}

fn cache_folder() -> Result<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("harness-test-cluster"))
        .context("neither XDG_CACHE_HOME nor HOME is an absolute path; set one, the built programs are kept there")
}

/// What `go version` says.
fn go_version() -> Result<Vec<u8>> {
    let output = match Command::new("go").arg("version").current_dir("/").output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
            "there is no `go` on PATH; the control plane is built from the Go module proxy, \
             so install Go 1.26 or newer (https://go.dev/dl) and run the tests again"
        ),
        Err(error) => return Err(error).context("`go version` could not be started"),
    };
    if !output.status.success() {
        bail!("`go version` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// Waits for the lock, and says so as long as another process builds.
fn lock(path: &Path) -> Result<File> {
    let file = File::options().create(true).append(true).open(path)?;
    let mut progress = Progress::start();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                progress.say(|elapsed| {
                    format!("another process builds the programs, waiting for it ({elapsed})")
                });
                thread::sleep(PAUSE);
            }
            Err(TryLockError::Error(error)) => {
                return Err(error)
                    .with_context(|| format!("{} could not be locked", path.display()));
            }
        }
    }
}

/// Builds into a folder beside the final one; the caller holds the lock.
fn build(recipe: &Recipe, cache: &Path, key: &str, folder: &Path) -> Result<()> {
    sweep(cache, key)?;
    let state = cache.join(format!("{key}.building.{}", wait::random_name()));
    say(&format!(
        "building {} once, about {} minutes on two cores, into {}",
        recipe.title(),
        recipe.minutes,
        folder.display()
    ));
    let mut progress = Progress::start();
    // The supervisor ends the compilers when this process is killed, and removes what they have left.
    let mut supervisor = Supervisor::start(&state, Environment::Inherited, Network::Host)?;
    let programs = state.join("programs");
    fs::create_dir(&programs)?;
    for module in recipe.modules {
        write_module(module, &state.join(module.name))?;
    }
    for (index, program) in recipe.programs.iter().enumerate() {
        let name = program.name;
        let argv = go_build(&state.join(program.module.name), &programs, program);
        let compiler = supervisor.start_part(name, &argv)?;
        progress.follow(compiler, &format!("{name}, {} of {}", index + 1, recipe.programs.len()));
        if supervisor.end_part(name)? != Some(0) {
            bail!("{name} could not be built; {}", log_tail(&state, name));
        }
    }
    if let Some(manifests) = &recipe.manifests {
        copy_manifests(manifests, &state, &programs)?;
    }
    fs::rename(&programs, folder)?;
    say(&format!("built in {}", progress.elapsed()));
    Ok(())
}

fn write_module(module: &Module, folder: &Path) -> Result<()> {
    for (name, text) in module.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// `env` sets what `go build` must not take from the user: the programs run here, and need no C compiler.
fn go_build(module: &Path, programs: &Path, program: &Program) -> Vec<String> {
    let module = module.display().to_string();
    let output = programs.join(program.name).display().to_string();
    let fixed = ["/usr/bin/env", "-u", "GOOS", "-u", "GOARCH", "CGO_ENABLED=0", "GOWORK=off"];
    let mut argv: Vec<String> = fixed.map(str::to_owned).to_vec();
    argv.extend(["go", "-C", &module, "build"].map(str::to_owned));
    argv.extend(program.module.flags());
    argv.extend(["-o", &output, program.package].map(str::to_owned));
    argv
}

/// Copies folders of files out of a module that a build has fetched.
fn copy_manifests(manifests: &Manifests, state: &Path, programs: &Path) -> Result<()> {
    let output = Command::new("go")
        .args(["list", "-mod=readonly", "-m", "-f={{.Dir}}", manifests.source])
        .current_dir(state.join(manifests.module.name))
        .env("GOWORK", "off")
        .output()?;
    if !output.status.success() {
        bail!("`go list` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let source = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    for (name, folder) in manifests.folders {
        fs::create_dir(programs.join(name))?;
        for entry in fs::read_dir(source.join(folder))? {
            let entry = entry?;
            // Not `copy`: files of Go's cache cannot be written to, and these are removed some day.
            fs::write(programs.join(name).join(entry.file_name()), fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// Removes what builds that lost their power have left.
fn sweep(cache: &Path, key: &str) -> Result<()> {
    let prefix = format!("{key}.building.");
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Says a line every ten seconds.
struct Progress {
    start: Instant,
    said: Instant,
}

impl Progress {
    fn start() -> Self {
        let now = Instant::now();
        Self { start: now, said: now }
    }

    fn elapsed(&self) -> String {
        let seconds = self.start.elapsed().as_secs();
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }

    fn say(&mut self, line: impl Fn(&str) -> String) {
        if self.said.elapsed() >= PROGRESS {
            self.said = Instant::now();
            say(&line(&self.elapsed()));
        }
    }

    fn follow(&mut self, compiler: Pid, what: &str) {
        while is_running(compiler) {
            self.say(|elapsed| format!("building {what} ({elapsed})"));
            thread::sleep(PAUSE);
        }
    }
}
