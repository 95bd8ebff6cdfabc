//! Field indexes that the engine makes by itself (C23).

mod common;

use common::{Random, TestEngine};
use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{Engine, Options, Request};
use kithdb_engine::limits::Limits;
use kithdb_engine::memory::{MemoryLimit, NODE_BYTES};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// More than an automatic index needs.
const POINTS: u64 = 12_000;
/// How often a filter is asked before its index is worth its cost.
const SCANS: usize = 4;

fn point(id: u64, round: u64) -> Value {
    let payload = json!({
        "city": format!("city {}", (id + round) % 50),
        "n": id + round,
        "text": format!("some words {}", id % 10),
    });
    json!({"id": id, "vector": [1.0], "payload": payload})
}

fn fill(ok: impl Fn(&str, Value) -> Value, more: Value) {
    let mut config = json!({"vectors": {"size": 1, "distance": "Dot"}});
    config.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    ok("create_collection", config);
    for from in (0..POINTS).step_by(1_000) {
        let points: Vec<Value> = (from..from + 1_000).map(|id| point(id, 0)).collect();
        ok("upsert_points", json!({"points": points}));
    }
}

fn filled(more: Value) -> TestEngine {
    let engine = TestEngine::new(1);
    fill(|operation, body| engine.ok(operation, "c", body), more);
    engine
}

fn of_city(number: u64) -> Value {
    json!({"must": {"key": "city", "match": {"value": format!("city {number}")}}})
}

fn count(engine: &TestEngine, filter: &Value) -> u64 {
    engine.ok("count", "c", json!({"filter": filter}))["count"].as_u64().expect("a number")
}

/// Asks until the filter has cost more than its index, and lets that be built.
fn ask(engine: &TestEngine, filter: &Value) {
    for _ in 0..SCANS {
        count(engine, filter);
    }
    engine.work(GraphPolicy::Never);
}

fn info(engine: &TestEngine) -> Value {
    engine.ok("collection_info", "c", Value::Null)
}

fn automatic(engine: &TestEngine) -> Value {
    info(engine).get("auto_indexes").cloned().unwrap_or(Value::Null)
}

fn explained(engine: &TestEngine, filter: &Value) -> Value {
    let body = json!({"vector": [1.0], "limit": 1, "filter": filter, "params": {"explain": true}});
    let body = body.to_string().into_bytes();
    let envelope = engine.client().answer("search", "c", None, true, body).expect("an answer");
    serde_json::from_slice::<Value>(&envelope).expect("JSON")["explain"].clone()
}

#[test]
fn filters_that_cost_more_than_an_index_get_one_and_nothing_else_changes_c23() {
    let engine = filled(json!({}));
    let before = info(&engine);
    let filter = of_city(7);
    let expected = count(&engine, &filter);
    for _ in 2..SCANS {
        count(&engine, &filter);
    }
    engine.work(GraphPolicy::Never);
    assert_eq!(automatic(&engine), Value::Null, "it has not cost enough yet");
    let explain = explained(&engine, &filter);
    assert_eq!((&explain["indexes_missing"], explain.get("auto_indexes_used")), (&json!(["city"]), None));
    ask(&engine, &filter);
    assert_eq!(automatic(&engine), json!({"city": {"data_type": "keyword", "points": POINTS}}));
    assert_eq!(engine.engine().status().auto_indexes, 1);
    // What a client saw before it still sees, byte for byte, with one member more.
    let mut after = info(&engine);
    after.as_object_mut().unwrap().remove("auto_indexes");
    let without_size = |mut info: Value| {
        info.as_object_mut().unwrap().remove("size");
        info.as_object_mut().unwrap().remove("residency");
        info
    };
    assert_eq!(without_size(after), without_size(before));
    let explain = explained(&engine, &filter);
    assert_eq!(explain["auto_indexes_used"], json!(["city"]));
    assert_eq!((&explain["indexes_used"], &explain["indexes_missing"]), (&json!(["city"]), &json!([])));
    assert_eq!(count(&engine, &filter), expected);
}

#[test]
fn scopes_of_syncs_that_cost_more_than_an_index_get_one_c20_c23() {
    let engine = filled(json!({}));
    let plan = || {
        let body = json!({"scope": of_city(7), "hash_key": "hash", "points": []});
        engine.ok("plan_sync", "c", body)["deleted"].clone()
    };
    (0..SCANS).for_each(|_| assert_eq!(plan(), json!(POINTS / 50)));
    engine.work(GraphPolicy::Never);
    assert_eq!(automatic(&engine)["city"]["data_type"], "keyword");
    assert_eq!(plan(), json!(POINTS / 50));
}

#[test]
fn an_automatic_index_is_kept_current_by_writes_c23() {
    let engine = filled(json!({}));
    ask(&engine, &of_city(7));
    let before = count(&engine, &of_city(7));
    engine.ok("upsert_points", "c", json!({"points": [point(57, 0), point(6, 1), point(POINTS + 7, 0)]}));
    assert_eq!(count(&engine, &of_city(7)), before + 2);
    engine.ok("delete_points", "c", json!({"points": [7, 57]}));
    assert_eq!(count(&engine, &of_city(7)), before);
    engine.ok("set_payload", "c", json!({"payload": {"city": "city 7"}, "filter": of_city(8)}));
    assert_eq!(count(&engine, &of_city(7)), before + POINTS / 50);
    assert_eq!(count(&engine, &of_city(8)), 0);
}

