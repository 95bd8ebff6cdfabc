//! A full disk (C1.5): requests that grow the data are refused, requests that shrink it are served, and free space is
//! used as soon as there is some.

use crate::common::{Random, TestEngine};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::limits::{ResidencyThresholds, Thresholds};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};

const POINTS: u64 = 50;

fn create(engine: &TestEngine, name: &str) {
    engine.ok("create_collection", name, json!({"vectors": {"size": 64, "distance": "Dot"}}));
}

fn points(first: u64) -> Value {
    let point = |id: u64| {
        let vector: Vec<u64> = (0..64).map(|at| (id + at) % 17).collect();
        json!({"id": id, "vector": vector, "payload": {"n": id}})
    };
    json!({"points": (first..first + POINTS).map(point).collect::<Vec<_>>()})
}

/// Upserts until the disk is full, with background work between; returns how many requests were acknowledged.
fn fill(engine: &TestEngine, name: &str, first: u64) -> u64 {
    let mut accepted = 0;
    loop {
        match engine.call("upsert_points", name, points(first + accepted * POINTS)) {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert_eq!(error.code(), "storage_full");
                return accepted;
            }
        }
        if accepted % 5 == 0 {
            engine.work(GraphPolicy::WhenGrown);
        }
        assert!(accepted < 10_000, "the disk never fills");
    }
}

fn count(engine: &TestEngine, name: &str) -> u64 {
    engine.ok("count", name, json!({}))["count"].as_u64().expect("a count")
}

#[test]
fn deletions_go_on_when_the_disk_is_full_and_make_room_for_writes_c1_5() {
    for seed in 0..4 {
        let disk = SimDisk::new();
        disk.set_capacity(Some(3 << 20));
        let mut engine =
            TestEngine::with(disk.clone(), seed, Thresholds::default()).expect("an empty disk opens");
        create(&engine, "kept");
        engine.ok("upsert_points", "kept", points(0));
        for cycle in 0..6 {
            create(&engine, "passing");
            let mut accepted = fill(&engine, "passing", 0);
            engine.work(GraphPolicy::WhenGrown);
            // Space that the background work could free is used up too.
            accepted += fill(&engine, "passing", accepted * POINTS);
            assert!(accepted > 0);
            let create = json!({"vectors": {"size": 2, "distance": "Dot"}});
            assert_eq!(engine.refused("create_collection", "new", create).0, "storage_full");
            assert_eq!(
                engine.refused("set_payload", "kept", json!({"payload": {"a": 1}, "points": [1]})).0,
                "storage_full"
            );
            // Every kind of shrinking, and reading.
            engine.ok("delete_points", "passing", json!({"points": [0, 1, 2]}));
            engine.ok("clear_payload", "passing", json!({"points": [3]}));
            engine.ok(
                "delete_points",
                "passing",
                json!({"filter": {"must": [{"key": "n", "range": {"gte": 10, "lt": 20}}]}}),
            );
            assert_eq!(count(&engine, "passing"), accepted * POINTS - 13);
            assert_eq!(count(&engine, "kept"), POINTS + cycle);
            if cycle % 2 == 1 {
                engine.restart();
                assert_eq!(count(&engine, "passing"), accepted * POINTS - 13);
            }
            engine.ok("delete_collection", "passing", json!(null));
            engine.work(GraphPolicy::WhenGrown);
            engine.work(GraphPolicy::WhenGrown);
            let one = json!({"points": [{"id": 1000 + cycle, "vector": vec![1; 64], "payload": {"n": 1}}]});
            engine.ok("upsert_points", "kept", one);
        }
    }
}

