//! Writing one group.

use super::CHANGES;
use super::accept::accept;
use super::in_flight::InFlightGuard;
use super::request::{WriteDone, WriteReply, WriteRequest, refused};
use crate::collection::Collection;
use crate::error::Error;
use crate::field::{FieldGraph, IndexScratch};
use crate::state::{Head, View};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::types::Lsn;
use crate::wal::{Appender, Durability, LogError, PendingFlush};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows that a writer indexes for each row it wrote, when the tail is too long.
const HELP_FACTOR: u64 = 3;

const WRITE_PANICKED: &str = "a write failed inside the engine; restart the server to reopen the collection";

/// Bytes of records after which the rest of a group becomes a group of its own. An operation with a filter may write far
/// more than its request has.
const GROUP_RECORD_BYTES: usize = 64 << 20;

/// A collection whose checkpoints fail may use the unsaved work that is allowed for all, divided by this.
const FAULTY_UNSAVED_DIVISOR: usize = 2;

thread_local! {
    static BUILD: RefCell<IndexScratch> = RefCell::new(IndexScratch::default());
}

/// What a group puts into the log, and its answers.
struct Accepted {
    bodies: Vec<Vec<u8>>,
    answers: Vec<(WriteReply, WriteDone)>,
    /// The strictest level that was in force during the group.
    durability: Durability,
    /// What replaying the records costs.
    work: usize,
}

