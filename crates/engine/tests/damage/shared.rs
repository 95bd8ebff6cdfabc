//! Collections that share files, and records of vector names, aliases, versions, syncs, recoveries, and points whose time
//! has come: what the suite damages beside the specimen.

use crate::common::TestEngine;
use crate::specimen::{self, NAMES};
use crate::stage_part;
use kithdb_engine::storage::Storage;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The collection whose clone there is.
pub const SOURCE: &str = "multi";
/// The clone: its files are those of its source until either is written to.
pub const COPY: &str = "a clone";
/// The collection of everything else.
pub const CHANGED: &str = "changed";
/// A collection that a snapshot of [`CHANGED`] was recovered over, and one that it made.
pub const RECOVERED: [&str; 2] = ["replaced", "recovered"];
/// The folder of the snapshot.
const SNAPSHOT: &str = "snapshots/1";

/// The collections of a damaged directory.
pub fn names() -> Vec<&'static str> {
    NAMES.into_iter().chain([COPY, CHANGED]).chain(RECOVERED).collect()
}

/// How many collections of some are quarantined by files that belong to more than one folder.
pub fn beside_others(quarantined: &BTreeSet<&str>) -> usize {
    let groups = [vec![SOURCE, COPY], [CHANGED].into_iter().chain(RECOVERED).collect()];
    let of_group =
        |group: &Vec<&str>| group.iter().filter(|name| quarantined.contains(*name)).count().saturating_sub(1);
    groups.iter().map(of_group).sum()
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
    engine.disk.create_dir_all(SNAPSHOT).expect("a folder");
    engine.ok("link_snapshot", CHANGED, json!({"folder": SNAPSHOT}));
    engine.ok("create_collection", RECOVERED[0], json!({"vectors": {"size": 1, "distance": "Dot"}}));
    engine.ok("upsert_points", RECOVERED[0], json!({"points": [{"id": 1, "vector": [1]}]}));
    name(engine, "create_vector_name", "third", &json!({"dense": {"size": 3, "distance": "Dot"}}));
    upsert(engine, 30..40, &json!({"second": [1, 2], "third": [4, 5, 6]}));
    let model = json!({"name": "new", "text_key": "text"});
    embed(engine, "reembed_vectors", &json!({"model": model, "vector": [1, 2]}));
    embed_some(engine, 11);
    alias(engine, &["one", "two"], COPY);
    alias(engine, &["four"], RECOVERED[0]);
    engine.checkpoint();
}

/// Changes them: what is in the log alone then.
pub fn change(engine: &TestEngine) {
    name(engine, "delete_vector_name", "second", &Value::Null);
    name(engine, "create_vector_name", "second", &json!({"sparse": {}}));
    upsert(engine, 40..50, &json!({"second": {"indices": [1, 9], "values": [1, 2]}}));
    embed_some(engine, 7);
    alias(engine, &["two", "three"], CHANGED);
    for collection in engine.engine().catalog().collections() {
        while collection.remove_expired() {}
    }
    change_versions(engine);
    sync(engine);
    let recovered = RECOVERED.map(|name| json!({"name": name, "folder": SNAPSHOT}));
    engine.ok("adopt_folders", "", json!({"collections": recovered}));
    for name in RECOVERED {
        engine.ok("delete_points", name, json!({"points": [2]}));
    }
    engine.ok("delete_points", COPY, json!({"points": [4]}));
    stage_part(engine, CHANGED);
}

/// Writes on condition of the versions that points have: on points, as one number, and as an object.
fn change_versions(engine: &TestEngine) {
    let versions = versions(engine);
    let version = |id: u64| versions.iter().find(|(of, _)| *of == id).expect("it is there").1;
    let point =
        json!({"id": 1, "vector": {"first": [4, 3, 2, 1]}, "payload": {"n": 1}, "if_version": version(1)});
    engine.ok("upsert_points", CHANGED, json!({"points": [point]}));
    let update = json!({"id": 2, "vector": {"first": [0, 0, 0, 1]}, "if_version": version(2)});
    engine.ok("update_vectors", CHANGED, json!({"points": [update]}));
    assert_eq!(version(4), version(5), "one request wrote both");
    for (operation, change) in [
        ("set_payload", json!({"payload": {"m": 1}, "points": [4, 5], "if_version": version(4)})),
        (
            "delete_payload",
            json!({"keys": ["n"], "points": [7, 8], "if_version": {"7": version(7), "8": version(8)}}),
        ),
    ] {
        engine.ok(operation, CHANGED, change.clone());
        assert_eq!(engine.refused(operation, CHANGED, change).0, "version_conflict", "{operation}");
    }
}

