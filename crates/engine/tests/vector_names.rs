//! Vector fields that are added to a collection and removed from it while it has points (C4.8).

mod common;

use common::{Random, SHORT_FILES, TestEngine};
use kithdb_engine::collection::{GraphPolicy, OpeningOptions};
use kithdb_engine::integrity::check;
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::sync::Arc;

const DIM: usize = 32;

fn engine(seed: u64) -> TestEngine {
    TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens")
}

fn put(engine: &TestEngine, name: &str, body: Value) -> Result<Value, kithdb_engine::error::Error> {
    engine.execute("create_vector_name", "c", Some(name), true, body.to_string().into_bytes())
}

fn remove(engine: &TestEngine, name: &str) -> Value {
    engine.execute("delete_vector_name", "c", Some(name), true, Vec::new()).expect("it is removed")
}

fn dense() -> Value {
    json!({"dense": {"size": DIM, "distance": "Euclid"}})
}

/// A collection with an unnamed, a multi- and a sparse vector, or the unnamed one alone, and points in all of them.
fn filled(engine: &TestEngine, random: &mut Random, is_alone: bool) {
    let sparse = if is_alone { json!({}) } else { json!({"s": {}}) };
    let hnsw = json!({"m": 4, "ef_construct": 16, "full_scan_threshold": 10});
    let vectors = json!({"size": DIM, "distance": "Euclid"});
    let body = json!({"vectors": vectors, "sparse_vectors": sparse, "hnsw_config": hnsw});
    engine.ok("create_collection", "c", body);
    let points: Vec<Value> = (0..150)
        .map(|id| {
            let mut vector = json!({"": random.vector(DIM)});
            if !is_alone {
                vector["s"] = json!({"indices": [id % 7, 9], "values": [1.0, 0.5]});
            }
            json!({"id": id, "vector": vector, "payload": {"n": id}})
        })
        .collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
}

fn ids(answer: &Value) -> Vec<u64> {
    let hits = answer["points"].as_array().expect("hits");
    hits.iter().map(|hit| hit["id"].as_u64().expect("an id")).collect()
}

fn nearest(engine: &TestEngine, using: &str, query: &Value) -> Vec<u64> {
    let using = if using.is_empty() { Value::Null } else { json!(using) };
    ids(&engine.ok("query", "c", json!({"query": query, "using": using, "limit": 3})))
}

/// Bytes of the collection's data files.
fn data_bytes(disk: &SimDisk) -> usize {
    let mut sum = 0;
    for folder in disk.list("collections").expect("a folder") {
        let dir = format!("collections/{folder}");
        let files = disk.list(&dir).expect("a folder");
        sum += files
            .iter()
            .filter(|name| name.ends_with(".data"))
            .map(|name| disk.read(&format!("{dir}/{name}")).expect("a file").len())
            .sum::<usize>();
    }
    sum
}

fn checked(engine: &TestEngine) {
    let options = OpeningOptions { threads: 1, row_chunk_bytes: SHORT_FILES.row_chunk_bytes };
    let report = check(Arc::new(engine.disk.duplicate()), None, options).expect("it can be checked");
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[test]
fn vectors_of_every_kind_are_added_and_removed_and_points_keep_the_rest_c4_8() {
    for seed in 0..4 {
        let (mut engine, mut random) = (engine(seed), Random(seed));
        filled(&engine, &mut random, seed % 2 == 1);
        engine.work(GraphPolicy::WhenGrown);
        let before = engine.digest("c");
        let query = json!(random.vector(DIM));
        let near = nearest(&engine, "", &query);
        put(&engine, "d", dense()).expect("a dense vector");
        let multi = json!({"size": 2, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}});
        put(&engine, "m", json!({ "dense": multi })).expect("a multi-vector");
        put(&engine, "t", json!({"sparse": {"modifier": "idf"}})).expect("a sparse vector");
        // Points without them are as they were, and a search of a new vector finds none.
        assert_eq!(engine.digest("c"), before);
        assert_eq!(nearest(&engine, "", &query), near);
        assert_eq!(nearest(&engine, "d", &query), [0; 0]);
        let own: Vec<f32> = random.vector(DIM);
        let vector = json!({"d": own, "m": [[1, 2], [3, 4]], "t": {"indices": [5], "values": [2.0]}});
        engine.ok("update_vectors", "c", json!({"points": [{"id": 7, "vector": vector}]}));
        let all: Vec<Value> =
            (0..100).map(|id| json!({"id": id + 50, "vector": {"d": random.vector(DIM)}})).collect();
        engine.ok("update_vectors", "c", json!({"points": all}));
        let shows = |engine: &TestEngine| {
            assert_eq!(nearest(engine, "d", &json!(own))[0], 7);
            assert_eq!(nearest(engine, "m", &json!([[1, 1]])), [7]);
            assert_eq!(nearest(engine, "t", &json!({"indices": [5], "values": [1.0]})), [7]);
            assert_eq!(nearest(engine, "", &query), near);
            let filter = json!({"must": [{"has_vector": "m"}]});
            assert_eq!(engine.ok("count", "c", json!({"filter": filter}))["count"], 1);
        };
        shows(&engine);
        // From the log alone, behind a checkpoint of the fields before, from a checkpoint, and after a power cut.
        engine.restart();
        shows(&engine);
        engine.checkpoint();
        shows(&engine);
        assert!(engine.client().has_graph("c", "d"));
        checked(&engine);
        engine.restart();
        shows(&engine);
        remove(&engine, "m");
        remove(&engine, "t");
        engine.power_cut(seed);
        assert_eq!(nearest(&engine, "d", &json!(own))[0], 7);
        let missing = engine.refused("query", "c", json!({"query": [[1, 1]], "using": "m"}));
        assert_eq!(missing.0, "vector_not_found");
        remove(&engine, "d");
        assert_eq!(ids(&engine.ok("query", "c", json!({"query": query, "limit": 3}))), near);
        engine.checkpoint();
        checked(&engine);
        engine.restart();
        let versions = |digest: &Value| digest["points"].as_array().expect("points").len();
        assert_eq!(versions(&engine.digest("c")), versions(&before));
        assert_eq!(nearest(&engine, "", &query), near);
    }
}

