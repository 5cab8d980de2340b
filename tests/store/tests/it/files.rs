//! The server of files for measurements.

use std::fs;

use harness_test_store::{FileServer, send};

#[test]
fn files_are_served_whole_and_from_an_offset() {
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (0..3_000_001_u32).map(|number| (number % 251) as u8).collect();
    let (large, empty) = (folder.path().join("large"), folder.path().join("empty"));
    fs::write(&large, &bytes).unwrap();
    fs::write(&empty, "").unwrap();
    let server = FileServer::start(&[large, empty]).unwrap();
    let urls = server.urls();
    let get = |url: &str, headers: &[(&str, &str)]| {
        let address = url.split('/').nth(2).unwrap();
        send(address, server.authority(), "GET", url, headers, b"").unwrap()
    };
    let answer = get(&urls[0], &[]);
    assert_eq!((answer.status, answer.end), (200, None));
    assert!(answer.body == bytes);
    let answer = get(&urls[0], &[("Range", "bytes=3000000-")]);
    assert_eq!((answer.status, answer.body.as_slice()), (206, &bytes[3_000_000..]));
    assert_eq!(answer.header("content-range"), Some("bytes 3000000-3000000/3000001"));
    assert_eq!((get(&urls[1], &[]).status, get(&urls[1], &[]).body.len()), (200, 0));
    assert_eq!(get(&urls[0].replace("/0", "/2"), &[]).status, 404);
}
