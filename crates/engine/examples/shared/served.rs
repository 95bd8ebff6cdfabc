//! Requests to an engine in this process, as its binding makes them.

use kithdb_engine::engine::{Engine, Operation, Request};
use serde_json::Value;
use std::error::Error;
use std::sync::mpsc;
use std::time::Instant;

/// Sends one to the collection `bench`, waits, and gives what the answer has as its result. `target` is a point or a
/// field in the request's path; a body that is empty is none.
///
/// # Errors
/// An operation that the engine does not know, and what the engine refuses.
pub fn call(
    engine: &Engine,
    operation: &str,
    target: Option<&str>,
    body: Vec<u8>,
) -> Result<Value, Box<dyn Error>> {
    let (send, receive) = mpsc::channel();
    let request = Request {
        operation: Operation::parse(operation).ok_or_else(|| format!("unknown operation {operation}"))?,
        collection: "bench".to_string(),
        target: target.map(str::to_string),
        wait: true,
        timeout: None,
        body: Box::new(body),
        start: Instant::now(),
    };
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    let envelope = receive.recv()?.map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice::<Value>(&envelope)?["result"].clone())
}
