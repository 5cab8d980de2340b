//! A fresh submission, and the same again.

use serde_json::{Value, json};

use crate::kit::{Place, Sample, find};

#[test]
fn what_is_stored_is_what_was_rendered() {
    let place = Place::new("fresh");
    let sample = Sample::new("attempt-1");
    let receipt = place.harness().submit(&sample).expect(0, "created");
    assert_eq!(receipt["drift"], json!([]));
    assert_eq!(receipt["remarks"], json!([]));
    assert_eq!(receipt["warnings"], json!([]));
    assert_eq!(receipt["secret"]["state"], "created");
    assert_eq!(receipt["namespace"]["uid"], Value::from(place.namespace.uid.as_str()));
    place.assert_holds(1, 1);
    let job = place.job();
    assert_eq!(receipt["job"]["uid"], *find(&job, "/metadata/uid"));
    place.assert_hides(&sample);
}
