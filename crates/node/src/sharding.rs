//! Writes and reads of collections of several shards: pure work on bytes, without an engine.
//!
//! Short bodies are worked on where they are; each call has a form that works on a thread of its own, for long ones.

use crate::completions::lock;
use crate::options::NativeLimits;
use crate::{form_of, milliseconds, on_own_thread};
use kithdb_engine::{
    Error, IdKind, Layout, Limits, Metric, Operation, ShardedRead, ShardedRequest, Step, Strictness,
    join_write, split_write,
};
use napi::Env;
use napi::bindgen_prelude::{Buffer, Object, ToNapiValue};
use napi_derive::napi;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What splitting and merging need to know of a collection.
#[napi(object, object_to_js = false)]
pub struct NativeLayout {
    /// How many shards it has, at least 1.
    pub shards: u32,
    /// Whether its ids are integers and strings.
    pub string_ids: bool,
    /// The metrics of its dense and multi-vectors by name.
    pub metrics: HashMap<String, String>,
    /// Those of them that are of bytes.
    pub byte_vectors: Vec<String>,
    /// Whether a sparse vector may have the modifier `idf`.
    pub may_weigh: bool,
}

impl NativeLayout {
    fn layout(self) -> Result<Layout, Error> {
        let metric = |(name, metric): (String, String)| match Metric::parse(&metric) {
            Some(metric) => Ok((name.into(), metric)),
            None => Err(Error::Internal(format!("there is no metric {metric}"))),
        };
        Ok(Layout {
            shards: self.shards,
            ids: if self.string_ids { IdKind::String } else { IdKind::Default },
            metrics: self.metrics.into_iter().map(metric).collect::<Result<_, _>>()?,
            byte_vectors: self.byte_vectors.into_iter().map(Into::into).collect(),
            may_weigh: self.may_weigh,
        })
    }
}

/// A request as its client sent it.
#[napi(object, object_to_js = false)]
pub struct NativeShardedRequest {
    /// The place of the operation in the list that both sides share.
    pub operation: u32,
    /// The collection's name, or an alias of it.
    pub collection: String,
    /// Its other names.
    pub other_names: Vec<String>,
    /// Point id or field name from the path.
    pub target: Option<String>,
    /// The body; empty where there was none.
    pub body: Buffer,
    /// The form of the body, as `execute` takes it.
    pub form: u32,
    /// Whether what is harmless in the body is passed over.
    pub is_lenient: bool,
    /// Whether it may fail with `vectors_wanted`.
    pub gives_out_texts: bool,
    /// Limits that differ from their defaults.
    pub limits: Option<NativeLimits>,
    /// How long ago it arrived.
    pub elapsed_ms: f64,
}

/// A request that is kept.
struct Sent {
    operation: Operation,
    collection: String,
    other_names: Vec<String>,
    target: Option<String>,
    body: Vec<u8>,
    form: kithdb_engine::BodyForm,
    strictness: Strictness,
    gives_out_texts: bool,
    limits: Limits,
    start: Instant,
}

impl Sent {
    fn of(request: NativeShardedRequest) -> Result<Sent, Error> {
        let operation = Operation::at(request.operation as usize)
            .ok_or_else(|| Error::Internal(format!("there is no operation {}", request.operation)))?;
        let (defaults, now) = (Limits::default(), Instant::now());
        Ok(Sent {
            operation,
            collection: request.collection,
            other_names: request.other_names,
            target: request.target,
            body: request.body.to_vec(),
            form: form_of(request.form),
            strictness: if request.is_lenient { Strictness::Lenient } else { Strictness::Strict },
            gives_out_texts: request.gives_out_texts,
            limits: request.limits.map_or(defaults, |limits| limits.over(&defaults)),
            start: now.checked_sub(milliseconds(request.elapsed_ms)).unwrap_or(now),
        })
    }

    fn request(&self) -> ShardedRequest<'_> {
        ShardedRequest {
            operation: self.operation,
            collection: &self.collection,
            other_names: &self.other_names,
            target: self.target.as_deref(),
            body: &self.body,
            form: self.form,
            strictness: self.strictness,
            gives_out_texts: self.gives_out_texts,
            limits: &self.limits,
        }
    }
}

/// The body of a write for each shard, or why there is none.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct NativeSplit {
    /// For each shard its body; nothing for one that has no part in the write.
    pub bodies: Option<Vec<Option<Buffer>>>,
    /// The stable code of a failure.
    pub code: Option<String>,
    /// The details of a failure as a JSON object.
    pub details: Option<String>,
}

