//! Ids of points.

use super::TextId;
use crate::faults::PlantedFault;
use std::fmt;

/// Which ids the points of a collection have: its `ids` (C21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdKind {
    /// Integers and UUIDs.
    #[default]
    Default,
    /// Integers and strings.
    String,
}

impl IdKind {
    /// The name where it is not the default: the default is shown and stored nowhere.
    pub fn chosen(self) -> Option<&'static str> {
        match self {
            IdKind::Default => None,
            IdKind::String => Some("string"),
        }
    }

    /// What a valid id is, for messages.
    pub fn valid_values(self) -> &'static str {
        match self {
            IdKind::Default => "either an unsigned integer or a UUID",
            IdKind::String => "either an unsigned integer or a string of 1 to 256 bytes",
        }
    }
}

/// Identifier of a point as clients see it (C2.1): an unsigned integer, and a UUID or, in a collection of string ids
/// (C21), a string.
///
/// The order is the order of scrolling: integers before UUIDs and strings, each ascending.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PointId {
    /// An unsigned 64-bit integer.
    Num(u64),
    /// A UUID, as its big-endian number.
    Uuid(u128),
    /// A string.
    Text(TextId),
}

// Where some ids are strings, the table of points has each id in this size.
const _: () = assert!(size_of::<PointId>() == 32);

impl PointId {
    /// Reads a UUID in its hyphenated, simple or URN form, in any case. `None` for anything else.
    pub fn parse_uuid(text: &str) -> Option<u128> {
        let bytes = text.as_bytes();
        let digits: &[u8] = match bytes.len() {
            32 | 36 => bytes,
            45 if bytes[..9].eq_ignore_ascii_case(b"urn:uuid:") => &bytes[9..],
            _ => return None,
        };
        let hyphenated = digits.len() == 36;
        let mut value = 0u128;
        for (at, &byte) in digits.iter().enumerate() {
            if hyphenated && matches!(at, 8 | 13 | 18 | 23) {
                if byte != b'-' {
                    return None;
                }
                continue;
            }
            value = (value << 4) | u128::from((byte as char).to_digit(16)?);
        }
        Some(value)
    }

    /// Parses an id that a request gives as a string. `None` if the string is no id of that kind.
    pub fn of_string(text: &str, kind: IdKind) -> Option<PointId> {
        match kind {
            IdKind::Default => Self::parse_uuid(text).map(PointId::Uuid),
            IdKind::String if PlantedFault::DigitsAreIntegers.is_on() && text.parse::<u64>().is_ok() => {
                text.parse().ok().map(PointId::Num)
            }
            IdKind::String => TextId::new(text).map(PointId::Text),
        }
    }

    /// Bytes that it takes of the heap.
    pub fn heap_bytes(&self) -> u64 {
        match self {
            PointId::Num(_) | PointId::Uuid(_) => 0,
            PointId::Text(text) => text.heap_bytes(),
        }
    }

    /// Reads an id in a URL path, for a collection without string ids: decimal digits or a UUID. Digits that fit an unsigned
    /// 64-bit integer are one; 32 digits that do not are a UUID.
    pub fn parse_path(text: &str) -> Option<PointId> {
        // The standard parser accepts a sign, too.
        let is_decimal = text.bytes().all(|b| b.is_ascii_digit());
        let number = if is_decimal { text.parse().ok().map(PointId::Num) } else { None };
        number.or_else(|| Self::parse_uuid(text).map(PointId::Uuid))
    }
}

impl fmt::Display for PointId {
    /// Integers in decimal; UUIDs lower-case and hyphenated; strings in quotes, because `7` and `"7"` differ.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PointId::Num(number) => write!(f, "{number}"),
            PointId::Uuid(value) => write!(
                f,
                "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                (value >> 96) as u32,
                (value >> 80) as u16,
                (value >> 64) as u16,
                (value >> 48) as u16,
                value & 0xffff_ffff_ffff
            ),
            PointId::Text(text) => write!(f, "{text:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_in_every_form_are_one_id_c2_1() {
        let text = "550e8400-e29b-41d4-a716-446655440000";
        let id = PointId::parse_path(text).unwrap();
        for form in [
            "550E8400-E29B-41D4-A716-446655440000",
            "550e8400e29b41d4a716446655440000",
            &format!("URN:uuid:{text}"),
        ] {
            assert_eq!(PointId::parse_path(form), Some(id.clone()));
        }
        assert_eq!(id.to_string(), text);
        // A UUID may happen to have no letter among its digits.
        let digits = "12345678901244568890123456789012";
        assert_eq!(PointId::parse_path(digits), PointId::parse_uuid(digits).map(PointId::Uuid));
        assert_eq!(PointId::parse_path("00000000000000000000000000000001"), Some(PointId::Num(1)));
    }

    #[test]
    fn ids_outside_u64_or_uuid_are_refused_c2_1() {
        for text in
            ["", "-1", "+1", "1.0", "18446744073709551616", "550e8400-e29b-41d4-a716-44665544000", "g", " 1"]
        {
            assert_eq!(PointId::parse_path(text), None, "{text:?}");
        }
        assert_eq!(PointId::parse_path("18446744073709551615"), Some(PointId::Num(u64::MAX)));
    }

    #[test]
    fn integers_sort_before_uuids_c6_4() {
        assert!(PointId::Num(u64::MAX) < PointId::Uuid(0));
        let text = |text| PointId::of_string(text, IdKind::String).unwrap();
        assert!(PointId::Num(u64::MAX) < text("0"));
    }

    #[test]
    fn a_uuid_is_a_string_like_others_where_ids_are_strings_c21() {
        let upper = "550E8400-E29B-41D4-A716-446655440000";
        assert_eq!(PointId::of_string(upper, IdKind::String).unwrap().to_string(), format!("\"{upper}\""));
        assert_eq!(PointId::of_string(upper, IdKind::Default).unwrap().to_string(), upper.to_lowercase());
        assert_ne!(PointId::of_string("7", IdKind::String), Some(PointId::Num(7)));
        assert_eq!(PointId::of_string("7", IdKind::Default), None);
    }
}
