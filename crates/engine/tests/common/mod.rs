//! An engine on a simulated disk that runs everything in the caller.
#![allow(dead_code, reason = "each test binary uses its part")]

mod walks;

use kithdb_engine::catalog::Mode;
use kithdb_engine::collection::GraphPolicy;
use kithdb_engine::engine::{Engine, Operation, Options, Request};
use kithdb_engine::error::Error;
use kithdb_engine::limits::{Limits, ResidencyThresholds, Thresholds};
use kithdb_engine::recent_operations::CallIdentity;
use kithdb_engine::storage::SimDisk;
use kithdb_engine::types::OperationId;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Segments so short that damage also hits others than the last, and chunks and graphs of a few rows.
pub const SHORT_FILES: Thresholds = Thresholds {
    checkpoint_bytes: 64 << 20,
    log_budget_bytes: 1 << 30,
    log_segment_bytes: 6 << 10,
    graph_step_rows: 1,
    vacuum_rows: 10,
    order_rows: 30,
    row_chunk_bytes: 4 << 10,
    auto_index_points: 10_000,
    residency: ResidencyThresholds::USUAL,
};

/// A number from the environment, for longer and for repeated runs.
pub fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// A request that is answered when it is done, without a deadline. A body of null is none.
pub fn request(operation: &str, collection: &str, body: &Value) -> Request {
    Request::new(
        Operation::parse(operation).expect("a known operation"),
        collection,
        if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
    )
}

/// See the module.
pub struct TestEngine {
    /// The disk, which outlives the engine.
    pub disk: SimDisk,
    engine: Option<Arc<Engine>>,
    options: Options,
    /// What the clock of an engine says from its opening on, in seconds since 1970; the system's time if it is none.
    pub now: Option<i64>,
}

/// An open engine as its clients see it. Clones are the same engine.
#[derive(Clone)]
pub struct Client(pub Arc<Engine>);

impl Client {
    /// The result of a request with a target in its path and a choice of `wait`, as it is in the envelope.
    pub fn answer(
        &self,
        operation: &str,
        collection: &str,
        target: Option<&str>,
        wait: bool,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        self.answer_named(None, operation, collection, target, wait, body)
    }

    /// The answer to a request with an operation id.
    pub fn answer_named(
        &self,
        id: Option<u128>,
        operation: &str,
        collection: &str,
        target: Option<&str>,
        wait: bool,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Error> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        let request = Request {
            target: target.map(str::to_string),
            wait,
            body: Box::new(body),
            identity: id.map(|id| CallIdentity { id: OperationId::new(id), first_sent: None }),
            ..request(operation, collection, &Value::Null)
        };
        self.0.execute(request, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        let result = answer.lock().unwrap().take();
        result.expect("answered before it returns")
    }

    /// The answer, parsed.
    pub fn execute(
        &self,
        operation: &str,
        collection: &str,
        target: Option<&str>,
        wait: bool,
        body: Vec<u8>,
    ) -> Result<Value, Error> {
        self.answer(operation, collection, target, wait, body).map(|envelope| result_of(&envelope))
    }

    /// The same of a request that gives its texts out, or has their vectors.
    pub fn call_with_texts(
        &self,
        operation: &str,
        collection: &str,
        target: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Value, Error> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        let request = Request {
            target: target.map(str::to_string),
            body: Box::new(body),
            gives_out_texts: true,
            ..request(operation, collection, &Value::Null)
        };
        self.0.execute(request, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        let result = answer.lock().unwrap().take();
        result.expect("answered before it returns").map(|envelope| result_of(&envelope))
    }

    /// The answer to a request, or its error.
    pub fn call(&self, operation: &str, collection: &str, body: Value) -> Result<Value, Error> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.execute(operation, collection, None, true, body)
    }

    /// Lets the clock stand at a time, in seconds since 1970.
    pub fn set_clock(&self, seconds: i64) {
        self.0.catalog().shared().clock.set_seconds(seconds);
    }

    /// The result of a request that must succeed.
    pub fn ok(&self, operation: &str, collection: &str, body: Value) -> Value {
        self.call(operation, collection, body).unwrap_or_else(|error| panic!("{operation}: {error}"))
    }
}

/// The result in an envelope.
pub fn result_of(envelope: &[u8]) -> Value {
    let mut envelope: Value = serde_json::from_slice(envelope).expect("envelopes are JSON");
    assert_eq!((&envelope["status"], envelope.get("usage")), (&json!("ok"), None));
    envelope["result"].take()
}

impl TestEngine {
    pub fn new(seed: u64) -> TestEngine {
        Self::with(SimDisk::new(), seed, Thresholds::default()).expect("an empty disk opens")
    }

    /// An engine on a disk that may hold something already.
    pub fn with(disk: SimDisk, seed: u64, thresholds: Thresholds) -> Result<TestEngine, String> {
        // Every second seed resolves all filters of updates beside the writer, as those of heavy writes are.
        let light = if seed.is_multiple_of(2) { 0 } else { Limits::default().light_filter_work };
        let limits = Limits { light_filter_work: light, ..Limits::default() };
        let options = Options { mode: Mode::Inline { seed }, thresholds, limits, ..Options::default() };
        Self::opened(disk, options)
    }

