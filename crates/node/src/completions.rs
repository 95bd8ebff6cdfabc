//! Answers on their way to the event loop.

use kithdb_engine::error::Error;
use napi::Status;
use napi::bindgen_prelude::{Buffer, Function};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi_derive::napi;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The answer to one call.
#[napi(object, object_from_js = false)]
pub struct Completion {
    /// The number that the caller gave the call.
    pub id: u32,
    /// The envelope of a success.
    pub envelope: Option<Buffer>,
    /// The stable code of a failure.
    pub code: Option<String>,
    /// The details of a failure as a JSON object.
    pub details: Option<String>,
}

impl Completion {
    /// A success.
    pub fn success(id: u32, envelope: Vec<u8>) -> Completion {
        Completion { id, envelope: Some(envelope.into()), code: None, details: None }
    }

    /// A failure.
    pub fn failure(id: u32, error: &Error) -> Completion {
        let details = String::from_utf8_lossy(&error.details_json()).into_owned();
        Completion { id, envelope: None, code: Some(error.code().to_string()), details: Some(details) }
    }

    /// A data directory that could not be opened.
    pub fn open_failed(id: u32, why: &str) -> Completion {
        let mut details = b"{\"message\":".to_vec();
        kithdb_engine::json::write_string(&mut details, why);
        details.push(b'}');
        let details = String::from_utf8_lossy(&details).into_owned();
        Completion { id, envelope: None, code: Some("open_failed".to_string()), details: Some(details) }
    }
}

type Waiting = Arc<Mutex<Vec<Completion>>>;
/// Weak: it does not keep the event loop alive by itself.
type Drain = ThreadsafeFunction<(), (), Vec<Completion>, Status, false, true>;

/// Gathers completions; the first into an empty list wakes the event loop, which then takes them all.
pub struct Completions {
    waiting: Waiting,
    drain: Drain,
}

impl Completions {
    /// Completions for a JavaScript function that takes a list of them.
    pub fn new(on_completions: Function<'_, Vec<Completion>, ()>) -> napi::Result<Arc<Completions>> {
        let waiting = Waiting::default();
        let source = Arc::clone(&waiting);
        let drain = on_completions
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build_callback(move |_| Ok(std::mem::take(&mut *lock(&source))))?;
        Ok(Arc::new(Completions { waiting, drain }))
    }

    /// Adds a completion, from any thread.
    pub fn push(&self, completion: Completion) {
        let first = {
            let mut waiting = lock(&self.waiting);
            waiting.push(completion);
            waiting.len() == 1
        };
        if first {
            self.drain.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

/// Locks; a panic elsewhere does not make what is behind the lock unusable.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
