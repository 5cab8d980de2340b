//! Compares what was said with what is.

use serde_json::Value;

use crate::audit::History;
use crate::kit::{Run, Sample};

/// What a run under fire may end with: done, or unknown. Nothing here makes any other ending true.
const OUTCOMES: [&str; 4] = ["created", "already_submitted", "unknown", "not_started"];

/// One experiment, after everything: all runs of its command and what the API server holds.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// All runs, those that converged at the end too.
    pub(crate) runs: &'a [Run],
    /// The experiment's signatures; nothing of them may show.
    pub(crate) samples: &'a [Sample],
    /// Every Job of the namespace that belongs to the experiment.
    pub(crate) jobs: &'a [Value],
    /// The names of all Secrets of the experiment.
    pub(crate) secrets: &'a [String],
    pub(crate) history: &'a History,
}

/// Everything that is wrong; nothing, if all is well.
pub(crate) fn complaints(facts: &Facts<'_>) -> Vec<String> {
    let [job] = facts.jobs else {
        return vec![format!("{} Jobs instead of one", facts.jobs.len())];
    };
    let mut wrong = history_is_clean(job, facts.history);
    wrong.extend(secrets_are_right(job, facts.secrets));
    let mut creators = 0;
    for run in facts.runs {
        for marker in facts.samples.iter().flat_map(|sample| &sample.markers) {
            if run.stdout.contains(marker) || run.stderr.contains(marker) {
                wrong.push(format!("a signature shows: {run}"));
            }
        }
        for receipt in receipts(run) {
            creators += usize::from(receipt["outcome"] == "created");
            wrong.extend(false_receipt(&receipt, job).map(|why| format!("{why}: {run}")));
        }
        if run.stderr.contains("panicked") {
            wrong.push(format!("a panic: {run}"));
        }
    }
    if creators > 1 {
        wrong.push(format!("{creators} runs say that they created the Job"));
    }
    wrong
}

fn history_is_clean(job: &Value, history: &History) -> Vec<String> {
    let name = job["metadata"]["name"].as_str().unwrap();
    let mut wrong: Vec<String> =
        history.forbidden.iter().map(|request| format!("harness asked for {request}")).collect();
    // The answer to the create may have been lost with the server that was to log it.
    let created = history.created.get(name).copied().unwrap_or_default();
    if created > 1 {
        wrong.push(format!("{created} Jobs were created under the name"));
    }
    wrong
}

/// The Job's own Secret is there; any other is that of another signature, and waits for a prune.
fn secrets_are_right(job: &Value, secrets: &[String]) -> Vec<String> {
    let volumes = job["spec"]["template"]["spec"]["volumes"].to_string();
    let own = secrets.iter().filter(|name| volumes.contains(&format!("\"{name}\""))).count();
    match own {
        1 => Vec::new(),
        own => vec![format!("the Job uses {own} of the Secrets {secrets:?}")],
    }
}

/// Whole lines only: a run that was killed may have been at one.
fn receipts(run: &Run) -> Vec<Value> {
    let whole = run.stdout.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| serde_json::from_str(line).unwrap_or_default()).collect()
}

fn false_receipt(receipt: &Value, job: &Value) -> Option<String> {
    let outcome = receipt["outcome"].as_str().unwrap_or("no receipt");
    if !OUTCOMES.contains(&outcome) {
        return Some(format!("the outcome {outcome}"));
    }
    let uid = &receipt["job"]["uid"];
    let names_it = uid == &job["metadata"]["uid"];
    if ["created", "already_submitted"].contains(&outcome) && !names_it {
        return Some(format!("{outcome} with the UID {uid}"));
    }
    // One that may or may not be there is named without a UID.
    (uid.is_string() && !names_it).then(|| format!("{outcome} names another Job, {uid}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(stdout: &str) -> Run {
        Run { stdout: format!("{stdout}\n"), ..Run::default() }
    }

    fn job() -> Value {
        let volumes = json!([{"secret": {"secretName": "job-1"}}]);
        json!({
            "metadata": {"name": "job", "uid": "u"},
            "spec": {"template": {"spec": {"volumes": volumes}}},
        })
    }

    /// What the checker says about one experiment.
    fn said(runs: &[Run], jobs: &[Value], secrets: &[&str], history: &History) -> String {
        let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
        let mut sample = Sample::unsigned("attempt-1");
        sample.markers.push("canary".to_owned());
        let samples = &[sample];
        complaints(&Facts { runs, samples, jobs, secrets: &secrets, history }).join("; ")
    }

    #[test]
    fn the_checker_finds_each_lie() {
        let clean = History::default();
        let created = run(r#"{"outcome":"created","job":{"uid":"u"}}"#);
        let fine = said(std::slice::from_ref(&created), &[job()], &["job-1", "job-2"], &clean);
        assert_eq!(fine, "");

        let alone = |stdout: &str| said(&[run(stdout)], &[job()], &["job-1"], &clean);
        for (stdout, part) in [
            (r#"{"outcome":"created","job":{"uid":"other"}}"#, "created with the UID"),
            (r#"{"outcome":"already_submitted","job":null}"#, "already_submitted with the UID"),
            (r#"{"outcome":"unknown","job":{"uid":"other"}}"#, "names another Job"),
            (r#"{"outcome":"refused"}"#, "the outcome refused"),
            ("no JSON", "the outcome no receipt"),
            (r#"{"outcome":"unknown","detail":"canary"}"#, "a signature shows"),
        ] {
            assert!(alone(stdout).contains(part), "{stdout}: {}", alone(stdout));
        }

        let twice = [created.clone(), created.clone()];
        assert!(said(&twice, &[job()], &["job-1"], &clean).contains("2 runs say"));
        assert_eq!(said(&[], &[], &[], &clean), "0 Jobs instead of one");
        assert_eq!(said(&[], &[job(), job()], &["job-1"], &clean), "2 Jobs instead of one");
        assert!(said(&[], &[job()], &["job-2"], &clean).contains("the Job uses 0"));

        let mut history = History::default();
        history.created.insert("job".to_owned(), 2);
        history.forbidden.push("delete /jobs/job".to_owned());
        let wrong = said(&[], &[job()], &["job-1"], &history);
        assert!(wrong.contains("2 Jobs were created"), "{wrong}");
        assert!(wrong.contains("harness asked for delete"), "{wrong}");
    }
}
