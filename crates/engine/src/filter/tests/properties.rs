//! The answer of a filter never depends on which fields are indexed, on what was changed before, or on who reads.

use super::oracle::{self, DATETIMES};
use super::{Point, normalised, parse};
use crate::filter::{Filter, IndexSet};
use crate::payload::{FieldIndex, FieldKind, FieldSchema, JsonPath, edit};
use crate::types::PointId;
use proptest::prelude::*;
use roaring::RoaringBitmap;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Some more often than others, so that payloads, indexes and filters meet.
const PATHS: [&str; 16] = [
    "a",
    "a",
    "a",
    "a",
    "a",
    "b",
    "b",
    "a[].b",
    "a[].b",
    "a[].b",
    "a.b",
    "a[]",
    "a[].b[]",
    "a[].b[].a",
    "a[0]",
    "b[1].a",
];
const KINDS: [FieldKind; 8] = [
    FieldKind::Keyword,
    FieldKind::Integer,
    FieldKind::Float,
    FieldKind::Bool,
    FieldKind::Datetime,
    FieldKind::Uuid,
    FieldKind::Text,
    FieldKind::Geo,
];
const UUIDS: [&str; 3] = [
    "550e8400-e29b-41d4-a716-446655440000",
    "550E8400E29B41D4A716446655440000",
    "urn:uuid:00000000-0000-0000-0000-000000000001",
];
const TEXTS: [&str; 4] = ["", "red", "fox, Red", "ré\"d\n"];
const NUMBERS: [&str; 9] = [
    "0",
    "-0.0",
    "1",
    "1.0",
    "-2.5",
    "9007199254740993",
    "9007199254740992.0",
    "9223372036854775807",
    "18446744073709551615",
];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn text() -> impl Strategy<Value = Value> {
    let all: Vec<&str> =
        TEXTS.iter().chain(&UUIDS).copied().chain(DATETIMES.iter().map(|(text, _)| *text)).collect();
    prop::sample::select(all).prop_map(|text| json!(text))
}

fn integer() -> impl Strategy<Value = Value> {
    prop::sample::select(vec!["0", "1", "9007199254740993"]).prop_map(parsed)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::Bool),
        3 => prop::sample::select(&NUMBERS[..]).prop_map(parsed),
        4 => text(),
        1 => (-3i32..3, -3i32..3).prop_map(|(lon, lat)| json!({"lon": lon, "lat": lat})),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let list = prop::collection::vec(scalar(), 0..4).prop_map(Value::Array);
    let objects =
        prop::collection::vec(prop_oneof![6 => object(scalar()), 1 => scalar()], 0..3).prop_map(Value::Array);
    let deep = scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array), object(inner)]
    });
    prop_oneof![3 => scalar(), 2 => list, 3 => objects, 1 => deep]
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(vec!["a", "a", "a", "b", "b", "c"]), inner, 0..4)
        .prop_map(|fields| {
            Value::Object(fields.into_iter().map(|(key, value)| (key.to_string(), value)).collect())
        })
}

fn bounds(value: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(vec!["gt", "gte", "lt", "lte"]), value, 0..3).prop_map(
        |bounds| Value::Object(bounds.into_iter().map(|(key, value)| (key.to_string(), value)).collect()),
    )
}

fn clause() -> impl Strategy<Value = Value> {
    let matching = prop_oneof![
        prop_oneof![text(), integer(), any::<bool>().prop_map(Value::Bool)]
            .prop_map(|value| json!({"value": value})),
        prop::collection::vec(text(), 0..4).prop_map(|list| json!({"any": list})),
        prop::collection::vec(integer(), 0..4).prop_map(|list| json!({"any": list})),
        prop::collection::vec(text(), 0..4).prop_map(|list| json!({"except": list})),
        prop::collection::vec(integer(), 0..4).prop_map(|list| json!({"except": list})),
        prop::sample::select(vec!["", "r", "2024-01", "550e", "ré\"d"])
            .prop_map(|text| json!({"prefix": text})),
        (
            prop::sample::select(vec!["text", "text_any", "phrase"]),
            prop::sample::select(vec!["FOX red", "Red", "", "é 1"])
        )
            .prop_map(|(kind, text)| json!({kind: text})),
    ];
    let instant = prop::sample::select(&DATETIMES[..]).prop_map(|(text, _)| json!(text));
    prop_oneof![
        6 => matching.prop_map(|clause| json!({"match": clause})),
        2 => bounds(prop::sample::select(&NUMBERS[..]).prop_map(parsed)).prop_map(|range| json!({"range": range})),
        1 => bounds(instant).prop_map(|range| json!({"range": range})),
        1 => bounds((0u64..4).prop_map(|n| json!(n))).prop_map(|count| json!({"values_count": count})),
        1 => any::<bool>().prop_map(|wanted| json!({"is_empty": wanted})),
        1 => any::<bool>().prop_map(|wanted| json!({"is_null": wanted})),
        1 => Just(json!({"geo_radius": {"center": {"lon": 0, "lat": 0}, "radius": 200_000}})),
        1 => Just(json!({"geo_bounding_box": {"top_left": {"lon": -2, "lat": 2}, "bottom_right": {"lon": 1.5, "lat": -1}}})),
    ]
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&PATHS[..])
}

