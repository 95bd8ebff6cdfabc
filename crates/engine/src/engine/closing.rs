//! Closing an engine: cancel what runs, sync the log, checkpoint while there is time, release the directory (C11.3).

use super::Engine;
use super::housekeeping::{checkpoint, checkpoint_everything};
use crate::catalog::Catalog;
use crate::collection::{Collection, GraphPolicy};
use crate::supervision::{self, Stop, Task};
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Threads that checkpoint. They mostly wait for the disk, which syncs several files in hardly more time than one.
const CHECKPOINT_THREADS: usize = 8;
/// After this time only replays that are worth it are shortened further.
const ALL_CHECKPOINTED_FOR: Duration = Duration::from_millis(1500);
/// A replay of less takes a start less time than the checkpoint would take now.
const LONG_REPLAY_BYTES: usize = 1 << 20;
/// The share of the time that running requests and background work may use to end.
const ENDING_DIVISOR: u32 = 2;
/// Time kept for the catalog's file and the end of the log.
const LAST_STEPS: Duration = Duration::from_millis(300);

/// The times of a close; none when it may take as long as it takes.
#[derive(Clone, Copy)]
struct Schedule {
    /// Until when threads may end.
    threads: Option<Instant>,
    /// Until when checkpoints may be written.
    checkpoints: Option<Instant>,
}

impl Schedule {
    fn within(time: Option<Duration>) -> Schedule {
        let now = Instant::now();
        Schedule {
            threads: time.map(|time| now + time / ENDING_DIVISOR),
            checkpoints: time.map(|time| now + time.saturating_sub(LAST_STEPS)),
        }
    }
}

impl Engine {
    /// Cancels requests that run or wait, each at its next deadline check, unless it is written already. Further ones are
    /// refused.
    pub fn give_up_requests(&self) {
        self.core.closing.begin();
    }

    /// Cancels requests as [`Engine::give_up_requests`] does. A caller that wants them finished waits for their replies
    /// first. Then this checkpoints, closes the log and releases the directory, however long that takes. A second call
    /// does nothing.
    pub fn close(&self) {
        self.close_by(None);
    }

    /// Closes the engine, as [`Engine::close`] does, in about that time. The log is synced first; then collections are checkpointed, those with the longest
    /// replay first, and what is not checkpointed when the time is over stays in the log, which the next start replays.
    /// Where a thread does not end in time the directory stays held until it has ended.
    pub fn close_within(&self, time: Duration) {
        self.close_by(Some(time));
    }

    fn close_by(&self, time: Option<Duration>) {
        let schedule = Schedule::within(time);
        self.give_up_requests();
        let mut all_ended = self.end_threads(schedule.threads);
        for collection in self.core.catalog.collections() {
            collection.stop_waiting();
        }
        let Some(lock) = self.lock.lock().take() else { return };
        let log = &self.core.catalog.shared().log;
        // What is queued must be durable before it can be checkpointed; a log that cannot sync says so at the next start,
        // which replays what there is.
        if log.sync().is_ok() {
            if self.core.inline {
                checkpoint_everything(&self.core.catalog);
            } else {
                all_ended &= checkpoint_until(&self.core.catalog, schedule.checkpoints);
            }
            // Without them the next start opens all collections.
            let _ = self.core.catalog.write_summaries();
        }
        let _ = log.close();
        if all_ended {
            drop(lock);
        } else {
            // A thread may still write to the directory: no other engine may open it before that has ended.
            self.core.catalog.shared().supervisor.hold_until_threads_end(lock);
        }
    }

    /// Ends all threads. False when one still runs at `deadline`.
    fn end_threads(&self, deadline: Option<Instant>) -> bool {
        let mut all_ended = true;
        for pool in [&self.core.reads, &self.writes, &self.large_writes, &self.catalog_changes] {
            let taken = pool.lock().take();
            all_ended &= taken.is_none_or(|mut pool| pool.close(deadline));
        }
        // Behind the writes, which hand theirs over to it.
        let heavy = self.core.heavy.lock().take();
        all_ended &= heavy.is_none_or(|mut heavy| heavy.close(deadline));
        self.core.catalog.answer_overdue_deletions();
        all_ended &= self.reporter.as_ref().is_none_or(|reporter| reporter.close(deadline));
        let tuner = self.tuner.lock().take();
        all_ended &= tuner.is_none_or(|mut tuner| tuner.close(deadline));
        let calibrator = self.calibrator.lock().take();
        all_ended &= calibrator.is_none_or(|mut calibrator| calibrator.close(deadline));
        all_ended &= self.scrub.lock().close(deadline);
        let background = self.background.lock().take();
        all_ended & background.is_none_or(|mut background| background.close(deadline))
    }
}

/// Collections that wait for the checkpoint of a stop, those with the longest replay first.
struct CheckpointQueue {
    catalog: Arc<Catalog>,
    collections: Vec<Arc<Collection>>,
    next: AtomicUsize,
    /// When the short replays are left to the next start, and when everything is.
    ends: Option<(Instant, Instant)>,
}

impl CheckpointQueue {
    fn next(&self) -> Option<&Arc<Collection>> {
        loop {
            let collection = self.collections.get(self.next.fetch_add(1, Ordering::Relaxed))?;
            let Some((all, long)) = self.ends else { return Some(collection) };
            let now = Instant::now();
            if now >= long {
                return None;
            }
            if now < all || collection.unsaved_work() >= LONG_REPLAY_BYTES || collection.has_unwritten_graph()
            {
                return Some(collection);
            }
        }
    }

    fn work_off(&self) {
        while let Some(collection) = self.next() {
            checkpoint(&self.catalog, collection, GraphPolicy::Always);
        }
    }
}

/// Checkpoints all collections on several threads, until `deadline`, and cuts the log. False when a checkpoint is still
/// being written then; it has no effect unless it comes to its end.
fn checkpoint_until(catalog: &Arc<Catalog>, deadline: Option<Instant>) -> bool {
    let supervisor = &catalog.shared().supervisor;
    supervisor.step(Task::Removal, || catalog.remove_detached());
    let mut collections = catalog.collections();
    collections.sort_by_cached_key(|collection| Reverse(collection.unsaved_work()));
    let threads = CHECKPOINT_THREADS.min(collections.len());
    let queue = Arc::new(CheckpointQueue {
        catalog: Arc::clone(catalog),
        collections,
        next: AtomicUsize::new(0),
        ends: deadline.map(|deadline| (deadline.min(Instant::now() + ALL_CHECKPOINTED_FOR), deadline)),
    });
    let stop = Arc::<Stop>::default();
    // A collection that panics is guarded by itself; this keeps a thread from resting for nobody.
    stop.request();
    let started: Vec<_> = (0..threads)
        .map_while(|number| {
            let queue = Arc::clone(&queue);
            let work = move || queue.work_off();
            supervisor.spawn(format!("kith-stop-{number}"), Task::Checkpoint, &stop, work).ok()
        })
        .collect();
    if started.is_empty() {
        queue.work_off();
    }
    let all_ended = supervision::join(started, deadline);
    supervisor.step(Task::LogMaintenance, || {
        let _ = catalog.checkpoint();
        catalog.cut_log();
    });
    all_ended
}
