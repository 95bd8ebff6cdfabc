//! Vector fields that are embedded anew by another model (C19).

#[path = "../common/mod.rs"]
mod common;
mod random;
mod worker;

use common::{Random, SHORT_FILES, TestEngine};
use kithdb_engine::collection::{GraphPolicy, OpeningOptions};
use kithdb_engine::integrity::check;
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::sync::Arc;
use worker::{SIZE, abort, begin, commit, embed_all, fill, next, report, send, vector_of};

/// The unnamed vector, in a path.
const UNNAMED: &str = "\"\"";

fn engine(seed: u64) -> TestEngine {
    TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens")
}

fn text(id: u64) -> String {
    format!("text {id}")
}

/// A collection of points with a text each.
fn filled(engine: &TestEngine, points: u64) {
    let model = json!({"name": "old", "text_key": "t", "required": true});
    let hnsw = json!({"m": 4, "ef_construct": 16, "full_scan_threshold": 10});
    let vectors = json!({"size": 2, "distance": "Euclid", "model": model});
    engine.ok(
        "create_collection",
        "c",
        json!({"vectors": vectors, "sparse_vectors": {"s": {}}, "hnsw_config": hnsw}),
    );
    let mut random = Random(1);
    let points: Vec<Value> = (0..points)
        .map(|id| {
            let vector = json!({"": random.vector(2), "s": {"indices": [id], "values": [1.0]}});
            json!({"id": id, "vector": vector, "payload": {"t": text(id), "n": id}})
        })
        .collect();
    engine.ok("upsert_points", "c", json!({"points": points, "model": {"": "old"}}));
}

fn checked(engine: &TestEngine) {
    let options = OpeningOptions { threads: 1, row_chunk_bytes: SHORT_FILES.row_chunk_bytes };
    let report = check(Arc::new(engine.disk.duplicate()), None, options).expect("it can be checked");
    assert!(report.is_clean(), "{:?}", report.findings);
}

/// Points of the answer to a search of the unnamed vector, with their versions.
fn nearest(engine: &TestEngine, query: &[f32]) -> Vec<(u64, u64)> {
    let body = json!({"query": query, "limit": 3, "model": "old"});
    let answer = engine.ok("query", "c", body);
    let number = |value: &Value| value.as_u64().expect("a number");
    let hits = answer["points"].as_array().expect("hits").iter();
    hits.map(|hit| (number(&hit["id"]), number(&hit["version"]))).collect()
}

/// The first two numbers behind the header of each manifest: the versions of the format.
fn manifest_versions(engine: &TestEngine) -> Vec<u8> {
    let folders = engine.disk.list("collections").expect("a folder");
    let manifests = folders.iter().map(|folder| format!("collections/{folder}/MANIFEST"));
    manifests.filter_map(|path| engine.disk.read(&path).ok()).map(|bytes| bytes[8]).collect()
}

#[test]
fn a_field_is_embedded_anew_beside_its_old_vectors_and_a_commit_puts_the_new_ones_in_place_c19() {
    let mut engine = engine(0);
    filled(&engine, 150);
    engine.checkpoint();
    let before = engine.digest("c");
    let info = engine.ok("collection_info", "c", Value::Null);
    begin(&engine, UNNAMED);
    assert_eq!(report(&engine, UNNAMED)["state"], "waiting");
    for _ in 0..3 {
        let batch = next(&engine, UNNAMED, 20).expect("texts");
        assert_eq!(fill(&engine, UNNAMED, batch).expect("they are taken"), 20);
    }
    let now = report(&engine, UNNAMED);
    assert_eq!((&now["state"], &now["done"], &now["total"]), (&json!("running"), &json!(60), &json!(150)));
    assert_eq!(now["model"], json!({"name": "new", "text_key": "t", "required": true}));
    // Nothing of it shows: points, their versions, the configuration.
    assert_eq!(engine.digest("c"), before);
    let mut meanwhile = engine.ok("collection_info", "c", Value::Null);
    let shown = meanwhile.as_object_mut().expect("an object").remove("reembeddings");
    assert_eq!(shown, Some(json!({"": {"done": 60, "total": 150}})));
    for key in ["config", "vector_models", "indexed_vectors_count", "points_count"] {
        assert_eq!(meanwhile[key], info[key], "{key}");
    }
    engine.checkpoint();
    assert_eq!(manifest_versions(&engine), [9]);
    checked(&engine);
    engine.restart();
    assert_eq!(report(&engine, UNNAMED)["done"], 60);
    assert_eq!(embed_all(&engine, UNNAMED, 64), 90, "what was done is not embedded again");
    assert_eq!(report(&engine, UNNAMED)["state"], "ready");
    engine.work(GraphPolicy::Always);
    commit(&engine, UNNAMED, false).expect("nothing is missing");
    let shows = |engine: &TestEngine| {
        for id in [0, 77, 149] {
            let body =
                json!({"query": vector_of(&text(id)), "limit": 1, "model": "new", "with_vector": true});
            let hit = engine.ok("query", "c", body)["points"][0].clone();
            assert_eq!((&hit["id"], &hit["version"]), (&json!(id), &json!(1)));
            assert_eq!(hit["vector"]["s"]["indices"], json!([id]));
        }
        let info = engine.ok("collection_info", "c", Value::Null);
        assert_eq!(info["vector_models"][""], json!({"name": "new", "text_key": "t", "required": true}));
        assert_eq!(info["config"]["params"]["vectors"]["size"], SIZE);
        assert_eq!(info.get("reembeddings"), None);
    };
    shows(&engine);
    assert!(engine.client().has_graph("c", ""), "the graph was built before");
    engine.restart();
    shows(&engine);
    engine.checkpoint();
    checked(&engine);
    assert_eq!(manifest_versions(&engine), [7]);
    engine.power_cut(3);
    shows(&engine);
}

