//! Executes one request, from its bytes to its answer. All requests enter the engine here, and panics are caught here.

use super::{Core, DEFAULT_TIMEOUT, LONGEST_REQUEST, Reply, Request, read, write};
use crate::deadline::Deadline;
use crate::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Collection on which operations panic when a test has asked for it.
#[cfg(feature = "testing")]
const PANIC_COLLECTION: &str = "__panic__";

/// Runs a request. The reply is called exactly once, also after a panic.
pub fn run(core: &Core, request: Request, reply: Reply) {
    let once = Once(Some(reply));
    // A panic drops the reply, which then answers with an error.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        dispatch(core, request, Box::new(move |result| once.send(result)));
    }));
}

/// A reply that is always called: when it is dropped uncalled, because its holder panicked, it answers with that.
struct Once(Option<Reply>);

impl Once {
    fn send(mut self, result: Result<Vec<u8>, Error>) {
        if let Some(reply) = self.0.take() {
            reply(result);
        }
    }
}

impl Drop for Once {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            reply(Err(Error::Panic));
        }
    }
}

fn dispatch(core: &Core, request: Request, reply: Reply) {
    #[cfg(feature = "testing")]
    assert!(!core.panics_on_request || request.collection != PANIC_COLLECTION, "asked to panic by a test");
    let allowed = request.timeout.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_REQUEST);
    let deadline = Deadline::new(request.start, allowed, request.operation.title()).or_at(&core.closing);
    if let Err(error) = deadline.check() {
        return reply(Err(error));
    }
    if request.operation.is_write() {
        write::run(core, request, deadline, reply);
    } else {
        let answer = read::run(core, &request, &deadline);
        reply(answer);
    }
}
