//! What reports say of an engine for those who watch it: bytes on disk, backlogs, durations, figures by collection.

mod common;

use common::TestEngine;
use kithdb_engine::IndexBacklog;
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{DiskBytes, Options};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};

/// Bytes of all files of a folder of the disk and of the folders in it.
fn bytes_below(disk: &SimDisk, dir: &str) -> u64 {
    let below = |name: &String| {
        let path = format!("{dir}/{name}");
        disk.len_of(&path).unwrap_or_else(|_| bytes_below(disk, &path))
    };
    disk.list(dir).expect("a folder").iter().map(below).sum()
}

fn put(engine: &TestEngine, collection: &str, ids: std::ops::Range<u64>) {
    let points: Vec<Value> = ids
        .map(|id| {
            let sparse = json!({"indices": [id % 7, 100 + id], "values": [1, 2]});
            json!({"id": id, "vector": {"d": [id, 1, id % 3], "s": sparse}, "payload": {"k": id}})
        })
        .collect();
    engine.ok("upsert_points", collection, json!({"points": points}));
}

fn create(engine: &TestEngine, collection: &str) {
    let body = json!({
        "vectors": {"d": {"size": 3, "distance": "Euclid"}},
        "sparse_vectors": {"s": {}},
        "hnsw_config": {"full_scan_threshold": 10},
    });
    engine.ok("create_collection", collection, body);
}

#[test]
fn what_is_in_no_index_yet_is_counted_by_kind_until_it_is() {
    let engine = TestEngine::new(1);
    create(&engine, "c");
    let backlog = || engine.engine().status().backlog;
    assert_eq!(backlog(), IndexBacklog::default());
    put(&engine, "c", 0..5_000);
    let IndexBacklog { dense, sparse, field } = backlog();
    assert_eq!((dense, field), (5_000, 0));
    assert!(sparse < 5_000, "blocks are made by the write");
    for (name, schema) in [("k", "integer"), ("x", "keyword")] {
        let body = json!({"field_name": name, "field_schema": schema}).to_string().into_bytes();
        engine.execute("create_field_index", "c", None, false, body).expect("it is declared");
    }
    assert_eq!(backlog(), IndexBacklog { dense: 5_000, sparse, field: 10_000 });
    engine.build_indexes();
    assert_eq!(backlog(), IndexBacklog { dense: 5_000, sparse, field: 0 });
    engine.work(GraphPolicy::Never);
    assert_eq!(backlog(), IndexBacklog { dense: 0, sparse, field: 0 });
    put(&engine, "c", 5_000..5_002);
    assert_eq!(backlog().dense, 2, "the tail");
}

#[test]
fn bytes_on_disk_are_those_of_the_files() {
    let engine = TestEngine::new(2);
    create(&engine, "a");
    create(&engine, "b");
    put(&engine, "a", 0..3_000);
    let status = engine.engine().status();
    assert_eq!(status.disk, DiskBytes { log: bytes_below(&engine.disk, "log"), data: 0 });
    assert!(status.disk.log > 100_000, "{:?}", status.disk);
    engine.checkpoint();
    put(&engine, "b", 0..1_000);
    engine.checkpoint();
    // They are measured by a round of housekeeping after the checkpoint.
    engine.work(GraphPolicy::Never);
    let DiskBytes { log, data } = engine.engine().status().disk;
    // Beside their folders is a copy of the catalog.
    let copy = engine.disk.len_of("collections/CATALOG").expect("it is there");
    assert_eq!(data, bytes_below(&engine.disk, "collections") - copy);
    assert_eq!(log, bytes_below(&engine.disk, "log") - mark_bytes(&engine.disk));
    assert!(data > 60_000, "{data}");
}

#[test]
fn bytes_on_disk_are_measured_again_after_each_checkpoint() {
    let engine = TestEngine::new(6);
    create(&engine, "c");
    let mut before = 0;
    for first in [0, 1_000] {
        put(&engine, "c", first..first + 1_000);
        engine.checkpoint();
        let info = engine.ok("collection_info", "c", Value::Null);
        let shown = info["size"]["disk_bytes"].as_u64().expect("a number");
        assert_eq!(shown, bytes_below(&engine.disk, "collections/0000000000000001"));
        assert!(shown > before, "{shown} bytes, and {before} before");
        before = shown;
    }
}

/// The bytes of the files that record up to where the log was cut; they are not segments.
fn mark_bytes(disk: &SimDisk) -> u64 {
    let names = disk.list("log").expect("a folder");
    let others = names.iter().filter(|name| !name.ends_with(".log"));
    others.map(|name| disk.len_of(&format!("log/{name}")).expect("a file")).sum()
}

#[test]
fn syncs_of_the_log_and_checkpoints_are_counted_with_their_durations() {
    let engine = TestEngine::new(3);
    create(&engine, "c");
    let counts = || {
        let status = engine.engine().status();
        [status.log_syncs, status.checkpoints].map(|of| of.counts.iter().sum::<u64>())
    };
    let [before, none] = counts();
    assert_eq!(none, 0);
    (0..10).for_each(|id| put(&engine, "c", id..id + 1));
    assert_eq!(counts(), [before + 10, 0]);
    engine.checkpoint();
    engine.checkpoint();
    assert_eq!(counts()[1], 1, "the second has nothing to write");
}

#[test]
fn the_collections_that_were_created_first_have_figures_of_their_own() {
    let options = Options { mode: Mode::Inline { seed: 4 }, reported_collections: 2, ..Options::default() };
    let engine = TestEngine::with_options(options);
    // Not in the order of their names.
    for name in ["z", "m", "a"] {
        create(&engine, name);
    }
    put(&engine, "z", 0..3);
    put(&engine, "a", 0..7);
    engine.ok("search", "z", json!({"vector": {"name": "d", "vector": [1, 2, 3]}, "limit": 1}));
    let figures = || engine.engine().report().collections.clone();
    let named = || figures().into_iter().map(|one| (one.name, one.points)).collect::<Vec<_>>();
    assert_eq!(named(), [("z".to_string(), 3), ("m".to_string(), 0)]);
    let first = &figures()[0];
    assert_eq!((first.searches, first.writes, first.recall), (1, 1, None));
    assert!(first.memory_bytes > 0);
    engine.ok("delete_collection", "m", json!({}));
    assert_eq!(named(), [("z".to_string(), 3), ("a".to_string(), 7)]);
    let none = TestEngine::new(5);
    create(&none, "c");
    assert!(none.engine().report().collections.is_empty(), "none where none were asked for");
}
