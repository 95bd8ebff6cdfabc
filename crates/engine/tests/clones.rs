//! C26: a clone is a collection of the same state under another name, and shares nothing with its source but files.

mod common;

use common::{SHORT_FILES, TestEngine};
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::error::Error;
use kithdb_engine::integrity::{LogEnd, Severity, check, repair, verify_files};
use kithdb_engine::storage::{Fault, SimDisk, Storage};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const OPTIONS: OpeningOptions = OpeningOptions { threads: 1, row_chunk_bytes: SHORT_FILES.row_chunk_bytes };

fn points(ids: std::ops::Range<u64>) -> Value {
    let point = |id: u64| {
        let vector: Vec<f64> = (0..96).map(|at| ((id * 31 + at * 7) % 23) as f64 - 11.0).collect();
        json!({"id": id, "vector": {"": vector, "s": {"indices": [id % 5, 7], "values": [1.0, 2.0]}}, "payload": {"n": id}})
    };
    json!({"points": ids.map(point).collect::<Vec<_>>()})
}

/// An engine with a collection that has a graph, a field index, a checkpoint and a log behind it.
fn prepared() -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    let body = json!({
        "vectors": {"": {"size": 96, "distance": "Euclid"}}, "sparse_vectors": {"s": {}},
        "hnsw_config": {"m": 4, "ef_construct": 16, "full_scan_threshold": 10},
        "optimizers_config": {"indexing_threshold": 1},
    });
    engine.ok("create_collection", "source", body);
    engine.ok("upsert_points", "source", points(0..60));
    engine.ok("create_field_index", "source", json!({"field_name": "n", "field_schema": "integer"}));
    engine.checkpoint();
    engine.ok("upsert_points", "source", points(50..70));
    engine.ok("delete_points", "source", json!({"points": [3, 4]}));
    engine
}

fn clone(engine: &TestEngine, source: &str, name: &str) {
    assert_eq!(engine.ok("clone_collection", source, json!({"name": name})), json!(true));
}

fn shown(engine: &TestEngine, collection: &str) -> Value {
    let found = engine.ok("collection_info", collection, json!(null));
    json!([found["config"], found["points_count"], engine.digest(collection)])
}

/// The points that a walk of the graph finds near a point.
fn near(engine: &TestEngine, collection: &str) -> Value {
    engine.ok("query", collection, json!({"query": 12, "using": "", "limit": 5, "params": {"hnsw_ef": 400}}))
}

fn findings(disk: &SimDisk) -> Vec<String> {
    let report = check(Arc::new(disk.clone()), None, OPTIONS).expect("it can be checked");
    report
        .findings
        .listed
        .iter()
        .filter(|finding| finding.severity != Severity::Note)
        .map(|finding| format!("{finding:?}"))
        .collect()
}

#[test]
fn a_clone_has_what_its_source_had_and_both_go_on_alone_c26() {
    let mut engine = prepared();
    let before = shown(&engine, "source");
    clone(&engine, "source", "clone");
    assert_eq!(shown(&engine, "clone"), before);
    assert_eq!(near(&engine, "clone"), near(&engine, "source"));
    let info = engine.ok("collection_info", "clone", json!(null));
    assert_eq!(
        info["indexed_vectors_count"],
        engine.ok("collection_info", "source", json!(null))["indexed_vectors_count"]
    );
    assert!(info["payload_schema"]["n"].is_object(), "{info}");
    engine.ok("upsert_points", "source", points(200..210));
    engine.ok("delete_points", "clone", json!({"filter": {"must": [{"key": "n", "range": {"lt": 30}}]}}));
    let (source, copy) = (shown(&engine, "source"), shown(&engine, "clone"));
    type Passage = fn(&mut TestEngine);
    let passages: [Passage; 4] = [
        TestEngine::restart,
        |engine| engine.power_cut(5),
        |engine| {
            engine.checkpoint();
            engine.restart();
        },
        |engine| {
            engine.close();
            engine.open().expect("it opens");
        },
    ];
    for passage in passages {
        passage(&mut engine);
        assert_eq!((shown(&engine, "source"), shown(&engine, "clone")), (source.clone(), copy.clone()));
    }
    clone(&engine, "clone", "of a clone");
    engine.ok("delete_collection", "source", json!(null));
    engine.ok("delete_collection", "clone", json!(null));
    engine.restart();
    assert_eq!(shown(&engine, "of a clone"), copy);
    engine.close();
    assert_eq!(findings(&engine.disk), Vec::<String>::new());
}

