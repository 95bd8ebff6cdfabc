//! Files that are cut under a running engine: reading a page that is gone is a SIGBUS. It ends no process; the collection
//! is quarantined, nothing of zeros is answered or written, and the others serve.
#![cfg(unix)]

mod common;

use common::{Client, SHORT_FILES};
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::{CheckpointError, GraphPolicy};
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::error::Error;
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const POINTS: u64 = 1200;

fn open(dir: &Path) -> Client {
    let options = Options { mode: Mode::Inline { seed: 1 }, thresholds: SHORT_FILES, ..Options::default() };
    let disk = RealDisk::open(dir).expect("a folder");
    Client(Arc::new(Engine::open(Arc::new(disk), options).expect("a data directory")))
}

fn vector(id: u64) -> Vec<f32> {
    (0..16).map(|at| ((id * 31 + at * 7) % 17) as f32).collect()
}

fn point(id: u64) -> Value {
    let vectors = json!({
        "dense": vector(id),
        "many": [vector(id)[..4], vector(id + 1)[..4]],
        "sparse": {"indices": [id % 7, 7 + id % 50], "values": [1.0, 0.5]},
    });
    json!({"id": id, "vector": vectors, "payload": {"n": id, "text": "payload ".repeat(10)}})
}

fn fill(client: &Client, name: &str) {
    let config = json!({
        "vectors": {
            "dense": {"size": 16, "distance": "Euclid"},
            "many": {"size": 4, "distance": "Dot", "multivector_config": {"comparator": "max_sim"}},
        },
        "sparse_vectors": {"sparse": {}},
        "hnsw_config": {"full_scan_threshold": 10},
    });
    client.ok("create_collection", name, config);
    client.ok("upsert_points", name, json!({"points": (0..POINTS).map(point).collect::<Vec<_>>()}));
}

/// Two collections in checkpoints, whose rows and payloads are read from maps.
fn served(dir: &Path) -> Client {
    let client = open(dir);
    fill(&client, "hit");
    fill(&client, "spared");
    client.0.work_in_background(GraphPolicy::Always);
    client.0.close();
    drop(client);
    open(dir)
}

/// The data file of the first collection with most bytes, and these.
fn largest_file(dir: &Path) -> (PathBuf, Vec<u8>) {
    let folder = fs::read_dir(dir.join("collections/0000000000000001")).expect("a folder");
    let files = folder.map(|entry| entry.expect("a file").path());
    let data = files.filter(|path| path.extension().is_some_and(|extension| extension == "data"));
    let path = data.max_by_key(|path| fs::metadata(path).expect("a file").len()).expect("a file");
    let bytes = fs::read(&path).expect("a file");
    (path, bytes)
}

fn cut(path: &Path) {
    fs::File::options().write(true).open(path).expect("a file").set_len(100).expect("it can be cut");
}

fn everything(client: &Client, name: &str) -> Result<Value, Error> {
    client.call("scroll", name, json!({"limit": 10_000, "with_vector": true, "with_payload": true}))
}

/// What reads or writes something of the files.
fn requests() -> Vec<(&'static str, Value)> {
    let unindexed = json!({"must": [{"key": "n", "range": {"gte": 3}}]});
    vec![
        (
            "search",
            json!({"vector": {"name": "dense", "vector": vector(5)}, "limit": 5, "params": {"exact": true}}),
        ),
        (
            "search",
            json!({"vector": {"name": "dense", "vector": vector(5)}, "limit": 5, "with_payload": true}),
        ),
        (
            "query",
            json!({"query": [[1.0, 2.0, 3.0, 4.0]], "using": "many", "limit": 3, "params": {"exact": true}}),
        ),
        (
            "query",
            json!({"query": {"indices": [1, 9], "values": [1, 1]}, "using": "sparse", "limit": 900, "with_vector": true}),
        ),
        (
            "query",
            json!({"query": {"recommend": {"positive": [700, 900], "strategy": "best_score"}}, "using": "dense"}),
        ),
        ("scroll", json!({"limit": 10_000, "with_vector": true})),
        ("scroll", json!({"limit": 10_000, "with_payload": ["n"]})),
        ("scroll", json!({"limit": 10_000, "order_by": "n"})),
        ("count", json!({"filter": unindexed})),
        ("retrieve_points", json!({"ids": [700, 701, 1100], "with_payload": true, "with_vector": true})),
        ("set_payload", json!({"payload": {"new": 1}, "filter": unindexed})),
        ("delete_points", json!({"filter": {"must_not": unindexed["must"]}})),
        ("delete_payload", json!({"keys": ["text"], "points": [700, 1100]})),
        ("create_field_index", json!({"field_name": "n", "field_schema": "integer"})),
    ]
}

