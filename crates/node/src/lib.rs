//! The Node addon: bytes in, bytes out.
//!
//! Requests go to the engine's own threads. Completions gather in a list that one thread-safe function drains
//! in batches on the event loop, so that a burst of answers costs one wake-up. Bodies are copied as they arrive and
//! short answers as they leave: memory that V8 and the engine share has to be handed back across threads, which costs
//! more, and V8 marks its whole heap again and again for the megabytes that it holds for others.

mod bodies;
mod calls;
mod completions;
mod handles;
pub mod listening;
pub mod offline;
mod options;
pub mod sharding;
mod sharing;
mod status;
pub mod surroundings;
#[cfg(feature = "testing")]
pub mod test_switches;
pub mod texts;

use bodies::Bodies;
use calls::Calls;
use completions::{Completion, Completions, lock};
use handles::{Handles, Kept, Shared};
use kithdb_engine::{
    Access, Body, BodyForm, CallIdentity, Decision, Engine, Error, Limits, OpenEngine, Operation,
    OperationId, Packing, Profile, Reply, Report, Request, SharedFolder, StrictScope, Strictness, decide_for,
};
use napi::bindgen_prelude::{ArrayBuffer, Buffer, BufferSlice, Function};
use napi_derive::napi;
use options::OpenOptions;
use status::{NativeCollectionFigures, NativeHealthIssue, NativePanics, NativeScrub, NativeStatus};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// What is kept of a body whose texts are given out, and where.
type KeptBody = (Arc<Handles>, Kept);

/// The engine of a process, which several event loops may use.
#[derive(Default)]
struct ProcessEngine {
    /// `None` before `open` has succeeded and after `close`.
    folder: Mutex<Option<Arc<SharedFolder>>>,
    /// From which time on searches complete with their profiles; not set where none do.
    slow: OnceLock<Duration>,
}

/// An engine over one data directory, in this process or in the one that owns the directory: as one event loop uses it. Calls
/// are numbered, and completed, for each event loop apart.
#[napi]
pub struct NativeEngine {
    process: Arc<ProcessEngine>,
    completions: Arc<Completions>,
    bodies: Arc<Bodies>,
    calls: Arc<Calls>,
    handles: Arc<Handles>,
}

#[napi]
impl NativeEngine {
    /// An engine that is not open yet. `onCompletions` gets the answers that are long or failures, in batches, and
    /// then asks for the short ones with `take`.
    #[napi(constructor, catch_unwind)]
    pub fn new(on_completions: Function<'_, Vec<Completion>, ()>) -> napi::Result<NativeEngine> {
        Ok(NativeEngine::over(Arc::default(), Completions::new(on_completions)?))
    }

    /// The number under which other event loops of this process [join](Self::join) the engine, as long as this object is there.
    #[napi(catch_unwind)]
    pub fn share(&self) -> u32 {
        sharing::add(&self.process)
    }

    /// The engine that another event loop of this process has shared and opened: what is executed here completes here.
    ///
    /// # Errors
    /// When no engine is shared under that number.
    #[napi(factory, catch_unwind)]
    pub fn join(
        number: u32,
        on_completions: Function<'_, Vec<Completion>, ()>,
    ) -> napi::Result<NativeEngine> {
        let process = sharing::find(number)
            .ok_or_else(|| napi::Error::from_reason("no engine of this process has that number"))?;
        Ok(NativeEngine::over(process, Completions::new(on_completions)?))
    }

    /// Opens the data directory on a thread of its own; completes `id` with a warning about its file system, which is mostly
    /// empty, or with the code `open_failed`.
    #[napi(catch_unwind)]
    pub fn open(&self, id: u32, options: OpenOptions) -> napi::Result<()> {
        let (process, completions) = (Arc::clone(&self.process), Arc::clone(&self.completions));
        if let Some(ms) = options.slow_request_ms {
            // The request is not over when the engine has answered it.
            self.process.slow.get_or_init(|| milliseconds(ms) / 2);
        }
        on_own_thread("kith-open", move || {
            let opened = catch_unwind(AssertUnwindSafe(|| open(&options)));
            completions.push(match opened {
                Ok(Ok((folder, warning))) => {
                    *lock(&process.folder) = Some(Arc::new(folder));
                    Completion::success(id, warning.into_bytes())
                }
                Ok(Err(why)) => Completion::open_failed(id, &why),
                Err(_) => Completion::open_failed(id, "the engine failed while opening the data directory"),
            });
        })
    }

