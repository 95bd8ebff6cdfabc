//! Random damage to random directories.

use crate::common::{Random, TestEngine, setting};
use crate::files::{File, Kind, damage, files};
use crate::shared;
use crate::specimen::{self, NAMES, Sizes};
use crate::{THRESHOLDS, is_quarantined_properly, lost_parts_delete_nothing};
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Damages of a normal run; `npm run test:long` has many more.
const DAMAGES: u64 = 100;
/// Damages that are tried on copies of one directory.
const A_DIRECTORY: u64 = 50;

/// How often each kind of damage ended in each way.
type Outcomes = BTreeMap<String, u64>;

/// A directory at rest, and what its collections answer.
struct Directory {
    disk: SimDisk,
    files: Vec<File>,
    expected: BTreeMap<String, Value>,
}

/// Gives each collection and the catalog operations with ids, so that their files have the lists of these.
fn name_operations(engine: &TestEngine) {
    let client = engine.client();
    let send = |id, operation, name, body: &str| {
        let body = body.as_bytes().to_vec();
        client.answer_named(Some(id), operation, name, None, true, body).expect("it is accepted");
    };
    for (id, name) in (1..).zip(NAMES) {
        send(id, "delete_points", name, "{\"points\":[18446744073709551615]}");
    }
    send(1, "create_collection", "gone", "{\"vectors\":{\"size\":1,\"distance\":\"Dot\"}}");
    send(2, "delete_collection", "gone", "");
}

impl Directory {
    fn new(seed: u64) -> Directory {
        let mut engine = TestEngine::with(SimDisk::new(), seed, THRESHOLDS).expect("an empty disk opens");
        specimen::write(&mut engine, Sizes { points: 50, sparse: 60 }, seed);
        shared::write(&engine);
        name_operations(&engine);
        specimen::scramble(&mut engine, &mut Random(seed), seed % 4 * 10);
        shared::change(&engine);
        // Opening again makes the last records provably durable.
        engine.restart();
        let shown = |name: &str| (name.to_string(), shared::shown(&engine, name));
        let expected = shared::names().into_iter().map(shown).collect();
        engine.kill();
        let files = files(&engine.disk);
        for kind in Kind::ALL {
            assert!(files.iter().any(|file| file.kind == kind), "no {kind:?} in {files:?}");
        }
        Directory { disk: engine.disk.clone(), files, expected }
    }

