//! This machine's Python, to be put into images: the interpreter, its library and the shared libraries of both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// Asks Python for its own path and that of its library.
const QUESTION: &str = "import os, sys, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path('stdlib'))";

/// What of the library no program needs.
const SUPERFLUOUS: [&str; 7] =
    ["__pycache__", "site-packages", "dist-packages", "test", "idlelib", "ensurepip", "tkinter"];

/// A Python and everything that it needs.
#[derive(Debug)]
pub(super) struct Python {
    pub(super) program: PathBuf,
    /// All other files, where they are on this machine and have to be in the image.
    pub(super) files: BTreeSet<PathBuf>,
}

impl Python {
    pub(super) fn find() -> Result<Self> {
        let output = Command::new("python3").args(["-I", "-c", QUESTION]).output();
        let output = output.context("there is no `python3`; on Debian: apt-get install python3")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines().map(PathBuf::from);
        let (Some(program), Some(library)) = (lines.next(), lines.next()) else {
            bail!("`python3` does not say where it is: {}", String::from_utf8_lossy(&output.stderr))
        };
        let mut files = BTreeSet::new();
        collect(&library, &mut files)?;
        let is_shared =
            |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "so");
        let programs =
            files.iter().filter(is_shared).chain([&program]).cloned().collect::<Vec<_>>();
        files.extend(shared_libraries(&programs)?);
        Ok(Self { program, files })
    }
}

fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let name = entry.file_name();
        if SUPERFLUOUS.iter().any(|superfluous| name == *superfluous) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "py" || extension == "so") {
            files.insert(path);
        }
    }
    Ok(())
}

/// The libraries that `ldd` names: all absolute paths that it prints, the loader's included.
fn shared_libraries(programs: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
    // Its status tells of the last file only; static ones have no libraries.
    let output = Command::new("ldd").args(programs).output().context("there is no `ldd`")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.starts_with(char::is_whitespace));
    let words = lines.flat_map(str::split_whitespace).filter(|word| word.starts_with('/'));
    Ok(words.map(PathBuf::from).filter(|path| path.is_file()).collect())
}
