//! The write path of a collection.

use super::change::{self, Change};
use super::checkpoint::unsaved::replay_work;
use super::head::{Allowance, Head, Unapplied};
use super::resolve::resolve;
use super::update::Update;
use super::view::View;
use super::{Collection, Shared};
use crate::config::CollectionPatch;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::field::{FieldGraph, IndexScratch};
use crate::payload::{FieldSchema, JsonPath};
use crate::scheduling::yield_to_reads;
use crate::sync::MutexGuard;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::wal::{Appender, Durability, LogError};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows that a writer indexes for each row it wrote, when the tail is too long.
const HELP_FACTOR: u64 = 3;

const WRITE_PANICKED: &str = "a write failed inside the engine; restart the server to reopen the collection";

/// Bytes of records after which what is left of a group is a group of its own. An operation with a filter may write far
/// more than its request has.
const GROUP_RECORD_BYTES: usize = 64 << 20;

/// Points that a batch may touch, if that is more than twice the collection.
const FILTERED_POINTS: usize = 1 << 20;

/// Kind of a log record that holds the changes of one operation of a collection.
pub const CHANGES: u8 = 1;

/// A write.
pub enum Write {
    /// Updates of points, all or nothing.
    Points {
        /// In order; each sees the ones before it.
        updates: Vec<Update>,
        /// Whether they came as a `points/batch`, whose paths start with `operations[i]`.
        batch: Option<Vec<&'static str>>,
    },
    /// C5.12
    CreateIndex {
        /// The field.
        path: JsonPath,
        /// Its schema.
        schema: FieldSchema,
    },
    /// Removes a field index.
    DropIndex(JsonPath),
    /// C4.4
    Patch(Box<CollectionPatch>),
    /// Moves some live rows of a chunk that is mostly dead: an operation that changes nothing for clients.
    MoveRows {
        /// Position of the vector field.
        field: usize,
        /// The chunk.
        chunk: u32,
    },
}

impl Write {
    /// Whether it may write vectors.
    fn adds_rows(&self) -> bool {
        match self {
            Write::Points { updates, .. } => updates.iter().any(Update::adds_rows),
            Write::MoveRows { .. } => true,
            Write::CreateIndex { .. } | Write::DropIndex(_) | Write::Patch(_) => false,
        }
    }

    /// Whether it makes the data grow: such writes are refused while the disk is full.
    fn grows(&self) -> bool {
        match self {
            Write::Points { updates, .. } => updates.iter().any(Update::grows),
            Write::CreateIndex { .. } => true,
            Write::DropIndex(_) | Write::Patch(_) | Write::MoveRows { .. } => false,
        }
    }
}

/// What a write did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteDone {
    /// Number of the operation; grows with every write of the collection.
    pub operation_id: u64,
}

/// Called once when the write is durable and visible, or refused.
pub type WriteReply = Box<dyn FnOnce(Result<WriteDone, Error>) + Send>;

/// A queued write.
pub struct WriteRequest {
    /// What to do.
    pub write: Write,
    /// When it is given up, as long as nothing of it has happened.
    pub deadline: Deadline,
    /// Size of the request's body, for the bounds of the queue.
    pub bytes: usize,
    /// Whom to answer.
    pub reply: WriteReply,
}

/// What only the thread in the writer's seat touches.
pub(super) struct Writer {
    pub head: Head,
}

thread_local! {
    static BUILD: RefCell<IndexScratch> = RefCell::new(IndexScratch::default());
}

impl Collection {
    /// Queues a write. Answers whether the caller must see to it that [`Collection::run_writes`] runs.
    /// One that finds the queue full is answered with `Overloaded`.
    pub fn enqueue(&self, request: WriteRequest) -> bool {
        self.queue.put(request)
    }

    /// Answers the queued writes whose deadline has passed, whatever the writer is at.
    pub fn give_up_late_writes(&self) {
        self.queue.give_up_late();
    }

    /// Writes something that has no place in the queue, before or after a group of it. Whoever took the writer's seat for
    /// it would have to write for everybody else too, for as long as the queue does not get empty.
    pub(super) fn write_beside(self: &Arc<Self>, request: WriteRequest) {
        let unwritten = self.write_whole(vec![request]);
        self.have_written(unwritten);
    }

