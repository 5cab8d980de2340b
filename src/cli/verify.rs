//! `harness evidence verify`: what a result states, and whether it holds.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::args::{ClusterArgs, ReceiptOutput, VerifyArgs};
use super::exit::Exit;
use super::problems::for_people;
use super::terminal::{self, Tone};
use super::verdict::{self, Asked, Verdict, Witness};
use super::{connect, input, neutral, profiles};
use crate::clock::{Clock, SystemClock};
use crate::cluster::Access;
use crate::execution::archive;
use crate::execution::evidence::{Statement, verify};
use crate::render::{self, identity};
use crate::status::{self, ReadError, Status, read::Target};
use crate::submission::{Sha256Digest, Submission};

/// What is said when a cluster is to vouch for a result that says itself that none made it.
const LOCAL: &str = "it says that `harness prediction execute` made it on somebody's machine, without a cluster, so no Job \
can vouch for it and none was asked about; leave out the cluster, or submit the experiment under a new attempt_id";

/// What was read of a result.
struct Looked {
    statement: Option<Statement>,
    digests: Option<(Sha256Digest, Sha256Digest)>,
    findings: Vec<String>,
    asked: Option<Asked>,
}

pub(super) fn run(args: &VerifyArgs) -> Result<Exit> {
    let submission = match &args.submission {
        None => None,
        Some(path) => match expected(path, args)? {
            Ok(expected) => Some(expected),
            Err(exit) => return Ok(exit),
        },
    };
    let file = File::open(&args.result)
        .with_context(|| format!("{} cannot be read", args.result.display()))?;
    let mut looked = look(file);
    if let (Some(statement), Some((submission, expected))) = (&looked.statement, &submission) {
        looked.findings.extend(verify::against_submission(statement, submission, expected));
    }
    if let Some(cluster) = args.cluster.named() {
        let reads_stdin = args.submission.as_deref() == Some(Path::new(input::STANDARD_INPUT));
        ask(&mut looked, &cluster, !reads_stdin)?;
    }
    let exit = exit(&looked);
    show(args, &looked, submission.is_some(), exit);
    Ok(exit)
}

type Expected = (Submission, verify::Expected);

fn expected(path: &Path, args: &VerifyArgs) -> Result<Result<Expected, Exit>> {
    let profiles = profiles::load(&args.profiles)?;
    let source = input::read(path)?;
    let found = Submission::parse(&source.bytes).and_then(|submission| {
        let fitted = render::fit(&submission, &profiles)?;
        let expected = verify::Expected {
            submission_digest: identity::submission_digest(&fitted),
            result_identity: submission.result_identity(),
            profile_digest: fitted.profile.digest(),
        };
        Ok((submission, expected))
    });
    Ok(found.map_err(|problems| {
        for problem in &problems {
            terminal::say(Tone::Error, &for_people(&source.name, problem));
        }
        Exit::Invalid
    }))
}

fn look(file: File) -> Looked {
    let nothing = Looked { statement: None, digests: None, findings: Vec::new(), asked: None };
    let found = match archive::read(BufReader::with_capacity(128 << 10, file)) {
        Ok(found) => found,
        Err(broken) => return Looked { findings: vec![broken.to_string()], ..nothing },
    };
    let digests = Some((found.digest, Sha256Digest::of(&found.evidence)));
    match Statement::parse(&found.evidence) {
        Ok(statement) => {
            let findings = verify::against_archive(&statement, &found);
            Looked { statement: Some(statement), digests, findings, ..nothing }
        }
        Err(why) => {
            let findings = vec![format!("`evidence.json` is not evidence: {why}")];
            Looked { digests, findings, ..nothing }
        }
    }
}