/// Few values that are alike in every way the conditions tell apart, so that they often meet.
fn alike() -> BoxedStrategy<Value> {
    prop::sample::select(vec![
        "0",
        "-0.0",
        "1",
        "1.0",
        "\"red\"",
        "\"1\"",
        "true",
        "null",
        "{}",
        "[1]",
        "\"2024-01-01\"",
        "\"2024-01-01T00:00:00Z\"",
        "\"550e8400-e29b-41d4-a716-446655440000\"",
        "\"550E8400E29B41D4A716446655440000\"",
    ])
    .prop_map(parsed)
    .boxed()
}

fn one_or_some() -> impl Strategy<Value = Value> {
    prop_oneof![alike(), prop::collection::vec(alike(), 0..4).prop_map(Value::Array)]
}

fn alike_clause() -> impl Strategy<Value = Value> {
    let of = |kind: fn(&Value) -> bool| alike().prop_filter("of the kind", kind).boxed();
    let (text, whole) = (of(Value::is_string), of(Value::is_i64));
    let list = prop_oneof![
        prop::collection::vec(text.clone(), 0..4).prop_map(Value::Array),
        prop::collection::vec(whole.clone(), 0..3).prop_map(Value::Array),
    ]
    .boxed();
    let instant = prop::sample::select(&DATETIMES[..]).prop_map(|(text, _)| json!(text));
    prop_oneof![
        prop_oneof![text, whole, any::<bool>().prop_map(Value::Bool)]
            .prop_map(|value| json!({"match": {"value": value}})),
        list.clone().prop_map(|list| json!({"match": {"any": list}})),
        list.prop_map(|list| json!({"match": {"except": list}})),
        prop::sample::select(vec!["", "r", "55", "2024"]).prop_map(|text| json!({"match": {"prefix": text}})),
        Just(json!({"match": {"text": "RED"}})),
        bounds(of(Value::is_number)).prop_map(|range| json!({"range": range})),
        bounds(instant).prop_map(|range| json!({"range": range})),
        bounds((0u64..3).prop_map(|n| json!(n))).prop_map(|count| json!({"values_count": count})),
        any::<bool>().prop_map(|wanted| json!({"is_empty": wanted})),
        any::<bool>().prop_map(|wanted| json!({"is_null": wanted})),
    ]
}

fn condition() -> impl Strategy<Value = Value> {
    let field = (path(), prop::collection::vec(clause(), 1..3)).prop_map(|(path, clauses)| {
        let mut fields = serde_json::Map::new();
        fields.insert("key".into(), json!(path));
        for clause in clauses {
            fields.extend(clause.as_object().unwrap().clone());
        }
        Value::Object(fields)
    });
    let leaf = prop_oneof![
        8 => field,
        1 => path().prop_map(|path| json!({"is_empty": {"key": path}})),
        1 => path().prop_map(|path| json!({"is_null": {"key": path}})),
        1 => prop::collection::vec(0u64..12, 0..4).prop_map(|ids| json!({"has_id": ids})),
        1 => Just(json!({"has_vector": "image"})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let nested = (prop::sample::select(vec!["a", "a[]", "b", "a[].b"]), any_filter(inner.clone()))
            .prop_map(|(key, filter)| json!({"nested": {"key": key, "filter": filter}}));
        prop_oneof![2 => any_filter(inner), 1 => nested]
    })
}

fn any_filter(conditions: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let list = || prop::collection::vec(conditions.clone(), 0..3);
    (list(), list(), list(), prop::option::of((list(), 1u64..4))).prop_map(
        |(must, should, must_not, at_least)| {
            let mut filter = json!({});
            for (group, list) in [("must", must), ("should", should), ("must_not", must_not)] {
                if !list.is_empty() {
                    filter[group] = Value::Array(list);
                }
            }
            if let Some((conditions, min_count)) = at_least {
                filter["min_should"] = json!({"conditions": conditions, "min_count": min_count});
            }
            filter
        },
    )
}

