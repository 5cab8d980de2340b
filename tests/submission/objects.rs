//! URLs in their fields: each alone, its signature, and what the five are to each other.

use harness::submission::Submission;

use crate::cases::{Case, check_all};
use crate::form::{Form, plain, signed};

const URLS: [&str; 5] =
    ["mission_url", "snapshot_url", "resume_url", "result_put_url", "result_readback_url"];

/// A URL that no field takes, and the code.
fn unfit_urls() -> Vec<(&'static str, String)> {
    let host = "https://h.example.org";
    let bucket = plain("");
    let rows = [
        ("url-scheme", "http://h.example.org/a-1".to_owned()),
        ("url-scheme", "s3://bucket/a-1".to_owned()),
        ("url-scheme", String::new()),
        ("url-character", format!("{host}/a 1")),
        ("url-character", format!("{host}/é")),
        ("url-character", format!("{host}/a-1\n")),
        ("url-character", format!("{host}/\u{202e}")),
        ("url-fragment", format!("{host}/a-1#x")),
        ("url-userinfo", "https://user:canary@h.example.org/a-1".to_owned()),
        ("url-not-normal", format!("{bucket}a-1?versionId='c'")),
        ("url-too-long", format!("{host}/{}", "a".repeat(8192))),
        ("url-host", "https://b*c.example/a-1".to_owned()),
        ("url-port", "https://h.example.org:0/a-1".to_owned()),
        ("url-raw-plus", format!("{bucket}a+1")),
        ("url-percent-encoding", format!("{bucket}a%zz")),
        ("url-key-unsafe", format!("{bucket}a%00")),
        ("url-key", "https://exacct.blob.core.windows.net/ex-cont/".to_owned()),
        ("url-bucket", "https://exacct.blob.core.windows.net/ex--cont/a-1".to_owned()),
        ("url-host-form", "https://exacct.file.core.windows.net/ex-cont/a-1".to_owned()),
        ("url-path-style", "https://oss-cn-hangzhou.aliyuncs.com/ex-bkt/a-1".to_owned()),
        ("url-login-host", "https://storage.cloud.google.com/ex-bkt/a-1?authuser=1".to_owned()),
        ("url-parameter-unknown", format!("{bucket}a-1?a=canary")),
        ("url-parameter-case", format!("{bucket}a-1?x-amz-expires=1")),
        ("url-parameter-repeated", format!("{bucket}a-1?versionId=1&versionId=2")),
        ("url-subresource", format!("{bucket}a-1?acl")),
    ];
    rows.to_vec()
}

fn alone() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in URLS {
        for (code, url) in unfit_urls().into_iter().filter(|(code, _)| *code != "url-login-host") {
            let form = Form::full().with(name, &url);
            cases.push(Case::at_field(format!("{name}: {url:.80}"), &form, name, &[code]));
        }
    }
    cases
}

const S3: &str = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAFAKEHARNESS00001%2F20261201%2Fus-west-2%2Fs3%2F\
aws4_request&X-Amz-Date=20261201T080000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=";
const MARK: &str = "cacacacacacacacacacacacacacacacacacacacacacacacacacacacacacacaca";

/// A signature that cannot serve an input.
fn input_signatures() -> Vec<Case> {
    let url = |query: &str| format!("{}?{query}", plain("in/m.json"));
    let s3 = format!("{S3}{MARK}");
    let azure = |query: &str| {
        format!(
            "https://exacct.blob.core.windows.net/ex-cont/in/a?sv=2023-11-03&{query}&sig=ZmFrZQ%3D%3D"
        )
    };
    [
        ("signature-incomplete", url(&s3.replace("X-Amz-Expires=3600&", ""))),
        ("signature-incomplete", url("X-Amz-Expires=3600")),
        ("signature-malformed", url(&s3.replace("AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"))),
        ("signature-lifetime", url(&s3.replace("=3600", "=0"))),
        ("signature-lifetime", url(&s3.replace("=3600", "=604801"))),
        ("signature-mixed", url(&format!("{s3}&AWSAccessKeyId=AKIA&Expires=1&Signature=x"))),
        ("signature-method", url(&format!("{s3}&x-id=PutObject"))),
        ("header-undeclared", url(&s3.replace("SignedHeaders=host", "SignedHeaders=host%3Brange"))),
        ("credentials-end-unknown", url(&s3.replace("=AKIA", "=ASIA"))),
        ("signature-permission", azure("sr=b&sp=w&se=2026-12-01T09%3A00%3A00Z")),
        (
            "signature-address-bound",
            azure("sr=b&sp=r&se=2026-12-01T09%3A00%3A00Z&sip=198.51.100.7"),
        ),
        ("signature-policy", azure("sr=b&si=pol")),
        (
            "signature-foreign",
            url(&format!("OSSAccessKeyId=LTAI&Expires=1796115600&Signature={MARK}")),
        ),
    ]
    .into_iter()
    .map(|(code, url)| {
        let form = Form::minimal().with("mission_url", &url);
        Case::at_field(format!("mission_url: {code}"), &form, "mission_url", &[code])
    })
    .collect()
}

