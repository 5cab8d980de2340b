//! Signed URLs, made as AWS documents Signature Version 4 in the query:
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html>.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use ring::{digest, hmac};

/// The key pair that the store knows.
pub const ACCESS_KEY: &str = "AKIAHARNESSTESTSTORE";
/// Its secret half, of no worth elsewhere.
pub const SECRET_KEY: &str = "harness-test-store-secret-key";
/// The region that is signed if nothing else is said; the store takes any.
pub const REGION: &str = "us-east-1";

/// A URL to be signed for one method, by default now and for an hour.
#[derive(Debug, Clone)]
pub struct Signing {
    method: String,
    host: String,
    path: String,
    region: String,
    headers: BTreeMap<String, String>,
    at: Timestamp,
    lifetime: Duration,
}

impl Signing {
    /// For a store that listens at `host`, `ADDRESS:PORT`, and an object, `BUCKET/KEY`;
    /// [`Store::sign`](crate::Store::sign) knows host and time.
    pub fn new(method: &str, host: &str, object: &str, now: Timestamp) -> Self {
        Self {
            method: method.to_owned(),
            host: host.to_owned(),
            path: format!("/{}", encoded(object, true)),
            region: REGION.to_owned(),
            headers: BTreeMap::new(),
            at: now,
            lifetime: Duration::from_hours(1),
        }
    }

    /// Signs a header too: whoever uses the URL must then send it with this value.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_ascii_lowercase(), value.to_owned());
        self
    }

    /// Signs `If-None-Match: *` too.
    #[must_use]
    pub fn create_only(self) -> Self {
        self.header("if-none-match", "*")
    }

    /// Makes it live so long, in whole seconds.
    #[must_use]
    pub fn lasting(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Makes it end an hour ago.
    #[must_use]
    pub fn expired(mut self) -> Self {
        self.at -= self.lifetime + Duration::from_hours(1);
        self
    }

    /// Signs for another host, with its port, such as [`Store::other_host`](crate::Store::other_host).
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        host.clone_into(&mut self.host);
        self
    }

    /// Signs for another region.
    #[must_use]
    pub fn region(mut self, region: &str) -> Self {
        region.clone_into(&mut self.region);
        self
    }

    /// The URL without a signature.
    pub fn unsigned(&self) -> String {
        format!("https://{}{}", self.host, self.path)
    }

    /// The signed URL.
    pub fn url(&self) -> String {
        let utc = self.at;
        let time = utc.strftime("%Y%m%dT%H%M%SZ").to_string();
        let scope = format!("{}/{}/s3/aws4_request", utc.strftime("%Y%m%d"), self.region);
        let mut headers = self.headers.clone();
        headers.insert("host".to_owned(), self.host.clone());
        let names = headers.keys().map(String::as_str).collect::<Vec<_>>().join(";");
        let query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256".to_owned()),
            ("X-Amz-Credential", format!("{ACCESS_KEY}/{scope}")),
            ("X-Amz-Date", time.clone()),
            ("X-Amz-Expires", self.lifetime.as_secs().to_string()),
            ("X-Amz-SignedHeaders", names.clone()),
        ]
        .map(|(name, value)| format!("{name}={}", encoded(&value, false)))
        .join("&");
        let lines: String =
            headers.iter().flat_map(|(name, value)| [name.as_str(), ":", value, "\n"]).collect();
        let request =
            format!("{}\n{}\n{query}\n{lines}\n{names}\nUNSIGNED-PAYLOAD", self.method, self.path);
        let hash = digest::digest(&digest::SHA256, request.as_bytes());
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hexadecimal(hash.as_ref()));
        let key = scope.split('/').fold(format!("AWS4{SECRET_KEY}").into_bytes(), |key, part| {
            code(&key, part.as_bytes())
        });
        let signature = hexadecimal(&code(&key, text.as_bytes()));
        format!("{}?{query}&X-Amz-Signature={signature}", self.unsigned())
    }
}

fn code(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// All but unreserved characters as triplets; a slash too unless it separates.
fn encoded(text: &str, slashes: bool) -> String {
    text.bytes().fold(String::new(), |mut result, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                result.push(char::from(byte));
            }
            b'/' if slashes => result.push('/'),
            _ => {
                let _ = write!(result, "%{byte:02X}");
            }
        }
        result
    })
}
