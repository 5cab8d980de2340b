//! How long one submission takes in process: from its bytes to its Secret and Job.
//!
//! `cargo bench --bench dispatch`. The goal for `parse, fit and render` is a median of at most 1 ms.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};

use harness::profile::Profiles;
use harness::render::{fit, render};
use harness::submission::{Namespace, Submission};

/// A submission as `submit` gets it: every URL signed, all in all about 4 KiB.
fn submission() -> Vec<u8> {
    let digest = |digit: &str| digit.repeat(64);
    let url = |key: &str, signed: &str| {
        format!(
            "https://example-bucket.s3.us-west-2.amazonaws.com/{key}?X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIAFAKEHARNESS00001%2F20260101%2Fus-west-2%2Fs3%2Faws4_request\
             &X-Amz-Date=20260101T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders={signed}&X-Amz-Signature={}",
            digest("a")
        )
    };
    let document = serde_json::json!({
        "schema_version": "prediction_submission.v1",
        "attempt_id": "bench-1",
        "mission_id": "Mission 7",
        "image": format!("registry.example.org/lab/model@sha256:{}", digest("1")),
        "evaluator_version": format!("sha256:{}", digest("2")),
        "resource_profile": "standard-v1",
        "search_budget": { "max_seconds": 600 },
        "mission_url": url("mission.json", "host"),
        "mission_sha256": digest("3"),
        "snapshot_url": url("snapshot.tar", "host"),
        "snapshot_sha256": digest("4"),
        "result_put_url": url("bench-1/result.tar", "host%3Bif-none-match"),
        "result_readback_url": url("bench-1/result.tar", "host"),
        "runner_command": ["python3", "-m", "model", "--seed=1"],
    });
    serde_json::to_vec_pretty(&document).expect("a JSON value serialises")
}

fn dispatch(criterion: &mut Criterion) {
    let bytes = submission();
    let image = format!("registry.example.org/harness@sha256:{}", "5".repeat(64));
    let profiles =
        Profiles::embedded().with_harness_image(&image).expect("the image is spelt out in full");
    let namespace = Namespace::parse("lab").expect("a DNS label");
    let parse = |bytes: &[u8]| Submission::parse(bytes).expect("the submission is valid");
    let parsed = parse(&bytes);

    criterion.bench_function("parse, fit and render", |bencher| {
        bencher.iter(|| {
            let submission = parse(black_box(&bytes));
            let fitted = fit(&submission, &profiles).expect("it fits its profile");
            render(&fitted, &namespace).expect("it renders")
        });
    });
    criterion.bench_function("parse", |bencher| bencher.iter(|| parse(black_box(&bytes))));
    criterion.bench_function("fit and render", |bencher| {
        bencher.iter(|| {
            let fitted = fit(black_box(&parsed), &profiles).expect("it fits its profile");
            render(&fitted, &namespace).expect("it renders")
        });
    });
    criterion.bench_function("embedded profiles", |bencher| bencher.iter(Profiles::embedded));
}

criterion_group!(benches, dispatch);
criterion_main!(benches);
