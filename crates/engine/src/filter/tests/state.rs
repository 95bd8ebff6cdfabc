//! A collection of twelve offsets with field indexes, and what is checked of a filter on it.

use super::documents::{any_value, object, parsed};
use super::oracle::{self, Subject};
use super::{Point, normalised};
use crate::filter::{Filter, IndexSet};
use crate::payload::{FieldIndex, FieldKind, FieldSchema, JsonPath, edit};
use crate::types::PointId;
use proptest::prelude::*;
use roaring::RoaringBitmap;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A step in the life of a collection of twelve offsets.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Put(u32, Value),
    Merge(u32, Value),
    Delete(u32),
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0u32..12, object(any_value())).prop_map(|(at, doc)| Change::Put(at, doc)),
        1 => (0u32..12, object(any_value())).prop_map(|(at, doc)| Change::Merge(at, doc)),
        1 => (0u32..12).prop_map(Change::Delete),
    ]
}

/// Points with their indexes.
#[derive(Clone)]
pub(super) struct State {
    docs: BTreeMap<u32, Vec<u8>>,
    indexes: Vec<FieldIndex>,
    pub live: RoaringBitmap,
}

impl State {
    pub fn new(definitions: &[(&str, FieldKind)]) -> State {
        let mut indexes: Vec<FieldIndex> = Vec::new();
        for (path, kind) in definitions {
            let path = JsonPath::parse(path).unwrap();
            if indexes.iter().all(|index| *index.path() != path) {
                indexes.push(FieldIndex::new(path, FieldSchema::new(*kind)));
            }
        }
        State { docs: BTreeMap::new(), indexes, live: RoaringBitmap::new() }
    }

    pub fn apply(&mut self, change: &Change) {
        let (offset, after) = match change {
            Change::Put(offset, doc) => (*offset, Some(normalised(&doc.to_string()))),
            Change::Merge(offset, patch) => {
                let before = self.docs.get(offset);
                (*offset, before.map(|doc| edit::merge(doc, patch.to_string().as_bytes()).unwrap()))
            }
            Change::Delete(offset) => (*offset, None),
        };
        if let Some(before) = self.docs.remove(&offset) {
            self.live.remove(offset);
            self.indexes.iter_mut().for_each(|index| index.remove(offset, &before));
        }
        if let Some(after) = after {
            self.live.insert(offset);
            self.indexes.iter_mut().for_each(|index| index.insert(offset, &after));
            self.docs.insert(offset, after);
        }
    }

    /// Compares the plan, the evaluator and the oracle on every point.
    pub fn check(&self, filter: &Filter, json: &Value) -> Result<(), TestCaseError> {
        let plan = filter.plan(self, &self.live);
        let candidates = plan.candidates.clone().unwrap_or_else(|| self.live.clone());
        prop_assert!(candidates.is_subset(&self.live) && plan.certain.is_subset(&candidates));
        prop_assert_eq!(plan.cardinality(self.live.len()), candidates.len());
        for (offset, doc) in &self.docs {
            let text = String::from_utf8_lossy(doc);
            let id = id_of(*offset);
            let id_text = match id {
                PointId::Num(number) => json!(number),
                PointId::Uuid(_) => json!(id.to_string()),
            };
            let point = Point { id, vectors: vectors_of(*offset), payload: doc.clone() };
            let subject = Subject { id: &id_text, vectors: &point.vectors };
            let expected = oracle::matches(json, Some(&subject), &parsed(&text));
            prop_assert_eq!(filter.matches(&point), expected, "evaluated {} on {}", json, text);
            if plan.certain.contains(*offset) {
                prop_assert!(expected, "certain {} on {}", json, text);
            }
            let planned = candidates.contains(*offset) && plan.admits(*offset, || filter.matches(&point));
            prop_assert_eq!(planned, expected, "planned {} on {}, exact {}", json, text, plan.exact);
        }
        Ok(())
    }
}

impl IndexSet for State {
    fn index(&self, path: &JsonPath) -> Option<&FieldIndex> {
        self.indexes.iter().find(|index| index.path() == path)
    }

    fn offset_of(&self, id: PointId) -> Option<u32> {
        let offset = match id {
            PointId::Num(number) => u32::try_from(number).ok()?,
            PointId::Uuid(number) => u32::try_from(number).ok()?,
        };
        (id_of(offset) == id && self.docs.contains_key(&offset)).then_some(offset)
    }
}

/// Every third point has a UUID.
fn id_of(offset: u32) -> PointId {
    if offset % 3 == 2 { PointId::Uuid(u128::from(offset)) } else { PointId::Num(u64::from(offset)) }
}

fn vectors_of(offset: u32) -> Vec<&'static str> {
    match offset % 4 {
        0 => vec![""],
        1 => vec!["image"],
        2 => vec!["", "image"],
        _ => vec![],
    }
}
