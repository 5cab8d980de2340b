//! Rendering is a function of what the document says, never of how it says it.

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::bundles::{self, SITE};
use crate::form::{Form, plain};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(proptest::test_runner::FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn order_and_white_space_change_no_byte(
        order in Just((0..18).collect::<Vec<usize>>()).prop_shuffle(),
        spaces in prop::collection::vec("[ \t\r\n]{0,3}", 8),
    ) {
        let form = Form::full().with("resource_profile", "site-gpu");
        let expected = bundles::bundle(&form);
        let count = form.fields().len();
        let fields = form.fields();
        let in_order = order.iter().filter(|index| **index < count).map(|index| &fields[*index]);
        let shuffled: Vec<&(String, String)> =
            in_order.chain(fields.iter().skip(order.len())).collect();
        prop_assert_eq!(shuffled.len(), count);
        let mut json = String::from("{");
        for (index, (name, raw)) in shuffled.iter().enumerate() {
            let space = |at: usize| spaces[(index + at) % spaces.len()].as_str();
            let comma = if index == 0 { "" } else { "," };
            let name = crate::form::text(name);
            write!(json, "{}{comma}{}{name}{}:{}{raw}", space(0), space(1), space(2), space(3)).unwrap();
        }
        json.push('}');
        let submission = harness::submission::Submission::parse(json.as_bytes()).unwrap();
        let profiles = bundles::profiles(SITE);
        let fitted = harness::render::fit(&submission, &profiles).unwrap();
        let namespace = harness::submission::Namespace::parse("research").unwrap();
        let bundle = harness::render::render(&fitted, &namespace).unwrap();
        prop_assert_eq!(bundle.secret().to_string(), expected.secret().to_string());
        prop_assert_eq!(bundle.job().to_string(), expected.job().to_string());
        // Again, from the same values.
        let again = harness::render::render(&fitted, &namespace).unwrap();
        prop_assert_eq!(again.job().to_string(), expected.job().to_string());
    }

    #[test]
    fn different_results_have_different_names(left in "[a-zA-Z0-9._~-]{1,12}", right in "[a-zA-Z0-9._~-]{1,12}") {
        prop_assume!(![&left, &right].iter().any(|key| matches!(key.as_str(), "." | "..")));
        let name = |key: &str| {
            let form = Form::minimal().with("result_put_url", &plain(&format!("out/a-1/{key}")));
            let bundle = bundles::bundle(&form);
            (bundle.names().job.clone(), bundle.names().result_identity)
        };
        let (a, b) = (name(&left), name(&right));
        prop_assert_eq!(a.1 == b.1, left == right);
        prop_assert_eq!(a.0 == b.0, left == right);
    }
}