    /// Adds a part to the body of the call `id`: `length` bytes of `memory` from `from` on. The body then has room for
    /// at least `capacity` bytes. Memory that holds nothing but the part is detached, which frees it at once.
    ///
    /// # Errors
    /// When the part reaches beyond the end of the memory.
    #[napi(catch_unwind)]
    pub fn append(
        &self,
        id: u32,
        memory: ArrayBuffer<'_>,
        from: u32,
        length: u32,
        capacity: u32,
    ) -> napi::Result<()> {
        let (from, length) = (from as usize, length as usize);
        let part = memory.get(from..from + length).ok_or_else(|| {
            napi::Error::from_reason("a part of a body that reaches beyond the end of its memory")
        })?;
        self.bodies.append(id, part, capacity as usize);
        if length == memory.len() { memory.detach() } else { Ok(()) }
    }

    /// Forgets the body of the call `id`, which will not be executed.
    #[napi(catch_unwind)]
    pub fn discard(&self, id: u32) {
        drop((self.bodies.take(id), self.handles.take(id)));
    }

    /// Puts vectors into the body of the call `id`, which completed with `vectors_wanted`, and completes `done`; then the call
    /// is executed again. `vectors` has, for each text in the order of the body, its `at`, the number of its components, and
    /// the components (32 bits each, little-endian).
    #[napi(catch_unwind)]
    pub fn supply(&self, done: u32, id: u32, vectors: Buffer) -> napi::Result<()> {
        let (bodies, handles) = (Arc::clone(&self.bodies), Arc::clone(&self.handles));
        self.on_bytes("kith-supply", done, vectors, move |vectors| {
            let kept = handles.take(id).ok_or("there is no body that waits for vectors")?;
            bodies.put(id, kept.with_vectors(vectors)?);
            Ok(Vec::new())
        })
    }

    /// Reads the answer of an endpoint that speaks OpenAI's embeddings API; completes `done` with the number of components of
    /// each vector and the components of all `count` (32 bits each, little-endian), or with `internal` and why it is none.
    #[napi(catch_unwind)]
    pub fn read_vectors(&self, done: u32, answer: Buffer, count: u32) -> napi::Result<()> {
        let read = move |answer: &[u8]| handles::vectors_of_answer(answer, count as usize);
        self.on_bytes("kith-vectors", done, answer, read)
    }

