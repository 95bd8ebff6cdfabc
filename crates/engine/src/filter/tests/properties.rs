//! The answer of a filter never depends on which fields are indexed or on earlier changes, and is that of a naive
//! implementation.
//!
//! `KITHDB_CASES` sets how many random collections are tried; a night's run takes a million.

use super::documents::{one_or_some, path};
use super::filters::{alike_clause, filter};
use super::parse;
use super::state::{Change, State, change};
use crate::json::Reader;
use crate::payload::{FieldKind, FieldSchema};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Random collections to try, each with several filters.
fn config() -> ProptestConfig {
    let cases: u32 =
        std::env::var("KITHDB_CASES").ok().map_or(2_000, |cases| cases.parse().expect("a number of cases"));
    // Values are drawn until one has the kind that a clause needs.
    let max_local_rejects = cases.saturating_mul(100);
    ProptestConfig { cases, max_local_rejects, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn indexes_never_change_an_answer_c7(
        definitions in prop::collection::vec((path(), prop::sample::select(&FieldKind::ALL[..])), 0..8),
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
    #![proptest_config(config())]
    #[test]
    fn every_kind_of_index_answers_every_clause_c7(
        kind in prop::sample::select(&FieldKind::ALL[..]),
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
            // A point that stays without its values shows entries that an index did not remove.
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
        assert_eq!(plan.candidates.unwrap().numbers(), expected, "{filter}");
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
    assert_eq!(plan.candidates.unwrap().numbers(), [3, 4]);
}

#[test]
fn the_work_of_all_conditions_of_a_plan_counts_together() {
    let phrases: FieldSchema =
        FieldSchema::parse(&mut Reader::new(br#"{"type":"text","phrase_matching":true}"#).unwrap()).unwrap();
    let indexes = [("t", phrases), ("k", FieldSchema::new(FieldKind::Keyword))];
    let mut state = State::with(indexes.into_iter());
    let keywords: Vec<String> = (0..8_000).map(|n| format!("k{n}")).collect();
    state.apply(&Change::Put(0, json!({"t": "one two three ".repeat(30_000), "k": keywords})));
    // The bounds of one must not decide the others: no text has the phrase, and one has the prefix.
    for (group, clause, many) in [
        ("should", json!({"key": "t", "match": {"phrase": "three two"}}), 60),
        ("must", json!({"key": "k", "match": {"prefix": "k"}}), 1_000),
    ] {
        let plan = |count: usize| {
            let filter = json!({group: vec![clause.clone(); count]});
            parse(&filter.to_string()).unwrap().plan(&state, &state.live)
        };
        assert!(plan(2).exact, "{clause}: a few are decided by the index");
        let plan = plan(many);
        assert!(!plan.exact, "{clause}: so many take longer than a deadline may wait");
        assert_eq!(plan.cardinality(1), 1, "what is not decided stays a candidate");
    }
}

#[test]
fn a_polygon_counts_by_its_edges_c1_10() {
    let ring = |edges: usize| {
        let points: Vec<Value> =
            (0..=edges).map(|n| json!({"lon": n % edges % 90, "lat": n % edges % 80})).collect();
        json!({"points": points})
    };
    let work = |exterior: usize, hole: usize| {
        let polygon = json!({"exterior": ring(exterior), "interiors": [ring(hole)]});
        let filter = json!({"must": [{"key": "p", "geo_polygon": polygon}, {"key": "p", "is_null": false}]});
        let filter = parse(&filter.to_string()).unwrap();
        assert_eq!(filter.conditions(), 2);
        filter.work()
    };
    assert_eq!(work(4, 4), 2);
    // Comparisons of a place with this many edges check the deadline often.
    assert_eq!(work(100_000, 60_000), 2 + 160_002 / 16);
}
