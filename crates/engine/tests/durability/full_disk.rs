//! A disk without room (C1.5): what grows is refused, what shrinks goes on, and room is used as soon as it is there.

use crate::common::TestEngine;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::limits::Thresholds;
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

/// Upserts until the disk is full, with background work between; answers how many requests were acknowledged.
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
            // Whatever the background work could gather is used up too.
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
fn room_that_somebody_else_makes_is_used_without_a_restart_c1_5() {
    let disk = SimDisk::new();
    disk.set_capacity(Some(2 << 20));
    let engine = TestEngine::with(disk.clone(), 1, Thresholds::default()).expect("an empty disk opens");
    create(&engine, "c");
    let accepted = fill(&engine, "c", 0);
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
