//! The writer of a collection: from queued requests to published views.
//!
//! A write goes queue → [`Head`] → log → view. One thread at a time takes what is queued as a *group*, resolves and applies
//! each operation to the head, and appends the group's records to the log. When the log has synced them, the view is
//! published and the callers are answered.

mod accept;
mod group;
mod heavy;
mod in_flight;
mod queue;
mod request;

pub use heavy::{Class, HeavyWrite, Step};
pub use request::{
    Admission, CHANGES, Place, Write, WriteCall, WriteDone, WriteReply, WriteRequest, refused,
};

use super::Collection;
use crate::state::Head;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::wal::PendingFlush;
use in_flight::InFlight;
use queue::Queue;
use std::sync::Arc;

/// The queue of writes, and the head that they are applied to.
pub(super) struct Writer {
    queue: Queue,
    /// The lock of this is the writer lock: writes are applied and the head is changed under it alone.
    head: Mutex<Head>,
    in_flight: InFlight,
    /// A group failed: the head is ahead of what is durable and must be restored before the next write.
    head_is_stale: AtomicBool,
}

impl Writer {
    /// A writer with an empty queue, whose requests are counted in `waiting_of_all`.
    pub fn new(head: Head, waiting_of_all: &Arc<AtomicUsize>) -> Writer {
        Writer {
            queue: Queue::new(waiting_of_all),
            head: Mutex::new(head),
            in_flight: InFlight::none(),
            head_is_stale: AtomicBool::new(false),
        }
    }

    /// Takes the writer lock. Groups may be in flight, and may fail afterwards.
    pub fn lock(&self) -> MutexGuard<'_, Head> {
        self.head.lock()
    }

    /// Whether a group is in the log that is in no view yet.
    pub fn is_in_flight(&self) -> bool {
        self.in_flight.any()
    }

    /// Answers the queued writes whose deadline has passed.
    pub fn give_up_expired(&self) {
        self.queue.give_up_expired();
    }
}

/// The thread whose request found no writer running: it must write what is queued, also for others, as the leader of a
/// write group does in RocksDB.
#[must_use = "nothing of the collection is written before this is run"]
pub struct WriteLeader<'c>(&'c Arc<Collection>);

impl WriteLeader<'_> {
    /// Writes the queue off, group by group, until it is empty.
    pub fn run(self) {
        // The group before, as long as the log's thread was not woken for it.
        let mut pending: Option<PendingFlush<'_>> = None;
        let writer = &self.0.writer;
        loop {
            // Nothing is taken from the queue before it can be written: what waits there can be given up.
            let head = writer.head.try_lock().unwrap_or_else(|| {
                drop(pending.take());
                writer.head.lock()
            });
            let group = writer.queue.take_group();
            if group.is_empty() {
                drop(head);
                // Another thread may write from here on, and need not wait for this sync.
                return pending.map_or((), PendingFlush::finish);
            }
            drop(pending);
            let (of_group, rest) = self.0.write_group(head, group);
            pending = of_group;
            writer.queue.put_back(rest);
        }
    }
}

impl Collection {
    /// Queues a write. A caller that becomes the leader must run it: no other thread writes then. A write that
    /// finds the queue full is answered with `Overloaded`.
    pub fn enqueue<'c>(self: &'c Arc<Self>, request: WriteRequest) -> Option<WriteLeader<'c>> {
        self.writer.queue.put(request).then_some(WriteLeader(self))
    }

    /// Writes a request that does not wait in the queue, before or after a group of it. As the leader the caller
    /// would have to write for all clients too, for as long as the queue does not get empty.
    pub(super) fn write_unqueued(self: &Arc<Self>, request: WriteRequest) {
        if let (Some(pending), _) = self.write_group(self.writer.head.lock(), vec![request]) {
            pending.finish();
        }
    }

    /// Takes the writer lock with nothing in flight: the head is what readers see.
    pub(super) fn quiet_head(&self) -> MutexGuard<'_, Head> {
        let mut head = self.writer.head.lock();
        self.writer.in_flight.wait_for_none();
        self.restore_if_stale(&mut head);
        head.settle(self.view.load().op);
        head
    }

    /// Takes back what a failed group left in the head.
    fn restore_if_stale(&self, head: &mut Head) {
        if self.writer.head_is_stale.load(Ordering::Acquire) {
            self.writer.in_flight.wait_for_none();
            head.restore(&self.view());
            self.shared.log.resume(self.id);
            self.writer.head_is_stale.store(false, Ordering::Release);
        }
    }

    /// Lets readers see the head with nothing in flight: an operation that changes nothing for clients.
    pub(super) fn publish_settled(&self, head: &Head) {
        let lsn = self.view().lsn;
        self.view.store(Arc::new(head.view(lsn)));
    }
}
