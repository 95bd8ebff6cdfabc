//! What is known of every search, for the log of slow requests (C13).

mod common;

use common::{Client, TestEngine, request};
use kithdb_engine::engine::{Profile, Request};
use kithdb_engine::error::Error;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const POINTS: u64 = 2000;
const PARTS: [&str; 6] = ["queue", "parse", "plan", "search", "rerank", "write"];

/// An engine with a graph over points on a spiral.
fn engine() -> TestEngine {
    let engine = TestEngine::new(1);
    let hnsw = json!({"m": 8, "ef_construct": 32, "full_scan_threshold": 10});
    engine.ok(
        "create_collection",
        "c",
        json!({"vectors": {"size": 2, "distance": "Euclid"}, "hnsw_config": hnsw}),
    );
    let point = |id: u64| {
        let angle = id as f32 / 10.0;
        json!({"id": id, "vector": [angle * angle.cos(), angle * angle.sin()],
            "payload": {"half": id % 2, "name": "a payload of this test"}})
    };
    engine.ok("upsert_points", "c", json!({"points": (1..=POINTS).map(point).collect::<Vec<_>>()}));
    engine.checkpoint();
    engine
}

/// The answer to a request, and what its profile has.
fn profiled(client: &Client, request: Request) -> (Result<Vec<u8>, Error>, Option<Value>) {
    let (profile, answer) = (Arc::new(Profile::default()), Arc::new(Mutex::new(None)));
    let slot = Arc::clone(&answer);
    let request = Request { profile: Some(Arc::clone(&profile)), ..request };
    client.0.execute(request, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    let answer = answer.lock().unwrap().take().expect("answered before it returns");
    (answer, profile.json().map(|json| serde_json::from_slice(&json).expect("a profile is JSON")))
}

fn profile_of(client: &Client, operation: &str, body: &Value) -> Value {
    let (answer, profile) = profiled(client, request(operation, "c", body));
    answer.unwrap_or_else(|error| panic!("{operation}: {error}"));
    profile.expect("a search has a profile")
}

#[test]
fn the_distances_of_an_exact_search_are_those_of_all_points_c13() {
    let engine = engine();
    let body = json!({"query": [3.0, 4.0], "limit": 5, "params": {"exact": true}});
    assert_eq!(profile_of(&engine.client(), "query", &body)["distances"], json!(POINTS));
    let explained = json!({"query": [3.0, 4.0], "limit": 5, "params": {"exact": true, "explain": true}});
    let (answer, _) = profiled(&engine.client(), request("query", "c", &explained));
    let envelope: Value = serde_json::from_slice(&answer.expect("an answer")).expect("JSON");
    assert_eq!(envelope["explain"]["distances"], json!(POINTS), "{envelope}");
}

#[test]
fn the_profile_of_a_walk_has_its_plan_and_what_it_cost_c13() {
    let engine = engine();
    let client = engine.client();
    let body = json!({"query": [3.0, 4.0], "limit": 5, "with_payload": true});
    let profile = client.walking(|| profile_of(&client, "query", &body));
    assert_eq!(profile["plans"], json!({"walk": 1}));
    assert_eq!(
        [&profile["searches"], &profile["estimated_matches"], &profile["matches"], &profile["unindexed"]],
        [&json!(1), &json!(POINTS), &json!(POINTS), &json!(0)]
    );
    assert!(profile["hops"].as_u64() > Some(0) && profile["distances"].as_u64() > Some(0), "{profile}");
    assert!(profile["ef"].as_u64() >= Some(5), "{profile}");
    let reason = profile["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("in comparisons of vectors, a scan"), "{reason}");
    let parts: Vec<&String> = profile["time_us"].as_object().expect("times").keys().collect();
    assert_eq!(parts.len(), PARTS.len());
    for part in PARTS {
        assert!(profile["time_us"][part].as_f64() >= Some(0.0), "{part}: {profile}");
    }
    assert!(profile["time_us"]["search"].as_f64() > Some(0.0), "{profile}");
}

#[test]
fn matches_are_known_where_they_were_counted_and_null_elsewhere_c13() {
    let engine = engine();
    let client = engine.client();
    let half = json!({"must": {"key": "half", "match": {"value": 1}}});
    let body = json!({"query": [3.0, 4.0], "limit": 5, "filter": half});
    let walk = client.walking(|| profile_of(&client, "query", &body));
    assert_eq!((&walk["matches"], &walk["unindexed"]), (&json!(null), &json!(1)));
    assert!(walk["estimated_matches"].as_u64() > Some(0), "{walk}");
    let exact = json!({"query": [3.0, 4.0], "limit": 5, "filter": half, "params": {"exact": true}});
    let exact = profile_of(&client, "query", &exact);
    assert_eq!((&exact["plans"], &exact["estimated_matches"]), (&json!({"exact": 1}), &json!(null)));
    let explained = json!({"query": [3.0, 4.0], "filter": half, "params": {"explain": true}});
    assert_eq!(profile_of(&client, "query", &explained)["matches"], POINTS / 2);
    engine.ok("create_field_index", "c", json!({"field_name": "half", "field_schema": "integer"}));
    engine.build_indexes();
    let indexed = client.walking(|| profile_of(&client, "query", &body));
    assert_eq!((&indexed["matches"], &indexed["unindexed"]), (&json!(POINTS / 2), &json!(0)));
}

#[test]
fn the_figures_of_a_batch_and_of_prefetches_are_sums_and_those_of_one_request_c13() {
    let engine = engine();
    let client = engine.client();
    let one = json!({"query": [3.0, 4.0], "limit": 5});
    let (first, batch, fused) = client.walking(|| {
        let exact = json!({"query": [3.0, 4.0], "params": {"exact": true}});
        let fusion = json!({"prefetch": [one, one, one], "query": {"fusion": "rrf"}});
        (
            profile_of(&client, "query", &one),
            profile_of(&client, "query_batch", &json!({"searches": [one, one, exact]})),
            profile_of(&client, "query", &fusion),
        )
    });
    assert_eq!((&batch["searches"], &batch["plans"]), (&json!(3), &json!({"exact": 1, "walk": 2})));
    assert_eq!((&batch["matches"], &batch["estimated_matches"]), (&json!(3 * POINTS), &json!(null)));
    assert_eq!(batch["hops"].as_u64(), first["hops"].as_u64().map(|hops| 2 * hops));
    assert_eq!((&fused["searches"], &fused["plans"]), (&json!(3), &json!({"walk": 3})));
    assert_eq!(fused["hops"].as_u64(), first["hops"].as_u64().map(|hops| 3 * hops));
    assert!(batch.get("reason").is_none() && fused.get("reason").is_none());
    let groups = json!({"query": [3.0, 4.0], "limit": 2, "group_by": "half", "group_size": 2});
    let grouped = client.walking(|| profile_of(&client, "query_groups", &groups));
    assert_eq!(grouped["searches"], 1);
    // The counts of a search do not go over to the next one of its thread.
    client.ok("matrix_pairs", "c", json!({"sample": 20, "limit": 3}));
    assert_eq!(client.walking(|| profile_of(&client, "query", &one))["hops"], first["hops"]);
}

#[test]
fn a_profile_has_nothing_of_the_request_and_there_is_none_before_a_search_c13() {
    let engine = engine();
    let client = engine.client();
    let filter = json!({"must": [
        {"key": "name", "match": {"value": "a payload of this test"}},
        {"key": "the_key", "match": {"value": 918_273_645}}]});
    let body = json!({"query": [0.918_273, 4.0], "filter": filter, "with_vector": true});
    let mut profile = profile_of(&client, "query", &body);
    // Times may have any digits.
    let times = profile.as_object_mut().and_then(|profile| profile.remove("time_us")).expect("times");
    assert!(times.as_object().expect("an object").values().all(Value::is_number), "{times}");
    let text = profile.to_string();
    for part in ["payload of this", "918", "name", "the_key"] {
        assert!(!text.contains(part), "{part} is in {text}");
    }
    let (answer, profile) = profiled(&client, request("query", "c", &json!({"query": [1.0]})));
    assert_eq!(answer.expect_err("two components are wanted").code(), "dimension_mismatch");
    assert_eq!(profile, None);
    // One that fails later on says what it did until then.
    let formula =
        json!({"prefetch": {"query": [3.0, 4.0]}, "query": {"formula": {"sum": ["$score", "name"]}}});
    let (answer, profile) = profiled(&client, request("query", "c", &formula));
    assert_eq!(answer.expect_err("a name is no number").code(), "bad_request");
    assert_eq!(profile.expect("the prefetch was searched")["searches"], 1);
    let late = Request { timeout: Some(Duration::ZERO), ..request("query", "c", &body) };
    assert_eq!(profiled(&client, late).1, None);
}