    /// Executes a request with the body that was appended under the same `id`; completes `id` with the envelope or an
    /// error. `operation` is the place of the operation in the list that both sides share, `timeoutMs` counts from
    /// the request's arrival, which was `elapsedMs` ago. An answer above `answerBudget` bytes fails with `answer_budget`. A write
    /// is applied at most once for an `operationId`, which is a UUID. `isLenient` passes over what is harmless in a body.
    /// With `givesOutTexts` a request that has texts of models that are not built in completes with `vectors_wanted`; its body
    /// is kept until `supply` or `discard`.
    /// `packing` is 1 where the vectors of the body are packed, 4 where the body is an Arrow IPC stream, 8 where it has a point in
    /// each line, plus 2 where the vectors of the answer are to be packed.
    /// `limits` is what the caller may reach, as JSON; everything when absent. `caller` is whose cursors it may use (C22).
    /// With `here` a short read of an engine in this process may be answered on this thread: then the envelope is returned, and
    /// nothing completes.
    /// `position` is the place of a write in a replicated stream, from which it gets its number; one that was passed completes
    /// with `position_passed`. With `dryRun` a write of points is answered as it would be, and changes nothing.
    /// `strictScope` says which limits of strict mode the request meets: `check`, `check:TIMEOUT` or
    /// `part:POINTS:VECTOR_BYTES:PAYLOAD_BYTES`; all when absent.
    #[napi(catch_unwind)]
    // The macro copies attributes to generated code, in which `expect` would be unfulfilled.
    #[allow(clippy::too_many_arguments, reason = "reading them from an object costs as much as all the rest")]
    pub fn execute(
        &self,
        id: u32,
        operation: u32,
        collection: String,
        wait: bool,
        elapsed_ms: f64,
        timeout_ms: Option<f64>,
        target: Option<String>,
        answer_budget: Option<u32>,
        operation_id: Option<String>,
        is_lenient: Option<bool>,
        gives_out_texts: Option<bool>,
        packing: Option<u32>,
        limits: Option<String>,
        caller: Option<String>,
        here: Option<bool>,
        position: Option<f64>,
        dry_run: Option<bool>,
        strict_scope: Option<String>,
    ) -> Option<Buffer> {
        let gives_out_texts = gives_out_texts == Some(true);
        let packing = packing_of(packing.unwrap_or_default());
        let completions = &self.completions;
        let parts = self.body_of(id, gives_out_texts, packing.body == BodyForm::Packed).and_then(|body| {
            Ok((body, caller_of(operation_id, limits, position)?, scope_of(strict_scope.as_deref())?))
        });
        let ((body, kept), (identity, access, position), strict_scope) = match parts {
            Ok(parts) => parts,
            Err(error) => return fail(completions, id, &error),
        };
        let (folder, operation) = match self.served(operation) {
            Ok(served) => served,
            Err(error) => return fail(completions, id, &error),
        };
        let start = begun(elapsed_ms);
        let slow = SlowSearch::of(operation, start, &self.process.slow);
        let request = Request {
            operation,
            collection,
            target,
            wait,
            packing,
            strictness: if is_lenient == Some(true) { Strictness::Lenient } else { Strictness::Strict },
            gives_out_texts,
            access,
            caller: caller.unwrap_or_default().into(),
            timeout: timeout_ms.map(milliseconds),
            body,
            start,
            profile: slow.as_ref().map(|slow| Arc::clone(&slow.profile)),
            answer_budget: answer_budget.map(|bytes| bytes as usize),
            identity,
            position,
            dry_run: dry_run == Some(true),
            strict_scope,
            cancellation: self.calls.begin(id),
        };
        self.begin(id, &folder, request, here == Some(true), (kept, slow))
    }

    /// The folder that is open, and the operation with a number.
    fn served(&self, operation: u32) -> Result<(Arc<SharedFolder>, Operation), Error> {
        let folder = lock(&self.process.folder).clone().ok_or(Error::NotReady)?;
        let known = Operation::at(operation as usize);
        let operation = known.ok_or_else(|| Error::Internal(format!("there is no operation {operation}")))?;
        Ok((folder, operation))
    }

    /// Answers a request on this thread, if it may run `here` and is short, or has the engine complete it.
    fn begin(
        &self,
        id: u32,
        folder: &SharedFolder,
        request: Request,
        here: bool,
        (kept, slow): (Option<KeptBody>, Option<SlowSearch>),
    ) -> Option<Buffer> {
        if here && let Some(envelope) = folder.answer_here(&request) {
            self.calls.end(id);
            return Some(envelope.into());
        }
        let (calls, completions) = (Arc::clone(&self.calls), Arc::clone(&self.completions));
        let reply: Reply = Box::new(move |result| {
            calls.end(id);
            complete(&completions, id, result, kept, slow.and_then(SlowSearch::json));
        });
        folder.execute(request, reply);
        None
    }

    /// The body of the call `id`; with what is kept of it where texts are given out.
    ///
    /// # Errors
    /// `MemoryLimit` where the system refused the memory for it.
    fn body_of(
        &self,
        id: u32,
        gives_out_texts: bool,
        is_packed: bool,
    ) -> Result<(Body, Option<KeptBody>), Error> {
        let body = self.bodies.take(id)?;
        if !gives_out_texts {
            return Ok((Box::new(body), None));
        }
        let body = Arc::new(body);
        let kept = Kept { body: Arc::clone(&body), is_packed };
        Ok((Box::new(Shared(body)), Some((Arc::clone(&self.handles), kept))))
    }

    /// Says that nobody waits for the answer of the call `id` any more. A request that waits or runs is given up and
    /// completes with the code `cancelled`, unless it is a write that is logged already.
    #[napi(catch_unwind)]
    pub fn cancel(&self, id: u32) {
        self.calls.cancel(id);
    }

