//! The store does what S3 documents, and each rule does what its name says.

use harness_test_store::Store;

#[test]
fn starts_with_empty_buckets() {
    let store = Store::start().unwrap();
    assert!(store.list().unwrap().is_empty());
    store.put("inputs/a", "hello").unwrap();
    assert_eq!(store.list().unwrap(), ["inputs/a"]);
}
