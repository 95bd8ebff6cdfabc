//! Buffers that the system refuses: the request is answered with that, nothing of it stays, and everything else goes on.

mod common;

use common::TestEngine;
use kithdb_engine::refuse_from;
use kithdb_engine::storage::SimDisk;
use kithdb_engine::types::Lsn;
use kithdb_engine::wal::{Log, LogError, LogOptions};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// The switch is one of the process.
static SWITCH: Mutex<()> = Mutex::new(());

/// Runs work while allocations of so many bytes and more are refused.
fn refusing<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    refuse_from(bytes);
    let done = work();
    refuse_from(usize::MAX);
    done
}

const POINTS: u64 = 400;

fn filled() -> TestEngine {
    let engine = TestEngine::new(1);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 4, "distance": "Dot"}}));
    let point = |id: u64| json!({"id": id, "vector": [id, 1, 2, 3], "payload": {"text": "x".repeat(1000)}});
    engine.ok("upsert_points", "c", json!({"points": (0..POINTS).map(point).collect::<Vec<_>>()}));
    engine
}

#[test]
fn an_answer_for_which_there_is_no_memory_is_refused_and_the_next_one_is_not_c1_5() {
    let _switch = SWITCH.lock().unwrap_or_else(PoisonError::into_inner);
    let engine = filled();
    let reads = [
        ("scroll", json!({"limit": POINTS, "with_payload": true})),
        ("search", json!({"vector": [1, 2, 3, 4], "limit": POINTS, "with_payload": true})),
        ("retrieve_points", json!({"ids": (0..POINTS).collect::<Vec<_>>(), "with_payload": true})),
        ("facet", json!({"key": "text", "limit": 10})),
    ];
    engine.ok("create_field_index", "c", json!({"field_name": "text", "field_schema": "keyword"}));
    engine.build_indexes();
    refusing(100_000, || {
        for (operation, body) in &reads[..3] {
            assert_eq!(engine.refused(operation, "c", body.clone()).0, "memory_limit", "{operation}");
        }
        engine.ok("scroll", "c", json!({"limit": 10, "with_payload": true}));
    });
    for (operation, body) in reads {
        engine.ok(operation, "c", body);
    }
}

#[test]
fn a_write_for_which_there_is_no_memory_leaves_nothing_c1_5_c1_7() {
    let _switch = SWITCH.lock().unwrap_or_else(PoisonError::into_inner);
    let engine = filled();
    let before = engine.digest("c");
    let long = |id: u64| json!({"id": id, "vector": [1, 1, 1, 1], "payload": {"text": "y".repeat(300_000)}});
    let many: Vec<Value> = (0..200)
        .map(|id| json!({"id": id, "vector": [7, 7, 7, 7], "payload": {"text": "z".repeat(1000)}}))
        .collect();
    refusing(100_000, || {
        for points in [json!([long(1000)]), json!(many)] {
            let (code, _) = engine.refused("upsert_points", "c", json!({"points": points}));
            assert_eq!(code, "memory_limit");
        }
        let ids: Vec<u64> = (0..POINTS).collect();
        engine.ok("set_payload", "c", json!({"payload": {"text": "new"}, "points": ids}));
    });
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": POINTS}));
    assert_ne!(engine.digest("c"), before, "the small write is there");
    engine.ok("upsert_points", "c", json!({"points": [long(1000)]}));
    assert_eq!(engine.ok("count", "c", json!({})), json!({"count": POINTS + 1}));
}

#[test]
fn records_for_which_there_is_no_memory_are_not_in_the_log_and_it_goes_on() {
    let _switch = SWITCH.lock().unwrap_or_else(PoisonError::into_inner);
    let disk = SimDisk::new();
    let open = || {
        let options = LogOptions { entropy: Some(1), ..LogOptions::default() };
        let mut bodies = 0;
        let (log, _) =
            Log::open(Arc::new(disk.clone()), 1, options, Lsn::NONE, &mut |_| bodies += 1).expect("a log");
        (log, bodies)
    };
    let (mut log, _) = open();
    let append = |log: &mut Log| log.append(7, 1, vec![1; 60_000]).expect("a record");
    let first = append(&mut log);
    refusing(100_000, || {
        append(&mut log);
        assert_eq!(log.flush(), Err(LogError::NoMemory));
        assert_eq!(append(&mut log), first, "none was written");
        assert_eq!(log.flush(), Ok(first));
    });
    append(&mut log);
    append(&mut log);
    log.flush().expect("there is memory again");
    drop(log);
    assert_eq!(open().1, 3);
}