#[test]
fn an_abort_leaves_nothing_that_a_client_sees_c19() {
    let mut engine = engine(1);
    filled(&engine, 30);
    let before = (engine.digest("c"), engine.ok("collection_info", "c", Value::Null)["config"].clone());
    begin(&engine, UNNAMED);
    embed_all(&engine, UNNAMED, 7);
    engine.checkpoint();
    abort(&engine, UNNAMED).expect("it ends");
    let sees = |engine: &TestEngine| {
        let info = engine.ok("collection_info", "c", Value::Null);
        assert_eq!((engine.digest("c"), info["config"].clone()), before);
        assert_eq!((info.get("reembeddings"), &info["vector_models"][""]["name"]), (None, &json!("old")));
        let none = send(engine, "reembedding", Some(UNNAMED), json!({})).expect_err("it has ended");
        assert_eq!(none.code(), "reembedding_not_found");
    };
    sees(&engine);
    engine.restart();
    sees(&engine);
    engine.checkpoint();
    checked(&engine);
    // Another one of the same field begins with nothing.
    begin(&engine, UNNAMED);
    assert_eq!(report(&engine, UNNAMED)["done"], 0);
    assert_eq!(embed_all(&engine, UNNAMED, 64), 30);
}

#[test]
fn vectors_of_a_text_that_was_written_over_are_dropped_and_versions_stay_c19() {
    let engine = engine(2);
    filled(&engine, 3);
    begin(&engine, UNNAMED);
    let batch = next(&engine, UNNAMED, 64).expect("texts");
    engine.ok("set_payload", "c", json!({"points": [1], "payload": {"t": "another"}}));
    engine.ok("set_payload", "c", json!({"points": [2], "payload": {"n": 9}}));
    let versions = nearest(&engine, &[0.0, 0.0]);
    fill(&engine, UNNAMED, batch).expect("they are taken");
    assert_eq!(nearest(&engine, &[0.0, 0.0]), versions);
    assert_eq!(report(&engine, UNNAMED)["done"], 2);
    assert_eq!(embed_all(&engine, UNNAMED, 64), 1);
    // A vector of the old model leaves the new one, which is of the text.
    let vector = json!({"points": [{"id": 0, "vector": [5.0, 5.0]}], "model": "old"});
    engine.ok("update_vectors", "c", vector);
    assert_eq!(report(&engine, UNNAMED)["done"], 3);
    let point = json!({"id": 0, "vector": [5.0, 5.0], "payload": {"t": "new text"}});
    engine.ok("upsert_points", "c", json!({"points": [point], "model": "old"}));
    assert_eq!(report(&engine, UNNAMED)["done"], 2);
    embed_all(&engine, UNNAMED, 64);
    commit(&engine, UNNAMED, false).expect("nothing is missing");
    let body = json!({"query": vector_of("another"), "limit": 1, "model": "new"});
    assert_eq!(engine.ok("query", "c", body)["points"][0]["id"], 1);
}

#[test]
fn vectors_of_an_earlier_re_embedding_are_refused_by_the_next_one_c19() {
    let engine = engine(6);
    filled(&engine, 3);
    begin(&engine, UNNAMED);
    let batch = next(&engine, UNNAMED, 64).expect("texts");
    abort(&engine, UNNAMED).expect("it ends");
    begin(&engine, UNNAMED);
    let late = fill(&engine, UNNAMED, batch).map_err(|error| error.code());
    assert_eq!((late, &report(&engine, UNNAMED)["done"]), (Err("reembedding_not_found"), &json!(0)));
}

#[test]
fn new_vectors_are_there_after_a_power_cut_without_a_checkpoint_c19() {
    let mut engine = engine(7);
    filled(&engine, 12);
    begin(&engine, UNNAMED);
    let batch = next(&engine, UNNAMED, 5).expect("texts");
    fill(&engine, UNNAMED, batch).expect("they are taken");
    engine.power_cut(1);
    assert_eq!(report(&engine, UNNAMED)["done"], 5);
    assert_eq!(embed_all(&engine, UNNAMED, 64), 7, "what was done is not embedded again");
}

