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

/// Splits into number and suffix; `None` if there is no number, which the API server reads as zero.
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
