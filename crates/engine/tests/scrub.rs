//! Decay of files while they are served: found by the scrub, before an answer is wrong or a start fails.

mod common;

use common::{SHORT_FILES, TestEngine};
use kithdb_engine::catalog::Entry;
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::engine::{index_everything, put_to_sleep};
use kithdb_engine::field::IndexScratch;
use kithdb_engine::integrity::check;
use kithdb_engine::storage::{Call, Fault, SimDisk, Storage};
use serde_json::json;
use std::sync::Arc;

/// Two collections in checkpoints, both with graphs.
fn served() -> TestEngine {
    let engine = TestEngine::new(1);
    for name in ["hit", "spared"] {
        let vectors = json!({"size": 64, "distance": "Euclid"});
        let hnsw = json!({"full_scan_threshold": 10});
        engine.ok("create_collection", name, json!({"vectors": vectors, "hnsw_config": hnsw}));
        let vector = |id: u64| (0..64).map(|at| ((id * 31 + at * 7) % 17) as f32).collect::<Vec<_>>();
        let point = |id| json!({"id": id, "vector": vector(id), "payload": {"n": id}});
        engine.ok("upsert_points", name, json!({"points": (0..200).map(point).collect::<Vec<_>>()}));
    }
    engine.checkpoint();
    engine
}

/// The first file of the collection `hit` that holds a graph, or data.
fn file(engine: &TestEngine, graph: bool) -> String {
    let dir = "collections/0000000000000001";
    let names = engine.disk.list(dir).expect("a folder");
    let mut files = names.iter().filter(|name| name.ends_with(".data")).map(|name| format!("{dir}/{name}"));
    let is_graph = |path: &String| engine.disk.read(path).expect("a file").get(64..72) == Some(b"KITHHNSW");
    files.find(|path| is_graph(path) == graph).expect("such a file")
}

/// Scrubs once. `fails` makes calls of the disk fail from the places that it chooses.
fn scrub_failing(engine: &TestEngine, fails: impl Fn(&SimDisk, &str) + Send + Sync + 'static) {
    let disk = engine.disk.clone();
    engine.disk.interleave(Some(Arc::new(move |place: &str| fails(&disk, place))));
    engine.engine().scrub_once();
    engine.disk.interleave(None);
    engine.disk.clear_faults();
}

fn is_clean(engine: &TestEngine) -> bool {
    is_clean_with(engine, OpeningOptions::default().row_chunk_bytes)
}

fn is_clean_with(engine: &TestEngine, row_chunk_bytes: usize) -> bool {
    let options = OpeningOptions { threads: 1, row_chunk_bytes };
    let storage: Arc<dyn Storage> = Arc::new(engine.disk.duplicate());
    check(storage, None, options).expect("it can be checked").is_clean()
}

#[test]
fn sound_files_are_read_and_nothing_happens() {
    let engine = served();
    engine.engine().scrub_once();
    let report = engine.engine().scrub_report();
    assert_eq!((report.passes, report.findings.len()), (1, 0));
    assert!(report.bytes > 50_000 && report.finished_at.is_some(), "{report:?}");
}

#[test]
fn damaged_data_quarantine_their_collection_and_say_what_to_do() {
    let mut engine = served();
    let spared = engine.digest("spared");
    let path = file(&engine, false);
    engine.disk.decay(&path, |bytes| bytes[100] ^= 1).expect("the file is there");
    engine.engine().scrub_once();
    let report = engine.engine().scrub_report();
    assert_eq!((report.data_failures, report.graph_failures, report.manifest_failures), (1, 0, 0));
    assert_eq!((report.findings[0].collection.as_deref(), &report.findings[0].file), (Some("hit"), &path));
    for restarted in [false, true] {
        let info = engine.ok("collection_info", "hit", json!(null));
        assert_eq!(info["status"], json!("red"), "{restarted}");
        assert_eq!(engine.refused("count", "hit", json!({})).0, "collection_fault");
        assert_eq!(engine.digest("spared"), spared);
        if !restarted {
            let fault = info["optimizer_status"]["error"].as_str().expect("a fault");
            assert!(
                fault.contains(".data") && fault.contains("kithdb repair") && !fault.contains('/'),
                "{fault}"
            );
            engine.engine().scrub_once();
            assert_eq!(engine.engine().scrub_report().findings.len(), 1);
            engine.checkpoint();
            engine.restart();
        }
    }
    assert_eq!(engine.ok("delete_collection", "hit", json!(null)), json!(true));
}

