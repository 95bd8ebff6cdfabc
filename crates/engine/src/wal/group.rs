//! Group commit: many writers, one log, one sync for all that arrived during the last one.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Condvar, Mutex, MutexGuard, mpsc};

use super::durability::{Durability, GroupOptions};
use super::log::{Log, Pending};
use super::{LogError, MAX_BODY_BYTES, MarkFault};

/// Bytes that wait for the log, up to which whoever brings them writes them: the sync takes so little longer for them
/// that the way to another thread and back counts.
const DRIVEN_BYTES: usize = 64 << 10;

/// Told once how a group ended: the sequence of its last record (for an empty group the last durable one) or why none
/// of its records is in the log. Called on the thread that wrote it, one at a time and the groups of a collection in the
/// order of their sequences; it must not block, and must not call the log.
pub type Completion = Box<dyn FnOnce(Result<u64, LogError>) + Send>;

/// The log, shared by all writers of the server.
///
/// Sequences are given out under a short lock in which only already encoded bodies change hands; encoding, checksums
/// and I/O happen elsewhere. When a group fails, every group behind it fails too, because its records may be built on
/// it, and its collections are refused until they say [`resume`](Self::resume).
pub struct GroupCommit {
    shared: Arc<Shared>,
    /// `None` when flushes happen in the caller.
    thread: Mutex<Option<JoinHandle<()>>>,
    inline: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    /// Locked before `queue` by whoever moves groups from the queue to the log.
    log: Mutex<Log>,
    /// Held while writers are told, and taken before `log` is let go: the groups that the next one writes are told later.
    telling: Mutex<()>,
    waiting_bytes: usize,
    sync_interval: Duration,
}

struct Queue {
    groups: VecDeque<Group>,
    /// Bodies in `groups` and in the batch that is being written.
    bytes: usize,
    next: u64,
    /// Collections whose last group failed.
    failed: HashSet<u64>,
    poison: Option<LogError>,
    closed: bool,
}

struct Group {
    records: Vec<Pending>,
    last: Option<u64>,
    bytes: usize,
    durability: Durability,
    done: Completion,
}

impl std::fmt::Debug for GroupCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupCommit").field("inline", &self.inline).finish_non_exhaustive()
    }
}

