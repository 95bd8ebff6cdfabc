//! Searches reach the recall that they ask for (C14).

use super::{Random, call, engine, send};
use crate::engine::{Engine, calibrate_everything};
use crate::query::calibrating::{exact, sampled};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

const K: usize = 10;

/// Vectors to search among and to search for.
pub(super) struct Data {
    pub base: Vec<Vec<f32>>,
    queries: Vec<Vec<f32>>,
}

/// Independent normal numbers: the hardest data for a graph.
fn normal(seed: u64) -> Data {
    let mut random = Random(seed);
    let mut uniform = move || (random.below(1 << 40) + 1) as f64 / (1u64 << 40) as f64;
    let mut number =
        move || ((-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()) as f32;
    let mut vectors = |count: usize| (0..count).map(|_| (0..24).map(|_| number()).collect()).collect();
    Data { base: vectors(2_000), queries: vectors(200) }
}

/// Descriptions of packages as vectors.
pub(super) fn debian() -> Data {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/debian-small");
    let meta: Value = serde_json::from_slice(&std::fs::read(folder.join("meta.json")).unwrap()).unwrap();
    let dim = meta["dims"].as_u64().expect("a size") as usize;
    let read = |name: &str| -> Vec<Vec<f32>> {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let number = |two: &[u8]| half::f16::from_le_bytes([two[0], two[1]]).to_f32();
        let numbers: Vec<f32> = bytes.chunks_exact(2).map(number).collect();
        numbers.chunks_exact(dim).map(<[f32]>::to_vec).collect()
    };
    Data { base: read("base.f16"), queries: read("query.f16") }
}

/// A collection of the vectors, with a graph. `t` of a payload is a number below ten.
pub(super) fn holding(seed: u64, data: &Data, distance: &str) -> Engine {
    let engine = engine(seed);
    let hnsw = json!({"m": 8, "ef_construct": 48, "full_scan_threshold": 10});
    let vectors = json!({"size": data.base[0].len(), "distance": distance});
    call(&engine, "c", "create_collection", &json!({"vectors": vectors, "hnsw_config": hnsw}));
    call(&engine, "c", "create_field_index", &json!({"field_name": "t", "field_schema": "integer"}));
    let points = data.base.iter().enumerate();
    let points: Vec<Value> = points
        .map(|(id, vector)| json!({"id": id, "vector": vector, "payload": {"t": id * 7 % 10}}))
        .collect();
    for part in points.chunks(500) {
        call(&engine, "c", "upsert_points", &json!({"points": part}));
    }
    engine.work_in_background(crate::collection::GraphPolicy::Never);
    engine
}

fn ids(engine: &Engine, query: &[f32], filter: &Value, params: &Value) -> HashSet<u64> {
    let body = json!({"query": query, "limit": K, "filter": filter, "params": params});
    let found = call(engine, "c", "query", &body);
    let hits = found["points"].as_array().expect("hits").iter();
    hits.map(|hit| hit["id"].as_u64().expect("an id")).collect()
}

fn recall(engine: &Engine, data: &Data, filter: &Value, params: &Value) -> f64 {
    let of = |query: &Vec<f32>| {
        let exact = ids(engine, query, filter, &json!({"exact": true}));
        exact.intersection(&ids(engine, query, filter, params)).count()
    };
    data.queries.iter().map(of).sum::<usize>() as f64 / (data.queries.len() * K) as f64
}

fn explained(engine: &Engine, body: &Value) -> Value {
    let envelope = send(engine, "c", "query", body).expect("an answer");
    serde_json::from_slice::<Value>(&envelope).expect("JSON")["explain"].clone()
}

/// At least the target, less half a point and what the test's own queries vary by.
fn check_targets(engine: &Engine, data: &Data) {
    let filters = [json!(null), json!({"must": {"key": "t", "range": {"lt": 4}}})];
    for filter in filters {
        for target in [0.9, 0.95, 0.99] {
            let reached = recall(engine, data, &filter, &json!({"target_recall": target}));
            let spread = 2.0 * (target * (1.0 - target) / (data.queries.len() * K) as f64).sqrt();
            assert!(reached >= target - 0.005 - spread, "{reached} of {target} with {filter}");
        }
    }
}

#[test]
fn the_recall_asked_for_is_reached_on_normal_numbers_c14() {
    for seed in [1, 2, 3] {
        let data = normal(seed);
        let engine = holding(seed, &data, "Euclid");
        calibrate_everything(engine.catalog());
        check_targets(&engine, &data);
    }
}

#[test]
fn the_recall_asked_for_is_reached_on_real_vectors_c14() {
    let data = debian();
    let engine = holding(1, &data, "Cosine");
    // What people search for is unlike what is stored: the calibration is made of what was searched for.
    recall(&engine, &data, &json!(null), &json!({"hnsw_ef": 64}));
    calibrate_everything(engine.catalog());
    check_targets(&engine, &data);
}

#[test]
fn the_explanation_and_the_info_say_what_was_measured_c14() {
    let data = normal(4);
    let engine = holding(4, &data, "Euclid");
    let params = |target: f64| json!({"explain": true, "target_recall": target});
    let body = |params: Value| json!({"query": data.queries[0], "limit": K, "params": params});
    let before = explained(&engine, &body(params(0.9)));
    assert_eq!([&before["target_recall"], &before["ef_chosen_by"]], [&json!(0.9), &json!("formula")]);
    assert_eq!(call(&engine, "c", "collection_info", &json!(null))["recall_estimate"], json!(null));
    calibrate_everything(engine.catalog());
    let after = explained(&engine, &body(params(0.9)));
    assert_eq!(after["ef_chosen_by"], "calibration");
    let wider = explained(&engine, &body(params(0.99)));
    assert!(wider["ef"].as_u64() > after["ef"].as_u64(), "{wider} {after}");
    let estimate = &call(&engine, "c", "collection_info", &json!(null))["recall_estimate"];
    assert!(estimate["low"].as_f64() <= estimate["recall"].as_f64(), "{estimate}");
    assert!(estimate["recall"].as_f64() <= estimate["high"].as_f64(), "{estimate}");
    assert_eq!(estimate["samples"], 256);
    assert!(estimate["at"].as_u64() > Some(1_700_000_000));
    // The default of the collection, which the parameters of a search override.
    call(&engine, "c", "update_collection", &json!({"hnsw_config": {"target_recall": 0.99}}));
    let by_default = explained(&engine, &body(json!({"explain": true})));
    assert_eq!([&by_default["ef"], &by_default["target_recall"]], [&wider["ef"], &json!(0.99)]);
    let fixed = explained(&engine, &body(json!({"explain": true, "hnsw_ef": 33})));
    assert_eq!([&fixed["ef"], &fixed["target_recall"]], [&json!(33), &json!(null)]);
    // Strict mode bounds what is chosen as well as what is asked for.
    let strict = json!({"strict_mode_config": {"enabled": true, "search_max_hnsw_ef": 12}});
    call(&engine, "c", "update_collection", &strict);
    assert_eq!(explained(&engine, &body(params(0.99)))["ef"], 12);
}

#[test]
fn a_collection_that_has_changed_is_measured_anew_c14() {
    let data = normal(5);
    let engine = holding(5, &data, "Euclid");
    calibrate_everything(engine.catalog());
    let at = || call(&engine, "c", "collection_info", &json!(null))["recall_estimate"].clone();
    assert_eq!(at()["samples"], 256);
    let points: Vec<Value> = (0..1_200)
        .map(|id| json!({"id": 10_000 + id, "vector": data.base[id], "payload": {"t": 0}}))
        .collect();
    for part in points.chunks(400) {
        call(&engine, "c", "upsert_points", &json!({"points": part}));
    }
    engine.work_in_background(crate::collection::GraphPolicy::Never);
    assert_eq!(at(), json!(null), "what was measured is of another collection");
    calibrate_everything(engine.catalog());
    assert_eq!(at()["samples"], 256);
}

#[test]
fn the_point_whose_vector_is_searched_for_does_not_count_as_found_c14() {
    let engine = holding(6, &normal(6), "Euclid");
    let snapshot = engine.catalog().collections()[0].read_snapshot();
    for number in 0..32 {
        let query = sampled(&snapshot, 0, number, false).expect("every point has a vector");
        let nearest = exact(&snapshot, &query, None, &|| false).expect("it is not given up");
        assert_eq!(nearest.len(), 100);
        assert!(query.row.is_some() && nearest.iter().all(|&(_, row)| Some(row) != query.row), "{number}");
    }
}
