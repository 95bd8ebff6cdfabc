//! One request from its bytes to its answer. The one place where work enters the engine, and where panics stop.

use super::{Core, DEFAULT_TIMEOUT, LONGEST_REQUEST, Reply, Request, read, write};
use crate::error::Error;
use crate::query::Deadline;
use parking_lot::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Collection on which operations panic when the options ask for it.
const PANIC_COLLECTION: &str = "__panic__";

/// Runs a request. The reply is called exactly once, whatever happens.
pub fn run(core: &Core, request: Request, reply: Reply) {
    let cell = Arc::new(Mutex::new(Some(reply)));
    let once: Reply = {
        let cell = Arc::clone(&cell);
        Box::new(move |result| {
            let reply = cell.lock().take();
            if let Some(reply) = reply {
                reply(result);
            }
        })
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| dispatch(core, request, once)));
    if outcome.is_err() {
        let reply = cell.lock().take();
        if let Some(reply) = reply {
            reply(Err(Error::Panic));
        }
    }
}

fn dispatch(core: &Core, request: Request, reply: Reply) {
    assert!(!core.panic_for_tests || request.collection != PANIC_COLLECTION, "asked to panic by a test");
    let allowed = request.timeout.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_REQUEST);
    let deadline = Deadline::new(request.start, allowed, request.operation.title());
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
