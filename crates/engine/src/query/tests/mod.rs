//! Queries through the whole engine, without threads and on a simulated disk.

mod explain;
mod group_walks;
mod groups;
mod pages;
mod plans;
mod projection;
mod recall;
mod sparse;
mod strategies;
mod trees;

use crate::catalog::Mode;
use crate::engine::{Engine, Operation, Options, Request};
use crate::storage::SimDisk;
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// An engine over an empty disk.
fn engine(seed: u64) -> Engine {
    let options = Options { mode: Mode::Inline { seed }, ..Options::default() };
    Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens")
}

/// The `result` of a request that must succeed.
fn call(engine: &Engine, collection: &str, operation: &str, body: &Value) -> Value {
    let envelope = send(engine, collection, operation, body);
    let envelope = envelope.unwrap_or_else(|error| panic!("{operation} {body}: {error}"));
    serde_json::from_slice::<Value>(&envelope).expect("envelopes are JSON")["result"].clone()
}

/// The answer to a request.
fn send(
    engine: &Engine,
    collection: &str,
    operation: &str,
    body: &Value,
) -> Result<Vec<u8>, crate::error::Error> {
    let answer = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&answer);
    let request = Request::new(
        Operation::parse(operation).expect("a known operation"),
        collection,
        body.to_string().into_bytes(),
    );
    engine.execute(request, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
    answer.lock().unwrap().take().expect("answered before it returns")
}

/// A small generator (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}
