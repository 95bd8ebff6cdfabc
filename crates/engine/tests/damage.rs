//! Decay of the medium: flipped bits, zeroed pages and lost tails in every kind of file. Whatever is damaged, no answer
//! is wrong: it is the same, or the collection says that it is faulty, or the engine says why it does not open (C10.2).
//!
//! `KITHDB_DAMAGES` sets how many random damages are tried.

mod common;

use common::{Random, TestEngine};
use kithdb_engine::limits::Thresholds;
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Random damages of a normal run.
const DAMAGES: u64 = 500;
const NAMES: [&str; 4] = ["flat", "graph", "half", "fresh"];
/// Segments so short that damage also hits others than the last.
const THRESHOLDS: Thresholds = Thresholds {
    checkpoint_bytes: 64 << 20,
    log_budget_bytes: 1 << 30,
    log_segment_bytes: 6 << 10,
    graph_step_rows: 1,
    vacuum_rows: 10,
    order_rows: 30,
    row_chunk_bytes: 4 << 10,
};

/// What a file is, and so what its damage may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Catalog,
    Log,
    /// Data or manifest of one collection.
    Data,
    Graph,
}

/// Components of a collection's vectors; those of `graph` soon outgrow the scan.
fn size(name: &str) -> u64 {
    if name == "graph" { 128 } else { 4 }
}

/// Everything that a client sees of a collection.
fn shown(engine: &TestEngine, name: &str) -> Value {
    let size = size(name);
    let query: Vec<f32> = (0..size).map(|at| at as f32 / 16.0).collect();
    let search = |exact: bool| {
        let params = json!({"exact": exact, "hnsw_ef": 500});
        engine.ok("search", name, json!({"vector": query, "limit": 10, "params": params}))
    };
    let filter = json!({"filter": {"must": {"key": "n", "range": {"gte": 7}}}});
    json!([engine.digest(name), search(true), search(false), engine.ok("count", name, filter)])
}

fn upsert(engine: &TestEngine, name: &str, ids: std::ops::Range<u64>) {
    let size = size(name);
    let vector = |id: u64| (0..size).map(|at| ((id * 31 + at * 7) % 17) as f32 / 4.0).collect::<Vec<_>>();
    let point =
        |id| json!({"id": id, "vector": vector(id), "payload": {"n": id % 20, "text": "y".repeat(200)}});
    engine.ok("upsert_points", name, json!({"points": ids.map(point).collect::<Vec<_>>()}));
}

/// A directory at rest: two collections in checkpoints, one half in the log, one only there.
fn settled() -> (SimDisk, BTreeMap<&'static str, Value>) {
    let mut engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    let create = |engine: &TestEngine, name: &str| {
        let size = size(name);
        let hnsw = json!({"full_scan_threshold": 10});
        let vectors = json!({"size": size, "distance": "Euclid"});
        engine.ok("create_collection", name, json!({"vectors": vectors, "hnsw_config": hnsw}));
    };
    for name in ["flat", "graph", "half"] {
        create(&engine, name);
        engine.ok("create_field_index", name, json!({"field_name": "n", "field_schema": "integer"}));
        for part in 0..3 {
            upsert(&engine, name, part * 20..part * 20 + 20);
        }
    }
    engine.checkpoint();
    upsert(&engine, "flat", 50..70);
    engine.checkpoint();
    for part in 0..10 {
        upsert(&engine, "half", part * 10 + 5..part * 10 + 15);
    }
    create(&engine, "fresh");
    for part in 0..10 {
        upsert(&engine, "fresh", part * 10..part * 10 + 10);
    }
    engine.ok("delete_points", "half", json!({"points": [1, 2, 3]}));
    // Opening again makes the last records provably durable: only then is their loss damage and not a torn tail.
    engine.restart();
    let expected = NAMES.iter().map(|name| (*name, shown(&engine, name))).collect();
    engine.kill();
    (engine.disk.clone(), expected)
}

