//! Writing one group.

use super::CHANGES;
use super::accept::{Applied, accept};
use super::in_flight::InFlightGuard;
use super::request::{Admission, Write, WriteCall, WriteDone, WriteReply, WriteRequest, refused};
use crate::collection::Collection;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::field::{FieldGraph, IndexScratch};
use crate::recent_operations::Known;
use crate::state::{Head, View};
use crate::supervision::{Failed, Task};
use crate::sync::MutexGuard;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::types::{Lsn, OpNumber, OperationId};
use crate::wal::{Appender, Durability, LogError, PendingFlush};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows that a writer indexes for each row it wrote, when the tail is too long.
const HELP_FACTOR: u64 = 3;

const WRITE_PANICKED: &str = "a write failed inside the engine; restart the server to reopen the collection";

/// Bytes of records after which the rest of a group becomes a group of its own. An operation with a filter may write far
/// more than its request has.
const GROUP_RECORD_BYTES: usize = 64 << 20;

/// Time after which the rest of a group becomes a group of its own: what was accepted is logged and answered whatever
/// comes behind it. Applying 256 small writes takes less.
const GROUP_TIME: Duration = Duration::from_millis(4);

/// Bytes of a request that takes about as long by itself.
const LONG_REQUEST_BYTES: usize = 1 << 20;

/// A collection whose checkpoints fail may use the unsaved work that is allowed for all, divided by this.
const FAULTY_UNSAVED_DIVISOR: usize = 2;

/// Whether writes that were accepted should not wait for this one, or be in the log before it begins.
fn is_long(request: &WriteRequest) -> bool {
    request.call.bytes >= LONG_REQUEST_BYTES || request.write.changes_fields()
}

thread_local! {
    static BUILD: RefCell<IndexScratch> = RefCell::new(IndexScratch::default());
}

/// What a group puts into the log, and its answers.
struct Accepted {
    /// Bodies of records, each with the identity that came with its call.
    records: Vec<(Option<OperationId>, Vec<u8>)>,
    /// The answers; more than records where calls were repeated.
    answers: Vec<(WriteReply, WriteDone)>,
    /// The strictest level that was in force during the group.
    durability: Durability,
    /// What replaying the records costs.
    work: usize,
}

