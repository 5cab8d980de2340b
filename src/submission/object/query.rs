//! The query of a URL, sorted into what authenticates, what selects a version, what is harmless and what may
//! select another object.
//!
//! Values are secrets: they live in zeroized memory and no message shows one.

use zeroize::Zeroizing;

use super::authentication::{AZURE, SCHEMES};
use super::encoding;
use super::path::URL_PERCENT_ENCODING;
use crate::submission::problem::{Code, Fault};

/// A parameter occurs twice.
pub static URL_PARAMETER_REPEATED: Code = Code {
    name: "url-parameter-repeated",
    summary: "a query parameter occurs twice",
    explanation: "When a parameter occurs twice, some servers take the first value, some the last and some refuse the \
request, so what the URL means is open. Sign the URL again and paste it once.",
};

/// A known parameter is written in another letter case.
pub static URL_PARAMETER_CASE: Code = Code {
    name: "url-parameter-case",
    summary: "a known query parameter is written in another letter case",
    explanation: "Stores tell parameters apart by letter case: `X-Amz-Expires` limits the life of a URL and \
`x-amz-expires` does not. Such a spelling means that the URL was edited or passed through a tool that changes \
letters. Use the URL exactly as it was signed.",
};

/// A parameter turns the URL into something other than one whole object.
pub static URL_SUBRESOURCE: Code = Code {
    name: "url-subresource",
    summary: "a query parameter makes the URL address something other than the whole object",
    explanation: "Parameters such as `partNumber`, `uploadId`, `acl`, `comp` or `x-oss-process` address a part of an \
object, its settings, a derived picture or another operation. An input must be the whole object, as its digest was \
taken from it, and a result is created with one plain PUT. Sign a URL for plain reading (GetObject) or plain \
writing (PutObject).",
};

/// A store's URL holds a parameter that harness does not know.
pub static URL_PARAMETER_UNKNOWN: Code = Code {
    name: "url-parameter-unknown",
    summary: "a query parameter is not one that this store is known to take for a plain object",
    explanation: "On a known store every parameter is either part of a signature, selects a version, changes only \
response headers, or is refused: an unknown one might select another object or change what is done with it. Leave it \
out and sign again; a `?` that belongs to the key is written `%3F`.",
};

/// One parameter, decoded once.
pub(crate) struct Parameter {
    /// The decoded name.
    pub(crate) name: String,
    /// The decoded value; empty where there is no `=`.
    pub(crate) value: Zeroizing<String>,
    /// Name and value in normal form, for the identity of objects on unknown hosts.
    normal: Zeroizing<String>,
}

impl Parameter {
    /// The name, where it can be shown: a text without a value may itself be a secret, `=` being the padding
    /// of base64.
    fn shown(&self) -> String {
        let plain = self.value.bytes().any(|byte| byte != b'=')
            && self.name.len() <= 40
            && self.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if plain { format!("the parameter `{}`", self.name) } else { "a parameter".to_owned() }
    }
}

/// Splits a query at `&`, decodes each part once and refuses repeated names.
pub(crate) fn parse(query: Option<&str>) -> Result<Vec<Parameter>, Fault> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let parameter = parse_pair(pair, name, value).map_err(|_| {
            Fault::new(
                &URL_PERCENT_ENCODING,
                "a `%` in the query that does not start a valid escape of UTF-8 text",
                "`%` and two hexadecimal digits",
                "copy the URL again, exactly as it was signed",
            )
        })?;
        // `versionId` and `versionid` are the same selector to one store or another, so letter case does not
        // make a second parameter.
        if parameters.iter().any(|other| other.name.eq_ignore_ascii_case(&parameter.name)) {
            return Err(Fault::new(
                &URL_PARAMETER_REPEATED,
                format!("{} twice in the query", parameter.shown()),
                "each parameter at most once",
                "sign the URL again, and look whether two URLs were pasted together",
            ));
        }
        parameters.push(parameter);
    }
    Ok(parameters)
}