#[test]
fn a_damaged_graph_or_manifest_is_written_again_while_the_collection_serves() {
    let engine = served();
    let before = engine.digest("hit");
    let graph = file(&engine, true);
    engine.disk.decay(&graph, |bytes| bytes[100] ^= 1).expect("the file is there");
    let manifest = "collections/0000000000000001/MANIFEST";
    assert!(!is_clean(&engine));
    engine.engine().scrub_once();
    assert_eq!(engine.engine().scrub_report().graph_failures, 1);
    engine.checkpoint();
    assert!(is_clean(&engine));
    engine.disk.decay(manifest, |bytes| bytes[20] ^= 1).expect("the file is there");
    engine.engine().scrub_once();
    assert_eq!(engine.engine().scrub_report().manifest_failures, 1);
    assert!(is_clean(&engine));
    assert_eq!(engine.digest("hit"), before);
    engine.engine().scrub_once();
    assert_eq!(engine.engine().scrub_report().findings.len(), 2);
}

#[test]
fn a_damaged_manifest_hides_no_damage_of_what_it_names() {
    let engine = served();
    let before = engine.digest("hit");
    let graph = file(&engine, true);
    for path in [&graph, "collections/0000000000000001/MANIFEST"] {
        engine.disk.decay(path, |bytes| bytes[100] ^= 1).expect("the file is there");
    }
    engine.engine().scrub_once();
    let report = engine.engine().scrub_report();
    assert_eq!((report.manifest_failures, report.graph_failures, report.data_failures), (1, 1, 0));
    engine.checkpoint();
    assert!(is_clean(&engine));
    assert_eq!(engine.digest("hit"), before);
}

#[test]
fn a_read_that_fails_once_is_retried_and_one_that_keeps_failing_quarantines_the_collection() {
    let engine = served();
    // The first calls read the manifest.
    engine.disk.fail_nth_of(Call::Read, 5, Fault::Eio);
    engine.engine().scrub_once();
    assert!(!engine.disk.has_faults(), "the fault has happened");
    assert_eq!(engine.engine().scrub_report().findings.len(), 0);
    let bad = file(&engine, false);
    scrub_failing(&engine, move |disk, place| {
        if place == bad {
            disk.fail_nth(1, Fault::Eio);
        }
    });
    let (code, details) = engine.refused("count", "hit", json!({}));
    assert_eq!(code, "collection_fault");
    assert!(details.to_string().contains("input/output error during read in 00000001.data"), "{details}");
}

#[test]
fn reads_for_which_the_system_has_no_memory_are_no_findings() {
    let engine = served();
    let digest = engine.digest("hit");
    let graph = file(&engine, true);
    engine.disk.decay(&graph, |bytes| bytes[100] ^= 1).expect("the file is there");
    // Those of data files alone, and all.
    for every in [false, true] {
        let spared = graph.clone();
        scrub_failing(&engine, move |disk, place| {
            if every || place.ends_with(".data") && place != spared {
                disk.fail_nth(1, Fault::Exhausted);
            }
        });
        let report = engine.engine().scrub_report();
        // What can be read is compared.
        assert_eq!((report.data_failures, report.graph_failures), (0, 1), "{report:?}");
        assert_eq!(report.findings.len(), 1, "{report:?}");
        assert_ne!(engine.ok("collection_info", "hit", json!(null))["status"], json!("red"));
        assert_eq!(engine.digest("hit"), digest);
        if !every {
            engine.checkpoint();
        }
    }
    engine.engine().scrub_once();
    assert_eq!(engine.engine().scrub_report().findings.len(), 1);
    let data = file(&engine, false);
    engine.disk.decay(&data, |bytes| bytes[100] ^= 1).expect("the file is there");
    engine.engine().scrub_once();
    assert_eq!(engine.engine().scrub_report().data_failures, 1, "the next pass reads it again");
}

