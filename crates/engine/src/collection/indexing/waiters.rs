//! Requests that are answered when a field index is built.

use crate::deadline::Deadline;
use crate::payload::JsonPath;
use crate::state::View;
use crate::sync::Mutex;
use std::sync::Arc;

/// Called once: whether the index was built, or the caller's time was over before that.
pub type BuiltReply = Box<dyn FnOnce(bool) + Send>;

/// The requests that wait for a field index of one collection.
#[derive(Default)]
pub(in crate::collection) struct IndexWaiters {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    requests: Vec<Waiter>,
    /// Nothing will be built any more.
    closed: bool,
}

struct Waiter {
    path: JsonPath,
    deadline: Deadline,
    reply: BuiltReply,
}

impl IndexWaiters {
    /// Adds one. The caller settles afterwards: the index may be there already.
    pub fn add(&self, path: JsonPath, deadline: Deadline, reply: BuiltReply) {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            drop(waiting);
            return reply(false);
        }
        waiting.requests.push(Waiter { path, deadline, reply });
    }

    /// Answers those whose index is not being built in the current view, and those whose time is over. In an older view
    /// the index that a request waits for may not be declared yet.
    pub fn settle(&self, view: impl FnOnce() -> Arc<View>) {
        let mut waiting = self.waiting.lock();
        if waiting.requests.is_empty() {
            return;
        }
        let view = view();
        let is_built = |waiter: &Waiter| {
            let mut drafts = view.state.indexes.iter().filter(|index| index.built().is_none());
            drafts.all(|index| *index.path() != waiter.path)
        };
        let leaving = |waiter: &mut Waiter| is_built(waiter) || waiter.deadline.passed();
        let leaving: Vec<Waiter> = waiting.requests.extract_if(.., leaving).collect();
        drop(waiting);
        for waiter in leaving {
            let built = is_built(&waiter);
            (waiter.reply)(built);
        }
    }

    /// Answers all, now and later: nothing will be built any more.
    pub fn close(&self) {
        let mut waiting = self.waiting.lock();
        waiting.closed = true;
        let requests = std::mem::take(&mut waiting.requests);
        drop(waiting);
        requests.into_iter().for_each(|waiter| (waiter.reply)(false));
    }
}
