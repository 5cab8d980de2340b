//! The headers of a PUT: what the submission declares, what the signature covers, what is sent.

use std::collections::BTreeMap;

use super::family::{Query, SIGNATURE_MALFORMED};
use super::{Header, Method, Signature, Terms, guard};
use crate::submission::headers::INVALID_HEADER;
use crate::submission::object::Family;
use crate::submission::problem::{Code, Fault};

/// A signed header has no declared value.
pub static HEADER_UNDECLARED: Code = Code {
    name: "header-undeclared",
    summary: "a header was signed into a URL, and its value is not known",
    explanation: "The signature covers this header, so the request must carry it with exactly the value that was \
signed, which the URL does not show. For the result's URL, declare it in `result_put_headers`, or sign without it. A \
signed Content-Length fixes the size of the result before it exists: sign without it. Inputs are read without extra \
headers: sign them with `host` only.",
};

/// A declared header must be signed and is not.
pub static HEADER_UNSIGNED: Code = Code {
    name: "header-unsigned",
    summary: "a declared header is not among those of the signature",
    explanation: "Stores refuse a request with a header of their own kind (`x-amz-`, `x-goog-`) that the signature does \
not cover. Sign again with the header, or leave it out of the declaration; where the signer moved it into the query, \
it takes effect from there and must not be sent again.",
};

/// A header was signed into an input's URL and is not sent; accepted.
pub static HEADER_UNSENT: Code = Code {
    name: "header-unsent",
    summary: "an input's URL was signed with a header that is not sent",
    explanation: "OSS lists further headers in `x-oss-additional-headers`. Inputs are read without extra headers. If \
the store refuses the download with a signature error, sign with `host` only.",
};

/// A checksum of the body stands in a PUT URL; accepted.
pub static CHECKSUM_IN_QUERY: Code = Code {
    name: "checksum-in-query",
    summary: "a checksum was signed into the result's URL before the result exists",
    explanation: "The AWS SDK for JavaScript adds `x-amz-checksum-crc32` of an empty body to PUT URLs. Amazon S3 ignores \
it there, other stores may refuse the upload because the checksum does not match. Create the client with \
`requestChecksumCalculation: \"WHEN_REQUIRED\"` and sign again.",
};

/// Headers that harness or the HTTP library sets, or that contradict a signed URL.
const OWN: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "expect",
    "host",
    "if-match",
    "keep-alive",
    "proxy-authorization",
    "range",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checks names and values; returns the headers by lower-case name.
