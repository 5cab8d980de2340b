//! All experiments of a namespace: Jobs and the records of pruned ones, in pages of bounded size.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::category::Category;
use super::derive::brief;
use super::read::{NAME_PREFIX, ReadError, items};
use super::report::Phase;
use super::view::{Job, Pod};
use crate::clock::Clock;
use crate::cluster::{Outcome, Resource, Unknown, Why};
use crate::render::names::{self, MANAGED_BY, RESULT_IDENTITY};
use crate::submit::Api;
use crate::submit::record;

/// The version of the JSON form.
pub const SCHEMA_VERSION: &str = "prediction_listing.v1";

/// Objects of one page, about 4 MiB; halved where a page is too long to be read.
const PAGE: u32 = 250;

/// The annotations of a Job that a list needs.
const SHOWN: [&str; 5] = [
    names::MISSION_ID,
    names::ATTEMPT_ID,
    names::SUBMISSION_DIGEST,
    names::CANCELLED_AT,
    names::CANCELLED_BY,
];

/// How often a list is begun anew because the server forgot where it was.
const MOST_RESTARTS: u32 = 5;

/// One experiment of a list. Field order is frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// `prediction_listing.v1`.
    pub schema_version: &'static str,
    /// The Job's name.
    pub name: String,
    /// How far it is.
    pub phase: Phase,
    /// Why; events are not looked at here, so that `status` may know more.
    pub category: Category,
    /// When its Job was created, or started where only the record is left; RFC 3339.
    pub created_at: Option<String>,
    /// Seconds since then; never negative.
    pub age_seconds: Option<i64>,
    /// The mission's own name.
    pub mission_id: Option<String>,
    /// The operator's name for the attempt.
    pub attempt_id: Option<String>,
    /// The image of the submission.
    pub image: Option<String>,
    /// The submission digest, 64 digits.
    pub submission_digest: Option<String>,
    /// Whether the Job was pruned and this comes from its record.
    pub is_recorded: bool,
    #[serde(skip)]
    created: Option<Timestamp>,
}

/// Which experiments are wanted; an empty filter wants all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// In one of these phases.
    pub phases: Vec<Phase>,
    /// Of this mission.
    pub mission: Option<String>,
    /// Created at or after this.
    pub since: Option<Timestamp>,
    /// With an image that holds this text.
    pub image: Option<String>,
}

impl Filter {
    fn wants(&self, row: &Row) -> bool {
        (self.phases.is_empty() || self.phases.contains(&row.phase))
            && self.mission.as_ref().is_none_or(|wanted| row.mission_id.as_ref() == Some(wanted))
            && self.since.is_none_or(|since| row.created.is_some_and(|created| created >= since))
            && self.image.as_ref().is_none_or(|part| {
                row.image.as_ref().is_some_and(|image| image.contains(part.as_str()))
            })
    }
}

/// Lists the experiments that are wanted, the newest first.
pub fn list(api: &dyn Api, clock: &dyn Clock, filter: &Filter) -> Result<Vec<Row>, ReadError> {
    let now = clock.now();
    // Half of the time goes into reading what was sent, so both are read at once.
    let (jobs, pods) = std::thread::scope(|scope| {
        let pods = scope.spawn(|| pods(api));
        (jobs(api), pods.join().expect("reading does not panic"))
    });
    let pods = match pods {
        Ok(pods) => Some(pods),
        Err(ReadError::Refused(_)) => None,
        Err(error) => return Err(error),
    };
    let rows = jobs?.into_iter().map(|(name, job)| of_job(name, &job, pods.as_ref(), now));
    let mut rows: BTreeMap<String, Row> = rows.map(|row| (row.name.clone(), row)).collect();
    // A record is written before its Job goes, so that reading Jobs first misses none.
    each(api, Resource::ConfigMaps, &mut |object| {
        if let Some(row) = of_record(&object, now) {
            rows.entry(row.name.clone()).or_insert(row);
        }
    })?;
    let mut rows: Vec<Row> = rows.into_values().filter(|row| filter.wants(row)).collect();
    rows.sort_by(|one, other| (other.created, &one.name).cmp(&(one.created, &other.name)));
    Ok(rows)
}

/// All Jobs by their names, without what no list shows. Of one that was read twice, the later reading counts.
fn jobs(api: &dyn Api) -> Result<BTreeMap<String, Job>, ReadError> {
    let mut jobs = BTreeMap::new();
    each(api, Resource::Jobs, &mut |object| {
        let mut job = Job::read(&object);
        job.annotations.retain(|key, _| SHOWN.contains(&key.as_str()));
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        jobs.insert(name.to_owned(), job);
    })?;
    Ok(jobs)
}

