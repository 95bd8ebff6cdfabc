//! Repairs of damaged directories: what verifies is kept as it was, what does not is named, nothing is destroyed.

mod common;

use common::{Random, SHORT_FILES, TestEngine, setting};
use kithdb_engine::collection::{GraphPolicy, OpeningOptions};
use kithdb_engine::integrity::{RepairReport, SALVAGE, Severity, check, repair};
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::{Fault, MemoryDisk, ReadOnly, SimDisk, Storage};
use kithdb_engine::types::OpNumber;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const NAMES: [&str; 3] = ["flat", "multi", "fresh"];
const THRESHOLDS: Thresholds = SHORT_FILES;
/// Random damages of a normal run; `KITHDB_DAMAGES` sets another number, `KITHDB_FIRST_DAMAGE` which is the first.
const DAMAGES: u64 = 40;
const OPTIONS: OpeningOptions = OpeningOptions { threads: 1, row_chunk_bytes: THRESHOLDS.row_chunk_bytes };

fn open(disk: &SimDisk) -> Result<TestEngine, String> {
    TestEngine::with(disk.clone(), 1, THRESHOLDS)
}

fn run_repair(disk: &SimDisk, dry_run: bool) -> Result<RepairReport, String> {
    mend_at("stamp", disk, dry_run)
}

/// A repair at another time.
fn mend_at(stamp: &str, disk: &SimDisk, dry_run: bool) -> Result<RepairReport, String> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    repair(&storage, stamp, dry_run, OPTIONS).map_err(|error| error.to_string())
}

fn severities(disk: &SimDisk) -> Vec<Severity> {
    let report = check(Arc::new(disk.clone()), None, OPTIONS).expect("it can be checked");
    let mut found: Vec<Severity> = report.findings.listed.iter().map(|finding| finding.severity).collect();
    found.dedup();
    found
}

fn upsert(engine: &TestEngine, name: &str, ids: std::ops::Range<u64>, generation: u64) {
    let vector =
        |id: u64| (0..64).map(|at| ((id * 31 + at * 7 + generation) % 17) as f32).collect::<Vec<_>>();
    let vectors = |id: u64| match name {
        "multi" => json!({"a": vector(id), "s": {"indices": [id % 9, 20], "values": [1.0, 2.0]}}),
        _ => json!(vector(id)),
    };
    let point =
        |id| json!({"id": id, "vector": vectors(id), "payload": {"n": id % 20, "text": "y".repeat(200)}});
    engine.ok("upsert_points", name, json!({"points": ids.map(point).collect::<Vec<_>>()}));
}

/// Every point of a collection by its id.
fn points(engine: &TestEngine, name: &str) -> BTreeMap<u64, Value> {
    let page = engine.digest(name);
    let points = page["points"].as_array().expect("a page");
    points.iter().map(|point| (point["id"].as_u64().expect("a number"), point.clone())).collect()
}

/// Two collections in checkpoints with something in the log behind, one in the log alone.
fn settled() -> (SimDisk, BTreeMap<&'static str, BTreeMap<u64, Value>>) {
    let mut engine = open(&SimDisk::new()).expect("an empty disk opens");
    let dense = json!({"size": 64, "distance": "Euclid"});
    engine.ok(
        "create_collection",
        "flat",
        json!({"vectors": dense, "hnsw_config": {"full_scan_threshold": 10}}),
    );
    let multi = json!({"vectors": {"a": dense}, "sparse_vectors": {"s": {}}});
    engine.ok("create_collection", "multi", multi);
    for name in ["flat", "multi"] {
        engine.ok("create_field_index", name, json!({"field_name": "n", "field_schema": "integer"}));
        (0..3).for_each(|part| upsert(&engine, name, part * 20..part * 20 + 20, 0));
    }
    engine.checkpoint();
    upsert(&engine, "flat", 10..30, 1);
    engine.checkpoint();
    engine.ok("create_collection", "fresh", json!({"vectors": dense}));
    for name in NAMES {
        (0..5).for_each(|part| upsert(&engine, name, 100 + part * 5..105 + part * 5, 0));
    }
    engine.ok("delete_points", "multi", json!({"points": [1, 2, 3]}));
    engine.restart();
    let expected = NAMES.iter().map(|name| (*name, points(&engine, name))).collect();
    engine.kill();
    (engine.disk.clone(), expected)
}

