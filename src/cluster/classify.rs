//! From the bytes of an answer to its [`Outcome`]; pure.
//!
//! Only two kinds of answers are believed: a success that holds what was asked for, and a refusal in
//! the API server's own form. Everything else is unknown.

use std::time::Duration;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::lean::Lean;
use super::outcome::{Answer, Cause, Details, NotSent, Outcome, Status, Unknown, Why};
use super::request::{Expected, Method, Request, Resource};
use super::text::bounded;

/// An HTTP answer, read completely.
#[derive(Clone)]
pub struct RawAnswer {
    /// The HTTP status.
    pub status: u16,
    /// In lower case, without parameters; empty where there is none.
    pub media_type: String,
    /// `Retry-After`.
    pub retry_after: Option<Duration>,
    /// `Date`.
    pub date: Option<Timestamp>,
    /// The texts of `Warning`.
    pub warnings: Vec<String>,
    /// The body, of bounded length.
    pub body: Vec<u8>,
}

/// Bytes kept of a server's sentence. An update error of a Job dumps its whole template.
const LONGEST_MESSAGE: usize = 4096;

/// Bytes kept of a name, a reason or a field.
const LONGEST_WORD: usize = 512;

/// More causes than these are dropped.
const MOST_CAUSES: usize = 32;

/// What stands in place of a sentence that could repeat a Secret.
pub const WITHHELD: &str = "(withheld, for it may repeat the Secret that was sent)";

/// Says how a request ended that was answered like this.
pub fn classify(request: &Request, mut answer: RawAnswer) -> Outcome {
    if request.is_confidential() {
        // A webhook writes these.
        answer.warnings.fill(WITHHELD.to_owned());
    }
    match answer.status {
        200..=299 => success(request, answer),
        400..=499 => refusal(request, answer),
        500..=599 => failure(request, &answer),
        // A redirect is not followed: the API server never sends one for these paths.
        _ => unknown(foreign(&answer), None, None),
    }
}

fn unknown(why: Why, retry_after: Option<Duration>, date: Option<Timestamp>) -> Outcome {
    Outcome::Unknown(Unknown { why, retry_after, date })
}

fn foreign(answer: &RawAnswer) -> Why {
    Why::Foreign { status: answer.status, media_type: answer.media_type.clone() }
}

fn read_json<T: DeserializeOwned>(answer: &RawAnswer) -> Result<T, Why> {
    if answer.media_type != "application/json" {
        return Err(foreign(answer));
    }
    serde_json::from_slice(&answer.body)
        .map_err(|error| Why::Unreadable { status: answer.status, reason: error.to_string() })
}

/// A server names the output of a container plain text; a login page is HTML.
fn read_text(answer: &RawAnswer) -> Result<Value, Why> {
    if answer.media_type != "text/plain" {
        return Err(foreign(answer));
    }
    Ok(Value::from(String::from_utf8_lossy(&answer.body)))
}

fn success(request: &Request, answer: RawAnswer) -> Outcome {
    let read = match &request.expected {
        Expected::Log => read_text(&answer),
        Expected::List(_) => read_json(&answer).map(|Lean(list)| list),
        _ => read_json(&answer),
    };
    let body = match read {
        Ok(body) => body,
        Err(why) => return unknown(why, answer.retry_after, None),
    };
    // An API server answers a create with 201 and nothing else; a 200 comes from something in between, and
    // does not say that this very request made the object.
    if request.method == Method::Post && answer.status != 201 {
        return unknown(foreign(&answer), answer.retry_after, None);
    }
    if !is_expected(&request.expected, &body) {
        let why = Why::Unexpected {
            expected: describe_expected(&request.expected),
            found: describe_found(&body),
        };
        return unknown(why, answer.retry_after, None);
    }
    Outcome::Done(Answer {
        status: answer.status,
        body,
        date: answer.date,
        warnings: answer.warnings,
    })
}

