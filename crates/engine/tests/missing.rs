//! Missing and misplaced files and folders. Server, check and repair all report them, and none takes them for empty
//! collections.

mod common;

use common::TestEngine;
use kithdb_engine::collection::{GraphPolicy, OpeningOptions};
use kithdb_engine::integrity::{RepairReport, Severity, check, repair};
use kithdb_engine::limits::{ResidencyThresholds, Thresholds};
use kithdb_engine::storage::{SimDisk, Storage};
use kithdb_engine::types::Lsn;
use serde_json::{Value, json};
use std::sync::Arc;

/// Segments of a few records, of which the log has room for a few.
const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 32 << 10,
    log_budget_bytes: 16 << 10,
    log_segment_bytes: 4 << 10,
    graph_step_rows: 1_000,
    vacuum_rows: 1_000,
    order_rows: 1_000,
    row_chunk_bytes: 4 << 10,
    auto_index_points: 10_000,
    residency: ResidencyThresholds::USUAL,
};
const OPTIONS: OpeningOptions = OpeningOptions { threads: 1, row_chunk_bytes: THRESHOLDS.row_chunk_bytes };

fn open(disk: &SimDisk) -> Result<TestEngine, String> {
    TestEngine::with(disk.clone(), 1, THRESHOLDS)
}

fn create(engine: &TestEngine, name: &str) {
    engine.ok("create_collection", name, json!({"vectors": {"size": 8, "distance": "Euclid"}}));
}

fn upsert(engine: &TestEngine, name: &str, ids: std::ops::Range<u64>) {
    let point = |id| json!({"id": id, "vector": [id, 1, 2, 3, 4, 5, 6, 7], "payload": {"n": id}});
    engine.ok("upsert_points", name, json!({"points": ids.map(point).collect::<Vec<_>>()}));
}

/// `full` with points in a checkpoint and some behind it, `idle` that was never written, and `young` in the log only,
/// when the log has been cut behind the creation of the first two. The server was killed.
fn cut() -> SimDisk {
    let mut engine = open(&SimDisk::new()).expect("an empty disk opens");
    create(&engine, "full");
    create(&engine, "idle");
    for turn in 0..40 {
        upsert(&engine, "full", turn * 20..turn * 20 + 20);
        engine.work(GraphPolicy::WhenGrown);
    }
    assert!(engine.engine().catalog().shared().log.oldest_lsn() > Lsn::new(2), "it was cut");
    create(&engine, "young");
    upsert(&engine, "young", 0..5);
    upsert(&engine, "full", 0..5);
    engine.kill();
    engine.disk.clone()
}

fn folder(number: u64) -> String {
    format!("collections/{number:016x}")
}

/// Name and fault of each quarantined collection of a server over the disk.
fn faults(engine: &TestEngine) -> Vec<(String, String)> {
    engine.engine().status().faults
}

/// The worst severity that a check finds, and name and points of each collection.
fn checked(disk: &SimDisk) -> (Option<Severity>, Vec<(String, Option<u64>)>) {
    let report = check(Arc::new(disk.clone()), None, OPTIONS).expect("it can be checked");
    let worst = report.findings.listed.iter().map(|finding| finding.severity).max();
    let collections = report.collections.into_iter();
    (worst, collections.map(|found| (found.name.unwrap_or_default(), found.points)).collect())
}

fn planned(disk: &SimDisk) -> Result<RepairReport, String> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    repair(&storage, "stamp", true, OPTIONS).map_err(|error| error.to_string())
}

fn repaired(disk: &SimDisk) -> RepairReport {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    repair(&storage, "stamp", false, OPTIONS).expect("it can be repaired")
}

#[test]
fn a_collection_that_was_never_written_outlives_the_log_of_its_creation() {
    let disk = cut();
    assert_eq!(
        checked(&disk).1,
        [("full".to_string(), Some(800)), ("idle".to_string(), Some(0)), ("young".to_string(), Some(5))]
    );
    let engine = open(&disk).expect("it opens");
    assert_eq!(faults(&engine), []);
    assert_eq!(engine.ok("count", "idle", json!({})), json!({"count": 0}));
}

