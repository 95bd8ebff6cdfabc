//! String ids in the files of a data directory.

use super::common::{SHORT_FILES, TestEngine};
use super::{create, scrolled};
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::integrity::{Severity, check, repair};
use kithdb_engine::storage::{SimDisk, Storage};
use serde_json::{Value, json};
use std::sync::Arc;

const OPTIONS: OpeningOptions = OpeningOptions { threads: 1, row_chunk_bytes: SHORT_FILES.row_chunk_bytes };
const MANIFEST: &str = "collections/0000000000000001/MANIFEST";

fn ids() -> Vec<Value> {
    let texts = (0..30).map(|n| json!(format!("document-{n:03}-{}", "x".repeat(n))));
    (0..5u64).map(|n| json!(n)).chain(texts).collect()
}

fn written() -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    create(&engine, "c");
    super::upsert(&engine, &ids());
    engine
}

/// The number at the eighth byte of a file: the version of its format.
fn version(disk: &SimDisk, path: &str) -> u8 {
    disk.read(path).expect("the file is there")[8]
}

#[test]
fn only_files_with_string_ids_have_the_version_that_earlier_releases_refuse_c21() {
    let engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine.ok("upsert_points", "d", json!({"points": [{"id": 1, "vector": [1.0, 0.0]}]}));
    engine.checkpoint();
    assert_eq!((version(&engine.disk, MANIFEST), version(&engine.disk, "catalog/CATALOG")), (3, 1));
    create(&engine, "c");
    super::upsert(&engine, &ids());
    engine.checkpoint();
    let of_strings = "collections/0000000000000002/MANIFEST";
    assert_eq!(version(&engine.disk, MANIFEST), 3);
    assert_eq!((version(&engine.disk, of_strings), version(&engine.disk, "catalog/CATALOG")), (8, 5));
}

#[test]
fn a_flipped_bit_is_found_and_what_is_left_is_saved_c21() {
    let mut engine = written();
    engine.checkpoint();
    let whole = engine.digest("c");
    engine.close();
    let files: Vec<String> = ["collections/0000000000000001", "catalog", "collections"]
        .into_iter()
        .flat_map(|dir| {
            engine.disk.list(dir).expect("a folder").into_iter().map(move |name| format!("{dir}/{name}"))
        })
        .filter(|path| engine.disk.read(path).is_ok_and(|bytes| !bytes.is_empty()))
        .collect();
    assert!(files.len() > 3, "{files:?}");
    for path in files {
        let len = engine.disk.read(&path).expect("it is there").len();
        for at in (0..len).step_by(1 + len / 23) {
            let mut other = engine.duplicate();
            other.disk.decay(&path, |bytes| bytes[at] ^= 0x10).expect("it is there");
            let report = check(Arc::new(other.disk.clone()), None, OPTIONS).expect("it can be checked");
            let is_found = report.findings.listed.iter().any(|finding| finding.severity != Severity::Note);
            if other.open().is_err() || other.call("count", "c", json!({})).is_err() {
                assert!(is_found, "{path}, byte {at}");
                other.close();
                let storage: Arc<dyn Storage> = Arc::new(other.disk.clone());
                repair(&storage, "salvaged", false, OPTIONS).expect("it can be repaired");
                other.open().expect("what is left opens");
            } else {
                assert_eq!(other.digest("c"), whole, "{path}, byte {at}");
            }
        }
    }
}

#[test]
fn a_cut_or_flipped_log_leaves_whole_writes_or_is_refused_c21() {
    let mut engine = written();
    engine.kill();
    let log = engine.disk.list("log").expect("a folder").into_iter().find(|name| name.ends_with(".log"));
    let path = format!("log/{}", log.expect("a segment"));
    let len = engine.disk.read(&path).expect("it is there").len();
    for at in (52..len).step_by(1 + len / 200) {
        let mut other = engine.duplicate();
        other.disk.decay(&path, |bytes| bytes[at] ^= 0x04).expect("it is there");
        if other.open().is_ok() && other.call("count", "c", json!({})).is_ok() {
            let found = scrolled(&other, 100);
            assert!(found.is_empty() || found == ids(), "byte {at}: {found:?}");
        }
    }
}

#[test]
fn a_snapshot_and_a_release_of_the_files_keep_the_ids_c21() {
    let mut engine = written();
    let whole = engine.digest("c");
    for _ in 0..2 {
        engine.checkpoint();
        engine.ok("delete_points", "c", json!({"points": ["document-000-"]}));
        engine.ok(
            "upsert_points",
            "c",
            json!({"points": [{"id": "document-000-", "vector": [5.0, 0.5], "payload": {"n": 5}}]}),
        );
        engine.restart();
    }
    assert_eq!(engine.digest("c"), whole);
}
