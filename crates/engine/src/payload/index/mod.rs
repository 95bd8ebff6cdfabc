//! Field indexes: from the values of one path to the points that hold them.

mod bounds;
mod column;
mod counts;
mod keys;
mod lookup;
mod memory;
mod order;
mod places;
mod postings;
mod schema;
mod words;
mod work;
mod zones;

pub use bounds::Bounds;
pub use counts::CountedValue;
pub use memory::ordered_map_bytes;
pub use order::{OrderKey, Ordered};
pub use postings::Postings;
pub use schema::{FieldKind, FieldSchema};
pub use work::PlanWork;

use super::path::JsonPath;
use super::text::Tokenizer;
use crate::point_set::PointSet;
use crate::types::PointOffset;
use column::Column;
use keys::{Key, PathKeys};
use places::Place;
use std::collections::HashSet;
use std::sync::Arc;
use words::Words;

/// Index of one path of the payloads of a collection.
///
/// The index covers the values of its type: [`FieldKind`]. No answer may depend on an index (C7). So it also keeps which
/// points hold values that it does not cover ([`FieldIndex::uncovered`]), and the lookups count those points as doubtful
/// wherever such a value could satisfy the condition. The elements of an array count as values, but not those of an
/// array inside an array.
///
/// A clone takes constant time and is a snapshot: later changes of the original do not affect it.
#[derive(Clone, Debug)]
pub struct FieldIndex {
    definition: Arc<(JsonPath, FieldSchema)>,
    values: Values,
    /// Points with at least one covered value.
    indexed: PointSet,
    /// Points with at least one value, not null, that is not covered.
    uncovered: PointSet,
    /// Points with more than one distinct covered value.
    multivalued: PointSet,
    /// Points for which `is_empty` is false.
    filled: PointSet,
    /// Points for which `is_null` is true.
    null: PointSet,
}

#[derive(Clone, Debug)]
enum Values {
    /// Integers, booleans, date-times in microseconds, and floats as [`keys::float_key`]s.
    Numbers(Column<i64>),
    /// Strings. Those that are UUIDs are also in `uuids`, because UUIDs are compared by value.
    Texts { texts: Column<Arc<str>>, uuids: Column<u128> },
    /// UUIDs.
    Uuids(Column<u128>),
    /// The words of strings.
    Words(Words),
    /// Places on the globe.
    Places(Column<Place>),
}

impl Values {
    fn change(&mut self, offset: PointOffset, before: &PathKeys<'_>, after: &PathKeys<'_>) {
        if let Values::Words(words) = self {
            return words.change(offset, before.texts(), after.texts());
        }
        // A UUID stays if another spelling of it stays.
        let kept: HashSet<u128> = after.uuids().collect();
        before.keys.iter().filter(|key| !after.has(key)).for_each(|key| self.remove(offset, key, &kept));
        after.keys.iter().filter(|key| !before.has(key)).for_each(|key| self.insert(offset, key));
    }

    fn insert(&mut self, offset: PointOffset, key: &Key<'_>) {
        match (self, key) {
            (Values::Numbers(column), Key::Number(key)) => column.insert(key, offset),
            (Values::Texts { texts, uuids }, Key::Text(text, uuid)) => {
                texts.insert(text.as_ref(), offset);
                if let Some(uuid) = uuid {
                    uuids.insert(uuid, offset);
                }
            }
            (Values::Uuids(column), Key::Uuid(key)) => column.insert(key, offset),
            (Values::Places(column), Key::Place(key)) => column.insert(key, offset),
            _ => unreachable!("the keys are read for the kind of this index"),
        }
    }

    fn remove(&mut self, offset: PointOffset, key: &Key<'_>, kept: &HashSet<u128>) {
        match (self, key) {
            (Values::Numbers(column), Key::Number(key)) => column.remove(key, offset),
            (Values::Texts { texts, uuids }, Key::Text(text, uuid)) => {
                texts.remove(text.as_ref(), offset);
                if let Some(uuid) = uuid.filter(|uuid| !kept.contains(uuid)) {
                    uuids.remove(&uuid, offset);
                }
            }
            (Values::Uuids(column), Key::Uuid(key)) => column.remove(key, offset),
            (Values::Places(column), Key::Place(key)) => column.remove(key, offset),
            _ => unreachable!("the keys are read for the kind of this index"),
        }
    }
}

