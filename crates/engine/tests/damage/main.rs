//! Decay of the medium: flipped bits, zeroed pages and lost tails in every kind of file. No answer is wrong after any
//! of them: it is the same, or the collection says that it is faulty, or the engine says why it does not open (C10.2).
//!
//! `KITHDB_ROT` sets how many random damages are tried, `KITHDB_FIRST_ROT` which is the first.

#[path = "../common/mod.rs"]
mod common;
mod copied;
mod files;
mod links;
mod segments;
mod served;
mod shared;
#[path = "../specimen/mod.rs"]
mod specimen;
mod suite;

use common::{SHORT_FILES, TestEngine};
use files::{Kind, files};
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::{Fault, SimDisk, Storage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const NAMES: [&str; 4] = ["flat", "graph", "half", "fresh"];
const THRESHOLDS: Thresholds = SHORT_FILES;

/// Components of a collection's vectors; those of `graph` and its clones soon outgrow the scan.
fn size(name: &str) -> u64 {
    if ["graph", "clone", "again"].contains(&name) { 128 } else { 4 }
}

/// Everything that a client sees of a collection.
fn shown(engine: &TestEngine, name: &str) -> Value {
    let size = size(name);
    let query: Vec<f32> = (0..size).map(|at| at as f32 / 16.0).collect();
    let search = |exact: bool| {
        let params = json!({"exact": exact, "hnsw_ef": 500});
        engine.ok("search", name, json!({"vector": query, "limit": 10, "params": params}))
    };
    let filter = json!({"filter": {"must": {"key": "n", "range": {"gte": 7}}}});
    let client = engine.client();
    let found = if client.has_graph(name, "") { client.walking(|| search(false)) } else { search(false) };
    json!([engine.digest(name), search(true), found, engine.ok("count", name, filter)])
}

fn upsert(engine: &TestEngine, name: &str, ids: std::ops::Range<u64>) {
    let size = size(name);
    let vector = |id: u64| (0..size).map(|at| ((id * 31 + at * 7) % 17) as f32 / 4.0).collect::<Vec<_>>();
    let point =
        |id| json!({"id": id, "vector": vector(id), "payload": {"n": id % 20, "text": "y".repeat(200)}});
    engine.ok("upsert_points", name, json!({"points": ids.map(point).collect::<Vec<_>>()}));
}

/// A directory at rest: two collections in checkpoints, one half in the log, one only there.
fn settled() -> (SimDisk, BTreeMap<&'static str, Value>) {
    let mut engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    let create = |engine: &TestEngine, name: &str| {
        let size = size(name);
        let hnsw = json!({"full_scan_threshold": 10});
        let vectors = json!({"size": size, "distance": "Euclid"});
        engine.ok("create_collection", name, json!({"vectors": vectors, "hnsw_config": hnsw}));
    };
    for name in ["flat", "graph", "half"] {
        create(&engine, name);
        engine.ok("create_field_index", name, json!({"field_name": "n", "field_schema": "integer"}));
        for part in 0..3 {
            upsert(&engine, name, part * 20..part * 20 + 20);
        }
    }
    engine.checkpoint();
    upsert(&engine, "flat", 50..70);
    engine.checkpoint();
    for part in 0..10 {
        upsert(&engine, "half", part * 10 + 5..part * 10 + 15);
    }
    create(&engine, "fresh");
    for part in 0..10 {
        upsert(&engine, "fresh", part * 10..part * 10 + 10);
    }
    engine.ok("delete_points", "half", json!({"points": [1, 2, 3]}));
    stage_part(&engine, "half");
    // Opening again makes the last records provably durable: only then is their loss damage and not a torn tail.
    engine.restart();
    assert!(engine.client().has_graph("graph", ""), "the searches of one collection walk");
    let expected = NAMES.iter().map(|name| (*name, shown(&engine, name))).collect();
    engine.kill();
    (engine.disk.clone(), expected)
}

/// The body of a part of a sync of all points with a number.
fn part(more: Value) -> Value {
    let scope = json!({"must": {"key": "n", "range": {"gte": 0}}});
    let mut part = json!({"sync_id": "s", "scope": scope, "hash_key": "n", "points": []});
    part.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    part
}

/// Stages a part of a sync, of which the next start must know.
fn stage_part(engine: &TestEngine, name: &str) {
    let points = json!([{"id": 1, "hash": 1}]);
    assert_eq!(engine.ok("sync_points", name, part(json!({"points": points}))), json!({"staged": 1}));
}

/// C20: the part that a start has lost must not delete its points, whatever became of the note of it.
fn lost_parts_delete_nothing(engine: &TestEngine, name: &str) {
    let before = engine.ok("count", name, json!({}));
    let (code, details) = engine.refused("sync_points", name, part(json!({"last": true})));
    assert_eq!(code, "sync_conflict", "{details}");
    assert_eq!(engine.ok("count", name, json!({})), before);
}

/// A quarantined collection says so, and can be deleted and made anew.
fn is_quarantined_properly(engine: &TestEngine, name: &str) {
    let info = engine.ok("collection_info", name, json!(null));
    assert_eq!(info["status"], json!("red"));
    assert!(info["optimizer_status"]["error"].as_str().is_some_and(|fault| !fault.contains('/')), "{info}");
    assert_eq!(engine.ok("collection_exists", name, json!(null)), json!({"exists": true}));
    for (operation, body) in [
        ("count", json!({})),
        ("scroll", json!({})),
        ("delete_points", json!({"points": [1]})),
        ("update_collection", json!({"metadata": {}})),
    ] {
        assert_eq!(engine.refused(operation, name, body).0, "collection_fault", "{operation}");
    }
    assert_eq!(engine.ok("delete_collection", name, json!(null)), json!(true));
    let vectors = json!({"size": size(name), "distance": "Euclid"});
    engine.ok("create_collection", name, json!({"vectors": vectors}));
    upsert(engine, name, 0..5);
}

#[test]
fn a_damaged_graph_is_built_again_and_nothing_else_changes() {
    let (disk, expected) = settled();
    let graph = files(&disk).into_iter().find(|file| file.kind == Kind::Graph).expect("a graph file");
    disk.decay(&graph.path, |bytes| bytes[100] ^= 1).expect("the file is there");
    let mut engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
    let info = engine.ok("collection_info", "graph", json!(null));
    assert_eq!((info["status"].as_str(), info["indexed_vectors_count"].as_u64()), (Some("yellow"), Some(0)));
    assert_eq!(shown(&engine, "graph"), expected["graph"]);
    engine.checkpoint();
    engine.restart();
    engine.build_indexes();
    let info = engine.ok("collection_info", "graph", json!(null));
    assert_eq!((info["status"].as_str(), info["indexed_vectors_count"].as_u64()), (Some("green"), Some(60)));
    assert_eq!(shown(&engine, "graph"), expected["graph"]);
}

#[test]
fn a_catalog_that_is_damaged_or_missing_is_read_from_its_copy_and_written_again() {
    for is_removed in [false, true] {
        let (disk, expected) = settled();
        let whole = disk.read("catalog/CATALOG").expect("a file");
        if is_removed {
            disk.remove("catalog/CATALOG").expect("it is there");
            disk.kill();
        } else {
            disk.decay("catalog/CATALOG", |bytes| bytes[20] ^= 1).expect("the file is there");
        }
        let engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
        assert_eq!(engine.engine().status().faults.len(), 0);
        for name in NAMES {
            assert_eq!(shown(&engine, name), expected[name]);
        }
        // What the log had beside is in it now too.
        let again = engine.disk.read("catalog/CATALOG").expect("a file");
        assert!(again.len() >= whole.len());
        assert_eq!(engine.disk.read("collections/CATALOG").expect("a file"), again);
    }
}

/// Everything that an engine reports of damage that its start found, as file and sentence.
fn reported_damages(engine: &TestEngine) -> Vec<(String, String)> {
    let findings = engine.engine().scrub_report().findings.into_iter();
    let findings = findings.map(|finding| (finding.file, finding.what));
    findings.chain(engine.engine().status().log_damages).collect()
}

#[test]
fn damage_found_by_a_start_is_counted_by_kind_of_file_and_reported_with_what_was_done() {
    let (disk, _) = settled();
    let all = files(&disk);
    for kind in Kind::ALL {
        let path = &all.iter().find(|file| file.kind == kind).expect("there is one").path;
        let disk = disk.duplicate();
        // Of the segment a record, which checkpoints may have.
        let at = if kind == Kind::Segment { 300 } else { 20 };
        disk.decay(path, |bytes| bytes[at] ^= 1).expect("the file is there");
        let engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
        let report = engine.engine().scrub_report();
        let counted = [
            report.data_failures,
            report.graph_failures,
            report.manifest_failures,
            report.catalog_failures,
            report.log_failures,
        ];
        let (expected, done) = match kind {
            Kind::Data => ([1, 0, 0, 0, 0], None),
            Kind::Graph => ([0, 1, 0, 0, 0], Some("it is built again")),
            Kind::Manifest => ([0, 0, 1, 0, 0], None),
            Kind::Catalog | Kind::CatalogCopy => ([0, 0, 0, 1, 0], Some("it is written again")),
            Kind::Segment | Kind::CutMark | Kind::CutMarkCopy => ([0, 0, 0, 0, 1], Some("")),
            // It only refuses a part of a sync.
            Kind::StagedSyncs => {
                lost_parts_delete_nothing(&engine, "half");
                assert_eq!(engine.engine().status().faults.len(), 0);
                continue;
            }
        };
        assert_eq!(counted, expected, "{kind:?}");
        let reported = reported_damages(&engine);
        match done {
            Some(done) => {
                assert!(reported[0].0 == *path && reported[0].1.contains(done), "{kind:?}: {reported:?}")
            }
            None => assert_eq!((reported.len(), engine.engine().status().faults.len()), (0, 1), "{kind:?}"),
        }
    }
}

#[test]
fn a_start_without_catalog_and_copy_says_what_is_lost_and_what_to_do() {
    let (disk, _) = settled();
    for path in ["catalog/CATALOG", "collections/CATALOG"] {
        disk.decay(path, |bytes| *bytes.last_mut().expect("not empty") ^= 1).expect("the file is there");
    }
    let refusal = TestEngine::with(disk, 1, THRESHOLDS).err().expect("it does not open");
    assert!(refusal.starts_with("the file CATALOG is damaged, and its copy"), "{refusal}");
    assert!(refusal.contains("restore a backup") && refusal.contains("kithdb repair"), "{refusal}");
}

#[test]
fn a_sector_that_the_disk_refuses_quarantines_its_collection_before_a_search_meets_it() {
    let (disk, expected) = settled();
    let bad = files(&disk).into_iter().find(|file| file.kind == Kind::Data).expect("a data file").path;
    let (refusing, calls) = (disk.clone(), AtomicU64::new(0));
    let refuse = move |place: &str| {
        // The first calls read the header and make the map, which reads nothing.
        if place == bad && calls.fetch_add(1, Ordering::Relaxed) >= 2 {
            refusing.fail_nth(1, Fault::Eio);
        }
    };
    disk.interleave(Some(Arc::new(refuse)));
    let engine = TestEngine::with(disk.clone(), 1, THRESHOLDS).expect("it opens");
    disk.interleave(None);
    let fault = engine.ok("collection_info", "flat", json!(null))["optimizer_status"]["error"].clone();
    let fault = fault.as_str().expect("a fault");
    assert!(fault.starts_with("the file 00000001.data: input/output error during read; "), "{fault}");
    for name in ["graph", "half", "fresh"] {
        assert_eq!(shown(&engine, name), expected[name]);
    }
}

#[test]
fn a_missing_data_file_quarantines_its_collection_alone() {
    let (disk, expected) = settled();
    let data = files(&disk).into_iter().find(|file| file.kind == Kind::Data).expect("a data file");
    disk.remove(&data.path).expect("it can be removed");
    disk.kill();
    let engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
    let fault = engine.ok("collection_info", "flat", json!(null))["optimizer_status"]["error"].clone();
    let fault = fault.as_str().expect("a fault");
    assert!(fault.starts_with("the file 00000001.data: a file is missing; "), "{fault}");
    assert_eq!(engine.engine().status().faults.len(), 1);
    for name in ["graph", "half", "fresh"] {
        assert_eq!(shown(&engine, name), expected[name]);
    }
    is_quarantined_properly(&engine, "flat");
}
