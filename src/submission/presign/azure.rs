//! Azure's shared access signatures: service, account and user-delegation SAS.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::family::{Query, SIGNATURE_POLICY};
use super::{Method, SIGNATURE_METHOD, Terms, time};
use crate::submission::object::Family;
use crate::submission::problem::{Code, Fault};

/// A shared access signature does not allow what is needed.
pub static SIGNATURE_PERMISSION: Code = Code {
    name: "signature-permission",
    summary: "a shared access signature does not allow what is needed",
    explanation: "A shared access signature says in `sp` what it allows and in `sr`, or `ss` and `srt`, on what. \
Reading an input needs `r` on the blob, its container, or (in an account SAS) on objects (`srt` with `o`) of the blob \
service (`ss` with `b`). Writing the result needs `c` (create) or `w` (write); `c` alone is best, as it cannot \
overwrite. Sign again with these permissions.",
};

/// A signature holds from some network addresses only.
pub static SIGNATURE_ADDRESS_BOUND: Code = Code {
    name: "signature-address-bound",
    summary: "a signature holds from some network addresses only",
    explanation: "The signature is limited to a source address or network (`sip` in Azure, `x-oss-ac-source-ip` or \
`x-oss-ac-vpc-id` in OSS). The address with which a pod reaches the store depends on the node it runs on and is not \
known before. Sign again without this limit; a short life and a single object limit the URL well enough.",
};

const TIME: &str =
    "a date such as `2026-12-01`, or date and time in UTC with `Z`, such as `2026-12-01T08:00:00Z`";

/// Reads the terms; the delegation key limits a user-delegation SAS.
pub(super) fn read(method: Method, query: &mut Query<'_>) -> Option<Terms> {
    query.require("sig");
    query.require("sv");
    refuse_address(query, &["sip"]);
    check_scope(query, method);
    check_permissions(query, method);
    if query.get("spr").is_some_and(|protocols| !protocols.split(',').any(|name| name == "https")) {
        query.malformed("spr", "`https` among the protocols");
    }
    let start = read_time(query, "st", false);
    let key_start = read_time(query, "skt", false);
    let delegated = query.get("skoid").is_some();
    let key_end = read_time(query, "ske", delegated);
    if query.get("si").is_some() && query.get("se").is_none() {
        query.faults.push(Fault::new(
            &SIGNATURE_POLICY,
            "a stored access policy (`si`) and no `se`",
            "a signature that states its own end in `se`",
            "sign again with an end in the URL",
        ));
        return None;
    }
    let expires = read_time(query, "se", true)?;
    Some(Terms {
        family: Family::AzureSas,
        starts: start.max(key_start),
        expires: key_end.map_or(expires, |end| end.min(expires)),
        signed_headers: BTreeSet::new(),
    })
}

fn read_time(query: &mut Query<'_>, name: &str, required: bool) -> Option<Timestamp> {
    let text = if required { query.require(name) } else { query.get(name) }?;
    let time = time::azure(text);
    if time.is_none() {
        query.malformed(name, TIME);
    }
    time
}

/// Checks that the signature covers blobs.
fn check_scope(query: &mut Query<'_>, method: Method) {
    let account = query.get("ss").or(query.get("srt"));
    match (query.get("sr"), account) {
        (Some(_), Some(_)) => query.malformed("sr", "either `sr`, or `ss` and `srt`"),
        (None, None) => {
            query.require("sr");
        }
        (Some("b" | "c" | "d"), None) => {}
        (Some("bs" | "bv"), None) => {
            if method == Method::Put {
                query.faults.push(Fault::new(
                    &SIGNATURE_METHOD,
                    "a signature for a snapshot or version, which cannot be written",
                    "a signature for a blob or container",
                    "sign again with `sr=b`",
                ));
            }
        }
        (Some(_), None) => query.malformed("sr", "`b`, `c`, `d`, `bs` or `bv`"),
        (None, Some(_)) => {
            let holds = |query: &mut Query<'_>, name: &str, letter: char| {
                query.require(name).is_some_and(|letters| !letters.contains(letter))
            };
            if holds(query, "ss", 'b') {
                query.faults.push(permission("an account signature without the blob service"));
            }
            if holds(query, "srt", 'o') {
                query.faults.push(permission("an account signature that does not cover objects"));
            }
        }
    }
}

fn check_permissions(query: &mut Query<'_>, method: Method) {
    let permissions = match query.get("sp") {
        // The stored policy may carry the permissions.
        None if query.get("si").is_some() => return,
        _ => query.require("sp"),
    };
    let Some(permissions) = permissions else { return };
    match method {
        Method::Get if !permissions.contains('r') => {
            query.faults.push(permission("a signature without permission to read"));
        }
        Method::Put if !permissions.contains(['c', 'w']) => {
            query.faults.push(permission("a signature without permission to create or write"));
        }
        Method::Get | Method::Put => {}
    }
}

fn permission(found: &'static str) -> Fault {
    Fault::new(
        &SIGNATURE_PERMISSION,
        found,
        "`r` for an input, `c` or `w` for the result, on the blob",
        "sign again with these permissions",
    )
}

/// Refuses signatures that hold from some addresses only.
pub(super) fn refuse_address(query: &mut Query<'_>, names: &[&str]) {
    for name in names {
        if query.get(name).is_some() {
            query.faults.push(Fault::new(
                &SIGNATURE_ADDRESS_BOUND,
                format!("the parameter `{name}`"),
                "a signature that holds from everywhere",
                "sign again without the limit",
            ));
        }
    }
}