impl FieldIndex {
    /// An index without points.
    pub fn new(path: JsonPath, schema: FieldSchema) -> FieldIndex {
        let values = match schema.kind() {
            FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Datetime => {
                Values::Numbers(Column::default())
            }
            FieldKind::Keyword => Values::Texts { texts: Column::default(), uuids: Column::default() },
            FieldKind::Uuid => Values::Uuids(Column::default()),
            FieldKind::Text => Values::Words(Words::new(schema.text())),
            FieldKind::Geo => Values::Places(Column::default()),
        };
        FieldIndex {
            definition: Arc::new((path, schema)),
            values,
            indexed: PointSet::new(),
            uncovered: PointSet::new(),
            multivalued: PointSet::new(),
            filled: PointSet::new(),
            null: PointSet::new(),
        }
    }

    /// The path whose values are indexed.
    pub fn path(&self) -> &JsonPath {
        &self.definition.0
    }

    /// The definition.
    pub fn schema(&self) -> &FieldSchema {
        &self.definition.1
    }

    /// The tokenizer, if this is a text index.
    pub fn tokenizer(&self) -> Option<&Tokenizer> {
        match &self.values {
            Values::Words(words) => Some(words.tokenizer()),
            _ => None,
        }
    }

    /// Adds a point that is not in the index: its offset and its payload, as normalised JSON.
    pub fn insert(&mut self, offset: PointOffset, doc: &[u8]) {
        self.replace(offset, None, Some(doc));
    }

    /// Removes a point that was inserted with the same payload.
    pub fn remove(&mut self, offset: PointOffset, doc: &[u8]) {
        self.replace(offset, Some(doc), None);
    }

    /// Replaces the payload of a point. `before` is the payload that it was inserted with, `None` for a new point; `after` is
    /// `None` for a deleted point. The index of values that both payloads hold is not changed.
    pub fn replace(&mut self, offset: PointOffset, before: Option<&[u8]>, after: Option<&[u8]>) {
        let (path, kind) = (self.path(), self.schema().kind());
        let [before, after] = [before, after]
            .map(|doc| doc.map_or_else(PathKeys::default, |doc| PathKeys::read(doc, path, kind)));
        self.change(offset, &before, &after);
    }

    fn change(&mut self, offset: PointOffset, before: &PathKeys<'_>, after: &PathKeys<'_>) {
        if before.keys != after.keys {
            self.values.change(offset, before, after);
        }
        let sets = [
            (&mut self.indexed, !before.keys.is_empty(), !after.keys.is_empty()),
            (&mut self.uncovered, before.uncovered, after.uncovered),
            (&mut self.multivalued, before.keys.len() > 1, after.keys.len() > 1),
            (&mut self.filled, before.filled, after.filled),
            (&mut self.null, before.null, after.null),
        ];
        for (set, was_member, is_member) in sets {
            match (was_member, is_member) {
                (false, true) => drop(set.insert(offset)),
                (true, false) => drop(set.remove(offset)),
                _ => {}
            }
        }
    }

    /// How many points have at least one covered value.
    pub fn points_count(&self) -> u64 {
        self.indexed.len()
    }

    /// Points that hold a value, not null, that the index does not cover.
    pub fn uncovered(&self) -> &PointSet {
        &self.uncovered
    }

    /// Points that hold more than one covered value.
    pub fn multivalued(&self) -> &PointSet {
        &self.multivalued
    }

    /// Points for which `is_empty` is false: some value is neither null nor an empty array.
    pub fn filled(&self) -> &PointSet {
        &self.filled
    }

