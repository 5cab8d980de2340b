//! The vectors, a table per family, and properties that hold for every URL.

use serde_json::Value;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn guard_values(names: &[&str]) -> BTreeMap<String, String> {
    names
        .iter()
        .map(|name| {
            let value = match *name {
                "x-goog-if-generation-match" => "0",
                "if-none-match" => "*",
                name if name.ends_with("-forbid-overwrite") => "true",
                _ => "application/x-tar",
            };
            ((*name).to_owned(), value.to_owned())
        })
        .collect()
}

/// The headers under the signature, in the words of the vectors.
fn signed_text(signature: &Signature) -> String {
    let listed: Vec<&str> = signature.signed_headers.iter().map(String::as_str).collect();
    let hidden = match signature.family {
        Family::SigV2 => "(hidden) content-md5 content-type x-amz-*",
        Family::OssV1 | Family::OssV2 | Family::OssV4 => {
            "(hidden) content-md5 content-type x-oss-*"
        }
        Family::Obs => "(hidden) content-md5 content-type x-obs-*",
        Family::GcsV2 => "(hidden) content-md5 content-type x-goog-*",
        _ => "",
    };
    let text = format!("{} {hidden}", listed.join(" "));
    if text.trim().is_empty() { "none".to_owned() } else { text.trim().to_owned() }
}

/// Expiry, signed headers and guard as the vectors write them, or `reject`.
fn outcome(row: &Value) -> Result<(String, String, String), String> {
    let url = ObjectUrl::parse(row["url"].as_str().unwrap()).map_err(|f| f.code.name.to_owned())?;
    let method = if row["method"] == "PUT" { Method::Put } else { Method::Get };
    let names: Vec<&str> =
        row["declared"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let end = row["credential_end"].as_str().map(at);
    let signed = inspect(&url, method, &guard_values(&names), end).map_err(|faults| {
        faults.iter().map(|fault| fault.code.name).collect::<Vec<_>>().join(" ")
    })?;
    let Signed::Signed(signature) = signed else {
        return Ok(("none (public)".to_owned(), "none".to_owned(), String::new()));
    };
    let now = at(row["now"].as_str().unwrap());
    check_life(&signature, now, now).map_err(|fault| fault.code.name.to_owned())?;
    let guard = signature.guard.as_ref().map_or(String::new(), |guard| match guard.name.as_str() {
        "if-none-match" => format!("If-None-Match: {}", guard.value),
        name => format!("{name}: {}", guard.value),
    });
    Ok((signature.expires.unwrap().to_string(), signed_text(&signature), guard))
}

#[test]
fn vectors_of_presigned_urls() {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/vectors/presigned-urls.json")).unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let expected = (text("expect"), text("signed"), text("guard"));
        let found = outcome(row);
        let holds = match &found {
            Ok(found) => *found == expected,
            Err(_) => expected.0 == "reject",
        };
        if !holds {
            wrong.push(format!("{} {}: {found:?}", text("id"), text("why")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(rows.len(), 50);
}