/// All files with what they are.
fn files(disk: &SimDisk) -> Vec<(String, Kind)> {
    let list = |dir: &str| disk.list(dir).expect("a directory");
    let mut files = vec![("catalog/CATALOG".to_string(), Kind::Catalog)];
    files.extend(list("log").into_iter().map(|name| (format!("log/{name}"), Kind::Log)));
    for dir in list("collections") {
        for name in list(&format!("collections/{dir}")) {
            let path = format!("collections/{dir}/{name}");
            let start = disk.read(&path).expect("a file").get(64..72).map(<[u8]>::to_vec);
            let kind = if start.as_deref() == Some(b"KITHHNSW") { Kind::Graph } else { Kind::Data };
            files.push((path, kind));
        }
    }
    files
}

/// Damages a file; says how.
fn damage(disk: &SimDisk, path: &str, random: &mut Random) -> String {
    let mut how = String::new();
    disk.decay(path, |bytes| {
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(4) {
            0 | 1 => {
                // Headers are small: half of the flips go there.
                let at = if random.chance(50) { at.min(random.below(128) as usize) } else { at };
                bytes[at] ^= 1 << random.below(8);
                how = format!("a bit flipped at {at}");
            }
            2 => {
                let end = bytes.len().min(at + 1 + random.below(4096) as usize);
                bytes[at..end].fill(0);
                how = format!("zeros at {at}..{end}");
            }
            _ => {
                bytes.truncate(at);
                how = format!("cut to {at} bytes");
            }
        }
    })
    .expect("the file is there");
    how
}

/// A quarantined collection says so, and can be deleted and made anew.
fn is_quarantined_properly(engine: &TestEngine, name: &str) {
    let info = engine.ok("collection_info", name, json!(null));
    assert_eq!(info["status"], json!("red"));
    assert!(info["optimizer_status"]["error"].as_str().is_some_and(|fault| !fault.contains('/')), "{info}");
    assert_eq!(engine.ok("collection_exists", name, json!(null)), json!({"exists": true}));
    for (operation, body) in [
        ("count", json!({})),
        ("scroll", json!({})),
        ("delete_points", json!({"points": [1]})),
        ("update_collection", json!({"metadata": {}})),
    ] {
        assert_eq!(engine.refused(operation, name, body).0, "collection_fault", "{operation}");
    }
    assert_eq!(engine.ok("delete_collection", name, json!(null)), json!(true));
    let vectors = json!({"size": size(name), "distance": "Euclid"});
    engine.ok("create_collection", name, json!({"vectors": vectors}));
    upsert(engine, name, 0..5);
}

