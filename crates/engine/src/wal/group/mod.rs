//! Group commit: many writers, one log, one sync for all groups that arrived during the last one.

mod committer;
mod pending_flush;

pub use pending_flush::PendingFlush;

use super::durability::{Durability, GroupOptions};
use super::log::{Log, Pending};
use super::{LogError, LogFigures, MAX_BODY_BYTES, MarkFault};
use crate::faults::PlantedFault;
use crate::supervision::Task;
use crate::sync::atomic::Ordering;
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Mutex, mpsc};
use crate::types::{Lsn, OperationId};
use committer::{Committer, CompletionGuard, Group, Queue};
use std::sync::Arc;

/// With at most this many bytes waiting, a writer writes and syncs inline: the sync then takes hardly longer than
/// handing over to another thread and back.
const INLINE_BYTES: usize = 64 << 10;

/// Called once with how a group ended: the LSN of its last record (for an empty group the last durable one) or why
/// none of its records is in the log. Called on the thread that wrote it, one at a time and the groups of a collection
/// in the order of their LSNs; it must not block, and must not call the log.
pub type Completion = Box<dyn FnOnce(Result<Lsn, LogError>) + Send>;

/// The log, shared by all writers of the server.
///
/// LSNs are given out under a short lock, in which already encoded bodies are moved and nothing else; headers,
/// checksums and I/O happen elsewhere. When a group fails, every group behind it fails too, because its records may be
/// built on it, and records of its collections are refused until [`resume`](Self::resume).
pub struct GroupCommit {
    shared: Arc<Committer>,
    /// The log's thread. `None` when flushes happen in the caller.
    thread: Mutex<Option<JoinHandle<()>>>,
    inline: bool,
    figures: Arc<LogFigures>,
}

impl std::fmt::Debug for GroupCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupCommit").field("inline", &self.inline).finish_non_exhaustive()
    }
}

