//! Executes one request, from its bytes to its answer. All requests enter the engine here, and panics are caught here.

use super::{
    Core, DEFAULT_TIMEOUT, LONGEST_REQUEST, Operation, Reply, Request, access, maintenance, read,
    replication, write,
};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::query::take_tally;
use crate::scheduling::{ActiveRead, lane};
use crate::storage::map_faults;
use crate::supervision::{Failed, Task};
use std::time::Duration;

/// Collection on which operations panic when a test has asked for it.
#[cfg(feature = "testing")]
const PANIC_COLLECTION: &str = "__panic__";

/// Nanoseconds to parse a byte of a read, roughly: a long body makes a read heavy.
const PARSED_BYTE: u64 = 4;
/// Runs of one read, each of which met a file that cannot be read.
const MAX_RUNS: usize = 8;

/// Runs a request. The reply is called exactly once, also after a panic.
pub fn run(core: &Core, request: Request, reply: Reply) {
    let guard = ReplyGuard(Some(reply));
    let is_deletion = request.operation == Operation::DeleteCollection;
    let task = if is_deletion { Task::Deletion } else { Task::Request };
    // A panic drops the reply, which then answers with an error.
    let _ = core.catalog.shared().supervisor.catch(task, None, || {
        dispatch(core, request, Box::new(move |result| guard.send(result)));
    });
}

/// A reply that is always called: when it is dropped uncalled, because its holder panicked, it answers with that.
struct ReplyGuard(Option<Reply>);

impl ReplyGuard {
    fn send(mut self, result: Result<Vec<u8>, Error>) {
        if let Some(reply) = self.0.take() {
            reply(result);
        }
    }
}

impl Drop for ReplyGuard {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            reply(Err(Error::Panic));
        }
    }
}

/// Runs a light read on the thread of its caller. `None` where it needs a thread of the engine, and where it fails: there it
/// is to run as if nothing had been done.
pub fn run_here(core: &Core, request: &Request) -> Option<Vec<u8>> {
    let read = ActiveRead::begin();
    lane::begin_here();
    let supervisor = &core.catalog.shared().supervisor;
    let answer = supervisor.catch(Task::Request, None, || {
        let deadline = deadline_of(core, request)?;
        run_read(core, request, &deadline)
    });
    let answer = if lane::end_here() { answer.ok().and_then(Result::ok) } else { None };
    lane::settle_counts(answer.is_some());
    if answer.is_some() {
        read.answered_light();
    }
    answer
}

fn dispatch(core: &Core, request: Request, reply: Reply) {
    #[cfg(feature = "testing")]
    assert!(!core.panics_on_request || request.collection != PANIC_COLLECTION, "asked to panic by a test");
    let deadline = match deadline_of(core, &request) {
        Ok(deadline) => deadline,
        Err(error) => return reply(Err(error)),
    };
    if request.operation.is_write() {
        write::run(core, request, deadline, reply);
    } else if request.operation.is_maintenance() {
        maintenance::run(core, &request, &deadline, reply);
    } else {
        reply(run_read(core, &request, &deadline));
    }
}

/// The deadline of a request that may run.
///
/// # Errors
/// Why it may not.
fn deadline_of(core: &Core, request: &Request) -> Result<Deadline, Error> {
    let allowed = request.timeout.unwrap_or(DEFAULT_TIMEOUT).min(LONGEST_REQUEST);
    let deadline = Deadline::new(request.start, allowed, request.operation.title())
        .or_at(&core.closing)
        .or_cancelled(request.cancellation.clone());
    deadline
        .check()
        .and_then(|()| access::check(request))
        .and_then(|()| replication::check(core, request))?;
    Ok(match request.operation {
        Operation::CreateCollection | Operation::DeleteCollection => deadline,
        _ => deadline.or_gone(core.catalog.gone(&request.collection)),
    })
}

fn run_read(core: &Core, request: &Request, deadline: &Deadline) -> Result<Vec<u8>, Error> {
    let parsing = (*request.body).as_ref().len() as u64 * PARSED_BYTE;
    let answer =
        deadline.expect(Duration::from_nanos(parsing)).and_then(|()| answer_read(core, request, deadline));
    // The deadline is that of the whole request, and its error has no place in a batch.
    let is_of_deadline = |error: &Error| matches!(error, Error::Within(..)) && deadline.passed();
    answer.map_err(|error| if is_of_deadline(&error) { deadline.error() } else { error })
}

/// The error for a request that did not come to its end.
pub fn failure(why: &Failed) -> Error {
    match why {
        Failed::NoMemory => Error::MemoryLimit,
        Failed::Panicked(_) => Error::Panic,
    }
}

/// Answers a read. Where a page of a map cannot be read meanwhile, zeros may be in the answer: its collection is
/// quarantined and the read runs again, to find that, or that it was another collection's.
fn answer_read(core: &Core, request: &Request, deadline: &Deadline) -> Result<Vec<u8>, Error> {
    for _ in 0..MAX_RUNS {
        let faults = core.catalog.settle_map_faults();
        let supervisor = &core.catalog.shared().supervisor;
        let answer = supervisor.catch(Task::Request, None, || read::run(core, request, deadline));
        // What is left of a search that failed is no part of the thread's next request.
        let tally = take_tally();
        lane::when_answered(&core.searches, move |sums| sums.add(tally));
        if map_faults() == faults {
            return answer.unwrap_or_else(|why| Err(failure(&why)));
        }
    }
    core.catalog.settle_map_faults();
    Err(Error::Internal("files of more and more collections cannot be read".into()))
}
