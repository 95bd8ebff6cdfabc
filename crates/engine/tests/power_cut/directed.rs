//! Short programs for single rules.

use crate::common::TestEngine;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::{Call, Fault, SimDisk, Storage};
use serde_json::{Value, json};
use std::sync::Arc;

fn points(ids: std::ops::Range<u64>) -> Value {
    let point = |id| json!({"id": id, "vector": [id, 1.0], "payload": {"n": id, "text": "x".repeat(100)}});
    json!({"points": ids.map(point).collect::<Vec<_>>()})
}

fn engine_with_points(seed: u64) -> TestEngine {
    let engine = TestEngine::new(seed);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    engine.ok("upsert_points", "c", points(0..20));
    engine
}

/// What is on a disk now, which has room for a GiB from then on.
fn used_bytes(disk: &SimDisk) -> u64 {
    disk.set_capacity(Some(1 << 30));
    (1 << 30) - disk.free_bytes().expect("a disk with a capacity knows")
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_room_and_serves_reads_c1_5() {
    // Segments so short that hardly anything fits into the zeros behind the records.
    let thresholds = Thresholds { log_segment_bytes: 1 << 10, ..Thresholds::default() };
    let mut engine = TestEngine::with(SimDisk::new(), 1, thresholds).expect("an empty disk opens");
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    engine.ok("upsert_points", "c", points(0..20));
    let before = engine.digest("c");
    engine.disk.set_capacity(Some(0));
    for _ in 0..3 {
        assert_eq!(engine.refused("upsert_points", "c", points(20..40)).0, "storage_full");
        let create = json!({"vectors": {"size": 2, "distance": "Dot"}});
        assert_eq!(engine.refused("create_collection", "d", create).0, "storage_full");
        engine.checkpoint();
        assert_eq!(engine.digest("c"), before);
        assert_eq!(engine.ok("search", "c", json!({"vector": [3.0, 1.0], "limit": 1}))[0]["id"], json!(3));
    }
    engine.disk.set_capacity(None);
    engine.ok("upsert_points", "c", points(20..40));
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine.ok("delete_points", "c", json!({"points": [0]}));
    let after = engine.digest("c");
    engine.power_cut(1);
    assert_eq!(engine.digest("c"), after);
    assert_eq!(engine.ok("count", "d", json!({})), json!({"count": 0}));
}

#[test]
fn a_server_that_is_killed_on_a_full_disk_starts_again_c1_5_c11_3() {
    let thresholds = Thresholds { log_segment_bytes: 64 << 10, ..Thresholds::default() };
    for (capacity, batch) in
        [(3 << 20, 100), ((3 << 20) + 7_777, 300), ((2 << 20) + 12_345, 400), (4 << 20, 800)]
    {
        let mut full = TestEngine::with(SimDisk::new(), 1, thresholds).expect("an empty disk opens");
        full.disk.set_capacity(Some(capacity));
        full.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
        let mut sent = 0;
        while full.call("upsert_points", "c", points(sent..sent + batch)).is_ok() {
            sent += batch;
        }
        let before =
            json!({"count": full.ok("count", "c", json!({}))["count"].as_u64().expect("a number") - 1});
        full.kill();
        for calls in 0.. {
            let mut engine = full.duplicate();
            engine.open().expect("a server that filled its disk starts");
            // A last record that nothing proves durable.
            engine.ok("delete_points", "c", json!({"points": [1]}));
            let first = engine.disk.calls();
            engine.disk.crash_after(calls);
            engine.work(GraphPolicy::WhenGrown);
            let is_over = engine.disk.calls() - first <= calls;
            engine.kill();
            let place = format!("{capacity} bytes, {batch} points a request, killed after {calls} calls");
            starts_without_room(&engine, &before, &place);
            engine.open().unwrap_or_else(|why| panic!("{place}: {why}"));
            assert_eq!(engine.ok("count", "c", json!({})), before, "{place}");
            engine.ok("delete_points", "c", json!({"points": [0]}));
            if is_over {
                break;
            }
        }
    }
}

/// A server that was killed starts on a disk without a free byte, and everything that it shows is durable.
fn starts_without_room(killed: &TestEngine, expected: &Value, place: &str) {
    let mut engine = killed.duplicate();
    for reserve in ["reserve", "reserve.start"] {
        let _ = engine.disk.remove(reserve);
    }
    let used = used_bytes(&engine.disk);
    engine.disk.set_capacity(Some(used));
    engine.open().unwrap_or_else(|why| panic!("{place}, no room at all: {why}"));
    assert_eq!(engine.ok("count", "c", json!({})), *expected, "{place}, no room at all");
    engine.power_cut(1);
    assert_eq!(engine.ok("count", "c", json!({})), *expected, "{place}, then a power cut");
    // Files that a killed checkpoint left are removed, which frees their space.
    engine.disk.set_capacity(Some(used + (256 << 10)));
    engine.work(GraphPolicy::WhenGrown);
    engine.ok("delete_points", "c", json!({"points": [0]}));
}

#[test]
fn a_checkpoint_that_fails_on_a_full_disk_gives_its_space_back() {
    let engine = engine_with_points(2);
    engine.disk.set_capacity(Some(used_bytes(&engine.disk) + 2000));
    engine.checkpoint();
    assert_eq!(engine.disk.list("collections/0000000000000001").expect("a folder"), Vec::<String>::new());
    engine.ok("delete_points", "c", json!({"points": [1, 2]}));
    assert_eq!(
        engine.refused("upsert_points", "c", points(20..22)).0,
        "storage_full",
        "no checkpoint would fit"
    );
}

#[test]
fn a_failed_sync_stops_writes_and_not_reads_until_the_engine_is_opened_again() {
    for cut in [false, true] {
        let mut engine = engine_with_points(3);
        let before = engine.digest("c");
        engine.disk.fail_nth(1, Fault::FsyncFails);
        assert_eq!(engine.refused("upsert_points", "c", points(20..40)).0, "internal");
        // A sync is never tried again: its success would prove nothing.
        assert_eq!(engine.refused("delete_points", "c", json!({"points": [1]})).0, "internal");
        assert_eq!(engine.refused("delete_collection", "c", json!(null)).0, "internal");
        assert_eq!(engine.digest("c"), before);
        let info = engine.ok("collection_info", "c", json!(null));
        assert_eq!(info["status"], json!("red"), "the info of the collection reports the failure");
        if cut {
            engine.power_cut(4);
        } else {
            engine.restart();
        }
        let count = engine.ok("count", "c", json!({}))["count"].as_u64();
        assert!(matches!(count, Some(20 | 40)), "the request of unknown fate is whole or absent: {count:?}");
        engine.ok("upsert_points", "c", points(40..41));
        engine.power_cut(5);
        assert_eq!(engine.ok("count", "c", json!({}))["count"].as_u64(), count.map(|count| count + 1));
    }
}

#[test]
fn what_wait_false_acknowledges_survives_a_power_cut_c5() {
    for seed in 0..20 {
        let mut engine = engine_with_points(seed);
        let body = points(20..30).to_string().into_bytes();
        let answer = engine.execute("upsert_points", "c", None, false, body).expect("it is acknowledged");
        assert_eq!(answer["status"], json!("acknowledged"));
        engine.power_cut(seed);
        assert_eq!(engine.ok("count", "c", json!({})), json!({"count": 30}));
    }
}

#[test]
fn a_deleted_collection_stays_deleted_wherever_the_power_goes_c4_5() {
    for calls in 0..40 {
        let mut engine = engine_with_points(calls);
        engine.checkpoint();
        engine.disk.crash_after(calls);
        let answer = engine.call("delete_collection", "c", json!(null));
        engine.work(GraphPolicy::Always);
        engine.power_cut(calls);
        let exists = engine.ok("collection_exists", "c", json!(null))["exists"] == json!(true);
        if answer.is_ok() {
            assert!(!exists, "deleted, with {calls} calls before the cut");
            engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
        }
        let expected = if exists { 20 } else { 0 };
        if exists || answer.is_ok() {
            assert_eq!(engine.ok("count", "c", json!({})), json!({"count": expected}));
        }
        if !exists {
            let left = engine.disk.list("collections").expect("the folder can be listed");
            assert!(left.iter().all(|name| name != "0000000000000001"), "its files go: {left:?}");
        }
    }
}

/// The catalog's file may be written between the first step of a deletion and its record, which may then fail.
#[test]
fn a_deletion_that_fails_leaves_the_collection_where_it_was_c4_5() {
    let mut engine = engine_with_points(1);
    engine.checkpoint();
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let (catalog, disk) = (engine.engine().catalog().clone(), engine.disk.clone());
    engine.disk.interleave(Some(Arc::new(move |place: &str| {
        if place == "marking a collection for deletion" {
            catalog.checkpoint().expect("the disk is sound");
            disk.fail_nth_of(Call::Append, 1, Fault::Eio);
        }
    })));
    assert_eq!(engine.refused("delete_collection", "c", json!(null)).0, "internal");
    engine.disk.interleave(None);
    engine.power_cut(1);
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": 20}));
}

/// When the log no longer has its records, only its files show that a collection had data.
#[test]
fn a_manifest_that_is_gone_is_noticed_although_the_log_was_cut_c10_2() {
    let thresholds = Thresholds { log_segment_bytes: 1, ..Thresholds::default() };
    let mut engine = TestEngine::with(SimDisk::new(), 1, thresholds).expect("an empty disk opens");
    for name in ["c", "d"] {
        engine.ok("create_collection", name, json!({"vectors": {"size": 2, "distance": "Euclid"}}));
        engine.ok("upsert_points", name, points(0..20));
    }
    engine.checkpoint();
    // The segment that grows is never cut.
    engine.ok("upsert_points", "d", points(20..21));
    engine.checkpoint();
    engine.kill();
    engine.disk.remove("collections/0000000000000001/MANIFEST").expect("it is there");
    engine.open().expect("the others are served");
    let faults = engine.engine().status().faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].0 == "c" && faults[0].1.contains("MANIFEST is missing"), "{faults:?}");
}

