//! What is due, by the server's clock.

mod pages;

use super::*;
use crate::ledger::facts::{Identity, Suspension};
use crate::render::compare::JobState;

const NOW: &str = "2030-01-10T00:00:00Z";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn job(state: JobState) -> JobFact {
    JobFact {
        name: "job".to_owned(),
        uid: "uid".to_owned(),
        resource_version: "1".to_owned(),
        identity: Some(Identity { result: "a".repeat(64), submission: "b".repeat(64) }),
        terminating: None,
        state,
        started_at: None,
        suspension: Suspension::No,
        earlier_pods: None,
        counted: 0,
        deadline: None,
        cancelled: None,
        secret: Some("named".to_owned()),
    }
}

fn secret(name: &str, created: &str) -> SecretFact {
    let name = name.to_owned();
    SecretFact { name, uid: "uid".to_owned(), is_terminating: false, created: Some(at(created)) }
}

/// The tasks as words: `prune` or `sweep`, and the Secrets.
fn due(job: Option<JobFact>, secrets: Vec<SecretFact>, wish: Wish) -> Vec<String> {
    let jobs = job.into_iter().map(|job| ("job".to_owned(), job)).collect();
    let secrets = [("job".to_owned(), secrets)].into_iter().collect();
    let word = |task: Task| {
        let word = if matches!(task.command, Command::Prune { .. }) { "prune" } else { "sweep" };
        format!("{word} {}", task.secrets.join(" "))
    };
    tasks(&secrets, &jobs, wish, at(NOW)).into_iter().map(word).collect()
}

const OLD: &str = "2030-01-02T23:59:59Z";
const YOUNG: &str = "2030-01-03T00:00:01Z";

fn week(secrets_only: bool) -> Wish {
    Wish { older_than: Duration::from_hours(7 * 24), secrets_only, dry_run: false }
}

#[test]
fn a_job_is_due_when_its_end_is_old() {
    let ended = |time: &str| Some(job(JobState::Succeeded { at: Some(at(time)) }));
    let secrets = || vec![secret("named", YOUNG), secret("other", OLD)];
    assert_eq!(due(ended(OLD), secrets(), week(false)), ["prune named other"]);
    assert_eq!(due(ended(OLD), secrets(), week(true)), ["sweep named other"]);
    assert_eq!(due(ended(YOUNG), secrets(), week(false)), Vec::<String>::new());
    assert_eq!(due(ended(OLD), vec![], week(true)), Vec::<String>::new());
    let silent = Some(job(JobState::Failed { at: None, reason: String::new() }));
    assert_eq!(due(silent, secrets(), week(false)), Vec::<String>::new());
}

#[test]
fn what_may_run_keeps_what_it_needs() {
    for state in [JobState::Queued, JobState::Pending, JobState::Running] {
        let secrets = vec![secret("named", OLD), secret("other", OLD), secret("young", YOUNG)];
        assert_eq!(due(Some(job(state.clone())), secrets.clone(), week(false)), ["sweep other"]);
        let unnamed = JobFact { secret: None, ..job(state) };
        assert_eq!(due(Some(unnamed), secrets, week(false)), Vec::<String>::new());
    }
}

#[test]
fn a_secret_without_a_job_goes_when_it_is_old() {
    let secrets = vec![secret("a", OLD), secret("b", YOUNG)];
    assert_eq!(due(None, secrets, week(false)), ["sweep a"]);
}

/// Whoever calls the library with less gets an hour all the same.
#[test]
fn the_least_retention_holds() {
    let wish = Wish { older_than: Duration::ZERO, ..week(false) };
    let ended = |time: &str| Some(job(JobState::Succeeded { at: Some(at(time)) }));
    assert_eq!(due(ended("2030-01-09T23:00:01Z"), vec![], wish), Vec::<String>::new());
    assert_eq!(due(ended("2030-01-09T23:00:00Z"), vec![], wish), ["prune "]);
}