/// A signature that cannot serve the result.
fn result_signatures() -> Vec<Case> {
    let url = |query: &str| format!("{}?{query}", plain("out/a-1/r.tar"));
    let s3 = format!("{S3}{MARK}");
    let case = |code: &'static str, url: String, headers: &str| {
        let form = Form::minimal().with("result_put_url", &url).set("result_put_headers", headers);
        Case::at_field(format!("result_put_url: {code}"), &form, "result_put_url", &[code])
    };
    vec![
        case(
            "guard-missing",
            format!(
                "https://ex-bkt.oss-cn-hangzhou.aliyuncs.com/a-1?OSSAccessKeyId=LTAI&Expires=1796115600&Signature={MARK}"
            ),
            "{}",
        ),
        case(
            "guard-unsupported",
            "https://s3.us-west-004.backblazeb2.com/ex-bkt/a-1".to_owned(),
            "{}",
        ),
        case(
            "guard-unsupported",
            url(&format!("AWSAccessKeyId=AKIA&Expires=1796115600&Signature={MARK}")),
            "{}",
        ),
        case("guard-value", url(&s3), r#"{"if-none-match": "canary"}"#),
        case("header-unsigned", url(&s3), r#"{"x-amz-meta-a": "canary"}"#),
        case(
            "header-undeclared",
            url(&s3.replace("SignedHeaders=host", "SignedHeaders=content-type%3Bhost")),
            "{}",
        ),
        case("signature-method", url(&format!("{s3}&x-id=GetObject")), "{}"),
        case("output-version", url(&format!("versionId=canary&{s3}")), "{}"),
        case("output-version", url("versionId=canary"), "{}"),
        case(
            "output-read-only",
            "https://exacct-secondary.blob.core.windows.net/ex-cont/a-1".to_owned(),
            "{}",
        ),
    ]
}

/// What the URLs are to each other.
fn relations() -> Vec<Case> {
    let put = "result_put_url";
    let key = "a-1/r.tar";
    let mut cases = Vec::new();
    let mut add = |what: &str, form: Form, name: &str, codes: &[&'static str]| {
        cases.push(Case::at_field(what, &form, name, codes));
    };
    let resumed = || Form::full().without("result_readback_url");
    for input in ["mission_url", "snapshot_url", "resume_url"] {
        for (what, url) in [
            ("equal", plain(key)),
            ("path style", format!("https://s3.us-west-2.amazonaws.com/ex-bkt/{key}")),
            ("other spelling", plain("a%2D1/r.tar")),
            ("a version of it", format!("{}?versionId=v1", plain(key))),
            ("signed", signed(key, "host", "ca")),
        ] {
            let form = resumed()
                .with(put, &signed(key, "content-type%3Bhost%3Bif-none-match", "a4"))
                .with(input, &url);
            add(&format!("result is {input}, {what}"), form, put, &["result-is-input"]);
        }
    }
    add(
        "result is two inputs",
        Form::minimal()
            .with("mission_url", &plain(key))
            .with("snapshot_url", &plain(key))
            .with(put, &plain(key)),
        put,
        &["result-is-input", "result-is-input"],
    );
    let unknown = |query: &str| format!("https://data.example.org/a-1/r.tar{query}");
    for (what, input, output, more) in [
        ("own host before the bucket", unknown(""), plain(key), None),
        (
            "another query on an unknown host",
            unknown("?id=1"),
            unknown("?id=2"),
            Some("result-selected-by-query"),
        ),
    ] {
        let form = Form::minimal().with("mission_url", &input).with(put, &output);
        let codes: Vec<_> = ["result-may-be-input"].into_iter().chain(more).collect();
        add(what, form, put, &codes);
    }
    for path in [
        "result.tar",
        "a-12/r",
        "xa-1/r",
        "a-1x",
        "A-1/r",
        "a_1/r",
        "attempt-a-1/r",
        "attempt=a-12/r",
        "attempt=/r",
        "attempts=a-1/r",
        "a-1.",
        "a-1..tar",
        "a-1.tar-2",
        "a-1.abcdefghijklmnopq",
        "a-1%2Fx%2Fy.tar2%20",
        "a%20-1/r",
        "a-1%20/r",
    ] {
        // An encoded slash separates segments as well, once decoded.
        if path.contains("%2F") {
            continue;
        }
        add(path, Form::minimal().with(put, &plain(path)), put, &["attempt-not-in-result-path"]);
    }
    // Neither a bucket, nor a host, nor a query is a place for it.
    for url in ["https://a-1.s3.us-west-2.amazonaws.com/r.tar", "https://a-1.example.org/r.tar"] {
        add(url, Form::minimal().with(put, url), put, &["attempt-not-in-result-path"]);
    }
    let by_query = Form::minimal().with(put, "https://h.example.org/r.tar?k=/a-1/x");
    add(
        "the attempt in the query",
        by_query,
        put,
        &["result-selected-by-query", "attempt-not-in-result-path"],
    );
    for (what, url) in [
        ("another key", plain("a-1/other.tar")),
        ("another bucket", "https://other.s3.us-west-2.amazonaws.com/a-1/r.tar".to_owned()),
        ("own host", "https://data.example.org/a-1/r.tar".to_owned()),
    ] {
        let form = Form::minimal().with(put, &plain(key)).with("result_readback_url", &url);
        add(what, form, "result_readback_url", &["readback-differs"]);
    }
    let versioned = Form::minimal()
        .with(put, &plain(key))
        .with("result_readback_url", &format!("{}?versionId=canary", plain(key)));
    add("read-back of a version", versioned, "result_readback_url", &["output-version"]);
    cases
}

pub(crate) fn cases() -> Vec<Case> {
    [alone(), input_signatures(), result_signatures(), relations()].into_iter().flatten().collect()
}

#[test]
fn urls_are_refused_in_their_field() {
    check_all(&cases());
}

#[test]
fn the_attempt_may_stand_in_each_of_its_forms() {
    for path in [
        "a-1",
        "x/a-1",
        "a-1/x",
        "attempt=a-1/x",
        "a-1.tar",
        "a-1.tar.zst",
        "x/attempt=a-1.zip",
        "a%2D1/r",
        "a-1.abcdefghijklmnop",
        "other/a-1/a-1.tar",
    ] {
        let json = Form::minimal().with("result_put_url", &plain(path)).json();
        assert!(Submission::parse(json.as_bytes()).is_ok(), "{path}");
    }
    // The bucket in the path is a segment of the path as well.
    let path_style = "https://minio.example.net:9000/bucket/a-1/r.tar";
    let json = Form::minimal().with("result_put_url", path_style).json();
    assert!(Submission::parse(json.as_bytes()).is_ok());
}

/// What is accepted and still said: the code and a submission.
pub(crate) fn noted() -> Vec<(&'static str, Form)> {
    let input = |url: &str| Form::minimal().with("mission_url", url);
    let oss = format!(
        "https://ex-bkt.oss-cn-hangzhou.aliyuncs.com/a-1?x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-credential=LTAIFAKE%2F\
20261201%2Fcn-hangzhou%2Foss%2Faliyun_v4_request&x-oss-date=20261201T080000Z&x-oss-expires=3600&x-oss-signature={MARK}"
    );
    let cos = format!(
        "https://ex-bkt-1250000000.cos.ap-guangzhou.myqcloud.com/a-1?q-sign-algorithm=sha1&q-ak=AKIDFAKE&q-sign-time=\
1796112000%3B1796115600&q-key-time=1796112000%3B1796115600&q-header-list=host&q-url-param-list=&q-signature={}",
        "ca".repeat(20)
    );
    vec![
        ("url-double-encoded", input(&plain("a%2520b"))),
        ("url-dotted-bucket", input("https://my.bkt.s3.us-west-2.amazonaws.com/a")),
        ("url-private-host", input("https://10.0.0.1:9000/b/k")),
        ("url-login-host", input("https://storage.cloud.google.com/ex-bkt/k")),
        ("url-query-identity", input("https://dl.example.com/get?id=7")),
        (
            "header-unsent",
            input(&format!("{}&x-oss-additional-headers=range", oss.replace("/a-1?", "/in/m?"))),
        ),
        (
            "checksum-in-query",
            Form::minimal().with(
                "result_put_url",
                &format!("{}?{S3}{MARK}&x-amz-checksum-crc32=AAAAAA%3D%3D", plain("a-1")),
            ),
        ),
        (
            "guard-versioned-bucket",
            Form::minimal()
                .with("result_put_url", &oss)
                .set("result_put_headers", r#"{"x-oss-forbid-overwrite": "true"}"#),
        ),
        ("guard-uncertain", Form::minimal().with("result_put_url", &cos)),
        (
            "guard-uncertain",
            Form::minimal().with(
                "result_put_url",
                &format!("https://minio.example.net:9000/ex-bkt/out/a-1/result.tar?{S3}{MARK}"),
            ),
        ),
    ]
}

#[test]
fn what_is_accepted_with_a_note_says_so() {
    for (code, form) in noted() {
        let json = form.json();
        let submission =
            Submission::parse(json.as_bytes()).unwrap_or_else(|found| panic!("{code}: {found:#?}"));
        let notes: Vec<&str> = submission.notes().iter().map(|note| note.fault.code.name).collect();
        assert!(notes.contains(&code), "{code}: {notes:?}");
    }
    assert!(Submission::parse(Form::full().json().as_bytes()).unwrap().notes().is_empty());
}
