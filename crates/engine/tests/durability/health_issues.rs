//! The health issues that a running engine reports.

use crate::budget::{create, points};
use crate::common::TestEngine;
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{HealthIssueKind, Options};
use kithdb_engine::error::Error;
use kithdb_engine::limits::{Limits, Thresholds};
use kithdb_engine::storage::{Call, Fault, Storage};
use serde_json::json;

/// An engine that checkpoints whatever has 4 KiB to replay, and lets 64 KiB of all wait.
fn engine() -> TestEngine {
    let thresholds =
        Thresholds { checkpoint_bytes: 4 << 10, log_budget_bytes: 16 << 10, ..Thresholds::default() };
    let limits = Limits { max_unsaved_work: 64 << 10, ..Limits::default() };
    let options = Options { mode: Mode::Inline { seed: 1 }, thresholds, limits, ..Options::default() };
    TestEngine::with_options(options)
}

/// Kind, collection and sentence of each health issue.
fn reported(engine: &TestEngine) -> Vec<(HealthIssueKind, Option<String>, String)> {
    let issues = engine.engine().health_issues();
    issues.into_iter().map(|issue| (issue.kind, issue.collection, issue.what)).collect()
}

#[test]
fn a_collection_that_cannot_be_checkpointed_says_so_and_leaves_the_log_to_the_others() {
    let mut engine = engine();
    for name in ["hit", "spared"] {
        create(&engine, name);
    }
    assert_eq!(reported(&engine), []);
    // Where the folder of the first collection is to be, the disk has something else.
    let in_the_way = "collections/0000000000000001";
    engine.disk.create_dir_all("collections").expect("a folder");
    engine.disk.create(in_the_way).expect("a file");
    let mut refused = None;
    for turn in 0..60 {
        if refused.is_none() {
            refused = engine.call("upsert_points", "hit", points(20 * turn, 20)).err();
        }
        engine.ok("upsert_points", "spared", points(20 * turn, 20));
        engine.work(GraphPolicy::WhenGrown);
    }
    let Some(Error::Overloaded(why)) = refused else { panic!("{refused:?}") };
    assert_eq!(
        why,
        "the log waits for a checkpoint of this collection, which fails: the server's log says why"
    );
    let issues = reported(&engine);
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert_eq!((issues[0].0, issues[0].1.as_deref()), (HealthIssueKind::Checkpoint, Some("hit")));
    assert!(issues[0].2.contains(in_the_way), "{issues:?}");
    assert!(
        engine.engine().catalog().collections()[1].unsaved_work() < 8 << 10,
        "the others are checkpointed"
    );
    engine.ok("delete_points", "hit", json!({"points": [1]}));
    engine.ok("search", "hit", json!({"vector": vec![1.0; 8], "limit": 1}));
    // Without a restart.
    engine.disk.remove(in_the_way).expect("the file");
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!(reported(&engine), []);
    engine.ok("upsert_points", "hit", points(2000, 20));
    let counts = |engine: &TestEngine| ["hit", "spared"].map(|name| engine.ok("count", name, json!({})));
    let before = counts(&engine);
    engine.restart();
    assert_eq!(counts(&engine), before);
}

#[test]
fn files_that_cannot_be_removed_are_reported_and_tried_again() {
    let engine = engine();
    create(&engine, "gone");
    engine.ok("upsert_points", "gone", points(0, 20));
    engine.work(GraphPolicy::Always);
    let is_there = || engine.disk.exists("collections/0000000000000001").expect("the disk answers");
    assert!(is_there());
    engine.ok("delete_collection", "gone", json!(null));
    engine.disk.fail_nth_of(Call::Remove, 1, Fault::Eio);
    engine.work(GraphPolicy::WhenGrown);
    let issues = reported(&engine);
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert_eq!((issues[0].0, issues[0].1.as_deref()), (HealthIssueKind::Removal, Some("gone")));
    assert!(is_there());
    engine.work(GraphPolicy::WhenGrown);
    assert_eq!((reported(&engine), is_there()), (Vec::new(), false));
}

#[test]
fn a_full_disk_and_a_log_without_syncs_are_reported() {
    let mut engine = TestEngine::new(1);
    engine.disk.set_capacity(Some(4 << 20));
    create(&engine, "c");
    assert!((0..5000).any(|turn| engine.call("upsert_points", "c", points(20 * turn, 20)).is_err()));
    let kinds = |engine: &TestEngine| reported(engine).into_iter().map(|(kind, ..)| kind).collect::<Vec<_>>();
    assert_eq!(kinds(&engine)[..1], [HealthIssueKind::DiskFull]);
    engine.disk.set_capacity(None);
    assert_eq!(kinds(&engine), []);
    engine.disk.fail_nth_of(Call::Sync, 1, Fault::FsyncFails);
    assert!(engine.call("upsert_points", "c", points(0, 20)).is_err());
    assert_eq!(kinds(&engine), [HealthIssueKind::Log]);
    engine.restart();
    assert_eq!(kinds(&engine), []);
}
