//! Field indexes that are built in the background, with the engine's threads on a real directory (C5.12).

mod common;

use common::{Random, TestEngine};
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::engine::{Engine, Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const POINTS: u64 = 12_000;
const TAGS: u64 = 5;

fn open(dir: &Path) -> Engine {
    Engine::open(Arc::new(RealDisk::open(dir).expect("a directory")), Options::default()).expect("it opens")
}

/// Sends a request; the answer comes when the engine has it.
fn send(
    engine: &Engine,
    operation: &str,
    target: Option<&str>,
    wait: bool,
    body: &Value,
) -> mpsc::Receiver<Result<Value, Error>> {
    let (send, receive) = mpsc::channel();
    let request =
        Request { target: target.map(str::to_string), wait, ..common::request(operation, "c", body) };
    let reply = move |result: Result<_, Error>| {
        let result = result.map(|envelope: Vec<u8>| {
            serde_json::from_slice::<Value>(&envelope).expect("envelopes are JSON")["result"].clone()
        });
        // The receiver may be gone.
        let _ = send.send(result);
    };
    engine.execute(request, Box::new(reply));
    receive
}

fn ok(engine: &Engine, operation: &str, body: &Value) -> Value {
    let answer = send(engine, operation, None, true, body).recv().expect("every request is answered");
    answer.unwrap_or_else(|error| panic!("{operation}: {error}"))
}

fn declare(engine: &Engine, field: &str, schema: &str, wait: bool) -> mpsc::Receiver<Result<Value, Error>> {
    send(engine, "create_field_index", None, wait, &json!({"field_name": field, "field_schema": schema}))
}

fn drop_index(engine: &Engine, field: &str) {
    let answer = send(engine, "delete_field_index", Some(field), true, &json!(null));
    answer.recv().expect("an answer").expect("an index can be dropped");
}

fn point(id: u64, round: u64) -> Value {
    let (lon, lat) = ((id * 7 + round) % 360, (id * 13 + round) % 180);
    let payload = json!({
        "tag": format!("tag {}", (id + round) % TAGS),
        "n": id + round,
        "place": {"lon": lon as f64 - 180.0, "lat": lat as f64 - 90.0},
    });
    json!({"id": id, "vector": [1.0], "payload": payload})
}

fn fill(engine: &Engine) {
    ok(engine, "create_collection", &json!({"vectors": {"size": 1, "distance": "Dot"}}));
    for from in (0..POINTS).step_by(1_000) {
        let points: Vec<Value> = (from..from + 1_000).map(|id| point(id, 0)).collect();
        ok(engine, "upsert_points", &json!({"points": points}));
    }
}

fn schema_of(engine: &Engine, field: &str) -> Value {
    ok(engine, "collection_info", &json!(null))["payload_schema"][field].clone()
}

fn wait_until_green(engine: &Engine) {
    let timeout = Instant::now() + Duration::from_secs(120);
    while ok(engine, "collection_info", &json!(null))["status"] != json!("green") {
        assert!(Instant::now() < timeout, "every index is built in the end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A filter, and whether a payload matches it.
type Case = (Value, fn(&Value) -> bool);

/// Filters on each field, with a test for the payloads that match.
fn filters() -> Vec<Case> {
    vec![
        (json!({"key": "tag", "match": {"value": "tag 3"}}), |payload| payload["tag"] == "tag 3"),
        (json!({"key": "n", "range": {"lt": 500}}), |payload| payload["n"].as_u64() < Some(500)),
        (
            json!({"key": "place", "geo_bounding_box":
                {"top_left": {"lon": 150.5, "lat": 30.5}, "bottom_right": {"lon": -150.5, "lat": -30.5}}}),
            |payload| {
                let at = |key: &str| payload["place"][key].as_f64().expect("a place");
                at("lon").abs() > 150.5 && at("lat").abs() < 30.5
            },
        ),
    ]
}

/// Compares what each filter counts and finds with the payloads of all points.
fn check(engine: &Engine) {
    let page = ok(engine, "scroll", &json!({"limit": 100_000}))["points"].clone();
    for (condition, matches) in filters() {
        let expected: Vec<&Value> = page
            .as_array()
            .expect("points")
            .iter()
            .filter(|point| matches(&point["payload"]))
            .map(|point| &point["id"])
            .collect();
        let filter = json!({"must": [condition]});
        assert_eq!(
            ok(engine, "count", &json!({"filter": filter})),
            json!({"count": expected.len()}),
            "{filter}"
        );
        let found = ok(engine, "scroll", &json!({"filter": filter, "limit": 100_000}))["points"].clone();
        let found: Vec<&Value> = found.as_array().expect("points").iter().map(|point| &point["id"]).collect();
        assert_eq!(found, expected, "{filter}");
        let others = json!({"must_not": [condition]});
        let others = ok(engine, "count", &json!({"filter": others}))["count"].as_u64();
        assert_eq!(others, Some(page.as_array().map_or(0, Vec::len) as u64 - expected.len() as u64));
    }
}

#[test]
fn a_request_that_waits_for_an_index_finds_it_built_c5_12() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    fill(&engine);
    for (field, schema) in [("tag", "keyword"), ("n", "integer"), ("place", "geo")] {
        let answer = declare(&engine, field, schema, true).recv().expect("an answer").expect("an index");
        assert_eq!(answer["status"], "completed");
        assert_eq!(schema_of(&engine, field), json!({"data_type": schema, "params": null, "points": POINTS}));
    }
    check(&engine);
    // The same again is answered at once, and another definition replaces it.
    ok(&engine, "create_field_index", &json!({"field_name": "n", "field_schema": "integer"}));
    ok(&engine, "create_field_index", &json!({"field_name": "n", "field_schema": "keyword"}));
    assert_eq!(schema_of(&engine, "n")["points"], json!(0));
    check(&engine);
    let answer = declare(&engine, "n", "float", false).recv().expect("an answer").expect("an index");
    assert_eq!(answer["status"], "acknowledged");
    wait_until_green(&engine);
    assert_eq!(schema_of(&engine, "n"), json!({"data_type": "float", "params": null, "points": POINTS}));
    check(&engine);
}

#[test]
fn writes_and_searches_go_on_while_indexes_are_built_and_dropped_c5_12() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    fill(&engine);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (engine, done) = (&engine, &done);
        for writer in 0..2u64 {
            scope.spawn(move || {
                let mut random = Random(writer);
                let mut round = 0;
                while !done.load(Ordering::Acquire) {
                    round += 1;
                    let ids: Vec<u64> = (0..50).map(|_| random.below(POINTS + 500)).collect();
                    let body = match random.below(4) {
                        0 => ("delete_points", json!({"points": ids})),
                        1 => (
                            "set_payload",
                            json!({"filter": {"must": {"has_id": ids}}, "payload": {"n": round}}),
                        ),
                        _ => {
                            let points: Vec<Value> = ids.iter().map(|&id| point(id, round)).collect();
                            ("upsert_points", json!({"points": points}))
                        }
                    };
                    ok(engine, body.0, &body.1);
                }
            });
        }
        scope.spawn(move || {
            while !done.load(Ordering::Acquire) {
                for (condition, matches) in filters() {
                    let search = json!({"vector": [1.0], "limit": 200, "filter": {"must": condition}, "with_payload": true});
                    for hit in ok(engine, "search", &search).as_array().expect("hits") {
                        assert!(matches(&hit["payload"]), "{condition} found {hit}");
                    }
                }
            }
        });
        for round in 0..12 {
            let answers = [("tag", "keyword"), ("n", "integer"), ("place", "geo")]
                .map(|(field, schema)| declare(engine, field, schema, round % 3 == 0));
            for answer in answers {
                answer.recv().expect("an answer").expect("an index");
            }
            if round % 4 == 1 {
                // While it is being built.
                drop_index(engine, "tag");
            }
            if round % 4 == 2 {
                declare(engine, "n", "float", round % 8 == 2).recv().expect("an answer").expect("an index");
            }
            if round % 4 == 3 {
                wait_until_green(engine);
                ["tag", "n", "place"].iter().for_each(|field| drop_index(engine, field));
            }
        }
        for (field, schema) in [("tag", "keyword"), ("n", "integer"), ("place", "geo")] {
            declare(engine, field, schema, false).recv().expect("an answer").expect("an index");
        }
        wait_until_green(engine);
        done.store(true, Ordering::Release);
    });
    check(&engine);
    engine.close();
    drop(engine);
    let engine = open(dir.path());
    // Before they are built again, and after.
    check(&engine);
    wait_until_green(&engine);
    check(&engine);
}

