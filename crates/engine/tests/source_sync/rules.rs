//! What is refused, revisions, plans, and what a caller reaches.

use crate::common::TestEngine;
use crate::{
    Caller, bare, body, content, counts, new_engine, part, records, refusal, revision, stored, sync,
};
use kithdb_engine::limits::Limits;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[test]
fn what_does_not_fit_to_the_scope_is_refused_and_names_the_points_c20() {
    for seed in [1, 2] {
        let engine = new_engine(seed);
        let stored = [content(1, "a", "one"), content(2, "b", "one"), content(3, "a", "one")];
        engine.ok("upsert_points", "c", json!({"points": stored}));
        let before = engine.digest("c");
        let cases = [
            (
                vec![content(1, "a", "one"), content(7, "b", "x")],
                "bad_request",
                "points: 7 do not match the scope",
            ),
            // Also where it would be left alone.
            (vec![content(1, "b", "one")], "bad_request", "points: 1 do not match the scope"),
            (vec![content(2, "a", "x")], "sync_conflict", "points: 2 are stored outside the scope"),
            (vec![bare(2, "one")], "sync_conflict", "points: 2 are stored outside the scope"),
            (
                vec![bare(1, "two"), bare(3, "one"), bare(8, "x")],
                "sync_conflict",
                "points: 1, 8 are new or changed",
            ),
        ];
        for (points, code, why) in cases {
            let (found, message) = refusal(&engine, &body("a", &points));
            assert!(found == code && message.contains(why), "{points:?}: {found} {message}");
            assert_eq!(engine.digest("c"), before);
        }
        // The vectors are those of an upsert.
        let short = json!({"id": 7, "vector": [1], "payload": {"source": "a", "hash": "x"}});
        assert_eq!(refusal(&engine, &body("a", &[short])).0, "dimension_mismatch");
        assert_eq!(engine.digest("c"), before);
    }
}

#[test]
fn a_misspelt_or_empty_scope_deletes_nothing_c20() {
    let engine = new_engine(1);
    engine.ok(
        "upsert_points",
        "c",
        json!({"points": (0..4).map(|id| content(id, "a", "x")).collect::<Vec<_>>()}),
    );
    let before = engine.digest("c");
    let (all, key) = (json!({"key": "source", "match": {"value": "a"}}), "hash");
    let refused = [
        (json!({"scop": {"must": all}, "hash_key": key, "points": []}), "scop"),
        (json!({"filter": {"must": all}, "hash_key": key, "points": []}), "filter"),
        (json!({"hash_key": key, "points": []}), "scope"),
        (json!({"hash_key": key, "points": [], "all": true}), "scope"),
        (json!({"scope": null, "hash_key": key, "points": []}), "scope"),
        (json!({"scope": {}, "hash_key": key, "points": []}), "scope"),
        (json!({"scope": {}, "hash_key": key, "points": [], "all": false}), "scope"),
        (json!({"scope": {"must": []}, "hash_key": key, "points": []}), "scope"),
        (json!({"scope": {"must": [{"must": []}]}, "hash_key": key, "points": []}), "scope"),
        (json!({"scope": {"should": [{}, all]}, "hash_key": key, "points": []}), "scope"),
        (json!({"scope": {"mst": all}, "hash_key": key, "points": []}), "scope"),
        (json!({"scope": {"must": all}, "all": true, "hash_key": key, "points": []}), "all"),
        (json!({"scope": {"must": all}, "hash_key": key}), "points"),
        (json!({"scope": {"must": all}, "hash_key": key, "point": []}), "point"),
        (json!({"scope": {"must": all}, "points": []}), "hash_key"),
        (json!({"scope": {"must": all}, "hash_key": "l[].h", "points": []}), "hash_key"),
        (json!({"scope": {"must": all}, "hash_key": key, "points": [], "last": true}), "last"),
        (
            json!({"scope": {"must": all}, "hash_key": key, "points": [], "sync_id": "s", "if_revision": "0".repeat(32)}),
            "if_revision",
        ),
        (json!({"scope": {"must": all}, "hash_key": key, "points": [], "if_revision": "7"}), "if_revision"),
        (json!({"scope": {"must": all}, "hash_key": key, "points": [{"id": 1}]}), "points[0].hash"),
        (
            json!({"scope": {"must": all}, "hash_key": key, "points": [{"id": 1, "hash": null}]}),
            "points[0].hash",
        ),
        (
            json!({"scope": {"must": all}, "hash_key": key, "points": [{"id": 1, "hash": 1.5}]}),
            "points[0].hash",
        ),
        (
            json!({"scope": {"must": all}, "hash_key": key, "points": [{"id": 1, "vector": [1, 2]}]}),
            "points[0].payload",
        ),
        (
            json!({"scope": {"must": all}, "hash_key": key, "points": [{"id": 1, "payload": {"hash": "x"}}]}),
            "points[0].vector",
        ),
        (
            json!({"scope": {"must": all}, "hash_key": key, "points": [{"id": 1, "hash": "x", "vector": [1, 2], "payload": {"hash": "x"}}]}),
            "points[0].hash",
        ),
    ];
    for (body, place) in refused {
        let (code, message) = refusal(&engine, &body);
        assert!(["bad_request", "missing_field", "filter_parse"].contains(&&*code), "{body}: {code}");
        assert!(message.starts_with(place), "{body}: {message}");
        assert_eq!(engine.digest("c"), before, "{body}");
    }
    // All points, said so.
    let all = json!({"scope": {}, "all": true, "hash_key": key, "points": [bare(2, "x")]});
    assert_eq!(counts(&sync(&engine, &all)), [0, 0, 1, 3]);
}

