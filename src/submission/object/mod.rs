//! Object identity: what a URL addresses, whatever its spelling.
//!
//! Everything is read from the text of the URL; nothing is fetched or resolved. A URL goes on the wire byte for
//! byte as it was given; what is computed here is for comparing and for messages only.
//!
//! A text passes the gate on its raw form (`lexical`), its parts are checked and decoded (`authority`, `path`,
//! `query`), a store is recognised by its host (`provider`), and what remains is the [`ObjectIdentity`].

mod alias;
mod authentication;
mod authority;
mod compare;
mod encoding;
mod identity;
mod lexical;
mod path;
pub(crate) mod provider;
pub(crate) mod query;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt;

use unicode_normalization::UnicodeNormalization as _;
use zeroize::Zeroizing;

use self::authority::Authority;
use self::path::ObjectPath;
use self::provider::Keys;
use super::problem::{Code, Fault};

pub use self::alias::{ENDPOINT_ALIAS, EndpointAliases};
pub use self::authentication::Family;
pub(crate) use self::authentication::{AZURE, SCHEMES, Scheme};
pub use self::authority::{URL_HOST, URL_PORT};
pub use self::compare::{
    Comparison, OBJECTS_HOST_UNKNOWN, OBJECTS_JURISDICTION, OBJECTS_KEY_SPELLING, OBJECTS_QUERY,
    compare,
};
pub use self::identity::ObjectIdentity;
pub use self::lexical::{
    MAX_LENGTH, URL_CHARACTER, URL_FRAGMENT, URL_NOT_NORMAL, URL_SCHEME, URL_TOO_LONG, URL_USERINFO,
};
pub use self::path::{URL_KEY_UNSAFE, URL_PERCENT_ENCODING, URL_RAW_PLUS};
pub use self::provider::{
    Provider, URL_BUCKET, URL_DOTTED_BUCKET, URL_HOST_FORM, URL_KEY, URL_LOGIN_HOST, URL_PATH_STYLE,
};
pub use self::query::{
    URL_PARAMETER_CASE, URL_PARAMETER_REPEATED, URL_PARAMETER_UNKNOWN, URL_SUBRESOURCE,
};

/// A path looks as if it had been encoded twice; accepted.
pub static URL_DOUBLE_ENCODED: Code = Code {
    name: "url-double-encoded",
    summary: "the path of a URL looks as if it had been percent-encoded twice",
    explanation: "`%25` followed by two hexadecimal digits, as in `%2520`, usually means that an escape was escaped \
again by a script or a spreadsheet. The key then holds `%20` as three characters instead of a space. This is allowed, \
because keys may hold percent signs; check whether the object really has this key.",
};

/// A host is reachable from some networks only; accepted.
pub static URL_PRIVATE_HOST: Code = Code {
    name: "url-private-host",
    summary: "the host of a URL is reachable from some networks only",
    explanation: "Private addresses, names such as `localhost` or `*.svc`, and the internal endpoints of a cloud are \
reachable only from their own network. The pods must run in that network; your own machine need not. Note that \
harness never rewrites a host, since many signatures cover it: sign for the host that the pods can reach.",
};

/// Part of the query counts to the identity; accepted.
pub static URL_QUERY_IDENTITY: Code = Code {
    name: "url-query-identity",
    summary: "part of the query counts as part of the object's name",
    explanation: "The host is not one of a known store, so a parameter that belongs to no known signature may select \
the object and counts as part of its identity. If it is a signature or token of another kind, a newly signed URL \
would count as another object, and a result could be computed twice. Use the store's own endpoint and signature for \
results.",
};

/// Every code of this module.
pub static CODES: &[&Code] = &[
    &ENDPOINT_ALIAS,
    &OBJECTS_HOST_UNKNOWN,
    &OBJECTS_JURISDICTION,
    &OBJECTS_KEY_SPELLING,
    &OBJECTS_QUERY,
    &URL_BUCKET,
    &URL_CHARACTER,
    &URL_DOTTED_BUCKET,
    &URL_DOUBLE_ENCODED,
    &URL_FRAGMENT,
    &URL_HOST,
    &URL_HOST_FORM,
    &URL_KEY,
    &URL_KEY_UNSAFE,
    &URL_LOGIN_HOST,
    &URL_NOT_NORMAL,
    &URL_PARAMETER_CASE,
    &URL_PARAMETER_REPEATED,
    &URL_PARAMETER_UNKNOWN,
    &URL_PATH_STYLE,
    &URL_PERCENT_ENCODING,
    &URL_PORT,
    &URL_PRIVATE_HOST,
    &URL_QUERY_IDENTITY,
    &URL_RAW_PLUS,
    &URL_SCHEME,
    &URL_SUBRESOURCE,
    &URL_TOO_LONG,
    &URL_USERINFO,
];

/// The URL of one object, checked; its text is a secret as soon as it carries a signature.
///
/// [`fmt::Debug`] and [`fmt::Display`] show neither query nor signature, and the text is wiped on drop.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectUrl {
    raw: Zeroizing<String>,
    authority: String,
    raw_path: String,
    decoded_path: String,
    identity: ObjectIdentity,
    version: Option<String>,
    read_only: Option<&'static str>,
    notes: Vec<Fault>,
}

