//! Moves groups from the queue to the log, and notifies their writers.

use super::Completion;
use crate::faults::PlantedFault;
use crate::storage::{ErrorKind, StorageError};
use crate::supervision::{Stop, Supervisor, Task};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::types::Lsn;
use crate::wal::LogError;
use crate::wal::durability::{Durability, GroupOptions};
use crate::wal::log::{Log, Pending};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The queue of groups, and the log that they are written to.
pub(super) struct Committer {
    pub(super) queue: Mutex<Queue>,
    pub(super) arrived: Condvar,
    /// Locked before `queue` to move groups from the queue to the log.
    pub(super) log: Mutex<Log>,
    /// Held while writers are notified, and taken before `log` is released: the writers of the next batch are notified
    /// later.
    pub(super) notifying: Mutex<()>,
    /// The highest LSN of a group that is written and, where it asks for that, synced.
    pub(super) settled: AtomicU64,
    pub(super) waiting_bytes: usize,
    pub(super) sync_interval: Duration,
    pub(super) supervisor: Arc<Supervisor>,
    /// Ends the pause of the log's thread after a panic.
    pub(super) stop: Stop,
}

/// Groups that wait for the log.
pub(super) struct Queue {
    pub(super) groups: VecDeque<Group>,
    /// Bodies in `groups` and in the batch that is being written.
    pub(super) bytes: usize,
    pub(super) next: Lsn,
    /// Collections whose last group failed.
    pub(super) failed: HashSet<u64>,
    pub(super) poison: Option<LogError>,
    pub(super) closed: bool,
}

/// Records that are appended together.
pub(super) struct Group {
    pub(super) records: Vec<Pending>,
    pub(super) last: Option<Lsn>,
    pub(super) bytes: usize,
    pub(super) durability: Durability,
    pub(super) done: CompletionGuard,
}

/// A completion that is always called: when it is dropped uncalled, because its holder panicked, it says that the log
/// takes no more writes.
pub(super) struct CompletionGuard(Option<Completion>);

impl CompletionGuard {
    pub(super) fn new(done: Completion) -> Self {
        Self(Some(done))
    }

    fn fulfil(mut self, result: Result<Lsn, LogError>) {
        self.call(result);
    }

    fn call(&mut self, result: Result<Lsn, LogError>) {
        if let Some(done) = self.0.take() {
            // A panic of a writer's completion must not stop the log. The panic hook has reported it.
            let _ = catch_unwind(AssertUnwindSafe(|| done(result)));
        }
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        self.call(Err(after_panic()));
    }
}

fn after_panic() -> LogError {
    LogError::Poisoned(StorageError::new(ErrorKind::Io, "write", "", "a defect of the engine"))
}

/// Groups that are written together.
struct Batch {
    groups: VecDeque<Group>,
    /// Their collections.
    touched: HashSet<u64>,
    sync: bool,
}

impl Batch {
    fn new(groups: VecDeque<Group>, sync: bool) -> Self {
        let records = groups.iter().flat_map(|group| &group.records);
        let touched = records.map(|record| record.collection).collect();
        let sync = sync || groups.iter().any(|group| group.durability == Durability::Always);
        Self { groups, touched, sync }
    }
}

impl Queue {
    pub(super) fn refusal(&self) -> Option<LogError> {
        match &self.poison {
            Some(poison) => Some(poison.clone()),
            None => self.closed.then_some(LogError::Closed),
        }
    }
}

/// A group that was written, or failed, and whose writer has not been notified yet.
struct Outcome {
    done: CompletionGuard,
    result: Result<Lsn, LogError>,
}

impl Committer {
    pub(super) fn new(log: Log, options: &GroupOptions) -> Self {
        let queue = Queue {
            groups: VecDeque::new(),
            bytes: 0,
            next: log.next_lsn(),
            failed: HashSet::new(),
            poison: None,
            closed: false,
        };
        Self {
            queue: Mutex::new(queue),
            arrived: Condvar::new(),
            settled: AtomicU64::new(log.next_lsn().previous().get()),
            log: Mutex::new(log),
            notifying: Mutex::new(()),
            waiting_bytes: options.waiting_bytes,
            sync_interval: options.sync_interval,
            supervisor: Arc::clone(&options.supervisor),
            stop: Stop::default(),
        }
    }

