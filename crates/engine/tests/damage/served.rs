//! Decay of files that are served: code that would write damaged bytes with a new checksum verifies them first.

use crate::common::TestEngine;
use crate::files::{Kind, files};
use crate::{THRESHOLDS, upsert};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::storage::SimDisk;
use serde_json::json;

/// A collection of that many points in one checkpoint, without a graph.
fn served(points: u64) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), 1, THRESHOLDS).expect("an empty disk opens");
    engine.ok("create_collection", "flat", json!({"vectors": {"size": 4, "distance": "Euclid"}}));
    upsert(&engine, "flat", 0..points);
    engine.checkpoint();
    engine
}

/// Flips a bit of the last text, or of the first vector, of the first data file.
fn decay(engine: &TestEngine, is_text: bool) {
    let data = files(&engine.disk).into_iter().find(|file| file.kind == Kind::Data).expect("a data file");
    // The second component of the first point's vector.
    let component = (7.0f32 / 4.0).to_le_bytes();
    let spoil = |bytes: &mut Vec<u8>| {
        let at = if is_text {
            bytes.windows(3).rposition(|window| window == b"yyy")
        } else {
            bytes.windows(4).position(|window| window == component)
        };
        bytes[at.expect("it is in the file")] ^= 1;
    };
    engine.disk.decay(&data.path, spoil).expect("it is there");
}

/// Reads and writes are refused with the file's name and with advice, now and after a restart.
fn is_quarantined(mut engine: TestEngine) {
    for restarted in [false, true] {
        for (operation, body) in [
            ("count", json!({})),
            ("search", json!({"vector": [0, 0, 0, 0]})),
            ("delete_points", json!({"points": [1]})),
        ] {
            let (code, details) = engine.refused(operation, "flat", body);
            assert_eq!(code, "collection_fault", "{operation}, restarted: {restarted}");
            let details = details.to_string();
            assert!(details.contains("the file 00000001.data is damaged"), "{details}");
            assert!(details.contains("kithdb repair"), "{details}");
        }
        assert_eq!(engine.engine().status().faults.len(), 1);
        assert_eq!(engine.ok("collection_info", "flat", json!(null))["status"], json!("red"));
        if !restarted {
            engine.restart();
        }
    }
}

#[test]
fn bytes_that_are_copied_forward_are_verified_and_decay_quarantines_the_collection() {
    let engine = served(20);
    decay(&engine, true);
    // Most of the file is dead, so a checkpoint copies the rest.
    upsert(&engine, "flat", 0..15);
    engine.checkpoint();
    is_quarantined(engine);
}

#[test]
fn rows_that_a_vacuum_moves_are_verified_first() {
    let engine = served(200);
    decay(&engine, false);
    // The first chunk is mostly dead, and its first row is not.
    engine.ok("delete_points", "flat", json!({"points": (1..60).collect::<Vec<_>>()}));
    engine.work(GraphPolicy::WhenGrown);
    is_quarantined(engine);
}

#[test]
fn the_unedited_part_of_a_payload_is_verified_before_it_is_written_again() {
    let engine = served(20);
    decay(&engine, true);
    engine.ok("set_payload", "flat", json!({"payload": {"n": 1000}, "points": [19]}));
    engine.checkpoint();
    is_quarantined(engine);
    // What is replaced as a whole comes from nowhere.
    let engine = served(20);
    decay(&engine, true);
    engine.ok("overwrite_payload", "flat", json!({"payload": {"n": 1000}, "points": [19]}));
    engine.checkpoint();
    assert_eq!(engine.ok("count", "flat", json!({})), json!({"count": 20}));
}