impl GroupCommit {
    /// Writes and syncs on a thread of its own.
    pub fn threaded(log: Log, options: &GroupOptions) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::new(log, options));
        let worker = Arc::clone(&shared);
        let thread = thread::Builder::new().name("kithdb-log".to_owned()).spawn(move || worker.run())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), inline: false })
    }

    /// Writes and syncs in the caller, before the call returns: one thread, every run the same, for simulations.
    pub fn inline(log: Log, options: &GroupOptions) -> Self {
        Self { shared: Arc::new(Shared::new(log, options)), thread: Mutex::new(None), inline: true }
    }

    /// Appends `(collection, kind, body)` records with successive sequences. `done` is always called exactly once, for
    /// a refusal before this returns; then the sequences are not given out.
    pub fn append_group(&self, records: &[(u64, u8, &[u8])], durability: Durability, done: Completion) {
        let records: Vec<Pending> = records
            .iter()
            .map(|&(collection, kind, body)| Pending { collection, kind, body: body.to_vec() })
            .collect();
        let submitted = self.with_log(
            |log| {
                for record in records {
                    log.push(record)?;
                }
                Ok(())
            },
            durability,
            done,
        );
        // The completion has heard of a refusal already.
        drop(submitted);
    }

    /// Gives `fill` the log to itself for a moment: it sees the sequences that its records will get, may apply its
    /// operation accordingly, and appends. What it appended is one group; if it fails, nothing is appended, no sequence
    /// is used up, and `done` hears the error. (After a panic in `fill` nothing is appended either, and `done` is dropped.)
    ///
    /// Every other writer waits meanwhile: `fill` must be short, and must not call this log.
    pub fn with_log<R>(
        &self,
        fill: impl FnOnce(&mut Appender<'_>) -> Result<R, LogError>,
        durability: Durability,
        done: Completion,
    ) -> Result<R, LogError> {
        let queued = self.enqueue(fill, durability, done);
        self.wake();
        queued
    }

    /// As [`with_log`](Self::with_log), for somebody who then calls [`wake`](Self::wake) or [`drive`](Self::drive), and
    /// soon: the group waits until then.
    pub fn enqueue<R>(
        &self,
        fill: impl FnOnce(&mut Appender<'_>) -> Result<R, LogError>,
        durability: Durability,
        done: Completion,
    ) -> Result<R, LogError> {
        let mut queue = self.shared.queue.lock();
        let staged = match queue.refusal() {
            Some(refusal) => Err(refusal),
            None => {
                let mut appender = Appender {
                    queue: &queue,
                    limit: self.shared.waiting_bytes,
                    records: Vec::new(),
                    bytes: 0,
                };
                fill(&mut appender).map(|value| (value, appender.records, appender.bytes))
            }
        };
        let (value, records, bytes) = match staged {
            Ok(staged) => staged,
            Err(error) => {
                drop(queue);
                done(Err(error.clone()));
                return Err(error);
            }
        };
        queue.next += records.len() as u64;
        let last = (!records.is_empty()).then(|| queue.next - 1);
        queue.bytes += bytes;
        queue.groups.push_back(Group { records, last, bytes, durability, done });
        drop(queue);
        if self.inline {
            self.shared.write_batch(self.shared.log.lock(), false);
        }
        Ok(value)
    }

    /// Has the log's thread write and sync what is queued.
    pub fn wake(&self) {
        if !self.inline {
            self.shared.arrived.notify_one();
        }
    }

    /// Writes and syncs what is queued in the caller, if it is short and nobody is at the log; else as
    /// [`wake`](Self::wake). The completions are called here, so the caller must hold nothing that they need.
    pub fn drive(&self) {
        if self.inline {
            return;
        }
        let is_short = self.shared.queue.lock().bytes <= DRIVEN_BYTES;
        match is_short.then(|| self.shared.log.try_lock()).flatten() {
            // With a sync: the one after a pause, of records that did not ask for one, is the thread's.
            Some(log) => drop(self.shared.write_batch(log, true)),
            None => self.wake(),
        }
    }

    /// Accepts records of `collection` again after a failure. To be called once its state holds nothing that failed and
    /// the completions of its failed groups have returned.
    pub fn resume(&self, collection: u64) {
        self.shared.queue.lock().failed.remove(&collection);
    }

    /// Waits until everything appended so far is durable. Not to be called from a completion.
    pub fn sync(&self) -> Result<u64, LogError> {
        let (sender, receiver) = mpsc::channel();
        let done = Box::new(move |outcome| {
            // Nobody listens if the waiting thread was unwound.
            let _ = sender.send(outcome);
        });
        self.with_log(|_| Ok(()), Durability::Always, done)?;
        receiver.recv().unwrap_or(Err(LogError::Closed))
    }

    /// Why the log takes no writes until it is opened again, if it does not: a sync failed.
    pub fn fault(&self) -> Option<LogError> {
        self.shared.queue.lock().poison.clone()
    }

    /// The sequence that the next record would get at this moment.
    pub fn next_sequence(&self) -> u64 {
        self.shared.queue.lock().next
    }

    /// The last sequence that is durable; waits for a running sync.
    pub fn durable_sequence(&self) -> u64 {
        self.shared.log.lock().durable_sequence()
    }

    /// See [`Log::cut`]; waits for a running sync.
    pub fn cut(&self, below: u64) -> Result<(), LogError> {
        self.shared.log.lock().cut(below)
    }

    /// See [`Log::mend_mark`]; waits for a running sync.
    pub fn mend_mark(&self) -> Option<(MarkFault, Result<(), LogError>)> {
        self.shared.log.lock().mend_mark()
    }

    /// See [`Log::rotate`]; waits for a running sync.
    pub fn rotate(&self) -> Result<(), LogError> {
        self.shared.log.lock().rotate()
    }

    /// Makes everything that was appended durable and shows the paths of all segments with their lengths in bytes,
    /// oldest first. Nothing is written or cut meanwhile, so `look` must be short. What a segment holds up to its length
    /// never changes afterwards.
    ///
    /// # Errors
    /// The log's, when it cannot be made durable.
    pub fn with_segments<R>(&self, look: impl FnOnce(&[(String, u64)]) -> R) -> Result<R, LogError> {
        self.sync()?;
        let mut log = self.shared.log.lock();
        log.flush()?;
        Ok(look(&log.segments()))
    }

    /// See [`Log::size_bytes`]; waits for a running sync.
    pub fn size_bytes(&self) -> u64 {
        self.shared.log.lock().size_bytes()
    }

    /// See [`Log::oldest_sequence`]; waits for a running sync.
    pub fn oldest_sequence(&self) -> u64 {
        self.shared.log.lock().oldest_sequence()
    }

    /// Refuses further groups, writes and syncs what waits, and ends the thread. Answers whether the last sync
    /// succeeded. Closing twice is no error; not to be called from a completion.
    pub fn close(&self) -> Result<(), LogError> {
        self.shared.queue.lock().closed = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // The thread catches what completions throw; its own panic would be a bug that the sync below reports.
            let _ = thread.join();
        }
        self.shared.write_batch(self.shared.log.lock(), true);
        let mut log = self.shared.log.lock();
        log.sync()?;
        log.give_back_zeros()
    }
}

