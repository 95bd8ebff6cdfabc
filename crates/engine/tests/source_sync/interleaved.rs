//! Writes beside a sync that is resolved beside the writer.

use crate::common::TestEngine;
use crate::{body, content, new_engine, stored};
use kithdb_engine::api;
use kithdb_engine::collection::update::Update;
use kithdb_engine::collection::{Class, HeavyWrite, Step, TimeSlice, Write, WriteCall, WriteRequest};
use kithdb_engine::deadline::Deadline;
use kithdb_engine::limits::Limits;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A sync that is resolved beside the writer, step by step.
fn heavy(engine: &TestEngine, body: &Value, answer: &Arc<Mutex<Option<bool>>>) -> HeavyWrite {
    let collection = engine.engine().catalog().collections().remove(0);
    let bytes = body.to_string().into_bytes();
    let sync = api::sync_points(&bytes, &Limits::default()).expect("a sync").sync;
    let slot = Arc::clone(answer);
    let write = Write::Points { updates: vec![Update::Sync(Box::new(sync))], batch: None, within: None };
    let call = WriteCall::plain(
        Deadline::new(Instant::now(), Duration::from_secs(3600), "Sync"),
        bytes.len(),
        Box::new(move |result| *slot.lock().unwrap() = Some(result.is_ok())),
    );
    match collection.classify(WriteRequest { write, call }) {
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
    let Step::More(write) = write.step(TimeSlice::until(Instant::now())) else {
        panic!("it takes more steps")
    };
    engine.ok("upsert_points", "c", json!({"points": [content(5, "a", "other"), content(300, "a", "x")]}));
    engine.ok("delete_points", "c", json!({"points": [6]}));
    let mut step = Step::More(write);
    loop {
        step = match step {
            Step::More(write) => write.step(TimeSlice::endless()),
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
