//! Collections in one engine that are the shards of one, beside that one.

use crate::common::{Random, TestEngine, request};
use kithdb_engine::api::{BodyForm, Operation, Strictness};
use kithdb_engine::engine::Request;
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::sharding::{Ask, Layout, ShardedRead, ShardedRequest, Step, shard_of, split_write};
use kithdb_engine::types::{IdKind, Metric, PointId};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The collection `c` and its shards `c0`, `c1` and so on; in the same way `other`.
pub struct Cluster {
    pub engine: TestEngine,
    pub layout: Layout,
    pub strictness: Strictness,
    /// A shard that does not answer reads.
    pub silent: Option<u32>,
    pub limits: Limits,
}

pub const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];

/// Components of a dense vector.
pub const SIZE: usize = 4;

impl Cluster {
    /// Collections without points. `a` and `m` (rows) have the metric; `b` is compared by products, `s` is sparse.
    pub fn new(shards: u32, metric: Metric, ids: IdKind) -> Cluster {
        let engine = TestEngine::new(1);
        let name = metric.name();
        let config = json!({
            "vectors": {
                "a": {"size": SIZE, "distance": name},
                "b": {"size": 2, "distance": "Dot"},
                "m": {"size": 2, "distance": name, "multivector_config": {"comparator": "max_sim"}},
            },
            "sparse_vectors": {"s": {}},
            "ids": if ids == IdKind::String { "string" } else { "default" },
        });
        let metrics = [("a", metric), ("b", Metric::Dot), ("m", metric)];
        let layout = Layout {
            shards,
            ids,
            metrics: metrics.into_iter().map(|(name, metric)| (name.into(), metric)).collect(),
        };
        let cluster = Cluster {
            engine,
            layout,
            strictness: Strictness::Strict,
            silent: None,
            limits: Limits::default(),
        };
        for collection in ["c", "other"] {
            cluster.engine.ok("create_collection", collection, config.clone());
            for shard in 0..shards {
                cluster.engine.ok("create_collection", &format!("{collection}{shard}"), config.clone());
            }
        }
        cluster
    }

    pub fn request<'a>(&'a self, operation: &str, collection: &'a str, body: &'a [u8]) -> ShardedRequest<'a> {
        ShardedRequest {
            operation: Operation::parse(operation).expect("a known operation"),
            collection,
            target: None,
            body,
            form: BodyForm::Json,
            strictness: self.strictness,
            gives_out_texts: false,
            limits: &self.limits,
        }
    }

    fn call(&self, request: Request) -> Result<Vec<u8>, Error> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        self.engine.engine().execute(request, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        let result = answer.lock().unwrap().take();
        result.expect("answered before it returns")
    }

    /// Writes to the one collection and to the shards.
    pub fn write(&self, operation: &str, collection: &str, body: &Value) -> Result<Value, Error> {
        let answer = self.engine.call(operation, collection, body.clone());
        let bytes = body.to_string().into_bytes();
        let parts = split_write(&self.request(operation, collection, &bytes), &self.layout);
        match (&answer, parts) {
            (Ok(_), parts) => {
                for (shard, part) in
                    parts.expect("what one collection takes is split").into_iter().enumerate()
                {
                    if let Some(part) = part {
                        let name = format!("{collection}{shard}");
                        self.engine.call_bytes(operation, &name, part).expect("a part of a good write");
                    }
                }
            }
            (Err(error), Err(other)) => assert_eq!(error.code(), other.code()),
            // What is wrong depends on the points or the configuration.
            (Err(_), Ok(_)) => {}
        }
        answer
    }

    /// What the one collection answers to a read.
    pub fn alone(&self, operation: &str, target: Option<&str>, body: &Value) -> Result<Value, Error> {
        let request = Request {
            target: target.map(str::to_string),
            strictness: self.strictness,
            ..request(operation, "c", body)
        };
        self.call(request).map(|envelope| shown(&envelope))
    }

    /// What the shards answer together.
    pub fn together(&self, operation: &str, target: Option<&str>, body: &Value) -> Result<Value, Error> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = ShardedRequest { target, ..self.request(operation, "c", &bytes) };
        let other = |name: &str| (name == "other").then(|| self.layout.clone());
        let (mut read, mut step) = ShardedRead::begin(&request, &self.layout, &other, Instant::now())?;
        for _ in 0..20 {
            match step {
                Step::Done(envelope) => return Ok(shown(&envelope)),
                Step::Ask(asks) => {
                    assert!(!asks.is_empty(), "a read that waits for nothing");
                    let answers = asks.into_iter().map(|ask| self.ask(ask)).collect::<Result<_, _>>()?;
                    step = read.advance(answers)?;
                }
            }
        }
        panic!("{operation} {body} asks again and again")
    }

    fn ask(&self, ask: Ask) -> Result<Option<Vec<u8>>, Error> {
        if self.silent == Some(ask.shard) {
            return Ok(None);
        }
        let collection = format!("{}{}", ask.collection.as_deref().unwrap_or("c"), ask.shard);
        let request = Request {
            target: ask.target,
            strictness: ask.strictness,
            ..Request::new(ask.operation, collection, ask.body)
        };
        self.call(request).map(Some)
    }

    /// Compares the two answers to a read, and answers them.
    pub fn same(&self, operation: &str, target: Option<&str>, body: &Value) -> Result<Value, Error> {
        let (alone, together) = (self.alone(operation, target, body), self.together(operation, target, body));
        match (&alone, &together) {
            (Ok(alone), Ok(together)) => {
                assert_eq!(together.to_string(), alone.to_string(), "{operation} {target:?} {body}");
            }
            (Err(alone), Err(together)) => {
                assert_eq!(together.to_string(), alone.to_string(), "{operation} {target:?} {body}");
            }
            _ => panic!("{operation} {target:?} {body}\nalone: {alone:?}\ntogether: {together:?}"),
        }
        alone
    }

    /// The shard of a point.
    pub fn shard_of(&self, id: &Value) -> u32 {
        shard_of(&point_id(id, self.layout.ids), self.layout.shards)
    }
}