#[test]
fn a_manifest_or_a_folder_that_is_gone_is_noticed_by_all_c10_2() {
    for (what, number, name) in [("manifest", 1, "full"), ("folder", 1, "full"), ("folder", 2, "idle")] {
        let disk = cut();
        match what {
            "manifest" => disk.remove(&format!("{}/MANIFEST", folder(number))).expect("it is there"),
            _ => disk.remove_dir_all(&folder(number)).expect("it is there"),
        }
        let (worst, collections) = checked(&disk);
        assert_eq!(worst, Some(Severity::Damage), "{what} of {name}");
        assert!(collections.contains(&(name.to_string(), None)), "{collections:?}");
        assert!(collections.contains(&("young".to_string(), Some(5))), "{collections:?}");
        let plan = planned(&disk).expect("it can be planned");
        assert_eq!(plan.repaired.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), [name], "{what}");
        let mut engine = open(&disk).expect("it opens");
        for _ in 0..2 {
            let found = faults(&engine);
            assert_eq!(found.len(), 1, "{what} of {name}: {found:?}");
            assert_eq!(found[0].0, name);
            assert!(found[0].1.contains("the file MANIFEST is missing"), "{found:?}");
            assert_eq!(engine.refused("count", name, json!({})).0, "collection_fault");
            assert_eq!(engine.ok("count", "young", json!({})), json!({"count": 5}));
            engine.restart();
        }
        engine.ok("delete_collection", name, Value::Null);
        engine.restart();
        assert_eq!(faults(&engine), []);
    }
}

#[test]
fn a_log_that_is_gone_is_noticed_at_every_start_until_it_is_repaired() {
    let disk = cut();
    disk.remove_dir_all("log").expect("it is there");
    assert_eq!(checked(&disk).0, Some(Severity::Damage));
    let mut engine = open(&disk.clone());
    // The creation of the youngest is lost with it; its folder is not there yet, so nothing refers to it.
    for _ in 0..3 {
        let served = engine.as_mut().expect("it opens");
        let names: Vec<String> = faults(served).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["full", "idle"]);
        served.restart();
    }
    engine.expect("it opens").kill();
    let report = repaired(&disk);
    let [full, idle] = report.repaired.as_slice() else { panic!("{:?}", report.repaired) };
    // What its last checkpoint had.
    assert!(full.name == "full" && (600..=800).contains(&full.points), "{full:?}");
    assert_eq!((idle.name.as_str(), idle.points), ("idle", 0));
    assert_eq!(checked(&disk).0.unwrap_or(Severity::Note), Severity::Note);
    let mut engine = open(&disk).expect("it opens");
    assert_eq!(faults(&engine), []);
    upsert(&engine, "idle", 0..5);
    engine.kill();
    engine.open().expect("it opens");
    assert_eq!(engine.ok("count", "idle", json!({})), json!({"count": 5}));
}

#[test]
fn a_segment_in_the_place_of_the_last_one_loses_what_that_had() {
    let disk = cut();
    let mut segments: Vec<String> = disk.list("log").expect("a folder");
    segments.retain(|name| name.ends_with(".log"));
    let [first, .., last] = segments.as_slice() else { panic!("{segments:?}") };
    let bytes = disk.read(&format!("log/{first}")).expect("a segment");
    disk.remove(&format!("log/{last}")).expect("it is there");
    let mut copy = disk.create(&format!("log/{last}")).expect("a file");
    copy.append(&bytes).and_then(|()| copy.sync()).expect("room");
    assert_eq!(checked(&disk).0, Some(Severity::Damage));
    let engine = open(&disk);
    let names: Vec<String> =
        engine.map(|engine| faults(&engine)).unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"full".to_string()), "{names:?}");
}

#[test]
fn folders_that_no_list_has_stop_a_start_only_where_they_hold_something() {
    let disk = cut();
    let orphan = folder(9);
    disk.create_dir_all(&orphan).expect("a folder");
    assert_eq!(checked(&disk).0.unwrap_or(Severity::Note), Severity::Note);
    open(&disk).expect("an empty one is nothing").kill();
    disk.create(&format!("{orphan}/00000001.data")).and_then(|mut file| file.sync()).expect("a file");
    assert_eq!(checked(&disk).0, Some(Severity::Damage));
    let why = open(&disk).err().expect("what is not known is not served");
    assert!(why.contains(&orphan) && why.contains("move it out"), "{why}");
    assert!(!planned(&disk).expect("it can be planned").is_sound());
    disk.remove_dir_all(&orphan).expect("it is there");
    open(&disk).expect("as before");
}