    /// The names of the operations, each at its place.
    #[napi(catch_unwind)]
    pub fn operations() -> Vec<&'static str> {
        Operation::names().collect()
    }

    /// Copies waiting short envelopes into `frame`, each after the number of its call and its length (32 bits each,
    /// little-endian), and returns how many bytes it has written; 0 when none is left. `frame` holds at least 64 KiB.
    #[napi(catch_unwind)]
    pub fn take(&self, mut frame: BufferSlice<'_>) -> u32 {
        self.completions.take(&mut frame) as u32
    }

    /// What this process is in the folder: `owner`, `attached to process 7` or `waiting for an owner`; nothing while it is not
    /// open.
    #[napi(catch_unwind)]
    pub fn role(&self) -> Option<String> {
        lock(&self.process.folder).as_ref().map(|folder| folder.role())
    }

    /// The number of the last report of what the engine serves; 0 while it is not open. What the calls below return
    /// changes only with it.
    #[napi(catch_unwind)]
    pub fn report_number(&self) -> f64 {
        self.report().map_or(0.0, |report| report.number as f64)
    }

    /// Completes `id` when the last report is at most so old.
    #[napi(catch_unwind)]
    pub fn refresh(&self, id: u32, max_age_ms: f64) {
        let engine = self.engine();
        let completions = Arc::clone(&self.completions);
        let done = Box::new(move || completions.push(Completion::success(id, Vec::new())));
        match engine {
            Some(engine) => engine.when_reported(milliseconds(max_age_ms), done),
            None => done(),
        }
    }

    /// What the engine served when the last report was made; nothing while it is not open.
    #[napi(catch_unwind)]
    pub fn status(&self) -> NativeStatus {
        self.report().map(|report| report.status.clone()).unwrap_or_default().into()
    }

    /// Figures of the collections that were created first, when the last report was made; none where `open` asked for none,
    /// and while the engine is not open.
    #[napi(catch_unwind)]
    pub fn collection_figures(&self) -> NativeCollectionFigures {
        let none = || NativeCollectionFigures { names: Vec::new(), figures: Vec::new().into() };
        self.report().map_or_else(none, |report| NativeCollectionFigures::of(&report))
    }

    /// What an operator had to deal with when the last report was made; nothing while the engine is not open.
    #[napi(catch_unwind)]
    pub fn health_issues(&self) -> Vec<NativeHealthIssue> {
        let issues = self.report().map(|report| report.issues.clone()).unwrap_or_default();
        issues.into_iter().map(Into::into).collect()
    }

    /// The panics of background work until the last report was made; nothing while the engine is not open.
    #[napi(catch_unwind)]
    pub fn panics(&self) -> NativePanics {
        self.report().map(|report| NativePanics::of(&report)).unwrap_or_default()
    }

    /// What the scrub did; nothing while the engine is not open.
    #[napi(catch_unwind)]
    pub fn scrub(&self) -> NativeScrub {
        self.engine().map(|engine| engine.scrub_report()).unwrap_or_default().into()
    }

    /// The generation of the store of authentication that the catalog has noted, 0 where none was; nothing while the engine is
    /// not open in this process.
    #[napi(catch_unwind)]
    pub fn auth_generation(&self) -> Option<f64> {
        self.engine().map(|engine| engine.auth_generation() as f64)
    }

    /// Notes a generation of the store of authentication in the catalog; completes `id` when it is durable. An earlier one
    /// than is noted changes nothing.
    #[napi(catch_unwind)]
    pub fn note_auth_generation(&self, id: u32, generation: f64) -> napi::Result<()> {
        self.on_engine("kith-note", id, move |engine| engine.note_auth_generation(generation as u64))
    }

    /// Links every file that is served into the folder `staging` of the data directory, for a backup to copy; completes
    /// `id` when the links are durable.
    #[napi(catch_unwind)]
    pub fn stage(&self, id: u32) -> napi::Result<()> {
        self.on_engine("kith-stage", id, Engine::stage)
    }

    /// Removes the folder `staging`; completes `id` when it is gone.
    #[napi(catch_unwind)]
    pub fn unstage(&self, id: u32) -> napi::Result<()> {
        self.on_engine("kith-unstage", id, Engine::unstage)
    }

    /// Cancels running requests that have not been written to the log. Further ones are refused.
    #[napi(catch_unwind)]
    pub fn give_up_requests(&self) {
        if let Some(folder) = lock(&self.process.folder).clone() {
            folder.give_up_requests();
        }
    }

    /// Cancels running requests that have not been written to the log, writes checkpoints for about `timeMs`, releases the
    /// directory, and then completes `id`. A second call only completes.
    #[napi(catch_unwind)]
    pub fn close(&self, id: u32, time_ms: f64) -> napi::Result<()> {
        let folder = lock(&self.process.folder).take();
        let completions = Arc::clone(&self.completions);
        let time = milliseconds(time_ms);
        on_own_thread("kith-close", move || {
            if let Some(folder) = folder {
                let _ = catch_unwind(AssertUnwindSafe(|| folder.close_within(time)));
            }
            completions.push(Completion::success(id, Vec::new()));
        })
    }
}