#[test]
fn room_that_another_process_makes_is_used_without_a_restart_c1_5() {
    let disk = SimDisk::new();
    disk.set_capacity(Some(2 << 20));
    let engine = TestEngine::with(disk.clone(), 1, Thresholds::default()).expect("an empty disk opens");
    create(&engine, "c");
    let mut accepted = 0;
    loop {
        let more = fill(&engine, "c", accepted * POINTS);
        accepted += more;
        if more == 0 {
            break;
        }
        // A round of background work may find room for more.
        engine.work(GraphPolicy::WhenGrown);
    }
    assert!(engine.engine().catalog().shared().reserve.is_spent());
    assert_eq!(engine.refused("upsert_points", "c", points(0)).0, "storage_full");
    disk.set_capacity(Some(8 << 20));
    engine.ok("upsert_points", "c", points(accepted * POINTS));
    engine.work(GraphPolicy::WhenGrown);
    assert!(!engine.engine().catalog().shared().reserve.is_spent());
    assert!(disk.exists("reserve").expect("the disk works"));
    assert_eq!(count(&engine, "c"), (accepted + 1) * POINTS);
}

#[test]
fn a_start_on_a_full_disk_serves_what_was_acknowledged() {
    for seed in 0..20 {
        let disk = SimDisk::new();
        disk.set_capacity(Some(2 << 20));
        let mut engine =
            TestEngine::with(disk.clone(), seed, Thresholds::default()).expect("an empty disk opens");
        create(&engine, "c");
        let accepted = fill(&engine, "c", 0);
        let before = count(&engine, "c");
        assert_eq!(before, accepted * POINTS);
        if seed % 2 == 0 {
            // Another process takes the rest.
            let free = disk.free_bytes().expect("a disk with a capacity knows");
            disk.set_capacity(Some((2 << 20) - free));
        }
        // Not a power cut: on the simulated disk that brings removed files back, which a real one has given to others.
        engine.restart();
        assert_eq!(count(&engine, "c"), before);
    }
}

#[test]
fn while_little_of_the_disk_is_free_the_room_of_deleted_points_comes_back_by_itself() {
    let disk = SimDisk::new();
    disk.set_capacity(Some(12 << 20));
    let engine = TestEngine::with(disk.clone(), 1, Thresholds::default()).expect("an empty disk opens");
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    for first in (0..2_000).step_by(500) {
        let point = |id: u64| json!({"id": id, "vector": [1, 2], "payload": {"text": "text ".repeat(200)}});
        let points: Vec<Value> = (first..first + 500).map(point).collect();
        engine.ok("upsert_points", "c", json!({"points": points}));
    }
    engine.checkpoint();
    // Measures the free space.
    engine.work(GraphPolicy::Never);
    let collection = engine.engine().catalog().collections().remove(0);
    assert!(!collection.has_space_to_free(), "all is in use");
    engine.ok("delete_points", "c", json!({"points": (0..1_800).collect::<Vec<u64>>()}));
    assert!(collection.has_space_to_free());
    let before = disk.free_bytes().expect("a disk with a capacity knows");
    engine.work(GraphPolicy::Never);
    let free = disk.free_bytes().expect("a disk with a capacity knows");
    assert!(free > before + (1 << 20), "{free} bytes are free, {before} were");
    assert!(!engine.engine().catalog().shared().reserve.is_spent(), "the disk was never full");
    assert_eq!(count(&engine, "c"), 200);
}

/// Chunks and graphs of some hundred rows, as large collections have them on large disks.
const SHORT: Thresholds = Thresholds {
    checkpoint_bytes: 256 << 10,
    log_budget_bytes: 512 << 10,
    log_segment_bytes: 64 << 10,
    graph_step_rows: 200,
    vacuum_rows: 40,
    order_rows: 1_000,
    row_chunk_bytes: 32 << 10,
    auto_index_points: 10_000,
    residency: ResidencyThresholds::USUAL,
};

/// An indexed collection that has filled a disk; returns how many points it has.
fn filled(engine: &TestEngine) -> u64 {
    let hnsw = json!({"m": 8, "ef_construct": 32, "full_scan_threshold": 10});
    let vectors = json!({"size": 64, "distance": "Dot"});
    engine.ok("create_collection", "c", json!({"vectors": vectors, "hnsw_config": hnsw}));
    let mut points = 0;
    let mut refused = 0;
    while refused < 3 {
        match engine.call("upsert_points", "c", long_points(points)) {
            Ok(_) => (points, refused) = (points + POINTS, 0),
            Err(error) => {
                assert_eq!(error.code(), "storage_full");
                refused += 1;
            }
        }
        if refused > 0 || points % 250 == 0 {
            engine.work(GraphPolicy::WhenGrown);
        }
        assert!(points < 100_000, "the disk never fills");
    }
    points
}