/// Regression: a graph that grew while nothing was written was checkpointed together with payloads that were already in
/// a file, and the next checkpoint lost their offsets.
#[test]
fn a_checkpoint_for_the_graph_alone_leaves_the_data_alone() {
    let thresholds = Thresholds { checkpoint_bytes: 1, graph_step_rows: 1, ..Thresholds::default() };
    let mut engine = TestEngine::with(SimDisk::new(), 6, thresholds).expect("an empty disk opens");
    let hnsw = json!({"full_scan_threshold": 10});
    engine.ok(
        "create_collection",
        "g",
        json!({"vectors": {"size": 128, "distance": "Dot"}, "hnsw_config": hnsw}),
    );
    let upsert = |engine: &TestEngine, from: u64| {
        let vector = |id: u64| (0..128).map(|at| (id * 7 + at) % 13).collect::<Vec<_>>();
        let point = |id| json!({"id": id, "vector": vector(id), "payload": {"id": id}});
        engine.ok("upsert_points", "g", json!({"points": (from..from + 30).map(point).collect::<Vec<_>>()}));
    };
    upsert(&engine, 0);
    let catalog = engine.engine().catalog();
    let collection = catalog.collections().remove(0);
    // Data first, the graph after it, then more data.
    collection.checkpoint(GraphPolicy::Always).expect("a sound disk");
    let files = |engine: &TestEngine| engine.disk.list("collections/0000000000000001").expect("a folder");
    assert_eq!(files(&engine), ["00000001.data", "MANIFEST"]);
    engine.checkpoint();
    assert_eq!(files(&engine), ["00000001.data", "00000003.data", "MANIFEST"]);
    upsert(&engine, 15);
    engine.checkpoint();
    let before = engine.digest("g");
    engine.restart();
    assert_eq!(engine.digest("g"), before);
}