#[test]
fn automatic_indexes_count_as_none_for_strict_mode_the_status_the_schema_and_the_limit_c23() {
    let limits = Limits { max_field_indexes: 1, ..Limits::default() };
    let engine = TestEngine::with_limits(limits);
    fill(|operation, body| engine.ok(operation, "c", body), json!({}));
    ask(&engine, &of_city(7));
    assert!(automatic(&engine)["city"].is_object());
    let status = info(&engine);
    assert_eq!((&status["status"], &status["payload_schema"]), (&json!("green"), &json!({})));
    assert_eq!(engine.engine().status().backlog.field, 0);
    let create = |field: &str| json!({"field_name": field, "field_schema": "integer"});
    let strict =
        json!({"enabled": true, "max_payload_index_count": 1, "unindexed_filtering_retrieve": false});
    engine.ok("update_collection", "c", json!({"strict_mode_config": strict}));
    engine.ok("create_field_index", "c", create("n"));
    let (code, _) = engine.refused("count", "c", json!({"filter": of_city(7)}));
    assert_eq!(code, "bad_request", "strict mode knows of no index");
    engine.ok("update_collection", "c", json!({"strict_mode_config": {"enabled": false}}));
    engine.refused("create_field_index", "c", create("m"));
}

#[test]
fn no_automatic_index_is_of_type_text_c23() {
    let engine = filled(json!({}));
    let words = json!({"must": {"key": "text", "match": {"text": "words 7"}}});
    ask(&engine, &words);
    ask(&engine, &words);
    assert_eq!(automatic(&engine), Value::Null);
    // What a keyword index answers makes one, and texts match as before.
    let expected = count(&engine, &words);
    ask(&engine, &json!({"must": {"key": "text", "match": {"value": "some words 7"}}}));
    assert_eq!(automatic(&engine)["text"]["data_type"], "keyword");
    assert_eq!(count(&engine, &words), expected);
}

#[test]
fn a_declared_index_replaces_the_automatic_one_of_its_path_c23() {
    let engine = filled(json!({}));
    ask(&engine, &of_city(7));
    let expected = count(&engine, &of_city(7));
    let body = json!({"field_name": "city", "field_schema": "keyword"});
    engine.execute("create_field_index", "c", None, false, body.to_string().into_bytes()).expect("declared");
    assert_eq!(explained(&engine, &of_city(7))["indexes_missing"], json!([]), "the automatic one goes on");
    engine.build_indexes();
    assert_eq!(automatic(&engine), Value::Null);
    let schema = info(&engine)["payload_schema"].clone();
    assert_eq!(schema, json!({"city": {"data_type": "keyword", "params": null, "points": POINTS}}));
    assert_eq!(explained(&engine, &of_city(7)).get("auto_indexes_used"), None);
    assert_eq!(count(&engine, &of_city(7)), expected);
    engine.execute("delete_field_index", "c", Some("city"), true, Vec::new()).expect("it is there");
    ask(&engine, &of_city(7));
    assert!(automatic(&engine)["city"].is_object(), "the path is free again");
}

#[test]
fn a_collection_with_manual_field_indexes_makes_none_and_drops_those_it_has_c23() {
    let mut engine = filled(json!({"field_indexes": "manual"}));
    ask(&engine, &of_city(7));
    assert_eq!(automatic(&engine), Value::Null);
    assert_eq!(info(&engine)["field_indexes"], "manual");
    engine.restart();
    assert_eq!(info(&engine)["field_indexes"], "manual", "it is in the log");
    engine.checkpoint();
    engine.restart();
    assert_eq!(info(&engine)["field_indexes"], "manual", "and in the checkpoint");
    engine.ok("update_collection", "c", json!({"field_indexes": null}));
    assert_eq!(info(&engine).get("field_indexes"), None, "the default is not shown");
    ask(&engine, &of_city(7));
    assert!(automatic(&engine)["city"].is_object());
    engine.ok("update_collection", "c", json!({"field_indexes": "manual"}));
    assert_eq!(automatic(&engine), Value::Null);
    engine.ok("update_collection", "c", json!({"field_indexes": "auto"}));
    let refused = engine.refused("update_collection", "c", json!({"field_indexes": "none"}));
    assert_eq!(refused.1["message"], "field_indexes: expected auto or manual");
}