#[test]
fn damage_never_makes_an_answer_wrong_c10_2() {
    let damages = std::env::var("KITHDB_DAMAGES").map_or(DAMAGES, |text| text.parse().expect("a number"));
    let (disk, expected) = settled();
    let files = files(&disk);
    for kind in [Kind::Catalog, Kind::Log, Kind::Data, Kind::Graph] {
        assert!(files.iter().any(|(_, found)| *found == kind), "no {kind:?} in {files:?}");
    }
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..damages {
        let mut random = Random(seed);
        let copy = disk.duplicate();
        let (path, kind) = &files[random.below(files.len() as u64) as usize];
        let how = format!("seed {seed}: {path} ({kind:?}): {}", damage(&copy, path, &mut random));
        let mut engine = match TestEngine::with(copy.clone(), 1, THRESHOLDS) {
            Ok(engine) => engine,
            Err(sentence) => {
                assert!(matches!(kind, Kind::Catalog | Kind::Log), "{how}: does not open: {sentence}");
                assert!(sentence.len() > 20, "{how}: {sentence}");
                *outcomes.entry(format!("{kind:?} refused")).or_default() += 1;
                continue;
            }
        };
        let list = engine.ok("list_collections", "", json!(null))["collections"].clone();
        let mut quarantined = Vec::new();
        for name in NAMES {
            assert!(list.to_string().contains(name), "{how}: {name} is gone");
            let info = engine.ok("collection_info", name, json!(null));
            if info["status"] == json!("red") {
                quarantined.push(name);
            } else {
                assert_eq!(shown(&engine, name), expected[name], "{how}: {name} answers something else");
            }
        }
        let allowed = match kind {
            Kind::Data => 1,
            Kind::Log => NAMES.len(),
            Kind::Catalog | Kind::Graph => 0,
        };
        assert!(quarantined.len() <= allowed, "{how}: {quarantined:?} are quarantined");
        *outcomes.entry(format!("{kind:?} quarantined {}", quarantined.len())).or_default() += 1;
        // The others go on, now and after a restart that changes nothing about the damage.
        for name in NAMES.iter().filter(|name| !quarantined.contains(name)) {
            upsert(&engine, name, 300..301);
        }
        engine.checkpoint();
        engine.restart();
        for name in NAMES {
            let red = engine.ok("collection_info", name, json!(null))["status"] == json!("red");
            assert_eq!(red, quarantined.contains(&name), "{how}: {name} after a restart");
            if red {
                is_quarantined_properly(&engine, name);
            } else {
                let count = engine.ok("count", name, json!({"filter": {"must": {"has_id": [300]}}}));
                assert_eq!(count, json!({"count": 1}), "{how}: {name}");
            }
        }
        engine.restart();
        for name in quarantined {
            assert_eq!(engine.ok("count", name, json!({})), json!({"count": 5}), "{how}: {name} made anew");
        }
    }
    eprintln!("{outcomes:#?}");
}

#[test]
fn a_damaged_graph_is_built_again_and_nothing_else_changes() {
    let (disk, expected) = settled();
    let (path, _) = files(&disk).into_iter().find(|(_, kind)| *kind == Kind::Graph).expect("a graph file");
    disk.decay(&path, |bytes| bytes[100] ^= 1).expect("the file is there");
    let mut engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
    let info = engine.ok("collection_info", "graph", json!(null));
    assert_eq!((info["status"].as_str(), info["indexed_vectors_count"].as_u64()), (Some("yellow"), Some(0)));
    assert_eq!(shown(&engine, "graph"), expected["graph"]);
    engine.checkpoint();
    engine.restart();
    engine.build_indexes();
    let info = engine.ok("collection_info", "graph", json!(null));
    assert_eq!((info["status"].as_str(), info["indexed_vectors_count"].as_u64()), (Some("green"), Some(60)));
    assert_eq!(shown(&engine, "graph"), expected["graph"]);
}

#[test]
fn a_catalog_that_cannot_be_read_stops_the_start_with_a_sentence() {
    let (disk, _) = settled();
    disk.decay("catalog/CATALOG", |bytes| *bytes.last_mut().expect("not empty") ^= 1)
        .expect("the file is there");
    let refusal = TestEngine::with(disk, 1, THRESHOLDS).err();
    assert_eq!(refusal.as_deref(), Some("the file CATALOG is damaged"));
}

#[test]
fn a_missing_data_file_quarantines_its_collection_alone() {
    let (disk, expected) = settled();
    let (path, _) = files(&disk).into_iter().find(|(path, _)| path.ends_with(".data")).expect("a data file");
    disk.remove(&path).expect("it can be removed");
    disk.kill();
    let engine = TestEngine::with(disk, 1, THRESHOLDS).expect("it opens");
    let fault = engine.ok("collection_info", "flat", json!(null))["optimizer_status"]["error"].clone();
    assert_eq!(fault, json!("data file 1: a file is missing"));
    assert_eq!(engine.engine().status().faults.len(), 1);
    for name in ["graph", "half", "fresh"] {
        assert_eq!(shown(&engine, name), expected[name]);
    }
    is_quarantined_properly(&engine, "flat");
}
