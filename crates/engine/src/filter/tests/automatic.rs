//! No answer depends on automatic indexes (C23): two collections get the same writes, and one of them makes none.
//!
//! `KITHDB_CASES` sets how many random collections are tried.

use super::documents::{any_value, path};
use super::filters::filter;
use crate::catalog::Mode;
use crate::collection::GraphPolicy;
use crate::engine::{Engine, Operation, Options, Request};
use crate::storage::SimDisk;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// More than an automatic index needs.
const POINTS: u64 = 24;

fn config() -> ProptestConfig {
    let cases: u32 =
        std::env::var("KITHDB_CASES").ok().map_or(60, |cases| cases.parse().expect("a number of cases"));
    ProptestConfig { cases, max_shrink_iters: 2_000, ..ProptestConfig::default() }
}

struct Pair(Engine);

impl Pair {
    fn new() -> Pair {
        let options = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
        let pair = Pair(Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens"));
        for indexes in ["auto", "manual"] {
            let mut config = json!({"vectors": {"image": {"size": 1, "distance": "Dot"}}});
            if indexes == "manual" {
                config["field_indexes"] = json!(indexes);
            }
            pair.call(indexes, "create_collection", &config).expect("it is created");
        }
        pair
    }

    fn call(&self, collection: &str, operation: &str, body: &Value) -> Result<Value, String> {
        let slot = Arc::new(Mutex::new(None));
        let answer = Arc::clone(&slot);
        let operation = Operation::parse(operation).expect("a known operation");
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::new(operation, collection, body);
        self.0.execute(request, Box::new(move |result| *answer.lock().unwrap() = Some(result)));
        let result = slot.lock().unwrap().take().expect("answered before it returns");
        result
            .map(|envelope| serde_json::from_slice::<Value>(&envelope).expect("JSON")["result"].clone())
            .map_err(|error| error.to_string())
    }

    /// The answer of both, which is the same.
    fn same(&self, operation: &str, body: &Value) -> Result<Value, TestCaseError> {
        let [auto, manual] = ["auto", "manual"].map(|collection| self.call(collection, operation, body));
        prop_assert_eq!(&auto, &manual, "{} {}", operation, body);
        // A filter may be one that both refuse.
        Ok(auto.unwrap_or_default())
    }

    fn automatic(&self, collection: &str) -> Vec<String> {
        let info = self.call(collection, "collection_info", &Value::Null).expect("an info");
        assert_eq!(info["payload_schema"], json!({}));
        let mut paths: Vec<String> =
            info["auto_indexes"].as_object().map(|all| all.keys().cloned().collect()).unwrap_or_default();
        paths.sort_unstable();
        paths
    }
}

/// A write, to either of them.
fn write() -> impl Strategy<Value = (&'static str, Value)> {
    let ids = || prop::collection::vec(0..POINTS, 1..6);
    prop_oneof![
        3 => (ids(), payload()).prop_map(|(ids, payload)| {
            let points: Vec<Value> =
                ids.iter().map(|id| json!({"id": id, "vector": {}, "payload": payload})).collect();
            ("upsert_points", json!({"points": points}))
        }),
        1 => ids().prop_map(|ids| ("delete_points", json!({"points": ids}))),
        1 => (filter(), payload()).prop_map(|(filter, payload)| {
            ("set_payload", json!({"filter": filter, "payload": payload}))
        }),
        1 => filter().prop_map(|filter| ("delete_points", json!({"filter": filter}))),
        1 => (filter(), prop::sample::select(vec!["a", "b", "a[].b"])).prop_map(|(filter, key)| {
            ("delete_payload", json!({"filter": filter, "keys": [key]}))
        }),
    ]
}

/// Values of any type under the keys that most conditions name.
fn payload() -> impl Strategy<Value = Value> {
    (any_value(), any_value(), any_value())
        .prop_map(|(a, b, c)| json!({"a": a, "b": b, "x.y": c.clone(), "größe": c}))
}

fn check(pair: &Pair, filters: &[Value]) -> Result<(), TestCaseError> {
    for filter in filters {
        pair.same("count", &json!({"filter": filter}))?;
        pair.same("count", &json!({"filter": filter, "exact": false}))?;
        pair.same("scroll", &json!({"filter": filter, "limit": 100, "with_payload": false}))?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn automatic_indexes_never_change_an_answer_c23(
        payloads in prop::collection::vec(payload(), POINTS as usize),
        rounds in prop::collection::vec(prop::collection::vec(write(), 0..4), 3..6),
        filters in prop::collection::vec(filter(), 3..8),
        faceted in path(),
    ) {
        let pair = Pair::new();
        let points: Vec<Value> = payloads
            .iter()
            .enumerate()
            .map(|(id, payload)| json!({"id": id, "vector": {}, "payload": payload}))
            .collect();
        pair.same("upsert_points", &json!({"points": points}))?;
        for writes in rounds {
            // Often enough that an index is worth its cost, and some more, which are answered with it.
            for _ in 0..2 {
                check(&pair, &filters)?;
                pair.same("facet", &json!({"key": faceted, "limit": 100, "exact": true}))?;
                pair.0.work_in_background(GraphPolicy::Never);
            }
            for (operation, body) in &writes {
                // An upsert of points that a limit refuses, or an edit that nests too deep, is refused by both.
                let [auto, manual] = ["auto", "manual"].map(|one| pair.call(one, operation, body));
                prop_assert_eq!(auto.is_ok(), manual.is_ok(), "{} {}", operation, body);
            }
        }
        check(&pair, &filters)?;
        prop_assert!(pair.automatic("manual").is_empty());
    }
}

#[test]
fn paths_with_arrays_and_nested_objects_get_automatic_indexes_too_c23() {
    let pair = Pair::new();
    let points: Vec<Value> = (0..POINTS)
        .map(|id| json!({"id": id, "vector": {}, "payload": {"a": [{"b": id % 3}, {"b": "x"}], "b": [id, "y"]}}))
        .collect();
    pair.same("upsert_points", &json!({"points": points})).unwrap();
    let filters = [
        json!({"must": {"nested": {"key": "a", "filter": {"must": {"key": "b", "match": {"value": 1}}}}}}),
        json!({"must": {"key": "b", "match": {"value": 7}}}),
    ];
    // One after the other: with the first index in use, what the other filter costs is counted anew.
    for _ in 0..6 {
        check(&pair, &filters).unwrap();
        pair.0.work_in_background(GraphPolicy::Never);
    }
    assert_eq!(pair.automatic("auto"), ["a[].b", "b"]);
    check(&pair, &filters).unwrap();
}