/// Mostly one condition alone, whose bounds no other condition can hide.
fn filter() -> impl Strategy<Value = Value> {
    let groups = prop::sample::select(vec!["must", "should", "must_not"]);
    let nested = (prop::sample::select(vec!["a", "b"]), any_filter(condition().boxed()))
        .prop_map(|(key, filter)| json!({"must": {"nested": {"key": key, "filter": filter}}}));
    prop_oneof![
        6 => (groups, condition()).prop_map(|(group, condition)| json!({group: condition})),
        1 => nested,
        3 => any_filter(condition().boxed()),
    ]
}

/// A step in the life of a collection of twelve offsets.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Put(u32, Value),
    Merge(u32, Value),
    Delete(u32),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0u32..12, object(any_value())).prop_map(|(at, doc)| Change::Put(at, doc)),
        1 => (0u32..12, object(any_value())).prop_map(|(at, doc)| Change::Merge(at, doc)),
        1 => (0u32..12).prop_map(Change::Delete),
    ]
}

/// Points with their indexes. The offset is the id.
#[derive(Clone)]
pub(super) struct State {
    docs: BTreeMap<u32, Vec<u8>>,
    indexes: Vec<FieldIndex>,
    live: RoaringBitmap,
}

impl State {
    fn new(definitions: &[(&str, FieldKind)]) -> State {
        State::with(definitions.iter().map(|(path, kind)| (*path, FieldSchema::new(*kind))))
    }

