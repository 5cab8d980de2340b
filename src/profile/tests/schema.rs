//! Tests that the parser, the committed JSON Schema and the documentation agree.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

/// The names of all properties in a schema or of all keys in a document, free keys included.
fn keys(value: &Value, only_below: Option<&str>, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if only_below.is_none() {
                    found.insert(key.clone());
                } else if only_below == Some(key) {
                    found.extend(
                        inner.as_object().into_iter().flatten().map(|(name, _)| name.clone()),
                    );
                }
                keys(inner, only_below, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, only_below, found)),
        _ => (),
    }
}

/// The schema of what the parser takes.
fn schema() -> Value {
    crate::submission::schema::of_form::<Profile>()
}

#[test]
fn the_committed_schema_is_current() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    #[expect(clippy::disallowed_methods, reason = "a developer's switch of this test")]
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/profile.json");
        std::fs::write(path, text).unwrap();
        return;
    }
    assert!(text == SCHEMA, "schemas/profile.json is old: run the tests with UPDATE_SCHEMAS=1");
}

#[test]
fn parser_and_schema_have_the_same_fields() {
    let (mut properties, mut used) = (BTreeSet::new(), BTreeSet::new());
    keys(&schema(), Some("properties"), &mut properties);
    let complete = serde_json::to_value(parse(COMPLETE)).unwrap();
    keys(&complete, None, &mut used);
    let unused: Vec<_> = properties.difference(&used).collect();
    assert!(unused.is_empty(), "the complete profile lacks {unused:?}");

    let problem = Profile::parse(format!("{SMALL}unknown: 1\n").as_bytes()).unwrap_err().remove(0);
    let known: BTreeSet<_> = problem.fault.allowed.split(", ").collect();
    let schema = schema();
    let root: BTreeSet<_> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(known, root);
}

#[test]
fn the_documentation_is_true() {
    let text = include_str!("../../../docs/profiles.md");
    let examples: Vec<_> = text.split("```yaml\n").skip(1).collect();
    assert!(examples.len() >= 2);
    for example in examples {
        let (yaml, _) = example.split_once("```").unwrap();
        parse(yaml);
    }
    let mut properties = BTreeSet::new();
    keys(&schema(), Some("properties"), &mut properties);
    for property in properties {
        assert!(text.contains(&format!("`{property}`")), "{property} is not documented");
    }
    let embedded = Profiles::embedded();
    let over = embedded.get("standard-v1").unwrap().times(2000).unwrap_err();
    assert!(text.contains(&*over.found), "{}", over.found);
    for profile in embedded.iter() {
        assert!(text.contains(&profile.digest().to_hex()), "the digest of {}", profile.name);
    }
}
