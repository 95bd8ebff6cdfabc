//! The values of a payload at an index's path.

use super::places::Place;
use super::schema::FieldKind;
use crate::payload::datetime::parse_datetime;
use crate::payload::document::{Document, Value};
use crate::payload::geo::GeoPoint;
use crate::payload::path::JsonPath;
use crate::types::PointId;
use std::borrow::Cow;

/// A covered value as a key of the index.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    /// The key in an integer, float, bool or datetime index.
    Number(i64),
    /// The key in a keyword index, with its UUID if the text is one, or in a text index, without a UUID.
    Text(Cow<'a, str>, Option<u128>),
    /// The key in a uuid index.
    Uuid(u128),
    /// The key in a geo index.
    Place(Place),
}

/// The values of one payload at a path.
#[derive(Debug, Default)]
pub(super) struct PathKeys<'a> {
    /// The covered values, ascending and distinct.
    pub(super) keys: Vec<Key<'a>>,
    /// Whether there is another value that is not null.
    pub(super) uncovered: bool,
    /// Whether `is_empty` is false.
    pub(super) filled: bool,
    /// Whether `is_null` is true.
    pub(super) null: bool,
    /// Duplicate keys are dropped when there are more keys than this.
    dedup_threshold: usize,
}

/// The least number of keys at which duplicates are dropped.
const MIN_DEDUP: usize = 1 << 10;

impl<'a> PathKeys<'a> {
    pub(super) fn read(doc: &'a [u8], path: &JsonPath, kind: FieldKind) -> PathKeys<'a> {
        let mut held = PathKeys::default();
        Document::new(doc).values_at(path, |value| {
            if let Value::Array(array) = value {
                for element in array.elements() {
                    held.filled = true;
                    held.add(element, kind);
                }
            } else {
                held.filled |= !matches!(value, Value::Null);
                held.add(value, kind);
            }
        });
        held.drop_duplicates();
        held
    }

    /// The UUIDs among the strings of the keys.
    pub(super) fn uuids(&self) -> impl Iterator<Item = u128> {
        self.keys.iter().filter_map(|key| match key {
            Key::Text(_, uuid) => *uuid,
            _ => None,
        })
    }

    /// Whether a key is among the covered values.
    pub(super) fn has(&self, key: &Key<'_>) -> bool {
        self.keys.binary_search(key).is_ok()
    }

    fn drop_duplicates(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
    }

    /// The strings among the keys.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().filter_map(|key| match key {
            Key::Text(text, _) => Some(&**text),
            _ => None,
        })
    }

    fn add(&mut self, value: Value<'a>, kind: FieldKind) {
        match key(value, kind) {
            Some(key) => {
                // An element of an array takes two bytes in the payload, a key thirty times as many.
                if self.keys.len() >= self.dedup_threshold.max(MIN_DEDUP) {
                    self.drop_duplicates();
                    self.dedup_threshold = self.keys.len() * 2;
                }
                self.keys.push(key);
            }
            None if matches!(value, Value::Null) => self.null = true,
            None => self.uncovered = true,
        }
    }
}

/// The key of a value; `None` if an index of that kind does not cover it.
fn key(value: Value<'_>, kind: FieldKind) -> Option<Key<'_>> {
    match (kind, value) {
        (FieldKind::Integer, Value::Number(_)) => value.as_i64().map(Key::Number),
        (FieldKind::Float, Value::Number(_)) => value.as_f64().map(|number| Key::Number(float_key(number))),
        (FieldKind::Bool, Value::Bool(value)) => Some(Key::Number(i64::from(value))),
        (FieldKind::Datetime, Value::String(text)) => parse_datetime(&text.decode()).map(Key::Number),
        (FieldKind::Uuid, Value::String(text)) => PointId::parse_uuid(&text.decode()).map(Key::Uuid),
        (FieldKind::Keyword, Value::String(text)) => {
            let text = text.decode();
            let uuid = PointId::parse_uuid(&text);
            Some(Key::Text(text, uuid))
        }
        (FieldKind::Text, Value::String(text)) => Some(Key::Text(text.decode(), None)),
        (FieldKind::Geo, Value::Object(object)) => GeoPoint::of(object)
            .filter(|place| place.is_on_globe())
            .map(|place| Key::Place(Place::new(place))),
        _ => None,
    }
}

/// An integer with the order of the float. Both zeros have one key, because they compare equal.
pub(super) fn float_key(value: f64) -> i64 {
    let bits = if value == 0.0 { 0 } else { value.to_bits() as i64 };
    // Negative floats have descending magnitudes: flip all bits but the sign.
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}

/// The float of a [`float_key`]: its inverse.
pub(super) fn float_of_key(key: i64) -> f64 {
    f64::from_bits((key ^ (((key >> 63) as u64) >> 1) as i64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_array_of_few_values_takes_little_memory() {
        let path = JsonPath::parse("k").unwrap();
        let doc = format!("{{\"k\":[{}3]}}", "1,2,".repeat(100_000));
        let held = PathKeys::read(doc.as_bytes(), &path, FieldKind::Integer);
        assert_eq!(held.keys, [Key::Number(1), Key::Number(2), Key::Number(3)]);
        assert!(held.keys.capacity() <= 2 * MIN_DEDUP, "{} keys", held.keys.capacity());
        // Different values are all kept.
        let values: Vec<String> = (0..10_000).rev().chain(0..10_000).map(|n| n.to_string()).collect();
        let doc = format!("{{\"k\":[{}]}}", values.join(","));
        let held = PathKeys::read(doc.as_bytes(), &path, FieldKind::Integer);
        assert_eq!(held.keys, (0..10_000).map(Key::Number).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn float_keys_order_as_floats_do(a in prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL,
                                         b in prop::num::f64::NORMAL | prop::num::f64::ZERO) {
            prop_assert_eq!(float_key(a).partial_cmp(&float_key(b)), a.partial_cmp(&b));
            prop_assert_eq!(float_of_key(float_key(a)), a);
        }
    }
}