    /// An engine with these options on an empty disk.
    pub fn with_options(options: Options) -> TestEngine {
        Self::opened(SimDisk::new(), options).expect("an empty disk opens")
    }

    /// An engine with these limits on an empty disk.
    pub fn with_limits(limits: Limits) -> TestEngine {
        Self::with_options(Options { mode: Mode::Inline { seed: 1 }, limits, ..Options::default() })
    }

    fn opened(disk: SimDisk, options: Options) -> Result<TestEngine, String> {
        let mut engine = TestEngine { disk, engine: None, options, now: None };
        engine.open()?;
        Ok(engine)
    }

    /// The engine as clients see it.
    pub fn client(&self) -> Client {
        Client(Arc::clone(self.engine.as_ref().expect("open")))
    }

    /// The answer to a request, or its error.
    pub fn call(&self, operation: &str, collection: &str, body: Value) -> Result<Value, Error> {
        self.client().call(operation, collection, body)
    }

    pub fn call_bytes(&self, operation: &str, collection: &str, body: Vec<u8>) -> Result<Value, Error> {
        self.execute(operation, collection, None, true, body)
    }

    /// The answer to a request with a target in its path and a choice of `wait`.
    pub fn execute(
        &self,
        operation: &str,
        collection: &str,
        target: Option<&str>,
        wait: bool,
        body: Vec<u8>,
    ) -> Result<Value, Error> {
        self.client().execute(operation, collection, target, wait, body)
    }

    /// The result of a request that must succeed.
    pub fn ok(&self, operation: &str, collection: &str, body: Value) -> Value {
        self.client().ok(operation, collection, body)
    }

    /// Code and details of a request that must fail.
    pub fn refused(&self, operation: &str, collection: &str, body: Value) -> (String, Value) {
        let error = self.call(operation, collection, body).expect_err(operation);
        (error.code().to_string(), serde_json::from_slice(&error.details_json()).expect("details are JSON"))
    }

    /// Everything that a client can see of a collection's points.
    pub fn digest(&self, collection: &str) -> Value {
        self.ok("scroll", collection, json!({"limit": 10_000, "with_vector": true, "with_payload": true}))
    }

    /// Indexes and checkpoints everything.
    pub fn checkpoint(&self) {
        self.engine.as_ref().expect("open").work_in_background(GraphPolicy::Always);
    }

    /// Builds the field indexes that are declared, and does nothing else.
    pub fn build_indexes(&self) {
        let collections = self.engine().catalog().collections();
        collections.iter().for_each(|collection| collection.build_indexes());
    }

    /// One step of what otherwise runs in the background.
    pub fn work(&self, policy: GraphPolicy) {
        self.engine.as_ref().expect("open").work_in_background(policy);
    }

    /// Drops the engine without a clean stop and opens the disk again.
    pub fn restart(&mut self) {
        self.kill();
        self.open().expect("the disk opens again");
    }

    /// Drops the engine, cuts the power, opens what is left.
    pub fn power_cut(&mut self, seed: u64) {
        self.cut(seed);
        self.open().expect("the disk opens after a power cut");
    }

    /// Ends the process as SIGKILL would: nothing that the engine does from here on reaches the disk.
    pub fn kill(&mut self) {
        self.disk.kill();
        self.engine = None;
    }

    /// Cuts the power: what was not synced survives as the seed decides.
    pub fn cut(&mut self, seed: u64) {
        self.disk.power_cut(seed);
        self.engine = None;
    }

    /// Stops cleanly.
    pub fn close(&mut self) {
        if let Some(engine) = self.engine.take() {
            engine.close();
        }
    }

    /// Opens the disk.
    pub fn open(&mut self) -> Result<(), String> {
        self.engine = None;
        let engine =
            Engine::open(Arc::new(self.disk.clone()), self.options).map_err(|error| error.to_string())?;
        self.engine = Some(Arc::new(engine));
        self.now.iter().for_each(|now| self.client().set_clock(*now));
        Ok(())
    }

    /// A second engine, not yet open, on a copy of the disk.
    pub fn duplicate(&self) -> TestEngine {
        TestEngine { disk: self.disk.duplicate(), engine: None, options: self.options, now: self.now }
    }

    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("open")
    }
}

/// A small generator (SplitMix64): the same numbers for the same seed, everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn vector(&mut self, size: usize) -> Vec<f32> {
        (0..size).map(|_| (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
    }

    /// From 0 to 1.
    pub fn uniform(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 20) as f32
    }

    /// Nearly normal, mean 0, deviation 1.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0
    }

    pub fn normals(&mut self, size: usize) -> Vec<f32> {
        (0..size).map(|_| self.normal()).collect()
    }
}

/// Writes vectors as the points from `first` on of the collection `c`.
pub fn upsert(engine: &TestEngine, first: u64, vectors: &[Vec<f32>]) {
    let points: Vec<Value> =
        (first..).zip(vectors).map(|(id, vector)| json!({"id": id, "vector": vector})).collect();
    for points in points.chunks(100) {
        engine.ok("upsert_points", "c", json!({"points": points}));
    }
}
