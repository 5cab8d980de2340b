//! The vectors, and properties that hold for every URL.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

#[test]
fn vectors_of_object_pairs() {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/vectors/object-pairs.json")).unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap();
        let (a, b) = (ObjectUrl::parse(text("a")), ObjectUrl::parse(text("b")));
        let found = match (&a, &b) {
            (Ok(a), Ok(b)) => match compare(a, b, &EndpointAliases::default()) {
                Comparison::Same if a.version() == b.version() => "yes",
                Comparison::Same => "yes*",
                Comparison::Different => "no",
                Comparison::Ambiguous(_) => "reject",
            },
            _ => "reject",
        };
        if found != text("verdict") {
            wrong.push(format!("{} {}: {found}, {a:?} {b:?}", text("id"), text("why")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(rows.len(), 104);
}

#[test]
fn codes_are_distinct_and_told() {
    let names: BTreeSet<&str> = CODES.iter().map(|code| code.name).collect();
    assert_eq!(names.len(), CODES.len());
    for code in CODES {
        let kebab = code.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        assert!(kebab && code.explanation.len() > 100 && !code.summary.ends_with('.'), "{code}");
    }
}

/// What depends on parameters, on unknown hosts alone.
#[test]
fn selected_by_query() {
    for (raw, is_selected) in [
        ("https://dl.example.com/get?id=7", true),
        ("https://dl.example.com/get", false),
        ("https://dl.example.com/get?X-Amz-Signature=0", false),
        ("https://ex-bkt.s3.us-west-2.amazonaws.com/get?versionId=7", false),
    ] {
        let url = ObjectUrl::parse(raw).unwrap();
        assert_eq!(url.is_selected_by_query(), is_selected, "{raw}");
        let shown = format!("{:?}", url.identity());
        assert!(shown.contains("path: ") && !shown.contains("=7"), "{shown}");
    }
}

#[test]
fn hosts_that_take_no_writes() {
    for (raw, is_read_only) in [
        ("https://ex-bkt.s3.us-west-2.amazonaws.com/k", false),
        ("https://acct.blob.core.windows.net/ex-cont/k", false),
        ("https://acct-secondary.blob.core.windows.net/ex-cont/k", true),
        ("https://acct.dfs.core.windows.net/ex-cont/k", true),
        ("https://storage.googleapis.com/ex-bkt/k", false),
        ("https://storage.cloud.google.com/ex-bkt/k", true),
        ("https://f004.backblazeb2.com/file/ex-bkt/k", true),
        ("https://ex-bkt.s3.us-west-004.backblazeb2.com/k", false),
    ] {
        let url = ObjectUrl::parse(raw).unwrap();
        assert_eq!(url.read_only().is_some(), is_read_only, "{raw}");
    }
}

#[test]
fn only_short_names_of_azure_are_dropped() {
    for (raw, parameters) in [
        ("https://acct.blob.core.windows.net/ex-cont/k?sv=1&sig=2", false),
        ("https://files.example.com/k?sv=1&sig=2&se=3", false),
        ("https://files.example.com/k?sv=1&se=3", true),
        ("https://files.example.com/k?sig=2&se=3", true),
    ] {
        let url = ObjectUrl::parse(raw).unwrap();
        assert_eq!(url.is_selected_by_query(), parameters, "{raw}");
    }
}

#[test]
fn notes() {
    for (raw, expected) in [
        ("https://ex-bkt.s3.us-west-2.amazonaws.com/a", &[][..]),
        ("https://ex-bkt.s3.us-west-2.amazonaws.com/a%2520b", &["url-double-encoded"]),
        ("https://my.bkt.s3.us-west-2.amazonaws.com/a", &["url-dotted-bucket"]),
        ("https://ex-bkt.oss-cn-hangzhou-internal.aliyuncs.com/a", &["url-private-host"]),
        ("https://10.0.0.1:9000/b/k", &["url-private-host"]),
        (
            "https://files-1250000000.cos-internal.ap-guangzhou.tencentcos.cn/k",
            &["url-private-host"],
        ),
        ("https://ossuary.example.com/k", &[]),
        ("https://files-internal.example.com/k", &[]),
        ("https://storage.cloud.google.com/ex-bkt/k", &["url-login-host"]),
        ("https://dl.example.com/get?id=7", &["url-query-identity"]),
    ] {
        let url = ObjectUrl::parse(raw).unwrap();
        let codes: Vec<_> = url.notes().iter().map(|note| note.code.name).collect();
        assert_eq!(codes, expected, "{raw}");
    }
}

#[test]
fn text_for_messages() {
    let url =
        ObjectUrl::parse("HTTPS://H.Example:443/%41?versionId=secret&X-Amz-Date=canary").unwrap();
    assert_eq!(url.without_query(), "https://h.example/%41");
    assert_eq!(
        format!("{url} {url:?}"),
        "https://h.example/%41?*** ObjectUrl(https://h.example/%41?***)"
    );
    assert_eq!(url.expose(), "HTTPS://H.Example:443/%41?versionId=secret&X-Amz-Date=canary");
    assert_eq!(url.decoded_path(), "/A");
    assert_eq!(url.version(), Some("secret"));
}

/// Hosts and path starts under which a key may stand, one per store and style.
const BASES: &[&str] = &[
    "ex-bkt.s3.us-west-2.amazonaws.com/",
    "s3.us-west-2.amazonaws.com/ex-bkt/",
    "ex-bkt.oss-cn-hangzhou.aliyuncs.com/",
    "storage.googleapis.com/ex-bkt/",
    "exacct.blob.core.windows.net/ex-cont/",
    "ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/",
    "ex-bkt.obs.cn-north-4.myhuaweicloud.com/",
    "0123456789abcdef0123456789abcdef.r2.cloudflarestorage.com/ex-bkt/",
    "s3.us-west-004.backblazeb2.com/ex-bkt/",
    "ex-bkt.nyc3.digitaloceanspaces.com/",
    "minio.example.net/ex-bkt/",
];

/// Writes a key with an escape for every byte that needs one, and for those that `choices` picks.
fn spell(key: &str, choices: &[u8]) -> String {
    key.bytes()
        .enumerate()
        .map(|(index, byte)| {
            let plain = byte.is_ascii_alphanumeric() || b"-_~/".contains(&byte);
            // A slash is left alone: where it cuts bucket from key it must be written.
            match choices[index % choices.len()] % 3 {
                0 if byte != b'/' => format!("%{byte:02X}"),
                1 if byte != b'/' => format!("%{byte:02x}"),
                _ if plain => (byte as char).to_string(),
                _ => format!("%{byte:02x}"),
            }
        })
        .collect()
}

/// Keys that every store takes.
fn key() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9_~ +%=&?#é-]{1,8}(/[a-zA-Z0-9_~ +%=&?#é-]{1,8}){0,3}"
        .prop_filter("a usable key", |key: &String| key != "soap")
}

proptest! {
    #[test]
    fn parse_never_panics(raw in "\\PC{0,60}") {
        let _ = ObjectUrl::parse(&raw);
        let _ = ObjectUrl::parse(&format!("https://{raw}"));
    }

    #[test]
    fn parse_never_panics_on_hosts_of_stores(
        base in prop::sample::select(BASES),
        cut in 0_usize..70,
        rest in "[a-z%/?&=.:@\\[\\]_+2F$-]{0,30}",
    ) {
        let _ = ObjectUrl::parse(&format!("https://{base}{rest}"));
        let _ = ObjectUrl::parse(&format!("https://{}{rest}", &base[cut.min(base.len())..]));
        let _ = ObjectUrl::parse(&format!("https://{}{rest}", &base[..cut.min(base.len())]));
    }

    #[test]
    fn another_spelling_is_the_same_object(
        base in prop::sample::select(BASES),
        key in key(),
        first in prop::collection::vec(any::<u8>(), 1..40),
        second in prop::collection::vec(any::<u8>(), 1..40),
        upper in any::<bool>(),
        port in any::<bool>(),
    ) {
        let (host, start) = base.split_once('/').unwrap();
        let plain = ObjectUrl::parse(&format!("https://{base}{}", spell(&key, &first)));
        let host = if upper { host.to_uppercase() } else { host.to_owned() };
        let port = if port { ":443" } else { "" };
        let other = format!("https://{host}{port}/{start}{}", spell(&key, &second));
        match (plain, ObjectUrl::parse(&other)) {
            (Ok(plain), Ok(other)) => {
                prop_assert_eq!(plain.identity(), other.identity());
                prop_assert_eq!(
                    plain.identity().result_identity(),
                    other.identity().result_identity()
                );
                prop_assert_eq!(
                    compare(&plain, &other, &EndpointAliases::default()),
                    Comparison::Same
                );
            }
            (plain, other) => prop_assert!(false, "{plain:?} {other:?}"),
        }
    }

    #[test]
    fn another_byte_is_another_identity(
        base in prop::sample::select(BASES),
        key in key(),
        at in any::<prop::sample::Index>(),
        replacement in "[a-zA-Z0-9]",
    ) {
        let position = at.index(key.chars().count());
        let changed: String = key
            .chars()
            .enumerate()
            .map(|(index, c)| match replacement.chars().next() {
                Some(new) if index == position && c != '/' => new,
                _ => c,
            })
            .collect();
        prop_assume!(changed != key);
        let parse = |key: &str| ObjectUrl::parse(&format!("https://{base}{}", spell(key, &[2]))).unwrap();
        let (one, other) = (parse(&key), parse(&changed));
        prop_assert_ne!(one.identity(), other.identity());
        prop_assert_ne!(one.identity().result_identity(), other.identity().result_identity());
        prop_assert_ne!(compare(&one, &other, &EndpointAliases::default()), Comparison::Same);
    }

    #[test]
    fn nothing_of_a_query_is_shown(
        base in prop::sample::select(BASES),
        name in "[A-Za-z-]{1,12}",
        odd in "[ -~]{0,3}",
    ) {
        for query in [
            format!("{name}=canary{odd}"),
            format!("X-Amz-Signature=canary{odd}"),
            format!("canary{}", odd.replace('=', "")),
            "canary==".to_owned(),
            format!("sig=canary{odd}&sv=canary2"),
            format!("Expires=canary&Expires=canary{odd}"),
        ] {
            let shown = match ObjectUrl::parse(&format!("https://{base}k?{query}")) {
                Ok(url) => format!("{url} {url:?} {:?} {:?} {}", url.identity(), url.notes(), url.without_query()),
                Err(fault) => format!("{fault:?}"),
            };
            prop_assert!(!shown.contains("canary"), "{}", shown);
        }
    }
}