/// Splits the body of a write.
#[napi(catch_unwind)]
pub fn split_sharded_write(request: NativeShardedRequest, layout: NativeLayout) -> NativeSplit {
    split(Sent::of(request), layout.layout())
}

/// The same on a thread of its own.
#[napi(catch_unwind, ts_return_type = "Promise<NativeSplit>")]
pub fn split_sharded_write_apart(
    env: &Env,
    request: NativeShardedRequest,
    layout: NativeLayout,
) -> napi::Result<Object<'_>> {
    let (sent, layout) = (Sent::of(request), layout.layout());
    apart(env, move || Ok(split(sent, layout)))
}

fn split(sent: Result<Sent, Error>, layout: Result<Layout, Error>) -> NativeSplit {
    match sent.and_then(|sent| split_write(&sent.request(), &layout?)) {
        Ok(bodies) => {
            let bodies = bodies.into_iter().map(|body| body.map(Buffer::from)).collect();
            NativeSplit { bodies: Some(bodies), ..NativeSplit::default() }
        }
        Err(error) => {
            let (code, details) = failure(&error);
            NativeSplit { bodies: None, code, details }
        }
    }
}

/// The envelope of a write, or why there is none.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct NativeJoined {
    /// The whole success envelope.
    pub envelope: Option<Buffer>,
    /// The stable code of a failure.
    pub code: Option<String>,
    /// The details of a failure as a JSON object.
    pub details: Option<String>,
}

/// Makes one envelope of those that shards have answered to their parts of a write.
#[napi(catch_unwind)]
pub fn join_sharded_write(
    request: NativeShardedRequest,
    layout: NativeLayout,
    answers: Vec<Buffer>,
) -> NativeJoined {
    let (sent, layout) = (Sent::of(request), layout.layout());
    let joined = || {
        let (sent, layout) = (sent?, layout?);
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        join_write(&sent.request(), &layout, answers, sent.start)
    };
    match joined() {
        Ok(envelope) => NativeJoined { envelope: Some(envelope.into()), ..NativeJoined::default() },
        Err(error) => {
            let (code, details) = failure(&error);
            NativeJoined { envelope: None, code, details }
        }
    }
}

/// A question to one shard: a request that it is to answer.
#[napi(object, object_from_js = false)]
pub struct NativeAsk {
    /// The number of the shard.
    pub shard: u32,
    /// The collection whose shard it is, where that is not the collection of the read.
    pub collection: Option<String>,
    /// The name of the operation.
    pub operation: &'static str,
    /// Point id from the path.
    pub target: Option<String>,
    /// The place of the body in the list of bodies.
    pub body: u32,
    /// Whether it is to be taken leniently, whatever the read says.
    pub is_lenient: bool,
}

/// What comes next of a read: questions, the envelope, or why there is none.
#[napi(object, object_from_js = false)]
#[derive(Default)]
pub struct NativeStep {
    /// Questions, whose answers are to be given in this order.
    pub asks: Option<Vec<NativeAsk>>,
    /// The bodies of the questions, as JSON: one for those that are alike.
    pub bodies: Option<Vec<Buffer>>,
    /// The whole success envelope.
    pub envelope: Option<Buffer>,
    /// The stable code of a failure.
    pub code: Option<String>,
    /// The details of a failure as a JSON object.
    pub details: Option<String>,
}

impl NativeStep {
    fn of(step: Result<Step, Error>) -> NativeStep {
        match step {
            Ok(Step::Ask(asks)) => {
                let mut bodies: Vec<Vec<u8>> = Vec::new();
                let mut body_of = |body: Vec<u8>| {
                    // Mostly every shard is asked the same.
                    if bodies.last() != Some(&body) {
                        bodies.push(body);
                    }
                    bodies.len() as u32 - 1
                };
                let ask = |ask: kithdb_engine::Ask| NativeAsk {
                    shard: ask.shard,
                    collection: ask.collection,
                    operation: ask.operation.name(),
                    target: ask.target,
                    body: body_of(ask.body),
                    is_lenient: ask.strictness == Strictness::Lenient,
                };
                let asks = asks.into_iter().map(ask).collect();
                let bodies = bodies.into_iter().map(Buffer::from).collect();
                NativeStep { asks: Some(asks), bodies: Some(bodies), ..NativeStep::default() }
            }
            Ok(Step::Done(envelope)) => {
                NativeStep { envelope: Some(envelope.into()), ..NativeStep::default() }
            }
            Err(error) => {
                let (code, details) = failure(&error);
                NativeStep { code, details, ..NativeStep::default() }
            }
        }
    }
}