    /// Works the queue off, group by group. Only the thread that [`Collection::enqueue`] told so may call this.
    pub fn run_writes(self: &Arc<Self>) {
        let log = &self.shared.log;
        // The level of the last group, as long as nobody has been told to write it.
        let mut unwritten = None;
        loop {
            let group = self.queue.take_group();
            if group.is_empty() {
                // The seat is free: whoever takes it now need not wait for this sync.
                return self.have_written(unwritten);
            }
            if unwritten.is_some() {
                log.wake();
            }
            unwritten = self.write_whole(group);
        }
    }

    /// Has the log written that has a group of this level which it was not told of.
    fn have_written(&self, unwritten: Option<Durability>) {
        match unwritten {
            Some(Durability::Always) => self.shared.log.drive(),
            Some(Durability::Interval | Durability::Os) => self.shared.log.wake(),
            None => {}
        }
    }

    /// Applies a group and queues its records, whatever happens on the way: a writer that died in its seat would stop the
    /// collection's writes for ever. Answers the level of the records, unless there are none or the log is at them.
    fn write_whole(self: &Arc<Self>, group: Vec<WriteRequest>) -> Option<Durability> {
        let log = &self.shared.log;
        let mut written = 0;
        let mut group = VecDeque::from(group);
        let mut unwritten = None;
        while !group.is_empty() {
            if unwritten.is_some() {
                log.wake();
            }
            unwritten = catch_unwind(AssertUnwindSafe(|| self.write_some(&mut group, &mut written)))
                .unwrap_or_else(|_| {
                    self.poison(WRITE_PANICKED);
                    group.clear();
                    log.wake();
                    None
                });
        }
        if !self.tail_is_long() {
            return unwritten;
        }
        log.wake();
        self.help_indexing(written);
        None
    }

    /// Indexes while the tail is too long for searches, instead of making it longer: a few times the rows that
    /// were just written, so that the tail shrinks and no single write pays for what was there before it.
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
    /// new rows. Answers the level of the records, if there are any, for the log to be driven.
    fn write_some(
        self: &Arc<Self>,
        group: &mut VecDeque<WriteRequest>,
        written: &mut u64,
    ) -> Option<Durability> {
        let mut writer = self.writer.lock();
        self.restore_if_stale(&mut writer);
        // Until the group is through, the head is not to be trusted: a panic leaves it marked.
        let unfinished = Unfinished(&self.head_is_stale);
        if let Err(error) = self.check_writable() {
            unfinished.finish();
            for request in group.drain(..) {
                (request.reply)(Err(error.clone()));
            }
            return None;
        }
        writer.head.settle(self.view.load().op);
        let rows_before = writer.head.rows();
        let mut bodies: Vec<Vec<u8>> = Vec::with_capacity(group.len());
        let mut answers: Vec<(WriteReply, WriteDone)> = Vec::with_capacity(group.len());
        // A group may change the level; whatever of it was sent under the stricter one keeps to that.
        let mut durability = writer.head.state.config.wal.durability;
        let mut work = 0;
        let mut record_bytes = 0;
        while record_bytes < GROUP_RECORD_BYTES {
            let Some(WriteRequest { write, deadline, reply, .. }) = group.pop_front() else { break };
            let head = &mut writer.head;
            let room = if write.grows() { self.admit_growth() } else { Ok(()) };
            let rows = if write.adds_rows() { head.admit_rows(self.shared.limits.max_rows) } else { Ok(()) };
            if let Err(refused) = room.and(rows) {
                reply(Err(refused));
                continue;
            }
            match catch_unwind(AssertUnwindSafe(|| accept(head, &self.shared, self.id, write, &deadline))) {
                Ok(Ok((body, cost))) => {
                    work += cost;
                    record_bytes += body.len();
                    answers.push((reply, WriteDone { operation_id: head.op }));
                    bodies.push(body);
                    durability = durability.min(head.state.config.wal.durability);
                }
                Ok(Err(error)) => reply(Err(error)),
                Err(_) => {
                    // The head may be half changed: nothing of this group can be kept.
                    self.poison(WRITE_PANICKED);
                    reply(Err(Error::Panic));
                    let error = Error::CollectionFault(self.fault().unwrap_or_default());
                    answers.drain(..).for_each(|(reply, _)| reply(Err(error.clone())));
                    return None;
                }
            }
        }
        let has_records = !answers.is_empty();
        *written += writer.head.rows().saturating_sub(rows_before);
        if has_records {
            self.append(&writer.head, bodies, durability, work, answers);
        }
        unfinished.finish();
        has_records.then_some(durability)
    }