#[test]
fn any_write_to_the_scope_changes_its_revision_and_no_other_does_c20() {
    for seed in [1, 2] {
        let engine = new_engine(seed);
        let points: Vec<Value> = (0..4).map(|id| content(id, "a", "x")).collect();
        let mut last = sync(&engine, &body("a", &points))["revision"].as_str().expect("one").to_string();
        let mut seen = BTreeSet::from([last.clone()]);
        let writes = [
            ("upsert_points", json!({"points": [content(1, "a", "x")]})),
            ("upsert_points", json!({"points": [content(50, "a", "x")]})),
            ("delete_points", json!({"points": [50]})),
            ("set_payload", json!({"payload": {"note": 1}, "points": [2]})),
            ("update_vectors", json!({"points": [{"id": 3, "vector": [5, 5]}]})),
            ("overwrite_payload", json!({"payload": {"source": "b"}, "points": [3]})),
            ("set_payload", json!({"payload": {"source": "a"}, "points": [3]})),
        ];
        for (operation, write) in writes {
            engine.ok(operation, "c", write.clone());
            let now = revision(&engine, "a");
            if operation == "delete_points" {
                // The points and their versions are again what they were before the one before.
                assert_ne!(now, last);
            } else {
                assert!(seen.insert(now.clone()), "{operation} {write}");
            }
            let mut stale = body("a", &[]);
            stale["if_revision"] = json!(last);
            let (code, message) = refusal(&engine, &stale);
            assert!(code == "sync_conflict" && message.contains(&now), "{message}");
            last = now;
        }
        engine.ok("upsert_points", "c", json!({"points": [content(70, "b", "x")]}));
        engine.ok("create_field_index", "c", json!({"field_name": "source", "field_schema": "keyword"}));
        engine.build_indexes();
        assert_eq!(revision(&engine, "a"), last);
        let mut fresh = body("a", &[content(0, "a", "y")]);
        fresh["if_revision"] = json!(last);
        let answer = sync(&engine, &fresh);
        assert_eq!(answer["revision"], json!(revision(&engine, "a")));
    }
}

#[test]
fn a_plan_names_what_needs_content_and_changes_nothing_c20() {
    let engine = new_engine(1);
    let points =
        [content(1, "a", "one"), content(2, "a", "one"), content(3, "a", "one"), content(4, "b", "one")];
    engine.ok("upsert_points", "c", json!({"points": points}));
    let before = (records(&engine), engine.digest("c"));
    let asked = [bare(9, "x"), bare(2, "two"), bare(1, "one"), bare(9, "x")];
    let plan = engine.ok("plan_sync", "c", body("a", &asked));
    let expected =
        json!({"needed": [9, 2], "unchanged": 1, "deleted": 1, "revision": revision(&engine, "a")});
    assert_eq!(plan, expected);
    assert_eq!((records(&engine), engine.digest("c")), before);
    let caller = Caller::default();
    let (code, _) = caller.refused(&engine, "plan_sync", &body("a", &[bare(4, "one")]));
    assert_eq!(code, "sync_conflict");
    let (code, message) = caller.refused(&engine, "plan_sync", &body("a", &[content(1, "a", "one")]));
    assert!(code == "bad_request" && message.starts_with("points[0].vector"), "{message}");
    // What the plan asked for is what the sync takes.
    let sent = [content(9, "a", "x"), content(2, "a", "two"), bare(1, "one")];
    let mut body = body("a", &sent);
    body["if_revision"] = plan["revision"].clone();
    assert_eq!(counts(&sync(&engine, &body)), [1, 1, 1, 1]);
}

