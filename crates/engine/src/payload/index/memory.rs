//! The memory of a field index.

use super::places::Place;
use super::{FieldIndex, Values};
use crate::allocator::shared_bytes;
use crate::point_set::PointSet;
use std::sync::Arc;

/// Estimated bytes of the nodes of an ordered map: nodes are two thirds full on average.
pub fn ordered_map_bytes(entries: usize, entry_bytes: usize) -> u64 {
    entries as u64 * entry_bytes as u64 * 3 / 2
}

/// A value of an index.
pub(super) trait Weight {
    /// Bytes on the heap that the value refers to.
    fn outside(&self) -> u64;
}

impl Weight for Arc<str> {
    fn outside(&self) -> u64 {
        shared_bytes(self.len())
    }
}

/// Values without heap memory.
macro_rules! in_place {
    ($($value:ty),*) => {$(
        impl Weight for $value {
            fn outside(&self) -> u64 {
                0
            }
        }
    )*};
}

in_place!(i64, u128, Place);

impl FieldIndex {
    /// Bytes of the index, zones included. Memory that snapshots share counts in each. Nodes of maps are estimated. Visits
    /// all values.
    pub fn memory_bytes(&self) -> u64 {
        let sets = [&self.indexed, &self.uncovered, &self.multivalued, &self.filled, &self.null];
        let sets: u64 = sets.into_iter().map(PointSet::memory_bytes).sum();
        let values = match &self.values {
            Values::Numbers(column) => column.memory_bytes(),
            Values::Texts { texts, uuids } => texts.memory_bytes() + uuids.memory_bytes(),
            Values::Uuids(column) => column.memory_bytes(),
            Values::Words(words) => words.memory_bytes(),
            Values::Places(column) => column.memory_bytes(),
        };
        sets + values
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FieldKind, FieldSchema};
    use super::*;
    use crate::payload::JsonPath;
    use crate::payload::interval::Interval;
    use crate::types::PointOffset;

    const POINTS: u32 = 20_000;

    fn index(kind: FieldKind, doc: impl Fn(u32) -> String) -> FieldIndex {
        let mut index = FieldIndex::new(JsonPath::parse("k").unwrap(), FieldSchema::new(kind));
        for offset in 0..POINTS {
            index.insert(PointOffset::new(offset), format!("{{\"k\":{}}}", doc(offset)).as_bytes());
        }
        index
    }

    fn bytes_a_point(index: &FieldIndex) -> f64 {
        index.memory_bytes() as f64 / f64::from(POINTS)
    }

    #[test]
    fn many_values_take_more_than_few_and_long_ones_more_than_short() {
        let flag = bytes_a_point(&index(FieldKind::Bool, |n| (n % 2 == 0).to_string()));
        let few = bytes_a_point(&index(FieldKind::Keyword, |n| format!("\"tag {}\"", n % 100)));
        let many = bytes_a_point(&index(FieldKind::Keyword, |n| format!("\"tag {n}\"")));
        let long = bytes_a_point(&index(FieldKind::Keyword, |n| format!("\"{n}{}\"", "x".repeat(100))));
        assert!(flag > 0.1 && flag < 2.0, "{flag} bytes a point with one of two values");
        assert!(few > 2.0 && few < 10.0, "{few} bytes a point with one of a hundred values");
        assert!(many > 40.0 && many < 120.0, "{many} bytes a point with a value of its own");
        assert!(long > many + 90.0, "{long} bytes a point with a long value");
        let geo = bytes_a_point(&index(FieldKind::Geo, |n| {
            format!("{{\"lon\":{},\"lat\":1}}", f64::from(n) / 200.0)
        }));
        assert!(geo > 16.0 && geo < 120.0, "{geo} bytes a place");
        let words = bytes_a_point(&index(FieldKind::Text, |n| format!("\"some words {}\"", n % 1000)));
        assert!(words > 4.0 && words < 40.0, "{words} bytes a text of three words");
    }

    #[test]
    fn zones_count_and_removed_values_do_not() {
        let mut index = index(FieldKind::Integer, |n| n.to_string());
        let before = index.memory_bytes();
        let half = Interval { lt: Some(f64::from(POINTS / 2)), ..Interval::default() };
        for _ in 0..8 {
            index.numbers_within(&half);
        }
        assert!(index.memory_bytes() > before, "unions of ranges were kept");
        for offset in 0..POINTS {
            index.remove(PointOffset::new(offset), format!("{{\"k\":{offset}}}").as_bytes());
        }
        assert!(index.memory_bytes() < before / 100, "{} bytes of nothing", index.memory_bytes());
    }
}