fn refusal(request: &Request, answer: RawAnswer) -> Outcome {
    let body: Value = match read_json(&answer) {
        Ok(body) => body,
        Err(why) => return unknown(why, answer.retry_after, None),
    };
    let Some(mut status) = read_status(&body).filter(|status| status.code == answer.status) else {
        return unknown(foreign(&answer), answer.retry_after, None);
    };
    // Clients of Kubernetes mark so what they made up from an answer that was no `Status`.
    if status.details.causes.iter().any(|cause| cause.reason == "UnexpectedServerResponse") {
        return unknown(foreign(&answer), answer.retry_after, None);
    }
    if request.is_confidential() {
        withhold(&mut status);
    }
    status.retry_after = answer.retry_after.or(status.retry_after);
    status.date = answer.date;
    status.warnings = answer.warnings;
    Outcome::Refused(status)
}

fn failure(request: &Request, answer: &RawAnswer) -> Outcome {
    if let Some((phrase, text)) = unreachable_server(answer) {
        // Whoever says so may be something before the API server that repeats what was sent.
        let message = if request.is_confidential() { phrase.to_owned() } else { text };
        let not_sent = NotSent::ServerUnreachable { message };
        return unknown(Why::NotSent(not_sent), None, None);
    }
    let status = serde_json::from_slice(&answer.body).ok().and_then(|body| read_status(&body));
    // The date of any other answer may be kubectl's own, and so this machine's.
    let date = if status.is_some() { answer.date } else { None };
    let retry_after = answer.retry_after.or(status.as_ref().and_then(|status| status.retry_after));
    let webhook = status.as_ref().and_then(|status| failed_webhook(&status.message));
    let pointer = webhook.map(|name| {
        format!("the admission webhook {name:?} cannot be called; have it brought back, or its `failurePolicy` looked at")
    });
    let message = match status {
        _ if request.is_confidential() => pointer.unwrap_or_else(|| WITHHELD.to_owned()),
        Some(status) if pointer.is_some() => {
            format!("{} ({})", pointer.unwrap_or_default(), status.message)
        }
        Some(status) => status.message,
        None if answer.media_type == "text/plain" => plain_text(answer),
        None => String::new(),
    };
    unknown(Why::ServerError { status: answer.status, message }, retry_after, date)
}

/// The webhook that the API server could not call, by its name, which is a DNS name and nothing else
/// (`ErrCallingWebhook` in <https://github.com/kubernetes/apiserver/blob/master/pkg/util/webhook/error.go>).
fn failed_webhook(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("failed calling webhook \"")?;
    let (name, _) = rest.split_once('"')?;
    let is_dns_name = (1..=253).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.'));
    is_dns_name.then(|| name.to_owned())
}

/// kubectl's own sentence where it reached no server; `kubectl proxy` answers 500 with the error text
/// of Go then. The list is short on purpose: an `EOF` or a reset may come after the server took the
/// request.
///
/// Gives the phrase that says so, and the whole text.
fn unreachable_server(answer: &RawAnswer) -> Option<(&'static str, String)> {
    const BEFORE_SENDING: [&str; 9] = [
        ": connect: connection refused",
        ": connect: no route to host",
        ": connect: network is unreachable",
        ": no such host",
        "x509: ",
        "tls: failed to verify certificate",
        "tls: first record does not look like a TLS handshake",
        "tls: handshake failure",
        "getting credentials: ",
    ];
    if answer.status != 500 || answer.media_type != "text/plain" {
        return None;
    }
    let text = plain_text(answer);
    let phrase = BEFORE_SENDING.into_iter().find(|phrase| text.contains(phrase))?;
    Some((phrase.trim_matches([':', ' ']), text))
}

fn plain_text(answer: &RawAnswer) -> String {
    bounded(String::from_utf8_lossy(&answer.body).trim(), LONGEST_MESSAGE)
}

/// Keeps of a refused Secret only sentences that the API server makes from names: it repeats a body
/// that it cannot read, plain or as hexadecimal digits, and a webhook or a policy may say anything.
fn withhold(status: &mut Status) {
    let made_from_names = match status.reason.as_str() {
        "AlreadyExists"
        | "NotFound"
        | "Unauthorized"
        | "TooManyRequests"
        | "RequestEntityTooLarge" => !status.message.contains("admission webhook"),
        "Forbidden" => ["is forbidden: User ", "is forbidden: exceeded quota: "]
            .iter()
            .any(|phrase| status.message.contains(phrase)),
        _ => false,
    };
    if !made_from_names {
        WITHHELD.clone_into(&mut status.message);
    }
    for cause in &mut status.details.causes {
        WITHHELD.clone_into(&mut cause.message);
    }
}

