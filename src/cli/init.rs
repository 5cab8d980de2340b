//! `harness init`: a starter submission, its mission document and a profile that validate together.
//!
//! Files that are named are hashed here; nothing is asked and nothing is sent. All files are written or none,
//! and never over one that is there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::args::InitArgs;
use super::exit::Exit;
use super::terminal::{self, Tone};
use super::{input, problems};
use crate::clock::{Clock as _, SystemClock};
use crate::submission::{
    Fault, Mission, MissionId, ObjectUrl, SCHEMA_VERSION, Sha256Digest, Submission,
};

/// The profile that is written, by its name and its file's.
const PROFILE: &str = "starter-v1";

/// Stands for an image or a digest that only the operator knows.
const PLACEHOLDER_DIGEST: &str =
    "sha256:0000000000000000000000000000000000000000000000000000000000000000";

const DEFAULT_MISSION_ID: &str = "example-mission";
const DEFAULT_SECONDS: u32 = 600;

/// What a file of `init` will hold.
struct Planned {
    path: PathBuf,
    content: String,
}

/// What could not be found out and was made up.
type Placeholders = Vec<&'static str>;

pub(super) fn run(args: &InitArgs) -> Result<Exit> {
    let mut placeholders = Placeholders::new();
    let planned = plan(args, &mut placeholders)?;
    write_all(&args.directory, &planned)?;
    for file in &planned {
        terminal::data(&format!("wrote {}", input::shown(&file.path)));
    }
    if !placeholders.is_empty() {
        terminal::say(
            Tone::Note,
            &format!("made up, to be replaced before you submit: {}", placeholders.join(", ")),
        );
    }
    terminal::data(&format!("next: {}", next_command(&args.directory)));
    Ok(Exit::Done)
}

fn plan(args: &InitArgs, placeholders: &mut Placeholders) -> Result<Vec<Planned>> {
    let mut planned = Vec::new();
    let (mission, mission_object) = if let Some(path) = &args.mission {
        existing_mission(path)?
    } else {
        let mission = starter_mission(args, placeholders)?;
        let content = mission_document(&mission)?;
        let object = Object { name: "mission.json".to_owned(), sha256: Sha256Digest::of(&content) };
        // Not beside the submission: a directory that is named with `-f` holds submissions only.
        let path = args.directory.join("inputs").join("mission.json");
        planned.push(Planned { path, content });
        (mission, object)
    };
    let snapshot = if let Some(path) = &args.snapshot {
        Object::of_file(path, "snapshot.tar")?
    } else {
        placeholders.push("snapshot_sha256");
        let sha256 = Sha256Digest::from_bytes([0; 32]);
        Object { name: "snapshot.tar".to_owned(), sha256 }
    };
    let submission = submission(args, &mission, &mission_object, &snapshot, placeholders)?;
    planned
        .insert(0, Planned { path: args.directory.join("submission.json"), content: submission });
    planned.push(Planned {
        path: args.directory.join("profiles").join(format!("{PROFILE}.yaml")),
        content: profile(args, mission.max_seconds, placeholders),
    });
    Ok(planned)
}

/// An input object: the last part of its key, and its digest.
struct Object {
    name: String,
    sha256: Sha256Digest,
}

impl Object {
    /// Hashes a file as a stream, for archives can be larger than the memory.
    fn of_file(path: &Path, default_name: &str) -> Result<Self> {
        let shown = input::shown(path);
        let sha256 = hash(path).with_context(|| format!("cannot read {shown}"))?;
        Ok(Self { name: key_name(path, default_name), sha256 })
    }
}

