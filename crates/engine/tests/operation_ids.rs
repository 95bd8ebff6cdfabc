//! C25: a write with an operation id happens once, whatever happens between the calls that repeat it.

mod common;

use common::{SHORT_FILES, TestEngine};
use kithdb_engine::engine::{Engine, Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::recent_operations::{CallIdentity, KEPT_OPERATIONS};
use kithdb_engine::storage::{Call, Fault, SimDisk, Storage};
use kithdb_engine::types::{Lsn, OperationId};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

const COLLECTION: &str = "things";

fn named(id: u128) -> Option<CallIdentity> {
    Some(CallIdentity { id: OperationId::new(id), first_sent: None })
}

fn request(operation: &str, collection: &str, identity: Option<CallIdentity>, body: &Value) -> Request {
    Request { identity, ..common::request(operation, collection, body) }
}

/// The result of a call with an identity.
fn call(
    engine: &TestEngine,
    identity: Option<CallIdentity>,
    operation: &str,
    body: &Value,
) -> Result<Value, Error> {
    call_in(engine, COLLECTION, identity, operation, body)
}

fn call_in(
    engine: &TestEngine,
    collection: &str,
    identity: Option<CallIdentity>,
    operation: &str,
    body: &Value,
) -> Result<Value, Error> {
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    let reply = Box::new(move |result| *slot.lock().expect("not poisoned") = Some(result));
    engine.engine().execute(request(operation, collection, identity, body), reply);
    let answer = answer.lock().expect("not poisoned").take().expect("answered before it returns");
    answer.map(|envelope| serde_json::from_slice::<Value>(&envelope).expect("JSON")["result"].take())
}

fn points(ids: &[u64]) -> Value {
    json!({"points": ids.iter().map(|id| json!({"id": id, "vector": [1.0, 2.0]})).collect::<Vec<_>>()})
}

fn count(engine: &TestEngine) -> Value {
    engine.ok("count", COLLECTION, json!({}))["count"].take()
}

fn new_engine() -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), 1, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", COLLECTION, json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine
}

