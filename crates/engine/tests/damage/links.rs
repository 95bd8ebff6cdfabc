//! Damage of a file that a clone shares with its source by a hard link (C26): it is damage of both. Neither answers
//! wrongly, and what ends one of them leaves the file of the other.

use crate::common::{Random, TestEngine};
use crate::files::{self, File, Kind};
use crate::{THRESHOLDS, is_quarantined_properly, shown, upsert};
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::integrity::{Severity, check, repair};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The source has a graph, and so has its clone.
const SOURCE: &str = "graph";
const CLONE: &str = "clone";
const OTHER: &str = "other";
const NAMES: [&str; 3] = [SOURCE, CLONE, OTHER];
const BOTH: [&str; 2] = [SOURCE, CLONE];
/// Folders of the source and of its clone.
const FOLDERS: [&str; 2] = ["collections/0000000000000001", "collections/0000000000000003"];
/// Damages of each file.
const DAMAGES: u64 = 12;
const OPTIONS: OpeningOptions = OpeningOptions { threads: 1, row_chunk_bytes: THRESHOLDS.row_chunk_bytes };

/// An engine with a source, its clone, and another collection, all in checkpoints.
fn cloned() -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    for (name, size) in [(SOURCE, 128), (OTHER, 4)] {
        let vectors = json!({"size": size, "distance": "Euclid"});
        let hnsw = json!({"full_scan_threshold": 10});
        engine.ok("create_collection", name, json!({"vectors": vectors, "hnsw_config": hnsw}));
        upsert(&engine, name, 0..25);
    }
    engine.checkpoint();
    // Into a file of its own.
    upsert(&engine, SOURCE, 25..40);
    engine.checkpoint();
    engine.ok("clone_collection", SOURCE, json!({"name": CLONE}));
    engine.checkpoint();
    engine
}

/// What each collection answers.
fn answers(engine: &TestEngine) -> BTreeMap<&'static str, Value> {
    NAMES.into_iter().map(|name| (name, answer(engine, name))).collect()
}

/// The vectors of a clone are as long as those of its source.
fn answer(engine: &TestEngine, name: &'static str) -> Value {
    if name == OTHER { engine.digest(name) } else { shown(engine, name) }
}

fn status(engine: &TestEngine, name: &str) -> Value {
    engine.ok("collection_info", name, json!(null))["status"].clone()
}

/// The files that have a name in the folder of the clone, and the same content in that of its source.
fn shared_files(disk: &SimDisk) -> Vec<File> {
    let all = files::files(disk).into_iter();
    let mut shared: Vec<File> = all.filter(|file| file.path.starts_with(FOLDERS[1])).collect();
    shared.retain(|file| file.kind != Kind::Manifest);
    for file in &shared {
        let of_source = disk.read(&in_folder(file, 0)).expect("the source has it");
        assert!(of_source == disk.read(&file.path).expect("a file"), "{}", file.path);
    }
    let kinds: BTreeSet<Kind> = shared.iter().map(|file| file.kind).collect();
    assert_eq!(kinds, BTreeSet::from([Kind::Data, Kind::Graph]));
    shared
}

fn in_folder(file: &File, folder: usize) -> String {
    file.path.replace(FOLDERS[1], FOLDERS[folder])
}

/// Deletes one of the two; its folder goes, and no file of the other one.
fn delete(engine: &TestEngine, name: &str) {
    let kept = usize::from(name == SOURCE);
    let before = engine.disk.list(FOLDERS[kept]).expect("a folder");
    engine.ok("delete_collection", name, json!(null));
    engine.engine().catalog().remove_detached();
    assert!(!engine.disk.exists(FOLDERS[1 - kept]).expect("the disk works"), "{name} is gone");
    assert_eq!(engine.disk.list(FOLDERS[kept]).expect("a folder"), before, "files of the other");
}

#[test]
fn damage_of_a_file_that_a_clone_shares_is_damage_of_both_and_the_end_of_one_leaves_the_other_c26() {
    let mut engine = cloned();
    let expected = answers(&engine);
    engine.close();
    let (sound, mut quarantines) = (engine.disk.clone(), 0);
    for file in shared_files(&sound) {
        for seed in 0..DAMAGES {
            let disk = sound.duplicate();
            let random = &mut Random(seed);
            let how = files::spoil_at(&disk, &in_folder(&file, seed as usize % 2), random);
            let what = format!("{} ({:?}): {how}", file.path, file.kind);
            let mut engine = TestEngine::with(disk, 1, THRESHOLDS).expect("the others are served");
            let red: Vec<&str> = NAMES.into_iter().filter(|name| status(&engine, name) == "red").collect();
            assert!(red.is_empty() || (red == BOTH && file.kind == Kind::Data), "{red:?}: {what}");
            quarantines += usize::from(!red.is_empty());
            for name in NAMES.iter().filter(|name| !red.contains(name)) {
                assert_eq!(answer(&engine, name), expected[name], "{name}: {what}");
            }
            let [ended, left] = if seed % 4 < 2 { BOTH } else { [CLONE, SOURCE] };
            delete(&engine, ended);
            for restarted in [false, true] {
                if restarted {
                    engine.restart();
                }
                assert_eq!(status(&engine, left) == "red", red.contains(&left), "{left}: {what}");
                if red.is_empty() {
                    assert_eq!(answer(&engine, left), expected[left], "{left}: {what}");
                }
            }
            if !red.is_empty() {
                is_quarantined_properly(&engine, left);
            }
            assert_eq!(answer(&engine, OTHER), expected[OTHER], "{what}");
        }
    }
    assert!(quarantines > DAMAGES as usize, "{quarantines} damages quarantined both");
}