#[test]
fn a_deletion_does_not_wait_for_the_indexes_that_others_wait_for_c4_5() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    for _ in 0..5 {
        fill(&engine);
        let answers = ["tag", "n", "place"].map(|field| declare(&engine, field, "keyword", true));
        assert_eq!(ok(&engine, "delete_collection", &json!(null)), json!(true));
        assert_eq!(ok(&engine, "collection_exists", &json!(null)), json!({"exists": false}));
        for answer in answers {
            match answer.recv().expect("an answer") {
                Ok(done) => {
                    assert!(["completed", "acknowledged"].contains(&done["status"].as_str().unwrap()))
                }
                Err(error) => assert!(["collection_deleted", "collection_not_found"].contains(&error.code())),
            }
        }
    }
}

#[test]
fn a_stop_answers_waiting_requests_and_the_next_start_builds_declared_indexes() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = open(dir.path());
    fill(&engine);
    let answers = ["tag", "n", "place"].map(|field| declare(&engine, field, "keyword", true));
    thread::sleep(Duration::from_millis(2));
    engine.close();
    for answer in answers {
        if let Err(error) = answer.recv().expect("an answer") {
            assert_eq!(error.code(), "shutting_down");
        }
    }
    drop(engine);
    let engine = open(dir.path());
    for (field, schema) in [("tag", "keyword"), ("n", "integer"), ("place", "geo")] {
        ok(&engine, "create_field_index", &json!({"field_name": field, "field_schema": schema}));
        assert_eq!(schema_of(&engine, field)["points"], json!(POINTS));
    }
    check(&engine);
}

