//! Segments of the log that are gone, with and without the mark that distinguishes them from those that were cut.

use crate::common::TestEngine;
use crate::{THRESHOLDS, upsert};
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::integrity::{CheckReport, check, repair};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::json;
use std::sync::Arc;

const OPTIONS: OpeningOptions = OpeningOptions { threads: 1, row_chunk_bytes: THRESHOLDS.row_chunk_bytes };
const MARKS: [&str; 2] = ["log/cut", "catalog/cut"];
/// Which marks are damaged.
const DAMAGED_MARKS: [&[&str]; 4] = [&[], &MARKS, &["log/cut"], &["catalog/cut"]];

fn create(engine: &TestEngine, name: &str) {
    engine.ok("create_collection", name, json!({"vectors": {"size": 4, "distance": "Euclid"}}));
}

fn points(engine: &TestEngine, name: &str) -> u64 {
    engine.ok("count", name, json!({}))["count"].as_u64().expect("a number")
}

fn segments(disk: &SimDisk) -> Vec<String> {
    let names = disk.list("log").expect("a folder");
    names.into_iter().filter(|name| name.ends_with(".log")).map(|name| format!("log/{name}")).collect()
}

fn checked(disk: &SimDisk) -> CheckReport {
    check(Arc::new(disk.clone()), None, OPTIONS).expect("it can be checked")
}

fn run_repair(disk: &SimDisk) -> Vec<String> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    repair(&storage, "stamp", false, OPTIONS).expect("it can be repaired").notes
}

/// A log that was cut, and of whose two segments the first has the last changes of `idle` and, where it is wanted, all
/// there is of a collection `late`. `busy` is also in the second.
fn cut_and_written(has_late: bool) -> SimDisk {
    let mut engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    for name in ["busy", "idle"] {
        create(&engine, name);
        (0..5).for_each(|part| upsert(&engine, name, part * 10..part * 10 + 10));
    }
    engine.checkpoint();
    engine.checkpoint();
    let before = segments(&engine.disk);
    assert!(MARKS.iter().all(|path| engine.disk.exists(path).expect("the disk works")), "{before:?}");
    upsert(&engine, "idle", 90..95);
    if has_late {
        create(&engine, "late");
        upsert(&engine, "late", 0..3);
    }
    while segments(&engine.disk).len() < before.len() + 2 {
        upsert(&engine, "busy", 0..2);
    }
    engine.restart();
    engine.kill();
    engine.disk.clone()
}

fn spoil(disk: &SimDisk, marks: &[&str]) {
    marks.iter().for_each(|path| disk.decay(path, |bytes| bytes[14] ^= 1).expect("it is there"));
}

/// Removes all segments but the last.
fn lose_oldest(disk: &SimDisk) {
    let all = segments(disk);
    all[..all.len() - 1].iter().for_each(|path| disk.remove(path).expect("it is there"));
    disk.kill();
}

#[test]
fn a_collection_that_only_the_oldest_segment_knew_is_not_forgotten_with_it() {
    for marks in DAMAGED_MARKS {
        let disk = cut_and_written(true);
        lose_oldest(&disk);
        spoil(&disk, marks);
        let refusal = TestEngine::with(disk.clone(), 1, THRESHOLDS).err().expect("it does not open");
        assert!(refusal.contains("which created or deleted a collection"), "{refusal}");
        assert!(refusal.contains("are missing") || marks.len() == 2, "{refusal}");
        assert!(refusal.contains("kithdb check") && refusal.contains("kithdb repair"), "{refusal}");
        let report = checked(&disk);
        let lost = report
            .findings
            .listed
            .iter()
            .find(|finding| finding.what.contains("nobody knows all collections"));
        assert_eq!(lost.expect("it is reported").effect, "the server does not start");
        let notes = run_repair(&disk).join("\n");
        assert!(notes.contains("nobody knows all collections"), "{notes}");
        let engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
        assert_eq!((points(&engine, "busy"), points(&engine, "idle")), (50, 50));
    }
}

