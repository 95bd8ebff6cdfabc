//! Writes that take long: given up at their deadline or when the engine closes, and no reason for others to wait beyond
//! theirs.

mod common;

use kithdb_engine::catalog::Mode;
use kithdb_engine::deadline::Cancellation;
use kithdb_engine::engine::{Engine, Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::storage::SimDisk;
use serde_json::{Value, json};
use std::sync::{Arc, mpsc};
use std::time::Duration;

type Answer = mpsc::Receiver<Result<Vec<u8>, Error>>;

const HOUR: Duration = Duration::from_secs(3600);

fn start(engine: &Engine, operation: &str, body: &Value, timeout: Duration) -> Answer {
    start_cancellable(engine, operation, body, timeout, &Cancellation::default())
}

fn start_cancellable(
    engine: &Engine,
    operation: &str,
    body: &Value,
    timeout: Duration,
    cancellation: &Cancellation,
) -> Answer {
    let (send, receive) = mpsc::channel();
    let request = Request {
        timeout: Some(timeout),
        cancellation: cancellation.clone(),
        ..common::request(operation, "c", body)
    };
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    receive
}

fn call(engine: &Engine, operation: &str, body: &Value, timeout: Duration) -> Result<Value, Error> {
    let answer = start(engine, operation, body, timeout).recv().expect("every request is answered")?;
    Ok(serde_json::from_slice::<Value>(&answer).expect("envelopes are JSON")["result"].clone())
}

fn ok(engine: &Engine, operation: &str, body: &Value) -> Value {
    call(engine, operation, body, HOUR).unwrap_or_else(|error| panic!("{operation}: {error}"))
}

fn open(disk: &SimDisk) -> Engine {
    Engine::open(Arc::new(disk.clone()), Options::default()).expect("the disk opens")
}

/// A collection with one point whose payload has a megabyte.
fn with_long_payload(disk: &SimDisk) -> Engine {
    let engine = open(disk);
    ok(&engine, "create_collection", &json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let list: Vec<Value> = (0..70_000).map(|n| json!({"n": n})).collect();
    let point = json!({"id": 1, "vector": [1], "payload": {"first": 1, "list": list}});
    ok(&engine, "upsert_points", &json!({"points": [point]}));
    engine
}

/// A batch that processes a megabyte ten thousand times. The first time changes it.
fn long_edit() -> Value {
    json!({"keys": ["first", "list[].absent"], "points": vec![1; 10_000]})
}

/// The keys of the long payload.
fn keys(engine: &Engine) -> Vec<String> {
    let found = ok(engine, "retrieve_points", &json!({"ids": [1], "with_payload": true}));
    found[0]["payload"].as_object().expect("a payload").keys().cloned().collect()
}

#[test]
fn an_edit_is_given_up_at_its_deadline_and_leaves_nothing_c1_7_c1_10() {
    let disk = SimDisk::new();
    let engine = with_long_payload(&disk);
    let other = json!({"points": [{"id": 2, "vector": [1]}]});
    let before = ok(&engine, "upsert_points", &other)["operation_id"].clone();
    let edited = call(&engine, "delete_payload", &long_edit(), Duration::from_millis(300));
    assert_eq!(edited.expect_err("it takes far longer").code(), "timeout");
    assert_eq!(keys(&engine), ["first", "list"]);
    let after = ok(&engine, "delete_payload", &json!({"keys": ["first"], "points": [1]}));
    assert_eq!(after["operation_id"].as_u64(), before.as_u64().map(|op| op + 1), "nothing was logged");
    assert_eq!(keys(&engine), ["list"]);
}

#[test]
fn closing_gives_up_an_edit_that_runs_c11_3() {
    let disk = SimDisk::new();
    let engine = with_long_payload(&disk);
    let edit = start(&engine, "delete_payload", &long_edit(), HOUR);
    // It is given up while it runs as well as while it waits for a thread.
    std::thread::sleep(Duration::from_millis(100));
    engine.close();
    let edited = edit.try_recv().expect("what runs is answered before the engine is closed");
    assert_eq!(edited.expect_err("it takes far longer"), Error::ShuttingDown);
    drop(engine);
    let engine = open(&disk);
    assert_eq!(keys(&engine), ["first", "list"]);
}

#[test]
fn a_write_whose_client_leaves_is_given_up_while_it_runs_and_while_it_waits() {
    let disk = SimDisk::new();
    let engine = with_long_payload(&disk);
    let [running, waiting] = [Cancellation::default(), Cancellation::default()];
    let edit = start_cancellable(&engine, "delete_payload", &long_edit(), HOUR, &running);
    let second = start_cancellable(&engine, "delete_payload", &long_edit(), HOUR, &waiting);
    waiting.cancel();
    assert_eq!(second.recv().expect("an answer").expect_err("nobody waits for it"), Error::Cancelled);
    running.cancel();
    assert_eq!(edit.recv().expect("an answer").expect_err("nobody waits for it"), Error::Cancelled);
    assert_eq!(keys(&engine), ["first", "list"]);
    ok(&engine, "delete_payload", &json!({"keys": ["first"], "points": [1]}));
    assert_eq!(keys(&engine), ["list"]);
}

#[test]
fn a_write_that_waits_for_another_is_answered_at_its_own_deadline_c1_10() {
    let disk = SimDisk::new();
    let engine = with_long_payload(&disk);
    let edit = start(&engine, "delete_payload", &long_edit(), HOUR);
    let upsert = |id: u64| {
        let points = json!({"points": [{"id": id, "vector": [1], "payload": {}}]});
        call(&engine, "upsert_points", &points, Duration::from_millis(100))
    };
    // The first ones may come before the edit.
    let late = (2..).find_map(|id| upsert(id).err().map(|error| (id, error)));
    let (id, error) = late.expect("the edit runs at last");
    assert_eq!(error.code(), "timeout");
    assert!(edit.try_recv().is_err(), "the edit still runs");
    engine.close();
    assert_eq!(edit.recv().expect("an answer").expect_err("given up"), Error::ShuttingDown);
    drop(engine);
    let engine = open(&disk);
    assert_eq!(ok(&engine, "count", &json!({}))["count"], json!(id - 1), "it was not written later");
}

/// A body whose client leaves when it is looked at for the first time, which is after the request was found to be due.
struct LeavingBody {
    bytes: Vec<u8>,
    cancellation: Cancellation,
}

impl AsRef<[u8]> for LeavingBody {
    fn as_ref(&self) -> &[u8] {
        self.cancellation.cancel();
        &self.bytes
    }
}

#[test]
fn a_body_whose_client_leaves_is_not_read_to_its_end() {
    let inline = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
    let engine = Engine::open(Arc::new(SimDisk::new()), inline).expect("the disk opens");
    ok(&engine, "create_collection", &json!({"vectors": {"size": 1, "distance": "Dot"}}));
    let conditions: Vec<Value> = (0..1000).map(|n| json!({"key": "n", "match": {"value": n}})).collect();
    let filter = json!({"should": conditions});
    let update = json!({"set_payload": {"payload": {"seen": 1}, "filter": filter}});
    let searches = json!({"searches": [{"vector": [1], "limit": 1, "filter": filter}]});
    let bodies = [
        ("batch_update", json!({"operations": [update]})),
        ("delete_points", json!({"filter": filter})),
        ("count", json!({"filter": filter})),
        ("search_batch", searches),
    ];
    for (operation, body) in bodies {
        // What would be found at the end.
        let bytes = [body.to_string().as_bytes(), b"]"].concat();
        let read = |leaves: bool| {
            let cancellation = Cancellation::default();
            let body = LeavingBody { bytes: bytes.clone(), cancellation: cancellation.clone() };
            let (send, receive) = mpsc::channel();
            let body: Box<dyn AsRef<[u8]> + Send + Sync> =
                if leaves { Box::new(body) } else { Box::new(bytes.clone()) };
            let request = Request { body, cancellation, ..common::request(operation, "c", &Value::Null) };
            engine.execute(request, Box::new(move |result| drop(send.send(result))));
            receive.recv().expect("every request is answered")
        };
        assert_eq!(read(false).expect_err("it is no JSON").code(), "bad_request", "{operation}");
        assert_eq!(read(true), Err(Error::Cancelled), "{operation}");
    }
}
