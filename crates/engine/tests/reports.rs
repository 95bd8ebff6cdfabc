//! Reports of what an engine serves: one thread makes them, when someone asks for one that is younger than the last.

mod common;

use kithdb_engine::engine::{Engine, Options, Tuning};
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::sync::{Arc, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(60);

fn open() -> Engine {
    let options = Options { search_threads: 1, tuning: Tuning::Fixed, ..Options::default() };
    Engine::open(Arc::new(SimDisk::new()), options).expect("it opens")
}

fn ok(engine: &Engine, operation: &str, body: &Value) {
    let (send, receive) = mpsc::channel();
    engine.execute(common::request(operation, "c", body), Box::new(move |result| drop(send.send(result))));
    receive.recv_timeout(LIMIT).expect("every request is answered").expect(operation);
}

/// Waits for a report that is at most so old; returns the thread that delivered it.
fn ask(engine: &Engine, max_age: Duration) -> ThreadId {
    let (send, receive) = mpsc::channel();
    engine.when_reported(max_age, Box::new(move || assert!(send.send(thread::current().id()).is_ok())));
    receive.recv_timeout(LIMIT).expect("everyone who asks is told")
}

#[test]
fn a_report_that_is_asked_for_is_younger_than_the_question() {
    let engine = open();
    ok(&engine, "create_collection", &json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let own = thread::current().id();
    for points in 1..20_usize {
        ok(&engine, "upsert_points", &json!({"points": [{"id": points, "vector": [1]}]}));
        assert_ne!(ask(&engine, Duration::ZERO), own, "nobody counts on the thread that asks");
        assert_eq!(engine.report().status.points, points);
    }
}

#[test]
fn callers_that_accept_an_older_report_cause_no_further_one() {
    let engine = open();
    ask(&engine, Duration::ZERO);
    let number = engine.report().number;
    for _ in 0..100 {
        ask(&engine, Duration::from_secs(3600));
    }
    assert_eq!(engine.report().number, number);
}