impl NativeEngine {
    fn over(process: Arc<ProcessEngine>, completions: Arc<Completions>) -> NativeEngine {
        let (bodies, calls, handles) = (Arc::default(), Arc::default(), Arc::default());
        NativeEngine { process, completions, bodies, calls, handles }
    }

    /// The engine, while this process has it.
    fn engine(&self) -> Option<Arc<Engine>> {
        lock(&self.process.folder).as_ref().and_then(|folder| folder.engine())
    }

    fn report(&self) -> Option<Arc<Report>> {
        self.engine().map(|engine| engine.report())
    }

    /// Runs `work` with bytes on a thread of its own, and completes `id` with what it makes, or with `internal` and why not.
    fn on_bytes(
        &self,
        thread: &str,
        id: u32,
        bytes: Buffer,
        work: impl FnOnce(&[u8]) -> Result<Vec<u8>, &'static str> + Send + 'static,
    ) -> napi::Result<()> {
        let completions = Arc::clone(&self.completions);
        let bytes = bytes.to_vec();
        on_own_thread(thread, move || {
            let done = catch_unwind(AssertUnwindSafe(|| work(&bytes))).unwrap_or(Err("the engine failed"));
            completions.push(match done {
                Ok(made) => Completion::success(id, made),
                Err(why) => Completion::failure(id, &Error::Internal(why.to_string())),
            });
        })
    }

    /// Runs `work` with the open engine on a thread of its own, and completes `id` with an empty body or the error.
    fn on_engine(
        &self,
        thread: &str,
        id: u32,
        work: impl FnOnce(&Engine) -> Result<(), Error> + Send + 'static,
    ) -> napi::Result<()> {
        let engine = self.engine();
        let completions = Arc::clone(&self.completions);
        on_own_thread(thread, move || {
            let done = match engine {
                Some(engine) => catch_unwind(AssertUnwindSafe(|| work(&engine)))
                    .unwrap_or_else(|_| Err(Error::Internal("the engine failed".to_string()))),
                None => Err(Error::NotReady),
            };
            completions.push(match done {
                Ok(()) => Completion::success(id, Vec::new()),
                Err(error) => Completion::failure(id, &error),
            });
        })
    }
}

/// What is wrong with a filter, as JSON, that is to limit an access token: a sentence; nothing for one that is good.
#[napi(catch_unwind)]
pub fn filter_problem(json: String) -> Option<String> {
    kithdb_engine::filter_problem(&json)
}

/// Opens the folder; with a warning about its file system, or why it is not opened.
fn open(options: &OpenOptions) -> Result<(SharedFolder, String), String> {
    let path = Path::new(&options.data_dir);
    let warning = match decide_for(path, options.allowed_file_systems()) {
        Decision::Open => String::new(),
        Decision::Warn(why) => why,
        Decision::Refuse(why) => return Err(why),
    };
    let of_engine = options.engine_options();
    #[cfg(feature = "testing")]
    let open: OpenEngine =
        Box::new(move |storage, lock, supervisor| test_switches::open(storage, lock, of_engine, supervisor));
    #[cfg(not(feature = "testing"))]
    let open: OpenEngine =
        Box::new(move |storage, lock, supervisor| Engine::open_held(storage, lock, of_engine, supervisor));
    let folder = SharedFolder::open(path, options.membership(), open).map_err(|error| error.to_string())?;
    Ok((folder, warning))
}