    /// Points for which `is_null` is true: some value is null or an array with a null in it.
    pub fn null(&self) -> &PointSet {
        &self.null
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::interval::Interval;

    fn index(kind: FieldKind) -> FieldIndex {
        FieldIndex::new(JsonPath::parse("k").unwrap(), FieldSchema::new(kind))
    }

    fn at(number: u32) -> PointOffset {
        PointOffset::new(number)
    }

    #[test]
    fn points_with_covered_values_are_counted_c4_2() {
        let mut index = index(FieldKind::Integer);
        for (offset, doc) in
            [r#"{"k":1}"#, r#"{"k":[1,2]}"#, r#"{"k":1.5}"#, r#"{"k":null}"#, "{}"].iter().enumerate()
        {
            index.insert(at(offset as u32), doc.as_bytes());
        }
        assert_eq!(index.points_count(), 2);
        assert_eq!(index.uncovered().numbers(), [2]);
        assert_eq!(index.null().numbers(), [3]);
        assert_eq!(index.filled().numbers(), [0, 1, 2]);
    }

    #[test]
    fn a_clone_is_a_snapshot() {
        let mut original = index(FieldKind::Keyword);
        original.insert(at(0), br#"{"k":"a"}"#);
        original.insert(at(1), br#"{"k":["a","b"]}"#);
        let snapshot = original.clone();
        original.remove(at(0), br#"{"k":"a"}"#);
        original.insert(at(2), br#"{"k":"a"}"#);
        let holders = |index: &FieldIndex| index.match_string("a", None).possible().numbers();
        assert_eq!(holders(&snapshot), [0, 1]);
        assert_eq!(holders(&original), [1, 2]);
        assert_eq!((snapshot.points_count(), original.points_count()), (2, 2));
    }

    #[test]
    fn one_spelling_of_a_uuid_may_go_and_another_stay_c7() {
        let (lower, upper) = ("550e8400-e29b-41d4-a716-446655440000", "550E8400-E29B-41D4-A716-446655440000");
        let both = format!("{{\"k\":[\"{lower}\",\"{upper}\",\"x\"]}}");
        for kind in [FieldKind::Keyword, FieldKind::Uuid] {
            let mut index = index(kind);
            index.insert(at(3), both.as_bytes());
            index.replace(at(3), Some(both.as_bytes()), Some(format!("{{\"k\":[\"{upper}\"]}}").as_bytes()));
            let uuid = Some(0x550e_8400_e29b_41d4_a716_4466_5544_0000);
            assert_eq!(index.match_string(lower, uuid).certain().numbers(), [3]);
            index.replace(at(3), Some(format!("{{\"k\":[\"{upper}\"]}}").as_bytes()), Some(b"{}"));
            assert!(index.match_string(lower, uuid).possible().is_empty());
            assert_eq!(index.points_count(), 0);
        }
    }

    #[test]
    fn values_that_both_payloads_hold_are_not_changed() {
        let mut index = index(FieldKind::Integer);
        let doc = |offset: u32, more: &str| format!("{{\"k\":[{offset}{more}]}}").into_bytes();
        (0..5_000).for_each(|offset| index.insert(at(offset), &doc(offset, "")));
        let wide = Interval { gte: Some(10.0), ..Interval::default() };
        (0..6).for_each(|_| drop(index.numbers_within(&wide)));
        let has_zones =
            |index: &FieldIndex| matches!(&index.values, Values::Numbers(column) if column.has_zones());
        let known = |index: &FieldIndex| match &index.values {
            Values::Numbers(column) => column.memory_bytes(),
            _ => 0,
        };
        let before = known(&index);
        assert!(has_zones(&index));
        index.replace(at(77), Some(&doc(77, "")), Some(&doc(77, ",77")));
        assert_eq!(known(&index), before);
        index.replace(at(77), Some(&doc(77, "")), Some(&doc(77, ",4000")));
        assert!(known(&index) < before, "unions with the value that came are dropped");
        assert_eq!(index.match_integer(4000).certain().numbers(), [77, 4000]);
    }

    #[test]
    fn removing_a_point_undoes_its_insertion() {
        for kind in [
            FieldKind::Keyword,
            FieldKind::Integer,
            FieldKind::Float,
            FieldKind::Uuid,
            FieldKind::Datetime,
            FieldKind::Geo,
        ] {
            let mut index = index(kind);
            let doc =
                br#"{"k":["2024-01-01",1,1,1.5,null,{"lon":1,"lat":-0.0},"550e8400-e29b-41d4-a716-446655440000",[]]}"#;
            index.insert(at(7), doc);
            assert_eq!(index.points_count(), 1);
            index.remove(at(7), doc);
            assert_eq!(index.points_count(), 0);
            assert!(index.uncovered().is_empty() && index.filled().is_empty() && index.null().is_empty());
            assert!(index.multivalued.is_empty());
        }
    }
}