pub fn point_id(id: &Value, kind: IdKind) -> PointId {
    match id {
        Value::String(text) => PointId::of_string(text, kind).expect("an id"),
        number => PointId::Num(number.to_string().parse().expect("an integer")),
    }
}

/// The result of an envelope, without the versions: operations of shards have numbers of their own here.
fn shown(envelope: &[u8]) -> Value {
    let mut envelope: Value = serde_json::from_slice(envelope).expect("envelopes are JSON");
    assert_eq!(envelope["status"], json!("ok"));
    assert!(envelope["time"].is_number());
    let mut result = envelope["result"].take();
    without_versions(&mut result);
    result
}

fn without_versions(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.contains_key("score") && members.contains_key("id") {
                assert!(members.remove("version").is_some_and(|version| version.is_number()));
            }
            members.values_mut().for_each(without_versions);
        }
        Value::Array(elements) => elements.iter_mut().for_each(without_versions),
        _ => {}
    }
}

/// Points with few different components, so that scores are often equal.
pub fn point(random: &mut Random, id: Value) -> Value {
    let mut vectors = json!({});
    if !random.chance(10) {
        vectors["a"] = json!(dense(random, SIZE));
    }
    if !random.chance(30) {
        vectors["b"] = json!(dense(random, 2));
    }
    if !random.chance(30) {
        vectors["m"] = json!(rows(random));
    }
    if !random.chance(30) {
        vectors["s"] = sparse(random);
    }
    let mut payload = json!({"n": random.below(9), "city": city(random), "f": random.below(40) as f64 / 8.0});
    if random.chance(50) {
        let tags: Vec<&str> = (0..random.below(4)).map(|_| city(random)).collect();
        payload["tags"] = json!(tags);
    }
    if random.chance(30) {
        payload["list"] = json!([random.below(5), random.below(5)]);
    }
    json!({"id": id, "vector": vectors, "payload": payload})
}

pub fn dense(random: &mut Random, size: usize) -> Vec<f32> {
    let mut vector: Vec<f32> = (0..size).map(|_| (random.below(17) as f32 - 8.0) / 8.0).collect();
    if vector.iter().all(|component| *component == 0.0) {
        vector[0] = 1.0;
    }
    vector
}

pub fn rows(random: &mut Random) -> Vec<Vec<f32>> {
    (0..1 + random.below(3)).map(|_| dense(random, 2)).collect()
}

pub fn sparse(random: &mut Random) -> Value {
    let mut indices: Vec<u64> = (0..1 + random.below(4)).map(|_| random.below(8)).collect();
    indices.sort_unstable();
    indices.dedup();
    let values: Vec<f32> = indices.iter().map(|_| (1 + random.below(8)) as f32 / 4.0).collect();
    json!({"indices": indices, "values": values})
}

pub fn city(random: &mut Random) -> &'static str {
    ["Bern", "Oslo", "Lima", "Kyiv", "Pune"][random.below(5) as usize]
}

/// The id with that number: integers, UUIDs, and strings where they are ids.
pub fn id(number: u64, kind: IdKind) -> Value {
    match (number % 3, kind) {
        (0, IdKind::Default) => json!(format!("550e8400-e29b-41d4-a716-{number:012x}")),
        (0, IdKind::String) => json!(format!("{number}")),
        _ => json!(number.wrapping_mul(if number % 3 == 1 { 1 } else { 1 << 54 })),
    }
}