    /// Queues a group's records for the log; the view is published and the callers are answered when they are as durable
    /// as asked.
    fn append(
        self: &Arc<Self>,
        head: &Head,
        bodies: Vec<Vec<u8>>,
        durability: Durability,
        work: usize,
        answers: Vec<(WriteReply, WriteDone)>,
    ) {
        let view = head.view(0);
        let flight = Flight::start(self);
        let done = move |result: Result<u64, LogError>| {
            let collection = &flight.0;
            match result {
                Ok(lsn) => {
                    collection.publish(View { lsn, ..view }, work);
                    answers.into_iter().for_each(|(reply, done)| reply(Ok(done)));
                }
                Err(error) => {
                    collection.head_is_stale.store(true, Ordering::Release);
                    let error = refused(&error);
                    answers.into_iter().for_each(|(reply, _)| reply(Err(error.clone())));
                }
            }
        };
        let id = self.id;
        let fill = move |log: &mut Appender<'_>| {
            bodies.into_iter().try_for_each(|body| log.append(id, CHANGES, body).map(drop))
        };
        // Whatever becomes of the group, `done` hears of it.
        let _ = self.shared.log.enqueue(fill, durability, Box::new(done));
    }

    fn publish(self: &Arc<Self>, view: View, work: usize) {
        self.last_lsn.store(view.lsn, Ordering::Release);
        self.unsaved.add(work);
        self.view.store(Arc::new(view));
        self.shared.indexer.push(self);
    }

    /// The writer's seat with nothing in flight: the head is what readers see.
    pub(super) fn quiet_writer(&self) -> MutexGuard<'_, Writer> {
        let mut writer = self.writer.lock();
        self.wait_for_flights();
        self.restore_if_stale(&mut writer);
        writer.head.settle(self.view.load().op);
        writer
    }

    /// Takes back what a failed group left in the head.
    fn restore_if_stale(&self, writer: &mut Writer) {
        if self.head_is_stale.load(Ordering::Acquire) {
            self.wait_for_flights();
            writer.head.restore(&self.view());
            self.shared.log.resume(self.id);
            self.head_is_stale.store(false, Ordering::Release);
        }
    }

    /// Waits until no group is between append and answer.
    fn wait_for_flights(&self) {
        let mut in_flight = self.in_flight.lock();
        while *in_flight > 0 {
            self.landed.wait(&mut in_flight);
        }
    }
}

/// Marks the head as stale when it is dropped without a word: by a panic, or where the head is half changed.
struct Unfinished<'a>(&'a AtomicBool);

