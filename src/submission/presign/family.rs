//! Which family a signature belongs to, and the shared parts of reading one.

use super::{Method, Terms, azure, cos, dated, epoch};
use crate::submission::object::query::Parameter;
use crate::submission::object::{AZURE, Family, ObjectUrl, Provider, SCHEMES, Scheme};
use crate::submission::problem::{Code, Fault};

/// A URL carries parts of two kinds of signature.
pub static SIGNATURE_MIXED: Code = Code {
    name: "signature-mixed",
    summary: "a URL carries parameters of two kinds of signature",
    explanation: "Every store expects exactly one kind of signature; with parts of two, one store refuses and another \
picks one of them, so the end of the URL's life is open. This happens when a signed URL is signed again. Sign the \
plain URL once.",
};

/// A signature lacks a part.
pub static SIGNATURE_INCOMPLETE: Code = Code {
    name: "signature-incomplete",
    summary: "a signature lacks a parameter",
    explanation: "A signed URL works only with all of its parameters. One is missing or empty here, most often because \
the URL was cut at an `&` by a shell: put it in single quotes there. Copy the whole URL again.",
};

/// A part of a signature has a wrong form.
pub static SIGNATURE_MALFORMED: Code = Code {
    name: "signature-malformed",
    summary: "a parameter of a signature has a form that the store would refuse",
    explanation: "Each part of a signature has a fixed form: dates in the basic form `20261201T080000Z`, a credential \
with date, region and service, lists of lower-case header names, hexadecimal digits. A store refuses anything else, \
and the end of the URL's life could not be computed. The URL was masked, cut, edited or made by a faulty tool; sign \
it again.",
};

/// A signature's life is outside of what its family allows.
pub static SIGNATURE_LIFETIME: Code = Code {
    name: "signature-lifetime",
    summary: "the life that a signature states is not one that the store accepts",
    explanation: "Signatures of version 4 (AWS, Google, OSS) live a whole number of seconds from 1 to 604800 (seven \
days) after their date. Older ones state the instant of their end as seconds since 1970, a number of ten digits; \
thirteen digits are milliseconds, which stores misread. Sign again with a valid life. For an experiment that takes \
longer than seven days, no such signature can be long enough.",
};

/// A policy decides about the life of a URL.
pub static SIGNATURE_POLICY: Code = Code {
    name: "signature-policy",
    summary: "the end of a URL's life is kept in a policy",
    explanation: "With a stored access policy (Azure, `si` without `se`) or a policy document (`Policy` in CloudFront \
and OBS), the end of the URL's life does not stand in the URL, and a policy on the server can be changed at any time. \
harness must know that the URL outlives its use. Sign a URL that states its own end.",
};

/// The signature is of a kind that the store does not take.
pub static SIGNATURE_FOREIGN: Code = Code {
    name: "signature-foreign",
    summary: "a signature is of a kind that the store does not take",
    explanation: "The host belongs to a known store, and the parameters to a signature that this store does not \
check. Look whether the host was replaced after signing, and sign with the store's own tool or SDK.",
};

/// The parameters of a URL, and what is wrong with them so far.
pub(super) struct Query<'a> {
    pub(super) parameters: &'a [Parameter],
    pub(super) faults: Vec<Fault>,
}

impl<'a> Query<'a> {
    pub(super) fn new(parameters: &'a [Parameter]) -> Self {
        Self { parameters, faults: Vec::new() }
    }

