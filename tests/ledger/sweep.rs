//! Signed URLs that nothing needs any more go; Jobs stay.

use serde_json::{Value, json};

use crate::kit::{Place, Sample};
use crate::world::{end, later, submitted, user};

#[test]
fn secrets_of_finished_jobs_and_orphans_go() {
    let place = Place::new("sweep");
    let running = submitted(&place, &Sample::new("attempt-1"));
    let finished = submitted(&place, &Sample::new("attempt-2"));
    end(&place, &finished, "Complete", 1);
    // One signed again that no Job names, one of an experiment without a Job, and one that is none of harness.
    let harness = place.harness();
    let (unused, _) = harness.render(&Sample::new("attempt-1"));
    place.create("secrets", &unused);
    let (orphan, _) = harness.render(&Sample::new("attempt-3"));
    place.create("secrets", &orphan);
    let foreign = json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": {"name": "mine"}});
    place.create("secrets", &foreign);
    place.assert_holds(2, 5);
    let sweep = ["prune", "--secrets-only", "--yes"];
    assert_eq!(place.harness().run(&sweep).receipts(), Vec::<Value>::new(), "all too young");
    let proxy = place.proxy_as(&user(&place, "pruner"));
    later(&proxy, 8);
    let through = place.harness_through(&proxy);
    assert_eq!(through.run(&["prune", "--secrets-only", "--dry-run"]).receipts().len(), 3);
    place.assert_holds(2, 5);
    let run = through.run(&sweep);
    let receipts = run.receipts();
    assert_eq!((run.code, receipts.len()), (Some(0), 3), "{run}");
    assert!(receipts.iter().all(|one| one["outcome"] == "secrets_removed"), "{run}");
    assert_eq!(place.cluster.count_jobs(&place.namespace.name), 2);
    let left = place.secrets();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0] == "mine" && left[1].starts_with(&running), "{left:?}");
    assert!(place.list("configmaps").iter().all(|one| one["immutable"] != true));
    // The one that runs still has what its pod needs.
    place.harness().submit(&Sample::new("attempt-1")).expect(0, "already_submitted");
    // A prune of everything takes the finished one.
    place.harness().run(&["prune", "--yes", "--older-than", "1h"]).expect(0, "pruned");
    place.assert_holds(1, 2);
}
