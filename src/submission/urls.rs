//! What the URLs of one submission must be to each other: pairs complete, the result apart from every
//! input, the attempt visible in the result's path.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::UrlField;
use super::excerpt::{excerpt, excerpts_apart};
use super::name::AttemptId;
use super::object::{self, Comparison, EndpointAliases, ObjectUrl};
use super::presign::{self, Signed};
use super::problem::{Code, Fault};

/// The result object is an input.
pub(super) static RESULT_IS_INPUT: Code = Code {
    name: "result-is-input",
    summary: "the result object is one of the inputs",
    explanation: "The result is created and never overwritten, so it cannot be an object that exists already as an input. \
Two URLs name one object whatever their spelling: host style, region, endpoint and percent-encoding do not matter. \
Give the result a key of its own that holds the attempt's name.",
};

/// The result object may be an input.
pub(super) static RESULT_MAY_BE_INPUT: Code = Code {
    name: "result-may-be-input",
    summary: "it cannot be known whether the result object is one of the inputs",
    explanation: "From the URLs alone the two may be the same object: a host of one's own may stand in front of the other's bucket, \
or the store may fold letter case, slashes or Unicode forms. What cannot be told apart is refused. Give the result a key that \
differs in more than that (the attempt's name in it is enough), or use the provider's own host name in both.",
};

/// The result's path does not hold the attempt's name.
pub(super) static ATTEMPT_NOT_IN_PATH: Code = Code {
    name: "attempt-not-in-result-path",
    summary: "the result's path does not hold the attempt's name",
    explanation: "One whole segment of the result's path must be the `attempt_id`, `attempt=` and the `attempt_id`, or the \
`attempt_id` with an extension such as `.tar.gz`. So two attempts can never be pointed at one object by a forgotten edit.",
};

/// The read-back URL addresses another object.
pub(super) static READBACK_DIFFERS: Code = Code {
    name: "readback-differs",
    summary: "the read-back URL names another object than the result",
    explanation: "`result_readback_url` is a GET URL of the very object that `result_put_url` creates. The run asks it whether the \
result exists already, so another object would give a wrong answer.",
};

/// A parameter of the result's URL may select the object, or may be a token.
pub(super) static RESULT_SELECTED_BY_QUERY: Code = Code {
    name: "result-selected-by-query",
    summary: "a parameter of the result's URL may select the object",
    explanation: "On a host that is no known store's, a parameter that belongs to no known signature may select the object or may be a \
token that changes with every signing. If it changed, the same experiment would look like another one and could run twice. Use the \
store's own endpoint for the result, or a URL whose path alone names the object.",
};

/// Every code that this file can report.
pub(super) static CODES: &[&Code] = &[
    &RESULT_IS_INPUT,
    &RESULT_MAY_BE_INPUT,
    &ATTEMPT_NOT_IN_PATH,
    &READBACK_DIFFERS,
    &RESULT_SELECTED_BY_QUERY,
];

/// The longest extension of `ID.<ext>`, such as `tar.zst`.
const MAX_EXTENSION: usize = 16;

/// Reads a URL's signature as the field needs it.
pub(super) fn inspect(
    field: UrlField,
    url: &ObjectUrl,
    put_headers: &BTreeMap<String, String>,
    credentials_expire_at: Option<Timestamp>,
) -> Result<Signed, Vec<Fault>> {
    let none = BTreeMap::new();
    let declared = if field == UrlField::ResultPut { put_headers } else { &none };
    presign::inspect(url, field.method(), declared, credentials_expire_at)
}