/// Completes a call that cannot be executed.
fn fail(completions: &Completions, id: u32, error: &Error) -> Option<Buffer> {
    completions.push(Completion::failure(id, error));
    None
}

/// Completes a call. The body of one whose texts are given out is kept until their vectors come.
fn complete(
    completions: &Completions,
    id: u32,
    result: Result<Vec<u8>, Error>,
    kept: Option<(Arc<Handles>, Kept)>,
    profile: Option<String>,
) {
    match result {
        Ok(envelope) if profile.is_none() => completions.succeed(id, envelope),
        Ok(envelope) => completions.push(Completion::success(id, envelope).with_profile(profile)),
        Err(error) => {
            if let Some((handles, kept)) = kept.filter(|_| error.code() == "vectors_wanted") {
                handles.keep(id, kept);
            }
            completions.push(Completion::failure(id, &error).with_profile(profile));
        }
    }
}

/// A search whose profile is wanted if it is slow.
struct SlowSearch {
    profile: Arc<Profile>,
    start: Instant,
    from: Duration,
}

impl SlowSearch {
    /// Nothing where profiles are not wanted, and of other operations.
    fn of(operation: Operation, start: Instant, slow: &OnceLock<Duration>) -> Option<SlowSearch> {
        let from = *slow.get().filter(|_| operation.is_search())?;
        Some(SlowSearch { profile: Arc::default(), start, from })
    }

    /// The profile, if it was slow.
    fn json(self) -> Option<String> {
        let json = (self.start.elapsed() >= self.from).then(|| self.profile.json())??;
        Some(String::from_utf8_lossy(&json).into_owned())
    }
}

/// The form of a body and of the vectors of an answer, as `execute` takes it.
fn packing_of(flags: u32) -> Packing {
    Packing { body: form_of(flags & !2), answer: flags & 2 != 0 }
}

fn form_of(flag: u32) -> BodyForm {
    match flag {
        0 => BodyForm::Json,
        1 => BodyForm::Packed,
        8 => BodyForm::Lines,
        _ => BodyForm::Arrow,
    }
}

/// The identity of a call, what its caller may reach, and the position of a write from a stream.
type Brought = (Option<CallIdentity>, Option<Arc<Access>>, Option<u64>);

/// What a call brings beside its body.
fn caller_of(
    operation_id: Option<String>,
    limits: Option<String>,
    position: Option<f64>,
) -> Result<Brought, Error> {
    let identity = |text: String| match OperationId::parse(&text) {
        Some(id) => Ok(CallIdentity { id, first_sent: None }),
        None => Err(Error::BadRequest(format!("operation id '{text}' must be a UUID"))),
    };
    let access = |json: String| Access::parse(json.as_bytes(), &Limits::default()).map(Arc::new);
    let whole = |number: f64| match number as u64 {
        whole if whole as f64 == number => Ok(whole),
        _ => Err(Error::BadRequest(format!("position: must be an integer, got {number}"))),
    };
    let position = position.map(whole).transpose()?;
    Ok((operation_id.map(identity).transpose()?, limits.map(access).transpose()?, position))
}

/// Which limits of strict mode a request meets.
fn scope_of(text: Option<&str>) -> Result<StrictScope, Error> {
    let read = |text| {
        let unknown = || Error::Internal(format!("there is no scope of strict mode '{text}'"));
        StrictScope::parse(text).ok_or_else(unknown)
    };
    text.map_or(Ok(StrictScope::default()), read)
}

/// A duration from JavaScript's milliseconds, between zero (also for what is not a finite number) and a day.
fn milliseconds(ms: f64) -> Duration {
    const DAY_MS: f64 = 86_400_000.0;
    Duration::from_secs_f64(if ms.is_finite() { ms.clamp(0.0, DAY_MS) / 1000.0 } else { 0.0 })
}

/// When a request began that so many milliseconds of JavaScript's clock are since.
fn begun(elapsed_ms: f64) -> Instant {
    let now = Instant::now();
    now.checked_sub(milliseconds(elapsed_ms)).unwrap_or(now)
}

fn on_own_thread(name: &str, work: impl FnOnce() + Send + 'static) -> napi::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work)?;
    Ok(())
}