fn parse_pair(pair: &str, name: &str, value: &str) -> Result<Parameter, encoding::DecodeError> {
    let named = pair.len() > name.len();
    let mut normal = Zeroizing::new(encoding::normalise(name)?);
    if named {
        let value = Zeroizing::new(encoding::normalise(value)?);
        normal.reserve_exact(value.len() + 1);
        normal.push('=');
        normal.push_str(&value);
    }
    let value = Zeroizing::new(encoding::decode(value)?);
    Ok(Parameter { name: encoding::decode(name)?, value, normal })
}

/// What the parameters of one kind of store mean, apart from signatures.
///
/// A name that ends in `*` stands for every name with that start.
pub(crate) struct Dialect {
    /// Parameters that select a version of the object.
    pub(crate) version: &'static [&'static str],
    /// Parameters that change nothing about which object is meant.
    pub(crate) harmless: &'static [&'static str],
    /// Request headers that may stand in the query, in any letter case.
    pub(crate) headers: &'static [&'static str],
    /// Parameters and headers that address something other than the whole object.
    pub(crate) refused: &'static [&'static str],
}

/// The query, sorted.
pub(crate) struct Sorted {
    /// The version that is selected, where one is.
    pub(crate) version: Option<String>,
    /// What may select the object on an unknown host: the other parameters in normal form, sorted, joined
    /// with `&`.
    pub(crate) selecting: Zeroizing<String>,
    /// Names for a message about them.
    pub(crate) selecting_names: Vec<String>,
}

/// How a query is to be read.
pub(crate) struct Reading<'a> {
    /// The dialects of the store, the first one first.
    pub(crate) dialects: &'a [&'a Dialect],
    /// Azure's short names belong to a signature.
    pub(crate) azure: bool,
    /// Unknown parameters may stay, because the host is not a known store's.
    pub(crate) open: bool,
    /// A parameter that must be there with this value, such as `alt=media`.
    pub(crate) required: Option<(&'static str, &'static str)>,
}

enum Use {
    Authentication,
    Version,
    Harmless,
    Refused,
    Unknown,
}

/// Sorts the parameters, or says which one cannot stay.
pub(crate) fn sort(parameters: &[Parameter], reading: &Reading<'_>) -> Result<Sorted, Fault> {
    let mut version: Option<String> = None;
    let mut selecting: Vec<&Parameter> = Vec::new();
    let mut required = reading.required;
    for parameter in parameters {
        if required.is_some_and(|(name, value)| parameter.name == name && *parameter.value == value)
        {
            required = None;
            continue;
        }
        match meaning(&parameter.name, reading)? {
            Use::Authentication | Use::Harmless => {}
            Use::Version if version.is_some() => {
                return Err(refused(parameter, "a second version selector"));
            }
            Use::Version => version = Some(parameter.value.to_string()),
            Use::Refused => {
                return Err(refused(parameter, "not a plain read or write of the whole object"));
            }
            Use::Unknown if reading.open => selecting.push(parameter),
            Use::Unknown => return Err(unknown(parameter)),
        }
    }
    if let Some((name, value)) = required {
        return Err(Fault::new(
            &URL_SUBRESOURCE,
            format!(
                "no `{name}={value}`, so the answer would describe the object instead of being it"
            ),
            format!("`{name}={value}` in the query"),
            "write the download form of the URL",
        ));
    }
    selecting.sort_by(|left, right| left.normal.cmp(&right.normal));
    let names = selecting.iter().map(|parameter| parameter.shown()).collect();
    let mut joined =
        Zeroizing::new(String::with_capacity(selecting.iter().map(|p| p.normal.len() + 1).sum()));
    for (index, parameter) in selecting.iter().enumerate() {
        if index > 0 {
            joined.push('&');
        }
        joined.push_str(&parameter.normal);
    }
    Ok(Sorted { version, selecting: joined, selecting_names: names })
}

