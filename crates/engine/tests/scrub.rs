//! Decay of files while they are served: found by the scrub, before an answer is wrong or a start fails.

mod common;

use common::TestEngine;
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::integrity::check;
use kithdb_engine::storage::Storage;
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

fn is_clean(engine: &TestEngine) -> bool {
    let options = OpeningOptions { threads: 1, ..OpeningOptions::default() };
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
    assert_eq!((report.findings[0].collection.as_str(), &report.findings[0].file), ("hit", &path));
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