#[test]
fn segments_of_the_log_for_which_the_system_has_no_memory_are_no_findings() {
    let engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", "one", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    for id in 0..200 {
        let point = json!({"id": id, "vector": [id, 1], "payload": {"text": "y".repeat(100)}});
        engine.ok("upsert_points", "one", json!({"points": [point]}));
    }
    let segments = engine.disk.list("log").expect("a log");
    assert!(segments.len() > 3, "{segments:?}");
    scrub_failing(&engine, |disk, place| {
        if place.ends_with(".log") {
            disk.fail_nth(1, Fault::Exhausted);
        }
    });
    let report = engine.engine().scrub_report();
    assert_eq!((report.log_failures, report.findings.len()), (0, 0), "{report:?}");
    assert_eq!(engine.disk.list("log").expect("a log"), segments);
}

/// The entry of the collection `hit` in the list.
fn entry(engine: &TestEngine) -> Arc<Entry> {
    let entries = engine.engine().catalog().entries();
    entries.into_iter().find(|entry| entry.name == "hit").expect("a collection")
}

/// The collection `hit` asleep.
fn asleep() -> TestEngine {
    let engine = served();
    let catalog = engine.engine().catalog();
    index_everything(catalog, &mut IndexScratch::default());
    assert!(put_to_sleep(catalog, &entry(&engine)));
    engine
}

#[test]
fn damage_of_a_collection_that_cannot_wake_now_is_reported_and_the_next_pass_decides_c24() {
    let engine = asleep();
    let data = file(&engine, false);
    engine.disk.decay(&data, |bytes| bytes[100] ^= 1).expect("the file is there");
    scrub_failing(&engine, |disk, place| {
        if place == "waking a collection" {
            disk.fail_from(1, Fault::Exhausted);
        }
    });
    assert!(entry(&engine).sleeping().is_some() && entry(&engine).fault().is_none());
    let report = engine.engine().scrub_report();
    assert_eq!((report.data_failures, report.findings.len()), (1, 1), "{report:?}");
    let what = &report.findings[0].what;
    assert!(what.contains("could not be opened now to decide"), "{what}");
    engine.engine().scrub_once();
    assert!(entry(&engine).fault().is_some());
    let report = engine.engine().scrub_report();
    assert!(report.findings[1].what.contains("the collection is quarantined"), "{report:?}");
}

#[test]
fn the_lost_manifest_of_a_collection_that_sleeps_quarantines_it_c24() {
    let engine = asleep();
    engine.disk.remove("collections/0000000000000001/MANIFEST").expect("the file is there");
    engine.engine().scrub_once();
    assert!(entry(&engine).fault().is_some());
    let report = engine.engine().scrub_report();
    assert_eq!((report.manifest_failures, report.findings.len()), (1, 1), "{report:?}");
    assert!(report.findings[0].what.starts_with("the file is missing; the collection is quarantined"));
    // One that cannot be read now is not lost.
    let engine = asleep();
    engine.disk.fail_from(1, Fault::Exhausted);
    engine.engine().scrub_once();
    engine.disk.clear_faults();
    assert!(entry(&engine).sleeping().is_some());
    assert_eq!(engine.engine().scrub_report().findings.len(), 0);
}

#[test]
fn what_a_damaged_segment_of_the_log_holds_goes_into_checkpoints_and_a_kill_loses_nothing() {
    // Of a segment's header, and of a record.
    for part in [10, 2000] {
        let mut engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
        for name in ["one", "two"] {
            engine.ok("create_collection", name, json!({"vectors": {"size": 2, "distance": "Euclid"}}));
            for id in 0..200 {
                let point = json!({"id": id, "vector": [id, 1], "payload": {"text": "y".repeat(100)}});
                engine.ok("upsert_points", name, json!({"points": [point]}));
            }
        }
        let digests = [engine.digest("one"), engine.digest("two")];
        engine.engine().scrub_once();
        assert_eq!(engine.engine().scrub_report().findings.len(), 0);
        let segments = engine.disk.list("log").expect("a log");
        assert!(segments.len() > 5, "{segments:?}");
        let path = format!("log/{}", segments[2]);
        engine.disk.decay(&path, |bytes| bytes[part] ^= 1).expect("it is there");
        engine.engine().scrub_once();
        let report = engine.engine().scrub_report();
        assert_eq!((report.log_failures, report.findings.len()), (1, 1));
        let finding = &report.findings[0];
        assert_eq!((&finding.file, finding.collection.as_deref()), (&path, None));
        assert!(
            finding.what.ends_with("what it held is in checkpoints, and it was removed"),
            "{}",
            finding.what
        );
        assert!(!engine.disk.list("log").expect("a log").contains(&segments[2]));
        engine.restart();
        assert_eq!([engine.digest("one"), engine.digest("two")], digests);
        assert!(is_clean_with(&engine, SHORT_FILES.row_chunk_bytes));
    }
}