    /// Damages a copy and checks the effect; returns what happened.
    fn try_damage(&self, seed: u64) -> String {
        let random = &mut Random(seed ^ 0xda_3a6e);
        let disk = self.disk.duplicate();
        let mut damaged: BTreeMap<&str, Kind> = BTreeMap::new();
        let mut how = format!("damage {seed}");
        for _ in 0..if random.chance(85) { 1 } else { 2 } {
            let kind = Kind::ALL[random.below(Kind::ALL.len() as u64) as usize];
            let of_kind: Vec<&File> = self.files.iter().filter(|file| file.kind == kind).collect();
            let file = of_kind[random.below(of_kind.len() as u64) as usize];
            if damaged.insert(&file.path, kind).is_none() {
                how += &format!("; {} ({kind:?}): {}", file.path, damage(&disk, file, random));
            }
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| self.open(disk, &damaged)));
        match outcome {
            Ok(outcome) => {
                let kinds: Vec<String> = damaged.values().map(|kind| format!("{kind:?}")).collect();
                format!("{}: {outcome}", kinds.join(" and "))
            }
            Err(_) => panic!("{how}"),
        }
    }

    fn open(&self, disk: SimDisk, damaged: &BTreeMap<&str, Kind>) -> String {
        let is = |kinds: &[Kind]| damaged.values().any(|kind| kinds.contains(kind));
        let is_log = is(&[Kind::Segment]) || is(&[Kind::CutMark]) && is(&[Kind::CutMarkCopy]);
        let mut engine = match TestEngine::with(disk, 1, THRESHOLDS) {
            Ok(engine) => engine,
            Err(sentence) => {
                let has_catalog = !(is(&[Kind::Catalog]) && is(&[Kind::CatalogCopy]));
                assert!(!has_catalog || is_log, "does not open: {sentence}");
                assert!(sentence.contains("CATALOG") || sentence.contains("log"), "{sentence}");
                return "does not open".to_string();
            }
        };
        let list = engine.ok("list_collections", "", json!(null))["collections"].clone();
        let mut quarantined = BTreeSet::new();
        for name in shared::names() {
            assert!(list.to_string().contains(name), "{name} is gone: {list}");
            let info = engine.ok("collection_info", name, json!(null));
            if info["status"] == json!("red") {
                let fault = info["optimizer_status"]["error"].as_str().expect("a fault");
                let named = ["MANIFEST", ".data", "log"].iter().any(|file| fault.contains(file));
                assert!(named && fault.contains("kithdb check"), "{name}: {fault}");
                quarantined.insert(name);
            } else {
                assert_eq!(
                    shared::shown(&engine, name),
                    self.expected[name],
                    "{name} answers something else"
                );
            }
        }
        if !is_log {
            let folders: BTreeSet<&str> = damaged
                .iter()
                .filter(|(_, kind)| matches!(kind, Kind::Manifest | Kind::Data))
                .filter_map(|(path, _)| path.split('/').nth(1))
                .collect();
            // A file that a collection shares with its clone, or with what was recovered of its snapshot, is a file of
            // both.
            let most = folders.len() + shared::beside_others(&quarantined);
            assert!(quarantined.len() <= most, "{quarantined:?} are quarantined");
        }
        if !quarantined.contains(shared::CHANGED) {
            lost_parts_delete_nothing(&engine, shared::CHANGED);
        }
        // The others go on, now and after a restart that changes nothing about the damage.
        let new = json!({"points": [{"id": 777_777, "vector": {}, "payload": {"n": 1}}]});
        for name in shared::names().iter().filter(|name| !quarantined.contains(*name)) {
            engine.ok("upsert_points", name, new.clone());
        }
        engine.checkpoint();
        engine.restart();
        for name in shared::names() {
            let red = engine.ok("collection_info", name, json!(null))["status"] == json!("red");
            assert_eq!(red, quarantined.contains(name), "{name} after a restart");
            if red {
                is_quarantined_properly(&engine, name);
            } else {
                let filter = json!({"must": {"has_id": [777_777]}});
                assert_eq!(
                    engine.ok("count", name, json!({"filter": filter})),
                    json!({"count": 1}),
                    "{name}"
                );
                engine.ok("delete_points", name, json!({"points": [777_777]}));
                assert_eq!(shared::shown(&engine, name), self.expected[name], "{name} after a restart");
            }
        }
        engine.restart();
        for name in &quarantined {
            assert_eq!(engine.ok("count", name, json!({})), json!({"count": 5}), "{name} made anew");
        }
        format!("{} quarantined", quarantined.len())
    }
}

#[test]
fn damage_never_makes_an_answer_wrong_c10_2() {
    let damages: u64 = setting("KITHDB_ROT").unwrap_or(DAMAGES);
    let first: u64 = setting("KITHDB_FIRST_ROT").unwrap_or(0);
    let next = AtomicU64::new(first / A_DIRECTORY);
    let outcomes: Mutex<Outcomes> = Mutex::default();
    let failed = AtomicBool::new(false);
    let work = || {
        loop {
            let directory = next.fetch_add(1, Ordering::Relaxed);
            let seeds =
                (directory * A_DIRECTORY).max(first)..((directory + 1) * A_DIRECTORY).min(first + damages);
            if seeds.is_empty() || failed.load(Ordering::Relaxed) {
                return;
            }
            let made = Directory::new(directory);
            for seed in seeds {
                match catch_unwind(AssertUnwindSafe(|| made.try_damage(seed))) {
                    Ok(outcome) => *outcomes.lock().unwrap().entry(outcome).or_default() += 1,
                    Err(_) => {
                        failed.store(true, Ordering::Relaxed);
                        eprintln!(
                            "again: KITHDB_FIRST_ROT={seed} KITHDB_ROT=1 cargo test -p kithdb-engine --test damage damage_never"
                        );
                        return;
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    eprintln!("{:#?}", outcomes.lock().unwrap());
    assert!(!failed.load(Ordering::Relaxed), "see above");
}