#[test]
fn a_cut_file_is_a_fault_of_its_collection_whatever_reads_it_and_of_no_other() {
    for (operation, body) in requests() {
        let dir = tempfile::tempdir().expect("a folder");
        let client = served(dir.path());
        let (hit, spared) = (everything(&client, "hit").unwrap(), everything(&client, "spared").unwrap());
        let (path, bytes) = largest_file(dir.path());
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        cut(&path);
        let refused = client.call(operation, "hit", body.clone());
        if !matches!(operation, "create_field_index") {
            let error = refused.expect_err(operation);
            assert_eq!(error.code(), "collection_fault", "{operation} {body}: {error}");
            assert!(error.to_string().contains(&file), "{operation}: {error}");
        }
        client.0.work_in_background(GraphPolicy::Always);
        let status = client.0.status();
        assert_eq!(status.faults.len(), 1, "{operation} {body}: {status:?}");
        assert!(status.faults[0].0 == "hit" && status.faults[0].1.contains(&file), "{status:?}");
        for (operation, body) in requests() {
            assert_eq!(client.call(operation, "hit", body).expect_err(operation).code(), "collection_fault");
        }
        assert_eq!(everything(&client, "spared").unwrap(), spared, "{operation}");
        client.0.close();
        drop(client);
        // With the bytes in their place again everything is as it was: nothing was made of zeros.
        fs::write(&path, bytes).expect("it can be written");
        let client = open(dir.path());
        assert_eq!(everything(&client, "hit").unwrap(), hit, "{operation}");
        client.0.close();
    }
}

#[test]
fn a_look_up_in_a_cut_collection_is_its_fault_and_not_that_of_the_one_that_asks() {
    let dir = tempfile::tempdir().expect("a folder");
    let client = served(dir.path());
    cut(&largest_file(dir.path()).0);
    let lookup =
        json!({"query": 1100, "using": "dense", "lookup_from": {"collection": "hit", "vector": "dense"}});
    assert_eq!(client.call("query", "spared", lookup).expect_err("a fault").code(), "collection_fault");
    assert_eq!(client.0.status().faults.len(), 1);
    everything(&client, "spared").expect("it serves");
    client.0.close();
}

#[test]
fn no_checkpoint_and_no_write_follows_what_was_read_of_a_cut_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let client = served(dir.path());
    let (path, bytes) = largest_file(dir.path());
    client.ok("upsert_points", "hit", json!({"points": [point(POINTS)]}));
    let hit = everything(&client, "hit").unwrap();
    let collection = Arc::clone(&client.0.catalog().collections()[0]);
    cut(&path);
    // As an indexer reads it, without a request that would look at the faults afterwards.
    let view = collection.view();
    let read = view.state.live.iter().map(|offset| view.state.at(offset).document().to_vec());
    assert!(read.collect::<Vec<_>>().contains(&vec![0; 98]), "zeros in the place of payloads");
    let made = collection.checkpoint(GraphPolicy::Always);
    assert!(
        matches!(&made, Err(CheckpointError::Damaged(why)) if why.contains("cannot be read")),
        "{made:?}"
    );
    let refused = client.call("upsert_points", "hit", json!({"points": [point(POINTS + 1)]}));
    assert_eq!(refused.expect_err("a fault").code(), "collection_fault");
    client.0.work_in_background(GraphPolicy::Always);
    assert_eq!(client.0.status().faults.len(), 1);
    client.0.close();
    drop((view, collection, client));
    fs::write(&path, bytes).expect("it can be written");
    let client = open(dir.path());
    assert_eq!(everything(&client, "hit").unwrap(), hit);
    client.0.close();
}
