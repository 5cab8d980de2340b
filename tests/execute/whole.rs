//! The whole way, and what its evidence is worth.

use crate::kit::{Trial, store};

/// Shows what it found, in its output and in its log.
const SHOW: &str = r#"
set -eu
echo "searching for at most $HARNESS_BUDGET_SECONDS s"
printf 'no line end, and \033[31mcolour'
echo "a line on standard error" >&2
cat "$HARNESS_SNAPSHOT/data" "$HARNESS_MISSION" > "$HARNESS_OUTPUT/found"
env | cut -d= -f1 | sort > "$HARNESS_OUTPUT/names"
pwd > "$HARNESS_OUTPUT/place"
grep NoNewPrivs /proc/self/status > "$HARNESS_OUTPUT/privileges"
"#;

#[test]
fn an_experiment_goes_the_whole_way() {
    let trial = Trial::new()
        .env("AWS_SECRET_ACCESS_KEY", "not for the runner")
        .env("LC_ALL", "C.UTF-8")
        .env("SEARCH_SEED", "7")
        .arg("--env")
        .arg("SEARCH_SEED");
    let ended = trial.shell(SHOW);
    let document = ended.expect(0, "succeeded");
    assert_eq!(document["published"], true);
    assert_eq!(document["attempt_id"], trial.attempt);
    let object = document["result_object"].as_str().unwrap();
    assert!(object.ends_with(&trial.result()), "{object}");
    let steps: Vec<_> =
        document["steps"].as_array().unwrap().iter().map(|it| &it["step"]).collect();
    assert_eq!(steps, ["stage", "run", "publish"]);
    for said in ["searching for at most 60 s\n", "a line on standard error\n", "note: working in "]
    {
        assert!(ended.stderr.contains(said), "{said}: {ended:#?}");
    }
    assert!(!ended.stderr.contains('\u{1b}'), "{ended:#?}");
    assert!(trial.left().is_empty() && document["folder"].is_null(), "{:?}", trial.left());

    let found = trial.published_file("found").unwrap();
    assert!(found.starts_with("the data\n{") && found.contains("Mission 7"), "{found}");
    assert!(trial.published_file("place").unwrap().ends_with("/scratch\n"));
    assert!(trial.published_file("privileges").unwrap().ends_with("\t1\n"));
    let names = trial.published_file("names").unwrap();
    let has = |name: &str| names.lines().any(|line| line == name);
    assert!(has("PATH") && has("LC_ALL") && has("SEARCH_SEED") && has("HARNESS_OUTPUT"), "{names}");
    for foreign in ["AWS_SECRET_ACCESS_KEY", "SSL_CERT_FILE", "HARNESS_PROFILES"] {
        assert!(!has(foreign), "{foreign}: {names}");
    }
}

#[test]
fn the_evidence_says_that_no_cluster_was_there() {
    let trial = Trial::new();
    let document = trial.shell("echo 1 > \"$HARNESS_OUTPUT/one\"").expect(0, "succeeded");
    let verdict = trial.published();
    assert_eq!(verdict["evidence_digest"], document["evidence_digest"]);
    assert_eq!(verdict["result_digest"], document["result_digest"]);
    let predicate = &verdict["evidence"]["predicate"];
    let definition = &predicate["buildDefinition"];
    assert_eq!(definition["buildType"], "https://research.harness/local-prediction/v1");
    assert_eq!(predicate["runDetails"]["builder"]["id"], "https://research.harness/execute/v1");
    assert_eq!(predicate["runDetails"]["metadata"]["invocationId"], "");
    assert!(!definition["resolvedDependencies"].to_string().contains("image"));
    for (name, text) in predicate["harness_run"]["pod"].as_object().unwrap() {
        assert_eq!(text, "", "{name}");
    }
    assert_eq!(predicate["harness_run"]["command"][0], "sh");
    assert_eq!(predicate["harness_run"]["submission_digest"], document["submission_digest"]);

    let result = trial.path("result.tar.gz");
    let result = result.to_str().unwrap();
    let for_people = trial.plain(&["evidence", "verify", result]);
    assert_eq!(for_people.code, Some(0), "{for_people:#?}");
    for said in ["none; made by `harness prediction execute`", "the image was not run"] {
        assert!(for_people.stdout.contains(said), "{for_people:#?}");
    }
    // No cluster has to be there to say that none can vouch for it.
    let words = ["evidence", "verify", result, "--context", "lab", "-n", "research"];
    let refused = trial.plain(&words);
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert!(refused.stderr.contains("no Job can vouch for it"), "{refused:#?}");
}

#[test]
fn a_folder_that_was_named_stays() {
    let trial = Trial::new().rooted();
    let document = trial.shell("echo 1 > \"$HARNESS_OUTPUT/one\"").expect(0, "succeeded");
    assert_eq!(document["folder"], trial.root().canonicalize().unwrap().to_str().unwrap());
    assert!(trial.root().join("output/one").exists());
    assert!(trial.left().is_empty());
}

#[test]
fn a_name_and_a_text_are_printed_alike() {
    let trial = Trial::new();
    let file = trial.written();
    let file = file.to_str().unwrap();
    let words = ["prediction", "execute", "-f", file, "-o", "name", "--", "true"];
    let ended = trial.plain(&words);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let object = format!("https://{}/{}\n", store().host(), trial.result());
    assert_eq!(ended.stdout, object);
    assert!(ended.stderr.contains("can read the signed URLs in"), "{ended:#?}");

    let trial = Trial::new();
    let file = trial.written();
    let words = ["prediction", "execute", "-f", file.to_str().unwrap(), "--", "true"];
    let ended = trial.plain(&words);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stdout.starts_with(&format!("{}: succeeded\n", trial.attempt)), "{ended:#?}");
    assert!(ended.stdout.contains("without a cluster or the image"), "{ended:#?}");
    assert!(!ended.stdout.contains('?'), "{ended:#?}");
}
