//! Writes that wait for the writer of a collection, and who is to write them.

use super::WriteRequest;
use crate::error::Error;
use crate::sync::Mutex;
use std::collections::VecDeque;

/// Operations that are applied before their records are appended together.
const GROUP_OPERATIONS: usize = 256;
/// Bytes of request bodies in a group; a group has at least one operation.
const GROUP_BYTES: usize = 8 << 20;
/// Bytes of requests that wait for the writer of one collection; more are refused with 429.
const QUEUE_BYTES: usize = 256 << 20;

/// Writes that wait for the writer.
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
}

struct Waiting {
    requests: VecDeque<WriteRequest>,
    bytes: usize,
    /// A writer is running or about to.
    scheduled: bool,
}

impl Queue {
    /// An empty queue.
    pub fn new() -> Queue {
        Queue { waiting: Mutex::new(Waiting { requests: VecDeque::new(), bytes: 0, scheduled: false }) }
    }

    /// Adds a write, or answers it with `Overloaded` when there is no room. Says whether the caller has to take the
    /// writer's seat.
    pub fn put(&self, request: WriteRequest) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.bytes + request.bytes > QUEUE_BYTES && !waiting.requests.is_empty() {
            drop(waiting);
            (request.reply)(Err(Error::Overloaded("the collection's write queue is full".into())));
            return false;
        }
        waiting.bytes += request.bytes;
        waiting.requests.push_back(request);
        !std::mem::replace(&mut waiting.scheduled, true)
    }

    /// Takes the next group, or leaves the writer's seat when there is none.
    pub fn take_group(&self) -> Vec<WriteRequest> {
        let mut waiting = self.waiting.lock();
        let mut group = Vec::new();
        let mut bytes = 0;
        while let Some(next) = waiting.requests.front() {
            if group.len() == GROUP_OPERATIONS || (bytes > 0 && bytes + next.bytes > GROUP_BYTES) {
                break;
            }
            bytes += next.bytes.max(1);
            group.extend(waiting.requests.pop_front());
        }
        waiting.bytes -= group.iter().map(|request| request.bytes).sum::<usize>();
        if group.is_empty() {
            waiting.scheduled = false;
        }
        group
    }
}
