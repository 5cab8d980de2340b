//! `harness evidence verify`: what a result states, and whether it holds.

use std::fs::File;
use std::io::BufReader;

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::args::{ReceiptOutput, VerifyArgs};
use super::exit::Exit;
use super::problems::for_people;
use super::terminal::{self, Tone};
use super::{input, neutral, profiles};
use crate::execution::archive;
use crate::execution::evidence::{Statement, verify};
use crate::render::{self, identity};
use crate::submission::{Sha256Digest, Submission};

/// What `verify -o json` prints. Field order is frozen.
#[derive(Serialize)]
struct Verdict<'a> {
    schema_version: &'static str,
    result: String,
    /// Whether everything that was looked at holds.
    holds: bool,
    /// Whether the submission was looked at, too.
    compared_with_submission: bool,
    result_digest: Option<String>,
    evidence_digest: Option<String>,
    findings: &'a [String],
    /// What the result states; null when it cannot be read.
    evidence: Option<&'a Statement>,
}

/// What was read of a result.
struct Looked {
    statement: Option<Statement>,
    digests: Option<(Sha256Digest, Sha256Digest)>,
    findings: Vec<String>,
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
    show(args, &looked, submission.is_some());
    Ok(if looked.findings.is_empty() { Exit::Done } else { Exit::Invalid })
}

type Expected = (Submission, verify::Expected);

fn expected(path: &std::path::Path, args: &VerifyArgs) -> Result<Result<Expected, Exit>> {
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
    let found = match archive::read(BufReader::with_capacity(128 << 10, file)) {
        Ok(found) => found,
        Err(broken) => {
            return Looked { statement: None, digests: None, findings: vec![broken.to_string()] };
        }
    };
    let digests = Some((found.digest, Sha256Digest::of(&found.evidence)));
    match Statement::parse(&found.evidence) {
        Ok(statement) => {
            let findings = verify::against_archive(&statement, &found);
            Looked { statement: Some(statement), digests, findings }
        }
        Err(why) => {
            let findings = vec![format!("`evidence.json` is not evidence: {why}")];
            Looked { statement: None, digests, findings }
        }
    }
}

fn show(args: &VerifyArgs, looked: &Looked, compared: bool) {
    let holds = looked.findings.is_empty();
    let result = args.result.display().to_string();
    if args.output == ReceiptOutput::Json {
        let verdict = Verdict {
            schema_version: "prediction_verification.v1",
            result,
            holds,
            compared_with_submission: compared,
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
    if let (true, Some(statement), Some((digest, evidence))) =
        (holds, &looked.statement, looked.digests)
    {
        terminal::data(&neutral::lines(&summary(&result, statement, digest, evidence, compared)));
    }
}

fn summary(
    result: &str,
    statement: &Statement,
    digest: Sha256Digest,
    evidence: Sha256Digest,
    compared: bool,
) -> String {
    let run = &statement.predicate.harness_run;
    let parameters = &statement.predicate.build_definition.external_parameters;
    let scope = if compared {
        "consistent in itself, and of this submission"
    } else {
        "consistent in itself"
    };
    format!(
        "{result}: {scope}\n\
         attempt     {}\n\
         mission     {}\n\
         outcome     {}\n\
         files       {} in {} bytes\n\
         job         {}\n\
         submission  {}\n\
         result      {digest}\n\
         evidence    {evidence}\n\
         Who made it is stated only: compare the Job's UID and the digests with the cluster's.",
        parameters.attempt_id,
        parameters.mission_id,
        run.outcome.name(),
        statement.subject.len(),
        run.output.bytes,
        run.pod.job_uid,
        run.submission_digest,
    )
}