impl Unfinished<'_> {
    /// The head is whole.
    fn finish(self) {
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A group between append and answer. It lands even when whoever holds it panics.
struct Flight(Arc<Collection>);

impl Flight {
    fn start(collection: &Arc<Collection>) -> Flight {
        *collection.in_flight.lock() += 1;
        Flight(Arc::clone(collection))
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        *self.0.in_flight.lock() -= 1;
        self.0.landed.notify_all();
    }
}

/// Applies one write to the head; answers the body of its record, and what replaying it costs. After an error the head
/// is as before.
fn accept(
    head: &mut Head,
    shared: &Shared,
    collection: u64,
    write: Write,
    deadline: &Deadline,
) -> Result<(Vec<u8>, usize), Error> {
    deadline.check()?;
    let op = head.op + 1;
    let savepoint = head.savepoint();
    let accepted = apply(head, shared, op, write, deadline).and_then(|changes| {
        let mut body = Vec::new();
        change::encode(op, &changes, &mut body);
        let most = shared.limits.max_record_bytes;
        if body.len() > most {
            let touched = changes.iter().map(Change::touched).sum::<usize>();
            let bytes = body.len();
            return Err(Error::bad(format!(
                "the operation touches {touched} points and takes {bytes} bytes in the log, where {most} fit: touch \
                 fewer points at a time"
            )));
        }
        debug_assert!(change::decode(&body).is_ok(), "collection {collection}: a record must decode");
        let work = replay_work(&body, &changes);
        Ok((body, work))
    });
    match accepted {
        Ok(_) => head.op = op,
        Err(_) => head.roll_back(savepoint),
    }
    accepted
}

/// Applies one write to the head; answers the changes of its record. After an error the head may be half changed.
fn apply(
    head: &mut Head,
    shared: &Shared,
    op: u64,
    write: Write,
    deadline: &Deadline,
) -> Result<Vec<Change>, Error> {
    Ok(match write {
        Write::Points { updates, batch } => {
            let room = shared.limits.max_added_payload_bytes;
            accept_updates(head, op, updates, batch.as_deref(), room, deadline)?
        }
        Write::CreateIndex { path, schema } => {
            let declared = head.state.indexes.iter().find(|index| *index.path() == path);
            if declared.is_some_and(|index| *index.schema() == schema) {
                Vec::new()
            } else {
                let limit = shared.limits.max_field_indexes;
                if declared.is_none() && head.state.indexes.len() >= limit {
                    let message =
                        format!("field_name: at most {limit} field indexes a collection (max_field_indexes)");
                    return Err(Error::BadRequest(message));
                }
                let mut json = Vec::new();
                schema.write_json(&mut json);
                apply_one(head, op, Change::CreateIndex { path, schema: json.into() })?
            }
        }
        Write::DropIndex(path) => apply_one(head, op, Change::DropIndex(path))?,
        Write::Patch(patch) => {
            let config = head.state.config.apply_patch(&patch)?;
            apply_one(head, op, Change::SetConfig(config.to_json().into()))?
        }
        Write::MoveRows { field, chunk } => {
            head.move_rows(op, field, chunk);
            Vec::new()
        }
    })
}

fn apply_one(head: &mut Head, op: u64, change: Change) -> Result<Vec<Change>, Error> {
    head.apply(op, &change).map_err(Error::Internal)?;
    Ok(vec![change])
}

/// Resolves and applies updates in order, up to the first that is refused or given up: then the head is half changed.
/// Together they may add `payload_room` bytes to payloads by edits.
fn accept_updates(
    head: &mut Head,
    op: u64,
    updates: Vec<Update>,
    batch: Option<&[&'static str]>,
    payload_room: u64,
    deadline: &Deadline,
) -> Result<Vec<Change>, Error> {
    let mut allowance = Allowance::new(payload_room, deadline);
    // Operations by filter name every point they touch in the record: together at most a few times the collection.
    let most = FILTERED_POINTS.max(2 * head.state.ids.len());
    let mut filtered = 0;
    let mut all = Vec::new();
    for (at, update) in updates.into_iter().enumerate() {
        let place = batch.map_or(String::new(), |names| format!("operations[{at}].{}.", names[at]));
        // Each may copy a payload as large as a request.
        deadline.check()?;
        let changes = resolve(&head.state, update, &place, deadline)?;
        filtered += changes.iter().map(Change::touched).sum::<usize>();
        if at > 0 && filtered > most {
            return Err(Error::bad(format!("{place}the batch touches more than {most} points")));
        }
        for change in &changes {
            head.apply_within(op, change, &mut allowance).map_err(|why| match why {
                Unapplied::Refused(why) => Error::bad(format!("{place}payload: {why}")),
                Unapplied::GivenUp(error) => error,
            })?;
            yield_to_reads();
        }
        all.extend(changes);
    }
    Ok(all)
}

/// What a client is told when the log refuses.
pub fn refused(error: &LogError) -> Error {
    match error {
        LogError::Full => Error::StorageFull,
        // Nothing was appended; the same request can simply be sent again.
        LogError::Overloaded | LogError::Superseded => Error::Overloaded(error.public()),
        LogError::Closed => Error::ShuttingDown,
        _ => Error::Internal(error.public()),
    }
}
