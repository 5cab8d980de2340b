//! Temporary credentials: a URL dies with the credential it was signed with, whatever end it states.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use zeroize::Zeroizing;

use super::Terms;
use super::family::Query;
use crate::submission::object::{ObjectUrl, Provider};
use crate::submission::problem::{Code, Fault};

/// A URL was signed with a temporary credential whose end is not known.
pub static CREDENTIALS_END_UNKNOWN: Code = Code {
    name: "credentials-end-unknown",
    summary: "a URL was signed with temporary credentials, and their end is not declared",
    explanation: "A URL that was signed with temporary credentials (a session token, a role, an SSO login) stops \
working when the credentials end, even if it states a longer life, and the URL does not show when that is. Write the \
end that the credentials came with (`Expiration` in the answer of AWS STS, for instance) into \
`credentials_expire_at`, or sign with a permanent key. Typical ends: one to six hours for a role or instance, at \
most 36 hours for a session.",
};

/// Parameters that carry a session token.
const TOKENS: &[&str] = &[
    "X-Amz-Security-Token",
    "X-Amz-S3session-Token",
    "x-amz-security-token",
    "x-oss-security-token",
    "security-token",
    "x-cos-security-token",
    "x-obs-security-token",
];

/// Parameters that begin with the key's name, and the beginnings of temporary keys.
const KEYS: &[(&str, &str)] = &[
    ("X-Amz-Credential", "ASIA"),
    ("AWSAccessKeyId", "ASIA"),
    ("x-oss-credential", "STS."),
    ("x-oss-access-key-id", "STS."),
    ("OSSAccessKeyId", "STS."),
];

/// What shows that a credential is temporary: its token, where the URL carries it.
pub(super) struct Token<'a>(Option<&'a str>);

/// Finds the sign of a temporary credential in the URL or in the headers that go with it.
pub(super) fn find<'a>(
    query: &Query<'a>,
    terms: Option<&Terms>,
    declared: &BTreeMap<String, String>,
) -> Option<Token<'a>> {
    if let Some(token) = TOKENS.iter().find_map(|name| query.get(name)) {
        return Some(Token(Some(token)));
    }
    let key =
        KEYS.iter().any(|(name, start)| query.get(name).is_some_and(|key| key.starts_with(start)));
    let is_token = |name: &String| name.ends_with("-security-token");
    let header = declared.keys().any(is_token)
        || terms.is_some_and(|terms| terms.signed_headers.iter().any(is_token));
    (key || header).then_some(Token(None))
}

/// The instant at which the credential ends, as far as the token and the submission tell.
pub(super) fn end(
    token: &Token<'_>,
    url: &ObjectUrl,
    declared: Option<Timestamp>,
    faults: &mut Vec<Fault>,
) -> Option<Timestamp> {
    // MinIO's tokens are JSON Web Tokens; those of the public clouds are opaque.
    let stated = match url.identity().provider() {
        Provider::Opaque => token.0.and_then(web_token_end),
        _ => None,
    };
    let end = match (stated, declared) {
        (Some(stated), Some(declared)) => Some(stated.min(declared)),
        (one, other) => one.or(other),
    };
    if end.is_none() {
        faults.push(Fault::new(
            &CREDENTIALS_END_UNKNOWN,
            "a signature made with temporary credentials",
            "`credentials_expire_at`, the instant at which they end",
            "declare the end that the credentials came with, or sign with a permanent key",
        ));
    }
    end
}

/// The `exp` of a JSON Web Token (RFC 7519), unverified: the store alone can verify it, and a lie would only shorten or
/// lengthen what the signer states about the own URL.
fn web_token_end(token: &str) -> Option<Timestamp> {
    let mut parts = token.split('.');
    let (_, payload, _, None) = (parts.next()?, parts.next()?, parts.next()?, parts.next()) else {
        return None;
    };
    let payload = Zeroizing::new(URL_SAFE_NO_PAD.decode(payload).ok()?);
    let claims: serde_json::Value = serde_json::from_slice(&payload).ok()?;
    Timestamp::from_second(claims.get("exp")?.as_i64()?).ok()
}