fn long_points(first: u64) -> Value {
    let mut random = Random(first);
    let mut point = |id: u64| {
        let payload = json!({"n": id, "text": "text ".repeat(60)});
        json!({"id": id, "vector": random.vector(64), "payload": payload})
    };
    json!({"points": (first..first + POINTS).map(&mut point).collect::<Vec<_>>()})
}

#[test]
fn deleting_the_oldest_points_of_an_indexed_collection_makes_room_for_writes_c1_5() {
    deleting_makes_room(|id, points| id < points * 6 / 10, 1 << 19);
}

#[test]
fn deleting_points_of_every_file_makes_room_for_writes_c1_5() {
    deleting_makes_room(|id, _| id % 5 < 3, 0);
}

/// Deletes points of a full disk, by their id and how many there are, until writes go on, and asks for so many bytes
/// that are free then and were not before.
fn deleting_makes_room(is_dead: fn(u64, u64) -> bool, least: u64) {
    for seed in 0..3 {
        let disk = SimDisk::new();
        disk.set_capacity(Some(4 << 20));
        let mut engine = TestEngine::with(disk.clone(), seed, SHORT).expect("an empty disk opens");
        let points = filled(&engine);
        let before = disk.free_bytes().expect("a disk with a capacity knows");
        let dead: Vec<u64> = (0..points).filter(|&id| is_dead(id, points)).collect();
        for ids in dead.chunks(500) {
            engine.ok("delete_points", "c", json!({"points": ids}));
        }
        let left = count(&engine, "c");
        assert!(left < points / 2);
        let is_spent = || engine.engine().catalog().shared().reserve.is_spent();
        let mut rounds = 0;
        while rounds < 6 || is_spent() && rounds < 30 {
            engine.work(GraphPolicy::WhenGrown);
            rounds += 1;
        }
        let free = disk.free_bytes().expect("a disk with a capacity knows");
        assert!(!is_spent(), "seed {seed}: {free} bytes are free, {before} were");
        assert!(free > before + least, "seed {seed}: {free} bytes are free, {before} were");
        // What is made for room alone comes to an end.
        let files = || disk.list("collections/0000000000000001").expect("a collection");
        for _ in 0..20 {
            engine.work(GraphPolicy::WhenGrown);
        }
        let settled = files();
        for _ in 0..3 {
            engine.work(GraphPolicy::WhenGrown);
        }
        assert_eq!(files(), settled, "seed {seed}");
        for first in 0..10 {
            engine.ok("upsert_points", "c", long_points(points + first * POINTS));
        }
        engine.work(GraphPolicy::WhenGrown);
        engine.restart();
        assert_eq!(count(&engine, "c"), left + 10 * POINTS);
        let vector = Random(points).vector(64);
        let found = engine.ok("search", "c", json!({"vector": vector, "limit": 3}));
        assert_eq!(found.as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn the_log_of_a_full_disk_fits_into_a_checkpoint_c1_5() {
    for seed in 0..4 {
        let disk = SimDisk::new();
        disk.set_capacity(Some(4 << 20));
        let engine = TestEngine::with(disk.clone(), seed, SHORT).expect("an empty disk opens");
        engine.ok("create_collection", "c", json!({"vectors": {"size": 64, "distance": "Dot"}}));
        let mut points = 0;
        while engine.call("upsert_points", "c", long_points(points)).is_ok() {
            assert!(
                !engine.engine().catalog().shared().reserve.is_spent(),
                "growth ends before the disk does"
            );
            points += POINTS;
            // No background round runs in time.
            assert!(points < 100_000, "the disk never fills");
        }
        for first in (0..points * 6 / 10).step_by(100) {
            let dead: Vec<u64> = (first..first + 100).collect();
            engine.ok("delete_points", "c", json!({"points": dead}));
        }
        for _ in 0..3 {
            engine.work(GraphPolicy::WhenGrown);
        }
        engine.ok("upsert_points", "c", long_points(points));
    }
}
