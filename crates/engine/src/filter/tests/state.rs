//! A collection of twelve offsets with field indexes, and the checks of a filter on it.

use super::documents::{any_value, object, parsed};
use super::oracle::{self, Subject};
use super::{Point, normalised};
use crate::filter::{Filter, IndexSet};
use crate::payload::{FieldIndex, FieldKind, FieldSchema, JsonPath, edit};
use crate::point_set::PointSet;
use crate::types::{PointId, PointOffset};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A change of a collection of twelve offsets.
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
    pub live: PointSet,
}

impl State {
    pub fn new(definitions: &[(&str, FieldKind)]) -> State {
        State::with(definitions.iter().map(|(path, kind)| (*path, FieldSchema::new(*kind))))
    }

    /// A state with these indexes; of two on one path, the first.
    pub fn with<'p>(definitions: impl Iterator<Item = (&'p str, FieldSchema)>) -> State {
        let mut indexes: Vec<FieldIndex> = Vec::new();
        for (path, schema) in definitions {
            let path = JsonPath::parse(path).unwrap();
            if indexes.iter().all(|index| *index.path() != path) {
                indexes.push(FieldIndex::new(path, schema));
            }
        }
        State { docs: BTreeMap::new(), indexes, live: PointSet::new() }
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
        let before = self.docs.remove(&offset);
        for index in &mut self.indexes {
            index.replace(PointOffset::new(offset), before.as_deref(), after.as_deref());
        }
        self.live.remove(PointOffset::new(offset));
        if let Some(after) = after {
            self.live.insert(PointOffset::new(offset));
            self.docs.insert(offset, after);
        }
    }

    /// Compares the plan, the evaluator and the oracle on every point.
    pub fn check(&self, filter: &Filter, json: &Value) -> Result<(), TestCaseError> {
        self.compare(filter, json, |subject, doc| oracle::matches(json, Some(subject), doc))
    }

    /// Compares the plan and the evaluator on every point with what is expected of it and its payload.
    pub fn compare(
        &self,
        filter: &Filter,
        json: &Value,
        matches: impl Fn(&Subject<'_>, &Value) -> bool,
    ) -> Result<(), TestCaseError> {
        let plan = filter.plan(self, &self.live);
        let candidates = plan.candidates.clone().unwrap_or_else(|| self.live.clone());
        prop_assert!((&candidates - &self.live).is_empty() && (&plan.certain - &candidates).is_empty());
        prop_assert_eq!(plan.cardinality(self.live.len()), candidates.len());
        for (offset, doc) in &self.docs {
            let text = String::from_utf8_lossy(doc);
            let (at, id) = (PointOffset::new(*offset), id_of(*offset));
            let id_text = match id {
                PointId::Num(number) => json!(number),
                PointId::Uuid(_) | PointId::Text(_) => json!(id.to_string()),
            };
            let texts = self.indexes.iter().filter_map(|index| Some((index, index.tokenizer()?)));
            let tokenizers =
                texts.map(|(index, tokenizer)| (index.path().clone(), tokenizer.clone())).collect();
            let point = Point { id, vectors: vectors_of(*offset), payload: doc.clone(), tokenizers };
            let subject = Subject { id: &id_text, vectors: &point.vectors };
            let expected = matches(&subject, &parsed(&text));
            prop_assert_eq!(filter.matches(&point), expected, "evaluated {} on {}", json, text);
            if plan.certain.contains(at) {
                prop_assert!(expected, "certain {} on {}", json, text);
            }
            let planned = candidates.contains(at)
                && plan.admits(at, || Ok::<_, ()>(filter.matches(&point))) == Ok(true);
            prop_assert_eq!(planned, expected, "planned {} on {}, exact {}", json, text, plan.exact);
        }
        Ok(())
    }
}

impl IndexSet for State {
    fn index(&self, path: &JsonPath) -> Option<&FieldIndex> {
        self.indexes.iter().find(|index| index.path() == path)
    }

    fn offset_of(&self, id: &PointId) -> Option<PointOffset> {
        let number = match id {
            PointId::Num(number) => u32::try_from(*number).ok()?,
            PointId::Uuid(number) => u32::try_from(*number).ok()?,
            PointId::Text(_) => return None,
        };
        (id_of(number) == *id && self.docs.contains_key(&number)).then_some(PointOffset::new(number))
    }

    fn with_vector(&self, name: &str) -> Option<PointSet> {
        Some(self.live.iter().filter(|offset| vectors_of(offset.get()).contains(&name)).collect())
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
