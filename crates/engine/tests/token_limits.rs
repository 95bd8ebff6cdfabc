//! Requests whose caller may reach some points only (C15): what a read finds, a facet counts, a projection
//! shows and an update by a filter changes.

mod common;

use common::{TestEngine, request, result_of};
use kithdb_engine::engine::Access;
use kithdb_engine::limits::Limits;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const OWN: [u64; 5] = [0, 2, 4, 6, 8];

/// Points 0 to 9, of two tenants by turns.
fn engine(seed: u64) -> TestEngine {
    let engine = TestEngine::new(seed);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let point = |id: u64| json!({"id": id, "vector": [id, 1], "payload": {"tenant": id % 2, "kind": "a"}});
    engine.ok("upsert_points", "c", json!({"points": (0..10).map(point).collect::<Vec<_>>()}));
    engine
}

/// The answer to a caller who reaches the points of tenant 0.
fn limited(engine: &TestEngine, operation: &str, body: Value) -> Value {
    let filter = br#"{"filter": {"must": {"key": "tenant", "match": {"value": 0}}}}"#;
    let mut asked = request(operation, "c", &body);
    asked.wait = true;
    asked.access = Some(Arc::new(Access::parse(filter, &Limits::default()).expect("it is read")));
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    engine.engine().execute(asked, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    let answered = answer.lock().unwrap().take().expect("answered before it returns");
    result_of(&answered.unwrap_or_else(|error| panic!("{operation}: {error}")))
}

fn ids(points: &Value) -> Vec<u64> {
    let mut ids: Vec<u64> =
        points.as_array().expect("points").iter().map(|point| point["id"].as_u64().expect("an id")).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn searches_and_prefetches_find_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    let search = json!({"vector": [1, 0], "limit": 10});
    assert_eq!(ids(&limited(&engine, "search", search)), OWN);
    let nearest = json!({"query": [1, 0], "limit": 10});
    for query in [json!({"fusion": "rrf"}), json!([0, 1])] {
        let body =
            json!({"prefetch": [nearest, {"query": [0, 1], "limit": 10}], "query": query, "limit": 10});
        assert_eq!(ids(&limited(&engine, "query", body)["points"]), OWN);
    }
}

#[test]
fn a_facet_counts_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    engine.ok("create_field_index", "c", json!({"field_name": "kind", "field_schema": "keyword"}));
    engine.build_indexes();
    let facet = limited(&engine, "facet", json!({"key": "kind", "exact": true}));
    assert_eq!(facet["hits"], json!([{"value": "a", "count": 5}]));
}

#[test]
fn a_projection_shows_what_the_caller_may_reach_c15() {
    let engine = engine(1);
    for method in ["pca", "umap"] {
        let map = limited(&engine, "project_points", json!({"method": method}));
        let mut ids: Vec<u64> =
            map["ids"].as_array().expect("ids").iter().map(|id| id.as_u64().expect("a number")).collect();
        ids.sort_unstable();
        assert_eq!(ids, OWN);
    }
}

#[test]
fn an_update_by_a_filter_changes_what_the_caller_may_reach_c15() {
    for seed in [1, 2] {
        let engine = engine(seed);
        let everything = json!({"must": {"key": "kind", "match": {"value": "a"}}});
        limited(&engine, "set_payload", json!({"payload": {"seen": true}, "filter": everything}));
        let seen = json!({"limit": 10, "filter": {"must": {"key": "seen", "match": {"value": true}}}});
        assert_eq!(ids(&engine.ok("scroll", "c", seen)["points"]), OWN);
        limited(&engine, "delete_points", json!({"filter": everything}));
        assert_eq!(ids(&engine.ok("scroll", "c", json!({"limit": 10}))["points"]), [1, 3, 5, 7, 9]);
    }
}
