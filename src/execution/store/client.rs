//! Requests to a store, each sent once: GET with an optional range, a look whether an object exists, PUT.
//!
//! ureq neither repeats nor decodes anything as it is built and configured here. There is a limit on how long a store
//! may be silent and none on a whole transfer, which is the caller's to bound.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ureq::http::{self, HeaderMap, Response, header};
use ureq::tls::TlsConfig;
use ureq::{Agent, Body, Proxy, ProxyProtocol, SendBody};

use super::address::Address;
use super::answer;
use super::outcome::{Download, Existence, Opened, Put, Refusal, Trouble};
use super::trouble::{lasting, trouble};
use super::trust::{SetupError, roots};

/// How long a connection, TLS and the proxy may take.
pub(super) const CONNECT: Duration = Duration::from_secs(20);

/// How long a store may be silent, while it is asked, sends or is sent to.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// The most redirects in a row.
const MOST_REDIRECTS: usize = 3;

/// Bytes of a connection's input buffer: large reads, so that a transfer costs few calls.
const BUFFER: usize = 128 * 1024;

/// Files from this size on wait for the store's `100 Continue`, so that a refusal costs no upload.
const EXPECT_FROM: u64 = 1 << 20;

/// How a store is reached, from the environment of the process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `SSL_CERT_FILE`: the certificates to believe instead of the system's.
    pub certificate_file: Option<PathBuf>,
    /// `HTTPS_PROXY`: `http://HOST:PORT`.
    pub https_proxy: Option<String>,
    /// `NO_PROXY`: hosts that are reached without it, separated by commas.
    pub no_proxy: Option<String>,
}

/// A client for any number of stores.
#[derive(Debug)]
pub struct Store {
    agent: Agent,
}

/// The rest of an object whose beginning is there already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The first byte that is wanted.
    pub from: u64,
    /// The strong validator of the beginning: another state of the object is sent whole.
    pub etag: String,
}

impl Store {
    /// Loads certificates and reads the proxy; nothing is sent.
    pub fn open(settings: &Settings) -> Result<Self, SetupError> {
        let tls = TlsConfig::builder()
            .root_certs(roots(settings.certificate_file.as_deref())?)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .https_only(true)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy(settings)?)
            .user_agent(concat!("harness/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_per_read(Some(SILENCE))
            .timeout_per_write(Some(SILENCE))
            .input_buffer_size(BUFFER)
            .tls_config(tls)
            .build();
        Ok(Self { agent: Agent::new_with_config(config) })
    }

    /// Asks for an object, or for the rest of one.
    pub fn get(&self, address: &Address, range: Option<&Range>) -> Download {
        let mut headers = Vec::new();
        if let Some(range) = range {
            headers.push((header::RANGE, format!("bytes={}-", range.from)));
            headers.push((header::IF_RANGE, range.etag.clone()));
        }
        match self.ask(address, &headers) {
            Err(ending) => ending,
            Ok(answer) if matches!(answer.status().as_u16(), 200 | 206) => opened(answer, range),
            Ok(answer) => match refused(answer) {
                Ended::Refused(refusal) => Download::Refused(refusal),
                Ended::Unknown(trouble) => Download::Unknown(trouble),
            },
        }
    }

    /// Looks whether an object is there by asking for its first byte: a signature is for one method, so no HEAD.
    pub fn exists(&self, address: &Address) -> Existence {
        match self.ask(address, &[(header::RANGE, "bytes=0-0".to_owned())]) {
            Err(Download::Refused(refusal)) => Existence::CannotTell(refusal.to_string()),
            Err(Download::Unknown(trouble)) => Existence::CannotTell(trouble.to_string()),
            Err(Download::Opened(_)) => Existence::Exists,
            Ok(answer) => match answer.status().as_u16() {
                200 | 206 | 416 => Existence::Exists,
                404 => Existence::Absent,
                _ => match refused(answer) {
                    Ended::Refused(refusal) => Existence::CannotTell(refusal.to_string()),
                    Ended::Unknown(trouble) => Existence::CannotTell(trouble.to_string()),
                },
            },
        }
    }

    /// Sends the whole of `file` from its beginning with these headers and its exact length, once.
    pub fn put(&self, address: &Address, file: &mut File, headers: &[(String, String)]) -> Put {
        let length = match file.metadata().and_then(|data| {
            file.seek(SeekFrom::Start(0))?;
            Ok(data.len())
        }) {
            Ok(length) => length,
            Err(error) => {
                return Put::Unknown(lasting(format!("the file cannot be read: {error}")));
            }
        };
        let mut builder =
            http::Request::put(address.reveal()).header(header::CONTENT_LENGTH, length);
        for (name, value) in headers {
            builder = builder.header(name, value);
        }
        if length >= EXPECT_FROM {
            builder = builder.header(header::EXPECT, "100-continue");
        }
        // The error would show the query.
        let Ok(request) = builder.body(SendBody::from_reader(file)) else {
            return Put::Unknown(lasting("the request cannot be written".to_owned()));
        };
        let answer = match self.agent.run(request) {
            Ok(answer) => answer,
            Err(error) => return Put::Unknown(trouble(error)),
        };
        if answer.status().is_success() {
            return Put::Done;
        }
        put_refused(address, answer)
    }

    /// Sends a GET and follows redirects on the same host.
    fn ask(
        &self,
        address: &Address,
        headers: &[(header::HeaderName, String)],
    ) -> Result<Response<Body>, Download> {
        let mut address = address.clone();
        for followed in 0..=MOST_REDIRECTS {
            let mut builder =
                http::Request::get(address.reveal()).header(header::ACCEPT_ENCODING, "identity");
            for (name, value) in headers {
                builder = builder.header(name, value);
            }
            // The error would show the query.
            let request = builder.body(()).map_err(|_| {
                Download::Unknown(lasting("the request cannot be written".to_owned()))
            })?;
            let answer =
                self.agent.run(request).map_err(|error| Download::Unknown(trouble(error)))?;
            let Some(target) = redirect(&address, &answer) else {
                return Ok(answer);
            };
            match target {
                Ok(next) if followed < MOST_REDIRECTS => address = next,
                Ok(next) => {
                    return Err(redirect_refused(
                        &answer,
                        format!("{next} after {followed} others"),
                    ));
                }
                Err(place) => return Err(redirect_refused(&answer, place)),
            }
        }
        unreachable!("the last round returns")
    }
}

/// Where a redirect leads: `Err` where it may not be followed, with the place to name.
fn redirect(address: &Address, answer: &Response<Body>) -> Option<Result<Address, String>> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = answer.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let Some(next) = location.and_then(|location| address.redirected(location)) else {
        return Some(Err("a place that is not an https URL".to_owned()));
    };
    if next.authority() == address.authority() {
        Some(Ok(next))
    } else {
        Some(Err(format!("the other host {}", next.authority())))
    }
}