impl Drop for GroupCommit {
    fn drop(&mut self) {
        // Whoever wants to know the outcome calls `close`.
        let _ = self.close();
    }
}

/// The log as one writer sees it while it holds it.
pub struct Appender<'a> {
    queue: &'a Queue,
    limit: usize,
    records: Vec<Pending>,
    bytes: usize,
}

impl Appender<'_> {
    /// The sequence that the next record gets.
    pub fn next_sequence(&self) -> u64 {
        self.queue.next + self.records.len() as u64
    }

    /// Adds a record to the group and answers its sequence.
    pub fn append(&mut self, collection: u64, kind: u8, body: Vec<u8>) -> Result<u64, LogError> {
        self.push(Pending { collection, kind, body })
    }

    fn push(&mut self, record: Pending) -> Result<u64, LogError> {
        if record.body.len() > MAX_BODY_BYTES {
            return Err(LogError::TooLarge { bytes: record.body.len() });
        }
        if self.queue.failed.contains(&record.collection) {
            return Err(LogError::Superseded);
        }
        if self.queue.bytes > 0 && self.queue.bytes + self.bytes + record.body.len() > self.limit {
            return Err(LogError::Overloaded);
        }
        let sequence = self.next_sequence();
        self.bytes += record.body.len();
        self.records.push(record);
        Ok(sequence)
    }
}

impl Queue {
    fn refusal(&self) -> Option<LogError> {
        match &self.poison {
            Some(poison) => Some(poison.clone()),
            None => self.closed.then_some(LogError::Closed),
        }
    }
}

/// A group that was written, or failed, and whose writer has not heard yet.
struct Outcome {
    done: Completion,
    result: Result<u64, LogError>,
}

impl Shared {
    fn new(log: Log, options: &GroupOptions) -> Self {
        let queue = Queue {
            groups: VecDeque::new(),
            bytes: 0,
            next: log.next_sequence(),
            failed: HashSet::new(),
            poison: None,
            closed: false,
        };
        Self {
            queue: Mutex::new(queue),
            arrived: Condvar::new(),
            log: Mutex::new(log),
            telling: Mutex::new(()),
            waiting_bytes: options.waiting_bytes,
            sync_interval: options.sync_interval,
        }
    }