#[test]
fn a_caller_with_a_filter_syncs_what_it_reaches_c15_c20() {
    for seed in [1, 2] {
        let engine = new_engine(seed);
        let points: Vec<Value> = (0..8).map(|id| content(id, "a", "x")).collect();
        engine.ok("upsert_points", "c", json!({"points": points}));
        engine.ok("upsert_points", "c", json!({"points": [content(20, "b", "x")]}));
        let own = Caller { tenant: Some(0), ..Caller::default() };
        let before = engine.digest("c");
        let plan = own.call(&engine, "plan_sync", &body("a", &[bare(0, "x"), bare(1, "x")])).expect("a plan");
        // The point of another tenant is absent for this one.
        assert_eq!(
            (&plan["needed"], &plan["unchanged"], &plan["deleted"]),
            (&json!([1]), &json!(1), &json!(3))
        );
        assert_ne!(plan["revision"], json!(revision(&engine, "a")));
        for refused in [content(1, "a", "y"), bare(1, "x"), content(31, "a", "y")] {
            let (code, _) = own.refused(&engine, "sync_points", &body("a", std::slice::from_ref(&refused)));
            assert_eq!(code, "points_forbidden", "{refused}");
        }
        // One that it reaches, outside the scope.
        assert_eq!(own.refused(&engine, "sync_points", &body("a", &[bare(20, "x")])).0, "sync_conflict");
        assert_eq!(engine.digest("c"), before);
        let mut sent = body("a", &[bare(0, "x"), content(2, "a", "y"), content(30, "a", "y")]);
        sent["if_revision"] = plan["revision"].clone();
        let answer = own.call(&engine, "sync_points", &sent).expect("it is done");
        assert_eq!(counts(&answer), [1, 1, 1, 2]);
        let found: Vec<u64> = stored(&engine).into_keys().collect();
        assert_eq!(found, [0, 1, 2, 3, 5, 7, 20, 30]);
        let plan = own.call(&engine, "plan_sync", &body("a", &[])).expect("a plan");
        assert_eq!(plan["revision"], answer["revision"]);
    }
}

#[test]
fn points_whose_time_has_come_are_none_of_the_scope_c17_c20() {
    for seed in [1, 2] {
        let engine = TestEngine::new(seed);
        let config = json!({"vectors": {"size": 2, "distance": "Dot"}, "expire_at_key": "until"});
        engine.ok("create_collection", "c", config);
        let mut over = content(1, "a", "x");
        over["payload"]["until"] = json!(1);
        engine.ok("upsert_points", "c", json!({"points": [over, content(2, "a", "x")]}));
        let plan = engine.ok("plan_sync", "c", body("a", &[bare(1, "x"), bare(2, "x")]));
        assert_eq!((&plan["needed"], &plan["unchanged"]), (&json!([1]), &json!(1)));
        let answer = sync(&engine, &body("a", &[content(1, "a", "x")]));
        assert_eq!(counts(&answer), [1, 0, 0, 1]);
        assert_eq!(stored(&engine).into_keys().collect::<Vec<_>>(), [1]);
    }
}

#[test]
fn entries_of_id_and_hash_have_a_limit_of_their_own_c20_c2_7() {
    let engine = new_engine(1);
    let limits = Limits::default();
    let many = limits.max_points_per_request + 1;
    let hashes: Vec<Value> = (0..many as u64).map(|id| bare(id, "x")).collect();
    let plan = engine.ok("plan_sync", "c", body("a", &hashes));
    assert_eq!(plan["needed"].as_array().map(Vec::len), Some(many));
    let contents: Vec<Value> = (0..many as u64).map(|id| content(id, "a", "x")).collect();
    let (code, message) = refusal(&engine, &body("a", &contents));
    assert!(code == "bad_request" && message.contains("max_points_per_request"), "{message}");
    let (first, rest) = contents.split_at(limits.max_points_per_request);
    assert_eq!(sync(&engine, &part(first, &json!({}))), json!({"staged": first.len()}));
    let answer = sync(&engine, &part(rest, &json!({"last": true, "staged": first.len()})));
    assert_eq!(counts(&answer), [many as u64, 0, 0, 0]);
    assert_eq!(counts(&sync(&engine, &body("a", &hashes))), [0, 0, many as u64, 0]);
}

#[test]
fn a_sync_without_content_is_done_where_row_numbers_are_used_up_c20() {
    let limits = Limits { max_rows: 2, ..Limits::default() };
    let engine = TestEngine::with_limits(limits);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let points: Vec<Value> = (0..3).map(|id| content(id, "a", "x")).collect();
    assert_eq!(counts(&sync(&engine, &body("a", &points))), [3, 0, 0, 0]);
    let (code, message) = refusal(&engine, &body("a", &[content(0, "a", "y")]));
    assert!(code == "internal" && message.contains("a new collection"), "{code}: {message}");
    assert_eq!(counts(&sync(&engine, &body("a", &[bare(0, "x")]))), [0, 0, 1, 2]);
}
