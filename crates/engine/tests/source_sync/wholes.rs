//! What a sync does, and what a repeat of it gets.

use crate::{Caller, bare, body, content, counts, new_engine, records, revision, stored, sync};
use serde_json::{Value, json};

#[test]
fn a_sync_adds_updates_leaves_alone_and_deletes_in_one_record_c20() {
    for seed in [1, 2] {
        let mut engine = new_engine(seed);
        engine.ok("upsert_points", "c", json!({"points": [content(100, "other", "x")]}));
        let first: Vec<Value> = (0..6).map(|id| content(id, "a", "one")).collect();
        let before = records(&engine);
        let answer = sync(&engine, &body("a", &first));
        assert_eq!(counts(&answer), [6, 0, 0, 0]);
        assert_eq!(records(&engine), before + 1);
        let points = [content(0, "a", "two"), bare(1, "one"), content(2, "a", "one"), content(9, "a", "one")];
        let answer = sync(&engine, &body("a", &points));
        assert_eq!(counts(&answer), [1, 1, 2, 3]);
        assert_eq!(records(&engine), before + 2, "one record");
        assert_eq!(answer["revision"], json!(revision(&engine, "a")));
        let found: Vec<u64> = stored(&engine).into_keys().collect();
        assert_eq!(found, [0, 1, 2, 9, 100]);
        let versions = engine.digest("c");
        engine.power_cut(seed);
        assert_eq!(engine.digest("c"), versions);
        assert_eq!(answer["revision"], json!(revision(&engine, "a")), "a restart changes no revision");
        // The last of a repeated id counts.
        let twice = [bare(0, "no"), bare(0, "two"), bare(1, "one"), bare(2, "one"), bare(9, "one")];
        assert_eq!(counts(&sync(&engine, &body("a", &twice))), [0, 0, 4, 0]);
        // No points clear the scope.
        assert_eq!(counts(&sync(&engine, &body("a", &[]))), [0, 0, 0, 4]);
        assert_eq!(stored(&engine).into_keys().collect::<Vec<_>>(), [100]);
    }
}

#[test]
fn a_sync_that_changes_nothing_has_no_record_unless_it_has_an_operation_id_c20() {
    for seed in [1, 2] {
        let engine = new_engine(seed);
        let points: Vec<Value> = (0..5).map(|id| content(id, "a", "one")).collect();
        let first = sync(&engine, &body("a", &points));
        let before = records(&engine);
        let again = sync(&engine, &body("a", &points));
        assert_eq!((counts(&again), &again["revision"]), ([0, 0, 5, 0], &first["revision"]));
        let hashes: Vec<Value> = (0..5).map(|id| bare(id, "one")).collect();
        assert_eq!(counts(&sync(&engine, &body("a", &hashes))), [0, 0, 5, 0]);
        assert_eq!(records(&engine), before);
        let caller = Caller { operation_id: Some(7), ..Caller::default() };
        let answered = caller.call(&engine, "sync_points", &body("a", &hashes)).expect("it is done");
        assert_eq!((records(&engine), counts(&answered)), (before + 1, [0, 0, 5, 0]));
    }
}

#[test]
fn a_repeat_gets_the_answer_of_the_sync_and_changes_nothing_c20_c25() {
    let mut engine = new_engine(1);
    let caller = Caller { operation_id: Some(9), ..Caller::default() };
    let points = [content(1, "a", "one"), content(2, "a", "one")];
    let answer = caller.call(&engine, "sync_points", &body("a", &points)).expect("it is done");
    engine.ok("delete_points", "c", json!({"points": [1]}));
    let after = engine.digest("c");
    for step in 0..3 {
        let repeat = caller.call(&engine, "sync_points", &body("a", &points));
        assert_eq!(repeat.expect("it is repeated"), answer, "after step {step}");
        assert_eq!(engine.digest("c"), after);
        match step {
            0 => engine.restart(),
            _ => {
                engine.checkpoint();
                engine.restart();
            }
        }
    }
    // The id is that of a sync, and the other way round.
    let upserted = caller.call(&engine, "upsert_points", &json!({"points": [content(3, "a", "x")]}));
    assert_eq!(upserted.expect("it is repeated").get("skipped"), None);
    let other = Caller { operation_id: Some(10), ..Caller::default() };
    other.call(&engine, "upsert_points", &json!({"points": [content(3, "b", "x")]})).expect("it is done");
    let (code, why) = other.refused(&engine, "sync_points", &body("a", &points));
    assert!(code == "sync_conflict" && why.contains("Idempotency-Key"), "{why}");
}