#[test]
fn a_damaged_segment_that_a_quarantined_collection_needs_stays_and_the_finding_says_so() {
    let engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", "hit", json!({"vectors": {"size": 2, "distance": "Euclid"}}));
    let upsert = |from: u64| {
        for id in from..from + 100 {
            let point = json!({"id": id, "vector": [id, 1], "payload": {"text": "y".repeat(100)}});
            engine.ok("upsert_points", "hit", json!({"points": [point]}));
        }
    };
    upsert(0);
    engine.checkpoint();
    upsert(100);
    engine.disk.decay(&file(&engine, false), |bytes| bytes[100] ^= 1).expect("it is there");
    let segments = engine.disk.list("log").expect("a log");
    let first = segments.iter().find(|name| name.ends_with(".log")).expect("a segment");
    engine.disk.decay(&format!("log/{first}"), |bytes| bytes[2000] ^= 1).expect("it is there");
    engine.engine().scrub_once();
    let report = engine.engine().scrub_report();
    assert_eq!((report.data_failures, report.log_failures), (1, 1));
    let what = &report.findings[1].what;
    assert!(what.ends_with("make a backup before the server stops"), "{what}");
    assert!(engine.disk.list("log").expect("a log").contains(first));
}

#[test]
fn a_damaged_catalog_or_copy_of_it_is_written_again() {
    let engine = served();
    for (number, path) in (1..).zip(["catalog/CATALOG", "collections/CATALOG"]) {
        engine.disk.decay(path, |bytes| bytes[20] ^= 1).expect("it is there");
        assert!(!is_clean(&engine));
        engine.engine().scrub_once();
        let report = engine.engine().scrub_report();
        assert_eq!(report.catalog_failures, number);
        let finding = report.findings.back().expect("a finding");
        assert_eq!((finding.file.as_str(), finding.collection.as_deref()), (path, None));
        assert_eq!(finding.what, "the file CATALOG is damaged; it is written again");
        assert!(is_clean(&engine));
    }
}

#[test]
fn small_files_that_are_missing_are_written_again_too() {
    let mut engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    let vectors = json!({"size": 64, "distance": "Euclid"});
    engine.ok("create_collection", "hit", json!({"vectors": vectors}));
    for id in 0..50 {
        let point = json!({"id": id, "vector": vec![id as f32; 64]});
        engine.ok("upsert_points", "hit", json!({"points": [point]}));
    }
    engine.checkpoint();
    let hit = engine.digest("hit");
    let manifest = "collections/0000000000000001/MANIFEST";
    let sets = [
        vec![manifest],
        vec!["catalog/CATALOG"],
        vec!["collections/CATALOG"],
        vec!["catalog/CATALOG", "collections/CATALOG"],
        vec!["log/cut", "catalog/cut"],
    ];
    for (at, paths) in sets.iter().enumerate() {
        let before = paths.iter().map(|path| engine.disk.read(path).expect("a file")).collect::<Vec<_>>();
        paths.iter().for_each(|path| engine.disk.remove(path).expect("a file"));
        engine.engine().scrub_once();
        let report = engine.engine().scrub_report();
        assert_eq!(report.findings.len(), at + 1, "{paths:?}: {report:?}");
        let what = &report.findings[at].what;
        assert!(what.contains("missing") && what.ends_with("; it is written again"), "{what}");
        let after = paths.iter().map(|path| engine.disk.read(path).ok()).collect::<Vec<_>>();
        assert_eq!(after, before.into_iter().map(Some).collect::<Vec<_>>(), "{paths:?}");
    }
    engine.engine().scrub_once();
    assert_eq!(engine.engine().scrub_report().findings.len(), sets.len());
    engine.restart();
    assert_eq!(engine.digest("hit"), hit);
}
