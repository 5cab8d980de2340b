//! Reads submissions and profiles: files, directories and standard input.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::neutral;
use crate::submission::strict::MAX_BYTES;

/// No call reads more files than this.
pub(super) const MAX_FILES: usize = 10_000;

/// Standard input, as an argument and in messages.
pub(super) const STANDARD_INPUT: &str = "-";

/// A file's name, safe to print, and its bytes.
pub(super) struct Source {
    /// The path as it was given, neutralised.
    pub name: String,
    /// At most one byte more than the limit, so that a larger file is seen to be larger.
    pub bytes: Vec<u8>,
}

/// Reads every file that `paths` name: a file, a directory's regular `*.json` files, or `-`.
///
/// What cannot be read stands as an error in its place, so that it hides none of the others.
pub(super) fn read_each(paths: &[PathBuf]) -> Result<Vec<Result<Source>>> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() != STANDARD_INPUT && path.is_dir() {
            match list(path, &["json"]) {
                Ok(listed) => files.extend(listed.into_iter().map(Ok)),
                Err(error) => files.push(Err(error)),
            }
        } else {
            files.push(Ok(path.clone()));
        }
    }
    check_standard_input(files.iter().flatten())?;
    if files.len() > MAX_FILES {
        bail!("{} files are named; at most {MAX_FILES} are read in one call", files.len());
    }
    Ok(files.into_iter().map(|file| file.and_then(|path| read(&path))).collect())
}

/// Refuses a second `-`: what one reads is gone for the other.
pub(super) fn check_standard_input<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    if paths.filter(|path| path.as_os_str() == STANDARD_INPUT).count() > 1 {
        bail!("standard input (`-`) is named more than once; it can be read once");
    }
    Ok(())
}

/// Reads every file as [`read_each`] does; if some cannot be read, the error names all of those.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let (mut sources, mut errors) = (Vec::new(), Vec::new());
    for read in read_each(paths)? {
        match read {
            Ok(source) => sources.push(source),
            Err(error) => errors.push(super::chain(&error)),
        }
    }
    if errors.is_empty() { Ok(sources) } else { bail!("{}", errors.join("\n")) }
}

/// Reads one file, or standard input.
pub(super) fn read(path: &Path) -> Result<Source> {
    let name = shown(path);
    let limit = MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == STANDARD_INPUT {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read {name}"))?;
    Ok(Source { name, bytes })
}

/// The regular files of a directory with one of these extensions, in the order of their names. Links are left out:
/// a directory under review must not reach out of itself.
pub(super) fn list(directory: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let name = shown(directory);
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| format!("cannot read {name}"))? {
        let entry = entry.with_context(|| format!("cannot read {name}"))?;
        let path = entry.path();
        let wanted =
            path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e));
        let is_file = entry.file_type().with_context(|| format!("cannot read {name}"))?.is_file();
        if wanted && is_file {
            files.push(path);
        }
        if files.len() > MAX_FILES {
            bail!("{name} holds more than {MAX_FILES} files; name a smaller directory");
        }
    }
    if files.is_empty() {
        bail!("{name} holds no regular file named *.{}", extensions.join(" or *."));
    }
    files.sort();
    Ok(files)
}

/// A path for messages: neutral and without line breaks.
pub(super) fn shown(path: &Path) -> String {
    neutral::text(&path.to_string_lossy())
}

/// Folders for a private socket, in the order in which they are tried; its path must be short.
#[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
pub(super) fn temporary_folders() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    [Some(std::env::temp_dir()), Some(PathBuf::from("/tmp")), runtime]
        .into_iter()
        .flatten()
        .collect()
}