/// The versions of the points that are found.
fn versions(engine: &TestEngine) -> Vec<(u64, u64)> {
    let query = json!({"query": [1, 1, 1, 1], "using": "first", "limit": 100, "params": {"exact": true}});
    let answer = engine.ok("query", CHANGED, query);
    let number = |value: &Value| value.as_u64().expect("a number");
    let hits = answer["points"].as_array().expect("hits").iter();
    hits.map(|hit| (number(&hit["id"]), number(&hit["version"]))).collect()
}

/// A sync of a source in one part, and one in two: points stay, change, come and go.
fn sync(engine: &TestEngine) {
    let scope = |from: u64| json!({"must": {"key": "n", "range": {"gte": from}}});
    let vector = json!({"first": [1, 1, 1, 1]});
    let content = |id: u64| json!({"id": id, "vector": vector, "payload": {"n": id, "synced": true}});
    let points = json!([{"id": 43, "hash": 43}, content(46), content(60), content(61)]);
    let whole = json!({"scope": scope(43), "hash_key": "n", "points": points});
    let answer = engine.ok("sync_points", CHANGED, whole);
    let counts = ["added", "unchanged", "deleted"].map(|key| answer[key].as_u64().expect("a count"));
    assert!(counts.iter().all(|count| *count > 0), "{answer}");
    let part = |points: Value, last: bool| json!({"sync_id": "t", "scope": scope(60), "hash_key": "n", "points": points, "last": last});
    engine.ok("sync_points", CHANGED, part(json!([content(62)]), false));
    let answer = engine.ok("sync_points", CHANGED, part(json!([{"id": 60, "hash": 60}]), true));
    assert_eq!(
        (&answer["added"], &answer["unchanged"], &answer["deleted"]),
        (&json!(1), &json!(1), &json!(1)),
        "{answer}"
    );
}

fn name(engine: &TestEngine, operation: &str, name: &str, body: &Value) {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    engine.execute(operation, CHANGED, Some(name), true, body).expect("it is done");
}

/// Embeds some texts of the re-embedding of `first` that is under way (C19).
fn embed_some(engine: &TestEngine, texts: u64) {
    let next = embed(engine, "next_texts", &json!({"limit": texts}));
    let mut points = next["points"].clone();
    for point in points.as_array_mut().expect("a list") {
        let length = point["input"]["text"].as_str().expect("a text").len();
        point["input"]["vector"] = json!([point["at"], length]);
    }
    embed(engine, "fill_vectors", &json!({"begun": next["begun"], "points": points}));
}

/// The result of a request whose texts have their vectors.
fn embed(engine: &TestEngine, operation: &str, body: &Value) -> Value {
    let body = body.to_string().into_bytes();
    engine.client().call_with_texts(operation, CHANGED, Some("first"), body).expect(operation)
}

fn alias(engine: &TestEngine, aliases: &[&str], collection: &str) {
    let create = |alias| json!({"create_alias": {"alias_name": alias, "collection_name": collection}});
    let actions: Vec<Value> = aliases.iter().map(create).collect();
    engine.ok("change_aliases", "", json!({"actions": actions}));
}

fn upsert(engine: &TestEngine, ids: std::ops::Range<u64>, vectors: &Value) {
    // A third of them has come to its end, a third will.
    let until = |id| [json!(1), json!(4_000_000_000_u64), Value::Null][id as usize % 3].clone();
    let point = |id| json!({"id": id, "vector": vectors, "payload": {"n": id, "text": format!("text {id}"), "until": until(id)}, "if_version": 0});
    engine.ok("upsert_points", CHANGED, json!({"points": ids.map(point).collect::<Vec<_>>()}));
}

/// Everything that a client sees of a collection.
pub fn shown(engine: &TestEngine, name: &str) -> Value {
    if NAMES.contains(&name) {
        return specimen::shown(engine, name);
    }
    let info = engine.ok("collection_info", name, json!(null));
    let aliases = engine.ok("collection_aliases", name, json!(null));
    json!([engine.digest(name), info["config"], info["reembeddings"], aliases])
}
