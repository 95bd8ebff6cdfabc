//! Syncs of a source (C20): random ones compared with a model, and each clause of the rule.

mod common;

use common::{Random, SHORT_FILES, TestEngine, request, result_of};
use kithdb_engine::api;
use kithdb_engine::collection::update::Update;
use kithdb_engine::collection::{Class, HeavyWrite, Slice, Step, Write, WriteRequest};
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::Access;
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::recent_operations::CallIdentity;
use kithdb_engine::storage::SimDisk;
use kithdb_engine::types::OperationId;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn new_engine(seed: u64) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine
}

/// Who sends a request.
#[derive(Clone, Default)]
struct Caller {
    name: &'static str,
    tenant: Option<u64>,
    operation_id: Option<u128>,
    gives_out_texts: bool,
}

impl Caller {
    fn call(&self, engine: &TestEngine, operation: &str, body: &Value) -> Result<Value, Error> {
        let mut sent = request(operation, "c", body);
        sent.caller = self.name.into();
        sent.gives_out_texts = self.gives_out_texts;
        sent.identity =
            self.operation_id.map(|id| CallIdentity { id: OperationId::new(id), first_sent: None });
        sent.access = self.tenant.map(|tenant| {
            let limits = json!({"filter": {"must": {"key": "tenant", "match": {"value": tenant}}}});
            Arc::new(Access::parse(limits.to_string().as_bytes(), &Limits::default()).expect("it is read"))
        });
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        engine.engine().execute(sent, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        let answered = answer.lock().unwrap().take().expect("answered before it returns");
        answered.map(|envelope| result_of(&envelope))
    }

    /// The code and the message of a refusal.
    fn refused(&self, engine: &TestEngine, operation: &str, body: &Value) -> (String, String) {
        let error = self.call(engine, operation, body).expect_err("it is refused");
        let details: Value = serde_json::from_slice(&error.details_json()).expect("details are JSON");
        let text = ["message", "field"].iter().find_map(|key| details.get(key)?.as_str());
        (error.code().to_string(), text.unwrap_or_default().to_string())
    }
}

fn sync(engine: &TestEngine, body: &Value) -> Value {
    Caller::default().call(engine, "sync_points", body).unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn refusal(engine: &TestEngine, body: &Value) -> (String, String) {
    Caller::default().refused(engine, "sync_points", body)
}

fn scope(source: &str) -> Value {
    json!({"must": {"key": "source", "match": {"value": source}}})
}

/// A point with content.
fn content(id: u64, source: &str, hash: &str) -> Value {
    json!({"id": id, "vector": [id, 1], "payload": {"source": source, "tenant": id % 2, "hash": hash}})
}

fn bare(id: u64, hash: &str) -> Value {
    json!({"id": id, "hash": hash})
}

fn body(source: &str, points: &[Value]) -> Value {
    json!({"scope": scope(source), "hash_key": "hash", "points": points})
}

fn counts(answer: &Value) -> [u64; 4] {
    ["added", "updated", "unchanged", "deleted"].map(|key| answer[key].as_u64().expect("a count"))
}

fn revision(engine: &TestEngine, source: &str) -> String {
    let plan = engine.ok("plan_sync", "c", body(source, &[]));
    plan["revision"].as_str().expect("a revision").to_string()
}

/// Records in the log so far.
fn records(engine: &TestEngine) -> u64 {
    engine.engine().log_position().get()
}

/// The source and the hash of each point.
fn stored(engine: &TestEngine) -> BTreeMap<u64, (String, String)> {
    let page = engine.ok("scroll", "c", json!({"limit": 10_000, "with_payload": true}));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let of = |point: &Value| {
        let payload = &point["payload"];
        (point["id"].as_u64().expect("an id"), (text(&payload["source"]), text(&payload["hash"])))
    };
    page["points"].as_array().expect("points").iter().map(of).collect()
}

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
            json!({"scope": {"must": all}, "hash_key": key, "points": [], "last": true, "sync_id": "s"}),
            "staged",
        ),
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

fn part(points: &[Value], more: &Value) -> Value {
    let mut part = body("a", points);
    part["sync_id"] = json!("s");
    for (key, value) in more.as_object().expect("an object") {
        part[key] = value.clone();
    }
    part
}

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
    let mut engine = new_engine(1);
    let points: Vec<Value> = (0..9).map(|id| content(id, "a", "x")).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    let before = engine.digest("c");
    sync(&engine, &part(&points[..3], &json!({})));
    engine.restart();
    sync(&engine, &part(&points[3..6], &json!({})));
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
            let (code, _) = own.refused(&engine, "sync_points", &body("a", &[refused.clone()]));
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

/// A sync that is resolved beside the writer, step by step.
fn heavy(engine: &TestEngine, body: &Value, answer: &Arc<Mutex<Option<bool>>>) -> HeavyWrite {
    let collection = engine.engine().catalog().collections().remove(0);
    let bytes = body.to_string().into_bytes();
    let sync = api::sync_points(&bytes, &Limits::default()).expect("a sync").sync;
    let slot = Arc::clone(answer);
    let class = collection.classify(WriteRequest {
        write: Write::Points { updates: vec![Update::Sync(Box::new(sync))], batch: None, within: None },
        identity: None,
        deadline: Deadline::new(Instant::now(), Duration::from_secs(3600), "Sync"),
        bytes: bytes.len(),
        reply: Box::new(move |result| *slot.lock().unwrap() = Some(result.is_ok())),
    });
    match class {
        Class::Heavy(write) => write,
        Class::Light(_) => panic!("every second engine has no light writes"),
    }
}

#[test]
fn writes_between_the_comparison_and_the_record_are_seen_by_it_c20() {
    let engine = new_engine(2);
    let points: Vec<Value> = (0..200)
        .map(|id| {
            let mut point = content(id, "a", "x");
            point["payload"]["text"] = json!("long ".repeat(400));
            point
        })
        .collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    let answer = Arc::new(Mutex::new(None));
    let wanted: Vec<Value> = (0..100).map(|id| content(id, "a", "x")).collect();
    let write = heavy(&engine, &body("a", &wanted), &answer);
    // One becomes another, one leaves the scope and its id, one comes into the scope.
    let Step::More(write) = write.step(Slice::until(Instant::now())) else { panic!("it takes more steps") };
    engine.ok("upsert_points", "c", json!({"points": [content(5, "a", "other"), content(300, "a", "x")]}));
    engine.ok("delete_points", "c", json!({"points": [6]}));
    let mut step = Step::More(write);
    loop {
        step = match step {
            Step::More(write) => write.step(Slice::endless()),
            Step::Resolved(write) => {
                write.write();
                break;
            }
            Step::Done => break,
        };
    }
    assert_eq!(*answer.lock().unwrap(), Some(true));
    let expected: BTreeMap<u64, (String, String)> =
        (0..100).map(|id| (id, ("a".to_string(), "x".to_string()))).collect();
    assert_eq!(stored(&engine), expected);
}

/// What the model has of a point.
#[derive(Clone, Debug, PartialEq)]
struct Held {
    source: u64,
    tenant: u64,
    hash: u64,
}

const IDS: u64 = 40;

/// A sync of the model: what it does, or the code of its refusal.
fn expected(
    points: &BTreeMap<u64, Held>,
    (source, tenant): (u64, Option<u64>),
    entries: &BTreeMap<u64, (Held, bool)>,
) -> Result<(BTreeMap<u64, Held>, [u64; 4]), &'static str> {
    let reaches = |held: &Held| tenant.is_none_or(|tenant| held.tenant == tenant);
    if entries.values().any(|(held, has_content)| *has_content && held.source != source) {
        return Err("bad_request");
    }
    if entries.keys().filter_map(|id| points.get(id)).any(|held| !reaches(held)) {
        return Err("points_forbidden");
    }
    if entries.keys().filter_map(|id| points.get(id)).any(|held| held.source != source) {
        return Err("sync_conflict");
    }
    let is_same = |id: &u64, held: &Held| points.get(id).is_some_and(|stored| stored.hash == held.hash);
    if entries.iter().any(|(id, (held, has_content))| !is_same(id, held) && !has_content) {
        return Err("sync_conflict");
    }
    if entries.iter().any(|(id, (held, _))| !is_same(id, held) && !reaches(held)) {
        return Err("points_forbidden");
    }
    let (mut after, mut counts) = (points.clone(), [0; 4]);
    for (id, (held, _)) in entries {
        match points.get(id) {
            None => counts[0] += 1,
            Some(_) if !is_same(id, held) => counts[1] += 1,
            Some(_) => {
                counts[2] += 1;
                continue;
            }
        }
        after.insert(*id, held.clone());
    }
    let before = after.len();
    after.retain(|id, held| held.source != source || !reaches(held) || entries.contains_key(id));
    counts[3] = (before - after.len()) as u64;
    Ok((after, counts))
}