#[test]
fn a_repeat_gets_the_answer_of_the_first_call_and_changes_nothing_c25() {
    let mut engine = new_engine();
    let first = call(&engine, named(7), "upsert_points", &points(&[1])).expect("it is new");
    call(&engine, named(8), "delete_points", &json!({"points": [1]})).expect("it is new");
    let batch = json!({"operations": [{"upsert": points(&[5])}, {"delete": {"points": [5]}}]});
    let both = call(&engine, named(9), "batch_update", &batch).expect("it is new");
    type Passage = fn(&mut TestEngine);
    let passages: [Passage; 5] = [
        |_| {},
        TestEngine::restart,
        |engine| {
            engine.checkpoint();
            engine.restart();
        },
        |engine| engine.power_cut(3),
        |engine| {
            engine.close();
            engine.open().expect("it opens");
        },
    ];
    for (at, pass) in passages.into_iter().enumerate() {
        pass(&mut engine);
        assert_eq!(call(&engine, named(7), "upsert_points", &points(&[1])), Ok(first.clone()), "{at}");
        assert_eq!(call(&engine, named(9), "batch_update", &batch), Ok(both.clone()), "{at}");
        assert_eq!(count(&engine), 0, "{at}: the upsert before the deletion is not applied again");
    }
    // The same id in another collection is another operation.
    engine.ok("create_collection", "other", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    let other = call_in(&engine, "other", named(7), "upsert_points", &points(&[1])).expect("it is new there");
    assert_eq!(other["operation_id"], 1);
}

#[test]
fn the_id_of_a_failed_call_is_free_c25() {
    let engine = new_engine();
    let edit = json!({"payload": {"a": 1}, "points": [1]});
    let refused = call(&engine, named(1), "set_payload", &edit);
    assert_eq!(refused.map_err(|error| error.code()), Err("point_not_found"));
    engine.ok("upsert_points", COLLECTION, points(&[1]));
    let done = call(&engine, named(1), "set_payload", &edit).expect("the point is there now");
    // Errors come from the disk, too.
    engine.disk.fail_nth_of(Call::Append, 1, Fault::Eio);
    let failed = call(&engine, named(2), "upsert_points", &points(&[2]));
    assert!(failed.is_err(), "{failed:?}");
    engine.disk.clear_faults();
    let second = call(&engine, named(2), "upsert_points", &points(&[2])).expect("nothing of it had happened");
    assert_eq!(second["operation_id"], done["operation_id"].as_u64().expect("a number") + 1);
    assert_eq!(count(&engine), 2);
}

#[test]
fn creations_and_deletions_happen_once_c25() {
    let mut engine = new_engine();
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    let create = |engine: &TestEngine, id| call_in(engine, "made", named(id), "create_collection", &config);
    let delete =
        |engine: &TestEngine, id| call_in(engine, "made", named(id), "delete_collection", &Value::Null);
    for _ in 0..2 {
        assert_eq!(create(&engine, 1), Ok(json!(true)));
    }
    assert_eq!(create(&engine, 2).map_err(|error| error.code()), Err("collection_exists"));
    engine.restart();
    assert_eq!(create(&engine, 1), Ok(json!(true)));
    assert_eq!(delete(&engine, 3), Ok(json!(true)));
    assert_eq!(create(&engine, 4), Ok(json!(true)));
    for at in 0..3 {
        // It names the collection that was there before.
        assert_eq!(delete(&engine, 3), Ok(json!(true)), "{at}");
        assert_eq!(create(&engine, 1), Ok(json!(true)), "{at}");
        assert_eq!(engine.ok("collection_exists", "made", Value::Null)["exists"], true, "{at}");
        engine.checkpoint();
        if at == 0 { engine.restart() } else { engine.power_cut(at) }
    }
    // A deletion that found nothing has no record, and is tried again.
    assert_eq!(call_in(&engine, "none", named(9), "delete_collection", &Value::Null), Ok(json!(false)));
}

#[test]
fn a_repeat_beside_the_first_call_waits_for_its_sync_c25() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().to_str().expect("UTF-8");
    let engine = Engine::open_directory(path, Options::default()).expect("it opens");
    let (send, receive) = mpsc::channel();
    let execute = |request: Request| {
        let send = send.clone();
        engine.execute(request, Box::new(move |result| send.send(result).expect("the test waits")));
    };
    let answer = || receive.recv_timeout(Duration::from_secs(60)).expect("an answer").expect("a success");
    let config = json!({"vectors": {"size": 2, "distance": "Dot"}});
    execute(request("create_collection", COLLECTION, None, &config));
    answer();
    for round in 0..200u128 {
        // Each call adds a key to the payload, which the next one of another id would see.
        for _ in 0..4 {
            execute(request("upsert_points", COLLECTION, named(round), &points(&[round as u64])));
        }
        let results: Vec<Value> = (0..4)
            .map(|_| serde_json::from_slice::<Value>(&answer()).expect("JSON")["result"].take())
            .collect();
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        assert_eq!(results[0]["operation_id"], json!(round + 1));
    }
}

#[test]
fn a_repeat_that_may_have_been_forgotten_is_not_applied_c25() {
    let mut engine = new_engine();
    let next = |engine: &TestEngine| engine.engine().log_position();
    let before = next(&engine);
    let repeat =
        |id, first_sent: Lsn| Some(CallIdentity { id: OperationId::new(id), first_sent: Some(first_sent) });
    let many = 1u128 << 64;
    for n in 0..=KEPT_OPERATIONS as u128 {
        call(&engine, named(many + n), "clear_payload", &json!({"points": [1]})).err();
        if n == 0 {
            engine.ok("upsert_points", COLLECTION, points(&[1]));
            call(&engine, named(1), "clear_payload", &json!({"points": [1]})).expect("it is new");
        }
    }
    for at in 0..2 {
        let answer = call(&engine, repeat(1, before), "upsert_points", &points(&[9]));
        assert_eq!(answer.map_err(|error| error.code()), Err("outcome_unknown"), "{at}");
        assert_eq!(count(&engine), 1, "{at}");
        if at == 0 {
            engine.checkpoint();
            engine.restart();
        }
    }
    // What was sent lately cannot have been forgotten.
    let now = next(&engine);
    call(&engine, repeat(1 << 90, now), "upsert_points", &points(&[9])).expect("it was not applied");
    assert_eq!(count(&engine), 2);
}

#[test]
fn a_damaged_list_of_operations_is_damage_c25() {
    let mut engine = new_engine();
    call(&engine, named(7), "upsert_points", &points(&[1])).expect("it is new");
    engine.checkpoint();
    let path = "collections/0000000000000001/MANIFEST";
    let whole = engine.disk.read(path).expect("a manifest");
    assert_eq!(whole[8], 4, "the version that has operations");
    engine.kill();
    engine.disk.decay(path, |bytes| *bytes.last_mut().expect("a byte") ^= 1).expect("it is there");
    engine.open().expect("the others open");
    assert!(engine.engine().status().faults[0].1.contains("MANIFEST is damaged"));
}
