//! Tencent COS signatures: two windows of time, of which the smaller part counts.

use jiff::Timestamp;

use super::family::Query;
use super::{Terms, dated, time};
use crate::submission::object::Family;

const WINDOW: &str =
    "start and end as seconds since 1970 with `;` between them, the start before the end";

/// Reads the windows and the list of signed headers.
pub(super) fn read(query: &mut Query<'_>) -> Option<Terms> {
    if query.require("q-sign-algorithm")? != "sha1" {
        query.malformed("q-sign-algorithm", "`sha1`");
    }
    query.require("q-ak");
    query.require_hexadecimal("q-signature");
    let signature_window = read_window(query, "q-sign-time");
    let key_window = read_window(query, "q-key-time");
    let signed_headers = dated::read_header_list(query, "q-header-list", false);
    let ((sign_start, sign_end), (key_start, key_end)) = (signature_window?, key_window?);
    let (starts, expires) = (sign_start.max(key_start), sign_end.min(key_end));
    if starts >= expires {
        query.malformed("q-key-time", "a window that overlaps `q-sign-time`");
        return None;
    }
    let family = Family::Cos;
    Some(Terms { family, starts: Some(starts), expires, signed_headers: signed_headers? })
}

fn read_window(query: &mut Query<'_>, name: &str) -> Option<(Timestamp, Timestamp)> {
    let text = query.require(name)?;
    let window = text
        .split_once(';')
        .and_then(|(start, end)| Some((time::epoch(start)?, time::epoch(end)?)))
        .filter(|(start, end)| start < end);
    if window.is_none() {
        query.malformed(name, WINDOW);
    }
    window
}
