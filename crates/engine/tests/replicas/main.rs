//! What a cluster asks of the engine of a node (docs/cluster.md): writes with positions, dry runs, replicas, and the digest by
//! which they are compared.

#[path = "../common/mod.rs"]
mod common;
mod random;
mod rules;

use common::{SHORT_FILES, TestEngine, result_of};
use kithdb_engine::catalog::Mode;
use kithdb_engine::engine::{Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::recent_operations::CallIdentity;
use kithdb_engine::types::OperationId;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const COLLECTION: &str = "shard";

/// A write as it is in a stream.
#[derive(Clone, Debug)]
struct Sent {
    operation: &'static str,
    target: Option<&'static str>,
    body: Value,
    id: Option<u128>,
    position: Option<u64>,
    dry_run: bool,
}

impl Sent {
    fn new(operation: &'static str, body: Value) -> Sent {
        Sent { operation, target: None, body, id: None, position: None, dry_run: false }
    }

    fn of(self, target: &'static str) -> Sent {
        Sent { target: Some(target), ..self }
    }

    fn at(self, position: u64) -> Sent {
        Sent { position: Some(position), ..self }
    }

    fn named(self, id: u128) -> Sent {
        Sent { id: Some(id), ..self }
    }

    fn tried(self) -> Sent {
        Sent { position: None, dry_run: true, ..self }
    }

    /// The result, or the error.
    fn to(&self, engine: &TestEngine) -> Result<Value, Error> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        let request = Request {
            target: self.target.map(str::to_string),
            wait: false,
            identity: self.id.map(|id| CallIdentity { id: OperationId::new(id), first_sent: None }),
            position: self.position,
            dry_run: self.dry_run,
            ..common::request(self.operation, COLLECTION, &self.body)
        };
        engine.engine().execute(request, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        let answer = answer.lock().unwrap().take().expect("answered before it returns");
        answer.map(|envelope| result_of(&envelope))
    }

    /// The result of a write that must succeed.
    fn ok(&self, engine: &TestEngine) -> Value {
        self.to(engine).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    /// The code of the error of a write that must fail.
    fn refused(&self, engine: &TestEngine) -> &'static str {
        self.to(engine).expect_err("it is refused").code()
    }
}

/// An engine on an empty disk. Every second seed resolves all filters beside the writer.
fn engine(seed: u64, is_replica: bool) -> TestEngine {
    let light = if seed.is_multiple_of(2) { 0 } else { Limits::default().light_filter_work };
    let limits = Limits { light_filter_work: light, ..Limits::default() };
    let mode = Mode::Inline { seed };
    let options = Options { mode, thresholds: SHORT_FILES, limits, is_replica, ..Options::default() };
    TestEngine::with_options(options)
}

fn replica(seed: u64) -> TestEngine {
    engine(seed, true)
}

/// The state of a replica with its digest.
fn state(engine: &TestEngine) -> Value {
    engine.ok("replica_state", COLLECTION, json!({"digest": true}))
}

/// What two replicas at the same position must agree on.
fn compared(engine: &TestEngine) -> Value {
    let mut state = state(engine);
    state.as_object_mut().expect("an object").remove("operation");
    state
}

fn points(ids: &[u64]) -> Value {
    json!({"points": ids.iter().map(|id| json!({"id": id, "vector": [id, 1]})).collect::<Vec<_>>()})
}

fn upsert(ids: &[u64]) -> Sent {
    Sent::new("upsert_points", points(ids))
}

fn plain() -> Value {
    json!({"vectors": {"size": 2, "distance": "Dot"}})
}