#[test]
fn automatic_indexes_are_in_no_log_no_checkpoint_and_no_clone_c23() {
    let mut engine = filled(json!({}));
    let digest = |engine: &TestEngine| {
        let collections = engine.engine().catalog().collections();
        collections.first().expect("a collection").view().digest()
    };
    let (state, lsn) = (digest(&engine), engine.engine().catalog().collections()[0].view().lsn);
    ask(&engine, &of_city(7));
    assert!(automatic(&engine)["city"].is_object());
    assert_eq!(digest(&engine), state);
    assert_eq!(engine.engine().catalog().collections()[0].view().lsn, lsn, "nothing was logged");
    engine.checkpoint();
    engine.ok("clone_collection", "c", json!({"name": "copy"}));
    let copy = engine.ok("collection_info", "copy", Value::Null);
    assert_eq!((copy.get("auto_indexes"), &copy["payload_schema"]), (None, &json!({})));
    engine.restart();
    assert_eq!((automatic(&engine), digest(&engine)), (Value::Null, state));
    ask(&engine, &of_city(7));
    assert!(automatic(&engine)["city"].is_object(), "it is made again where it is needed");
}

#[test]
fn automatic_indexes_go_before_a_write_is_refused_for_want_of_memory_c23() {
    let limit = 1 << 50;
    let options =
        Options { mode: Mode::Inline { seed: 1 }, memory: MemoryLimit::Bytes(limit), ..Options::default() };
    let engine = TestEngine::with_options(options);
    fill(|operation, body| engine.ok(operation, "c", body), json!({}));
    ask(&engine, &of_city(7));
    assert!(automatic(&engine)["city"].is_object());
    let catalog = engine.engine().catalog();
    let memory = &catalog.shared().memory;
    let collection = catalog.collections().into_iter().next().expect("a collection");
    assert!(collection.automatic_bytes() > 1_000, "{} bytes", collection.automatic_bytes());
    // As if they were what is too much.
    let of_engine = limit - NODE_BYTES;
    memory.note_automatic(of_engine / 10);
    memory.measure(of_engine / 1000 * 930);
    engine.ok("upsert_points", "c", json!({"points": [point(1, 0)]}));
    assert!(memory.is_making_room());
    engine.ok("upsert_points", "c", json!({"points": [point(2, 0)]}));
    assert_eq!(automatic(&engine), Value::Null, "the writer has dropped them");
    collection.drop_auto_indexes_if_told();
    assert_eq!(collection.automatic_bytes(), 0);
    memory.note_automatic(0);
    let (code, _) = engine.refused("upsert_points", "c", json!({"points": [point(3, 0)]}));
    assert_eq!(code, "memory_limit", "without them there is no room either");
    ask(&engine, &of_city(7));
    assert_eq!(automatic(&engine), Value::Null, "and none is made");
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn writes_and_searches_go_on_while_automatic_indexes_come_and_go_c23() {
    let dir = tempfile::tempdir().expect("a directory");
    let disk = RealDisk::open(dir.path()).expect("a directory");
    let engine = Engine::open(Arc::new(disk), Options::default()).expect("it opens");
    let ok = |operation: &str, body: &Value| {
        let (send, receive) = mpsc::channel();
        let request = Request { wait: true, ..common::request(operation, "c", body) };
        engine.execute(request, Box::new(move |result| drop(send.send(result))));
        let envelope =
            receive.recv().expect("an answer").unwrap_or_else(|error| panic!("{operation}: {error}"));
        common::result_of(&envelope)
    };
    fill(|operation, body| ok(operation, &body), json!({}));
    let done = AtomicBool::new(false);
    let is_there = || ok("collection_info", &json!(null)).get("auto_indexes").is_some();
    thread::scope(|scope| {
        let (ok, done) = (&ok, &done);
        for writer in 0..2u64 {
            scope.spawn(move || {
                let mut random = Random(writer);
                let mut round = 0;
                while !done.load(Ordering::Acquire) {
                    round += 1;
                    let ids: Vec<u64> = (0..50).map(|_| random.below(POINTS + 500)).collect();
                    let points: Vec<Value> = ids.iter().map(|&id| point(id, round)).collect();
                    match random.below(3) {
                        0 => ok("delete_points", &json!({"points": ids})),
                        _ => ok("upsert_points", &json!({"points": points})),
                    };
                }
            });
        }
        // Where this fails, the writers end, too.
        let _end = SetOnDrop(done);
        for _ in 0..3 {
            let until = Instant::now() + Duration::from_secs(120);
            while !is_there() {
                assert!(Instant::now() < until, "an index is made");
                for city in 0..5 {
                    let search =
                        json!({"vector": [1.0], "limit": 20, "filter": of_city(city), "with_payload": true});
                    for hit in ok("search", &search).as_array().expect("hits") {
                        assert_eq!(hit["payload"]["city"], format!("city {city}"));
                    }
                }
            }
            ok("update_collection", &json!({"field_indexes": "manual"}));
            ok("update_collection", &json!({"field_indexes": "auto"}));
        }
        while !is_there() {
            ok("count", &json!({"filter": of_city(1)}));
        }
    });
    let counts = || -> Vec<Value> {
        (0..50).map(|city| ok("count", &json!({"filter": of_city(city), "exact": true}))).collect()
    };
    let with = counts();
    ok("update_collection", &json!({"field_indexes": "manual"}));
    assert_eq!(counts(), with);
}
