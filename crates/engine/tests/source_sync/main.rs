//! Syncs of a source (C20): random ones compared with a model, and each clause of the rule.

#[path = "../common/mod.rs"]
mod common;
mod interleaved;
mod parts;
mod random;
mod rules;
mod wholes;

use common::{SHORT_FILES, TestEngine, request, result_of};
use kithdb_engine::engine::Access;
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::recent_operations::CallIdentity;
use kithdb_engine::storage::SimDisk;
use kithdb_engine::types::OperationId;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

fn new_engine(seed: u64) -> TestEngine {
    let engine = TestEngine::with(SimDisk::new(), seed, SHORT_FILES).expect("an empty disk opens");
    engine.ok("create_collection", "c", json!({"vectors": {"size": 2, "distance": "Dot"}}));
    engine
}

/// Who sends a request.
#[derive(Clone, Default)]
struct Caller {
    name: &'static str,
    tenant: Option<u64>,
    operation_id: Option<u128>,
    gives_out_texts: bool,
}

impl Caller {
    fn call(&self, engine: &TestEngine, operation: &str, body: &Value) -> Result<Value, Error> {
        let mut sent = request(operation, "c", body);
        sent.caller = self.name.into();
        sent.gives_out_texts = self.gives_out_texts;
        sent.identity =
            self.operation_id.map(|id| CallIdentity { id: OperationId::new(id), first_sent: None });
        sent.access = self.tenant.map(|tenant| {
            let limits = json!({"filter": {"must": {"key": "tenant", "match": {"value": tenant}}}});
            Arc::new(Access::parse(limits.to_string().as_bytes(), &Limits::default()).expect("it is read"))
        });
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        engine.engine().execute(sent, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        let answered = answer.lock().unwrap().take().expect("answered before it returns");
        answered.map(|envelope| result_of(&envelope))
    }

    /// The code and the message of a refusal.
    fn refused(&self, engine: &TestEngine, operation: &str, body: &Value) -> (String, String) {
        let error = self.call(engine, operation, body).expect_err("it is refused");
        let details: Value = serde_json::from_slice(&error.details_json()).expect("details are JSON");
        let text = ["message", "field"].iter().find_map(|key| details.get(key)?.as_str());
        (error.code().to_string(), text.unwrap_or_default().to_string())
    }
}

fn sync(engine: &TestEngine, body: &Value) -> Value {
    Caller::default().call(engine, "sync_points", body).unwrap_or_else(|error| panic!("{body}: {error}"))
}

fn refusal(engine: &TestEngine, body: &Value) -> (String, String) {
    Caller::default().refused(engine, "sync_points", body)
}

fn scope(source: &str) -> Value {
    json!({"must": {"key": "source", "match": {"value": source}}})
}

/// A point with content.
fn content(id: u64, source: &str, hash: &str) -> Value {
    json!({"id": id, "vector": [id, 1], "payload": {"source": source, "tenant": id % 2, "hash": hash}})
}

fn bare(id: u64, hash: &str) -> Value {
    json!({"id": id, "hash": hash})
}

fn body(source: &str, points: &[Value]) -> Value {
    json!({"scope": scope(source), "hash_key": "hash", "points": points})
}

fn counts(answer: &Value) -> [u64; 4] {
    ["added", "updated", "unchanged", "deleted"].map(|key| answer[key].as_u64().expect("a count"))
}

fn revision(engine: &TestEngine, source: &str) -> String {
    let plan = engine.ok("plan_sync", "c", body(source, &[]));
    plan["revision"].as_str().expect("a revision").to_string()
}

/// Records in the log so far.
fn records(engine: &TestEngine) -> u64 {
    engine.engine().log_position().get()
}

/// The source and the hash of each point.
fn stored(engine: &TestEngine) -> BTreeMap<u64, (String, String)> {
    let page = engine.ok("scroll", "c", json!({"limit": 10_000, "with_payload": true}));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let of = |point: &Value| {
        let payload = &point["payload"];
        (point["id"].as_u64().expect("an id"), (text(&payload["source"]), text(&payload["hash"])))
    };
    page["points"].as_array().expect("points").iter().map(of).collect()
}

fn part(points: &[Value], more: &Value) -> Value {
    let mut part = body("a", points);
    part["sync_id"] = json!("s");
    for (key, value) in more.as_object().expect("an object") {
        part[key] = value.clone();
    }
    part
}