fn shown(id: u64, held: &Held) -> Value {
    let Held { source, tenant, hash } = held;
    json!({"id": id, "vector": [id, hash], "payload": {"tenant": tenant, "source": source, "hash": hash}})
}

fn random_held(random: &mut Random) -> Held {
    Held { source: random.below(2), tenant: random.below(2), hash: random.below(3) }
}

/// What the engine has: the points, and the version of each.
fn all(engine: &TestEngine) -> (BTreeMap<u64, Held>, BTreeMap<u64, u64>) {
    let found = engine.ok("query", "c", json!({"limit": 1000, "with_payload": true}))["points"].take();
    let number = |value: &Value| value.as_u64().expect("a number");
    let (mut points, mut versions) = (BTreeMap::new(), BTreeMap::new());
    for point in found.as_array().expect("a list") {
        let payload = &point["payload"];
        let field = |key: &str| number(&payload[key]);
        let held = Held { source: field("source"), tenant: field("tenant"), hash: field("hash") };
        points.insert(number(&point["id"]), held);
        versions.insert(number(&point["id"]), number(&point["version"]));
    }
    (points, versions)
}

/// Random syncs of random callers with other writes between them, each compared with the model.
fn run(seed: u64) {
    let (mut engine, mut random) = (new_engine(seed), Random(seed));
    let mut points: BTreeMap<u64, Held> = BTreeMap::new();
    // Each revision of a source stands for one set of points and versions.
    let mut revisions: HashMap<(u64, Option<u64>, String), BTreeMap<u64, u64>> = HashMap::new();
    let mut done = 0;
    for step in 0..60 {
        match random.below(10) {
            0 => {
                let (id, held) = (random.below(IDS), random_held(&mut random));
                engine.ok("upsert_points", "c", json!({"points": [shown(id, &held)]}));
                points.insert(id, held);
            }
            1 => {
                let id = random.below(IDS);
                engine.ok("delete_points", "c", json!({"points": [id]}));
                points.remove(&id);
            }
            2 => {
                let source = random.below(2);
                let filter = json!({"must": {"key": "source", "match": {"value": source}}});
                let hash = random.below(3);
                engine.ok("set_payload", "c", json!({"payload": {"hash": hash}, "filter": filter}));
                points.values_mut().filter(|held| held.source == source).for_each(|held| held.hash = hash);
            }
            3 if random.chance(30) => engine.power_cut(seed + step),
            3 => {
                engine.ok(
                    "create_field_index",
                    "c",
                    json!({"field_name": "source", "field_schema": "integer"}),
                );
                engine.checkpoint();
            }
            _ => done += u64::from(random_sync(&engine, &mut random, &mut points)),
        }
        let (found, versions) = all(&engine);
        assert_eq!(found, points, "seed {seed}, step {step}");
        for (source, tenant) in [(0, None), (1, None), (0, Some(1))] {
            let caller = Caller { tenant, ..Caller::default() };
            let asked = json!({"scope": {"must": {"key": "source", "match": {"value": source}}}, "hash_key": "hash", "points": []});
            let plan = caller.call(&engine, "plan_sync", &asked).expect("a plan");
            let revision = plan["revision"].as_str().expect("a revision").to_string();
            let is_in = |id: &u64| {
                let held = &points[id];
                held.source == source && tenant.is_none_or(|tenant| held.tenant == tenant)
            };
            let held: BTreeMap<u64, u64> =
                versions.iter().filter(|(id, _)| is_in(id)).map(|(id, version)| (*id, *version)).collect();
            let known = revisions.entry((source, tenant, revision)).or_insert_with(|| held.clone());
            assert_eq!(*known, held, "a revision of two states, seed {seed}, step {step}");
        }
    }
    assert!(done > 0, "no sync of seed {seed} was done");
}