fn data_files(disk: &SimDisk, collection: u64) -> Vec<String> {
    let dir = format!("collections/{collection:016x}");
    let names = disk.list(&dir).expect("a folder");
    names.into_iter().filter(|name| name.ends_with(".data")).map(|name| format!("{dir}/{name}")).collect()
}

/// Names and contents of all files on a disk, except those in the salvage folder, and the lock.
fn contents(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for dir in ["catalog", "log", "collections"] {
        for name in disk.list(dir).expect("a folder") {
            let path = format!("{dir}/{name}");
            match disk.read(&path) {
                Ok(bytes) => all.push((path, bytes)),
                Err(_) => {
                    for name in disk.list(&path).expect("a folder") {
                        let path = format!("{path}/{name}");
                        let bytes = disk.read(&path).expect("a file");
                        all.push((path, bytes));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn a_sound_directory_has_nothing_to_repair() {
    let (disk, _) = settled();
    let before = contents(&disk);
    assert!(severities(&disk).is_empty());
    let report = run_repair(&disk, false).expect("it can be repaired");
    assert!(report.is_sound() && report.salvage.is_none(), "{report:?}");
    assert_eq!(contents(&disk), before);
}

#[test]
fn a_dry_run_and_a_check_change_nothing() {
    let (disk, _) = settled();
    let path = &data_files(&disk, 1)[0];
    disk.decay(path, |bytes| bytes[5_000] ^= 1).expect("the file is there");
    let before = contents(&disk);
    assert_eq!(severities(&disk), [Severity::Damage]);
    let report = run_repair(&disk, true).expect("it can be planned");
    assert!(!report.is_sound() && report.salvage.is_none());
    assert_eq!(contents(&disk), before);
}

#[test]
fn a_graph_that_is_damaged_is_built_again_and_no_point_is_lost() {
    let (disk, expected) = settled();
    let is_graph = |path: &&String| disk.read(path).expect("a file").get(64..72) == Some(b"KITHHNSW");
    let graph = data_files(&disk, 1).iter().find(is_graph).expect("a graph file").clone();
    disk.decay(&graph, |bytes| bytes[100] ^= 1).expect("the file is there");
    assert_eq!(severities(&disk), [Severity::Derived]);
    let report = run_repair(&disk, false).expect("it can be repaired");
    assert!(report.repaired.len() == 1 && report.repaired[0].losses.is_empty(), "{report:?}");
    assert!(severities(&disk).iter().all(|severity| *severity == Severity::Note));
    let engine = open(&disk).expect("it opens");
    for name in NAMES {
        assert_eq!(points(&engine, name), expected[name]);
    }
    engine.build_indexes();
    assert_eq!(engine.ok("collection_info", "flat", json!(null))["status"], json!("green"));
}

#[test]
fn without_a_catalog_the_collections_are_found_by_their_folders_and_named_after_their_numbers() {
    let (disk, expected) = settled();
    let catalogs = ["catalog/CATALOG", "collections/CATALOG"];
    let damaged = catalogs.map(|path| {
        disk.decay(path, |bytes| bytes[20] ^= 1).expect("the file is there");
        disk.read(path).expect("it is there")
    });
    assert!(open(&disk).is_err());
    assert_eq!(severities(&disk), [Severity::Damage]);
    let before = contents(&disk);
    let plan = run_repair(&disk, true).expect("it can be planned");
    assert!(plan.replaces_catalog && plan.repaired.is_empty(), "{plan:?}");
    assert!(plan.notes[1].ends_with("is called recovered-1"), "{plan:?}");
    assert_eq!(contents(&disk), before);
    let report = run_repair(&disk, false).expect("it can be repaired");
    let aside = report.salvage.expect("something was set aside");
    for (path, damaged) in catalogs.iter().zip(&damaged) {
        assert_eq!(disk.read(&format!("{aside}/{path}")).expect("it is there"), *damaged);
    }
    assert!(severities(&disk).iter().all(|severity| *severity == Severity::Note));
    let mut engine = open(&disk).expect("it opens");
    for _ in 0..2 {
        // The log still has the creation of the third.
        for (name, was) in [("recovered-1", "flat"), ("recovered-2", "multi"), ("fresh", "fresh")] {
            assert_eq!(points(&engine, name), expected[was], "{was}");
        }
        engine.checkpoint();
        engine.restart();
    }
    engine.ok("create_collection", "new", json!({"vectors": {"size": 64, "distance": "Euclid"}}));
    upsert(&engine, "new", 0..5, 0);
    engine.restart();
    assert_eq!(points(&engine, "new").len(), 5);
}

#[test]
fn a_repair_that_is_interrupted_anywhere_loses_nothing_to_the_one_that_begins_again() {
    let (disk, _) = settled();
    // Rows of one collection, and a record of the log.
    let data = data_files(&disk, 1);
    disk.decay(&data[0], |bytes| bytes[5_000] ^= 1).expect("it is there");
    let segments = disk.list("log").expect("a log");
    let broken = [disk.duplicate(), disk.duplicate()];
    broken[1].decay(&format!("log/{}", segments[0]), |bytes| bytes[300] ^= 1).expect("it is there");
    for (kind, disk) in broken.iter().enumerate() {
        let undisturbed = disk.duplicate();
        run_repair(&undisturbed, false).expect("it can be repaired");
        let shown = |disk: &SimDisk| {
            let engine = open(disk).expect("it opens");
            assert_eq!(engine.engine().status().faults, []);
            NAMES.map(|name| points(&engine, name))
        };
        let expected = shown(&undisturbed);
        for call in 1.. {
            let how = format!("kind {kind}, call {call}");
            let copy = disk.duplicate();
            let is_kill = call % 2 == 0;
            if is_kill {
                copy.crash_after(call / 2);
            } else {
                copy.fail_nth(call / 2 + 1, Fault::Enospc);
            }
            let outcome = run_repair(&copy, false);
            let happened = !copy.has_faults() || outcome.is_err();
            if is_kill {
                copy.power_cut(call);
            }
            copy.clear_faults();
            if outcome.is_err() {
                mend_at("later", &copy, false).unwrap_or_else(|why| panic!("{how}: {why}"));
            }
            assert_eq!(shown(&copy), expected, "{how}");
            if !happened {
                assert!(call > 20, "{call} calls are few");
                break;
            }
        }
    }
}

#[test]
fn a_repair_of_a_disk_that_refuses_a_read_changes_nothing_and_says_why() {
    let (disk, expected) = settled();
    let damaged = &data_files(&disk, 1)[0];
    disk.decay(damaged, |bytes| bytes[5_000] ^= 1).expect("the file is there");
    let before = contents(&disk);
    for call in 1.. {
        disk.fail_nth(call, Fault::Eio);
        // A repair that changes something reads the same before it does.
        let outcome = run_repair(&disk, call > 30 || call % 3 > 0);
        let happened = !disk.has_faults();
        disk.clear_faults();
        if !happened {
            assert!(call > 50, "{call} calls are few");
            break;
        }
        let refusal = outcome.expect_err("what the disk hides is not given up");
        assert!(refusal.starts_with("the disk does not give a file: "), "call {call}: {refusal}");
        assert!(refusal.contains("repair the copy"), "{refusal}");
        assert_eq!(contents(&disk), before, "call {call}");
    }
    // It gives everything again: nothing was lost to the refusals but what is damaged.
    mend_at("later", &disk, false).expect("it can be repaired");
    let engine = open(&disk).expect("it opens");
    assert_eq!(points(&engine, "multi"), expected["multi"]);
    let (kept, all) = (points(&engine, "flat"), &expected["flat"]);
    assert!(kept.iter().all(|(id, point)| all.get(id) == Some(point)) && kept.len() > all.len() / 2);
}

#[test]
fn a_catalog_for_which_the_system_has_no_memory_is_not_lost() {
    let (disk, expected) = settled();
    for other_is_damaged in [false, true] {
        let damage = |disk: &SimDisk| {
            disk.decay("catalog/CATALOG", |bytes| bytes[20] ^= u8::from(other_is_damaged)).expect("a file");
        };
        damage(&disk);
        let before = contents(&disk);
        let refusing = disk.clone();
        let refuse = move |place: &str| {
            if place == "collections/CATALOG" || place == "catalog/CATALOG" && !other_is_damaged {
                refusing.fail_nth(1, Fault::Exhausted);
            }
        };
        disk.interleave(Some(Arc::new(refuse)));
        let started = open(&disk).err().expect("nobody knows the names of the collections");
        let repaired = run_repair(&disk, false).expect_err("they may be there");
        disk.interleave(None);
        assert!(started.contains("CATALOG cannot be read") && !started.contains("repair"), "{started}");
        assert!(repaired.contains("CATALOG") && repaired.contains("nothing was changed"), "{repaired}");
        assert_eq!(contents(&disk), before);
        damage(&disk);
    }
    let engine = open(&disk).expect("it opens");
    NAMES.iter().for_each(|name| assert_eq!(points(&engine, name), expected[name]));
}

#[test]
fn what_another_release_wrote_is_neither_repaired_nor_called_damaged() {
    let (disk, _) = settled();
    let later = |bytes: &mut Vec<u8>| {
        bytes[8] = 99;
        bytes.push(0);
        let crc = crc32c::crc32c(&bytes[16..]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    };
    let manifest = "collections/0000000000000001/MANIFEST";
    disk.decay(manifest, later).expect("the file is there");
    let before = contents(&disk);
    let refusal = run_repair(&disk, false).expect_err("it is not repaired");
    assert!(refusal.starts_with(manifest) && refusal.contains("use the release that wrote it"), "{refusal}");
    assert_eq!(contents(&disk), before);
    let refusal = check(Arc::new(disk.clone()), None, OPTIONS).expect_err("it cannot be checked").to_string();
    assert!(refusal.starts_with(manifest) && refusal.contains("use the release that wrote it"), "{refusal}");
    // A changed version number alone is damage.
    let (disk, expected) = settled();
    disk.decay(manifest, |bytes| bytes[8] = 99).expect("the file is there");
    let report = run_repair(&disk, false).expect("it can be repaired");
    assert!(report.repaired[0].losses.is_empty(), "{report:?}");
    assert_eq!(points(&open(&disk).expect("it opens"), "flat"), expected["flat"]);
}

#[test]
fn a_segment_under_the_name_of_the_last_one_is_not_the_end_of_the_log() {
    let (disk, _) = settled();
    let log: Vec<String> =
        disk.list("log").expect("a folder").into_iter().filter(|name| name.ends_with(".log")).collect();
    let (first, last) = (format!("log/{}", log[0]), format!("log/{}", log[log.len() - 1]));
    assert_ne!(first, last, "one segment is too few");
    let other = disk.read(&first).expect("a file");
    disk.decay(&last, |bytes| *bytes = other).expect("the file is there");
    let report = check(Arc::new(disk.clone()), None, OPTIONS).expect("it can be checked");
    let reported = report.findings.listed.iter().filter(|finding| finding.severity == Severity::Damage);
    let reported: Vec<_> = reported.collect();
    assert!(
        reported.iter().any(|finding| finding.file == last && finding.what.contains("on cannot be read"))
    );
    assert!(reported.iter().all(|finding| !finding.effect.starts_with("none")), "{reported:?}");
    assert!(report.findings.listed.iter().all(|finding| !finding.what.contains("no record is lost")));
    assert!(report.collections.iter().all(|found| found.points.is_none()), "{:?}", report.collections);
}

#[test]
fn damage_of_records_that_checkpoints_have_needs_no_action() {
    let mut engine = open(&SimDisk::new()).expect("an empty disk opens");
    engine.ok("create_collection", "flat", json!({"vectors": {"size": 64, "distance": "Euclid"}}));
    upsert(&engine, "flat", 0..5, 0);
    engine.checkpoint();
    let disk = engine.disk.clone();
    engine.kill();
    let log = disk.list("log").expect("a folder");
    let path = log.iter().find(|name| name.ends_with(".log")).map(|name| format!("log/{name}"));
    let path = path.expect("a segment");
    let at = disk.read(&path).expect("a file").len();
    let bytes = disk.read(&path).expect("a file");
    let at = at.min(bytes.iter().rposition(|byte| *byte != 0).expect("there are records"));
    disk.decay(&path, |bytes| bytes[at - 20] ^= 1).expect("the file is there");
    let report = check(Arc::new(disk.clone()), None, OPTIONS).expect("it can be checked");
    assert!(report.is_clean() && !report.findings.listed.is_empty(), "{:?}", report.findings);
    for finding in &report.findings.listed {
        assert!(finding.effect.starts_with("none") && finding.advice.starts_with("nothing"), "{finding:?}");
    }
}

#[test]
fn a_folder_of_an_unknown_collection_is_moved_to_the_salvage_folder() {
    let (disk, expected) = settled();
    for path in ["catalog/CATALOG", "collections/CATALOG", "collections/0000000000000001/MANIFEST"] {
        disk.decay(path, |bytes| bytes[20] ^= 1).expect("the file is there");
    }
    let data = data_files(&disk, 1);
    let kept: Vec<Vec<u8>> = data.iter().map(|path| disk.read(path).expect("a file")).collect();
    let report = run_repair(&disk, false).expect("it can be repaired");
    assert!(report.notes.iter().any(|note| note.contains("0000000000000001 is set aside")), "{report:?}");
    let engine = open(&disk).expect("it opens");
    assert_eq!(points(&engine, "recovered-2"), expected["multi"]);
    let aside = report.salvage.expect("something was set aside");
    for (path, kept) in data.iter().zip(&kept) {
        assert_eq!(disk.read(&format!("{aside}/{path}")).expect("it is there"), *kept);
    }
}

#[test]
fn a_repair_keeps_what_verifies_names_the_rest_and_sets_it_aside() {
    let first = setting("KITHDB_FIRST_DAMAGE").unwrap_or(0);
    let damages = setting("KITHDB_DAMAGES").unwrap_or(DAMAGES);
    let (disk, expected) = settled();
    let files: Vec<String> = contents(&disk).into_iter().map(|(path, _)| path).collect();
    let mut repaired = 0;
    for seed in first..first + damages {
        let mut random = Random(seed);
        let copy = disk.duplicate();
        let path = &files[random.below(files.len() as u64) as usize];
        let kind = random.below(3);
        copy.decay(path, |bytes| {
            let at = random.below(bytes.len() as u64) as usize;
            match kind {
                0 => bytes[at] ^= 1 << random.below(8),
                1 => {
                    let end = bytes.len().min(at + 2048);
                    bytes[at..end].fill(0);
                }
                _ => bytes.truncate(at),
            }
        })
        .expect("the file is there");
        let how = format!("seed {seed}: {path}, kind {kind}");
        let damaged = copy.read(path).expect("the file is there");
        let report = match run_repair(&copy, false) {
            Ok(report) => report,
            Err(sentence) => panic!("{how}: {sentence}"),
        };
        let left = severities(&copy);
        assert!(left.iter().all(|severity| *severity == Severity::Note), "{how}: {left:?} {report:?}");
        let mut engine = open(&copy).unwrap_or_else(|why| panic!("{how}: does not open: {why}"));
        assert!(engine.engine().status().faults.is_empty(), "{how}");
        let lost_records =
            report.replaces_log || report.repaired.iter().any(|one| !one.losses.operations.is_empty());
        for name in NAMES {
            let list = engine.ok("list_collections", "", json!(null)).to_string();
            if !list.contains(name) {
                assert!(lost_records, "{how}: {name} is gone");
                continue;
            }
            let found = points(&engine, name);
            let losses = report.repaired.iter().find(|one| one.name == name);
            if let Some(one) = losses {
                assert_eq!(one.points, found.len() as u64, "{how}: {name}");
            }
            if lost_records {
                continue;
            }
            for (id, point) in &found {
                assert_eq!(Some(point), expected[name].get(id), "{how}: {name} holds something else");
            }
            let missing: Vec<u64> =
                expected[name].keys().filter(|id| !found.contains_key(id)).copied().collect();
            let losses = losses.map(|one| &one.losses);
            let is_named =
                |id: &u64| losses.is_some_and(|lost| lost.ids().any(|at| at.to_string() == id.to_string()));
            let has_unknown = losses.is_some_and(|lost| lost.unknown_points > 0 || !lost.notes.is_empty());
            assert!(has_unknown || missing.iter().all(is_named), "{how}: {name} {missing:?} {losses:?}");
        }
        if !report.is_sound() {
            repaired += 1;
            let aside = report.salvage.expect("something was set aside");
            assert!(aside.starts_with(SALVAGE));
            assert_eq!(copy.read(&format!("{aside}/{path}")).expect("it is there"), damaged, "{how}");
        }
        // It works like any other, now and after a restart.
        if engine.ok("list_collections", "", json!(null)).to_string().contains("flat") {
            upsert(&engine, "flat", 500..510, 0);
            engine.restart();
            let count = engine.ok("count", "flat", json!({"filter": {"must": {"has_id": [500, 509]}}}));
            assert_eq!(count, json!({"count": 2}), "{how}");
        }
    }
    assert!(repaired > damages / 4, "{repaired} of {damages} damages had to be repaired");
}

#[test]
fn operations_of_a_collection_whose_creation_is_lost_are_reported_and_those_of_deleted_ones_are_not() {
    let mut engine = open(&SimDisk::new()).expect("an empty disk opens");
    let config = json!({"vectors": {"size": 64, "distance": "Euclid"}});
    for name in ["kept", "orphan", "deleted"] {
        engine.ok("create_collection", name, config.clone());
        upsert(&engine, name, 0..5, 0);
        upsert(&engine, name, 5..10, 0);
    }
    engine.ok("delete_collection", "deleted", json!({}));
    let kept = points(&engine, "kept");
    engine.kill();
    let disk = engine.disk.clone();
    let position = |bytes: &[u8]| bytes.windows(6).position(|window| window == b"orphan");
    let mut segments = disk.list("log").expect("a folder").into_iter().map(|name| format!("log/{name}"));
    let (log, at) = segments
        .find_map(|path| position(&disk.read(&path).expect("a file")).map(|at| (path, at)))
        .expect("the creation");
    disk.decay(&log, |bytes| bytes[at] ^= 1).expect("a file");
    let refused = open(&disk).err().expect("the list of collections is not whole");
    assert!(refused.contains("`kithdb check`") && refused.contains("`kithdb repair`"), "{refused}");

    for dry_run in [true, false] {
        let report = run_repair(&disk, dry_run).expect("it can be repaired");
        let reported: Vec<&String> =
            report.notes.iter().filter(|note| note.starts_with("operations of")).collect();
        assert!(
            matches!(reported[..], [note] if note.contains("with the number 2 cannot be kept: 2.")),
            "{:?}",
            report.notes
        );
    }
    let engine = open(&disk).expect("it was repaired");
    assert_eq!(points(&engine, "kept"), kept);
}

/// One collection with a checkpoint, before the catalog had its first.
fn checkpointed_before_the_catalog() -> (SimDisk, BTreeMap<u64, Value>) {
    let mut engine = open(&SimDisk::new()).expect("an empty disk opens");
    let config = json!({"vectors": {"size": 64, "distance": "Euclid"}});
    for name in ["early", "deleted"] {
        engine.ok("create_collection", name, config.clone());
        upsert(&engine, name, 0..10, 0);
    }
    for collection in engine.engine().catalog().collections() {
        collection.checkpoint(GraphPolicy::WhenGrown).expect("a disk that works");
    }
    engine.ok("delete_collection", "deleted", json!({}));
    upsert(&engine, "early", 10..15, 0);
    let early = points(&engine, "early");
    engine.kill();
    (engine.disk.clone(), early)
}

#[test]
fn a_checkpoint_is_kept_where_the_record_of_the_creation_is_lost() {
    let (disk, early) = checkpointed_before_the_catalog();
    let log = disk.list("log").expect("a folder").into_iter().map(|name| format!("log/{name}")).next();
    let log = log.expect("a segment");
    let at = disk.read(&log).expect("a file").windows(5).position(|window| window == b"early");
    disk.decay(&log, |bytes| bytes[at.expect("the creation")] ^= 1).expect("a file");
    assert!(open(&disk).is_err());
    for dry_run in [true, false] {
        let report = run_repair(&disk, dry_run).expect("it can be repaired");
        assert!(report.notes.iter().any(|note| note.ends_with("is called recovered-1")), "{report:?}");
        assert!(!report.notes.iter().any(|note| note.contains("cannot be kept")), "{report:?}");
    }
    let mut engine = open(&disk).expect("it was repaired");
    for _ in 0..2 {
        assert_eq!(points(&engine, "recovered-1"), early);
        let names = engine.ok("list_collections", "", json!(null));
        assert_eq!(names["collections"].as_array().map(Vec::len), Some(1), "{names}");
        engine.restart();
    }
}

#[test]
fn a_folder_that_keeps_the_server_from_starting_is_found_by_a_check_and_kept_by_a_repair() {
    let (disk, _) = checkpointed_before_the_catalog();
    for name in disk.list("log").expect("a folder") {
        disk.remove(&format!("log/{name}")).expect("it is there");
    }
    assert!(open(&disk).is_err());
    assert_eq!(severities(&disk), [Severity::Damage]);
    let report = run_repair(&disk, false).expect("it can be repaired");
    assert!(!report.is_sound(), "{report:?}");
    // The log ended before what the checkpoints have: what is between is not missing from the one that begins.
    let mut engine = open(&disk).expect("it was repaired");
    for _ in 0..3 {
        for name in ["recovered-1", "recovered-2"] {
            assert_eq!(points(&engine, name).len(), 10, "{name}");
        }
        engine.restart();
    }
}

#[test]
fn operations_that_are_lost_at_the_end_of_a_collection_are_reported() {
    let (disk, _) = settled();
    let engine = open(&disk).expect("it opens");
    let marked =
        json!({"id": 200, "vector": vec![1.0; 64], "payload": {"text": "the last of this collection"}});
    engine.ok("upsert_points", "fresh", json!({"points": [marked]}));
    // What comes behind it proves that it was durable.
    upsert(&engine, "flat", 300..305, 0);
    drop(engine);
    disk.kill();
    let mark = b"the last of this collection";
    let holds = |path: &String| {
        let bytes = disk.read(path).expect("a file");
        bytes.windows(mark.len()).position(|window| window == mark)
    };
    let segments = disk.list("log").expect("a folder").into_iter().map(|name| format!("log/{name}"));
    let (path, at) =
        segments.filter_map(|path| holds(&path).map(|at| (path, at))).next_back().expect("a record");
    disk.decay(&path, |bytes| bytes[at] ^= 1).expect("the file is there");
    let report = run_repair(&disk, false).expect("it can be repaired");
    let [fresh] = &report.repaired[..] else { panic!("{report:?}") };
    let [lost] = &fresh.losses.operations[..] else { panic!("{report:?}") };
    assert_eq!(
        (fresh.name.as_str(), lost.clone()),
        ("fresh", OpNumber::new(6)..OpNumber::new(7)),
        "{report:?}"
    );
    assert_eq!(fresh.points, 25);
}

#[test]
fn points_that_the_log_puts_or_removes_again_are_not_reported_as_lost() {
    let mut engine = open(&SimDisk::new()).expect("an empty disk opens");
    engine.ok("create_collection", "flat", json!({"vectors": {"size": 64, "distance": "Euclid"}}));
    upsert(&engine, "flat", 0..60, 0);
    engine.checkpoint();
    let (before, name) = (engine.disk.duplicate(), "flat");
    upsert(&engine, name, 0..60, 1);
    engine.ok("delete_points", name, json!({"points": [1, 2, 3]}));
    engine.kill();
    let path = data_files(&before, 1).remove(0);
    let lost = |disk: &SimDisk| {
        disk.decay(&path, |bytes| bytes[5_000] ^= 1).expect("the file is there");
        let report = run_repair(disk, false).expect("it can be repaired");
        let losses = &report.repaired[0].losses;
        assert_eq!(losses.points(), losses.ids().count() as u64);
        (losses.points(), report.repaired[0].points)
    };
    let (points, left) = lost(&before);
    assert!(points > 0 && points + left == 60, "{points} lost, {left} left");
    assert_eq!(lost(&engine.disk), (0, 57));
}

#[test]
fn the_manifest_of_another_collection_is_detected() {
    let (disk, expected) = settled();
    let path = |collection: u64| format!("collections/{collection:016x}/MANIFEST");
    let other = disk.read(&path(1)).expect("a file");
    disk.decay(&path(2), |bytes| *bytes = other).expect("the file is there");
    let what = "the file MANIFEST is that of another collection, whose number is 1";
    let engine = open(&disk).expect("it opens");
    let faults = engine.engine().status().faults;
    assert!(faults.len() == 1 && format!("{faults:?}").contains(what), "{faults:?}");
    assert_eq!(points(&engine, "flat"), expected["flat"]);
    drop(engine);
    disk.kill();
    let report = check(Arc::new(disk.clone()), None, OPTIONS).expect("it can be checked");
    assert!(report.findings.listed.iter().any(|finding| finding.what.contains(what)), "{report:?}");
    let report = run_repair(&disk, false).expect("it can be repaired");
    let [multi] = &report.repaired[..] else { panic!("{report:?}") };
    assert!(multi.name == "multi" && multi.losses.notes[0].contains(what), "{report:?}");
    // It is still what it was created as.
    let engine = open(&disk).expect("it opens");
    upsert(&engine, "multi", 400..410, 0);
    assert_eq!(points(&engine, "flat"), expected["flat"]);
}

#[test]
fn a_damaged_header_of_a_manifest_loses_nothing_even_without_the_catalog() {
    let (disk, expected) = settled();
    for path in ["catalog/CATALOG", "collections/CATALOG"] {
        disk.decay(path, |bytes| bytes[20] ^= 1).expect("the file is there");
    }
    let manifest = "collections/0000000000000001/MANIFEST";
    disk.decay(manifest, |bytes| bytes[8] ^= 1).expect("the file is there");
    run_repair(&disk, false).expect("it can be repaired");
    assert_eq!(points(&open(&disk).expect("it opens"), "recovered-1"), expected["flat"]);
}

#[test]
fn what_a_check_and_the_plan_of_a_repair_read_they_cannot_change() {
    let disk = Arc::new(MemoryDisk::default());
    disk.create("a").expect("a file").append(b"before").expect("its bytes");
    let view = ReadOnly::new(Arc::<MemoryDisk>::clone(&disk));
    assert_eq!(view.read("a").expect("it is read"), b"before");
    assert!(view.create("b").is_err() && view.create_dir_all("d").is_err());
    assert!(view.rename("a", "b").is_err() && view.link("a", "b").is_err());
    assert!(view.remove("a").is_err() && view.remove_dir_all("d").is_err());
    assert!(view.truncate("a", 1).is_err());
    let mut file = view.open_append("a").expect("its length is known");
    assert!(file.append(b"after").is_err() && file.truncate(1).is_err() && file.sync().is_err());
    assert_eq!((disk.read("a").expect("it is there"), disk.exists("b")), (b"before".to_vec(), Ok(false)));
}

#[test]
fn a_number_that_only_the_record_of_a_creation_has_is_not_given_again_after_a_repair() {
    let (disk, expected) = settled();
    let mut engine = open(&disk).expect("it opens");
    let config = json!({"vectors": {"size": 64, "distance": "Euclid"}});
    engine.ok("create_collection", "late", config.clone());
    engine.kill();
    for path in ["catalog/CATALOG", "collections/CATALOG"] {
        disk.decay(path, |bytes| bytes[20] ^= 1).expect("the file is there");
    }
    run_repair(&disk, false).expect("it can be repaired");
    let mut engine = open(&disk).expect("it was repaired");
    engine.ok("create_collection", "new", config);
    upsert(&engine, "new", 0..5, 0);
    for _ in 0..2 {
        assert_eq!((points(&engine, "late").len(), points(&engine, "new").len()), (0, 5));
        assert_eq!(points(&engine, "fresh"), expected["fresh"]);
        engine.restart();
    }
}
