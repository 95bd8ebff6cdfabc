//! Requests that are answered when a field index, or everything, is built.

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
    /// The field index that it waits for; without one, for all graphs and field indexes.
    path: Option<JsonPath>,
    deadline: Deadline,
    reply: BuiltReply,
}

impl IndexWaiters {
    /// Adds one that waits for a field index. The caller settles afterwards: the index may be there already.
    pub fn add(&self, path: JsonPath, deadline: Deadline, reply: BuiltReply) {
        self.push(Waiter { path: Some(path), deadline, reply });
    }

    /// Adds one that waits for all graphs and field indexes. The caller settles afterwards.
    pub fn add_for_all(&self, deadline: Deadline, reply: BuiltReply) {
        self.push(Waiter { path: None, deadline, reply });
    }

    /// Whether some wait for all.
    pub fn wait_for_all(&self) -> bool {
        self.waiting.lock().requests.iter().any(|waiter| waiter.path.is_none())
    }

    fn push(&self, waiter: Waiter) {
        let mut waiting = self.waiting.lock();
        if waiting.closed {
            drop(waiting);
            return (waiter.reply)(false);
        }
        waiting.requests.push(waiter);
    }

    /// Answers those whose index is not being built in the current view, and those whose time is over. In an older view
    /// the index that a request waits for may not be declared yet. `is_settled` says whether everything is built.
    pub fn settle(&self, view: impl FnOnce() -> Arc<View>, is_settled: bool) {
        let mut waiting = self.waiting.lock();
        if waiting.requests.is_empty() {
            return;
        }
        let view = view();
        let is_built = |waiter: &Waiter| {
            let Some(path) = &waiter.path else { return is_settled };
            let mut drafts = view.state.indexes.iter().filter(|index| index.built().is_none());
            drafts.all(|index| index.path() != path)
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
