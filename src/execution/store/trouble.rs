//! What an error of the HTTP client means, in words of our own: some of its texts hold the URL. Pure.

use ureq::Error;

use super::client::{CONNECT, SILENCE};
use super::outcome::Trouble;

/// What is no better in a moment.
pub(super) fn lasting(what: String) -> Trouble {
    Trouble { what, retry_after: None, lasting: true }
}

/// What ureq's error means, and whether another try may end otherwise.
pub(super) fn trouble(error: Error) -> Trouble {
    let transient = |what: String| Trouble { what, retry_after: None, lasting: false };
    match error {
        Error::Io(error) => {
            match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(tls) => tls_trouble(tls),
                None => transient(format!("the connection failed: {}", io_cause(&error))),
            }
        }
        Error::Rustls(error) => tls_trouble(&error),
        Error::HostNotFound => transient("the host's name is not known".to_owned()),
        Error::Timeout(ureq::Timeout::Resolve) => {
            transient(format!("the host's name was not resolved within {} s", CONNECT.as_secs()))
        }
        Error::Timeout(ureq::Timeout::Connect) => {
            transient(format!("no connection within {} s", CONNECT.as_secs()))
        }
        Error::Timeout(_) => transient(format!("the store was silent for {} s", SILENCE.as_secs())),
        Error::ConnectionFailed => transient("the connection failed".to_owned()),
        Error::ConnectProxyFailed(reason) => transient(match proxy_status(&reason) {
            Some(status) => format!("the proxy refused the connection: {status}"),
            None => "the proxy refused the connection".to_owned(),
        }),
        Error::Protocol(_) | Error::LargeResponseHeader(..) | Error::BodyStalled => {
            transient("the answer is not sound HTTP".to_owned())
        }
        Error::Tls(what) => lasting(format!("TLS failed: {what}")),
        Error::BodyExceedsLimit(_) => lasting("the file grew while it was sent".to_owned()),
        _ => lasting("the request cannot be sent".to_owned()),
    }
}

/// The status that a proxy answered `CONNECT` with, from ureq's text about it.
fn proxy_status(reason: &str) -> Option<u16> {
    reason.strip_prefix("proxy server responded ")?.get(..3)?.parse().ok()
}

/// ureq's own texts for a lost connection say less than this.
fn io_cause(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it ended before everything had come".to_owned(),
        _ if error.raw_os_error().is_some() => error.to_string(),
        kind => kind.to_string(),
    }
}

/// A certificate that is not believed today is not believed in a minute either.
fn tls_trouble(error: &rustls::Error) -> Trouble {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            lasting(format!("the store's certificate is not trusted: {error}"))
        }
        _ => Trouble { what: format!("TLS failed: {error}"), retry_after: None, lasting: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_an_error_holds_a_url() {
        let canary = "https://h/a?sig=canary".to_owned();
        for error in [
            Error::BadUri(canary.clone()),
            Error::RequireHttpsOnly(canary.clone()),
            Error::ConnectProxyFailed(canary.clone()),
            Error::Io(std::io::Error::other(canary)),
        ] {
            let trouble = trouble(error);
            assert!(!trouble.to_string().contains("canary"), "{trouble}");
        }
    }

    #[test]
    fn a_proxy_is_named_with_its_status() {
        for (reason, text) in [
            ("proxy server responded 407/407", "the proxy refused the connection: 407"),
            ("proxy server did not respond", "the proxy refused the connection"),
            ("proxy server responded", "the proxy refused the connection"),
            ("proxy server responded soon", "the proxy refused the connection"),
        ] {
            let trouble = trouble(Error::ConnectProxyFailed(reason.to_owned()));
            assert_eq!((trouble.to_string().as_str(), trouble.lasting), (text, false));
        }
    }
}
