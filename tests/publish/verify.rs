//! `harness evidence verify`: one changed byte is found.

use std::fs;

use harness::execution::Ending;

use crate::kit::{Pod, store, verify_command};

#[test]
fn a_changed_byte_is_found_and_named() {
    let pod = Pod::new();
    pod.run(Ending::Exited { code: 0 });
    let bytes = store().get(&pod.object).unwrap().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result");
    // Every byte is changed in a test of the library; here, whether the command says so.
    for at in (0..bytes.len()).step_by(bytes.len() / 16) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).unwrap();
        let output = verify_command(&file);
        assert_eq!(output.status.code(), Some(3), "byte {at}");
        let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(verdict["holds"], false);
        assert!(!verdict["findings"].as_array().unwrap().is_empty());
    }
    let missing = verify_command(&folder.path().join("none"));
    assert_eq!(missing.status.code(), Some(2));
}