/// The directory of a collection, and the one above it, must be durable before the log is cut.
#[test]
fn a_first_checkpoint_survives_a_power_cut_whole() {
    for seed in 0..30 {
        let thresholds = Thresholds { log_segment_bytes: 1, ..Thresholds::default() };
        let mut engine = TestEngine::with(SimDisk::new(), seed, thresholds).expect("an empty disk opens");
        engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
        engine.ok("upsert_points", "c", points(0..20));
        engine.checkpoint();
        let before = engine.digest("c");
        engine.power_cut(seed);
        assert_eq!(engine.digest("c"), before);
    }
}

/// A process must not use files that a killed process left in the page cache only, before it has synced them.
#[test]
fn a_manifest_that_only_the_cache_knows_is_made_durable_before_the_log_is_cut() {
    for seed in 0..30 {
        for calls in 1..50 {
            let thresholds = Thresholds { log_segment_bytes: 1, ..Thresholds::default() };
            let mut engine = TestEngine::with(SimDisk::new(), seed, thresholds).expect("an empty disk opens");
            engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
            engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
            engine.ok("upsert_points", "c", points(0..3));
            engine.checkpoint();
            engine.ok("upsert_points", "c", points(3..5));
            engine.ok("create_collection", "e", json!({"vectors": {"size": 2, "distance": "Dot"}}));
            let before = engine.digest("c");
            engine.disk.crash_after(calls);
            engine.checkpoint();
            engine.restart();
            // The segment that grows is never cut: a later record makes the last one of `c` that of an old segment.
            engine.ok("upsert_points", "d", points(0..1));
            engine.checkpoint();
            engine.power_cut(seed);
            assert_eq!(engine.digest("c"), before, "seed {seed}, {calls} calls");
            assert_eq!(engine.ok("count", "e", json!({})), json!({"count": 0}));
        }
    }
}

