//! Collections in one engine that are the shards of one, beside that one.

use crate::common::{Random, TestEngine, request};
use kithdb_engine::api::{BodyForm, Operation, Packing, Strictness};
use kithdb_engine::engine::{CollectionSize, Request, StrictScope};
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::sharding::{
    Ask, Layout, ShardedRead, ShardedRequest, Step, join_write, shard_of, split_write,
};
use kithdb_engine::types::{IdKind, Metric, PointId};
use serde_json::{Value, json};
use std::cell::Cell;
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
    /// Aliases of `c`.
    pub other_names: Vec<String>,
    /// That of the last write.
    position: Cell<u64>,
}

pub const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];

/// Components of a dense vector.
pub const SIZE: usize = 4;

impl Cluster {
    /// Collections without points. `a`, `m` (rows) and `u` (bytes) have the metric; `b` is compared by products, `s` is sparse.
    pub fn new(shards: u32, metric: Metric, ids: IdKind) -> Cluster {
        let engine = TestEngine::new(1);
        let name = metric.name();
        let config = json!({
            "vectors": {
                "a": {"size": SIZE, "distance": name},
                "b": {"size": 2, "distance": "Dot"},
                "m": {"size": 2, "distance": name, "multivector_config": {"comparator": "max_sim"}},
                "u": {"size": 3, "distance": name, "datatype": "uint8"},
            },
            "sparse_vectors": {"s": {}},
            "ids": if ids == IdKind::String { "string" } else { "default" },
        });
        let metrics = [("a", metric), ("b", Metric::Dot), ("m", metric), ("u", metric)];
        let layout = Layout {
            shards,
            ids,
            metrics: metrics.into_iter().map(|(name, metric)| (name.into(), metric)).collect(),
            byte_vectors: ["u".into()].into(),
            may_weigh: false,
        };
        let cluster = Cluster {
            engine,
            layout,
            strictness: Strictness::Strict,
            silent: None,
            limits: Limits::default(),
            other_names: Vec::new(),
            position: Cell::new(0),
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
            other_names: &self.other_names,
            target: None,
            body,
            form: BodyForm::Json,
            strictness: self.strictness,
            gives_out_texts: false,
            limits: &self.limits,
        }
    }

    pub fn call(&self, request: Request) -> Result<Vec<u8>, Error> {
        let answer = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&answer);
        self.engine.engine().execute(request, Box::new(move |result| *slot.lock().unwrap() = Some(result)));
        let result = answer.lock().unwrap().take();
        result.expect("answered before it returns")
    }

    /// Writes to the one collection and to the shards, and compares the answers.
    pub fn write(&self, operation: &str, collection: &str, body: &Value) -> Result<Value, Error> {
        self.write_bytes(operation, collection, BodyForm::Json, body.to_string().as_bytes())
    }

    /// The same with a body of a form. Shards write where all of them would.
    pub fn write_bytes(
        &self,
        operation: &str,
        collection: &str,
        form: BodyForm,
        body: &[u8],
    ) -> Result<Value, Error> {
        let position = self.position.get() + 1;
        self.position.set(position);
        let write = |name: String, body: &[u8]| Request {
            packing: Packing { body: form, answer: false },
            ..Request::new(Operation::parse(operation).expect("a known operation"), name, body.to_vec())
        };
        let at = |request| Request { position: Some(position), ..request };
        let alone = self.call(at(write(collection.to_string(), body)));
        let sharded = ShardedRequest { form, ..self.request(operation, collection, body) };
        let parts = match split_write(&sharded, &self.layout) {
            Ok(parts) => parts,
            Err(error) => {
                assert_eq!(alone.expect_err("one collection refuses it too").code(), error.code());
                return Err(error);
            }
        };
        let parts = || {
            let named = parts.iter().enumerate().map(|(shard, part)| (format!("{collection}{shard}"), part));
            named.filter_map(|(name, part)| Some(write(name, part.as_ref()?)))
        };
        let tried = parts().filter(|part| part.operation.updates_points());
        let tried = tried.map(|part| self.call(Request { dry_run: true, ..part }));
        let refusals: Vec<Error> = tried.filter_map(Result::err).collect();
        match alone {
            Ok(envelope) => {
                assert!(refusals.is_empty(), "{operation}: {refusals:?}");
                let answers = parts().map(|part| self.call(at(part)).expect("it would be written")).collect();
                let joined = join_write(&sharded, &self.layout, answers, Instant::now());
                let joined = shown(&joined.expect("answers of one write"));
                assert_eq!(joined, shown(&envelope), "{operation} {}", String::from_utf8_lossy(body));
                Ok(joined)
            }
            Err(error) => {
                let is_same = |refusal: &Error| refusal.code() == error.code();
                assert!(refusals.iter().any(is_same), "{operation}: {error:?}, {refusals:?}");
                Err(error)
            }
        }
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

    /// Whether a shard finds a read within the strict mode of the collection.
    pub fn check(&self, operation: &str, target: Option<&str>, body: &Value) -> Result<(), Error> {
        let request = Request {
            target: target.map(str::to_string),
            strictness: self.strictness,
            strict_scope: StrictScope::Check { timeout: None },
            ..request(operation, "c0", body)
        };
        self.call(request).map(|envelope| assert_eq!(shown(&envelope), json!(true)))
    }

    /// What the shards answer together to a read that was checked.
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
            strict_scope: StrictScope::Part { elsewhere: CollectionSize::default() },
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

/// The result of an envelope. Operations of shards have the numbers of those of the one collection.
fn shown(envelope: &[u8]) -> Value {
    let mut envelope: Value = serde_json::from_slice(envelope).expect("envelopes are JSON");
    assert_eq!(envelope["status"], json!("ok"));
    assert!(envelope["time"].is_number());
    envelope["result"].take()
}

/// Whole numbers, of very different lengths.
pub fn bytes(random: &mut Random) -> Value {
    let most = 1 + random.below(255);
    json!((0..3).map(|_| random.below(1 + most)).collect::<Vec<_>>())
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
    if !random.chance(30) {
        vectors["u"] = bytes(random);
    }
    let mut payload = json!({"n": random.below(9), "city": city(random), "f": random.below(40) as f64 / 8.0});
    if random.chance(50) {
        let tags: Vec<&str> = (0..random.below(4)).map(|_| city(random)).collect();
        payload["tags"] = json!(tags);
    }
    if random.chance(30) {
        payload["list"] = json!([random.below(5), random.below(5)]);
    }
    if random.chance(70) {
        payload["odd"] = odd(random);
    }
    json!({"id": id, "vector": vectors, "payload": payload})
}

/// Values that are in other groups than a condition on them says: in two spellings, beside a null, beyond 64 bits with a sign.
fn odd(random: &mut Random) -> Value {
    let uuid = "550e8400-e29b-41d4-a716-44665544000a";
    match random.below(8) {
        0 | 1 => json!("x"),
        2 => json!(["x", null]),
        3 => json!(uuid),
        4 => json!(uuid.to_uppercase()),
        5 => json!([uuid, "x"]),
        6 => json!(u64::MAX),
        _ => json!(u64::MAX - random.below(2)),
    }
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
