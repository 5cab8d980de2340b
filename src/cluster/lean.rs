//! JSON without `managedFields`, which are a third of an object and which no list needs. Pure.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value without any member of this name.
pub(super) struct Lean(pub(super) Value);

const LEFT_OUT: &str = "managedFields";

impl<'de> Deserialize<'de> for Lean {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Lean(element)) = elements.next_element()? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if key == LEFT_OUT {
                members.next_value::<IgnoredAny>()?;
            } else {
                map.insert(key, members.next_value::<Lean>()?.0);
            }
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_but_managed_fields_is_left_out() {
        let whole = json!({
            "items": [{"metadata": {"name": "é\n", "managedFields": [{"f:a": {}}]}, "n": [0, -1, 1.5, u64::MAX, i64::MIN]}],
            "managedFields": null, "t": true, "none": null, "empty": [{}, []],
        });
        let Lean(lean) = serde_json::from_str(&whole.to_string()).unwrap();
        let expected = json!({
            "items": [{"metadata": {"name": "é\n"}, "n": [0, -1, 1.5, u64::MAX, i64::MIN]}],
            "t": true, "none": null, "empty": [{}, []],
        });
        assert_eq!(lean, expected);
        for broken in ["", "{", "[1", "{\"a\":}", "{\"managedFields\":[}", "1 2", "{\"a\":1}}"] {
            assert!(serde_json::from_str::<Lean>(broken).is_err(), "{broken}");
        }
    }
}