impl GroupCommit {
    /// Writes and syncs on a thread of its own.
    pub fn threaded(log: Log, options: &GroupOptions) -> std::io::Result<Self> {
        let figures = Arc::clone(log.figures());
        let shared = Arc::new(Committer::new(log, options));
        let worker = Arc::clone(&shared);
        let thread = thread::Builder::new().name("kithdb-log".to_owned()).spawn(move || {
            worker.supervisor.run(Task::LogWriter, &worker.stop, || worker.run());
        })?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), inline: false, figures })
    }

    /// Writes and syncs in the caller, before the call returns: one thread, every run the same, for simulations.
    pub fn inline(log: Log, options: &GroupOptions) -> Self {
        let figures = Arc::clone(log.figures());
        let shared = Arc::new(Committer::new(log, options));
        Self { shared, thread: Mutex::new(None), inline: true, figures }
    }

    /// Appends `(collection, kind, body)` records with successive LSNs, for the log's thread to write. `done`
    /// is called exactly once, for a refusal before this returns; then the numbers are not used.
    pub fn append_group(&self, records: &[(u64, u8, &[u8])], durability: Durability, done: Completion) {
        let records: Vec<_> =
            records.iter().map(|&(collection, kind, body)| (collection, kind, body.to_vec())).collect();
        let fill = |log: &mut Appender<'_>| {
            records
                .into_iter()
                .try_for_each(|(collection, kind, body)| log.append(collection, kind, None, body).map(drop))
        };
        // A refusal was reported to `done`; what was appended is flushed here.
        drop(self.append(fill, durability, done));
    }

    /// The one way into the log. `fill` has the log to itself for a moment: it sees the LSNs that its records
    /// will get, may apply its operation accordingly, and appends. What it appended is one group, which waits until the
    /// [`PendingFlush`] is finished or dropped. If `fill` fails, nothing is appended, no number is used, and `done` is
    /// called with the error. (After a panic in `fill` nothing is appended either, and `done` is dropped.)
    ///
    /// Every other writer waits meanwhile: `fill` must be short, and must not call this log.
    pub fn append<R>(
        &self,
        fill: impl FnOnce(&mut Appender<'_>) -> Result<R, LogError>,
        durability: Durability,
        done: Completion,
    ) -> Result<(R, PendingFlush<'_>), LogError> {
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
        queue.next = queue.next.plus(records.len() as u64);
        let last = (!records.is_empty()).then(|| queue.next.previous());
        queue.bytes += bytes;
        queue.groups.push_back(Group { records, last, bytes, durability, done: CompletionGuard::new(done) });
        drop(queue);
        if self.inline {
            self.shared.write_batch(self.shared.log.lock(), false);
        }
        Ok((value, PendingFlush::new(self, durability)))
    }

    /// Has the log's thread write and sync what is queued.
    fn wake(&self) {
        if !self.inline {
            self.shared.arrived.notify_one();
        }
    }

    /// Writes and syncs what is queued in the caller, if it is short and no other thread is writing; else as
    /// [`wake`](Self::wake). The completions are called here, so the caller must hold nothing that they need.
    fn drive(&self) {
        if self.inline {
            return;
        }
        let is_short = self.shared.queue.lock().bytes <= INLINE_BYTES;
        match is_short.then(|| self.shared.log.try_lock()).flatten() {
            // With a sync. Deferred syncs of records that did not ask for one are left to the thread.
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
    pub fn sync(&self) -> Result<Lsn, LogError> {
        let (sender, receiver) = mpsc::channel();
        let done = Box::new(move |outcome| {
            // The receiver is gone if the waiting thread was unwound.
            let _ = sender.send(outcome);
        });
        // The log's thread does it.
        drop(self.append(|_| Ok(()), Durability::Always, done)?);
        receiver.recv().unwrap_or(Err(LogError::Closed))
    }

    /// The failed sync because of which the log takes no writes until it is opened again, if any.
    pub fn fault(&self) -> Option<LogError> {
        self.shared.queue.lock().poison.clone()
    }

    /// The LSN that the next record would get at this moment.
    pub fn next_lsn(&self) -> Lsn {
        self.shared.queue.lock().next
    }

    /// The LSN that the next record would get after a kill of the process at this moment, or a lower one: behind it is
    /// everything that was answered.
    pub fn settled_lsn(&self) -> Lsn {
        Lsn::new(self.shared.settled.load(Ordering::Acquire)).next()
    }

    /// The last LSN that is durable; waits for a running sync.
    pub fn durable_lsn(&self) -> Lsn {
        self.shared.log.lock().durable_lsn()
    }

    /// See [`Log::cut`]; waits for a running sync.
    pub fn cut(&self, below: Lsn) -> Result<(), LogError> {
        self.shared.log.lock().cut(below)
    }

    /// See [`Log::repair_mark`]; waits for a running sync.
    pub fn repair_mark(&self) -> Option<(MarkFault, Result<(), LogError>)> {
        self.shared.log.lock().repair_mark()
    }

    /// See [`Log::rotate`]; waits for a running sync.
    pub fn rotate(&self) -> Result<(), LogError> {
        self.shared.log.lock().rotate()
    }

    /// Makes everything that was appended durable and shows the paths of all segments with their lengths in bytes,
    /// oldest first. Nothing is written or cut meanwhile, so `read` must be short. What a segment holds up to its
    /// length never changes afterwards.
    ///
    /// # Errors
    /// The error of the log when it cannot be made durable.
    pub fn with_segments<R>(&self, read: impl FnOnce(&[(String, u64)]) -> R) -> Result<R, LogError> {
        self.sync()?;
        let mut log = self.shared.log.lock();
        log.flush()?;
        Ok(read(&log.segments()))
    }

    /// What is known of the log without waiting: a disk that hangs must not hang who asks about it.
    pub fn figures(&self) -> &LogFigures {
        &self.figures
    }

    /// See [`Log::has_finished_segments`]; waits for a running sync.
    pub fn has_finished_segments(&self) -> bool {
        self.shared.log.lock().has_finished_segments()
    }

    /// See [`Log::size_bytes`]; waits for a running sync.
    pub fn size_bytes(&self) -> u64 {
        self.shared.log.lock().size_bytes()
    }

    /// See [`Log::oldest_lsn`]; waits for a running sync.
    pub fn oldest_lsn(&self) -> Lsn {
        self.shared.log.lock().oldest_lsn()
    }

    /// Refuses further groups, writes and syncs what waits, and ends the thread. Returns whether the last sync
    /// succeeded. Closing twice is no error; not to be called from a completion.
    pub fn close(&self) -> Result<(), LogError> {
        self.shared.queue.lock().closed = true;
        self.shared.stop.request();
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.lock().take() {
            // The thread catches its panics; what it has not written is written below.
            let _ = thread.join();
        }
        self.shared.write_batch(self.shared.log.lock(), !PlantedFault::StopNotSynced.is_on());
        let mut log = self.shared.log.lock();
        PlantedFault::StopNotSynced.skips(|| log.sync())?;
        log.give_back_zeros()
    }
}

impl Drop for GroupCommit {
    fn drop(&mut self) {
        // An owner that needs the outcome calls `close`.
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
    /// The LSN that the next record gets.
    pub fn next_lsn(&self) -> Lsn {
        self.queue.next.plus(self.records.len() as u64)
    }

    /// Fails where records of `collection` are refused until it is [resumed](GroupCommit::resume): what its state holds may
    /// have failed. A group without a record that answers for earlier ones of the collection asks this.
    pub fn follow(&self, collection: u64) -> Result<(), LogError> {
        if self.queue.failed.contains(&collection) { Err(LogError::Superseded) } else { Ok(()) }
    }

    /// Adds a record to the group and returns its LSN. `operation` is the identity that came with the call, if one did.
    pub fn append(
        &mut self,
        collection: u64,
        kind: u8,
        operation: Option<OperationId>,
        body: Vec<u8>,
    ) -> Result<Lsn, LogError> {
        if body.len() > MAX_BODY_BYTES {
            return Err(LogError::TooLarge { bytes: body.len() });
        }
        self.follow(collection)?;
        if self.queue.bytes > 0 && self.queue.bytes + self.bytes + body.len() > self.limit {
            return Err(LogError::Overloaded);
        }
        let lsn = self.next_lsn();
        self.bytes += body.len();
        self.records.push(Pending { collection, kind, operation, body });
        Ok(lsn)
    }
}
