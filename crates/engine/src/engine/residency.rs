//! Which collections fall asleep, and when (C24). See docs/residency.md.

use super::housekeeping::checkpoint;
use crate::allocator;
use crate::catalog::{Catalog, Entry, may_sleep};
use crate::collection::{Collection, GraphPolicy};
use crate::faults::PlantedFault;
use crate::state::Expiry;
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The next round waits this many times the duration of the last: with many collections a few percent of a core.
const ROUND_FACTOR: u32 = 20;
/// Longest time of one round.
const ROUND: Duration = Duration::from_millis(500);
/// A collection that was used within this time stays awake, however little memory is left.
const LEAST_IDLE: Duration = Duration::from_secs(1);
/// Time between two times that the summaries are written.
const SUMMARIES_INTERVAL: Duration = Duration::from_secs(60);

/// The rounds of an engine.
#[derive(Default)]
pub struct Sweeper {
    /// When the next round is due.
    due: Option<Instant>,
    /// When collections have fallen asleep whose summaries are not written yet.
    unwritten: Option<Instant>,
}

impl Sweeper {
    /// One round, if it is due.
    pub fn sweep(&mut self, catalog: &Arc<Catalog>) {
        let started = Instant::now();
        if self.due.is_some_and(|due| started < due) {
            return;
        }
        wake_expiring(catalog);
        if sleep_idle(catalog) > 0 {
            // What they held is in the middle of the heap.
            allocator::trim();
            self.unwritten.get_or_insert(started);
        }
        let is_due = |since: &mut Instant| since.elapsed() >= SUMMARIES_INTERVAL;
        if self.unwritten.take_if(is_due).is_some() {
            // Without them the next start opens more collections.
            let _ = catalog.write_summaries();
        }
        self.due = Some(Instant::now() + started.elapsed() * ROUND_FACTOR);
    }
}

/// Wakes collections in which points have come to their end: they are removed while it is awake.
pub fn wake_expiring(catalog: &Arc<Catalog>) {
    let shared = catalog.shared();
    if shared.is_replica {
        return;
    }
    let now = shared.clock.now();
    for entry in catalog.entries() {
        let next = entry.sleeping().and_then(|sleeping| sleeping.summary.next_expiry);
        if next.is_some_and(|next| next <= now) && !PlantedFault::SleepersNeverExpire.is_on() {
            catalog.wake(&entry);
        }
    }
}

/// Puts the collections to sleep that were not used for long enough, and those that were not for longest while all together
/// hold too much. Returns how many.
pub fn sleep_idle(catalog: &Arc<Catalog>) -> usize {
    let shared = catalog.shared();
    let residency = shared.thresholds.residency;
    if residency.idle.is_none() && residency.budget_bytes.is_none() {
        return 0;
    }
    let started = Instant::now();
    let mut awake: Vec<(Duration, u64, Arc<Entry>)> = Vec::new();
    for entry in catalog.entries() {
        if let Some(collection) = entry.collection() {
            awake.push((entry.idle(), collection.memory().resident(), entry));
        }
    }
    let mut held: u64 = awake.iter().map(|(_, bytes, _)| bytes).sum();
    awake.sort_unstable_by_key(|(idle, _, entry)| (Reverse(*idle), entry.id));
    let mut asleep = 0;
    for (idle, bytes, entry) in awake {
        let is_much =
            residency.budget_bytes.is_some_and(|budget| held > budget) || shared.memory.is_pressed();
        let is_due = residency.idle.is_some_and(|most| idle >= most) || (is_much && idle >= LEAST_IDLE);
        if !is_due || started.elapsed() >= ROUND || shared.indexer.is_closed() {
            break;
        }
        if put_to_sleep(catalog, &entry) {
            held -= bytes;
            asleep += 1;
        }
    }
    asleep
}

/// Checkpoints a collection and puts it to sleep, unless it is in use. False when it stays awake.
pub fn put_to_sleep(catalog: &Catalog, entry: &Arc<Entry>) -> bool {
    let Some(collection) = entry.collection() else { return false };
    if !is_quiet(&collection) {
        return false;
    }
    entry.announce_sleep();
    let shared = catalog.shared();
    if !PlantedFault::SleepForgetsRecords.is_on() {
        checkpoint(catalog, &collection, GraphPolicy::Always);
    }
    if collection.pinned_lsn().is_some() && !PlantedFault::SleepForgetsRecords.is_on() {
        // The disk is full, or fails. It is tried again when it has been idle as long again.
        entry.note_use();
        return false;
    }
    collection.measure_disk();
    shared.storage.yield_point("falling asleep");
    shared.indexer.forget(&collection);
    drop(collection);
    let sleeps = catalog.put_to_sleep(entry);
    if !sleeps && let Some(collection) = entry.collection() {
        // What was written meanwhile had queued it.
        shared.indexer.push(&collection);
    }
    sleeps
}

/// Whether a collection may sleep and nothing is being built for it.
fn is_quiet(collection: &Collection) -> bool {
    let view = collection.view();
    let shared = collection.shared();
    let is_due = |expiry: &Expiry| !shared.is_replica && expiry.has_due(shared.clock.now());
    let has_due = view.state.expiry.as_ref().is_some_and(is_due);
    may_sleep(&view.state.config)
        && !has_due
        && collection.fault().is_none()
        && collection.task_failure().is_none()
        && collection.is_settled()
}
