//! Where a step finds its signed URLs: in the files of a mount, or in the memory of the process that was given them.
//!
//! In a pod they are files of the Job's Secret, in containers that the runner never sees. On a laptop the runner has the
//! same user as everything else and could read such files, so there they are never written.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use zeroize::Zeroizing;

/// The signed URLs of a step, by the names of the submission's fields, and `result_put_headers` with them.
#[derive(Clone)]
pub enum Urls {
    /// One file each in this folder, named like the submission's fields.
    Files(PathBuf),
    /// In memory only.
    Held(Arc<BTreeMap<&'static str, Zeroizing<String>>>),
}

impl Urls {
    /// Keeps these in memory.
    pub fn held(values: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let values = values.into_iter().map(|(name, value)| (name, Zeroizing::new(value)));
        Self::Held(Arc::new(values.collect()))
    }

    /// One of them; none where there is none of this name.
    pub fn text(&self, name: &str) -> io::Result<Option<Zeroizing<String>>> {
        match self {
            Self::Files(folder) => match fs::read_to_string(folder.join(name)) {
                Ok(text) => Ok(Some(Zeroizing::new(text))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
            Self::Held(values) => Ok(values.get(name).cloned()),
        }
    }

    /// Where one of them is, for messages.
    pub fn place(&self, name: &str) -> String {
        match self {
            Self::Files(folder) => folder.join(name).display().to_string(),
            Self::Held(_) => format!("`{name}` of the submission"),
        }
    }
}

/// Names and places only.
impl fmt::Debug for Urls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(folder) => formatter.debug_tuple("Files").field(folder).finish(),
            Self::Held(values) => {
                formatter.debug_tuple("Held").field(&values.keys().collect::<Vec<_>>()).finish()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_memory_say_the_same() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mission_url"), "https://h/m?canary").unwrap();
        let files = Urls::Files(folder.path().to_owned());
        let held = Urls::held([("mission_url", "https://h/m?canary".to_owned())]);
        for urls in [&files, &held] {
            let found = urls.text("mission_url").unwrap();
            assert_eq!(found.as_deref().map(String::as_str), Some("https://h/m?canary"));
            assert!(urls.text("resume_url").unwrap().is_none());
            assert!(!format!("{urls:?} {}", urls.place("mission_url")).contains("canary"));
        }
        fs::create_dir(folder.path().join("resume_url")).unwrap();
        assert!(files.text("resume_url").is_err());
    }
}