    /// A state with these indexes; of two on one path, the first.
    pub(super) fn with<'p>(definitions: impl Iterator<Item = (&'p str, FieldSchema)>) -> State {
        let mut indexes: Vec<FieldIndex> = Vec::new();
        for (path, schema) in definitions {
            let path = JsonPath::parse(path).unwrap();
            if indexes.iter().all(|index| *index.path() != path) {
                indexes.push(FieldIndex::new(path, schema));
            }
        }
        State { docs: BTreeMap::new(), indexes, live: RoaringBitmap::new() }
    }

    pub(super) fn apply(&mut self, change: &Change) {
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
    fn check(&self, filter: &Filter, json: &Value) -> Result<(), TestCaseError> {
        self.compare(filter, json, |offset, doc| oracle::matches(json, Some(u64::from(offset)), doc))
    }

    /// Compares the plan and the evaluator on every point with what is expected of its payload.
    pub(super) fn compare(
        &self,
        filter: &Filter,
        json: &Value,
        matches: impl Fn(u32, &Value) -> bool,
    ) -> Result<(), TestCaseError> {
        let plan = filter.plan(self, &self.live);
        let candidates = plan.candidates.clone().unwrap_or_else(|| self.live.clone());
        prop_assert!(candidates.is_subset(&self.live) && plan.certain.is_subset(&candidates));
        prop_assert_eq!(plan.cardinality(self.live.len()), candidates.len());
        for (offset, doc) in &self.docs {
            let text = String::from_utf8_lossy(doc);
            let texts = self.indexes.iter().filter_map(|index| Some((index, index.tokenizer()?)));
            let point = Point {
                id: PointId::Num(u64::from(*offset)),
                vectors: vec![""],
                payload: doc.clone(),
                tokenizers: texts
                    .map(|(index, tokenizer)| (index.path().clone(), tokenizer.clone()))
                    .collect(),
            };
            let expected = matches(*offset, &parsed(&text));
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
        match id {
            PointId::Num(number) => {
                self.docs.get_key_value(&u32::try_from(number).ok()?).map(|(offset, _)| *offset)
            }
            PointId::Uuid(_) => None,
        }
    }

    fn with_vector(&self, name: &str) -> Option<RoaringBitmap> {
        Some(if name.is_empty() { self.live.clone() } else { RoaringBitmap::new() })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn indexes_never_change_an_answer_c7(
        definitions in prop::collection::vec((path(), prop::sample::select(&KINDS[..])), 0..8),
        before in prop::collection::vec(change(), 0..12),
        after in prop::collection::vec(change(), 0..8),
        filters in prop::collection::vec(filter(), 4..12),
    ) {
        let mut state = State::new(&definitions);
        before.iter().for_each(|change| state.apply(change));
        let snapshot = state.clone();
        after.iter().for_each(|change| state.apply(change));
        for json in filters {
            let filter = parse(&json.to_string()).map_err(|error| TestCaseError::fail(format!("{json}: {error}")))?;
            state.check(&filter, &json)?;
            snapshot.check(&filter, &json)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, max_shrink_iters: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn every_kind_of_index_answers_every_clause_c7(
        kind in prop::sample::select(&KINDS[..]),
        values in prop::collection::vec(prop::collection::vec(prop::option::of(one_or_some()), 0..3), 6..12),
        gone in prop::collection::vec(0u32..12, 0..4),
        clauses in prop::collection::vec((alike_clause(), alike_clause()), 2..6),
    ) {
        let element = |value: &Option<Value>| value.as_ref().map_or(json!({}), |value| json!({"k": value}));
        let mut state = State::new(&[("k", kind), ("n[].k", kind)]);
        for (offset, values) in values.iter().enumerate() {
            let mut doc = element(values.first().unwrap_or(&None));
            doc["n"] = values.iter().map(element).collect();
            state.apply(&Change::Put(offset as u32, doc));
        }
        let before = state.clone();
        for offset in gone {
            // What stays under its offset without its values shows what an index forgot to take out.
            state.apply(&if offset % 2 == 0 { Change::Delete(offset) } else { Change::Put(offset, json!({})) });
        }
        for (mut one, mut two) in clauses {
            one["key"] = json!("k");
            two["key"] = json!("k");
            for group in [json!({"must": [one]}), json!({"must_not": [one]}), json!({"must": [one], "must_not": [two]})] {
                for json in [json!({"must": {"nested": {"key": "n", "filter": group}}}), group] {
                    let filter = parse(&json.to_string()).unwrap();
                    state.check(&filter, &json)?;
                    before.check(&filter, &json)?;
                }
            }
        }
    }
}

#[test]
fn indexed_conditions_are_exact_and_need_no_payload() {
    let mut state =
        State::new(&[("a", FieldKind::Keyword), ("b", FieldKind::Integer), ("c", FieldKind::Datetime)]);
    for offset in 0..10u32 {
        let doc = json!({"a": (["x", "y"][offset as usize % 2]), "b": offset, "c": format!("2024-01-{:02}", offset + 1)});
        state.apply(&Change::Put(offset, doc));
    }
    for (filter, expected) in [
        (
            json!({"must": [{"key": "a", "match": {"value": "x"}}, {"key": "b", "range": {"gte": 4}}]}),
            vec![4, 6, 8],
        ),
        (json!({"must_not": [{"key": "a", "match": {"any": ["x", "z"]}}]}), vec![1, 3, 5, 7, 9]),
        (json!({"must": [{"key": "a", "match": {"except": ["x"]}}, {"has_id": [1, 2, 77]}]}), vec![1]),
        (
            json!({"should": [{"key": "b", "match": {"value": 3}}, {"key": "c", "range": {"lt": "2024-01-02"}}]}),
            vec![0, 3],
        ),
        (
            json!({"min_should": {"min_count": 2, "conditions": [
                {"key": "a", "match": {"prefix": "y"}}, {"key": "b", "range": {"lt": 4}}, {"key": "a", "is_empty": true}
            ]}}),
            vec![1, 3],
        ),
    ] {
        let plan = parse(&filter.to_string()).unwrap().plan(&state, &state.live);
        assert!(plan.exact, "{filter}");
        assert_eq!(plan.candidates.unwrap().iter().collect::<Vec<_>>(), expected, "{filter}");
    }
    // An unindexed condition leaves the candidates of the indexed ones.
    let mixed =
        json!({"must": [{"key": "a", "match": {"value": "x"}}, {"key": "b.c", "match": {"value": 1}}]});
    let plan = parse(&mixed.to_string()).unwrap().plan(&state, &state.live);
    assert!(!plan.exact && plan.candidates.unwrap().len() == 5);
    let unindexed = parse(r#"{"must":[{"key":"z","match":{"value":1}}]}"#).unwrap().plan(&state, &state.live);
    assert!(!unindexed.exact && unindexed.candidates.is_none());
}

#[test]
fn nested_conditions_take_their_candidates_from_the_index_of_the_inner_path() {
    let mut state = State::new(&[("a[].b", FieldKind::Integer)]);
    for offset in 0..10u32 {
        state.apply(&Change::Put(offset, json!({"a": [{"b": offset}, {"b": 100, "c": 1}]})));
    }
    let nested = r#"{"must":[{"nested":{"key":"a","filter":{"must":[{"key":"b","match":{"any":[3,4]}}],"must_not":[{"key":"c","is_null":true}]}}}]}"#;
    let plan = parse(nested).unwrap().plan(&state, &state.live);
    assert!(!plan.exact);
    assert_eq!(plan.candidates.unwrap().iter().collect::<Vec<_>>(), [3, 4]);
}