#[test]
fn points_without_a_text_keep_a_commit_from_happening_unless_that_is_allowed_c19() {
    let engine = engine(3);
    filled(&engine, 5);
    engine.ok("delete_payload", "c", json!({"points": [0], "keys": ["t"]}));
    engine.ok("set_payload", "c", json!({"points": [1], "payload": {"t": ["a"]}}));
    engine.ok("set_payload", "c", json!({"points": [2], "payload": {"t": ""}}));
    begin(&engine, UNNAMED);
    let refused = commit(&engine, UNNAMED, false).expect_err("nothing is embedded").to_string();
    assert!(refused.contains("3 points have no text at 't', and 2 texts are not embedded yet"), "{refused}");
    embed_all(&engine, UNNAMED, 64);
    let now = report(&engine, UNNAMED);
    assert_eq!((&now["state"], &now["missing_texts"]), (&json!("ready"), &json!(3)));
    assert_eq!(
        commit(&engine, UNNAMED, false).expect_err("texts are missing").code(),
        "reembedding_conflict"
    );
    engine.ok("set_payload", "c", json!({"points": [2], "payload": {"t": "late"}}));
    assert_eq!(embed_all(&engine, UNNAMED, 64), 1, "a text that comes later is embedded");
    commit(&engine, UNNAMED, true).expect("it is allowed");
    let has =
        |id: u64| engine.ok("get_point", "c", json!({"ids": [id], "with_vector": true}))["vector"].clone();
    assert_eq!(has(0).get(""), None);
    assert_ne!(has(2).get(""), None);
}

#[test]
fn one_at_a_time_of_a_field_of_dense_vectors_with_texts_c19() {
    let engine = engine(4);
    filled(&engine, 3);
    let code = |target: &str, body: Value| {
        send(&engine, "reembed_vectors", Some(target), body).expect_err("refused").code()
    };
    assert_eq!(code("s", json!({"model": "new"})), "bad_request");
    assert_eq!(code("x", json!({"model": "new"})), "vector_not_found");
    assert_eq!(code(UNNAMED, json!({"model": "new", "size": SIZE + 1})), "bad_request");
    assert_eq!(code(UNNAMED, json!({"model": {"name": "new", "text_key": "a[]"}})), "bad_request");
    begin(&engine, UNNAMED);
    assert_eq!(code(UNNAMED, json!({"model": "new"})), "reembedding_conflict");
    let patch = json!({"vectors": {"": {"model": null}}});
    assert_eq!(engine.refused("update_collection", "c", patch).0, "reembedding_conflict");
    // Settings of the graph are followed.
    engine.ok("update_collection", "c", json!({"vectors": {"": {"hnsw_config": {"m": 8}}}}));
    embed_all(&engine, UNNAMED, 64);
    commit(&engine, UNNAMED, false).expect("nothing is missing");
    let info = engine.ok("collection_info", "c", Value::Null);
    assert_eq!(info["config"]["params"]["vectors"]["hnsw_config"]["m"], 8);
}

#[test]
fn fields_that_come_and_go_meanwhile_keep_their_vectors_and_a_clone_goes_on_c19() {
    let mut engine = engine(5);
    filled(&engine, 40);
    begin(&engine, UNNAMED);
    let batch = next(&engine, UNNAMED, 25).expect("texts");
    fill(&engine, UNNAMED, batch).expect("they are taken");
    let field = |operation: &str, name: &str, body: Value| {
        engine.execute(operation, "c", Some(name), true, body.to_string().into_bytes()).expect(operation)
    };
    field("create_vector_name", "d", json!({"dense": {"size": 2, "distance": "Dot"}}));
    let vector = json!({"points": [{"id": 7, "vector": {"d": [1, 2]}}]});
    engine.ok("update_vectors", "c", vector);
    engine.ok("clone_collection", "c", json!({"name": "copy"}));
    let copied = engine.ok("collection_info", "copy", Value::Null);
    assert_eq!(copied["reembeddings"], json!({"": {"done": 25, "total": 40}}));
    field("delete_vector_name", "s", json!({}));
    assert_eq!(embed_all(&engine, UNNAMED, 64), 15);
    commit(&engine, UNNAMED, false).expect("nothing is missing");
    engine.restart();
    let point = engine.ok("get_point", "c", json!({"ids": [7], "with_vector": true}));
    assert_eq!(point["vector"]["d"], json!([1.0, 2.0]));
    let near = json!({"query": vector_of(&text(7)), "limit": 1, "model": "new"});
    assert_eq!(engine.ok("query", "c", near)["points"][0]["id"], 7);
    // The field goes, and its re-embedding with it.
    send(&engine, "reembed_vectors", Some("d"), json!({"model": {"name": "new", "text_key": "t"}}))
        .expect("it begins");
    engine.execute("delete_vector_name", "c", Some("d"), true, Vec::new()).expect("it is removed");
    let none = send(&engine, "next_texts", Some("d"), json!({"limit": 1})).expect_err("it has ended");
    assert_eq!(none.code(), "vector_not_found");
    engine.checkpoint();
    checked(&engine);
}