#[test]
fn a_waiting_request_is_answered_at_its_timeout_c1_10() {
    let engine = TestEngine::new(1);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    engine.ok("upsert_points", "c", json!({"points": [point(1, 0)]}));
    let body = json!({"field_name": "n", "field_schema": "integer"}).to_string().into_bytes();
    engine.execute("create_field_index", "c", None, false, body).expect("it is declared");
    let catalog = engine.engine().catalog();
    let collection = catalog.collections().into_iter().next().expect("a collection");
    let path = kithdb_engine::payload::JsonPath::parse("n").expect("a path");
    let wait = |allowed| {
        let (send, receive) = mpsc::channel();
        let deadline = Deadline::new(Instant::now(), allowed, "Create field index");
        collection.when_built(
            path.clone(),
            deadline,
            Box::new(move |built| send.send(built).expect("a listener")),
        );
        receive
    };
    assert_eq!(wait(Duration::ZERO).try_recv(), Ok(false), "its time is over");
    let waiting = wait(Duration::from_secs(3600));
    assert!(waiting.try_recv().is_err(), "it is not built yet");
    collection.build_indexes();
    assert_eq!(waiting.try_recv(), Ok(true));
    assert_eq!(wait(Duration::from_secs(3600)).try_recv(), Ok(true), "it is there already");
    collection.stop_waiting();
    assert_eq!(wait(Duration::from_secs(3600)).try_recv(), Ok(false), "nothing will be built");
}

#[test]
fn what_indexes_take_is_reported_until_they_are_dropped() {
    let mut engine = TestEngine::new(1);
    engine.ok("create_collection", "c", json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let points: Vec<Value> = (0..500).map(|id| point(id, 0)).collect();
    engine.ok("upsert_points", "c", json!({"points": points}));
    let measured = |engine: &TestEngine| {
        engine.work(GraphPolicy::WhenGrown);
        let memory = engine.engine().status().memory;
        assert!(memory.resident() >= memory.field_indexes + memory.originals, "{memory:?}");
        memory.field_indexes
    };
    assert_eq!(measured(&engine), 0);
    let create = |field: &str, schema: &str| json!({"field_name": field, "field_schema": schema});
    engine.ok("create_field_index", "c", create("n", "integer"));
    let one = measured(&engine);
    assert!(one > 500, "{one} bytes of 500 points");
    engine.ok("create_field_index", "c", create("tag", "keyword"));
    let two = measured(&engine);
    assert!(two > one, "{two} bytes of two indexes, {one} of one");
    engine.restart();
    assert_eq!(measured(&engine), two, "the same after a restart");
    for field in ["n", "tag"] {
        engine.execute("delete_field_index", "c", Some(field), true, Vec::new()).expect("it is there");
    }
    assert_eq!(measured(&engine), 0);
}