/// A manifest whose renaming succeeded and whose sync failed may be what the next start reads: its files must stay.
#[test]
fn the_files_of_a_manifest_that_may_be_in_force_are_kept() {
    for failing in 1..30 {
        for calls in 0..12 {
            let mut engine = engine_with_points(1);
            engine.checkpoint();
            engine.ok("upsert_points", "c", points(10..40));
            let before = engine.digest("c");
            engine.disk.fail_nth(failing, Fault::FsyncFails);
            engine.checkpoint();
            engine.disk.clear_faults();
            engine.ok("upsert_points", "c", points(39..40));
            engine.disk.crash_after(calls);
            engine.checkpoint();
            engine.restart();
            assert_eq!(engine.digest("c"), before, "the {failing}th sync failed, then {calls} calls");
        }
    }
}

/// A failed write resets the head to the view, also when a checkpoint has moved the head's payloads meanwhile.
#[test]
fn payloads_that_were_copied_forward_are_found_after_a_failed_write() {
    let mut engine = engine_with_points(2);
    engine.checkpoint();
    // Less than half of the first file is still in use.
    engine.ok("upsert_points", "c", points(0..16));
    engine.checkpoint();
    engine.disk.fail_from(1, Fault::Enospc);
    assert_eq!(engine.refused("delete_points", "c", json!({"points": [19]})).0, "storage_full");
    engine.disk.clear_faults();
    for id in 0..3 {
        engine.ok("set_payload", "c", json!({"payload": {"again": true}, "points": [id]}));
        engine.checkpoint();
        let before = engine.digest("c");
        engine.restart();
        assert_eq!(engine.digest("c"), before);
    }
}

#[test]
fn a_generation_of_the_store_of_authentication_is_noted_whole_or_not_at_all_c3_8() {
    let engine = engine_with_points(3);
    engine.engine().note_auth_generation(3).expect("a disk that works");
    engine.ok("upsert_points", "c", points(20..30));
    let before = engine.digest("c");
    for calls in 0.. {
        let mut cut = engine.duplicate();
        cut.cut(calls);
        cut.open().expect("it opens");
        assert_eq!(cut.engine().auth_generation(), 3, "what was noted survives a power cut");
        let first = cut.disk.calls();
        cut.disk.crash_after(calls);
        let noted = cut.engine().note_auth_generation(4);
        let is_over = cut.disk.calls() - first <= calls;
        cut.power_cut(calls);
        let found = cut.engine().auth_generation();
        assert!(found == 4 || (found == 3 && noted.is_err()), "{found} after {calls} calls, {noted:?}");
        assert_eq!(cut.digest("c"), before, "after {calls} calls");
        // An earlier one changes nothing, and the log is cut as before.
        cut.engine().note_auth_generation(2).expect("a disk that works");
        cut.checkpoint();
        cut.power_cut(calls);
        assert_eq!((cut.engine().auth_generation(), cut.digest("c")), (found, before.clone()));
        if is_over {
            assert_eq!(found, 4, "all of it was written");
            break;
        }
    }
}