#[test]
fn a_name_that_is_taken_or_is_none_and_a_source_that_is_not_there_are_refused_c26() {
    let engine = prepared();
    engine.ok("create_collection", "other", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let refused =
        |source: &str, name: Value| engine.refused("clone_collection", source, json!({"name": name})).0;
    assert_eq!(refused("source", json!("other")), "collection_exists");
    assert_eq!(refused("source", json!("source")), "collection_exists");
    assert_eq!(refused("absent", json!("new")), "collection_not_found");
    assert_eq!(refused("absent", json!("a/b")), "bad_request");
    assert_eq!(refused("source", json!(null)), "missing_field");
    assert_eq!(refused("source", json!(7)), "bad_request");
    let list = engine.ok("list_collections", "", json!(null));
    assert_eq!(list["collections"].as_array().map(Vec::len), Some(2), "{list}");
}

#[test]
fn an_empty_collection_can_be_cloned_and_one_whose_manifest_is_lost_is_quarantined_c26() {
    let mut engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", "empty", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    clone(&engine, "empty", "clone");
    engine.restart();
    assert_eq!(shown(&engine, "clone"), shown(&engine, "empty"));
    engine.kill();
    engine.disk.remove("collections/0000000000000002/MANIFEST").expect("it is there");
    engine.open().expect("the others are served");
    assert_eq!(engine.refused("count", "clone", json!({})).0, "collection_fault");
    engine.close();
    assert!(
        findings(&engine.disk).iter().any(|what| what.contains("MANIFEST is missing")),
        "{:?}",
        findings(&engine.disk)
    );
}

/// A crash at each call of a clone, and then a power cut: the clone is there and whole, or nothing of it is.
#[test]
fn a_crash_leaves_a_whole_clone_or_none_c26() {
    for has_links in [true, false] {
        crash_at_each_call(has_links);
    }
}

/// A disk without links copies the files.
fn crash_at_each_call(has_links: bool) {
    let engine = prepared();
    if !has_links {
        engine.disk.forbid_links();
    }
    let before = shown(&engine, "source");
    let mut outcomes = BTreeSet::new();
    for n in 0.. {
        let mut copy = engine.duplicate();
        copy.open().expect("the prepared disk opens");
        let calls = copy.disk.calls();
        copy.disk.crash_after(n);
        let cloned = copy.call("clone_collection", "source", json!({"name": "clone"}));
        let was_cut = copy.disk.calls() - calls > n;
        for seed in 0..4 {
            let mut left = copy.duplicate();
            left.disk.power_cut(n * 4 + seed);
            let storage: Arc<dyn Storage> = Arc::new(left.disk.clone());
            let unsound =
                verify_files(storage, OPTIONS.row_chunk_bytes, LogEnd::PerhapsTorn).expect("it can be read");
            assert!(unsound.is_empty(), "after {n} calls: {unsound:?}");
            left.open().unwrap_or_else(|why| panic!("after {n} calls: {why}"));
            let is_there = left.ok("collection_exists", "clone", json!(null))["exists"] == json!(true);
            outcomes.insert(is_there);
            assert!(is_there || cloned.is_err(), "it was acknowledged, after {n} calls");
            assert_eq!(shown(&left, "source"), before, "after {n} calls");
            if is_there {
                assert_eq!(shown(&left, "clone"), before, "after {n} calls");
            } else {
                // The number, and the folder, are free for another.
                left.ok("create_collection", "clone", json!({"vectors": {"size": 2, "distance": "Dot"}}));
                left.checkpoint();
            }
            left.restart();
            let folders = left.disk.list("collections").expect("a folder");
            assert_eq!(
                folders.iter().filter(|name| *name != "CATALOG").count(),
                2,
                "{folders:?}, after {n} calls"
            );
            left.close();
            assert_eq!(findings(&left.disk), Vec::<String>::new(), "after {n} calls");
        }
        if !was_cut {
            cloned.expect("nothing failed");
            break;
        }
    }
    assert_eq!(outcomes.len(), 2, "both outcomes must have been seen");
}

/// A creation whose sync failed may be in the log all the same, with its number. The folder of a clone that is refused
/// afterwards is kept for the same reason, and must have another number.
#[test]
fn a_creation_of_unknown_fate_never_shows_the_files_of_a_clone_that_came_after_it_c26() {
    let engine = prepared();
    let mut kept = 0;
    for n in 1.. {
        let mut copy = engine.duplicate();
        copy.open().expect("the prepared disk opens");
        copy.disk.fail_nth(n, Fault::FsyncFails);
        let body = json!({"vectors": {"size": 2, "distance": "Dot"}});
        let created = copy.call("create_collection", "new", body);
        copy.disk.clear_faults();
        if created.is_ok() {
            break;
        }
        assert!(copy.call("clone_collection", "source", json!({"name": "clone"})).is_err(), "{n}");
        copy.restart();
        if copy.ok("collection_exists", "new", json!(null))["exists"] == json!(true) {
            kept += 1;
            let info = copy.ok("collection_info", "new", json!(null));
            assert_eq!(info["points_count"], 0, "after {n} calls");
            assert_eq!(info["config"]["params"]["vectors"]["size"], 2, "after {n} calls");
        }
    }
    assert!(kept > 0, "no creation of unknown fate was there after the restart");
}

/// Each call of a clone fails once: the collections that are there go on, and a second attempt succeeds.
#[test]
fn a_disk_that_fails_during_a_clone_leaves_none_behind_c26() {
    let engine = prepared();
    let before = shown(&engine, "source");
    for n in 1.. {
        let mut copy = engine.duplicate();
        copy.open().expect("the prepared disk opens");
        let calls = copy.disk.calls();
        let fault = [Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails][n as usize % 3];
        copy.disk.fail_nth(n, fault);
        let cloned = copy.call("clone_collection", "source", json!({"name": "clone"}));
        let is_over = copy.disk.calls() - calls < n;
        copy.disk.clear_faults();
        if cloned.is_err()
            && copy.call("set_payload", "source", json!({"payload": {}, "points": [1]})).is_ok()
        {
            // The log goes on.
            clone(&copy, "source", "clone");
        }
        copy.restart();
        if copy.ok("collection_exists", "clone", json!(null))["exists"] == json!(false) {
            clone(&copy, "source", "clone");
        }
        assert_eq!(shown(&copy, "clone")[2], shown(&copy, "source")[2], "{fault:?} at call {n}");
        assert_eq!(
            shown(&copy, "source")[2]["points"].as_array().map(Vec::len),
            before[2]["points"].as_array().map(Vec::len)
        );
        copy.close();
        assert_eq!(findings(&copy.disk), Vec::<String>::new(), "{fault:?} at call {n}");
        if is_over {
            break;
        }
    }
}

#[test]
fn a_backup_that_is_staged_beside_a_clone_has_it_and_a_repair_keeps_what_verifies_c26() {
    let mut engine = prepared();
    clone(&engine, "source", "clone");
    engine.engine().stage().expect("the disk is sound");
    let names = engine.disk.list("staging/collections/0000000000000002").expect("a folder");
    assert!(names.iter().all(|name| name == "MANIFEST" || name.ends_with(".data")), "{names:?}");
    assert!(names.len() > 1, "{names:?}");
    engine.close();
    let file = names.iter().find(|name| name.ends_with(".data")).expect("a data file");
    let path = format!("collections/{:016x}/{file}", 2);
    engine.disk.decay(&path, |bytes| bytes[90] ^= 1).expect("it is there");
    assert!(findings(&engine.disk).iter().any(|what| what.contains(&path)), "{:?}", findings(&engine.disk));
    let storage: Arc<dyn Storage> = Arc::new(engine.disk.clone());
    let report = repair(&storage, "stamp", false, OPTIONS).expect("it can be repaired");
    assert!(!report.is_sound());
    engine.open().expect("a repaired folder opens");
    assert!(engine.engine().status().faults.is_empty());
    engine.close();
    assert_eq!(findings(&engine.disk), Vec::<String>::new());
}

#[test]
fn a_vacuum_and_copying_forward_end_what_a_clone_shares_c26() {
    let mut engine = prepared();
    clone(&engine, "source", "clone");
    for round in 0..6 {
        engine.ok("upsert_points", "clone", points(round * 20..round * 20 + 70));
        engine.checkpoint();
    }
    engine.ok("delete_points", "clone", json!({"filter": {"must": [{"key": "n", "range": {"lt": 110}}]}}));
    for _ in 0..4 {
        engine.work(kithdb_engine::collection::GraphPolicy::WhenGrown);
        engine.checkpoint();
    }
    let (source, copy) = (shown(&engine, "source"), shown(&engine, "clone"));
    engine.ok("delete_collection", "source", json!(null));
    engine.restart();
    assert_eq!(shown(&engine, "clone"), copy);
    assert_ne!(source, copy);
    engine.close();
    assert_eq!(findings(&engine.disk), Vec::<String>::new());
}

/// What a snapshot has linked, as a recovery finds it.
const RECOVERED: &str = "snapshots/unfinished/1";

/// An engine with a collection, and a snapshot of what it was before its last changes.
fn with_snapshot() -> (TestEngine, Value) {
    let engine = prepared();
    engine.disk.create_dir_all(RECOVERED).expect("a folder");
    engine.ok("link_snapshot", "source", json!({"folder": RECOVERED}));
    let before = shown(&engine, "source");
    engine.ok("delete_points", "source", json!({"filter": {"must": [{"key": "n", "range": {"gte": 10}}]}}));
    engine.ok("upsert_points", "source", points(300..310));
    engine.ok("create_collection", "witness", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    for dir in ["", "snapshots", "snapshots/unfinished", RECOVERED] {
        engine.disk.sync_dir(dir).expect("the disk is sound");
    }
    (engine, before)
}

fn recover(engine: &TestEngine, names: &[&str], folder: &str) -> Result<Value, Error> {
    let collections: Vec<Value> = names.iter().map(|name| json!({"name": name, "folder": folder})).collect();
    engine.call("adopt_folders", "", json!({"collections": collections}))
}

/// A crash at each call of a recovery of two collections, of which one is replaced, and then a power cut.
#[test]
fn a_crash_during_a_recovery_leaves_what_was_or_what_is_to_be_c12() {
    let (engine, recovered) = with_snapshot();
    let replaced = shown(&engine, "source");
    let mut outcomes = BTreeSet::new();
    for n in 0.. {
        let mut copy = engine.duplicate();
        copy.open().expect("the prepared disk opens");
        let calls = copy.disk.calls();
        copy.disk.crash_after(n);
        let adopted = recover(&copy, &["source", "new"], RECOVERED);
        let was_cut = copy.disk.calls() - calls > n;
        for seed in 0..3 {
            let mut left = copy.duplicate();
            left.disk.power_cut(n * 3 + seed);
            left.open().unwrap_or_else(|why| panic!("after {n} calls: {why}"));
            let is_new = left.ok("collection_exists", "new", json!(null))["exists"] == json!(true);
            outcomes.insert(is_new);
            assert!(is_new || adopted.is_err(), "it was acknowledged, after {n} calls");
            let expected = if is_new { &recovered } else { &replaced };
            assert_eq!(&shown(&left, "source"), expected, "after {n} calls");
            if is_new {
                assert_eq!(shown(&left, "new"), recovered, "after {n} calls");
            }
            left.ok("upsert_points", "source", points(400..402));
            left.close();
            assert_eq!(findings(&left.disk), Vec::<String>::new(), "after {n} calls");
        }
        if !was_cut {
            adopted.expect("nothing failed");
            break;
        }
    }
    assert_eq!(outcomes.len(), 2, "both outcomes must have been seen");
}

#[test]
fn a_recovery_of_what_is_none_changes_nothing_and_one_replaces_a_quarantined_collection_c12() {
    let (mut engine, recovered) = with_snapshot();
    let replaced = shown(&engine, "source");
    let files = engine.disk.list(RECOVERED).expect("a folder");
    for file in &files {
        let kept = engine.disk.duplicate();
        let path = format!("{RECOVERED}/{file}");
        for at in [0, 9, 20, 70, 90] {
            engine
                .disk
                .decay(&path, |bytes| {
                    let at = at % bytes.len();
                    bytes[at] ^= 1;
                })
                .expect("it is there");
            let outcome = recover(&engine, &["source"], RECOVERED);
            let is_graph = outcome.is_ok();
            // A graph that does not verify is built again; everything else is refused.
            assert!(
                is_graph || matches!(outcome, Err(Error::BadRequest(_))),
                "{path}, byte {at}: {outcome:?}"
            );
            if is_graph {
                assert_eq!(shown(&engine, "source")[2], recovered[2], "{path}, byte {at}");
                engine = TestEngine::with(kept.duplicate(), 1, SHORT_FILES).expect("it opens");
                continue;
            }
            assert_eq!(shown(&engine, "source"), replaced, "{path}, byte {at}");
            engine
                .disk
                .decay(&path, |bytes| {
                    let at = at % bytes.len();
                    bytes[at] ^= 1;
                })
                .expect("it is there");
        }
    }
    let absent = recover(&engine, &["x"], "snapshots/none");
    assert!(matches!(absent, Err(Error::BadRequest(_))), "{absent:?}");
    let unnamed = recover(&engine, &["a/b"], RECOVERED);
    assert!(matches!(unnamed, Err(Error::BadRequest(_))), "{unnamed:?}");
    engine.close();
    let path = "collections/0000000000000001/MANIFEST";
    engine.disk.decay(path, |bytes| bytes[30] ^= 1).expect("it is there");
    engine.open().expect("the others are served");
    assert_eq!(engine.refused("count", "source", json!({})).0, "collection_fault");
    recover(&engine, &["source"], RECOVERED).expect("it replaces the damaged one");
    assert_eq!(shown(&engine, "source"), recovered);
    engine.restart();
    assert_eq!(shown(&engine, "source"), recovered);
}

/// An owner of the folder may end while it links, and the next one does it again (C18).
#[test]
fn a_snapshot_that_is_linked_again_has_the_files_of_the_second_time_c12() {
    let (engine, _) = with_snapshot();
    engine.ok("link_snapshot", "source", json!({"folder": RECOVERED}));
    let before = shown(&engine, "source");
    engine.ok("delete_points", "source", json!({"points": [11, 12]}));
    recover(&engine, &["source"], RECOVERED).expect("the disk is sound");
    assert_eq!(shown(&engine, "source"), before);
    let linked = engine.disk.list(RECOVERED).expect("a folder");
    recover(&engine, &["other"], RECOVERED).expect("the disk is sound");
    engine.ok("link_snapshot", "other", json!({"folder": RECOVERED}));
    assert_eq!(engine.disk.list(RECOVERED).expect("a folder").len(), linked.len());
    assert_eq!(engine.refused("link_snapshot", "source", json!({})).0, "missing_field");
    assert_eq!(
        engine.refused("link_snapshot", "source", json!({"folder": RECOVERED, "x": 1})).0,
        "bad_request"
    );
    assert_eq!(
        engine.refused("adopt_folders", "", json!({"collections": [{"name": "x"}]})).0,
        "missing_field"
    );
}

/// What an attached process repeats because the owner ended would undo what was written since (C18, C25).
#[test]
fn a_recovery_with_an_operation_id_happens_once_c25() {
    let (mut engine, recovered) = with_snapshot();
    let body = json!({"collections": [{"name": "source", "folder": RECOVERED}]}).to_string().into_bytes();
    let recover = |engine: &TestEngine| {
        engine.client().answer_named(Some(7), "adopt_folders", "", None, true, body.clone()).map(|_| ())
    };
    recover(&engine).expect("the disk is sound");
    assert_eq!(shown(&engine, "source"), recovered);
    engine.ok("upsert_points", "source", points(500..501));
    let written = shown(&engine, "source");
    recover(&engine).expect("it was applied");
    assert_eq!(shown(&engine, "source"), written);
    engine.restart();
    recover(&engine).expect("it was applied");
    assert_eq!(shown(&engine, "source"), written);
}