    /// The value of a parameter, where it is there.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|parameter| parameter.name == name).map(|p| p.value.as_str())
    }

    /// The value of a parameter that must be there and not be empty.
    pub(super) fn require(&mut self, name: &str) -> Option<&'a str> {
        let value = self.get(name).filter(|value| !value.is_empty());
        if value.is_none() {
            self.faults.push(Fault::new(
                &SIGNATURE_INCOMPLETE,
                format!("no `{name}` in the query"),
                "all parameters of the signature",
                "copy the whole URL again; in a shell, put it in single quotes",
            ));
        }
        value
    }

    /// Notes that a parameter has a wrong form.
    pub(super) fn malformed(&mut self, name: &str, allowed: &'static str) {
        self.faults.push(Fault::new(
            &SIGNATURE_MALFORMED,
            format!("a `{name}` of another form"),
            allowed,
            "use the URL exactly as it was signed, or sign again",
        ));
    }

    /// Notes that a stated life is outside of what the family allows.
    pub(super) fn lifetime(&mut self, name: &str, allowed: &'static str) {
        self.faults.push(Fault::new(
            &SIGNATURE_LIFETIME,
            format!("a `{name}` that is not such a number"),
            allowed,
            "sign again with a valid life",
        ));
    }

    /// Requires a parameter of hexadecimal digits.
    pub(super) fn require_hexadecimal(&mut self, name: &str) {
        if let Some(value) = self.require(name)
            && !value.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            self.malformed(name, "hexadecimal digits");
        }
    }

    fn has_any(&self, mut names: impl Iterator<Item = &'static str>) -> bool {
        names.any(|name| self.get(name).is_some())
    }
}

/// Finds the one scheme that signed the URL; `None` where there is none or a fault was noted.
pub(super) fn detect(url: &ObjectUrl, query: &mut Query<'_>) -> Option<&'static Scheme> {
    let provider = url.identity().provider();
    let azure = provider == Provider::Azure
        || (provider == Provider::Opaque
            && query.get("sig").is_some()
            && query.get("sv").is_some());
    let schemes: Vec<&Scheme> = SCHEMES.iter().chain(azure.then_some(&AZURE)).collect();
    let marked: Vec<&Scheme> = schemes
        .iter()
        .copied()
        .filter(|scheme| query.has_any(scheme.markers.iter().copied()))
        .collect();
    let [scheme] = marked.as_slice() else {
        if !marked.is_empty() {
            let names: Vec<&str> = marked.iter().map(|scheme| scheme.family.as_str()).collect();
            query.faults.push(mixed(&names.join(" and ")));
        } else if query.has_any(schemes.iter().flat_map(|scheme| scheme.names())) {
            query.faults.push(Fault::new(
                &SIGNATURE_INCOMPLETE,
                "a part of a signature without the key it was made with",
                "all parameters of the signature, or none",
                "copy the whole URL again; in a shell, put it in single quotes",
            ));
        }
        return None;
    };
    let own: Vec<&str> = scheme.names().collect();
    let foreign = schemes
        .iter()
        .flat_map(|other| other.names())
        .find(|name| !own.contains(name) && query.get(name).is_some());
    if let Some(name) = foreign {
        query.faults.push(mixed(&format!("{} and the parameter `{name}`", scheme.family.as_str())));
        return None;
    }
    if !provider.store().families.contains(&scheme.family) {
        query.faults.push(Fault::new(
            &SIGNATURE_FOREIGN,
            format!("a {} on a host of {}", scheme.family.as_str(), provider.as_str()),
            "a signature of the store",
            "sign with the store's own tool or SDK, and do not change the host afterwards",
        ));
        return None;
    }
    Some(scheme)
}

fn mixed(found: &str) -> Fault {
    Fault::new(
        &SIGNATURE_MIXED,
        format!("parameters of {found}"),
        "the parameters of one signature",
        "sign the plain URL once",
    )
}

/// Reads the terms of a signature; `None` where a fault was noted that leaves them open.
pub(super) fn read(scheme: &Scheme, method: Method, query: &mut Query<'_>) -> Option<Terms> {
    match scheme.family {
        Family::SigV4 | Family::SigV4A => dated::read_aws(query),
        Family::GcsV4 => dated::read_google(query),
        Family::OssV4 | Family::OssV2 => dated::read_oss(query),
        Family::SigV2 | Family::OssV1 | Family::GcsV2 | Family::Obs | Family::CloudFront => {
            epoch::read(scheme.family, method, query)
        }
        Family::AzureSas => azure::read(method, query),
        Family::Cos => cos::read(query),
    }
}
