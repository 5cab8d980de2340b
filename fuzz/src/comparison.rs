//! What an API server holds, compared with what was rendered.

use std::sync::LazyLock;

use harness::profile::Quantity;
use harness::render::compare::{Verdict, compare_job, compare_secret};
use harness::render::names::{RENDER_VERSION_KEY, SECRET_DIGEST};
use harness::status::{Situation, derive};
use serde_json::{Value, json};

use crate::common::{first_line, json_or_text, place, pointers};

/// As harness renders it, and as an API server then holds it; for a profile with every field.
struct Pair {
    rendered: Value,
    stored: Value,
    compare: fn(&Value, &Value) -> Verdict,
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("the file is JSON")
}

static JOB: LazyLock<Pair> = LazyLock::new(|| {
    let mut rendered = parsed(include_str!("../../src/render/compare/tests/job.rendered.json"));
    let mut stored = parsed(include_str!("../../src/render/compare/tests/job.stored.json"));
    // A queue may change more.
    for job in [&mut rendered, &mut stored] {
        let labels = job["metadata"]["labels"].as_object_mut().expect("it has labels");
        labels.remove("kueue.x-k8s.io/queue-name").expect("it names a queue");
        job["spec"]["suspend"] = json!(false);
    }
    Pair { rendered, stored, compare: compare_job }
});

static SECRET: LazyLock<Pair> = LazyLock::new(|| Pair {
    rendered: parsed(include_str!("../../src/render/compare/tests/secret.rendered.json")),
    stored: parsed(include_str!("../../src/render/compare/tests/secret.stored.json")),
    compare: compare_secret,
});

/// Lines: `job` or `secret`, what to do (`set`, `remove`, `add`, `label`, `annotate`, `server`, `whole`) and where, as a
/// JSON pointer or a number; then a value.
///
/// Each leaf that was rendered must be there, or its change is seen; what servers and others add where it decides nothing
/// is permitted; no other JSON is the same; a verdict never shows a value.
pub fn comparison(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (terms, value) = first_line(text);
    let mut terms = terms.splitn(3, ' ');
    let pair: &Pair = if terms.next() == Some("secret") { &SECRET } else { &JOB };
    let (action, word) = (terms.next().unwrap_or_default(), terms.next().unwrap_or_default());
    let value = json_or_text(value);
    let mut live = pair.stored.clone();
    match action {
        "set" | "remove" => {
            let all = pointers(&pair.rendered);
            let Some(pointer) = place(word, &all) else { return };
            let change = (action == "set").then_some(&value);
            let Some(before) = changed(&mut live, pointer, change) else { return };
            let verdict = judge(pair, &live);
            let is_leaf = !(before.is_object() || before.is_array());
            if is_leaf && !is_alike(pointer, &before, change.unwrap_or(&Value::Null)) {
                assert!(
                    !verdict.is_same(),
                    "{action} {pointer} from {before} to {value} is not seen"
                );
            }
        }
        "label" | "annotate" => {
            let field = if action == "label" { "labels" } else { "annotations" };
            // Others' prefixes only; harness's own, and those that queues and meshes read, may decide something.
            live["metadata"][field][format!("example.org/{word}")] = value;
            assert!(judge(pair, &live).is_same(), "{action} {word}");
        }
        "server" => {
            const SERVER: [&str; 5] =
                ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"];
            let field = SERVER.into_iter().find(|field| *field == word).unwrap_or("managedFields");
            // The UID also stands in the selector, which must agree.
            if field == "uid" {
                return;
            }
            live["metadata"][field] = value.clone();
            live["status"] = value;
            assert!(judge(pair, &live).is_same(), "{action} {word}");
        }
        "add" => {
            let all = pointers(&live);
            let Some(pointer) = place(word, &all) else { return };
            let Some(Value::Array(items)) = live.pointer_mut(pointer) else { return };
            items.push(value);
            let is_free =
                pointer.starts_with("/status") || pointer.starts_with("/metadata/managedFields");
            assert!(judge(pair, &live).is_same() == is_free, "{action} {pointer}");
        }
        _ => {
            let verdict = judge(pair, &value);
            assert!(!verdict.is_same(), "{value}");
            let _ = (pair.compare)(&value, &pair.stored);
            let _ = derive(&alone(value));
        }
    }
}

fn alone(job: Value) -> Situation {
    Situation {
        name: "j".to_owned(),
        namespace: "research".to_owned(),
        job: Some(job),
        pods: None,
        events: Vec::new(),
        workload: None,
        record: None,
        now: "2030-01-02T03:14:05Z".parse().expect("a time"),
        awaited_uid: None,
        submission_digest: None,
    }
}

/// Sets or removes what is at `pointer`; what stood there before.
fn changed(live: &mut Value, pointer: &str, value: Option<&Value>) -> Option<Value> {
    let before = live.pointer(pointer)?.clone();
    if let Some(value) = value {
        *live.pointer_mut(pointer)? = value.clone();
        return Some(before);
    }
    let (parent, key) = pointer.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    match live.pointer_mut(parent)? {
        Value::Object(map) => map.remove(&key),
        Value::Array(list) => Some(list.remove(key.parse().ok()?)),
        _ => None,
    }
}

/// The verdict, the same every time; its paths are harmless.
fn judge(pair: &Pair, live: &Value) -> Verdict {
    let verdict = (pair.compare)(&pair.rendered, live);
    assert_eq!(verdict, (pair.compare)(&pair.rendered, live));
    let (Verdict::Same { .. } | Verdict::Altered { .. } | Verdict::Foreign { .. }) = &verdict;
    if let Verdict::Altered { differences, .. } | Verdict::Foreign { differences } = &verdict {
        assert!(!differences.is_empty());
        assert!(differences.iter().all(|path| path.as_str().len() < 4096));
    }
    verdict
}

/// Whether two values of one place mean the same, or the place is compared by pattern only.
fn is_alike(pointer: &str, before: &Value, after: &Value) -> bool {
    let text = after.as_str().unwrap_or_default();
    let is_last = |name: &str| pointer.ends_with(&format!("/{name}"));
    let harness_image =
        ["/spec/template/spec/initContainers/0/image", "/spec/template/spec/containers/0/image"];
    let annotation =
        |name: &str| pointer == format!("/metadata/annotations/{}", name.replace('/', "~1"));
    let amount = |value: &Value| Quantity::parse(value.as_str()?).ok().map(Quantity::nanos);
    let is_quantity = pointer.contains("/resources/") || is_last("sizeLimit");
    let means_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    before == after
        || (means_nothing(before) && means_nothing(after))
        || annotation(SECRET_DIGEST)
        || annotation(RENDER_VERSION_KEY)
        || (harness_image.contains(&pointer) && text.contains("@sha256:"))
        || (is_last("secretName") && text.starts_with("prediction-"))
        || (is_quantity && amount(before).is_some() && amount(before) == amount(after))
}
