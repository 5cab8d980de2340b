//! What lies in the store, on disk: bucket and key are a path below the folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::Store;

impl Store {
    /// Where an object lies, such as `inputs/missions/m-17.json` of the bucket `inputs`.
    pub fn path(&self, object: &str) -> PathBuf {
        self.objects().join(object)
    }

    /// Puts an object in place without asking the server.
    pub fn put(&self, object: &str, bytes: impl AsRef<[u8]>) -> Result<()> {
        let path = self.path(object);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, bytes).with_context(|| format!("{} could not be written", path.display()))
    }

    /// The bytes of an object, `None` if there is none.
    pub fn get(&self, object: &str) -> Result<Option<Vec<u8>>> {
        match fs::read(self.path(object)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// All objects as `bucket/key`, sorted.
    pub fn list(&self) -> Result<Vec<String>> {
        let root = self.objects();
        let mut objects = Vec::new();
        collect(&root, &root, &mut objects)?;
        objects.sort();
        Ok(objects)
    }

    /// Makes an empty bucket; there are `inputs` and `results` from the start, and `put` makes its own.
    pub fn bucket(&self, name: &str) -> Result<()> {
        Ok(fs::create_dir_all(self.path(name))?)
    }
}

fn collect(root: &Path, folder: &Path, objects: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(root, &path, objects)?;
        } else if folder != root {
            // Files beside the buckets are the server's notes about uploads.
            objects.push(path.strip_prefix(root)?.display().to_string());
        }
    }
    Ok(())
}
