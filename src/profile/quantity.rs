//! Kubernetes quantities as exact numbers: `500m`, `8Gi`, `1e9`.
//!
//! The grammar and the canonical form are those of `k8s.io/apimachinery/pkg/api/resource`; two spellings
//! of one value are equal. No floating point is used.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Serialize, Serializer};

use super::names::quoted;
use crate::submission::problem::{Code, Fault};

/// A quantity is misspelt, too large or too fine.
pub static INVALID_QUANTITY: Code = Code {
    name: "profile-quantity-invalid",
    summary: "a quantity is misspelt, too large, too fine or not above zero",
    explanation: "A quantity is a decimal number and an optional suffix: `n`, `u`, `m`, `k`, `M`, `G`, `T`, `P`, `E` \
(powers of 1000), `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei` (powers of 1024), or an exponent such as `e9`. Note that `m` is a \
thousandth: `512m` of memory is half a byte, `512Mi` was meant. harness renders the canonical form, as the API server \
would store it, and compares by value; it refuses what the API server would round.",
};

const NANO: i128 = 1_000_000_000;
/// The API server caps values here; a value above it would silently become another one.
const MAXIMUM: i128 = i64::MAX as i128 * NANO;
/// Longer texts than this have no use; it keeps the arithmetic far from its limits.
const LONGEST: usize = 40;

/// The suffix family that a quantity was written in, which its canonical form keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Binary,
    Decimal,
    Exponent,
}

/// An exact number of units with a way of writing it; equality and order are by value.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nanos: i128,
    family: Family,
}

impl Quantity {
    /// Parses the grammar of Kubernetes; refuses values beyond 2^63-1 and finer than a billionth.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let fault = |why: &str| {
            Fault::new(
                &INVALID_QUANTITY,
                format!("{} {why}", quoted(text)),
                "a decimal number and one of n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent",
                "write for instance `500m` of cpu or `8Gi` of memory",
            )
        };
        if text.len() > LONGEST {
            return Err(fault("is too long"));
        }
        let (number, suffix) = split(text).ok_or_else(|| fault("is not a quantity"))?;
        let (family, scale) = scale_of(suffix).ok_or_else(|| fault("has an unknown suffix"))?;
        let nanos = number.times(scale).map_err(|why| fault(why.reason()))?;
        Ok(Self { nanos, family })
    }

    /// The value in billionths of a unit (a core, a byte, a device).
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// Whether the value is above zero.
    pub fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// Whether the value is a whole number of thousandths, the finest that the API server keeps.
    pub fn is_whole_thousandths(self) -> bool {
        self.nanos % (NANO / 1000) == 0
    }

    /// The value in whole units, if it is one and not negative.
    pub fn whole(self) -> Option<u64> {
        if self.nanos % NANO != 0 { None } else { u64::try_from(self.nanos / NANO).ok() }
    }

    /// The canonical form, as the API server writes it.
    pub fn canonical(self) -> String {
        self.to_string()
    }

    /// The same value in whichever suffix family writes it shorter, decimal if both are as long, so that
    /// the spelling depends on nothing but the value: `8589934592` becomes `8Gi`, `1e9` becomes `1G`.
    #[must_use]
    pub fn normal(self) -> Self {
        let decimal = Self { family: Family::Decimal, ..self };
        let binary = Self { family: Family::Binary, ..self };
        if binary.canonical().len() < decimal.canonical().len() { binary } else { decimal }
    }

    /// The family in which the value is written: binary suffixes serve whole values from 1024 on.
    fn written_family(self) -> Family {
        match self.family {
            Family::Binary if self.nanos.abs() < 1024 * NANO || self.nanos % NANO != 0 => {
                Family::Decimal
            }
            family => family,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return formatter.write_str("0");
        }
        let family = self.written_family();
        let (mut mantissa, mut power, base) = match family {
            Family::Binary => (self.nanos / NANO, 0_usize, 1024),
            Family::Decimal | Family::Exponent => (self.nanos, 0, 1000),
        };
        while mantissa % base == 0 {
            mantissa /= base;
            power += 1;
        }
        match family {
            Family::Binary => write!(formatter, "{mantissa}{}", BINARY[power]),
            Family::Decimal => write!(formatter, "{mantissa}{}", DECIMAL[power]),
            Family::Exponent if power == 3 => write!(formatter, "{mantissa}"),
            Family::Exponent => write!(formatter, "{mantissa}e{}", 3 * exponent_index(power)),
        }
    }
}

