//! Shorthand for the tables of the stores.

use super::{Comparison, EndpointAliases, ObjectUrl, compare};

/// The identity as one line: provider, space, bucket, key.
pub(crate) fn identity(raw: &str) -> String {
    let url = ObjectUrl::parse(raw).unwrap_or_else(|fault| panic!("{raw}: {fault:?}"));
    let identity = url.identity();
    format!(
        "{} {} {} {}",
        identity.provider().as_str(),
        identity.space(),
        identity.bucket(),
        identity.key()
    )
}

/// The code with which a URL is refused.
pub(crate) fn refused(raw: &str) -> &'static str {
    match ObjectUrl::parse(raw) {
        Ok(url) => panic!("{raw} is accepted as {:?}", url.identity()),
        Err(fault) => fault.code.name,
    }
}

/// The codes of what is noted about a URL that is accepted.
pub(crate) fn noted(raw: &str) -> Vec<&'static str> {
    let url = ObjectUrl::parse(raw).unwrap_or_else(|fault| panic!("{raw}: {fault:?}"));
    url.notes().iter().map(|note| note.code.name).collect()
}

fn compared(left: &str, right: &str) -> Comparison {
    let parse = |raw| ObjectUrl::parse(raw).unwrap_or_else(|fault| panic!("{raw}: {fault:?}"));
    let (left, right) = (parse(left), parse(right));
    let result = compare(&left, &right, &EndpointAliases::default());
    assert_eq!(compare(&right, &left, &EndpointAliases::default()), result, "not symmetric");
    result
}

pub(crate) fn same(left: &str, right: &str) -> bool {
    compared(left, right) == Comparison::Same
}

pub(crate) fn differ(left: &str, right: &str) -> bool {
    compared(left, right) == Comparison::Different
}

pub(crate) fn ambiguous(left: &str, right: &str) -> bool {
    matches!(compared(left, right), Comparison::Ambiguous(_))
}
