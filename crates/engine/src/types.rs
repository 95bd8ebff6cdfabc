//! Types that every layer shares: point ids and offsets, rows of fields, nodes of graphs, numbers of records and operations, distances,
//! element types.

mod lsn;
mod node;
mod op_number;
mod operation_id;
mod point_offset;
mod row;
mod text_input;

pub use lsn::Lsn;
pub use node::Node;
pub use op_number::OpNumber;
pub use operation_id::OperationId;
pub use point_offset::PointOffset;
pub use row::{Row, RowRange};
pub use text_input::TextInput;

use std::fmt;

/// Identifier of a point as clients see it (C2.1): an unsigned integer or a UUID.
///
/// The order is the order of scrolling: integers before UUIDs, each ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PointId {
    /// An unsigned 64-bit integer.
    Num(u64),
    /// A UUID, as its big-endian number.
    Uuid(u128),
}

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

    /// Reads an id of a URL path: decimal digits or a UUID. 32 digits that are both are a number.
    pub fn parse_path(text: &str) -> Option<PointId> {
        // The standard parser accepts a sign, too.
        let is_decimal = text.bytes().all(|b| b.is_ascii_digit());
        let number = if is_decimal { text.parse().ok().map(PointId::Num) } else { None };
        number.or_else(|| Self::parse_uuid(text).map(PointId::Uuid))
    }
}

impl fmt::Display for PointId {
    /// Integers in decimal; UUIDs lower-case and hyphenated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
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
        }
    }
}

/// Distance of a vector field (C2.4).
///
/// Inside the engine every metric is a *distance*, smaller is better: minus the dot product for
/// [`Metric::Cosine`] (rows and queries are normalised first) and [`Metric::Dot`], the squared distance for
/// [`Metric::Euclid`], the sum of absolute differences for [`Metric::Manhattan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Dot product of normalised vectors; higher is better.
    Cosine,
    /// Root of the sum of squared differences; lower is better.
    Euclid,
    /// Dot product; higher is better.
    Dot,
    /// Sum of absolute differences; lower is better.
    Manhattan,
}

impl Metric {
    /// The score that clients see for an internal distance.
    pub fn score(self, distance: f32) -> f32 {
        match self {
            // `0.0 - x` and not `-x`: a product of zero is answered as 0, never as -0.
            Metric::Cosine | Metric::Dot => 0.0 - distance,
            Metric::Euclid => distance.max(0.0).sqrt(),
            Metric::Manhattan => distance,
        }
    }

    /// Whether a higher public score is the better one.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Metric::Cosine | Metric::Dot)
    }

    /// Whether one public score is worse than another.
    pub fn is_worse(self, score: f32, than: f32) -> bool {
        if self.higher_is_better() { score < than } else { score > than }
    }

    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Cosine => "Cosine",
            Metric::Euclid => "Euclid",
            Metric::Dot => "Dot",
            Metric::Manhattan => "Manhattan",
        }
    }

    /// The metric of that name.
    pub fn parse(name: &str) -> Option<Metric> {
        Some(match name {
            "Cosine" => Metric::Cosine,
            "Euclid" => Metric::Euclid,
            "Dot" => Metric::Dot,
            "Manhattan" => Metric::Manhattan,
            _ => return None,
        })
    }
}

/// Element type that a vector field keeps (C2.6, C4.3). Values are rounded to it when they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datatype {
    /// 32-bit floats.
    Float32,
    /// Rounded to 16-bit floats.
    Float16,
    /// Whole numbers from 0 to 255.
    Uint8,
    /// Kept as [`Datatype::Float16`]: four bits a component were asked for, and originals are kept finer here.
    Turbo4,
}

impl Datatype {
    /// The name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Datatype::Float32 => "float32",
            Datatype::Float16 => "float16",
            Datatype::Uint8 => "uint8",
            Datatype::Turbo4 => "turbo4",
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
            assert_eq!(PointId::parse_path(form), Some(id));
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
    }
}