fn hash(path: &Path) -> io::Result<Sha256Digest> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Sha256Digest::from_bytes(hasher.finalize().into())),
            Ok(length) => hasher.update(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A file's own name where it can stand in a URL as it is.
fn key_name(path: &Path, default_name: &str) -> String {
    let is_plain = |name: &&str| {
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
            && name.bytes().any(|byte| byte != b'.')
    };
    path.file_name()
        .and_then(|name| name.to_str())
        .filter(is_plain)
        .unwrap_or(default_name)
        .to_owned()
}

fn existing_mission(path: &Path) -> Result<(Mission, Object)> {
    let source = input::read(path)?;
    let mission = Mission::parse(&source.bytes).map_err(|problems| {
        for problem in &problems {
            terminal::say(Tone::Error, &problems::for_people(&source.name, problem));
        }
        anyhow::anyhow!("{} is no mission document; nothing was written", source.name)
    })?;
    let name = key_name(path, "mission.json");
    Ok((mission, Object { name, sha256: Sha256Digest::of(&source.bytes) }))
}

fn starter_mission(args: &InitArgs, placeholders: &mut Placeholders) -> Result<Mission> {
    let mission_id = if let Some(mission_id) = &args.mission_id {
        mission_id.clone()
    } else {
        placeholders.push("mission_id");
        MissionId::parse(DEFAULT_MISSION_ID).map_err(|fault| said(&fault))?
    };
    let evaluator_version = args.evaluator_version.unwrap_or_else(|| {
        placeholders.push("evaluator_version");
        Sha256Digest::from_bytes([0; 32])
    });
    let max_seconds = args.max_seconds.unwrap_or(DEFAULT_SECONDS);
    Ok(Mission { mission_id, evaluator_version, max_seconds })
}

fn said(fault: &Fault) -> anyhow::Error {
    anyhow::anyhow!("found {}; allowed: {}; help: {}", fault.found, fault.allowed, fault.remedy)
}

#[derive(Serialize)]
struct Budget {
    max_seconds: u32,
}

/// The members that harness reads, in the order of the form.
#[derive(Serialize)]
struct MissionDocument<'a> {
    mission_id: &'a str,
    evaluator_version: String,
    search_budget: Budget,
    /// Stands for all that the evaluator wants to know.
    description: &'a str,
}

fn mission_document(mission: &Mission) -> Result<String> {
    pretty(&MissionDocument {
        mission_id: mission.mission_id.as_str(),
        evaluator_version: format!("sha256:{}", mission.evaluator_version),
        search_budget: Budget { max_seconds: mission.max_seconds },
        description: "tell the evaluator here what to do; further members are its own",
    })
}

/// The fields of a starter, in the order of the form.
#[derive(Serialize)]
struct SubmissionDocument<'a> {
    schema_version: &'a str,
    attempt_id: &'a str,
    mission_id: &'a str,
    image: &'a str,
    evaluator_version: String,
    resource_profile: &'a str,
    search_budget: Budget,
    mission_url: String,
    mission_sha256: String,
    snapshot_url: String,
    snapshot_sha256: String,
    result_put_url: String,
    result_readback_url: String,
    runner_command: [&'a str; 3],
}

fn submission(
    args: &InitArgs,
    mission: &Mission,
    mission_object: &Object,
    snapshot: &Object,
    placeholders: &mut Placeholders,
) -> Result<String> {
    let now = SystemClock.now();
    let attempt_id = match &args.attempt_id {
        Some(attempt_id) => attempt_id.to_string(),
        None => format!("attempt-{}", now.strftime("%Y%m%d-%H%M%S")),
    };
    let base = base_url(&args.bucket_url)?;
    if base.contains("//storage.example.org/") {
        placeholders.push("the URLs' host and path");
    }
    let image = args.image.clone().unwrap_or_else(|| {
        placeholders.push("image");
        format!("registry.example.org/lab/model@{PLACEHOLDER_DIGEST}")
    });
    placeholders.push("runner_command");
    let input = |object: &Object| format!("{base}/inputs/{}", object.name);
    let result = format!("{base}/results/{attempt_id}/result.tar");
    let content = pretty(&SubmissionDocument {
        schema_version: SCHEMA_VERSION,
        attempt_id: &attempt_id,
        mission_id: mission.mission_id.as_str(),
        image: &image,
        evaluator_version: format!("sha256:{}", mission.evaluator_version),
        resource_profile: PROFILE,
        search_budget: Budget { max_seconds: mission.max_seconds },
        mission_url: input(mission_object),
        mission_sha256: mission_object.sha256.to_hex(),
        snapshot_url: input(snapshot),
        snapshot_sha256: snapshot.sha256.to_hex(),
        result_put_url: result.clone(),
        result_readback_url: result,
        runner_command: ["python3", "-m", "search"],
    })?;
    match Submission::parse(content.as_bytes()) {
        Ok(_) => Ok(content),
        Err(problems) => {
            for problem in &problems {
                terminal::say(Tone::Error, &problems::for_people("the starter", problem));
            }
            bail!("no valid submission can be made of these arguments; nothing was written")
        }
    }
}

