//! Tests of quantities against tables, properties and what Kubernetes' own library writes.

use proptest::prelude::*;

use super::super::quantity::*;

#[track_caller]
fn canonical(text: &str) -> String {
    Quantity::parse(text).unwrap().canonical()
}

#[test]
fn canonical_forms_are_those_of_the_api_server() {
    for (text, expected) in [
        ("3.5", "3500m"),
        ("4000m", "4"),
        ("8192Mi", "8Gi"),
        ("1.5Gi", "1536Mi"),
        ("8000M", "8G"),
        ("8589934592", "8589934592"),
        ("1000Ki", "1000Ki"),
        ("1e9", "1e9"),
        ("1E9", "1e9"),
        ("10e8", "1e9"),
        ("1e0", "1"),
        ("1e-3", "1e-3"),
        ("0.001e3", "1"),
        ("+1", "1"),
        ("1.", "1"),
        (".5", "500m"),
        ("-1500m", "-1500m"),
        ("0Gi", "0"),
        ("-0", "0"),
        ("0e99", "0"),
        ("512Ki", "512Ki"),
        ("0.5Ki", "512"),
        ("1Ki", "1Ki"),
        ("0.1Gi", "107374182400m"),
        ("100000000n", "100m"),
        ("1n", "1n"),
        ("1000000u", "1"),
        ("1000", "1k"),
        ("7E", "7E"),
        ("7Ei", "7Ei"),
        ("9223372036854775807", "9223372036854775807"),
        ("000000000000000000000000000001", "1"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn canonical_forms_equal_those_of_the_kubernetes_library() {
    let rows = include_str!("quantities.tsv").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for (text, expected) in rows.map(|line| line.split_once('\t').unwrap()) {
        assert_eq!(canonical(text), expected, "{text}");
        count += 1;
    }
    assert!(count > 200, "{count} rows");
}

#[test]
fn misspelt_quantities_are_refused() {
    for bad in [
        "",
        "-",
        "+",
        ".",
        "1..2",
        "1.2.3",
        "Gi",
        "1 Gi",
        " 1",
        "1 ",
        "1\n",
        "1gi",
        "1K",
        "1kb",
        "1GiB",
        "1e",
        "1e+",
        "1e1.5",
        "0x10",
        "1_000",
        "--1",
        "+-1",
        "NaN",
        "inf",
        "١",
        "1mm",
        "1e99999999999",
    ] {
        assert!(Quantity::parse(bad).is_err(), "{bad:?}");
    }
    for (bad, why) in [
        ("8Ei", "larger"),
        ("9223372036854775808", "larger"),
        ("1e99", "larger"),
        ("1e2147483647", "larger"),
        ("0.1n", "finer"),
        ("1e-10", "finer"),
        ("1e-2147483648", "finer"),
        ("0.00000000001Ki", "finer"),
        (&"1".repeat(41), "too long"),
    ] {
        let fault = Quantity::parse(bad).unwrap_err();
        assert!(fault.found.contains(why), "{bad}: {}", fault.found);
    }
}

#[test]
fn values_decide_equality_and_order() {
    let parse = |text| Quantity::parse(text).unwrap();
    assert_eq!(parse("1024Mi"), parse("1073741824"));
    assert_eq!(parse("0.5"), parse("500m"));
    assert_ne!(parse("1G"), parse("1Gi"));
    assert!(parse("1G") < parse("1Gi"));
    assert_eq!(parse("8Gi").whole(), Some(8 << 30));
    assert_eq!(parse("500m").whole(), None);
    assert_eq!(parse("-1").whole(), None);
    assert!(parse("1500m").is_whole_thousandths());
    assert!(!parse("500u").is_whole_thousandths());
}

#[test]
fn normal_forms_depend_on_the_value_only() {
    for (texts, expected) in [
        (&["8Gi", "8192Mi", "8589934592"][..], "8Gi"),
        (&["1e9", "1G", "1000M", "1000000000"], "1G"),
        (&["0.5", "500m", "5e-1"], "500m"),
        (&["1000Ki", "1024k", "1024000"], "1024k"),
        (&["2", "2.0", "2000m"], "2"),
    ] {
        for text in texts {
            assert_eq!(Quantity::parse(text).unwrap().normal().canonical(), expected, "{text}");
        }
    }
}

proptest! {
    #[test]
    fn canonical_keeps_the_value(
        text in "[+-]?[0-9]{1,12}(\\.[0-9]{0,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?"
    ) {
        if let Ok(quantity) = Quantity::parse(&text) {
            let written = quantity.canonical();
            let again = Quantity::parse(&written).unwrap();
            prop_assert_eq!(quantity, again, "{} became {}", text, written);
            prop_assert_eq!(written, again.canonical());
        }
    }

    #[test]
    fn any_text_is_taken_or_refused(text in "\\PC{0,48}") {
        let _ = Quantity::parse(&text);
    }

    #[test]
    fn whole_numbers_are_exact(value in 0..=i64::MAX) {
        let quantity = Quantity::parse(&value.to_string()).unwrap();
        prop_assert_eq!(quantity.whole(), u64::try_from(value).ok());
    }
}