#[test]
fn a_vector_that_is_removed_gives_its_files_back_and_one_of_its_name_is_another_c4_8() {
    let (mut engine, mut random) = (engine(0), Random(3));
    filled(&engine, &mut random, true);
    engine.checkpoint();
    let alone = data_bytes(&engine.disk);
    put(&engine, "big", json!({"dense": {"size": 1024, "distance": "Dot"}})).expect("it is added");
    let points: Vec<Value> =
        (0..150).map(|id| json!({"id": id, "vector": {"big": random.vector(1024)}})).collect();
    engine.ok("update_vectors", "c", json!({ "points": points }));
    engine.checkpoint();
    assert!(data_bytes(&engine.disk) > alone + 150 * 4096);
    remove(&engine, "big");
    put(&engine, "big", json!({"dense": {"size": 3, "distance": "Dot"}})).expect("it is added again");
    engine.checkpoint();
    assert!(data_bytes(&engine.disk) < alone + 150 * 1024, "{} bytes", data_bytes(&engine.disk));
    engine.restart();
    assert_eq!(nearest(&engine, "big", &json!([1, 0, 0])), [0; 0]);
    engine.ok("update_vectors", "c", json!({"points": [{"id": 4, "vector": {"big": [1, 2, 3]}}]}));
    assert_eq!(nearest(&engine, "big", &json!([1, 0, 0])), [4]);
    checked(&engine);
}

#[test]
fn a_definition_again_changes_nothing_and_another_is_refused_c4_8() {
    let (engine, mut random) = (engine(1), Random(4));
    filled(&engine, &mut random, false);
    put(&engine, "d", dense()).expect("it is added");
    engine.ok("update_vectors", "c", json!({"points": [{"id": 1, "vector": {"d": random.vector(DIM)}}]}));
    let before = engine.digest("c");
    put(&engine, "d", dense()).expect("it is there");
    remove(&engine, "absent");
    for (name, body) in [
        ("d", json!({"dense": {"size": DIM, "distance": "Dot"}})),
        ("s", dense()),
        ("d", json!({"sparse": {}})),
        ("a/b", dense()),
        ("e", json!({"dense": {"size": 0, "distance": "Dot"}})),
        ("e", json!({})),
    ] {
        let error = put(&engine, name, body).expect_err("it is refused");
        assert!(["bad_request", "missing_field"].contains(&error.code()), "{error}");
    }
    assert_eq!(engine.digest("c"), before);
    let info = engine.ok("collection_info", "c", json!(null));
    let vectors = &info["config"]["params"]["vectors"];
    assert_eq!(vectors[""]["size"], DIM);
    assert_eq!(vectors["d"], json!({"size": DIM, "distance": "Euclid"}));
}

/// A view that was taken before holds what was removed.
#[test]
fn readers_keep_the_fields_that_they_have_c4_8() {
    let (engine, mut random) = (engine(0), Random(5));
    filled(&engine, &mut random, false);
    engine.checkpoint();
    let entry = engine.engine().catalog().enter("c").expect("it is there");
    let old = entry.collection().expect("it is served").snapshot();
    remove(&engine, "s");
    put(&engine, "d", dense()).expect("it is added");
    let (offset, point) = old.view.state.points.iter().enumerate().next().expect("a point");
    assert_eq!(offset, 0);
    assert!(old.view.vector(point, 1).is_some() && old.graphs.len() == 1);
    let new = entry.collection().expect("it is served").snapshot();
    assert_eq!((new.graphs.len(), new.view.state.config.positions()), (2, 2));
    assert!(new.graphs[0].is_some() && new.graphs[1].is_none());
    assert!(new.view.vector(new.view.state.points.iter().next().expect("a point"), 1).is_none());
}