/// Compares the result with every input.
pub(super) fn check_distinct(
    urls: &[(UrlField, &ObjectUrl)],
    aliases: &EndpointAliases,
) -> Vec<(UrlField, Fault)> {
    let Some((_, result)) = urls.iter().find(|(field, _)| *field == UrlField::ResultPut) else {
        return Vec::new();
    };
    let inputs = urls.iter().filter(|(field, _)| field.is_input());
    inputs
        .filter_map(|(field, input)| {
            let fault = match object::compare(result, input, aliases) {
                Comparison::Different => return None,
                Comparison::Same => Fault::new(
                    &RESULT_IS_INPUT,
                    format!("the same object as `{}`", field.name()),
                    "an object that is no input",
                    "give the result a key of its own",
                ),
                Comparison::Ambiguous(reason) => Fault::new(
                    &RESULT_MAY_BE_INPUT,
                    format!("perhaps the same object as `{}`: {}", field.name(), reason.found),
                    "an object that is certainly no input",
                    reason.remedy,
                ),
            };
            Some((UrlField::ResultPut, fault))
        })
        .collect()
}

/// Checks that the read-back URL and the PUT URL name one object, and that the read-back URL selects no version.
pub(super) fn check_result(urls: &[(UrlField, &ObjectUrl)]) -> Vec<(UrlField, Fault)> {
    let find = |wanted| urls.iter().find(|(field, _)| *field == wanted).map(|(_, url)| *url);
    let mut faults = Vec::new();
    // The PUT URL's own version is refused where its signature is read.
    if find(UrlField::ResultReadback).is_some_and(|url| url.version().is_some()) {
        faults.push((UrlField::ResultReadback, presign::version_of_result()));
    }
    if find(UrlField::ResultPut).is_some_and(ObjectUrl::is_selected_by_query) {
        let fault = Fault::new(
            &RESULT_SELECTED_BY_QUERY,
            "a parameter that belongs to no known signature",
            "a URL of the result whose path alone names the object",
            "use the store's own endpoint and signature for the result",
        );
        faults.push((UrlField::ResultPut, fault));
    }
    if let (Some(put), Some(readback)) = (find(UrlField::ResultPut), find(UrlField::ResultReadback))
        && object::compare(put, readback, &EndpointAliases::default()) != Comparison::Same
    {
        let (found, allowed) = excerpts_apart(&readback.without_query(), &put.without_query());
        let fault = Fault::new(
            &READBACK_DIFFERS,
            found,
            format!("the object {allowed}"),
            "sign a GET URL of the result object",
        );
        faults.push((UrlField::ResultReadback, fault));
    }
    faults
}

/// Checks that one whole segment of the result's path names the attempt.
pub(super) fn check_attempt_in_path(result: &ObjectUrl, attempt: &AttemptId) -> Result<(), Fault> {
    let path = result.decoded_path();
    if path.split('/').any(|segment| names_attempt(segment, attempt.as_str())) {
        return Ok(());
    }
    Err(Fault::new(
        &ATTEMPT_NOT_IN_PATH,
        format!("no segment for `{attempt}` in {}", excerpt(path)),
        format!("a whole segment `{attempt}`, `attempt={attempt}` or `{attempt}.EXTENSION`"),
        "put the attempt's name into the result's key",
    ))
}

fn names_attempt(segment: &str, attempt: &str) -> bool {
    let segment = segment.strip_prefix("attempt=").unwrap_or(segment);
    let Some(rest) = segment.strip_prefix(attempt) else { return false };
    let is_extension = |rest: &str| {
        rest.strip_prefix('.').is_some_and(|extension| {
            extension.len() <= MAX_EXTENSION
                && extension
                    .split('.')
                    .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric()))
        })
    };
    rest.is_empty() || is_extension(rest)
}

#[cfg(test)]
mod tests {
    use super::names_attempt;

    #[test]
    fn whole_segments_only() {
        for good in ["a-1", "attempt=a-1", "a-1.tar", "a-1.tar.zst", "attempt=a-1.zip"] {
            assert!(names_attempt(good, "a-1"), "{good}");
        }
        for wrong in [
            "",
            "a-12",
            "xa-1",
            "a-1x",
            "a-1.",
            "a-1..gz",
            "a-1.tar-2",
            "attempt=",
            "A-1",
            "a-1.aaaaaaaaaaaaaaaaa",
        ] {
            assert!(!names_attempt(wrong, "a-1"), "{wrong}");
        }
    }
}