impl ObjectUrl {
    /// Checks the text and reads what it addresses.
    pub fn parse(raw: &str) -> Result<ObjectUrl, Fault> {
        provider::console::refuse(raw)?;
        let parts = lexical::split(raw)?;
        let authority = Authority::parse(parts.authority)?;
        let path = ObjectPath::parse(parts.path)?;
        lexical::check_round_trip(&parts, raw)?;
        let (provider, place) = provider::locate(&authority, &path)?;
        let parameters = query::parse(parts.query)?;
        let store = provider.store();
        let open = provider == Provider::Opaque;
        let reading = query::Reading {
            dialects: store.dialects,
            azure: provider == Provider::Azure || (open && is_azure_sas(&parameters)),
            open,
            required: place.required,
        };
        let sorted = query::sort(&parameters, &reading)?;
        let mut notes = place.notes;
        notes.extend(notes_on(&authority, &path, &sorted.selecting_names));
        let key: Zeroizing<String> = Zeroizing::new(match store.keys {
            Keys::Normalised => place.key.nfc().collect(),
            Keys::Opaque => {
                let mut key = String::with_capacity(place.key.len() + 1 + sorted.selecting.len());
                key.push_str(&place.key);
                key.push('?');
                key.push_str(&sorted.selecting);
                key
            }
            Keys::Literal | Keys::Fuzzy => place.key,
        });
        Ok(ObjectUrl {
            raw: Zeroizing::new(raw.to_owned()),
            authority: authority.to_string(),
            raw_path: path.raw().to_owned(),
            decoded_path: path.decoded().to_owned(),
            identity: ObjectIdentity::new(provider, place.space, place.bucket, key),
            version: sorted.version,
            read_only: place.read_only,
            notes,
        })
    }

    /// The exact bytes that go on the wire, signature included; the only way to them.
    pub fn expose(&self) -> &str {
        &self.raw
    }

    /// `https://host/path` for messages and annotations: printable ASCII, without any query.
    pub fn without_query(&self) -> String {
        format!("https://{}{}", self.authority, self.raw_path)
    }

    /// The object that is addressed.
    pub fn identity(&self) -> &ObjectIdentity {
        &self.identity
    }

    /// The version that is selected, apart from the identity.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// What was accepted and is worth saying.
    pub fn notes(&self) -> &[Fault] {
        &self.notes
    }

    /// Host in lower case, with the port where it is not 443.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The path, decoded once, with the `/` it starts with; never a part of the query.
    pub fn decoded_path(&self) -> &str {
        &self.decoded_path
    }

    /// Whether query parameters count to the identity, which they do on an unknown host only.
    pub fn is_selected_by_query(&self) -> bool {
        self.identity.provider() == Provider::Opaque && !self.identity.key().ends_with('?')
    }

    /// Why nothing can be written through this URL, where its host tells.
    pub fn read_only(&self) -> Option<&'static str> {
        self.read_only
    }

    /// The path as written.
    fn raw_path(&self) -> &str {
        &self.raw_path
    }

    /// The parameters of the query, decoded once; empty where there are none.
    pub(crate) fn parameters(&self) -> Vec<query::Parameter> {
        let query = self.raw.split_once('?').map(|(_, query)| query);
        // The same text was parsed before.
        query::parse(query).unwrap_or_default()
    }
}

/// Whether Azure's short parameter names are those of a shared access signature.
fn is_azure_sas(parameters: &[query::Parameter]) -> bool {
    let has = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
    has("sig") && has("sv")
}

fn notes_on(authority: &Authority, path: &ObjectPath<'_>, selecting: &[String]) -> Vec<Fault> {
    let mut notes = Vec::new();
    if path.looks_double_encoded() {
        notes.push(Fault::new(
            &URL_DOUBLE_ENCODED,
            "`%25` and two hexadecimal digits in the path, which looks encoded twice",
            "a key that really holds a percent sign",
            "check the object's key",
        ));
    }
    let internal = authority.host().split('.').any(|label| {
        label == "cos-internal" || (label.starts_with("oss") && label.ends_with("-internal"))
    });
    if internal || authority.is_private() {
        notes.push(Fault::new(
            &URL_PRIVATE_HOST,
            format!("the host {authority}, which only some networks reach"),
            "a host that the pods reach",
            "make sure that the pods run in its network, or sign for the public endpoint",
        ));
    }
    if !selecting.is_empty() {
        notes.push(Fault::new(
            &URL_QUERY_IDENTITY,
            format!("{} in the query counts as part of the object's name", selecting.join(", ")),
            "objects that are named by their path",
            "use the store's own endpoint and signature where this is a result",
        ));
    }
    notes
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "https://{}{}", self.authority, self.raw_path)?;
        if self.raw.contains('?') { formatter.write_str("?***") } else { Ok(()) }
    }
}

impl fmt::Debug for ObjectUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ObjectUrl({self})")
    }
}

#[cfg(test)]
mod tests;
