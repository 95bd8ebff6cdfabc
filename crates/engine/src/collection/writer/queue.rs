//! Writes that wait for the writer of a collection.

use super::request::WriteRequest;
use crate::error::Error;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

/// Operations that are applied before their records are appended together.
const GROUP_OPERATIONS: usize = 256;
/// Bytes of request bodies in a group; a group has at least one operation.
const GROUP_BYTES: usize = 8 << 20;
/// Bytes of requests that wait for the writer of one collection; more are refused with 429.
const QUEUE_BYTES: usize = 256 << 20;

/// Writes that wait for the writer.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Requests in the queues of all collections of the engine.
    of_all: Arc<AtomicUsize>,
}

struct Waiting {
    requests: VecDeque<WriteRequest>,
    bytes: usize,
    /// A writer is running or about to.
    scheduled: bool,
}

impl Queue {
    /// An empty queue, whose requests are counted in `of_all`.
    pub fn new(of_all: &Arc<AtomicUsize>) -> Queue {
        let waiting = Waiting { requests: VecDeque::new(), bytes: 0, scheduled: false };
        Queue { waiting: Mutex::new(waiting), of_all: Arc::clone(of_all) }
    }

    /// Adds a write, or answers it with `Overloaded` when there is no room. Says whether the caller has to write what is
    /// queued, because no thread is running that does.
    pub fn put(&self, request: WriteRequest) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.bytes + request.call.bytes > QUEUE_BYTES && !waiting.requests.is_empty() {
            drop(waiting);
            (request.call.reply)(Err(Error::Overloaded("the collection's write queue is full".into())));
            return false;
        }
        waiting.bytes += request.call.bytes;
        self.of_all.fetch_add(1, Ordering::Relaxed);
        waiting.requests.push_back(request);
        !std::mem::replace(&mut waiting.scheduled, true)
    }

    /// Takes the next group. When there is none, the next write that is queued has to find a thread to write it.
    pub fn take_group(&self) -> Vec<WriteRequest> {
        let mut waiting = self.waiting.lock();
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(next) = waiting.requests.front() {
            if group.len() == GROUP_OPERATIONS || (bytes > 0 && bytes + next.call.bytes > GROUP_BYTES) {
                break;
            }
            bytes += next.call.bytes.max(1);
            group.extend(waiting.requests.pop_front());
        }
        waiting.bytes -= group.iter().map(|request| request.call.bytes).sum::<usize>();
        self.of_all.fetch_sub(group.len(), Ordering::Relaxed);
        if group.is_empty() {
            waiting.scheduled = false;
        }
        group
    }

    /// Puts the rest of a group back in front: there it can be given up while the writer is busy.
    pub fn put_back(&self, rest: VecDeque<WriteRequest>) {
        if rest.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        waiting.bytes += rest.iter().map(|request| request.call.bytes).sum::<usize>();
        self.of_all.fetch_add(rest.len(), Ordering::Relaxed);
        rest.into_iter().rev().for_each(|request| waiting.requests.push_front(request));
    }

    /// Answers those whose deadline has passed. The writing thread might find that much later. Requests of a group that was
    /// taken are answered with the group.
    pub fn give_up_expired(&self) {
        let mut waiting = self.waiting.lock();
        if !waiting.requests.iter().any(|request| request.call.deadline.passed()) {
            return;
        }
        let requests = std::mem::take(&mut waiting.requests);
        let (expired, kept): (VecDeque<_>, _) =
            requests.into_iter().partition(|request| request.call.deadline.passed());
        waiting.requests = kept;
        waiting.bytes -= expired.iter().map(|request: &WriteRequest| request.call.bytes).sum::<usize>();
        drop(waiting);
        self.of_all.fetch_sub(expired.len(), Ordering::Relaxed);
        for WriteRequest { call, .. } in expired {
            (call.reply)(Err(call.deadline.error()));
        }
    }
}