/// Sends a random sync; says whether it was done.
fn random_sync(engine: &TestEngine, random: &mut Random, points: &mut BTreeMap<u64, Held>) -> bool {
    let source = random.below(2);
    let tenant = random.chance(30).then(|| random.below(2));
    let mut entries = BTreeMap::new();
    let is_wild = random.chance(15);
    for id in 0..IDS {
        let mut held = random_held(random);
        held.tenant = tenant.filter(|_| !is_wild).unwrap_or(held.tenant);
        held.source = if is_wild && random.chance(4) { held.source } else { source };
        let stored = points.get(&id);
        let fits =
            |stored: &Held| stored.source == source && tenant.is_none_or(|tenant| stored.tenant == tenant);
        if random.chance(40) || stored.is_some_and(|stored| !fits(stored)) && !(is_wild && random.chance(10))
        {
            continue;
        }
        let is_same = stored.is_some() && random.chance(60);
        held.hash = stored.filter(|_| is_same).map_or(held.hash, |stored| stored.hash);
        let is_bare = is_same && random.chance(70) || is_wild && random.chance(5);
        entries.insert(id, (held, !is_bare));
    }
    let list: Vec<Value> = entries
        .iter()
        .map(|(id, (held, has_content))| match has_content {
            true => shown(*id, held),
            false => json!({"id": id, "hash": held.hash}),
        })
        .collect();
    let caller = Caller { tenant, name: "who", ..Caller::default() };
    let base = json!({"scope": {"must": {"key": "source", "match": {"value": source}}}, "hash_key": "hash"});
    let with = |points: &[Value], more: Value| {
        let mut body = base.clone();
        body["points"] = json!(points);
        more.as_object().expect("an object").iter().for_each(|(key, value)| body[key] = value.clone());
        body
    };
    let answer = if random.chance(30) {
        let at = random.below(list.len() as u64 + 1) as usize;
        let staged = caller.call(engine, "sync_points", &with(&list[..at], json!({"sync_id": "s"})));
        assert_eq!(staged.expect("it is staged"), json!({"staged": at}));
        let last = with(&list[at..], json!({"sync_id": "s", "last": true, "staged": at}));
        let answer = caller.call(engine, "sync_points", &last);
        if answer.is_err() {
            // What is staged is not for the next sync of that name.
            let wrong = with(&[], json!({"sync_id": "s", "last": true, "staged": 1_u64 << 40}));
            assert_eq!(caller.refused(engine, "sync_points", &wrong).0, "sync_conflict");
        }
        answer
    } else {
        caller.call(engine, "sync_points", &with(&list, json!({})))
    };
    match (answer, expected(points, (source, tenant), &entries)) {
        (Ok(answer), Ok((after, of_model))) => {
            assert_eq!(counts(&answer), of_model, "{list:?}");
            let plan = caller.call(engine, "plan_sync", &with(&[], json!({}))).expect("a plan");
            assert_eq!(answer["revision"], plan["revision"]);
            *points = after;
            true
        }
        (Err(error), Err(code)) => {
            assert_eq!(error.code(), code, "{list:?}");
            false
        }
        (answer, outcome) => panic!("{answer:?}, not {outcome:?}: {list:?} on {points:?}"),
    }
}

#[test]
fn random_syncs_do_what_the_model_does_c20() {
    let seeds = common::setting("KITHDB_SYNC_SEEDS").unwrap_or(60);
    (0..seeds).for_each(run);
}