/// A read of a collection of several shards.
#[napi]
#[derive(Default)]
pub struct NativeShardedRead {
    /// `None` before it has begun and when it is over.
    read: Arc<Mutex<Option<ShardedRead>>>,
}

#[napi]
impl NativeShardedRead {
    /// A read that has not begun.
    #[napi(constructor, catch_unwind)]
    pub fn new() -> NativeShardedRead {
        NativeShardedRead::default()
    }

    /// Begins it. `others` has the layouts of other collections by name.
    #[napi(catch_unwind)]
    pub fn begin(
        &self,
        request: NativeShardedRequest,
        layout: NativeLayout,
        others: HashMap<String, NativeLayout>,
    ) -> NativeStep {
        begin(&self.read, Sent::of(request), layout.layout(), layouts(others))
    }

    /// The same on a thread of its own.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeStep>")]
    pub fn begin_apart<'env>(
        &self,
        env: &'env Env,
        request: NativeShardedRequest,
        layout: NativeLayout,
        others: HashMap<String, NativeLayout>,
    ) -> napi::Result<Object<'env>> {
        let (read, sent) = (Arc::clone(&self.read), Sent::of(request));
        let (layout, others) = (layout.layout(), layouts(others));
        apart(env, move || Ok(begin(&read, sent, layout, others)))
    }

    /// Goes on with the answers to the last questions: the envelope of the shard, or nothing for one that is left out.
    #[napi(catch_unwind)]
    pub fn advance(&self, answers: Vec<Option<Buffer>>) -> NativeStep {
        advance(&self.read, owned(answers))
    }

    /// The same on a thread of its own.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeStep>")]
    pub fn advance_apart<'env>(
        &self,
        env: &'env Env,
        answers: Vec<Option<Buffer>>,
    ) -> napi::Result<Object<'env>> {
        let (read, answers) = (Arc::clone(&self.read), owned(answers));
        apart(env, move || Ok(advance(&read, answers)))
    }
}

fn begin(
    kept: &Mutex<Option<ShardedRead>>,
    sent: Result<Sent, Error>,
    layout: Result<Layout, Error>,
    others: Result<HashMap<String, Layout>, Error>,
) -> NativeStep {
    let begun = || {
        let (sent, layout, others) = (sent?, layout?, others?);
        ShardedRead::begin(&sent.request(), &layout, &|name| others.get(name).cloned(), sent.start)
    };
    NativeStep::of(begun().map(|(read, step)| {
        if matches!(step, Step::Ask(_)) {
            *lock(kept) = Some(read);
        }
        step
    }))
}

fn advance(kept: &Mutex<Option<ShardedRead>>, answers: Vec<Option<Vec<u8>>>) -> NativeStep {
    let mut kept = lock(kept);
    let step = match kept.as_mut() {
        Some(read) => read.advance(answers),
        None => Err(Error::Internal("a read of shards that is over, or has not begun".to_string())),
    };
    if !matches!(step, Ok(Step::Ask(_))) {
        *kept = None;
    }
    NativeStep::of(step)
}

fn layouts(named: HashMap<String, NativeLayout>) -> Result<HashMap<String, Layout>, Error> {
    named.into_iter().map(|(name, layout)| Ok((name, layout.layout()?))).collect()
}

fn owned(answers: Vec<Option<Buffer>>) -> Vec<Option<Vec<u8>>> {
    answers.into_iter().map(|answer| answer.map(|answer| answer.to_vec())).collect()
}

/// The code of an error and its details.
fn failure(error: &Error) -> (Option<String>, Option<String>) {
    let details = String::from_utf8_lossy(&error.details_json()).into_owned();
    (Some(error.code().to_string()), Some(details))
}

/// Runs `work` on a thread of its own; a promise of what it makes, or of why it does not.
pub(crate) fn apart<T: ToNapiValue + Send + 'static>(
    env: &Env,
    work: impl FnOnce() -> napi::Result<T> + Send + 'static,
) -> napi::Result<Object<'_>> {
    let (deferred, promise) = env.create_deferred()?;
    on_own_thread("kith-shards", move || match catch_unwind(AssertUnwindSafe(work)) {
        Ok(made) => deferred.resolve(move |_| made),
        Err(_) => deferred.reject(napi::Error::from_reason("the engine failed")),
    })?;
    Ok(promise)
}