fn redirect_refused(answer: &Response<Body>, place: String) -> Download {
    Download::Refused(Refusal {
        status: answer.status().as_u16(),
        code: None,
        expired: false,
        redirect: Some(place),
    })
}

/// An answer that is no success.
enum Ended {
    Refused(Refusal),
    Unknown(Trouble),
}

fn refused(answer: Response<Body>) -> Ended {
    let (refusal, headers) = read_refusal(answer);
    if answer::is_transient(&refusal) {
        Ended::Unknown(come_back(&refusal, &headers))
    } else {
        Ended::Refused(refusal)
    }
}

fn put_refused(address: &Address, answer: Response<Body>) -> Put {
    let redirect = redirect(address, &answer);
    let (mut refusal, headers) = read_refusal(answer);
    if answer::is_exists(&refusal) {
        Put::Exists
    } else if answer::is_transient(&refusal) || answer::is_race(&refusal) {
        Put::Unknown(come_back(&refusal, &headers))
    } else {
        refusal.redirect =
            redirect.map(|target| target.map_or_else(|place| place, |next| next.to_string()));
        Put::Refused(refusal)
    }
}

fn come_back(refusal: &Refusal, headers: &HeaderMap) -> Trouble {
    Trouble {
        what: format!("the store answered {refusal}"),
        retry_after: answer::retry_after(headers),
        lasting: false,
    }
}

fn read_refusal(answer: Response<Body>) -> (Refusal, HeaderMap) {
    let (parts, body) = answer.into_parts();
    let mut text = Vec::new();
    // What came of the body is enough, also where its end is lost.
    let _ = body.into_reader().take(answer::LONGEST_ERROR).read_to_end(&mut text);
    (answer::refusal(parts.status.as_u16(), &parts.headers, &text), parts.headers)
}

fn opened(answer: Response<Body>, range: Option<&Range>) -> Download {
    let (parts, body) = answer.into_parts();
    let headers = &parts.headers;
    let wanted = range.map(|range| range.from);
    let (start, total) = match (parts.status.as_u16(), answer::content_range(headers)) {
        (206, Some((start, total))) if Some(start) == wanted => (start, total),
        // A part that nobody asked for may be any, and be taken for the whole.
        (206, _) => {
            return Download::Unknown(Trouble {
                what: "the store sent another part of the object than was asked for".to_owned(),
                retry_after: None,
                lasting: false,
            });
        }
        _ => (0, answer::content_length(headers)),
    };
    Download::Opened(Opened {
        start,
        total,
        etag: answer::strong_etag(headers),
        encoding: answer::encoding(headers),
        body: Box::new(body.into_reader()),
    })
}

fn proxy(settings: &Settings) -> Result<Option<Proxy>, SetupError> {
    let Some(text) = settings.https_proxy.as_deref().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let wrong = |cause| SetupError::Proxy { cause };
    let proxy = Proxy::new(text).map_err(|_| wrong("it is not a URL"))?;
    if !matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https) {
        return Err(wrong("only http and https are known"));
    }
    let mut builder = Proxy::builder(proxy.protocol()).host(proxy.host()).port(proxy.port());
    if let Some(name) = proxy.username() {
        builder = builder.username(name);
    }
    if let Some(password) = proxy.password() {
        builder = builder.password(password);
    }
    let exceptions = settings.no_proxy.as_deref().unwrap_or_default();
    for exception in exceptions.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        builder = builder.no_proxy(exception);
    }
    builder.build().map(Some).map_err(|_| wrong("it is not a URL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_read_once() {
        let with = |https: &str, no: &str| Settings {
            certificate_file: None,
            https_proxy: Some(https.to_owned()),
            no_proxy: Some(no.to_owned()),
        };
        assert_eq!(proxy(&Settings::default()), Ok(None));
        assert_eq!(proxy(&with("", "")), Ok(None));
        let some = proxy(&with("http://user:secret@p.example:3128", "store.example, .internal"))
            .unwrap()
            .unwrap();
        assert_eq!((some.host(), some.port()), ("p.example", 3128));
        assert!(some.is_no_proxy(&"https://store.example/a".parse().unwrap()));
        assert!(some.is_no_proxy(&"https://a.internal/a".parse().unwrap()));
        assert!(!some.is_no_proxy(&"https://other.example/a".parse().unwrap()));
        let error = proxy(&with("socks5://user:canary@p:1", "")).unwrap_err();
        assert!(!error.to_string().contains("canary"), "{error}");
        assert!(error.remedy().contains("HOST:PORT"));
    }
}
