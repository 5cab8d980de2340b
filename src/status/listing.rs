//! All experiments of a namespace: Jobs and the records of pruned ones, in pages of bounded size.

mod join;
mod pages;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver};
use std::thread::Scope;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use self::join::{Disorder, Join, Order, Side};
use self::pages::{Page, each};
use super::category::Category;
use super::derive::brief;
use super::read::{NAME_PREFIX, ReadError};
use super::report::Phase;
use super::view::{Job, Pod};
use crate::clock::Clock;
use crate::cluster::Resource;
use crate::render::names;
use crate::submit::Api;
use crate::submit::record;

/// The version of the JSON form.
pub const SCHEMA_VERSION: &str = "prediction_listing.v1";

/// The annotations of a Job that a list needs.
const SHOWN: [&str; 5] = [
    names::MISSION_ID,
    names::ATTEMPT_ID,
    names::SUBMISSION_DIGEST,
    names::CANCELLED_AT,
    names::CANCELLED_BY,
];

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
///
/// Jobs and pods are read at once and in step, so that no more than a few pages are held beside the rows.
pub fn list(api: &dyn Api, clock: &dyn Clock, filter: &Filter) -> Result<Vec<Row>, ReadError> {
    let now = clock.now();
    let mut rows = match of_jobs(api, filter, now, Order::ByName)? {
        Ok(rows) => rows,
        Err(Disorder) => of_jobs(api, filter, now, Order::Any)?.unwrap_or_default(),
    };
    // A record is written before its Job goes, so that reading Jobs first misses none.
    each(
        api,
        Resource::ConfigMaps,
        |object| of_record(object, now),
        |page| {
            for (name, row) in page.objects {
                let row = row.map(|row| filter.wants(&row).then_some(row));
                row.map(|row| rows.entry(name).or_insert(row));
            }
            true
        },
    )?;
    let mut rows: Vec<Row> = rows.into_values().flatten().collect();
    rows.sort_by(|one, other| (other.created, &one.name).cmp(&(one.created, &other.name)));
    Ok(rows)
}

/// The row of every Job by its name; none where the filter does not want it.
type Rows = BTreeMap<String, Option<Row>>;

fn of_jobs(
    api: &dyn Api,
    filter: &Filter,
    now: Timestamp,
    order: Order,
) -> Result<Result<Rows, Disorder>, ReadError> {
    let (mut rows, mut join, mut pods_are_known) = (Rows::new(), Join::new(order), true);
    // Half of the time goes into reading what was sent, so both are read at once.
    std::thread::scope(|scope| {
        let jobs = ahead(scope, api, Resource::Jobs, lean);
        let pods = ahead(scope, api, Resource::Pods, Pod::read);
        while let Some(side) = join.behind() {
            let taken = match side {
                Side::Jobs => join.jobs(jobs.recv().ok().transpose()?),
                Side::Pods => match pods.recv().ok().transpose() {
                    Ok(page) => join.pods(page),
                    Err(ReadError::Refused(_)) => {
                        pods_are_known = false;
                        join.pods(None)
                    }
                    Err(error) => return Err(error),
                },
            };
            if taken.is_err() {
                return Ok(Err(Disorder));
            }
            rows.extend(join.settled().into_iter().map(|(name, job, pods)| {
                let row = of_job(name.clone(), &job, pods, pods_are_known, now);
                (name, filter.wants(&row).then_some(row))
            }));
        }
        Ok(Ok(rows))
    })
}

/// Reads one list in a thread of its own, no further ahead than one page.
fn ahead<'scope, 'api: 'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, 'api>,
    api: &'api dyn Api,
    resource: Resource,
    view: fn(&Value) -> T,
) -> Receiver<Result<Page<T>, ReadError>> {
    let (sender, receiver) = mpsc::sync_channel(0);
    scope.spawn(move || {
        let ended = each(api, resource, view, |page| sender.send(Ok(page)).is_ok());
        // Nobody listens any more where the other list could not be read.
        let _ = ended.map_err(|error| sender.send(Err(error)));
    });
    receiver
}

/// A Job without what no list shows.
fn lean(object: &Value) -> Job {
    let mut job = Job::read(object);
    job.annotations.retain(|key, _| SHOWN.contains(&key.as_str()));
    job
}

fn of_job(name: String, job: &Job, pods: Vec<Pod>, pods_are_known: bool, now: Timestamp) -> Row {
    let (phase, diagnosis) = brief(job, pods, pods_are_known);
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

#[cfg(test)]
mod tests;
