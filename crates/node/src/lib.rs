//! The Node addon: bytes in, bytes out.
//!
//! Requests go to the engine's own threads. Completions gather in a list that one thread-safe function drains
//! in batches on the event loop, so that a burst of answers costs one wake-up.

mod completions;
mod options;

use completions::{Completion, Completions, lock};
use kithdb_engine::engine::{Body, Engine, Operation, Request};
use kithdb_engine::error::Error;
use kithdb_engine::storage::RealDisk;
use napi::bindgen_prelude::{Buffer, Function};
use napi_derive::napi;
use options::OpenOptions;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// One request as it crosses the boundary.
#[napi(object, object_to_js = false)]
pub struct NativeRequest {
    /// Name of the operation.
    pub operation: String,
    /// Name of the collection; empty where there is none.
    pub collection: String,
    /// Point id or field name from the path.
    pub target: Option<String>,
    /// Whether the answer waits until the change is visible.
    pub wait: bool,
    /// Milliseconds from the request's arrival until it is given up.
    pub timeout_ms: Option<f64>,
    /// Milliseconds since the request's arrival.
    pub elapsed_ms: f64,
    /// The body, which must not be written to any more.
    pub body: Option<Buffer>,
}

/// What an engine serves.
#[napi(object, object_from_js = false)]
pub struct NativeStatus {
    /// Collections, quarantined ones included.
    pub collections: u32,
    /// Live points of all of them.
    pub points: f64,
    /// Quarantined collections.
    pub faults: Vec<NativeFault>,
}

/// A quarantined collection.
#[napi(object, object_from_js = false)]
pub struct NativeFault {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub fault: String,
}

/// An engine over one data directory.
#[napi]
pub struct NativeEngine {
    /// `None` before `open` has succeeded and after `close`.
    engine: Arc<Mutex<Option<Arc<Engine>>>>,
    completions: Arc<Completions>,
}

#[napi]
impl NativeEngine {
    /// An engine that is not open yet. `onCompletions` gets every answer, in batches.
    #[napi(constructor, catch_unwind)]
    pub fn new(on_completions: Function<'_, Vec<Completion>, ()>) -> napi::Result<NativeEngine> {
        let completions = Completions::new(on_completions)?;
        Ok(NativeEngine { engine: Arc::default(), completions })
    }

    /// Opens the data directory on a thread of its own; completes `id` with an empty body, or with the code
    /// `open_failed`.
    #[napi(catch_unwind)]
    pub fn open(&self, id: u32, options: OpenOptions) -> napi::Result<()> {
        let (slot, completions) = (Arc::clone(&self.engine), Arc::clone(&self.completions));
        on_own_thread("kith-open", move || {
            let opened = catch_unwind(AssertUnwindSafe(|| open(&options)));
            completions.push(match opened {
                Ok(Ok(engine)) => {
                    *lock(&slot) = Some(Arc::new(engine));
                    Completion::success(id, Vec::new())
                }
                Ok(Err(message)) => Completion::open_failed(id, &message),
                Err(_) => Completion::open_failed(id, "the engine failed while opening the data directory"),
            });
        })
    }

    /// Executes a request; completes `id` with the envelope or an error.
    #[napi(catch_unwind)]
    pub fn execute(&self, id: u32, request: NativeRequest) {
        let completions = Arc::clone(&self.completions);
        let Some(engine) = lock(&self.engine).clone() else {
            return completions.push(Completion::failure(id, &Error::NotReady));
        };
        match into_request(request) {
            Ok(request) => engine.execute(
                request,
                Box::new(move |result| {
                    completions.push(match result {
                        Ok(envelope) => Completion::success(id, envelope),
                        Err(error) => Completion::failure(id, &error),
                    });
                }),
            ),
            Err(error) => completions.push(Completion::failure(id, &error)),
        }
    }

    /// What the engine serves now; nothing while it is not open.
    #[napi(catch_unwind)]
    pub fn status(&self) -> NativeStatus {
        let status = lock(&self.engine).as_ref().map(|engine| engine.status()).unwrap_or_default();
        let faults = status.faults.into_iter().map(|(name, fault)| NativeFault { name, fault }).collect();
        NativeStatus { collections: status.collections as u32, points: status.points as f64, faults }
    }

    /// Finishes what runs, checkpoints, and releases the directory; then completes `id`. A second call only
    /// completes.
    #[napi(catch_unwind)]
    pub fn close(&self, id: u32) -> napi::Result<()> {
        let engine = lock(&self.engine).take();
        let completions = Arc::clone(&self.completions);
        on_own_thread("kith-close", move || {
            if let Some(engine) = engine {
                let _ = catch_unwind(AssertUnwindSafe(|| engine.close()));
            }
            completions.push(Completion::success(id, Vec::new()));
        })
    }
}

fn open(options: &OpenOptions) -> Result<Engine, String> {
    let disk = RealDisk::open(&options.data_dir).map_err(|error| error.to_string())?;
    Engine::open(Arc::new(disk), options.engine_options()).map_err(|error| error.to_string())
}

fn into_request(request: NativeRequest) -> Result<Request, Error> {
    let operation = Operation::parse(&request.operation)
        .ok_or_else(|| Error::Internal(format!("unknown operation {}", request.operation)))?;
    let body: Body = match request.body {
        Some(buffer) => Box::new(buffer),
        None => Box::new([0u8; 0]),
    };
    let now = Instant::now();
    Ok(Request {
        operation,
        collection: request.collection,
        target: request.target,
        wait: request.wait,
        timeout: request.timeout_ms.map(milliseconds),
        body,
        start: now.checked_sub(milliseconds(request.elapsed_ms)).unwrap_or(now),
    })
}

/// A duration from JavaScript's milliseconds; nonsense is zero, more than a day is a day.
fn milliseconds(ms: f64) -> Duration {
    const DAY_MS: f64 = 86_400_000.0;
    Duration::from_secs_f64(if ms.is_finite() { ms.clamp(0.0, DAY_MS) / 1000.0 } else { 0.0 })
}

fn on_own_thread(name: &str, work: impl FnOnce() + Send + 'static) -> napi::Result<()> {
    std::thread::Builder::new().name(name.into()).spawn(work)?;
    Ok(())
}