impl Collection {
    /// The one way in for a write: applies a group and queues its records for the log. A panic inside is caught: a thread
    /// that died with the duty to write would stop all writes of the collection.
    ///
    /// Returns the flush that the last records still need, if any do.
    pub(super) fn write_group<'c>(self: &'c Arc<Self>, group: Vec<WriteRequest>) -> Option<PendingFlush<'c>> {
        let mut written = 0;
        let mut group = VecDeque::from(group);
        let mut pending = None;
        while !group.is_empty() {
            drop(pending);
            pending = catch_unwind(AssertUnwindSafe(|| self.write_some(&mut group, &mut written)))
                .unwrap_or_else(|_| {
                    self.poison(WRITE_PANICKED);
                    group.clear();
                    None
                });
        }
        if !self.tail_is_long() {
            return pending;
        }
        drop(pending);
        self.help_indexing(written);
        None
    }

    /// Writers help with indexing while the unindexed tail is too long for searches: with a few times the rows that were
    /// just written, so that the tail shrinks and no single write pays for what was there before it.
    fn help_indexing(&self, written: u64) {
        let mut turns = (HELP_FACTOR * written).div_ceil(u64::from(FieldGraph::CLAIM_ROWS));
        while turns > 0 && self.tail_is_long() {
            turns -= 1;
            let more =
                catch_unwind(AssertUnwindSafe(|| BUILD.with_borrow_mut(|scratch| self.index_tails(scratch))));
            match more {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    self.poison("the indexer failed; restart the server to reopen the collection");
                    return;
                }
            }
        }
    }

    /// Applies a group, or as much of it as takes [`GROUP_RECORD_BYTES`] in the log, queues its records, and counts the
    /// new rows.
    fn write_some<'c>(
        self: &'c Arc<Self>,
        group: &mut VecDeque<WriteRequest>,
        written: &mut u64,
    ) -> Option<PendingFlush<'c>> {
        let mut head = self.writer.head.lock();
        self.restore_if_stale(&mut head);
        // Until the group is through, the head is not to be trusted: a panic leaves it marked.
        let stale_unless_finished = StaleUnlessFinished(&self.writer.head_is_stale);
        if let Err(error) = self.check_writable() {
            stale_unless_finished.finish();
            for request in group.drain(..) {
                (request.reply)(Err(error.clone()));
            }
            return None;
        }
        head.settle(self.view.load().op);
        let rows_before = head.rows();
        let accepted = self.accept_group(&mut head, group)?;
        *written += head.rows().saturating_sub(rows_before);
        let pending = if accepted.answers.is_empty() { None } else { self.append(&head, accepted) };
        stale_unless_finished.finish();
        pending
    }

    /// Applies the requests of a group and answers those that are refused. `None` after a panic: then the head may be half
    /// changed, nothing of the group can be kept, and all are answered.
    fn accept_group(&self, head: &mut Head, group: &mut VecDeque<WriteRequest>) -> Option<Accepted> {
        let mut accepted = Accepted {
            bodies: Vec::with_capacity(group.len()),
            answers: Vec::with_capacity(group.len()),
            // A group may change the level; what was sent under the stricter one keeps to that.
            durability: head.state.config.wal.durability,
            work: 0,
        };
        let mut record_bytes = 0;
        while record_bytes < GROUP_RECORD_BYTES {
            let Some(WriteRequest { write, deadline, reply, .. }) = group.pop_front() else { break };
            let room = if write.grows() { self.admit_growth() } else { Ok(()) };
            let rows = if write.adds_rows() { head.admit_rows(self.shared.limits.max_rows) } else { Ok(()) };
            if let Err(refused) = room.and(rows) {
                reply(Err(refused));
                continue;
            }
            match catch_unwind(AssertUnwindSafe(|| accept(head, &self.shared, self.id, write, &deadline))) {
                Ok(Ok((body, cost))) => {
                    accepted.work += cost;
                    record_bytes += body.len();
                    accepted.answers.push((reply, WriteDone { operation_id: head.op }));
                    accepted.bodies.push(body);
                    accepted.durability = accepted.durability.min(head.state.config.wal.durability);
                }
                Ok(Err(error)) => reply(Err(error)),
                Err(_) => {
                    self.poison(WRITE_PANICKED);
                    reply(Err(Error::Panic));
                    let error = Error::CollectionFault(self.fault().unwrap_or_default());
                    accepted.answers.into_iter().for_each(|(reply, _)| reply(Err(error.clone())));
                    return None;
                }
            }
        }
        Some(accepted)
    }

    /// Whether a write that makes the data grow may be accepted. One collection that cannot be checkpointed must not use
    /// up what the log may hold for all.
    ///
    /// # Errors
    /// As [`Shared::admit_growth`](crate::collection::Shared::admit_growth).
    fn admit_growth(&self) -> Result<(), Error> {
        if self.unsaved_work() > self.shared.limits.max_unsaved_work / FAULTY_UNSAVED_DIVISOR
            && self.checkpoint_fault().is_some()
        {
            let why =
                "the log waits for a checkpoint of this collection, which fails: the server's log says why";
            return Err(Error::Overloaded(why.into()));
        }
        self.shared.admit_growth()
    }

    /// Queues a group's records for the log; the view is published and the callers are answered when they are as durable
    /// as asked.
    fn append<'c>(self: &'c Arc<Self>, head: &Head, accepted: Accepted) -> Option<PendingFlush<'c>> {
        let Accepted { bodies, answers, durability, work } = accepted;
        let view = head.view(Lsn::NONE);
        let in_flight = InFlightGuard::start(self);
        let done = move |result: Result<Lsn, LogError>| {
            let collection = in_flight.collection();
            match result {
                Ok(lsn) => {
                    collection.publish(View { lsn, ..view }, work);
                    answers.into_iter().for_each(|(reply, done)| reply(Ok(done)));
                }
                Err(error) => {
                    collection.writer.head_is_stale.store(true, Ordering::Release);
                    let error = refused(&error);
                    answers.into_iter().for_each(|(reply, _)| reply(Err(error.clone())));
                }
            }
        };
        let id = self.id;
        let fill = move |log: &mut Appender<'_>| {
            bodies.into_iter().try_for_each(|body| log.append(id, CHANGES, body).map(drop))
        };
        // `done` was called with a refusal.
        self.shared.log.append(fill, durability, Box::new(done)).ok().map(|((), pending)| pending)
    }

    fn publish(self: &Arc<Self>, view: View, work: usize) {
        self.position.advance(view.lsn, work);
        self.view.store(Arc::new(view));
        self.shared.indexer.push(self);
    }
}

/// Marks the head as stale when it is dropped: by a panic, or where the head is half changed.
struct StaleUnlessFinished<'a>(&'a AtomicBool);

impl StaleUnlessFinished<'_> {
    /// The head is whole.
    fn finish(self) {
        std::mem::forget(self);
    }
}

impl Drop for StaleUnlessFinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
