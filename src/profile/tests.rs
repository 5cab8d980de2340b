//! Tests of whole profiles: the embedded ones, the digest and the schema.

use super::*;

#[test]
fn embedded_profiles_have_exactly_their_largest_budgets() {
    let profiles = Profiles::embedded();
    for (name, largest) in [("standard-v1", 1020), ("long-v1", 86_400)] {
        let profile = profiles.get(name).unwrap();
        assert_eq!(profile.largest_budget(), largest, "{name}");
        assert_eq!(profile.times(largest).unwrap().job, profile.allowances.active_deadline);
        assert!(profile.times(largest + 1).is_err(), "{name}");
    }
}
