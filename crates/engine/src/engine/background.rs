//! Background work: building field indexes, moving tails into graphs, vacuums, checkpoints, cutting the log.

use super::heap_trim::HeapTrim;
use super::notifier::Notifier;
use super::pool::Priority;
use crate::allocator;
use crate::catalog::Catalog;
use crate::collection::{CheckpointError, Collection, GraphPolicy};
use crate::field::IndexScratch;
use crate::scheduling::BackgroundWork;
use crate::storage::ErrorKind;
use crate::types::Lsn;
use std::cmp::Reverse;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longest time of one vacuum, of one round of checkpoints, and of one attempt to shorten the log.
const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// Time between two checks of the deadlines of writes that wait for a writer.
const OVERDUE_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How long an indexer sleeps when its queue becomes empty. A collection that is queued meanwhile wakes no thread, so
/// that a stream of small writes does not wake one for each.
const REST: Duration = Duration::from_millis(5);

/// The log, and the replay that waits in it for a checkpoint, are kept below the free space divided by this.
const FREE_DIVISOR: u64 = 4;
/// Below this, a log is not worth a checkpoint, however full the disk is.
const LEAST_LOG_BYTES: u64 = 256 << 10;

/// The background threads of an engine.
pub struct Background {
    stop: Arc<AtomicBool>,
    catalog: Arc<Catalog>,
    keeper_notifier: Arc<Notifier>,
    deadline_notifier: Arc<Notifier>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    /// Starts an indexer for each core, the thread that checkpoints and vacuums, and the one that answers writes whose
    /// deadline has passed.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn start(catalog: &Arc<Catalog>, housekeeping: Duration) -> std::io::Result<Background> {
        let stop = Arc::new(AtomicBool::new(false));
        let keeper_notifier = Arc::new(Notifier::default());
        let indexers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut threads = Vec::with_capacity(indexers + 2);
        for number in 0..indexers {
            let catalog = Arc::clone(catalog);
            let name = format!("kith-index-{number}");
            threads.push(std::thread::Builder::new().name(name).spawn(move || index_until_closed(&catalog))?);
        }
        for collection in catalog.collections() {
            catalog.shared().indexer.push(&collection);
        }
        let keeper = {
            let (catalog, stop, notifier) =
                (Arc::clone(catalog), Arc::clone(&stop), Arc::clone(&keeper_notifier));
            std::thread::Builder::new().name("kith-checkpoint".into()).spawn(move || {
                Priority::Low.take();
                let mut heap_trim = HeapTrim::default();
                while !stop.load(Ordering::Acquire) {
                    notifier.wait(housekeeping);
                    run_housekeeping(&catalog);
                    let points = |one: &Arc<Collection>| one.view().state.ids.len() as u64;
                    if heap_trim.is_due(catalog.collections().iter().map(points).sum(), Instant::now()) {
                        allocator::trim();
                    }
                }
            })?
        };
        threads.push(keeper);
        let deadline_notifier = Arc::new(Notifier::default());
        let deadlines = {
            let (catalog, stop, notifier) =
                (Arc::clone(catalog), Arc::clone(&stop), Arc::clone(&deadline_notifier));
            std::thread::Builder::new().name("kith-deadline".into()).spawn(move || {
                while !stop.load(Ordering::Acquire) {
                    notifier.wait(OVERDUE_CHECK_INTERVAL);
                    give_up_overdue_writes(&catalog);
                }
            })?
        };
        threads.push(deadlines);
        Ok(Background { stop, catalog: Arc::clone(catalog), keeper_notifier, deadline_notifier, threads })
    }

    /// Ends running work at its next check, and waits for the threads.
    pub fn close(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.catalog.shared().indexer.close();
        self.keeper_notifier.notify();
        self.deadline_notifier.notify();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Answers the writes whose deadline has passed while they waited for a writer.
fn give_up_overdue_writes(catalog: &Catalog) {
    if catalog.shared().waiting_writes.load(Ordering::Relaxed) == 0 {
        return;
    }
    for collection in catalog.collections() {
        guarded(&collection, "a late write's answer", || collection.give_up_overdue_writes());
    }
}

/// Works on the field indexes and graphs of one collection after the other, as the queue gives them.
fn index_until_closed(catalog: &Catalog) {
    Priority::Low.take();
    let queue = &catalog.shared().indexer;
    let mut scratch = IndexScratch::default();
    loop {
        queue.rest(REST);
        let Some(collection) = queue.pop() else { return };
        let _work = BackgroundWork::begin();
        if collection.fault().is_some() {
            // A collection with a fault is skipped: the work would fail again.
            continue;
        }
        if let Some(draft) = collection.claim_index() {
            // The next field index, or the graphs, are for another indexer.
            queue.push(&collection);
            guarded(&collection, "the indexer", || collection.build_index(&draft));
            continue;
        }
        let Some(turn) = collection.start_indexing() else { continue };
        if collection.has_rows_to_index() {
            // There may be enough for another indexer.
            queue.push(&collection);
        }
        let more = guarded(&collection, "the indexer", || collection.index_some(&mut scratch));
        drop(turn);
        if more == Some(true) {
            queue.push(&collection);
        }
    }
}

/// Builds all field indexes and graphs, for engines without threads.
pub fn index_everything(catalog: &Catalog, scratch: &mut IndexScratch) {
    for collection in catalog.collections() {
        guarded(&collection, "the indexer", || collection.build_indexes());
        while guarded(&collection, "the indexer", || collection.index_some(scratch)) == Some(true) {}
    }
}

/// Vacuums, checkpoints what is due, cuts the log, and maintains the reserve. A failure leaves everything as it was;
/// the next call tries again.
pub fn run_housekeeping(catalog: &Catalog) {
    let shared = catalog.shared();
    // Where the disk has little room left, the log must not take it.
    let room =
        shared.storage.free_bytes().map_or(u64::MAX, |free| (free / FREE_DIVISOR).max(LEAST_LOG_BYTES));
    let checkpoint_work = shared.thresholds.checkpoint_bytes.min(usize::try_from(room).unwrap_or(usize::MAX));
    let log_budget_bytes = shared.thresholds.log_budget_bytes.min(room);
    catalog.remove_detached();
    let storage = &*catalog.shared().storage;
    for collection in catalog.collections() {
        storage.turn("starting housekeeping");
        collection.settle_waiting();
        let started = Instant::now();
        while collection.fault().is_none()
            && guarded(&collection, "the vacuum", || collection.vacuum_rows()) == Some(true)
            && started.elapsed() < HOUSEKEEPING
        {}
        catalog.quarantine_damaged(&collection);
        let is_due = collection.unsaved_work() >= checkpoint_work
            || collection.checkpoint_fault().is_some()
            || collection.vacuum_waited()
            || (!shared.reserve.is_spent() && collection.has_unwritten_graph())
            || collection.has_room_to_free();
        if is_due {
            checkpoint(catalog, &collection, GraphPolicy::WhenGrown);
        }
        collection.measure_indexes();
    }
    if !catalog.upkeep_faults().is_empty() {
        let _ = catalog.checkpoint();
    }
    shorten_replay(catalog, log_budget_bytes);
    shrink_log(catalog, log_budget_bytes);
    measure_room(catalog);
    if shared.reserve.fits(shared.unsaved_work.load(Ordering::Relaxed) as u64) {
        // Without a reserve a full disk refuses deletions too, until another process frees space.
        let _ = shared.reserve.keep(shared.log.size_bytes());
    } else {
        // The next checkpoint needs all free space.
        shared.reserve.release();
    }
}

/// Where little space is free, measures what the checkpoints of all collections that wait for one need, and the growth
/// of the collection that needs most for that.
pub fn measure_room(catalog: &Catalog) {
    let shared = catalog.shared();
    let unsaved = shared.unsaved_work.load(Ordering::Relaxed) as u64;
    let (mut waiting, mut growth) = (0_u64, 0);
    if shared.reserve.measure_free() {
        for collection in catalog.collections() {
            let needed = collection.room_needed();
            if collection.unsaved_work() > 0 {
                waiting += needed.waiting;
                growth = needed.growth.max(growth);
            } else {
                growth = (needed.waiting + needed.growth).max(growth);
            }
        }
    }
    shared.reserve.measure(unsaved, waiting + growth);
}

/// Checkpoints the collections with the most to replay, until all together are within the budget, or the time is
/// used up. One that cannot be checkpointed is skipped.
fn shorten_replay(catalog: &Catalog, budget: u64) {
    let shared = catalog.shared();
    let is_long = || shared.unsaved_work.load(Ordering::Relaxed) as u64 > budget;
    if !is_long() {
        return;
    }
    let started = Instant::now();
    let mut collections = catalog.collections();
    collections.sort_by_cached_key(|collection| Reverse(collection.unsaved_work()));
    for collection in collections {
        if !is_long() || collection.unsaved_work() == 0 || started.elapsed() >= HOUSEKEEPING {
            return;
        }
        checkpoint(catalog, &collection, GraphPolicy::WhenGrown);
    }
}

/// Checkpoints the collections that pin the oldest segments, until the log is within its budget, no checkpoint can
/// shorten it, or the time is used up.
fn shrink_log(catalog: &Catalog, budget_bytes: u64) {
    let log = &catalog.shared().log;
    catalog.cut_log();
    let started = Instant::now();
    while log.size_bytes() > budget_bytes && started.elapsed() < HOUSEKEEPING {
        let _ = catalog.checkpoint();
        // A quarantined collection keeps its part of the log for a repair: the log cannot get shorter than that.
        let kept = catalog.quarantined_lsn().unwrap_or(Lsn::MAX);
        let pinning = catalog
            .collections()
            .into_iter()
            .filter_map(|collection| collection.pinned_lsn().map(|lsn| (lsn, collection)))
            .min_by_key(|(lsn, _)| *lsn)
            .filter(|(lsn, _)| *lsn < kept);
        let Some((pinned, collection)) = pinning else {
            // Nothing pins it: only the segment that is written is left.
            if kept == Lsn::MAX && log.rotate().is_ok() {
                catalog.cut_log();
            }
            break;
        };
        checkpoint(catalog, &collection, GraphPolicy::WhenGrown);
        catalog.cut_log();
        if collection.pinned_lsn() == Some(pinned) {
            break;
        }
    }
}

/// Checkpoints every collection that needs the log up to an LSN, and cuts it.
pub fn checkpoint_up_to(catalog: &Catalog, lsn: Lsn) {
    for collection in catalog.collections() {
        if collection.pinned_lsn().is_some_and(|pinned| pinned <= lsn) {
            checkpoint(catalog, &collection, GraphPolicy::WhenGrown);
        }
    }
    let _ = catalog.checkpoint();
    catalog.cut_log();
}

/// Checkpoints everything, graphs included: a clean stop.
pub fn checkpoint_everything(catalog: &Catalog) {
    catalog.remove_detached();
    for collection in catalog.collections() {
        checkpoint(catalog, &collection, GraphPolicy::Always);
    }
    let _ = catalog.checkpoint();
    catalog.cut_log();
}

fn checkpoint(catalog: &Catalog, collection: &Arc<Collection>, policy: GraphPolicy) {
    let shared = collection.shared();
    let is_full = shared.reserve.is_spent();
    if is_full {
        let needed = collection.bytes_to_write();
        let free = || shared.storage.free_bytes().unwrap_or(u64::MAX);
        let mut room = free();
        if room < needed {
            // A checkpoint of a killed process has left files that no manifest names.
            let _ = collection.remove_strays();
            room = free();
        }
        if room.saturating_add(shared.reserve.held_for_start()) < needed {
            // It would fill the last of the disk for nothing.
            return;
        }
        if room < needed {
            // The checkpoint frees more than a start would need, and without the checkpoint nothing is freed.
            shared.reserve.release_for_start();
        }
    }
    let policy = if is_full { GraphPolicy::Never } else { policy };
    let written = guarded(collection, "a checkpoint", || collection.checkpoint(policy));
    let met_the_end =
        |error: &CheckpointError| matches!(error, CheckpointError::Storage(e) if e.kind() == ErrorKind::Full);
    // A failed checkpoint leaves the one before it in force, and the log whole. What it cost is given back already.
    if written.is_some_and(|written| written.is_err_and(|error| met_the_end(&error)))
        && (shared.reserve.release() || policy != GraphPolicy::Never)
    {
        let _ = guarded(collection, "a checkpoint", || collection.checkpoint(GraphPolicy::Never));
    }
    catalog.quarantine_damaged(collection);
}

/// Runs a step; a panic in it stops the collection's writes and nothing else.
fn guarded<T>(collection: &Collection, what: &str, step: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(step));
    if result.is_err() {
        collection
            .poison(&format!("{what} failed inside the engine; restart the server to reopen the collection"));
    }
    result.ok()
}
