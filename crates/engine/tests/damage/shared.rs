//! Collections that share files, and records of vector names, aliases, versions and points whose time has come: what the
//! suite damages beside the specimen.

use crate::common::TestEngine;
use crate::specimen::{self, NAMES};
use serde_json::{Value, json};

/// The collection whose clone there is.
pub const SOURCE: &str = "multi";
/// The clone: its files are those of its source until either is written to.
pub const COPY: &str = "a clone";
/// The collection of everything else.
pub const CHANGED: &str = "changed";

/// The collections of a damaged directory.
pub fn names() -> Vec<&'static str> {
    NAMES.into_iter().chain([COPY, CHANGED]).collect()
}

/// Makes them: what is in checkpoints then.
pub fn write(engine: &TestEngine) {
    engine.ok("clone_collection", SOURCE, json!({"name": COPY}));
    let creation = json!({
        "vectors": {"first": {"size": 4, "distance": "Dot"}, "second": {"size": 2, "distance": "Euclid"}},
        "expire_at_key": "until",
    });
    engine.ok("create_collection", CHANGED, creation);
    upsert(engine, 0..30, &json!({"first": [1, 2, 3, 4], "second": [1, 2]}));
    name(engine, "create_vector_name", "third", &json!({"dense": {"size": 3, "distance": "Dot"}}));
    upsert(engine, 30..40, &json!({"second": [1, 2], "third": [4, 5, 6]}));
    alias(engine, &["one", "two"], COPY);
    engine.checkpoint();
}

/// Changes them: what is in the log alone then.
pub fn change(engine: &TestEngine) {
    name(engine, "delete_vector_name", "second", &Value::Null);
    name(engine, "create_vector_name", "second", &json!({"sparse": {}}));
    upsert(engine, 40..50, &json!({"second": {"indices": [1, 9], "values": [1, 2]}}));
    alias(engine, &["two", "three"], CHANGED);
    for collection in engine.engine().catalog().collections() {
        while collection.remove_expired() {}
    }
    engine.ok("delete_points", COPY, json!({"points": [4]}));
}

fn name(engine: &TestEngine, operation: &str, name: &str, body: &Value) {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    engine.execute(operation, CHANGED, Some(name), true, body).expect("it is done");
}

fn alias(engine: &TestEngine, aliases: &[&str], collection: &str) {
    let create = |alias| json!({"create_alias": {"alias_name": alias, "collection_name": collection}});
    let actions: Vec<Value> = aliases.iter().map(create).collect();
    engine.ok("change_aliases", "", json!({"actions": actions}));
}

fn upsert(engine: &TestEngine, ids: std::ops::Range<u64>, vectors: &Value) {
    // A third of them has come to its end, a third will.
    let until = |id| [json!(1), json!(4_000_000_000_u64), Value::Null][id as usize % 3].clone();
    let point =
        |id| json!({"id": id, "vector": vectors, "payload": {"n": id, "until": until(id)}, "if_version": 0});
    engine.ok("upsert_points", CHANGED, json!({"points": ids.map(point).collect::<Vec<_>>()}));
}

/// Everything that a client sees of a collection.
pub fn shown(engine: &TestEngine, name: &str) -> Value {
    if name != COPY && name != CHANGED {
        return specimen::shown(engine, name);
    }
    let info = engine.ok("collection_info", name, json!(null));
    let aliases = engine.ok("collection_aliases", name, json!(null));
    json!([engine.digest(name), info["config"], aliases])
}
