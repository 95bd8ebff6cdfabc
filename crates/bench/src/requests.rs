//! Requests to an engine in this process, as its binding makes them.

use kithdb_engine::engine::{Engine, Operation, Request};
use serde_json::{Value, json};
use std::error::Error;
use std::sync::mpsc;
use std::time::Duration;

/// The collection that all requests go to.
pub const COLLECTION: &str = "bench";

/// Sends a request and waits for the bytes of its answer. `target` is a point or a field in the request's path; an empty
/// body is none.
///
/// # Errors
/// An unknown operation, and the engine's own errors.
pub fn send(
    engine: &Engine,
    operation: &str,
    target: Option<&str>,
    body: Vec<u8>,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let (send, receive) = mpsc::channel();
    let request = Request {
        target: target.map(str::to_string),
        ..Request::new(
            Operation::parse(operation).ok_or_else(|| format!("unknown operation {operation}"))?,
            COLLECTION,
            body,
        )
    };
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    Ok(receive.recv()??)
}

/// As [`send`]; returns the `result` of the answer.
///
/// # Errors
/// As [`send`].
pub fn call(
    engine: &Engine,
    operation: &str,
    target: Option<&str>,
    body: Vec<u8>,
) -> Result<Value, Box<dyn Error>> {
    let envelope = send(engine, operation, target, body)?;
    Ok(serde_json::from_slice::<Value>(&envelope)?["result"].take())
}

/// As [`call`]; a null body is none.
///
/// # Errors
/// As [`send`].
pub fn ask(engine: &Engine, operation: &str, body: &Value) -> Result<Value, Box<dyn Error>> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    call(engine, operation, None, body)
}

/// Waits until every row is in the graph.
///
/// # Errors
/// As [`send`].
pub fn wait_until_indexed(engine: &Engine) -> Result<(), Box<dyn Error>> {
    while ask(engine, "collection_info", &Value::Null)?["status"] != json!("green") {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