fn read_status(body: &Value) -> Option<Status> {
    if text(body, "kind") != "Status" || text(body, "apiVersion") != "v1" {
        return None;
    }
    if text(body, "status") == "Success" {
        return None;
    }
    let details = &body["details"];
    let causes = details["causes"].as_array().map_or(&[][..], Vec::as_slice);
    Some(Status {
        code: body["code"].as_u64().and_then(|code| u16::try_from(code).ok())?,
        reason: word(body, "reason"),
        message: bounded(text(body, "message"), LONGEST_MESSAGE),
        details: Details {
            name: word(details, "name"),
            group: word(details, "group"),
            kind: word(details, "kind"),
            uid: word(details, "uid"),
            causes: causes.iter().take(MOST_CAUSES).map(read_cause).collect(),
        },
        retry_after: details["retryAfterSeconds"]
            .as_u64()
            .filter(|seconds| *seconds > 0)
            .and_then(|seconds| super::headers::retry_after(&seconds.to_string())),
        date: None,
        warnings: Vec::new(),
    })
}

fn read_cause(cause: &Value) -> Cause {
    Cause {
        reason: word(cause, "reason"),
        message: bounded(text(cause, "message"), LONGEST_MESSAGE),
        field: word(cause, "field"),
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

fn word(value: &Value, field: &str) -> String {
    bounded(text(value, field), LONGEST_WORD)
}

fn is_expected(expected: &Expected, body: &Value) -> bool {
    match expected {
        Expected::Object { resource, name, namespace } => {
            is_object(body, *resource, name, namespace.as_deref())
        }
        Expected::Nameless(resource) => is_kind(body, *resource, ""),
        Expected::List(resource) => is_kind(body, *resource, "List") && body["items"].is_array(),
        Expected::Log => body.is_string(),
        Expected::Deleted { resource, name, namespace } => {
            is_object(body, *resource, name, namespace.as_deref())
                || is_end_of(body, *resource, name)
        }
    }
}

fn is_kind(body: &Value, resource: Resource, suffix: &str) -> bool {
    text(body, "apiVersion") == resource.api_version()
        && text(body, "kind").strip_suffix(suffix) == Some(resource.kind())
}

fn is_object(body: &Value, resource: Resource, name: &str, namespace: Option<&str>) -> bool {
    let metadata = &body["metadata"];
    is_kind(body, resource, "")
        && text(metadata, "name") == name
        && metadata["namespace"].as_str() == namespace
}

fn is_end_of(body: &Value, resource: Resource, name: &str) -> bool {
    let details = &body["details"];
    text(body, "kind") == "Status"
        && text(body, "apiVersion") == "v1"
        && text(body, "status") == "Success"
        && text(details, "kind") == resource.plural()
        && text(details, "name") == name
}

fn describe_expected(expected: &Expected) -> String {
    match expected {
        Expected::Object { resource, name, .. } => format!("the {} {name:?}", resource.kind()),
        Expected::Nameless(resource) => format!("a {}", resource.kind()),
        Expected::List(resource) => format!("a list of {}", resource.plural()),
        Expected::Log => "the output of a container".to_owned(),
        Expected::Deleted { resource, name, .. } => {
            format!("the end of the {} {name:?}", resource.kind())
        }
    }
}

fn describe_found(body: &Value) -> String {
    let kind = word(body, "kind");
    if kind.is_empty() {
        return "something without a kind".to_owned();
    }
    let metadata = &body["metadata"];
    let version = word(body, "apiVersion");
    match (text(metadata, "namespace"), text(metadata, "name")) {
        (_, "") => format!("a {kind} of {version:?}"),
        ("", name) => format!("the {kind} {:?} of {version:?}", bounded(name, LONGEST_WORD)),
        (namespace, name) => format!(
            "the {kind} {:?} of {version:?} in the namespace {:?}",
            bounded(name, LONGEST_WORD),
            bounded(namespace, LONGEST_WORD)
        ),
    }
}

#[cfg(test)]
mod tests;