/// Asks the cluster, where there is evidence to ask about.
fn ask(looked: &mut Looked, cluster: &ClusterArgs, stdin_is_free: bool) -> Result<()> {
    let (Some(statement), Some((result, evidence))) = (&looked.statement, looked.digests) else {
        return Ok(());
    };
    if statement.is_local() {
        looked.findings.push(LOCAL.to_owned());
        return Ok(());
    }
    let stated = &statement.predicate.harness_run.result_identity;
    let Ok(identity) = Sha256Digest::parse(stated) else {
        looked.findings.push("its result identity is no digest, so no Job can be its".to_owned());
        return Ok(());
    };
    let name = identity::job_name(identity);
    let status = match read(&name, cluster, stdin_is_free)? {
        Ok(status) => status,
        Err((witness, why)) => {
            let namespace = cluster.namespace.as_str();
            looked.asked = Some(Asked::without(namespace, &name, witness, &why));
            return Ok(());
        }
    };
    let asked = Asked::of(&status);
    match asked.witness {
        Witness::Job | Witness::Record => {
            let known = known(&status);
            let differences = verify::against_cluster(statement, result, evidence, &known);
            looked.findings.extend(differences);
        }
        Witness::Other => looked.findings.extend(asked.detail.clone()),
        Witness::Nothing | Witness::Refused | Witness::Unknown => {}
    }
    looked.asked = Some(asked);
    Ok(())
}

/// What the cluster holds under this name, or why it cannot be told.
fn read(
    name: &str,
    cluster: &ClusterArgs,
    stdin_is_free: bool,
) -> Result<Result<Status, (Witness, String)>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = connect::options(cluster, Access::Watch, stdin_is_free);
    let connection = match connect::open(&options, &clock)? {
        Ok(connection) => connection,
        Err(why) => return Ok(Err((Witness::Unknown, why))),
    };
    let target = Target { name: name.to_owned(), uid: None, submission_digest: None };
    let found = status::read(&connection, &*clock, &target, Duration::MAX);
    Ok(found.map_err(|error| {
        let witness = match error {
            ReadError::Refused(_) => Witness::Refused,
            ReadError::Unknown(_) => Witness::Unknown,
        };
        (witness, error.to_string())
    }))
}

fn known(status: &Status) -> verify::Known {
    verify::Known {
        job_uid: status.job_uid.clone().unwrap_or_default(),
        result_identity: status.identity.result_identity.clone().unwrap_or_default(),
        submission_digest: status.identity.submission_digest.clone().unwrap_or_default(),
        evidence_digest: status.evidence_digest.clone(),
        result_digest: status.result_digest.clone(),
    }
}

/// What does not hold weighs more than what could not be looked at.
fn exit(looked: &Looked) -> Exit {
    if !looked.findings.is_empty() {
        return Exit::Invalid;
    }
    match looked.asked.as_ref().map(|asked| asked.witness) {
        None | Some(Witness::Job | Witness::Record) => Exit::Done,
        Some(Witness::Other) => Exit::Invalid,
        Some(Witness::Nothing) => Exit::Absent,
        Some(Witness::Refused) => Exit::Refused,
        Some(Witness::Unknown) => Exit::Unknown,
    }
}

fn show(args: &VerifyArgs, looked: &Looked, compared: bool, exit: Exit) {
    let result = args.result.display().to_string();
    let asked = looked.asked.as_ref();
    if args.output == ReceiptOutput::Json {
        let verdict = Verdict {
            schema_version: verdict::SCHEMA_VERSION,
            result,
            holds: exit == Exit::Done,
            compared_with_submission: compared,
            cluster: asked,
            result_digest: looked.digests.map(|(result, _)| result.to_hex()),
            evidence_digest: looked.digests.map(|(_, evidence)| evidence.to_hex()),
            findings: &looked.findings,
            evidence: looked.statement.as_ref(),
        };
        let text = serde_json::to_string(&verdict).expect("texts and numbers always serialise");
        terminal::data(&neutral::json(&text));
        return;
    }
    for finding in &looked.findings {
        terminal::say(Tone::Error, &neutral::lines(&format!("{result}: {finding}")));
    }
    let unanswered = asked.filter(|asked| asked.witness != Witness::Other);
    if let Some(why) = unanswered.and_then(|asked| asked.detail.as_ref()) {
        let text = format!("{result}: the cluster does not say who made it: {why}");
        terminal::say(Tone::Error, &neutral::lines(&text));
    }
    if let (Exit::Done, Some(statement), Some(digests)) = (exit, &looked.statement, looked.digests)
    {
        terminal::data(&verdict::summary(&result, statement, digests, compared, asked));
    }
}
