//! The host and port of a URL, in the one spelling that every client understands alike.
//!
//! Two spellings of one host would be two identities of one object, and a spelling that clients read
//! differently would be one identity of two; both are refused here. Nothing is resolved.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::submission::problem::{Code, Fault};

/// The host of a URL is misspelt or spelt in an unusual way.
pub static URL_HOST: Code = Code {
    name: "url-host",
    summary: "the host of a URL is misspelt or spelt in an unusual way",
    explanation: "A host is written as a plain DNS name (letters, digits, hyphens and dots, no dot at the end, no \
empty label), as four decimal numbers, or as an IPv6 address in its shortest form in brackets. Other spellings, \
such as `127.1`, a hexadecimal address, an IPv4 address inside an IPv6 one, a percent sign or a trailing dot, reach \
the same machine under another name, or are read differently by different clients, so that the same object could \
hide behind two names. Internationalised names are written in their `xn--` form.",
};

/// The port of a URL is misspelt or not the store's.
pub static URL_PORT: Code = Code {
    name: "url-port",
    summary: "the port of a URL is misspelt or does not belong to the store",
    explanation: "A port is a decimal number from 1 to 65535 without leading zero. Public object stores are reached \
on port 443 only, which may be left out; another port on their host names would address something else. Your own \
stores may use any port.",
};

/// A host in lower case and a port other than 443.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authority {
    host: String,
    port: Option<u16>,
    address: bool,
}

impl Authority {
    /// Parses what stands between `https://` and the path.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let lower = text.to_ascii_lowercase();
        let (host, port) = match (lower.strip_prefix('['), lower.rsplit_once(':')) {
            (Some(rest), _) => match rest.split_once(']') {
                Some((_, "")) => (lower.as_str(), None),
                Some((_, after)) if after.starts_with(':') => {
                    (&lower[..lower.len() - after.len()], Some(&after[1..]))
                }
                _ => return Err(wrong_host("brackets that do not enclose the host")),
            },
            (None, Some((host, port))) => (host, Some(port)),
            (None, None) => (lower.as_str(), None),
        };
        let port = port.map(parse_port).transpose()?.filter(|port| *port != 443);
        let address = check_host(host)?;
        Ok(Self { host: host.to_owned(), port, address })
    }

    /// The host in lower case; an IPv6 address with its brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The port, where it is not 443.
    pub(crate) fn port(&self) -> Option<u16> {
        self.port
    }

    /// The labels before `suffix`, from left to right; `None` where the host does not end in it.
    ///
    /// `suffix` is a domain without a dot before it; the host must have at least one label more.
    pub(crate) fn labels_before(&self, suffix: &str) -> Option<Vec<&str>> {
        if self.address {
            return None;
        }
        let rest = self.host.strip_suffix(suffix)?.strip_suffix('.')?;
        Some(rest.split('.').collect())
    }

    /// Whether the host is the domain itself or below it.
    pub(crate) fn is_within(&self, domain: &str) -> bool {
        self.host == domain || self.labels_before(domain).is_some()
    }

    /// Says that the host is one which only some networks reach, where its name tells.
    pub(crate) fn is_private(&self) -> bool {
        if let Ok(address) = self.host.parse::<Ipv4Addr>() {
            return address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                // Carrier-grade NAT, RFC 6598.
                || (address.octets()[0] == 100 && address.octets()[1] & 0b1100_0000 == 64);
        }
        if let Some(address) = bracketed(&self.host).and_then(|text| text.parse::<Ipv6Addr>().ok())
        {
            return address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local();
        }
        !self.host.contains('.')
            || ["localhost", "local", "internal", "lan", "intranet", "svc", "home.arpa"]
                .into_iter()
                .any(|domain| self.is_within(domain))
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.host)?;
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

fn wrong_host(found: impl Into<String>) -> Fault {
    Fault::new(
        &URL_HOST,
        found.into(),
        "a DNS name, four decimal numbers, or an IPv6 address in its shortest form in brackets",
        "write the host as the store's documentation does",
    )
}

fn parse_port(text: &str) -> Result<u16, Fault> {
    let plain = !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && !text.starts_with('0');
    text.parse().ok().filter(|_| plain).ok_or_else(|| {
        Fault::new(
            &URL_PORT,
            "a port that is not a plain number",
            "a decimal number from 1 to 65535 without leading zero, or no port",
            "leave the port out, or correct it",
        )
    })
}

/// Checks the spelling; returns whether it is an address and not a name.
fn check_host(host: &str) -> Result<bool, Fault> {
    if let Some(address) = bracketed(host) {
        return check_ipv6(address).map(|()| true);
    }
    if host.contains('%') {
        return Err(wrong_host("a `%` in the host"));
    }
    if host.is_empty() || host.len() > 253 {
        return Err(wrong_host(format!("a host of {} characters", host.len())));
    }
    if host.ends_with('.') {
        return Err(wrong_host("a dot at the end of the host"));
    }
    for label in host.split('.') {
        if label.is_empty() || label.len() > 63 {
            return Err(wrong_host(format!("a label of {} characters in the host", label.len())));
        }
        if let Some(odd) = label.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-' | '_')) {
            return Err(wrong_host(format!("the character {odd:?} in the host")));
        }
    }
    let last = host.rsplit('.').next().unwrap_or(host);
    // The WHATWG rule for "ends in a number": such a host is an IPv4 address or an error.
    if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
        // Rust's parser takes exactly four decimal octets without leading zeros.
        return match host.parse::<Ipv4Addr>() {
            Ok(_) => Ok(true),
            Err(_) => Err(wrong_host("an IPv4 address in an unusual spelling")),
        };
    }
    Ok(false)
}