#[test]
fn a_generation_that_a_full_disk_refuses_is_noted_when_there_is_room_c3_8() {
    let mut engine = engine_with_points(4);
    engine.checkpoint();
    for fault in [Fault::Enospc, Fault::FsyncFails] {
        let generation = engine.engine().auth_generation() + 1;
        engine.disk.fail_from(1, fault);
        engine.engine().note_auth_generation(generation).expect_err("the disk refuses it");
        engine.disk.clear_faults();
        engine.work(GraphPolicy::WhenGrown);
        engine.power_cut(5);
        assert_eq!(engine.engine().auth_generation(), generation);
    }
}

/// What a start has read of the catalog, it answers for: nothing else would write the same generation again.
#[test]
fn a_catalog_that_only_the_cache_knows_is_made_durable_before_it_is_relied_on_c3_8() {
    let engine = engine_with_points(6);
    engine.engine().note_auth_generation(3).expect("a disk that works");
    let mut taken = 0;
    for calls in 0.. {
        let mut killed = engine.duplicate();
        killed.cut(0);
        killed.open().expect("it opens");
        let first = killed.disk.calls();
        killed.disk.crash_after(calls);
        let noted = killed.engine().note_auth_generation(4);
        let is_over = killed.disk.calls() - first <= calls;
        killed.restart();
        let found = killed.engine().auth_generation();
        assert!(found == 4 || noted.is_err(), "after {calls} calls");
        taken += u32::from(found == 4 && noted.is_err());
        for seed in 0..8 {
            let mut cut = killed.duplicate();
            cut.power_cut(seed);
            assert_eq!(cut.engine().auth_generation(), found, "after {calls} calls, seed {seed}");
        }
        if is_over {
            break;
        }
    }
    assert!(taken > 0, "some kill must leave a catalog that was not answered for");
}

#[test]
fn a_sync_is_there_whole_or_not_at_all_whenever_the_power_goes_c20() {
    let point = |id: u64, hash: u64| {
        let text = "x".repeat(100);
        json!({"id": id, "vector": [id, 1.0], "payload": {"source": "a", "hash": hash, "text": text}})
    };
    let mut prepared = TestEngine::new(3);
    prepared.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    // What it deletes takes several sectors of the log, so that a cut may come between that and what it writes.
    prepared.ok("upsert_points", "c", json!({"points": (0..400).map(|id| point(id, 1)).collect::<Vec<_>>()}));
    let source: Vec<Value> = (390..410).map(|id| point(id, 2)).collect();
    let scope = json!({"must": {"key": "source", "match": {"value": "a"}}});
    let sync = json!({"scope": scope, "hash_key": "hash", "points": source});
    let before = prepared.digest("c");
    let mut whole = prepared.duplicate();
    prepared.kill();
    whole.open().expect("the prepared disk opens");
    whole.ok("sync_points", "c", sync.clone());
    let after = whole.digest("c");
    let mut seen = [0, 0];
    for seed in 0..200 {
        let mut engine = prepared.duplicate();
        engine.open().expect("the prepared disk opens");
        engine.disk.crash_after(seed % 4);
        let answer = engine.call("sync_points", "c", sync.clone());
        engine.power_cut(seed);
        let found = engine.digest("c");
        assert!(found == before || found == after, "half of a sync, seed {seed}");
        assert!(answer.is_err() || found == after, "a sync that was acknowledged is lost, seed {seed}");
        seen[usize::from(found == after)] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "both outcomes are met: {seen:?}");
}
