//! No object, however broken, makes the derivation panic or a report unreadable.

use harness::status::{Situation, derive};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::kit::situation::{Kept, all};

/// Every place in a document.
fn pointers(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(inner, &format!("{at}/{key}"), into);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                pointers(inner, &format!("{at}/{index}"), into);
            }
        }
        _ => {}
    }
}

fn odd_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(""),
        json!("\u{202e}\u{1b}[31m::error::"),
        json!("9999-12-31T23:59:59Z"),
        json!("-009999-01-01T00:00:00Z"),
        json!("é".repeat(5000)),
        json!([]),
        json!({}),
        json!([null, 1, "x", {}]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(which in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6)) {
        static ALL: std::sync::OnceLock<Vec<Kept>> = std::sync::OnceLock::new();
        let all = ALL.get_or_init(self::all);
        let situation: &Situation = &all[which.index(all.len())].situation;
        let mut document = json!({"job": situation.job, "pods": situation.pods, "events": situation.events, "workload": situation.workload, "record": situation.record});
        let odd = odd_values();
        for (place, value) in changes {
            let mut places = Vec::new();
            pointers(&document, "", &mut places);
            let place = &places[place.index(places.len())];
            if let Some(found) = document.pointer_mut(place) {
                *found = odd[value.index(odd.len())].clone();
            }
        }
        let list = |value: &Value| value.as_array().cloned();
        let broken = Situation {
            job: document.get("job").cloned().filter(|job| !job.is_null()),
            pods: document.get("pods").and_then(list),
            events: document.get("events").and_then(list).unwrap_or_default(),
            workload: document.get("workload").cloned().filter(|workload| !workload.is_null()),
            record: document.get("record").cloned().filter(|record| !record.is_null()),
            ..situation.clone()
        };
        let status = derive(&broken);
        prop_assert!(!status.diagnosis.sentence.is_empty());
        prop_assert!(status.times.age_seconds.is_none_or(|age| age >= 0));
        let text = serde_json::to_string(&status).unwrap();
        prop_assert!(text.len() < 400_000);
    }
}