fn bracketed(host: &str) -> Option<&str> {
    host.strip_prefix('[')?.strip_suffix(']')
}

fn check_ipv6(text: &str) -> Result<(), Fault> {
    let Ok(address) = text.parse::<Ipv6Addr>() else {
        return Err(wrong_host("brackets without an IPv6 address"));
    };
    if address.to_string() != text {
        return Err(wrong_host("an IPv6 address that is not in its shortest form (RFC 5952)"));
    }
    let carries_ipv4 = match address.segments() {
        // Unspecified and loopback look like the old IPv4-compatible form and are not.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => false,
        // IPv4-mapped and IPv4-compatible (RFC 4291), NAT64 (RFC 6052, 8215), 6to4 (RFC 3056), Teredo (RFC 4380).
        [0, 0, 0, 0, 0, 0 | 0xffff, _, _] | [0x64, 0xff9b, ..] | [0x2002, ..] | [0x2001, 0, ..] => {
            true
        }
        _ => false,
    };
    if carries_ipv4 {
        return Err(wrong_host("an IPv4 address inside an IPv6 address"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_hosts() {
        for (text, printed, private) in [
            ("H.Example", "h.example", false),
            ("h.example:443", "h.example", false),
            ("h.example:8443", "h.example:8443", false),
            ("b_c.example", "b_c.example", false),
            ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example", false),
            ("192.0.2.7:9000", "192.0.2.7:9000", false),
            ("10.1.2.3", "10.1.2.3", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("100.64.0.1", "100.64.0.1", true),
            ("[2001:DB8::1]:9000", "[2001:db8::1]:9000", false),
            ("[::1]", "[::1]", true),
            ("[fd00::1]", "[fd00::1]", true),
            ("[fe80::1]", "[fe80::1]", true),
            ("[::]", "[::]", true),
            ("0.0.0.0", "0.0.0.0", true),
            ("169.254.1.1", "169.254.1.1", true),
            // Neither is carrier-grade NAT, which is 100.64.0.0/10.
            ("100.128.0.1", "100.128.0.1", false),
            ("101.64.0.1", "101.64.0.1", false),
            ("localhost", "localhost", true),
            ("minio.storage.svc", "minio.storage.svc", true),
            ("minio.storage.svc.cluster.local:9000", "minio.storage.svc.cluster.local:9000", true),
        ] {
            let authority = Authority::parse(text).unwrap();
            assert_eq!(authority.to_string(), printed, "{text}");
            assert_eq!(authority.is_private(), private, "{text}");
        }
    }

    /// RFC 1035, section 2.3.4: 63 characters of a label, and 253 of a name as it is written.
    #[test]
    fn lengths_of_hosts_and_labels() {
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!(longest.len(), 253);
        for (host, is_allowed) in [
            (format!("{label}.example"), true),
            (format!("{label}a.example"), false),
            (longest.clone(), true),
            (format!("{longest}a"), false),
        ] {
            assert_eq!(Authority::parse(&host).is_ok(), is_allowed, "{} characters", host.len());
        }
    }

    #[test]
    fn refused_hosts() {
        for (text, code) in [
            ("h.example.", "url-host"),
            ("h..example", "url-host"),
            (".example", "url-host"),
            ("b*c.example", "url-host"),
            ("h%2Eexample", "url-host"),
            ("127.0.0.1.", "url-host"),
            ("127.1", "url-host"),
            ("0177.0.0.1", "url-host"),
            ("0x7f.0.0.1", "url-host"),
            ("2130706433", "url-host"),
            ("127.0.0.256", "url-host"),
            ("1.2.3.4.5", "url-host"),
            ("foo.0x4", "url-host"),
            ("[0:0:0:0:0:0:0:1]", "url-host"),
            ("[2001:0db8::1]", "url-host"),
            ("[::ffff:192.0.2.7]", "url-host"),
            ("[::ffff:c000:207]", "url-host"),
            ("[::192.0.2.7]", "url-host"),
            ("[64:ff9b::c000:207]", "url-host"),
            ("[2002:c000:207::]", "url-host"),
            ("[2001:0:c000:207::]", "url-host"),
            ("[fe80::1%25eth0]", "url-host"),
            ("[::1", "url-host"),
            ("[::1]x", "url-host"),
            ("", "url-host"),
            ("h.example:", "url-port"),
            ("h.example:0443", "url-port"),
            ("h.example:65536", "url-port"),
            ("h.example:0", "url-port"),
            ("h.example:+1", "url-port"),
        ] {
            assert_eq!(Authority::parse(text).unwrap_err().code.name, code, "{text}");
        }
        assert!(Authority::parse(&format!("{}.example", "a".repeat(64))).is_err());
        assert!(Authority::parse(&format!("{}example", "a.".repeat(128))).is_err());
    }

    #[test]
    fn labels_are_anchored_at_the_right() {
        let authority = Authority::parse("a.b.store.example").unwrap();
        assert_eq!(authority.labels_before("store.example"), Some(vec!["a", "b"]));
        assert_eq!(authority.labels_before("ore.example"), None);
        let itself = Authority::parse("store.example").unwrap();
        assert_eq!(itself.labels_before("store.example"), None);
        assert!(itself.is_within("store.example"));
    }
}
