//! The same on every machine and at every time: what differs between two recordings of one thing gets a fixed form.
//!
//! UIDs, digests, generated names, addresses and ports are numbered in the order in which they occur; times are shifted
//! as a whole, so that the Job was created at [`BEGUN`] and everything else keeps its distance from that.

use jiff::Timestamp;
use serde_json::Value;

/// When every Job of a situation was created.
pub(crate) const BEGUN: &str = "2030-01-02T03:04:05Z";

/// The normal form of `objects.json`.
pub(crate) fn form(mut objects: Value) -> Value {
    let created = |object: &Value| object["metadata"]["creationTimestamp"].as_str().map(time);
    let zero = created(&objects["job"]).or_else(|| created(&objects["record"]));
    let zero = zero.unwrap_or_else(|| time(objects["now"].as_str().unwrap()));
    let shift = time(BEGUN).duration_since(zero);
    let namespace = objects["job"]["metadata"]["namespace"].as_str().map(str::to_owned);
    for object in ["job", "record", "workload"] {
        objects.get_mut(object).map(trim);
    }
    let workload = objects["workload"]["metadata"]["name"].as_str().map(str::to_owned);
    objects["pods"].as_array_mut().into_iter().flatten().for_each(trim);
    let events = objects["events"].as_array_mut().into_iter().flatten();
    events.for_each(|event| {
        trim(event);
        event["metadata"].as_object_mut().unwrap().remove("name");
        event["metadata"].as_object_mut().unwrap().remove("uid");
        event["involvedObject"].as_object_mut().unwrap().remove("resourceVersion");
    });
    let name = objects["name"].as_str().unwrap().to_owned();
    let mut text = objects.to_string();
    if let Some(namespace) = namespace {
        text = text.replace(&namespace, "research");
    }
    if let Some(workload) = workload {
        text = text.replace(&workload, "workload");
    }
    let text = renamed(&text, time_at, |old| {
        let moment = time(old);
        // The year 1970 is the runtime's word for never.
        if moment.as_second() <= 0 {
            return old.to_owned();
        }
        moment.checked_add(shift).unwrap().to_string()
    });
    let text = numbered(&text, uid_at, |n| format!("{n:08x}-0000-4000-8000-{n:012x}"));
    let text = numbered(&text, |rest| pod_suffix_at(rest, &name), |n| format!("{name}-pod{n:02}"));
    let text = numbered(&text, |rest| port_at(rest, "127.0.0.1:"), |_| "127.0.0.1:5000".to_owned());
    let text =
        numbered(&text, |rest| port_at(rest, "store.test:"), |_| "store.test:9000".to_owned());
    let text = numbered(&text, |rest| port_at(rest, "10.77.1."), |_| "10.77.1.2".to_owned());
    let text = numbered(&text, folder_at, |_| "/run/node".to_owned());
    let text = numbered(&text, |rest| port_at(rest, "containerd-mount"), |_| "mount".to_owned());
    serde_json::from_str(&digests_numbered(&text)).unwrap()
}

/// Without what is only long or says when something was stored.
fn trim(object: &mut Value) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let Some(metadata) = metadata else { return };
    metadata.remove("managedFields");
    if metadata.contains_key("resourceVersion") {
        metadata.insert("resourceVersion".to_owned(), "1".into());
    }
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Digests of 64 digits, and the names that begin with the first digits of one.
fn digests_numbered(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let number = |n: usize| format!("{n:08x}").repeat(8);
    let mut text = renamed(
        text,
        |rest| hex_at(rest, 64),
        |old| {
            let at = known.iter().position(|one| one == old).unwrap_or_else(|| {
                known.push(old.to_owned());
                known.len() - 1
            });
            number(at + 1)
        },
    );
    for (at, old) in known.iter().enumerate() {
        let new = number(at + 1);
        text = text.replace(&old[..32], &new[..32]);
        text = text.replace(&format!("-{}\"", &old[..10]), &format!("-{}\"", &new[..10]));
        text = text.replace(&format!("-{}\\\"", &old[..10]), &format!("-{}\\\"", &new[..10]));
    }
    text
}

/// Puts a numbered name in the place of each text that is found.
fn numbered(
    text: &str,
    length: impl Fn(&str) -> Option<usize>,
    name: impl Fn(usize) -> String,
) -> String {
    let mut known: Vec<String> = Vec::new();
    renamed(text, length, |old| {
        let at = known.iter().position(|one| one == old).unwrap_or_else(|| {
            known.push(old.to_owned());
            known.len() - 1
        });
        name(at + 1)
    })
}

/// Puts another text in the place of each that is found: `length` says how long it is at the beginning of the rest.
fn renamed(
    text: &str,
    length: impl Fn(&str) -> Option<usize>,
    mut name: impl FnMut(&str) -> String,
) -> String {
    let (mut renamed, mut rest, mut before) = (String::with_capacity(text.len()), text, ' ');
    while let Some(next) = rest.chars().next() {
        let found = length(rest).filter(|_| !before.is_ascii_alphanumeric());
        let taken = &rest[..found.unwrap_or(next.len_utf8())];
        match found {
            Some(_) => renamed.push_str(&name(taken)),
            None => renamed.push_str(taken),
        }
        before = taken.chars().next_back().unwrap_or(' ');
        rest = &rest[taken.len()..];
    }
    renamed
}

fn ends_at(rest: &str, length: usize) -> Option<usize> {
    let next = rest.as_bytes().get(length);
    (!next.is_some_and(u8::is_ascii_alphanumeric)).then_some(length)
}

fn hex_at(rest: &str, digits: usize) -> Option<usize> {
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let found = rest.as_bytes().get(..digits)?.iter().all(is_hex);
    found.then_some(digits).and_then(|digits| ends_at(rest, digits))
}

fn uid_at(rest: &str) -> Option<usize> {
    let text = rest.as_bytes().get(..36)?;
    let fits = text.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    fits.then_some(36).and_then(|length| ends_at(rest, length))
}

fn time_at(rest: &str) -> Option<usize> {
    let text = rest.as_bytes();
    let fits = text
        .get(..19)?
        .iter()
        .zip(b"0000-00-00T00:00:00")
        .all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form });
    let zone = rest.get(19..)?.find('Z').filter(|zone| *zone <= 10)?;
    fits.then_some(20 + zone)
}

fn pod_suffix_at(rest: &str, job: &str) -> Option<usize> {
    let suffix = rest.strip_prefix(job)?.strip_prefix('-')?;
    let fits = suffix.as_bytes().get(..5)?.iter().all(u8::is_ascii_alphanumeric);
    fits.then_some(job.len() + 6).and_then(|length| ends_at(rest, length))
}

/// The folder of the tests' node.
fn folder_at(rest: &str) -> Option<usize> {
    let end = rest.find("/harness-test-node-").filter(|_| rest.starts_with('/'))?;
    let name = &rest[end + 1..];
    let is_plain = !rest[..end].contains([' ', '"', '\\']);
    is_plain.then(|| end + 1 + name.find(['/', '"', ' ', '\\']).unwrap_or(name.len()))
}

fn port_at(rest: &str, address: &str) -> Option<usize> {
    let digits = rest.strip_prefix(address)?.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(address.len() + digits)
}