    pub(super) fn run(&self) {
        let _fails_all = FailAllAfterPanic::new(self);
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

    /// Writes everything that waits and notifies the writers. Syncs if one of them wants it or `sync` says so. Returns
    /// whether records were written that want a sync soon. A panic poisons the log and fails everything that waits.
    pub(super) fn write_batch(&self, mut log: MutexGuard<'_, Log>, sync: bool) -> bool {
        let _fails_all = FailAllAfterPanic::new(self);
        let groups = std::mem::take(&mut self.queue.lock().groups);
        let mut batch = Batch::new(groups, sync);
        let wants_sync_soon =
            !batch.sync && batch.groups.iter().any(|group| group.durability == Durability::Interval);
        let written =
            self.supervisor.catch(Task::LogWriter, None, || self.write_groups(&mut log, &mut batch));
        let outcome = written.unwrap_or_else(|why| Err(log.poison_after_panic(&why.into_sentence())));
        let outcome = PlantedFault::FailedSyncAnswered.skips(|| outcome);
        let outcomes = self.settle(&log, batch.groups, &batch.touched, &outcome);
        let _notifying = self.notifying.lock();
        drop(log);
        notify(outcomes);
        wants_sync_soon && outcome.is_ok() && !PlantedFault::IntervalNeverSynced.is_on()
    }

    /// Writes a batch, and syncs it if it says so. Groups that need no sync are taken out of it and notified before.
    fn write_groups(&self, log: &mut Log, batch: &mut Batch) -> Result<(), LogError> {
        let mut awaited = HashSet::new();
        let mut eager = Vec::new();
        let mut outcome = Ok(());
        for group in &mut batch.groups {
            let collections = group.records.iter().map(|record| record.collection);
            if group.durability == Durability::Always {
                awaited.extend(collections);
                eager.push(PlantedFault::AnsweredBeforeSync.is_on());
            } else {
                // A group behind one of the same collection that waits for the sync waits, too: its view contains both.
                let waits = collections.into_iter().any(|collection| awaited.contains(&collection));
                eager.push(!waits || PlantedFault::AnsweredBeforeTheOneAhead.is_on());
            }
            for record in group.records.drain(..) {
                if outcome.is_ok() {
                    outcome = log.append_record(record).map(drop);
                }
            }
        }
        outcome.and_then(|()| log.write())?;
        if !batch.sync {
            return Ok(());
        }
        let mut eager = eager.into_iter();
        let (written, waiting): (VecDeque<Group>, _) =
            std::mem::take(&mut batch.groups).into_iter().partition(|_| eager.next() == Some(true));
        batch.groups = waiting;
        if !written.is_empty() {
            let outcomes = self.settle(log, written, &batch.touched, &Ok(()));
            let _notifying = self.notifying.lock();
            notify(outcomes);
        }
        log.sync()
    }

    /// Poisons the log after a panic outside of a write, and fails everything that waits.
    fn fail_all(&self) {
        let waiting = {
            let mut queue = self.queue.lock();
            queue.poison.get_or_insert_with(after_panic);
            queue.bytes = 0;
            std::mem::take(&mut queue.groups)
        };
        // Each group says so itself when it is dropped.
        let _notifying = self.notifying.lock();
        drop(waiting);
    }

    /// The outcomes of a batch, for its writers. After a failure the groups that arrived meanwhile fail with it.
    fn settle(
        &self,
        log: &Log,
        batch: VecDeque<Group>,
        touched: &HashSet<u64>,
        outcome: &Result<(), LogError>,
    ) -> Vec<Outcome> {
        let mut queue = self.queue.lock();
        let durable = log.durable_lsn();
        queue.bytes = queue.bytes.saturating_sub(batch.iter().map(|group| group.bytes).sum());
        let Err(error) = outcome else {
            if let Some(last) = batch.iter().filter_map(|group| group.last).max() {
                self.settled.fetch_max(last.get(), Ordering::AcqRel);
            }
            let outcome_of =
                |group: Group| Outcome { done: group.done, result: Ok(group.last.unwrap_or(durable)) };
            return batch.into_iter().map(outcome_of).collect();
        };
        let followers = std::mem::take(&mut queue.groups);
        queue.bytes = 0;
        queue.failed.extend(touched);
        queue.failed.extend(followers.iter().flat_map(|g| &g.records).map(|record| record.collection));
        queue.next = if PlantedFault::LsnsOfFailedSkipped.is_on() { queue.next } else { log.next_lsn() };
        if matches!(error, LogError::Poisoned(_)) && !PlantedFault::FailedSyncTriedAgain.is_on() {
            queue.poison = Some(error.clone());
        }
        let outcome_of = |group: Group| Outcome { done: group.done, result: Err(error.clone()) };
        batch.into_iter().chain(followers).map(outcome_of).collect()
    }
}

fn notify(outcomes: Vec<Outcome>) {
    for Outcome { done, result } in outcomes {
        done.fulfil(result);
    }
}

/// Fails everything that waits when it is dropped by a panic: nobody would write it.
struct FailAllAfterPanic<'c> {
    committer: &'c Committer,
    /// The thread unwound already: the panic is another one's.
    was_panicking: bool,
}

impl<'c> FailAllAfterPanic<'c> {
    fn new(committer: &'c Committer) -> Self {
        Self { committer, was_panicking: std::thread::panicking() }
    }
}

impl Drop for FailAllAfterPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.was_panicking {
            self.committer.fail_all();
        }
    }
}
