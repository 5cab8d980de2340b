//! A Python with the libraries that docs/signing.md shows: installed once from `PyPI`, then kept in a cache.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

const REQUIREMENTS: &str = include_str!("requirements.txt");

/// Runs a program of the environment, or another one with the environment's programs first on its `PATH`.
///
/// It sees nothing of the developer's settings and credentials, only these variables.
pub(crate) fn run(
    program: &str,
    arguments: &[&str],
    folder: &Path,
    variables: &[(&str, &str)],
) -> String {
    let programs = environment().join("bin");
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let own = programs.join(program);
    let output = Command::new(if own.exists() { own } else { PathBuf::from(program) })
        .args(arguments)
        .env_clear()
        .env("PATH", path)
        .env("HOME", folder)
        .envs(variables.iter().copied())
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{program} could not be started: {error}"));
    text(program, output)
}

fn text(program: &str, output: Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} failed ({}):\n{said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// The folder of the environment. A part of an installation is never taken for the whole: the last step names it.
fn environment() -> &'static Path {
    static ENVIRONMENT: OnceLock<PathBuf> = OnceLock::new();
    ENVIRONMENT.get_or_init(|| {
        let version = Command::new("python3").args(["-c", "import sys; print(sys.version, sys.executable)"]).output();
        let version = version.unwrap_or_else(|error| {
            panic!("python3 could not be started ({error}); the snippets of docs/signing.md need Python 3.9 or newer")
        });
        let mut hash = Sha256::new();
        hash.update(text("python3", version));
        hash.update(REQUIREMENTS);
        let key: String =
            hash.finalize()[..10].iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect();
        let cache = cache();
        fs::create_dir_all(&cache).unwrap();
        let lock = File::options().create(true).append(true).open(cache.join("lock")).unwrap();
        lock.lock().unwrap();
        let (folder, whole) = (cache.join(&key), cache.join(&key).join("whole"));
        if !whole.exists() {
            install(&folder);
            fs::write(whole, "").unwrap();
        }
        folder
    })
}

fn install(folder: &Path) {
    let made =
        Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder).output().unwrap();
    assert!(
        made.status.success(),
        "python3 cannot make an environment for the snippets of docs/signing.md; on Debian: apt-get install python3-venv\n{}",
        String::from_utf8_lossy(&made.stdout)
    );
    let requirements = folder.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS).unwrap();
    let installed = Command::new(folder.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"])
        .arg(requirements)
        .output()
        .unwrap();
    assert!(
        installed.status.success(),
        "the libraries of tests/signing/requirements.txt could not be installed from PyPI:\n{}",
        String::from_utf8_lossy(&installed.stderr)
    );
}

fn cache() -> PathBuf {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("harness-test-signing"))
        .expect("neither XDG_CACHE_HOME nor HOME is an absolute path; set one, Python's libraries are kept there")
}