pub(super) fn check_declared(
    declared: &BTreeMap<String, String>,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, String> {
    let mut headers = BTreeMap::new();
    for (name, value) in declared {
        let lower = name.to_ascii_lowercase();
        if let Some(found) = wrong_header(&lower, value) {
            faults.push(Fault::new(
                &INVALID_HEADER,
                found,
                "headers that were signed into the URL, each once, with printable values",
                "declare only what was signed, and sign without what cannot be declared",
            ));
        }
        if headers.insert(lower.clone(), value.clone()).is_some() {
            faults.push(Fault::new(
                &INVALID_HEADER,
                format!("the header {lower:?} twice, in different letter case"),
                "each header once",
                "leave one of them out",
            ));
        }
    }
    guard::check_values(&headers, faults);
    headers
}

fn wrong_header(lower: &str, value: &str) -> Option<String> {
    let token =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if lower.is_empty() || lower.len() > 128 || !lower.bytes().all(token) {
        return Some(
            "a header name with other characters than letters, digits, `-` and `_`".into(),
        );
    }
    if OWN.contains(&lower) {
        return Some(format!("the header `{lower}`, which is not for declaring"));
    }
    let changes_operation =
        ["copy-source", "rename-source", "write-offset-bytes", "symlink-target"]
            .iter()
            .any(|part| lower.contains(part));
    if changes_operation {
        return Some(format!("the header `{lower}`, which is not a plain write"));
    }
    if lower == "x-ms-blob-type" && value != "BlockBlob" {
        return Some("an `x-ms-blob-type` other than `BlockBlob`".into());
    }
    if lower == "x-goog-resumable" {
        return Some(
            "the header `x-goog-resumable`, which starts an upload instead of doing it".into(),
        );
    }
    let printable = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if !printable || value.trim() != value || value.is_empty() || value.len() > 4096 {
        return Some(format!(
            "a value of `{lower}` that is empty, too long, not printable ASCII or has spaces around it"
        ));
    }
    None
}

/// Holds the signed headers against the declared ones.
pub(super) fn check_signed(
    terms: &Terms,
    method: Method,
    guard: Option<&Header>,
    declared: &BTreeMap<String, String>,
    faults: &mut Vec<Fault>,
    notes: &mut Vec<Fault>,
) {
    let oss = matches!(terms.family, Family::OssV2 | Family::OssV4);
    for name in &terms.signed_headers {
        let known = name == "host"
            || guard.is_some_and(|guard| guard.name == *name)
            || declared.contains_key(name);
        if known {
            continue;
        }
        let fault = |code, remedy: &'static str| {
            let found = format!("`{name}` among the signed headers, without a known value");
            Fault::new(code, found, "signed headers whose values are declared", remedy)
        };
        match method {
            Method::Get if oss => notes.push(fault(&HEADER_UNSENT, "sign with `host` only")),
            Method::Get => faults.push(fault(&HEADER_UNDECLARED, "sign with `host` only")),
            Method::Put if name == "content-length" => faults.push(fault(
                &HEADER_UNDECLARED,
                "sign without `content-length`; the size of the result is not known before",
            )),
            Method::Put => faults.push(fault(
                &HEADER_UNDECLARED,
                "declare its value in `result_put_headers`, or sign without it",
            )),
        }
    }
    let must_be_signed: &[&str] = match terms.family {
        Family::SigV4 | Family::SigV4A => &["x-amz-"],
        Family::GcsV4 => &["x-goog-", "x-amz-"],
        _ => &[],
    };
    for name in declared.keys().filter(|name| must_be_signed.iter().any(|p| name.starts_with(p))) {
        if !terms.signed_headers.contains(name) {
            faults.push(Fault::new(
                &HEADER_UNSIGNED,
                format!("`{name}` declared and not among the signed headers"),
                "headers that were signed",
                "sign again with the header, or leave it out of the declaration",
            ));
        }
    }
}

/// Looks at the headers that a signer moved into the query.
pub(super) fn check_query(query: &mut Query<'_>, method: Method, notes: &mut Vec<Fault>) {
    if method == Method::Get {
        return;
    }
    let mut fixed_body = false;
    for parameter in query.parameters {
        let name = parameter.name.to_ascii_lowercase();
        if name.starts_with("x-amz-checksum-") || name == "x-amz-sdk-checksum-algorithm" {
            notes.push(Fault::new(
                &CHECKSUM_IN_QUERY,
                format!("`{name}` in the query"),
                "a URL without a checksum of the body",
                "sign without checksums if the upload is refused",
            ));
        }
        fixed_body |= name == "x-amz-content-sha256" && *parameter.value != *"UNSIGNED-PAYLOAD";
    }
    if fixed_body {
        query.faults.push(Fault::new(
            &SIGNATURE_MALFORMED,
            "an `x-amz-content-sha256` of a body that does not exist yet",
            "`UNSIGNED-PAYLOAD`, or no such parameter",
            "sign again without a body",
        ));
    }
}

/// The exact headers that a PUT must carry, by lower-case name: the guard, Azure's blob type, the declared ones.
pub fn headers_to_send(
    signature: &Signature,
    declared: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut headers: BTreeMap<String, String> =
        declared.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
    if let Some(guard) = &signature.guard {
        headers.insert(guard.name.clone(), guard.value.clone());
        if signature.family == Family::AzureSas {
            headers.insert("x-ms-blob-type".to_owned(), "BlockBlob".to_owned());
        }
    }
    headers
}