/// The pods of all experiments, by the label of their result identity.
fn pods(api: &dyn Api) -> Result<BTreeMap<String, Vec<Pod>>, ReadError> {
    let mut pods: BTreeMap<String, BTreeMap<String, Pod>> = BTreeMap::new();
    each(api, Resource::Pods, &mut |object| {
        let label = &object["metadata"]["labels"][RESULT_IDENTITY];
        if let Some(identity) = label.as_str() {
            let pod = Pod::read(&object);
            pods.entry(identity.to_owned()).or_default().insert(pod.uid.clone(), pod);
        }
    })?;
    Ok(pods.into_iter().map(|(identity, pods)| (identity, pods.into_values().collect())).collect())
}

/// Hands on every object of harness of one kind. One that is there throughout is seen at least once.
fn each(api: &dyn Api, resource: Resource, take: &mut dyn FnMut(Value)) -> Result<(), ReadError> {
    let label = format!("{MANAGED_BY}=harness");
    let (mut page, mut restarts, mut token) = (PAGE, 0, None::<String>);
    loop {
        let request = api.requests().list(resource, &label, page, token.as_deref());
        match api.send(&request) {
            Outcome::Done(mut answer) => {
                let next = answer.body["metadata"]["continue"].take();
                token = next.as_str().filter(|next| !next.is_empty()).map(str::to_owned);
                items(answer).into_iter().for_each(&mut *take);
                if token.is_none() {
                    return Ok(());
                }
            }
            Outcome::Refused(status) if status.code == 410 && restarts < MOST_RESTARTS => {
                restarts += 1;
                token = None;
            }
            Outcome::Refused(status) => return Err(ReadError::Refused(Box::new(status))),
            Outcome::Unknown(Unknown { why: Why::TooLarge { .. }, .. }) if page > 1 => page /= 2,
            Outcome::Unknown(unknown) => return Err(ReadError::Unknown(Box::new(unknown))),
        }
    }
}

fn of_job(
    name: String,
    job: &Job,
    pods: Option<&BTreeMap<String, Vec<Pod>>>,
    now: Timestamp,
) -> Row {
    let own = job.labels.get(RESULT_IDENTITY).and_then(|identity| pods?.get(identity));
    let (phase, diagnosis) = brief(job, own.cloned().unwrap_or_default(), pods.is_some());
    let of = |key: &str| job.annotations.get(key).cloned();
    Row {
        category: diagnosis.category,
        mission_id: of(names::MISSION_ID),
        attempt_id: of(names::ATTEMPT_ID),
        image: job.images.get("run").cloned(),
        submission_digest: of(names::SUBMISSION_DIGEST),
        ..row(name, phase, job.created, now)
    }
}

/// The row of a record; another `ConfigMap`, or one that cannot be read, is none.
fn of_record(object: &Value, now: Timestamp) -> Option<Row> {
    let name = object["metadata"]["name"].as_str()?;
    if !name.starts_with(NAME_PREFIX) {
        return None;
    }
    let record = record::read(object).ok()?;
    let phase = match record.outcome.as_str() {
        "succeeded" => Phase::Succeeded,
        "cancelled" => Phase::Cancelled,
        _ => Phase::Failed,
    };
    let created = record.started_at.as_deref().and_then(|time| time.parse().ok());
    let of = |key: &str| object["metadata"]["annotations"][key].as_str().map(str::to_owned);
    Some(Row {
        category: Category::RECORDED,
        mission_id: of(names::MISSION_ID),
        attempt_id: of(names::ATTEMPT_ID),
        image: of(names::IMAGE),
        submission_digest: Some(record.submission_digest),
        is_recorded: true,
        ..row(name.to_owned(), phase, created, now)
    })
}

fn row(name: String, phase: Phase, created: Option<Timestamp>, now: Timestamp) -> Row {
    Row {
        schema_version: SCHEMA_VERSION,
        name,
        phase,
        category: Category::UNKNOWN,
        created_at: created.map(|time| time.to_string()),
        age_seconds: created.map(|time| super::words::seconds_between(time, now)),
        mission_id: None,
        attempt_id: None,
        image: None,
        submission_digest: None,
        is_recorded: false,
        created,
    }
}
