//! Answers on their way to the event loop.

use kithdb_engine::{Error, message_details};
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
    /// What a slow search did, as a JSON object.
    pub profile: Option<String>,
}

impl Completion {
    /// A success.
    pub fn success(id: u32, envelope: Vec<u8>) -> Completion {
        Completion { id, envelope: Some(envelope.into()), code: None, details: None, profile: None }
    }

    /// A failure.
    pub fn failure(id: u32, error: &Error) -> Completion {
        Completion::failed(id, error.code(), &error.details_json())
    }

    /// The failure to open a data directory.
    pub fn open_failed(id: u32, why: &str) -> Completion {
        Completion::failed(id, "open_failed", &message_details(why))
    }

    fn failed(id: u32, code: &str, details: &[u8]) -> Completion {
        let details = String::from_utf8_lossy(details).into_owned();
        Completion { id, envelope: None, code: Some(code.to_string()), details: Some(details), profile: None }
    }

    /// Adds the profile of its search.
    pub fn with_profile(self, profile: Option<String>) -> Completion {
        Completion { profile, ..self }
    }
}

/// Answers up to this size cross in a frame, copied twice, which costs less than memory of their own on both sides.
const SHORT_ANSWER_BYTES: usize = 16 * 1024;
/// Bytes in front of an answer in a frame: the number of its call and its length, both 32 bits, little-endian.
const FRAME_HEAD_BYTES: usize = 8;

/// Completions that wait for the event loop.
#[derive(Default)]
struct Waiting {
    /// Short successes in the format of a frame, one after the other.
    short: Vec<u8>,
    /// How much of them has been taken.
    taken: usize,
    /// Everything else.
    others: Vec<Completion>,
}

/// Weak: it does not keep the event loop alive by itself.
type Drain = ThreadsafeFunction<(), (), Vec<Completion>, Status, false, true>;

/// Gathers completions; the first of its kind that waits wakes the event loop, which then takes them all.
pub struct Completions {
    waiting: Arc<Mutex<Waiting>>,
    drain: Drain,
}

impl Completions {
    /// Completions for a JavaScript function that takes a list of those that cross as objects, and then asks for the
    /// others with [`Completions::take`] until there are none.
    pub fn new(on_completions: Function<'_, Vec<Completion>, ()>) -> napi::Result<Arc<Completions>> {
        let waiting = Arc::<Mutex<Waiting>>::default();
        let source = Arc::clone(&waiting);
        let drain = on_completions
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .build_callback(move |_| Ok(std::mem::take(&mut lock(&source).others)))?;
        Ok(Arc::new(Completions { waiting, drain }))
    }

    /// Adds a success, from any thread.
    pub fn succeed(&self, id: u32, envelope: Vec<u8>) {
        if envelope.len() > SHORT_ANSWER_BYTES {
            return self.push(Completion::success(id, envelope));
        }
        let first = {
            let mut waiting = lock(&self.waiting);
            let first = waiting.short.is_empty();
            waiting.short.extend_from_slice(&id.to_le_bytes());
            waiting.short.extend_from_slice(&(envelope.len() as u32).to_le_bytes());
            waiting.short.extend_from_slice(&envelope);
            first
        };
        self.wake_for(first);
    }

    /// Adds a completion that crosses as an object, from any thread.
    pub fn push(&self, completion: Completion) {
        let first = {
            let mut waiting = lock(&self.waiting);
            waiting.others.push(completion);
            waiting.others.len() == 1
        };
        self.wake_for(first);
    }

    /// Copies as many short successes into `frame` as fit and returns how many bytes they take; 0 when there are none
    /// left. `frame` must hold the longest of them.
    pub fn take(&self, frame: &mut [u8]) -> usize {
        let mut waiting = lock(&self.waiting);
        let left = &waiting.short[waiting.taken..];
        let mut end = 0;
        while let Some(head) = left.get(end..end + FRAME_HEAD_BYTES) {
            let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
            let next = end + FRAME_HEAD_BYTES + length;
            if next > frame.len() {
                break;
            }
            end = next;
        }
        frame[..end].copy_from_slice(&left[..end]);
        waiting.taken += end;
        if waiting.taken == waiting.short.len() {
            waiting.short.clear();
            waiting.taken = 0;
        }
        end
    }

    fn wake_for(&self, first: bool) {
        if first {
            self.drain.call((), ThreadsafeFunctionCallMode::NonBlocking);
        }
    }
}

/// Locks a mutex, also when another thread panicked while it held it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