#[test]
fn a_collection_whose_last_changes_may_be_missing_is_not_served_without_them() {
    for marks in DAMAGED_MARKS {
        let disk = cut_and_written(false);
        lose_oldest(&disk);
        spoil(&disk, marks);
        let engine = TestEngine::with(disk.clone(), 1, THRESHOLDS).expect("it opens");
        let status = engine.engine().status();
        let fault = &status.faults.iter().find(|(name, _)| name == "idle").expect("it is quarantined").1;
        assert!(fault.contains("of the log") && fault.contains("missing"), "{fault}");
        let reported =
            &status.log_damages.iter().find(|(_, what)| what.contains("record")).expect("it is reported").1;
        assert!(
            reported.contains(if marks.len() == 2 { "nobody can tell" } else { "are missing" }),
            "{reported}"
        );
        drop(engine);
        let report = checked(&disk);
        let idle = report.collections.iter().find(|found| found.name.as_deref() == Some("idle"));
        assert!(idle.expect("it is listed").fault.is_some());
    }
}

#[test]
fn one_damaged_mark_does_no_harm_and_is_written_again() {
    for path in MARKS {
        let disk = cut_and_written(true);
        let sound = disk.read(path).expect("it is there");
        spoil(&disk, &[path]);
        let report = checked(&disk);
        assert!(
            report
                .findings
                .listed
                .iter()
                .all(|found| found.severity.name() == "derived" && found.file == path)
        );
        assert!(!report.is_clean());
        let repaired = disk.duplicate();
        assert!(
            run_repair(&repaired)[0]
                .ends_with("is damaged; there are two of this file, and the other is sound")
        );
        assert!(checked(&repaired).is_clean());
        let engine = TestEngine::with(disk.clone(), 1, THRESHOLDS).expect("it opens");
        let status = engine.engine().status();
        assert_eq!((status.faults.len(), status.log_damages.len(), points(&engine, "late")), (0, 1, 3));
        assert_eq!(disk.read(path).expect("it is there"), sound);
        // The scrub of a server that runs does so too.
        spoil(&disk, &[path]);
        engine.engine().scrub_once();
        assert_eq!(disk.read(path).expect("it is there"), sound);
        let findings = engine.engine().scrub_report().findings;
        assert!(
            findings[0].file == path && findings[0].what == "is damaged; it is written again",
            "{findings:?}"
        );
    }
}

#[test]
fn without_both_marks_a_repair_loses_nothing_of_a_log_that_is_whole() {
    let disk = cut_and_written(true);
    spoil(&disk, &MARKS);
    let engine = TestEngine::with(disk.clone(), 1, THRESHOLDS).expect("it opens");
    assert_eq!((points(&engine, "busy"), points(&engine, "late")), (50, 3));
    drop(engine);
    disk.kill();
    run_repair(&disk);
    assert!(checked(&disk).is_clean());
    let engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
    assert!(engine.engine().status().faults.is_empty());
    assert_eq!(["busy", "idle", "late"].map(|name| points(&engine, name)), [50, 55, 3]);
}

#[test]
fn a_check_lists_a_collection_whose_creation_is_lost() {
    let mut engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    create(&engine, "known");
    engine.checkpoint();
    create(&engine, "lost");
    upsert(&engine, "lost", 0..3);
    upsert(&engine, "known", 0..3);
    engine.restart();
    engine.kill();
    let disk = engine.disk.clone();
    // The header of its creation; nothing else of the collection.
    let name = b"\x04\0\0\0lost";
    let place = |path: &String| {
        let bytes = disk.read(path).expect("it is there");
        bytes.windows(name.len()).rposition(|window| window == name)
    };
    let (path, at) = segments(&disk)
        .into_iter()
        .rev()
        .find_map(|path| place(&path).map(|at| (path, at)))
        .expect("it is in the log");
    disk.decay(&path, |bytes| bytes[at - 8 - 60] ^= 1).expect("it is there");
    assert!(TestEngine::with(disk.clone(), 1, THRESHOLDS).is_err());
    let report = checked(&disk);
    let lost = report.collections.iter().find(|found| found.name.is_none()).expect("it is listed");
    assert_eq!((lost.id, lost.points), (2, None));
    assert!(lost.fault.as_deref().is_some_and(|fault| fault.contains("creation")));
    let reported = report.findings.listed.iter().find(|finding| finding.what.contains("with the number 2"));
    assert!(reported.expect("it is reported").what.contains("that no list has: 1"), "{:?}", report.findings);
}
