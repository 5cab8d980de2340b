//! The path of a URL and the key bytes that it stands for, decoded exactly once.
//!
//! Every store that harness knows takes the once-decoded path as key. What clients or proxies on the way may
//! read differently (dot segments, backslashes, raw plus signs, control characters) is refused, so that the
//! decoded bytes mean one object.

use super::encoding::{self, DecodeError};
use crate::submission::problem::{Code, Fault};

/// A `%` is not followed by two hexadecimal digits, or the decoded bytes are not UTF-8.
pub static URL_PERCENT_ENCODING: Code = Code {
    name: "url-percent-encoding",
    summary: "a `%` in a URL does not start a valid escape",
    explanation: "In a URL, `%` must be followed by two hexadecimal digits, and the decoded bytes must be UTF-8 text. \
Clients pass a broken escape on or repair it, and servers read it in different ways. A percent sign that belongs to \
the key is written `%25`.",
};

/// The path holds a raw plus sign.
pub static URL_RAW_PLUS: Code = Code {
    name: "url-raw-plus",
    summary: "the path of a URL holds a raw `+`",
    explanation: "Stores disagree about a raw `+` in a path: S3 reads a space, MinIO and others read a plus sign, so \
the same URL addresses two different keys. Write `%2B` for a plus sign and `%20` for a space; all SDKs do.",
};

/// The path holds a `.` or `..` segment, a control character or a backslash.
pub static URL_KEY_UNSAFE: Code = Code {
    name: "url-key-unsafe",
    summary: "the key in a URL holds `.` or `..` segments, a backslash or a control character",
    explanation: "Some stores allow `.` and `..` as parts of a key, but most clients and proxies resolve them, also \
when they are written as `%2e` or hidden behind `%2F`; a backslash is a separator for some stores and forbidden for \
others; control characters break logs and protocols. The request that arrives would then name another object, or \
fail with a signature error. Use a key without them.",
};

/// The path of a URL, raw and decoded.
pub(crate) struct ObjectPath<'a> {
    raw: &'a str,
    decoded: String,
}

impl<'a> ObjectPath<'a> {
    /// Checks and decodes a raw path; an empty one is `/`.
    pub(crate) fn parse(raw: &'a str) -> Result<Self, Fault> {
        let raw = if raw.is_empty() { "/" } else { raw };
        if raw.contains('+') {
            return Err(Fault::new(
                &URL_RAW_PLUS,
                "a raw `+` in the path",
                "`%2B` for a plus sign, `%20` for a space",
                "write the one that the key holds",
            ));
        }
        let decoded = encoding::decode(raw).map_err(|error| match error {
            DecodeError::Escape => Fault::new(
                &URL_PERCENT_ENCODING,
                "a `%` in the path without two hexadecimal digits after it",
                "`%` and two hexadecimal digits",
                "write a percent sign of the key as `%25`",
            ),
            DecodeError::Text => Fault::new(
                &URL_PERCENT_ENCODING,
                "escapes in the path that are not UTF-8",
                "keys in UTF-8",
                "use a key whose name is UTF-8 text",
            ),
        })?;
        check_key(&decoded)?;
        Ok(Self { raw, decoded })
    }

    /// The decoded path, with the `/` it starts with.
    pub(crate) fn decoded(&self) -> &str {
        &self.decoded
    }

    /// The path as written, with the `/` it starts with.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw
    }

    /// Everything after the first `/`, decoded.
    pub(crate) fn rest(&self) -> &str {
        &self.decoded[1..]
    }

    /// The first segment and everything after it, both decoded; `None` where there is no second `/`.
    ///
    /// The cut is made at the first written slash, so an encoded one stays in the first segment, where no bucket
    /// may hold it.
    pub(crate) fn first_and_rest(&self) -> (String, Option<String>) {
        // Parts of a path that decoded as a whole decode again, save for a multi-byte character cut in two, and
        // `/` never cuts one.
        let decode = |part: &str| encoding::decode(part).unwrap_or_default();
        match self.raw[1..].split_once('/') {
            Some((first, rest)) => (decode(first), Some(decode(rest))),
            None => (decode(&self.raw[1..]), None),
        }
    }

    /// Whether the path looks as if it had been encoded twice, such as `%2520` for a space.
    pub(crate) fn looks_double_encoded(&self) -> bool {
        self.raw.match_indices("%25").any(|(start, _)| {
            let digits = self.raw.as_bytes().get(start + 3..start + 5);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        })
    }
}

fn check_key(decoded: &str) -> Result<(), Fault> {
    let found = if decoded.split('/').any(|segment| matches!(segment, "." | "..")) {
        "a `.` or `..` segment in the path".to_owned()
    } else if decoded.contains('\\') {
        "an encoded backslash in the path".to_owned()
    } else if let Some(control) = decoded.chars().find(|c| c.is_control()) {
        format!("the control character {control:?} in the path")
    } else {
        return Ok(());
    };
    Err(Fault::new(
        &URL_KEY_UNSAFE,
        found,
        "a key without `.` and `..` segments, backslashes and control characters",
        "use another key for the object",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_once() {
        for (raw, decoded) in [
            ("", "/"),
            ("/a", "/a"),
            ("/%61%2fb", "/a/b"),
            ("/a%252Fb", "/a%2Fb"),
            ("/a%2Bb%20c", "/a+b c"),
            ("/caf%c3%A9", "/caf\u{e9}"),
            ("//a//", "//a//"),
            ("/..a/b..", "/..a/b.."),
        ] {
            assert_eq!(ObjectPath::parse(raw).unwrap().decoded(), decoded, "{raw}");
        }
    }

    #[test]
    fn refused_paths() {
        for (raw, code) in [
            ("/a+b", "url-raw-plus"),
            ("/a%zz", "url-percent-encoding"),
            ("/a%", "url-percent-encoding"),
            ("/a%4", "url-percent-encoding"),
            ("/a%FF", "url-percent-encoding"),
            ("/a%C3", "url-percent-encoding"),
            ("/a%00", "url-key-unsafe"),
            ("/a%0Ab", "url-key-unsafe"),
            ("/a%C2%85", "url-key-unsafe"),
            ("/a%5Cb", "url-key-unsafe"),
            ("/a/../b", "url-key-unsafe"),
            ("/a%2F..%2Fb", "url-key-unsafe"),
            ("/%2e%2e%2fb", "url-key-unsafe"),
            ("/a/%2e", "url-key-unsafe"),
            ("/.", "url-key-unsafe"),
        ] {
            assert_eq!(ObjectPath::parse(raw).err().map(|f| f.code.name), Some(code), "{raw}");
        }
    }

    #[test]
    fn first_segment_ends_at_a_written_slash() {
        let path = ObjectPath::parse("/b%2Fc/d%2Fe").unwrap();
        assert_eq!(path.first_and_rest(), ("b/c".into(), Some("d/e".into())));
        let path = ObjectPath::parse("/b").unwrap();
        assert_eq!(path.first_and_rest(), ("b".into(), None));
    }

    #[test]
    fn double_encoding() {
        for (raw, expected) in [
            ("/a%2520b", true),
            ("/dir/a%2520-b/c", true),
            ("/a%25zz", false),
            ("/a%25", false),
            ("/a%20", false),
        ] {
            assert_eq!(ObjectPath::parse(raw).unwrap().looks_double_encoded(), expected, "{raw}");
        }
    }
}