impl Collection {
    /// The one way in for a write: applies a group to the head, or as much of it as is done in [`GROUP_TIME`], and queues its
    /// records for the log. A panic inside is caught: a thread that died with the duty to write would stop all writes of
    /// the collection.
    ///
    /// Returns the flush that the records still need, if any do, and the rest of the group.
    pub(super) fn write_group<'c>(
        self: &'c Arc<Self>,
        head: MutexGuard<'c, Head>,
        group: Vec<WriteRequest>,
    ) -> (Option<PendingFlush<'c>>, VecDeque<WriteRequest>) {
        let mut written = 0;
        let mut group = VecDeque::from(group);
        let caught = self.caught(Task::Write, || self.write_some(head, &mut group, &mut written));
        let pending = caught.unwrap_or_else(|why| {
            match why {
                Failed::NoMemory => {
                    group.drain(..).for_each(|request| (request.call.reply)(Err(Error::MemoryLimit)));
                }
                Failed::Panicked(_) => {
                    self.poison(WRITE_PANICKED);
                    group.clear();
                }
            }
            None
        });
        if !self.tail_is_long() || self.shared.memory.is_critical() {
            return (pending, group);
        }
        drop(pending);
        self.help_indexing(written);
        (None, group)
    }

    fn caught<T>(&self, task: Task, step: impl FnOnce() -> T) -> Result<T, Failed> {
        self.shared.supervisor.catch(task, Some(self.id), step)
    }

    /// Writers help with indexing while the unindexed tail is too long for searches: with a few times the rows that were
    /// just written, so that the tail shrinks and no single write pays for what was there before it.
    fn help_indexing(&self, written: u64) {
        let mut claims = (HELP_FACTOR * written).div_ceil(u64::from(FieldGraph::CLAIM_ROWS));
        while claims > 0 && self.tail_is_long() {
            claims -= 1;
            let more =
                self.caught(Task::Index, || BUILD.with_borrow_mut(|scratch| self.index_tails(scratch)));
            match more {
                Ok(true) => {}
                Ok(false) => return,
                // The indexers go on when there is memory.
                Err(Failed::NoMemory) => return,
                Err(_) => {
                    self.poison("the indexer failed; restart the server to reopen the collection");
                    return;
                }
            }
        }
    }

    /// Applies a group, or the beginning of it, queues its records, and counts the new rows.
    fn write_some<'c>(
        self: &'c Arc<Self>,
        mut head: MutexGuard<'c, Head>,
        group: &mut VecDeque<WriteRequest>,
        written: &mut u64,
    ) -> Option<PendingFlush<'c>> {
        self.restore_if_stale(&mut head);
        // Until the group is through, the head is not to be trusted: a panic leaves it marked.
        let stale_unless_finished = StaleUnlessFinished(&self.writer.head_is_stale);
        if let Err(error) = self.check_writable() {
            stale_unless_finished.finish();
            for request in group.drain(..) {
                (request.call.reply)(Err(error.clone()));
            }
            return None;
        }
        head.settle(self.view.load().op);
        if self.shared.memory.is_making_room() && !head.state.auto_indexes.is_empty() {
            head.state.auto_indexes = Arc::default();
        }
        let rows_before = head.rows();
        let accepted = self.accept_group(&mut head, group)?;
        *written += head.rows().saturating_sub(rows_before);
        let pending = if accepted.answers.is_empty() { None } else { self.append(&head, accepted) };
        stale_unless_finished.finish();
        pending
    }

    /// Applies the requests of a group and answers those that are refused. `None` after a panic: then the head may be half
    /// changed, nothing of the group can be kept, and all are answered. Likewise where a map could not be read.
    fn accept_group(&self, head: &mut Head, group: &mut VecDeque<WriteRequest>) -> Option<Accepted> {
        let mut accepted = Accepted {
            records: Vec::with_capacity(group.len()),
            answers: Vec::with_capacity(group.len()),
            // A group may change the level; what was sent under the stricter one keeps to that.
            durability: head.state.config.wal.durability,
            work: 0,
        };
        let mut record_bytes = 0;
        let started = Instant::now();
        while record_bytes < GROUP_RECORD_BYTES {
            let begun = !accepted.answers.is_empty() && !PlantedFault::GroupNotEnded.is_on();
            let is_over = started.elapsed() >= GROUP_TIME && !PlantedFault::GroupTimeIgnored.is_on();
            if begun && (is_over || group.front().is_some_and(is_long)) {
                break;
            }
            let Some(request) = group.pop_front() else { break };
            if request.write.changes_fields() {
                self.await_durable(head);
            }
            let Some(request) = self.unless_repeated(head, request, &mut accepted.answers) else { continue };
            let WriteRequest { write, call } = request;
            let WriteCall { identity, deadline, bytes, numbering, admission, reply } = call;
            if let Err(refused) = self.admit(head, &write, bytes, admission) {
                reply(Err(refused));
                continue;
            }
            let operation = identity.map(|call| call.id);
            let named = (numbering, operation);
            match self.caught(Task::Write, || accept(head, &self.shared, self.id, write, named, &deadline)) {
                Ok(Ok(Applied { bodies, replay_work, skipped })) => {
                    accepted.work += replay_work;
                    record_bytes += bodies.iter().map(Vec::len).sum::<usize>();
                    accepted
                        .answers
                        .push((reply, WriteDone { operation_id: head.op, skipped: skipped.into() }));
                    accepted.records.extend(bodies.into_iter().map(|body| (operation, body)));
                    let level = head.state.config.wal.durability;
                    let later = PlantedFault::LevelInForceTooEarly.is_on();
                    accepted.durability = if later { level } else { accepted.durability.min(level) };
                }
                Ok(Err(error)) => reply(Err(error)),
                Err(why) => {
                    reply(Err(self.failed_write(&why)));
                    self.refuse_accepted(accepted);
                    return None;
                }
            }
        }
        // What a map no longer gives was read as zeros, and filters and edits may have been resolved with that.
        if self.report_map_fault().is_some() {
            self.refuse_accepted(accepted);
            return None;
        }
        Some(accepted)
    }

    /// Refuses a write that there is no memory for, whose rows would be too many, or that goes beyond a limit of its collection.
    fn admit(
        &self,
        head: &Head,
        write: &Write,
        bytes: usize,
        limits: Option<Admission>,
    ) -> Result<(), Error> {
        if write.grows() {
            self.admit_growth(write.growth(bytes, head.state.indexes.len()))?;
        }
        if let Some(limits) = limits {
            let view = Arc::new(head.view(Lsn::NONE));
            let view = if self.shared.is_replica { view } else { self.without_expired_since(&view) };
            limits(&view, write.updates())?;
        }
        if write.adds_rows() { head.admit_rows(self.shared.limits.max_rows) } else { Ok(()) }
    }

    /// Waits until all that the head has is durable. What is not may have to be taken back, at the positions that fields have
    /// now.
    fn await_durable(&self, head: &mut Head) {
        self.writer.in_flight.wait_for_none();
        self.restore_if_stale(head);
        head.settle(self.view.load().op);
    }

    /// The request, unless it repeats a call that was applied before or may have been: then it is answered. The head has
    /// what is not durable yet, too, and the answers of a group come behind that.
    fn unless_repeated(
        &self,
        head: &Head,
        request: WriteRequest,
        answers: &mut Vec<(WriteReply, WriteDone)>,
    ) -> Option<WriteRequest> {
        let Some(call) = request.call.identity else { return Some(request) };
        match head.state.operations.find(&call, self.shared.log.next_lsn()) {
            Known::New => return Some(request),
            Known::Applied(before) => {
                let (operation_id, skipped) = (OpNumber::new(before.number), before.skipped);
                answers.push((request.call.reply, WriteDone { operation_id, skipped }));
            }
            Known::Unknown => (request.call.reply)(Err(Error::OutcomeUnknown)),
        }
        None
    }

    /// The error of a write that a panic ended. For want of memory the collection takes writes again; any other panic is a
    /// fault of it.
    fn failed_write(&self, why: &Failed) -> Error {
        if *why == Failed::NoMemory {
            return Error::MemoryLimit;
        }
        if self.report_map_fault().is_none() {
            self.poison(WRITE_PANICKED);
        }
        Error::Panic
    }

    /// Answers what was accepted of a group: with the fault of the collection, or without one that there is no memory.
    fn refuse_accepted(&self, accepted: Accepted) {
        let error = self.fault().map_or(Error::MemoryLimit, Error::CollectionFault);
        accepted.answers.into_iter().for_each(|(reply, _)| reply(Err(error.clone())));
    }

    /// Whether a write may be accepted that makes the data grow, in memory by about that many bytes. One collection that
    /// cannot be checkpointed must not use up what the log may hold for all.
    ///
    /// # Errors
    /// As [`Shared::admit_growth`](crate::collection::Shared::admit_growth).
    fn admit_growth(&self, bytes: u64) -> Result<(), Error> {
        if self.unsaved_work() > self.shared.limits.max_unsaved_work / FAULTY_UNSAVED_DIVISOR
            && self.checkpoint_fault().is_some()
        {
            let why =
                "the log waits for a checkpoint of this collection, which fails: the server's log says why";
            return Err(Error::Overloaded(why.into()));
        }
        self.shared.admit_growth(bytes)
    }

    /// Queues a group's records for the log; the view is published and the callers are answered when they are as durable
    /// as asked.
    fn append<'c>(self: &'c Arc<Self>, head: &Head, accepted: Accepted) -> Option<PendingFlush<'c>> {
        let Accepted { records, answers, durability, work } = accepted;
        if records.is_empty() {
            return self.answer_again(answers);
        }
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
                    let is_stale = !PlantedFault::RefusedGroupStays.is_on();
                    collection.writer.head_is_stale.store(is_stale, Ordering::Release);
                    let error = refused(&error);
                    answers.into_iter().for_each(|(reply, _)| reply(Err(error.clone())));
                }
            }
        };
        let id = self.id;
        let fill = move |log: &mut Appender<'_>| {
            records
                .into_iter()
                .try_for_each(|(operation, body)| log.append(id, CHANGES, operation, body).map(drop))
        };
        // `done` was called with a refusal.
        self.shared.log.append(fill, durability, Box::new(done)).ok().map(|((), pending)| pending)
    }

    /// Answers calls that were applied before, when what the log holds of the collection is durable. There is no record and
    /// no other view: the last one may be that of a group that is not durable yet.
    fn answer_again(&self, answers: Vec<(WriteReply, WriteDone)>) -> Option<PendingFlush<'_>> {
        let id = self.id;
        let done = move |result: Result<Lsn, LogError>| {
            let error = result.err().map(|error| refused(&error));
            for (reply, done) in answers {
                reply(error.clone().map_or(Ok(done), Err));
            }
        };
        let fill = move |log: &mut Appender<'_>| log.follow(id);
        self.shared.log.append(fill, Durability::Always, Box::new(done)).ok().map(|((), pending)| pending)
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
