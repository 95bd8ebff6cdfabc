//! Moves groups from the queue to the log, and notifies their writers.

use super::Completion;
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::types::Lsn;
use crate::wal::LogError;
use crate::wal::durability::{Durability, GroupOptions};
use crate::wal::log::{Log, Pending};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    pub(super) waiting_bytes: usize,
    pub(super) sync_interval: Duration,
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
    pub(super) done: Completion,
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
    done: Completion,
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
            log: Mutex::new(log),
            notifying: Mutex::new(()),
            waiting_bytes: options.waiting_bytes,
            sync_interval: options.sync_interval,
        }
    }

    pub(super) fn run(&self) {
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
    /// whether records were written that want a sync soon.
    pub(super) fn write_batch(&self, mut log: MutexGuard<'_, Log>, sync: bool) -> bool {
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
                // A group behind one of the same collection that waits for the sync waits, too: its view contains both.
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
                let _notifying = self.notifying.lock();
                notify(outcomes);
            }
            outcome = log.sync();
        }
        let outcomes = self.settle(&log, batch, &touched, &outcome);
        let _notifying = self.notifying.lock();
        drop(log);
        notify(outcomes);
        wants_sync_soon && outcome.is_ok()
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
        queue.bytes -= batch.iter().map(|group| group.bytes).sum::<usize>();
        let Err(error) = outcome else {
            let outcome_of =
                |group: Group| Outcome { done: group.done, result: Ok(group.last.unwrap_or(durable)) };
            return batch.into_iter().map(outcome_of).collect();
        };
        let followers = std::mem::take(&mut queue.groups);
        queue.bytes = 0;
        queue.failed.extend(touched);
        queue.failed.extend(followers.iter().flat_map(|g| &g.records).map(|record| record.collection));
        queue.next = log.next_lsn();
        if matches!(error, LogError::Poisoned(_)) {
            queue.poison = Some(error.clone());
        }
        let outcome_of = |group: Group| Outcome { done: group.done, result: Err(error.clone()) };
        batch.into_iter().chain(followers).map(outcome_of).collect()
    }
}

fn notify(outcomes: Vec<Outcome>) {
    for Outcome { done, result } in outcomes {
        // A panic of a writer's completion must not stop the log. The panic hook has reported it.
        let _ = catch_unwind(AssertUnwindSafe(|| done(result)));
    }
}
