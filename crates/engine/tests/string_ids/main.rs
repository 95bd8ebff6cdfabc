//! C21: ids of points that are strings.

#[path = "../common/mod.rs"]
mod common;
mod files;
mod random;
mod rules;

use common::TestEngine;
use serde_json::{Value, json};

/// An engine with an empty collection `c` whose ids are strings.
fn strings(seed: u64) -> TestEngine {
    let engine = TestEngine::new(seed);
    create(&engine, "c");
    engine
}

fn create(engine: &TestEngine, name: &str) {
    let body = json!({
        "vectors": {"size": 2, "distance": "Euclid"},
        "ids": "string",
        "hnsw_config": {"m": 4, "ef_construct": 16, "full_scan_threshold": 10},
        "optimizers_config": {"indexing_threshold": 1},
    });
    engine.ok("create_collection", name, body);
}

/// A point whose vector says where it is.
fn point(id: &Value, n: u64) -> Value {
    json!({"id": id, "vector": [n as f32, 0.5], "payload": {"n": n}})
}

fn upsert(engine: &TestEngine, ids: &[Value]) {
    let points: Vec<Value> = ids.iter().zip(0..).map(|(id, n)| point(id, n)).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
}

/// Ids of a list of points.
fn ids_of(points: &Value) -> Vec<Value> {
    points.as_array().expect("points").iter().map(|point| point["id"].clone()).collect()
}

/// All ids, in the order of scrolling.
fn scrolled(engine: &TestEngine, limit: usize) -> Vec<Value> {
    let (mut found, mut offset) = (Vec::new(), Value::Null);
    loop {
        let page = engine.ok("scroll", "c", json!({"limit": limit, "offset": offset}));
        found.extend(ids_of(&page["points"]));
        offset = page["next_page_offset"].clone();
        if offset.is_null() {
            return found;
        }
    }
}