/// Decimal suffixes by powers of 1000 above a billionth; `MAXIMUM` is below the end of the table.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Binary suffixes by powers of 1024; `MAXIMUM` is below the end of the table.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn exponent_index(power: usize) -> i32 {
    i32::try_from(power).unwrap_or(i32::MAX / 4) - 3
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A decimal number: digits without their point, and how many of them stood behind it.
struct Number {
    negative: bool,
    digits: i128,
    behind_point: u32,
}

#[derive(Clone, Copy)]
enum Scale {
    Binary(u32),
    Decimal(i32),
}

enum Inexact {
    TooLarge,
    TooFine,
}

impl Inexact {
    fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge => "is larger than Kubernetes can hold (2^63-1)",
            Self::TooFine => "is finer than a billionth, which Kubernetes would round",
        }
    }
}

impl Number {
    /// The value in billionths under a scale, exact or not at all.
    fn times(&self, scale: Scale) -> Result<i128, Inexact> {
        if self.digits == 0 {
            return Ok(0);
        }
        let (factor, exponent) = match scale {
            Scale::Binary(bits) => (1_i128 << bits, 0),
            Scale::Decimal(exponent) => (1, exponent),
        };
        let shift = i64::from(exponent) + 9 - i64::from(self.behind_point);
        let scaled = self.digits.checked_mul(factor).ok_or(Inexact::TooLarge)?;
        let value = match u32::try_from(shift) {
            Ok(up) => {
                let power = 10_i128.checked_pow(up).ok_or(Inexact::TooLarge)?;
                scaled.checked_mul(power).ok_or(Inexact::TooLarge)?
            }
            Err(_) => divide(scaled, shift.unsigned_abs())?,
        };
        if value > MAXIMUM {
            return Err(Inexact::TooLarge);
        }
        Ok(if self.negative { -value } else { value })
    }
}

fn divide(value: i128, places: u64) -> Result<i128, Inexact> {
    let places = u32::try_from(places).map_err(|_| Inexact::TooFine)?;
    let power = 10_i128.checked_pow(places).ok_or(Inexact::TooFine)?;
    if value % power == 0 { Ok(value / power) } else { Err(Inexact::TooFine) }
}

/// Splits into number and suffix; `None` if there is no number, or one that no value needs.
fn split(text: &str) -> Option<(Number, &str)> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (before, behind) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{before}{behind}");
    if behind.contains('.') || digits.is_empty() {
        return None;
    }
    let behind_point = u32::try_from(behind.len()).ok()?;
    Some((Number { negative, digits: digits.parse().ok()?, behind_point }, suffix))
}

fn scale_of(suffix: &str) -> Option<(Family, Scale)> {
    if let Some(index) = BINARY.iter().skip(1).position(|known| *known == suffix) {
        let bits = 10 * (u32::try_from(index).ok()? + 1);
        return Some((Family::Binary, Scale::Binary(bits)));
    }
    if let Some(index) = DECIMAL.iter().position(|known| *known == suffix) {
        return Some((Family::Decimal, Scale::Decimal(3 * exponent_index(index))));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((Family::Exponent, Scale::Decimal(exponent.parse().ok()?)))
}

#[cfg(test)]
impl schemars::JsonSchema for Quantity {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": ["string", "number"],
            "pattern": "^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$",
            "maxLength": 40,
            "exclusiveMinimum": 0
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
