//! The vectors, a table per family, and properties that hold for every URL.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn guard_values(names: &[&str]) -> BTreeMap<String, String> {
    names
        .iter()
        .map(|name| {
            let value = match *name {
                "x-goog-if-generation-match" => "0",
                "if-none-match" => "*",
                name if name.ends_with("-forbid-overwrite") => "true",
                _ => "application/x-tar",
            };
            ((*name).to_owned(), value.to_owned())
        })
        .collect()
}

/// The headers under the signature, in the words of the vectors.
fn signed_text(signature: &Signature) -> String {
    let listed: Vec<&str> = signature.signed_headers.iter().map(String::as_str).collect();
    let hidden = match signature.family {
        Family::SigV2 => "(hidden) content-md5 content-type x-amz-*",
        Family::OssV1 | Family::OssV2 | Family::OssV4 => {
            "(hidden) content-md5 content-type x-oss-*"
        }
        Family::Obs => "(hidden) content-md5 content-type x-obs-*",
        Family::GcsV2 => "(hidden) content-md5 content-type x-goog-*",
        _ => "",
    };
    let text = format!("{} {hidden}", listed.join(" "));
    if text.trim().is_empty() { "none".to_owned() } else { text.trim().to_owned() }
}

/// Expiry, signed headers and guard as the vectors write them, or `reject`.
fn outcome(row: &Value) -> Result<(String, String, String), String> {
    let url = ObjectUrl::parse(row["url"].as_str().unwrap()).map_err(|f| f.code.name.to_owned())?;
    let method = if row["method"] == "PUT" { Method::Put } else { Method::Get };
    let names: Vec<&str> =
        row["declared"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let end = row["credential_end"].as_str().map(at);
    let signed = inspect(&url, method, &guard_values(&names), end).map_err(|faults| {
        faults.iter().map(|fault| fault.code.name).collect::<Vec<_>>().join(" ")
    })?;
    let Signed::Signed(signature) = signed else {
        return Ok(("none (public)".to_owned(), "none".to_owned(), String::new()));
    };
    let now = at(row["now"].as_str().unwrap());
    check_life(&signature, now, now).map_err(|fault| fault.code.name.to_owned())?;
    let guard = signature.guard.as_ref().map_or(String::new(), |guard| match guard.name.as_str() {
        "if-none-match" => format!("If-None-Match: {}", guard.value),
        name => format!("{name}: {}", guard.value),
    });
    Ok((signature.expires.unwrap().to_string(), signed_text(&signature), guard))
}

#[test]
fn vectors_of_presigned_urls() {
    let rows: Vec<Value> =
        serde_json::from_str(include_str!("../../../tests/vectors/presigned-urls.json")).unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let expected = (text("expect"), text("signed"), text("guard"));
        let found = outcome(row);
        let holds = match &found {
            Ok(found) => *found == expected,
            Err(_) => expected.0 == "reject",
        };
        if !holds {
            wrong.push(format!("{} {}: {found:?}", text("id"), text("why")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(rows.len(), 50);
}

const NONE: Option<Timestamp> = None;

fn declared(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn url(text: &str) -> ObjectUrl {
    ObjectUrl::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

fn codes(result: Result<Signed, Vec<Fault>>) -> String {
    match result {
        Ok(Signed::Unsigned) => "unsigned".to_owned(),
        Ok(Signed::Signed(signature)) => signature.expires.unwrap().to_string(),
        Err(faults) => faults.iter().map(|fault| fault.code.name).collect::<Vec<_>>().join(" "),
    }
}

fn get(text: &str) -> String {
    codes(inspect(&url(text), Method::Get, &BTreeMap::new(), NONE))
}

fn put(text: &str, headers: &[(&str, &str)]) -> String {
    codes(inspect(&url(text), Method::Put, &declared(headers), NONE))
}

const NINE: &str = "2026-12-01T09:00:00Z";
const S3: &str = "https://ex-bkt.s3.us-west-2.amazonaws.com/k?";
const SIGV4: &str = "X-Amz-Algorithm=AWS4-HMAC-SHA256\
    &X-Amz-Credential=AKIAFAKE%2F20261201%2Fus-west-2%2Fs3%2Faws4_request\
    &X-Amz-Date=20261201T080000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=abab";
const GCS: &str = "https://storage.googleapis.com/ex-bkt/k?";
const GOOG4: &str = "X-Goog-Algorithm=GOOG4-RSA-SHA256\
    &X-Goog-Credential=fake%40fake.example%2F20261201%2Fauto%2Fstorage%2Fgoog4_request\
    &X-Goog-Date=20261201T080000Z&X-Goog-Expires=3600&X-Goog-SignedHeaders=host&X-Goog-Signature=abab";
const OSS: &str = "https://ex-bkt.oss-cn-hangzhou.aliyuncs.com/k?";
const OSS4: &str = "x-oss-signature-version=OSS4-HMAC-SHA256\
    &x-oss-credential=LTAIFAKE%2F20261201%2Fcn-hangzhou%2Foss%2Faliyun_v4_request\
    &x-oss-date=20261201T080000Z&x-oss-expires=3600&x-oss-signature=abab";
const AZURE: &str = "https://exacct.blob.core.windows.net/ex-cont/k?";
const SAS: &str = "sv=2023-11-03&sr=b&sp=rcw&se=2026-12-01T09%3A00%3A00Z&sig=ZmFrZQ%3D%3D";
const COS: &str = "https://ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/k?";
const COS1: &str = "q-sign-algorithm=sha1&q-ak=AKIDFAKE&q-sign-time=1796111940%3B1796115600\
    &q-key-time=1796111940%3B1796115600&q-header-list=host&q-url-param-list=&q-signature=abab";
const MINIO: &str = "https://minio.example.net:9000/ex-bkt/k?";

#[test]
fn every_code_is_listed() {
    let sources = [
        include_str!("mod.rs"),
        include_str!("azure.rs"),
        include_str!("cos.rs"),
        include_str!("credential.rs"),
        include_str!("dated.rs"),
        include_str!("epoch.rs"),
        include_str!("family.rs"),
        include_str!("guard.rs"),
        include_str!("headers.rs"),
        include_str!("life.rs"),
        include_str!("time.rs"),
    ];
    let declared: usize =
        sources.iter().map(|source| source.matches(": Code = Code {").count()).sum();
    assert_eq!(declared, CODES.len());
    let names: BTreeSet<&str> = CODES.iter().map(|code| code.name).collect();
    assert_eq!(names.len(), CODES.len());
    assert!(CODES.iter().all(|code| code.explanation.len() > 100 && !code.summary.ends_with('.')));
}

#[test]
fn forms_of_version_four() {
    for (change, expected) in [
        (("", ""), NINE),
        (("3600", "604801"), "signature-lifetime"),
        (("3600", "604800"), "2026-12-08T08:00:00Z"),
        (("3600", "0"), "signature-lifetime"),
        (("Headers=host", "Headers=range"), "signature-malformed"),
        (("3600", "%2B3600"), "signature-lifetime"),
        (("3600", "99999999999999999999"), "signature-lifetime"),
        (("X-Amz-Expires=3600&", ""), "signature-incomplete"),
        (("X-Amz-Algorithm=AWS4-HMAC-SHA256&", ""), "signature-incomplete"),
        (("&X-Amz-Signature=abab", ""), "signature-incomplete"),
        (("abab", "***"), "signature-malformed"),
        (("AWS4-HMAC-SHA256", "AWS5"), "signature-malformed"),
        (("20261201%2F", "20261130%2F"), "signature-malformed"),
        (("%2Fs3%2F", "%2Fec2%2F"), "signature-malformed"),
        (("AKIAFAKE%2F", "%2F"), "signature-malformed"),
        (("AKIAFAKE%2F", ""), "signature-malformed"),
        (("AKIAFAKE", "key%2Fwith%2Fslashes"), NINE),
        (("us-west-2", ""), "signature-malformed"),
        (("1T080000Z", "1T080000"), "signature-malformed"),
        (("T080000Z", "T080060Z"), "signature-malformed"),
        (("Headers=host", "Headers=Host"), "signature-malformed"),
        (("Headers=host", "Headers=host%3B"), "signature-malformed"),
        (("Headers=host", "Headers=host%3Bhost"), "signature-malformed"),
        (("Headers=host", "Headers=host%3Brange"), "header-undeclared"),
        (("AKIA", "ASIA"), "credentials-end-unknown"),
        (("abab", "abab&X-Amz-S3session-Token=x"), "credentials-end-unknown"),
        (("abab", "abab&X-Amz-Region-Set=us-east-1"), "signature-malformed"),
        (("abab", "abab&Expires=1796115600"), "signature-mixed"),
        (("abab", "abab&x-amz-security-token=x"), "signature-mixed"),
        (("abab", "abab&x-id=PutObject"), "signature-method"),
        (("abab", "abab&X-Amz-Meta-A=b&X-Amz-Checksum-Mode=ENABLED"), NINE),
    ] {
        let text = format!("{S3}{}", SIGV4.replacen(change.0, change.1, 1));
        assert_eq!(get(&text), expected, "{change:?}");
    }
    let version_4a =
        SIGV4.replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256").replace("us-west-2%2F", "");
    assert_eq!(get(&format!("{S3}{version_4a}&X-Amz-Region-Set=*")), NINE);
    assert_eq!(get(&format!("{S3}{version_4a}")), "signature-incomplete");
}

#[test]
fn forms_of_the_other_families() {
    for (base, query, expected) in [
        (GCS, GOOG4.to_owned(), NINE),
        (GCS, GOOG4.replace("storage%2Fgoog4", "s3%2Fgoog4"), "signature-malformed"),
        (GCS, SIGV4.to_owned(), NINE),
        (GCS, "GoogleAccessId=a%40b&Expires=1796115600&Signature=x".to_owned(), NINE),
        (
            GCS,
            "GoogleAccessId=a%40b&Expires=1796115600000&Signature=x".to_owned(),
            "signature-lifetime",
        ),
        (GCS, "GoogleAccessId=a%40b&Expires=1796115600".to_owned(), "signature-incomplete"),
        (GCS, "Expires=1796115600&Signature=x".to_owned(), "signature-incomplete"),
        (OSS, OSS4.to_owned(), NINE),
        (OSS, OSS4.replace("%2Foss%2F", "%2Fs3%2F"), "signature-malformed"),
        (OSS, OSS4.replace("OSS4-HMAC-SHA256", "OSS3"), "signature-malformed"),
        (OSS, OSS4.replace("LTAI", "STS."), "credentials-end-unknown"),
        (OSS, format!("{OSS4}&x-oss-ac-source-ip=1.2.3.4"), "signature-address-bound"),
        (
            OSS,
            "OSSAccessKeyId=STS.x&Expires=1796115600&Signature=x".to_owned(),
            "credentials-end-unknown",
        ),
        (
            OSS,
            "OSSAccessKeyId=L&Expires=1796115600&Signature=x&security-token=t".to_owned(),
            "credentials-end-unknown",
        ),
        (OSS, "AWSAccessKeyId=L&Expires=1796115600&Signature=x".to_owned(), NINE),
        (OSS, GOOG4.to_owned(), "signature-foreign"),
        (S3, OSS4.to_owned(), "signature-foreign"),
        (AZURE, SAS.to_owned(), NINE),
        (AZURE, SIGV4.to_owned(), "signature-foreign"),
        (AZURE, SAS.replace("sp=rcw", "sp=cw"), "signature-permission"),
        (AZURE, SAS.replace("sp=rcw&", ""), "signature-incomplete"),
        (AZURE, SAS.replace("&sig=ZmFrZQ%3D%3D", ""), "signature-incomplete"),
        (AZURE, SAS.replace("sr=b", "sr=q"), "signature-malformed"),
        (AZURE, SAS.replace("sr=b", "sr=bs"), NINE),
        (AZURE, SAS.replace("sr=b", "ss=bf&srt=sco"), NINE),
        (AZURE, SAS.replace("sr=b", "ss=f&srt=o"), "signature-permission"),
        (AZURE, SAS.replace("sr=b", "sr=b&ss=b&srt=o"), "signature-malformed"),
        (AZURE, SAS.replace("Z&", "&"), "signature-malformed"),
        (AZURE, SAS.replace("sp=rcw", "sp=rcw&st=yesterday"), "signature-malformed"),
        (AZURE, SAS.replace("sp=rcw", "si=policy"), NINE),
        (AZURE, SAS.replace("sp=rcw", "sp=rcw&spr=https"), NINE),
        (AZURE, SAS.replace("sp=rcw", "sp=rcw&spr=http"), "signature-malformed"),
        (AZURE, SAS.replace("sp=rcw", "sp=rcw&skoid=x"), "signature-incomplete"),
        (
            AZURE,
            SAS.replace("sp=rcw", "sp=rcw&skoid=x&ske=2026-12-01T08%3A30Z"),
            "2026-12-01T08:30:00Z",
        ),
        (MINIO, SAS.to_owned(), NINE),
        (COS, COS1.to_owned(), NINE),
        (COS, COS1.replace("sha1", "md5"), "signature-malformed"),
        (
            COS,
            COS1.replace("key-time=1796111940%3B1796115600", "key-time=1796115600%3B1796119200"),
            "signature-malformed",
        ),
        (
            COS,
            COS1.replace("time=1796111940%3B1796115600", "time=1796111940"),
            "signature-malformed signature-malformed",
        ),
        (COS, format!("{COS1}&x-cos-security-token=t"), "credentials-end-unknown"),
        (MINIO, SIGV4.to_owned(), NINE),
        (MINIO, format!("{SIGV4}&X-Amz-Security-Token=not.a.token"), "credentials-end-unknown"),
        (MINIO, "Key-Pair-Id=K&Policy=x&Signature=x".to_owned(), "signature-policy"),
        (MINIO, "token=x".to_owned(), "unsigned"),
        (MINIO, format!("{SIGV4}&{OSS4}"), "signature-mixed"),
    ] {
        assert_eq!(get(&format!("{base}{query}")), expected, "{base}{query}");
    }
}

#[test]
fn guards() {
    let listed =
        |query: &str, name: &str| query.replace("Headers=host", &format!("Headers=host%3B{name}"));
    let oss1 = "OSSAccessKeyId=L&Expires=1796115600&Signature=x";
    let goog2 = "GoogleAccessId=a%40b&Expires=1796115600&Signature=x";
    let huawei = "https://ex-bkt.obs.cn-north-4.myhuaweicloud.com/k?";
    let huawei_query = "AccessKeyId=F&Expires=1796115600&Signature=x";
    let oss_guard = ("x-oss-forbid-overwrite", "true");
    for (text, headers, expected) in [
        (format!("{S3}{SIGV4}"), &[][..], NINE),
        (format!("{S3}{SIGV4}"), &[("If-None-Match", "*")], NINE),
        (format!("{S3}{SIGV4}"), &[("if-none-match", "\"etag\"")], "guard-value"),
        (format!("{S3}{}", listed(SIGV4, "if-none-match")), &[], NINE),
        (format!("{MINIO}{SIGV4}"), &[], NINE),
        (
            format!("{MINIO}AWSAccessKeyId=A&Expires=1796115600&Signature=x"),
            &[],
            "guard-unsupported",
        ),
        (format!("{OSS}{oss1}"), &[], "guard-missing"),
        (format!("{OSS}{oss1}"), &[oss_guard], NINE),
        (format!("{OSS}{oss1}"), &[("X-OSS-Forbid-Overwrite", "true")], NINE),
        (format!("{OSS}{oss1}"), &[("x-oss-forbid-overwrite", "false")], "guard-value"),
        (format!("{OSS}{oss1}"), &[("if-none-match", "*")], "guard-missing"),
        (format!("{OSS}{OSS4}"), &[oss_guard], NINE),
        (
            format!("{OSS}{OSS4}&x-oss-additional-headers=host%3Bx-a"),
            &[oss_guard],
            "header-undeclared",
        ),
        (format!("https://dl.example.com/k?{OSS4}"), &[], "guard-missing"),
        (format!("https://dl.example.com/k?{OSS4}"), &[oss_guard], NINE),
        (format!("{OSS}{SIGV4}"), &[oss_guard], "guard-missing"),
        (format!("{OSS}{}", listed(SIGV4, "x-oss-forbid-overwrite")), &[], NINE),
        (
            format!("{GCS}{GOOG4}"),
            &[("x-goog-if-generation-match", "0")],
            "guard-missing header-unsigned",
        ),
        (format!("{GCS}{}", listed(GOOG4, "x-goog-if-generation-match")), &[], NINE),
        (
            format!("{GCS}{}", listed(GOOG4, "x-goog-if-generation-match")),
            &[("x-goog-if-generation-match", "1")],
            "guard-value",
        ),
        (format!("{GCS}{}", listed(SIGV4, "x-goog-if-generation-match")), &[], NINE),
        (
            format!("{GCS}{}", listed(GOOG4, "if-none-match")),
            &[("if-none-match", "*")],
            "guard-missing",
        ),
        (format!("{GCS}{goog2}"), &[], "guard-missing"),
        (format!("{GCS}{goog2}"), &[("x-goog-if-generation-match", "0")], NINE),
        (format!("{AZURE}{SAS}"), &[], NINE),
        (format!("{AZURE}{}", SAS.replace("sp=rcw", "sp=r")), &[], "signature-permission"),
        (format!("{AZURE}{}", SAS.replace("sr=b", "sr=bv")), &[], "signature-method"),
        (format!("{COS}{COS1}"), &[], NINE),
        (
            format!("{COS}{}", COS1.replace("list=host", "list=host%3Bx-cos-forbid-overwrite")),
            &[],
            NINE,
        ),
        (format!("{huawei}{huawei_query}"), &[], "guard-missing"),
        (format!("{huawei}{huawei_query}"), &[("x-obs-forbid-overwrite", "true")], NINE),
        (
            format!("https://s3.us-west-004.backblazeb2.com/ex-bkt/k?{SIGV4}"),
            &[],
            "guard-unsupported",
        ),
        ("https://s3.us-west-004.backblazeb2.com/ex-bkt/k".to_owned(), &[], "guard-unsupported"),
        (
            "https://d1.cloudfront.net/k?Expires=1796115600&Signature=x&Key-Pair-Id=K".to_owned(),
            &[],
            "signature-method",
        ),
    ] {
        assert_eq!(put(&text, headers), expected, "{text} {headers:?}");
    }
}

#[test]
fn outputs_that_cannot_be_written() {
    for (text, expected) in [
        ("https://ex-bkt.s3.us-west-2.amazonaws.com/k", "unsigned"),
        ("https://ex-bkt.s3.us-west-2.amazonaws.com/k?versionId=1", "output-version"),
        ("https://exacct-secondary.blob.core.windows.net/c-t/k", "output-read-only"),
        ("https://exacct.dfs.core.windows.net/c-t/k", "output-read-only"),
        ("https://storage.cloud.google.com/ex-bkt/k", "output-read-only"),
        ("https://storage.googleapis.com/storage/v1/b/ex-bkt/o/k?alt=media", "output-read-only"),
        ("https://ex-bkt-1250000000.cos.accelerate.myqcloud.com/k", "output-read-only"),
        ("https://f004.backblazeb2.com/file/ex-bkt/k", "output-read-only guard-unsupported"),
        ("https://ex-bkt.s3.us-west-2.amazonaws.com/k?x-id=GetObject", "signature-method"),
    ] {
        assert_eq!(put(text, &[]), expected, "{text}");
        if !text.contains("x-id") {
            assert_eq!(get(text), "unsigned", "{text}");
        }
    }
}

#[test]
fn declared_headers() {
    let unsigned = "https://ex-bkt.s3.us-west-2.amazonaws.com/k";
    for (headers, expected) in [
        (&[("Content-Type", "application/x-tar")][..], "unsigned"),
        (&[("Content-Type", "a"), ("content-type", "a")], "header-invalid"),
        (&[("content type", "a")], "header-invalid"),
        (&[("", "a")], "header-invalid"),
        (&[("content-type", "")], "header-invalid"),
        (&[("content-type", " a")], "header-invalid"),
        (&[("content-type", "a\r\nx: y")], "header-invalid"),
        (&[("Host", "h")], "header-invalid"),
        (&[("content-length", "1")], "header-invalid"),
        (&[("authorization", "x")], "header-invalid"),
        (&[("x-amz-copy-source", "/b/k")], "header-invalid"),
        (&[("x-oss-copy-source", "/b/k")], "header-invalid"),
        (&[("x-ms-blob-type", "AppendBlob")], "header-invalid"),
        (&[("x-ms-blob-type", "BlockBlob")], "unsigned"),
        (&[("x-oss-forbid-overwrite", "1")], "guard-value"),
    ] {
        assert_eq!(put(unsigned, headers), expected, "{headers:?}");
    }
    let signed =
        |names: &str| format!("{S3}{}", SIGV4.replace("Headers=host", &format!("Headers={names}")));
    for (names, headers, expected) in [
        ("host", &[("content-type", "a")][..], NINE),
        ("host", &[("x-amz-acl", "private")], "header-unsigned"),
        ("host%3Bx-amz-acl", &[("x-amz-acl", "private")], NINE),
        ("host%3Bx-amz-acl", &[], "header-undeclared"),
        ("content-length%3Bhost", &[], "header-undeclared"),
        (
            "host%3Bx-amz-security-token",
            &[("x-amz-security-token", "t")],
            "credentials-end-unknown",
        ),
    ] {
        assert_eq!(put(&signed(names), headers), expected, "{names} {headers:?}");
    }
    assert_eq!(put(&format!("{S3}{SIGV4}&X-Amz-Content-Sha256=UNSIGNED-PAYLOAD"), &[]), NINE);
    assert_eq!(put(&format!("{S3}{SIGV4}&X-Amz-Content-Sha256=abab"), &[]), "signature-malformed");
}

#[test]
fn headers_that_are_sent() {
    for (text, headers, expected) in [
        (format!("{S3}{SIGV4}"), &[][..], &[("if-none-match", "*")][..]),
        (
            format!("{S3}{SIGV4}"),
            &[("Content-Type", "a"), ("IF-NONE-MATCH", "*")],
            &[("content-type", "a"), ("if-none-match", "*")],
        ),
        (
            format!("{AZURE}{SAS}"),
            &[("x-ms-blob-type", "BlockBlob")],
            &[("if-none-match", "*"), ("x-ms-blob-type", "BlockBlob")],
        ),
        (format!("{AZURE}{SAS}"), &[], &[("if-none-match", "*"), ("x-ms-blob-type", "BlockBlob")]),
        (
            format!("{OSS}{OSS4}"),
            &[("x-oss-forbid-overwrite", "true")],
            &[("x-oss-forbid-overwrite", "true")],
        ),
        (format!("{COS}{COS1}"), &[], &[("x-cos-forbid-overwrite", "true")]),
    ] {
        let headers = declared(headers);
        let signed = inspect(&url(&text), Method::Put, &headers, NONE).unwrap();
        let sent = headers_to_send(signed.signature().unwrap(), &headers);
        assert_eq!(sent, declared(expected), "{text}");
    }
    let signed =
        inspect(&url(&format!("{S3}{SIGV4}")), Method::Get, &BTreeMap::new(), NONE).unwrap();
    assert!(headers_to_send(signed.signature().unwrap(), &BTreeMap::new()).is_empty());
}

#[test]
fn notes_on_signatures() {
    for (text, method, headers, expected) in [
        (format!("{S3}{SIGV4}"), Method::Put, &[][..], &[][..]),
        (
            format!("{S3}{SIGV4}&x-amz-checksum-crc32=AAAAAA%3D%3D"),
            Method::Put,
            &[],
            &["checksum-in-query"],
        ),
        (
            format!("{OSS}{OSS4}"),
            Method::Put,
            &[("x-oss-forbid-overwrite", "true")],
            &["guard-versioned-bucket"],
        ),
        (format!("{COS}{COS1}"), Method::Put, &[], &["guard-uncertain", "guard-versioned-bucket"]),
        (
            format!("{OSS}{OSS4}&x-oss-additional-headers=host%3Brange"),
            Method::Get,
            &[],
            &["header-unsent"],
        ),
    ] {
        let signed = inspect(&url(&text), method, &declared(headers), NONE).unwrap();
        let codes: Vec<_> =
            signed.signature().unwrap().notes.iter().map(|note| note.code.name).collect();
        assert_eq!(codes, expected, "{text}");
    }
}

#[test]
fn temporary_credentials_end_the_url() {
    let text = format!("{S3}{}", SIGV4.replace("AKIA", "ASIA"));
    for (end, expected) in
        [("2026-12-01T08:20:00Z", "2026-12-01T08:20:00Z"), ("2026-12-02T00:00:00Z", NINE)]
    {
        let signed = inspect(&url(&text), Method::Get, &BTreeMap::new(), Some(at(end))).unwrap();
        let signature = signed.signature().unwrap();
        assert!(signature.temporary);
        assert_eq!(signature.expires, Some(at(expected)));
    }
    // MinIO's token states its end, 08:30; the smaller instant counts.
    let token = "e30.eyJleHAiOjE3OTYxMTM4MDB9.x";
    let text = format!("{MINIO}{SIGV4}&X-Amz-Security-Token={token}");
    for (end, expected) in [
        (None, "2026-12-01T08:30:00Z"),
        (Some("2026-12-01T08:20:00Z"), "2026-12-01T08:20:00Z"),
        (Some("2026-12-02T00:00:00Z"), "2026-12-01T08:30:00Z"),
    ] {
        let signed = inspect(&url(&text), Method::Get, &BTreeMap::new(), end.map(at)).unwrap();
        assert_eq!(signed.signature().unwrap().expires, Some(at(expected)));
    }
    // The public clouds' tokens are opaque, whatever they look like.
    let text = text.replace(MINIO, S3);
    assert_eq!(get(&text), "credentials-end-unknown");
    // A permanent key does not end with the credentials of another URL.
    let signed = inspect(
        &url(&format!("{S3}{SIGV4}")),
        Method::Get,
        &BTreeMap::new(),
        Some(at("2026-12-01T08:20:00Z")),
    )
    .unwrap();
    assert_eq!(signed.signature().unwrap().expires, Some(at(NINE)));
    assert!(!signed.signature().unwrap().temporary);
}

#[test]
fn delegation_key_decides_to_the_second() {
    let text = format!(
        "{AZURE}{}",
        SAS.replace(
            "2026-12-01T09%3A00%3A00Z",
            "2026-12-08&skoid=x&skt=2026-12-01&ske=2026-12-03T08%3A00%3A00Z"
        )
    );
    let signed = inspect(&url(&text), Method::Put, &BTreeMap::new(), NONE).unwrap();
    let signature = signed.signature().unwrap();
    let now = at("2026-12-01T08:00:00Z");
    assert!(check_life(signature, now, at("2026-12-03T07:45:00Z")).is_ok());
    assert!(check_life(signature, now, at("2026-12-03T07:45:01Z")).is_err());
}

/// Names that mean something to some family, in the spelling that passes.
const NAMES: &[&str] = &[
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
    "X-Amz-Security-Token",
    "AWSAccessKeyId",
    "Expires",
    "Signature",
    "Policy",
    "OSSAccessKeyId",
    "x-oss-signature-version",
    "x-oss-date",
    "x-oss-expires",
    "x-oss-credential",
    "x-oss-additional-headers",
    "X-Goog-Algorithm",
    "X-Goog-Credential",
    "X-Goog-Date",
    "GoogleAccessId",
    "sig",
    "sv",
    "se",
    "sp",
    "ske",
    "q-sign-algorithm",
    "q-sign-time",
    "q-key-time",
    "AccessKeyId",
    "Key-Pair-Id",
    "x-id",
    "versionId",
    "x-amz-meta-a",
    "token",
];

proptest! {
    #[test]
    fn inspect_never_panics_and_shows_no_value(
        base in prop::sample::select(&[S3, GCS, OSS, AZURE, COS, MINIO][..]),
        pairs in prop::collection::btree_map(
            prop::sample::select(NAMES),
            prop_oneof![
                "[a-zA-Z0-9%/;.:=~-]{0,24}",
                Just("AWS4-HMAC-SHA256".to_owned()),
                Just("OSS4-HMAC-SHA256".to_owned()),
                Just("20261201T080000Z".to_owned()),
                Just("1796115600".to_owned()),
                Just("3600".to_owned()),
                Just("host".to_owned()),
            ],
            0..9,
        ),
        method in prop::sample::select(&[Method::Get, Method::Put][..]),
    ) {
        let query: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}=canary{value}")).collect();
        let plain: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        for query in [query, plain] {
            let Ok(url) = ObjectUrl::parse(&format!("{base}{}", query.join("&"))) else { continue };
            let result = inspect(&url, method, &BTreeMap::new(), NONE);
            prop_assert!(!format!("{result:?}").contains("canary"), "{:?}", result);
        }
    }

    #[test]
    fn life_is_a_threshold(needed in -100_000_i64..100_000, now in -100_000_i64..0) {
        let signed = inspect(&url(&format!("{S3}{SIGV4}")), Method::Get, &BTreeMap::new(), NONE).unwrap();
        let signature = signed.signature().unwrap();
        let expires = signature.expires.unwrap();
        let moment = |offset: i64| Timestamp::from_second(expires.as_second() + offset).unwrap();
        let holds = check_life(signature, moment(now), moment(needed)).is_ok();
        // Signed an hour before its end, and accepted up to fifteen minutes before that.
        prop_assert_eq!(holds, now >= -3600 - 900 && needed <= -900);
    }
}