#[test]
fn the_end_of_one_of_two_that_share_their_files_leaves_the_other_whole_c26() {
    for has_links in [true, false] {
        let mut engine = cloned();
        if !has_links {
            engine.disk.forbid_links();
        }
        let expected = answers(&engine);
        engine.ok("clone_collection", CLONE, json!({"name": "again"}));
        for name in [SOURCE, CLONE] {
            engine.ok("delete_collection", name, json!(null));
            engine.engine().catalog().remove_detached();
            engine.restart();
            assert_eq!(shown(&engine, "again"), expected[CLONE], "without {name}");
        }
        engine.close();
        let report = check(Arc::new(engine.disk.clone()), None, OPTIONS).expect("it can be checked");
        assert!(report.findings.listed.iter().all(|finding| finding.severity == Severity::Note));
    }
}

#[test]
fn a_scrub_finds_damage_of_a_shared_file_in_both_while_they_are_served_c26() {
    for end in BOTH {
        let engine = cloned();
        let expected = answers(&engine);
        let shared = shared_files(&engine.disk);
        let graph = shared.iter().find(|file| file.kind == Kind::Graph).expect("a graph");
        engine.disk.decay(&graph.path, |bytes| bytes[100] ^= 1).expect("it is there");
        engine.engine().scrub_once();
        assert_eq!(engine.engine().scrub_report().graph_failures, 2, "of both");
        engine.checkpoint();
        assert_eq!(answers(&engine), expected);
        let data = shared.iter().find(|file| file.kind == Kind::Data).expect("data");
        engine.disk.decay(&data.path, |bytes| bytes[100] ^= 1).expect("it is there");
        engine.engine().scrub_once();
        assert_eq!(engine.engine().scrub_report().data_failures, 2, "of both");
        assert_eq!(NAMES.map(|name| status(&engine, name) == "red"), [true, true, false]);
        delete(&engine, end);
        let left = if end == SOURCE { CLONE } else { SOURCE };
        assert!(engine.disk.exists(&in_folder(data, usize::from(left == CLONE))).expect("the disk works"));
        is_quarantined_properly(&engine, left);
        assert_eq!(answer(&engine, OTHER), expected[OTHER]);
    }
}

#[test]
fn a_repair_keeps_of_both_what_verifies_and_what_it_sets_aside_outlives_them_c26() {
    let mut engine = cloned();
    let expected = answers(&engine);
    engine.close();
    let shared = shared_files(&engine.disk);
    let data = shared.iter().find(|file| file.kind == Kind::Data).expect("data");
    let spoil = |bytes: &mut Vec<u8>| {
        let at = bytes.windows(3).rposition(|window| window == b"yyy").expect("a text");
        bytes[at] ^= 1;
    };
    engine.disk.decay(&data.path, spoil).expect("it is there");
    let damaged = engine.disk.read(&data.path).expect("it is there");
    let storage: Arc<dyn Storage> = Arc::new(engine.disk.clone());
    let report = repair(&storage, "stamp", false, OPTIONS).expect("it can be repaired");
    let repaired: BTreeSet<&str> = report.repaired.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(repaired, BTreeSet::from(BOTH), "{report:?}");
    let aside = report.salvage.expect("something was set aside");
    engine.open().expect("what was repaired opens");
    assert!(engine.engine().status().faults.is_empty());
    let points =
        |engine: &TestEngine, name: &str| engine.digest(name)["points"].as_array().expect("a page").clone();
    let kept = points(&engine, SOURCE);
    assert_eq!(kept, points(&engine, CLONE));
    let before = expected[SOURCE][0]["points"].as_array().expect("a page");
    assert!(!kept.is_empty() && kept.len() < before.len(), "{} of {}", kept.len(), before.len());
    assert!(kept.iter().all(|point| before.contains(point)), "what is kept is as it was");
    engine.ok("delete_collection", SOURCE, json!(null));
    engine.checkpoint();
    engine.restart();
    assert_eq!(points(&engine, CLONE), kept);
    for folder in [0, 1] {
        let path = format!("{aside}/{}", in_folder(data, folder));
        assert_eq!(engine.disk.read(&path).expect("it is set aside"), damaged);
    }
}
