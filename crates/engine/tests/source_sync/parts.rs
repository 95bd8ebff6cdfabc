//! Parts of a source, and texts in it.

use crate::common::TestEngine;
use crate::{
    Caller, bare, body, content, counts, new_engine, part, records, refusal, revision, scope, stored, sync,
};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::error::Error;
use kithdb_engine::limits::MAX_STAGED_SYNCS;
use kithdb_engine::storage::Storage as _;
use serde_json::{Value, json};

#[test]
fn parts_are_staged_and_the_last_applies_all_in_one_record_c20() {
    for seed in [1, 2] {
        let engine = new_engine(seed);
        let points: Vec<Value> = (0..10).map(|id| content(id, "a", "x")).collect();
        engine.ok("upsert_points", "c", json!({"points": [content(50, "a", "x"), points[3]]}));
        let before = (records(&engine), engine.digest("c"));
        assert_eq!(sync(&engine, &part(&points[..4], &json!({}))), json!({"staged": 4}));
        assert_eq!(sync(&engine, &part(&points[4..8], &json!({"last": false}))), json!({"staged": 8}));
        // A part that is sent again counts once.
        assert_eq!(sync(&engine, &part(&points[4..8], &json!({}))), json!({"staged": 8}));
        assert_eq!((records(&engine), engine.digest("c")), before);
        // Another caller's sync of that name is another one.
        let other = Caller { name: "other", ..Caller::default() };
        let answer = other.call(&engine, "sync_points", &part(&points[..1], &json!({})));
        assert_eq!(answer.expect("it is staged"), json!({"staged": 1}));
        let last = part(&points[8..], &json!({"last": true, "staged": 8}));
        let answer = sync(&engine, &last);
        assert_eq!(counts(&answer), [9, 0, 1, 1]);
        assert_eq!(records(&engine), before.0 + 1);
        assert_eq!(stored(&engine).into_keys().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        // It is over.
        let (code, message) = refusal(&engine, &last);
        assert!(code == "sync_conflict" && message.starts_with("staged: 0 points"), "{message}");
        assert_eq!(stored(&engine).len(), 10);
    }
}

#[test]
fn a_last_part_without_all_parts_before_it_deletes_nothing_c20() {
    let engine = new_engine(1);
    let points: Vec<Value> = (0..9).map(|id| content(id, "a", "x")).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    let before = engine.digest("c");
    // The second of three parts did not arrive.
    sync(&engine, &part(&points[..3], &json!({})));
    let last = part(&points[6..], &json!({"last": true, "staged": 6}));
    let (code, message) = refusal(&engine, &last);
    assert!(code == "sync_conflict" && message.starts_with("staged: 3 points"), "{message}");
    assert_eq!(engine.digest("c"), before);
    // Nothing is kept: all parts are sent again under the same name.
    assert_eq!(sync(&engine, &part(&points[..6], &json!({}))), json!({"staged": 6}));
    let other = Caller { name: "other", ..Caller::default() };
    assert_eq!(other.refused(&engine, "sync_points", &last).0, "sync_conflict");
    assert_eq!(counts(&sync(&engine, &last)), [0, 0, 9, 0]);
    assert_eq!(engine.digest("c"), before);
    // Parts of a collection that is gone are none of the next one.
    sync(&engine, &part(&points[..6], &json!({})));
    engine.ok("delete_collection", "c", json!(null));
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    assert_eq!(refusal(&engine, &last).0, "sync_conflict");
}

#[test]
fn parts_that_a_restart_lost_delete_nothing_c20() {
    let mut engine = new_engine(1);
    let points: Vec<Value> = (0..9).map(|id| content(id, "a", "x")).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    let before = engine.digest("c");
    // Neither the next part nor the last one goes on where parts are lost, and neither has to say how many there were.
    for next in [part(&points[3..6], &json!({})), part(&points[6..], &json!({"last": true}))] {
        sync(&engine, &part(&points[..3], &json!({})));
        engine.restart();
        let (code, message) = refusal(&engine, &next);
        assert!(code == "sync_conflict" && message.starts_with("sync_id: parts"), "{message}");
        assert_eq!(engine.digest("c"), before);
    }
    // It was said: all parts can be sent again under the same name.
    for part in points[..6].chunks(3).map(|some| part(some, &json!({}))) {
        sync(&engine, &part);
    }
    let last = part(&points[6..8], &json!({"last": true}));
    assert_eq!(counts(&sync(&engine, &last)), [0, 0, 8, 1]);
    // What has ended is not lost, and a source of one part has no others.
    engine.restart();
    assert_eq!(counts(&sync(&engine, &part(&points[..7], &json!({"last": true})))), [0, 0, 7, 1]);
    engine.restart();
    assert_eq!(counts(&sync(&engine, &part(&points, &json!({"last": true, "staged": 0})))), [2, 0, 7, 0]);
}

#[test]
fn a_last_part_that_comes_twice_deletes_nothing_c20() {
    let engine = new_engine(1);
    let points: Vec<Value> = (0..6).map(|id| content(id, "a", "x")).collect();
    sync(&engine, &part(&points[..4], &json!({})));
    let last = part(&points[4..], &json!({"last": true}));
    assert_eq!(counts(&sync(&engine, &last)), [6, 0, 0, 0]);
    let before = engine.digest("c");
    for _ in 0..2 {
        let (code, message) = refusal(&engine, &last);
        assert!(code == "sync_conflict" && message.starts_with("staged: is needed here"), "{message}");
        assert_eq!(engine.digest("c"), before);
    }
    // The same name can be used again: in parts, and where the part says that it is all.
    sync(&engine, &part(&points[..3], &json!({})));
    assert_eq!(counts(&sync(&engine, &part(&points[3..5], &json!({"last": true})))), [0, 0, 5, 1]);
    let whole = part(&points[..4], &json!({"last": true, "staged": 0}));
    assert_eq!(counts(&sync(&engine, &whole)), [0, 0, 4, 1]);
    // What never had parts can be repeated, and has nothing to do with a sync of another collection.
    let mut alone = part(&points[..4], &json!({"last": true}));
    alone["sync_id"] = json!("alone");
    for _ in 0..2 {
        assert_eq!(counts(&sync(&engine, &alone)), [0, 0, 4, 0]);
    }
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    assert_eq!(counts(&engine.ok("sync_points", "d", last)), [2, 0, 0, 0]);
}

#[test]
fn parts_to_an_alias_that_is_switched_between_them_delete_nothing_c20() {
    let points: Vec<Value> = (0..9).map(|id| content(id, "a", "x")).collect();
    let next =
        [part(&points[6..], &json!({"last": true})), part(&points[6..], &json!({"last": true, "staged": 3}))];
    for next in next.into_iter().chain([part(&points[3..6], &json!({}))]) {
        let engine = new_engine(1);
        let switch = |to: &str| {
            let alias = json!({"create_alias": {"collection_name": to, "alias_name": "live"}});
            engine.ok("change_aliases", "", json!({"actions": [alias]}));
        };
        engine.ok("upsert_points", "c", json!({"points": points}));
        engine.ok("clone_collection", "c", json!({"name": "d"}));
        let before = [engine.digest("c"), engine.digest("d")];
        switch("c");
        assert_eq!(engine.ok("sync_points", "live", part(&points[..3], &json!({}))), json!({"staged": 3}));
        switch("d");
        assert_eq!(engine.refused("sync_points", "live", next.clone()).0, "sync_conflict", "{next}");
        assert_eq!([engine.digest("c"), engine.digest("d")], before);
        // It was said: all parts can be sent again.
        assert_eq!(engine.ok("sync_points", "live", part(&points[..6], &json!({}))), json!({"staged": 6}));
        let last = part(&points[6..8], &json!({"last": true}));
        assert_eq!(counts(&engine.ok("sync_points", "live", last)), [0, 0, 8, 1]);
        assert_eq!(engine.digest("c"), before[0]);
    }
}

#[test]
fn parts_of_a_collection_that_another_one_has_replaced_delete_nothing_c20() {
    let points: Vec<Value> = (0..9).map(|id| content(id, "a", "x")).collect();
    for is_removed in [false, true] {
        for next in [part(&points[6..], &json!({"last": true})), part(&points[3..6], &json!({}))] {
            let engine = new_engine(1);
            sync(&engine, &part(&points[..3], &json!({})));
            engine.ok("delete_collection", "c", json!(null));
            engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
            engine.ok("upsert_points", "c", json!({"points": points}));
            if is_removed {
                engine.work(GraphPolicy::Never);
            }
            let before = engine.digest("c");
            let (code, message) = refusal(&engine, &next);
            assert!(code == "sync_conflict" && message.starts_with("sync_id: parts"), "{message}");
            assert_eq!(engine.digest("c"), before);
            sync(&engine, &part(&points[..6], &json!({})));
            assert_eq!(counts(&sync(&engine, &part(&points[6..], &json!({"last": true})))), [0, 0, 9, 0]);
        }
    }
}

#[test]
fn parts_of_a_collection_that_is_quarantined_meanwhile_are_lost_c20() {
    let mut engine = new_engine(1);
    let points: Vec<Value> = (0..9).map(|id| content(id, "a", "x")).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    engine.checkpoint();
    sync(&engine, &part(&points[..3], &json!({})));
    // Everything behind the header, twice what it was.
    let damage = |engine: &TestEngine| {
        let flip = |bytes: &mut Vec<u8>| bytes[64..].iter_mut().for_each(|byte| *byte ^= 1);
        engine.disk.decay("collections/0000000000000001/00000001.data", flip).expect("the file is there");
    };
    damage(&engine);
    engine.engine().scrub_once();
    assert_eq!(refusal(&engine, &part(&points[6..], &json!({"last": true}))).0, "collection_fault");
    // Another sync looks for those that have ended.
    engine.ok("create_collection", "d", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine.ok("sync_points", "d", part(&points[..1], &json!({})));
    damage(&engine);
    engine.restart();
    let before = engine.digest("c");
    let (code, message) = refusal(&engine, &part(&points[6..], &json!({"last": true})));
    assert!(code == "sync_conflict" && message.starts_with("sync_id: parts"), "{message}");
    assert_eq!(engine.digest("c"), before);
}

#[test]
fn parts_have_one_scope_and_a_failed_last_part_can_be_sent_again_c20() {
    let engine = new_engine(2);
    let points: Vec<Value> = (0..6).map(|id| content(id, "a", "x")).collect();
    sync(&engine, &part(&points[..3], &json!({})));
    for (field, other) in [("scope", scope("b")), ("hash_key", json!("h2"))] {
        let mut changed = part(&[], &json!({}));
        changed[field] = other;
        let (code, message) = refusal(&engine, &changed);
        assert!(code == "sync_conflict" && message.starts_with(field), "{message}");
    }
    let mut last = part(&points[3..], &json!({"last": true, "staged": 3, "if_revision": "f".repeat(32)}));
    assert!(refusal(&engine, &last).1.starts_with("if_revision"));
    last["if_revision"] = json!(revision(&engine, "a"));
    let caller = Caller { operation_id: Some(3), ..Caller::default() };
    let answer = caller.call(&engine, "sync_points", &last).expect("it is done");
    assert_eq!(counts(&answer), [6, 0, 0, 0]);
    // The repeat of the last part needs no parts.
    assert_eq!(caller.call(&engine, "sync_points", &last).expect("it is repeated"), answer);
}

#[test]
fn nothing_of_a_last_part_that_failed_is_applied_with_another_one_c20() {
    let engine = new_engine(2);
    engine.ok("upsert_points", "c", json!({"points": [content(9, "a", "x")]}));
    let named = |points: &[Value], more: Value| {
        let mut part = part(points, &more);
        part["sync_id"] = json!("again");
        part
    };
    sync(&engine, &named(&[content(1, "a", "x"), content(2, "a", "x")], json!({})));
    // One point is new, and one replaces that of a part before.
    let failing = [content(2, "a", "y"), content(3, "a", "x")];
    let failed = named(&failing, json!({"last": true, "staged": 2, "if_revision": "f".repeat(32)}));
    assert!(refusal(&engine, &failed).1.starts_with("if_revision"));
    assert_eq!(sync(&engine, &named(&[content(4, "a", "x")], json!({}))), json!({"staged": 3}));
    assert!(
        refusal(&engine, &named(&failing, json!({"last": true, "if_revision": "f".repeat(32)})))
            .1
            .starts_with("if_")
    );
    let answer = sync(&engine, &named(&[content(5, "a", "x")], json!({"last": true, "staged": 3})));
    assert_eq!(counts(&answer), [4, 0, 0, 1]);
    assert_eq!(stored(&engine).into_keys().collect::<Vec<_>>(), [1, 2, 4, 5]);
    let found = engine.ok("retrieve_points", "c", json!({"ids": [2], "with_payload": true}));
    assert_eq!(found[0]["payload"], content(2, "a", "x")["payload"]);
}

#[test]
fn so_many_syncs_are_staged_at_a_time_and_those_go_on_c20() {
    let engine = new_engine(1);
    let named = |at: usize, points: &[Value], more: Value| {
        let mut part = part(points, &more);
        part["sync_id"] = json!(format!("s{at}"));
        part
    };
    for at in 0..MAX_STAGED_SYNCS {
        assert_eq!(sync(&engine, &named(at, &[content(1, "a", "x")], json!({}))), json!({"staged": 1}));
    }
    let one_more = named(MAX_STAGED_SYNCS, &[content(1, "a", "x")], json!({}));
    assert_eq!(refusal(&engine, &one_more).0, "overloaded");
    // What was refused has no parts that could be lost: a note of it would only take room.
    let noted = engine.disk.read("catalog/staged-syncs").expect("notes").len();
    assert_eq!(refusal(&engine, &named(MAX_STAGED_SYNCS + 1, &[], json!({}))).0, "overloaded");
    assert_eq!(engine.disk.read("catalog/staged-syncs").expect("notes").len(), noted);
    assert_eq!(sync(&engine, &named(0, &[content(2, "a", "x")], json!({}))), json!({"staged": 2}));
    let answer = sync(&engine, &named(0, &[], json!({"last": true, "staged": 2})));
    assert_eq!(counts(&answer), [2, 0, 0, 0]);
    assert_eq!(sync(&engine, &one_more), json!({"staged": 1}));
}

#[test]
fn vectors_are_asked_for_of_points_that_are_new_or_changed_alone_c16_c20() {
    for seed in [1, 2] {
        let engine = new_engine(seed);
        engine.ok("upsert_points", "c", json!({"points": [content(1, "a", "one"), content(2, "a", "one")]}));
        let caller = Caller { gives_out_texts: true, ..Caller::default() };
        let text = |id: u64, hash: &str| {
            let mut point = content(id, "a", hash);
            point["vector"] = json!({"text": format!("text {id}"), "model": "m"});
            point
        };
        let asked = |body: &Value| match caller.call(&engine, "sync_points", body) {
            Err(Error::VectorsWanted(inputs)) => inputs.into_iter().map(|input| input.text).collect(),
            other => vec![format!("{other:?}")],
        };
        let points = [text(1, "one"), text(2, "two"), text(3, "one")];
        assert_eq!(asked(&body("a", &points)), ["text 2", "text 3"]);
        assert_eq!(asked(&part(&points, &json!({}))), ["text 2", "text 3"]);
        // All that are asked for are there; that of the unchanged point is not.
        let with_vector = |id: u64, hash: &str| {
            let mut point = text(id, hash);
            point["vector"]["vector"] = json!([id, 7]);
            point
        };
        let supplied = [text(1, "one"), with_vector(2, "two"), with_vector(3, "one")];
        let answer = caller.call(&engine, "sync_points", &body("a", &supplied)).expect("it is done");
        assert_eq!(counts(&answer), [1, 1, 1, 0]);
        let shown = engine.ok("retrieve_points", "c", json!({"ids": [1, 3], "with_vector": true}));
        assert_eq!((&shown[0]["vector"], &shown[1]["vector"]), (&json!([1.0, 1.0]), &json!([3.0, 7.0])));
        // Without anybody who makes vectors the model is unknown, changed or not.
        assert_eq!(refusal(&engine, &body("a", &points)).0, "bad_request");
        // A point that was changed after its part was staged without a vector.
        assert_eq!(
            caller.call(&engine, "sync_points", &part(&[text(1, "one")], &json!({}))).expect("staged"),
            json!({"staged": 1})
        );
        engine.ok("set_payload", "c", json!({"payload": {"hash": "other"}, "points": [1]}));
        let last = part(&[bare(2, "two"), bare(3, "one")], &json!({"last": true, "staged": 1}));
        let (code, message) = caller.refused(&engine, "sync_points", &last);
        assert!(code == "sync_conflict" && message.contains("send all again"), "{message}");
    }
}