fn meaning(name: &str, reading: &Reading<'_>) -> Result<Use, Fault> {
    let mut authentication = SCHEMES
        .iter()
        .chain(reading.azure.then_some(&AZURE))
        .flat_map(super::authentication::Scheme::names);
    let known = |names: &[&'static str]| names.iter().any(|pattern| matches(pattern, name));
    if authentication.clone().any(|known| known == name) {
        return Ok(Use::Authentication);
    }
    for dialect in reading.dialects {
        if known(dialect.version) {
            return Ok(Use::Version);
        }
        if known(dialect.harmless) {
            return Ok(Use::Harmless);
        }
    }
    let lower = name.to_ascii_lowercase();
    if reading
        .dialects
        .iter()
        .any(|dialect| dialect.refused.iter().any(|r| matches_lower(r, &lower)))
    {
        return Ok(Use::Refused);
    }
    let variant = authentication.find(|known| known.eq_ignore_ascii_case(name)).or_else(|| {
        reading.dialects.iter().find_map(|dialect| {
            dialect
                .version
                .iter()
                .chain(dialect.harmless)
                .copied()
                .find(|pattern| matches_lower(pattern, &lower))
        })
    });
    if let Some(known) = variant {
        return Err(Fault::new(
            &URL_PARAMETER_CASE,
            format!("the parameter `{known}` in another letter case"),
            format!("`{known}`, exactly so"),
            "use the URL exactly as it was signed",
        ));
    }
    if reading
        .dialects
        .iter()
        .any(|dialect| dialect.headers.iter().any(|h| matches_lower(h, &lower)))
    {
        return Ok(Use::Harmless);
    }
    Ok(Use::Unknown)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    }
}

fn matches_lower(pattern: &str, lower: &str) -> bool {
    matches(&pattern.to_ascii_lowercase(), lower)
}

fn refused(parameter: &Parameter, why: &str) -> Fault {
    Fault::new(
        &URL_SUBRESOURCE,
        format!("{}, {why}", parameter.shown()),
        "a URL of one whole object",
        "sign a URL for plainly reading or plainly writing the object",
    )
}

fn unknown(parameter: &Parameter) -> Fault {
    Fault::new(
        &URL_PARAMETER_UNKNOWN,
        format!("{} in the query", parameter.shown()),
        "the store's signature, a version, and response headers",
        "leave it out and sign again; write a `?` of the key as `%3F`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect = Dialect {
        version: &["versionId"],
        harmless: &["response-*"],
        headers: &["x-amz-meta-*"],
        refused: &["acl", "x-amz-copy-source*"],
    };

    fn sorted(query: &str, open: bool) -> Result<Sorted, &'static str> {
        let reading = Reading { dialects: &[&DIALECT], azure: false, open, required: None };
        parse(Some(query)).and_then(|p| sort(&p, &reading)).map_err(|fault| fault.code.name)
    }

    #[test]
    fn parameters_are_sorted_by_use() {
        let sort = sorted("X-Amz-Date=1&versionId=v%2F1&response-expires=x&X-Amz-Meta-A=b", false)
            .unwrap();
        assert_eq!(sort.version.as_deref(), Some("v/1"));
        assert_eq!(*sort.selecting, "");
        let sort = sorted("b=2&a&a%2d=%2f&Expires=1", true).unwrap();
        assert_eq!(*sort.selecting, "a&a-=%2F&b=2");
        assert_eq!(
            sort.selecting_names,
            ["a parameter", "the parameter `a-`", "the parameter `b`"]
        );
    }

    #[test]
    fn refused_parameters() {
        for (query, code) in [
            ("a=1", "url-parameter-unknown"),
            ("a", "url-parameter-unknown"),
            ("=1", "url-parameter-unknown"),
            ("acl", "url-subresource"),
            ("ACL", "url-subresource"),
            ("X-Amz-Copy-Source=%2Fb%2Fk", "url-subresource"),
            ("expires=1", "url-parameter-case"),
            ("VersionID=1", "url-parameter-case"),
            ("Response-Expires=1", "url-parameter-case"),
            ("Expires=1&Expires=1", "url-parameter-repeated"),
            ("versionId=1&versionid=2", "url-parameter-repeated"),
            ("Expires=%zz", "url-percent-encoding"),
            ("%FF=1", "url-percent-encoding"),
        ] {
            assert_eq!(sorted(query, false).err(), Some(code), "{query}");
        }
    }

    #[test]
    fn a_nameless_secret_is_not_shown() {
        let reading = Reading { dialects: &[&DIALECT], azure: false, open: false, required: None };
        let Err(fault) = sort(&parse(Some("canary")).unwrap(), &reading) else {
            panic!("accepted")
        };
        assert!(!format!("{fault:?}").contains("canary"));
    }
}
