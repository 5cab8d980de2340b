//! Where the result goes: the signed URLs, and the exact headers that go with the PUT.

use std::collections::BTreeMap;

use jiff::Timestamp;
use zeroize::Zeroizing;

use crate::execution::store::Address;
use crate::execution::{Category, Reason, Step, Urls};
use crate::submission::ObjectUrl;
use crate::submission::presign::{self, Method};

/// The URL of the PUT.
pub(super) const PUT_URL: &str = "result_put_url";

/// The headers that were signed into it, as JSON; absent when there are none.
const PUT_HEADERS: &str = "result_put_headers";

/// The URL to read the result back; absent when there is none.
const READBACK_URL: &str = "result_readback_url";

/// Where the result goes and comes back from.
#[derive(Debug)]
pub struct Target {
    pub(super) put: Address,
    pub(super) readback: Option<Address>,
    pub(super) headers: Vec<(String, String)>,
    object: String,
}

impl Target {
    /// Reads them from where they are. A PUT without a guard against overwriting is refused here once more.
    pub fn read(urls: &Urls) -> Result<Self, Reason> {
        let put = text(urls, PUT_URL)?.ok_or_else(|| unusable(PUT_URL, "it is missing"))?;
        let declared: BTreeMap<String, String> = match text(urls, PUT_HEADERS)? {
            None => BTreeMap::new(),
            Some(headers) => serde_json::from_str(&headers)
                .map_err(|_| unusable(PUT_HEADERS, "it is no JSON object of texts"))?,
        };
        let put = put.trim_end_matches(['\r', '\n']);
        let url = ObjectUrl::parse(put).map_err(|fault| unusable(PUT_URL, &fault.found))?;
        // When the credentials end was checked before the Job was made; the store has the last word.
        let signed = presign::inspect(&url, Method::Put, &declared, Some(Timestamp::MAX)).map_err(
            |faults| {
                let first = faults.first().map_or("it cannot be used", |fault| &fault.found);
                unusable(PUT_URL, first)
            },
        )?;
        let signature = signed.signature().ok_or_else(|| unusable(PUT_URL, "it is not signed"))?;
        if signature.guard.is_none() {
            return Err(unusable(PUT_URL, "nothing keeps it from overwriting"));
        }
        let readback = text(urls, READBACK_URL)?
            .map(|url| Address::parse(&url).map_err(|wrong| unusable(READBACK_URL, wrong)))
            .transpose()?;
        Ok(Self {
            put: Address::parse(put).map_err(|wrong| unusable(PUT_URL, wrong))?,
            readback,
            headers: presign::headers_to_send(signature, &declared).into_iter().collect(),
            object: url.without_query(),
        })
    }

    /// The object without its query.
    pub fn object(&self) -> String {
        self.object.clone()
    }
}

/// One of them; none when it is not there.
fn text(urls: &Urls, name: &str) -> Result<Option<Zeroizing<String>>, Reason> {
    urls.text(name).map_err(|error| unusable(name, &format!("it cannot be read: {}", error.kind())))
}

fn unusable(name: &str, why: &str) -> Reason {
    Reason::new(
        Step::Publish,
        Category::Environment,
        &format!("`{name}` cannot be used: {why}; nothing was started"),
        "sign the URLs again as docs/signing.md says, and submit with a new attempt_id",
    )
}
