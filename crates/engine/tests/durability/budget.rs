//! What a start has to replay, and how long the log is, are bounded: by accounting, not by a clock.

use crate::common::{Random, TestEngine};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{run_housekeeping, shorten_idle_log};
use kithdb_engine::limits::{Limits, ResidencyThresholds, Thresholds};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 64 << 10,
    log_budget_bytes: 100 << 10,
    log_segment_bytes: 16 << 10,
    graph_step_rows: 1000,
    vacuum_rows: 1000,
    order_rows: 1000,
    row_chunk_bytes: 4 << 10,
    auto_index_points: 10_000,
    residency: ResidencyThresholds::USUAL,
};

pub fn create(engine: &TestEngine, name: &str) {
    engine.ok("create_collection", name, json!({"vectors": {"size": 8, "distance": "Dot"}}));
}

pub fn points(first: u64, count: u64) -> Value {
    let point =
        |id| json!({"id": id, "vector": [id, 1, 2, 3, 4, 5, 6, 7], "payload": {"text": "x".repeat(50)}});
    json!({"points": (first..first + count).map(point).collect::<Vec<_>>()})
}

/// Work that waits in the log, and bytes of the log.
fn backlog(engine: &TestEngine) -> (u64, u64) {
    let shared = engine.engine().catalog().shared();
    (shared.unsaved_work.load(Ordering::Relaxed) as u64, shared.log.size_bytes())
}

#[test]
fn after_each_background_round_replay_and_log_are_within_their_budgets() {
    for seed in 0..8 {
        let mut random = Random(seed);
        let mut engine = TestEngine::with(SimDisk::new(), seed, THRESHOLDS).expect("an empty disk opens");
        // One collection whose only record is the oldest of the log, and many that are each below their own threshold.
        create(&engine, "idle");
        engine.ok("upsert_points", "idle", points(0, 1));
        let names: Vec<String> = (0..12).map(|at| format!("c{at}")).collect();
        names.iter().for_each(|name| create(&engine, name));
        for turn in 0..60 {
            for _ in 0..3 {
                let name = &names[random.below(12) as usize];
                if random.chance(70) {
                    engine.ok("upsert_points", name, points(random.below(200), 1 + random.below(40)));
                } else {
                    // Few bytes, much work.
                    let ids: Vec<u64> = (0..random.below(200)).collect();
                    let body = json!({"payload": {"n": turn}, "filter": {"must": [{"has_id": ids}]}});
                    engine.ok("set_payload", name, body);
                }
            }
            engine.work(GraphPolicy::WhenGrown);
            let (work, log) = backlog(&engine);
            assert!(work <= THRESHOLDS.log_budget_bytes, "{work} bytes of replay wait");
            assert!(log <= THRESHOLDS.log_budget_bytes, "the log has {log} bytes");
            if turn % 20 == 19 {
                engine.restart();
                assert!(backlog(&engine).0 <= work, "a start finds what was counted, or less");
            }
        }
        assert_eq!(engine.ok("count", "idle", json!({})), json!({"count": 1}));
    }
}

/// Regression: the record of the creation kept the whole log, up to its budget, after the points were in a checkpoint.
#[test]
fn segments_are_cut_as_soon_as_a_checkpoint_has_their_points() {
    let thresholds = Thresholds { log_budget_bytes: 1 << 30, ..THRESHOLDS };
    let engine = TestEngine::with(SimDisk::new(), 1, thresholds).expect("an empty disk opens");
    create(&engine, "c");
    (0..40).for_each(|at| drop(engine.ok("upsert_points", "c", points(at * 10, 10))));
    let catalog = engine.engine().catalog();
    assert!(backlog(&engine).1 > 3 * thresholds.log_segment_bytes, "the log has finished segments");
    catalog.collections()[0].checkpoint(GraphPolicy::WhenGrown).expect("a sound disk");
    run_housekeeping(catalog);
    let (_, log) = backlog(&engine);
    assert!(log <= thresholds.log_segment_bytes, "{log} bytes are left");
}

#[test]
fn when_writes_have_ended_the_log_begins_anew_and_the_reserve_gets_short() {
    let mut engine = TestEngine::with(SimDisk::new(), 1, Thresholds::default()).expect("an empty disk opens");
    engine.disk.set_capacity(Some(1 << 34));
    let names = ["a", "b", "c"];
    names.iter().for_each(|name| create(&engine, name));
    for at in 0..2_000 {
        engine.ok("upsert_points", names[at % 3], points(at as u64 % 50 * 100, 100));
    }
    run_housekeeping(engine.engine().catalog());
    let reserve = |engine: &TestEngine| engine.disk.read("reserve").map_or(0, |file| file.len());
    let (work, log) = backlog(&engine);
    assert!(work > 0 && log > 16 << 20, "{work} bytes wait in a log of {log}");
    assert!(reserve(&engine) as u64 >= log / 2);
    // Each call has a bounded time.
    (0..100).for_each(|_| shorten_idle_log(engine.engine().catalog()));
    let (work, log) = backlog(&engine);
    assert!(work == 0 && log < 4096, "{work} bytes wait in a log of {log}");
    assert_eq!(reserve(&engine), 4 << 20);
    engine.restart();
    assert_eq!(engine.ok("count", "b", json!({})), json!({"count": 5_000}));
}

#[test]
fn between_two_background_rounds_growth_is_refused_at_a_limit_and_deletions_are_not() {
    let limits = Limits { max_unsaved_work: 200 << 10, ..Limits::default() };
    let engine = TestEngine::with_limits(limits);
    create(&engine, "c");
    let mut accepted = 0;
    let refused = loop {
        match engine.call("upsert_points", "c", points(accepted * 10, 10)) {
            Ok(_) => accepted += 1,
            Err(error) => break error.code(),
        }
    };
    assert_eq!(refused, "overloaded");
    let (work, _) = backlog(&engine);
    assert!(work > 200 << 10 && work < 210 << 10, "{work}: the limit, and the request that met it");
    engine.ok("delete_points", "c", json!({"points": [1, 2, 3]}));
    engine.checkpoint();
    assert_eq!(backlog(&engine).0, 0);
    engine.ok("upsert_points", "c", points(1, 3));
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": accepted * 10}));
    engine.ok("delete_collection", "c", json!(null));
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(backlog(&engine).0, 0, "a deleted collection leaves nothing to replay");
}

/// Regression: work that was published between reading its count and reading the view stayed counted after the
/// checkpoint that contained it.
#[test]
fn a_checkpoint_beside_a_write_takes_off_all_the_work_that_it_has() {
    let engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    create(&engine, "c");
    let collection = engine.engine().catalog().collections().remove(0);
    let (met, at_log) = mpsc::channel();
    let (release, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    engine.disk.interleave(Some(Arc::new(move |place: &str| {
        if place.starts_with("log/") && met.send(()).is_ok() {
            // Blocks until the gate is dropped. After that it returns at once.
            let _ = gate.lock().unwrap().recv();
        }
    })));
    thread::scope(|scope| {
        scope.spawn(|| engine.ok("upsert_points", "c", points(0, 10)));
        at_log.recv().expect("a write of the log");
        let checkpoint = scope.spawn(|| collection.checkpoint(GraphPolicy::WhenGrown));
        // It runs until it needs what the write holds.
        thread::sleep(Duration::from_millis(200));
        drop(release);
        checkpoint.join().expect("no panic").expect("a sound disk");
    });
    engine.disk.interleave(None);
    collection.checkpoint(GraphPolicy::WhenGrown).expect("a sound disk");
    assert_eq!(backlog(&engine).0, 0, "everything is in the checkpoint");
}