    fn run(&self) {
        let mut sync_at: Option<Instant> = None;
        loop {
            let mut queue = self.queue.lock();
            while queue.groups.is_empty() && !queue.closed {
                match sync_at {
                    None => self.arrived.wait(&mut queue),
                    Some(at) => {
                        if self.arrived.wait_until(&mut queue, at).timed_out() {
                            break;
                        }
                    }
                }
            }
            if queue.closed && queue.groups.is_empty() {
                return;
            }
            drop(queue);
            let overdue = sync_at.is_some_and(|at| at <= Instant::now());
            if self.write_batch(self.log.lock(), overdue) {
                sync_at.get_or_insert_with(|| Instant::now() + self.sync_interval);
            } else if overdue {
                sync_at = None;
            }
            if self.queue.lock().poison.is_some() {
                sync_at = None;
            }
        }
    }

    /// Writes everything that waits and tells the writers. Syncs if one of them wants it or `sync` says so. Answers
    /// whether records were written that want a sync soon.
    fn write_batch(&self, mut log: MutexGuard<'_, Log>, sync: bool) -> bool {
        let mut batch = std::mem::take(&mut self.queue.lock().groups);
        let sync = sync || batch.iter().any(|group| group.durability == Durability::Always);
        let wants_sync_soon = !sync && batch.iter().any(|group| group.durability == Durability::Interval);
        let mut touched = HashSet::new();
        let mut awaited = HashSet::new();
        let mut outcome = Ok(());
        let mut eager = Vec::new();
        for group in &mut batch {
            let collections = group.records.iter().map(|record| record.collection);
            if group.durability == Durability::Always {
                awaited.extend(collections);
                eager.push(false);
            } else {
                // Behind a group that waits for the sync, one of the same collection waits too: its view has both.
                eager.push(!collections.into_iter().any(|collection| awaited.contains(&collection)));
            }
            for record in group.records.drain(..) {
                touched.insert(record.collection);
                if outcome.is_ok() {
                    outcome = log.append(record.collection, record.kind, record.body).map(drop);
                }
            }
        }
        outcome = outcome.and_then(|()| log.write()).map(drop);
        if sync && outcome.is_ok() {
            let mut eager = eager.into_iter();
            let (written, waiting): (VecDeque<Group>, _) =
                batch.into_iter().partition(|_| eager.next() == Some(true));
            batch = waiting;
            if !written.is_empty() {
                let outcomes = self.settle(&log, written, &touched, &outcome);
                let _telling = self.telling.lock();
                tell(outcomes);
            }
            outcome = log.sync();
        }
        let outcomes = self.settle(&log, batch, &touched, &outcome);
        let _telling = self.telling.lock();
        drop(log);
        tell(outcomes);
        wants_sync_soon && outcome.is_ok()
    }

    /// Turns a batch into what its writers are told. After a failure the groups that arrived meanwhile fail with it.
    fn settle(
        &self,
        log: &Log,
        batch: VecDeque<Group>,
        touched: &HashSet<u64>,
        outcome: &Result<(), LogError>,
    ) -> Vec<Outcome> {
        let mut queue = self.queue.lock();
        let durable = log.durable_sequence();
        queue.bytes -= batch.iter().map(|group| group.bytes).sum::<usize>();
        let Err(error) = outcome else {
            let told = |group: Group| Outcome { done: group.done, result: Ok(group.last.unwrap_or(durable)) };
            return batch.into_iter().map(told).collect();
        };
        let followers = std::mem::take(&mut queue.groups);
        queue.bytes = 0;
        queue.failed.extend(touched);
        queue.failed.extend(followers.iter().flat_map(|g| &g.records).map(|record| record.collection));
        queue.next = log.next_sequence();
        if matches!(error, LogError::Poisoned(_)) {
            queue.poison = Some(error.clone());
        }
        let told = |group: Group| Outcome { done: group.done, result: Err(error.clone()) };
        batch.into_iter().chain(followers).map(told).collect()
    }
}

fn tell(outcomes: Vec<Outcome>) {
    for Outcome { done, result } in outcomes {
        // A writer that panics must not take the log with it; the panic hook has reported it.
        let _ = catch_unwind(AssertUnwindSafe(|| done(result)));
    }
}