/// The bucket's URL without a slash at its end.
fn base_url(text: &str) -> Result<&str> {
    let fault = |found: &str| {
        anyhow::anyhow!(
            "`--bucket-url`: found {found}; allowed: https://HOST/PATH without a query; \
help: write the bucket's HTTPS address, such as `https://BUCKET.s3.REGION.amazonaws.com/PREFIX`; \
signatures come with `submit --signed`"
        )
    };
    // Signed URLs are pasted where a plain one is asked for, so the text itself is never shown.
    if text.contains(['?', '#']) {
        return Err(fault("a query or fragment"));
    }
    let base = text.trim_end_matches('/');
    ObjectUrl::parse(&format!("{base}/inputs/mission.json"))
        .map(|_| base)
        .map_err(|problem| fault(&problem.found))
}

/// A profile with room for the budget, and with the default allowances beside it.
fn profile(args: &InitArgs, max_seconds: u32, placeholders: &mut Placeholders) -> String {
    let image = args.harness_image.clone().unwrap_or_else(|| {
        placeholders.push("harness_image in the profile");
        format!("registry.example.org/harness@{PLACEHOLDER_DIGEST}")
    });
    let deadline = 780 + max_seconds.max(DEFAULT_SECONDS);
    format!(
        "# Your own choice of resources and times; `harness schema profile` prints every field.
# Give a changed profile a new name: the name and the content are part of what an experiment is.
schema_version: profile.v1
name: {PROFILE}
description: a starter, to be fitted to your cluster

resources:
  run:
    cpu: \"1\"
    memory: 2Gi
    ephemeral_storage: 6Gi

volumes:
  inputs: 2Gi
  output: 1Gi
  scratch: 2Gi

allowances: # seconds
  pending: 240 # until a node is found
  pull: 180 # of the images
  staging: 180 # of the inputs
  publication: 120 # of the result
  grace: 60
  active_deadline: {deadline} # all of them and the search budget

# Holds the harness program; its steps stage the inputs and publish the result.
harness_image: {image}
"
    )
}

fn pretty(document: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// Writes every file, or none.
fn write_all(directory: &Path, planned: &[Planned]) -> Result<()> {
    let existing: Vec<String> = planned
        .iter()
        .filter(|file| file.path.symlink_metadata().is_ok())
        .map(|file| input::shown(&file.path))
        .collect();
    if !existing.is_empty() {
        bail!(
            "already there: {}; nothing was written; name another directory",
            existing.join(", ")
        );
    }
    let mut undo = Undo::default();
    let folders = planned.iter().filter_map(|file| file.path.parent());
    for folder in std::iter::once(directory).chain(folders) {
        undo.make_folders(folder).with_context(|| {
            format!("cannot make {}; nothing was written", input::shown(folder))
        })?;
    }
    for file in planned {
        undo.write(file).with_context(|| {
            format!("cannot write {}; nothing was left behind", input::shown(&file.path))
        })?;
    }
    undo.keep();
    Ok(())
}

/// Removes what was made, unless it is to be kept.
#[derive(Default)]
struct Undo {
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Undo {
    fn make_folders(&mut self, folder: &Path) -> io::Result<()> {
        let mut missing: Vec<&Path> = folder
            .ancestors()
            .take_while(|it| !it.as_os_str().is_empty() && !it.exists())
            .collect();
        while let Some(folder) = missing.pop() {
            fs::create_dir(folder)?;
            self.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn write(&mut self, planned: &Planned) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&planned.path)?;
        self.files.push(planned.path.clone());
        file.write_all(planned.content.as_bytes())
    }

    fn keep(mut self) {
        self.files.clear();
        self.folders.clear();
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        // Whatever cannot be removed stays; the error that led here is the one to report.
        for file in self.files.iter().rev() {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn next_command(directory: &Path) -> String {
    let quoted = |path: PathBuf| {
        let shown = input::shown(&path);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
        if shown.bytes().all(is_plain) {
            shown
        } else {
            format!("'{}'", shown.replace('\'', r"'\''"))
        }
    };
    let directory = if directory == Path::new(".") { Path::new("") } else { directory };
    format!(
        "harness prediction dispatch validate -f {} --profiles {}",
        quoted(directory.join("submission.json")),
        quoted(directory.join("profiles")),
    )
}
