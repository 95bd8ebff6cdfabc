//! Rounds of what is due at intervals: vacuums, checkpoints, cutting the log, the reserve.
//!
//! Each step is guarded by itself: one that panics for one collection neither ends the round nor keeps the other
//! collections from their turn.

use crate::catalog::Catalog;
use crate::collection::{CheckpointError, Collection, GraphPolicy};
use crate::storage::ErrorKind;
use crate::supervision::Task;
use crate::types::Lsn;
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Longest time of one vacuum, of one round of checkpoints, and of one attempt to shorten the log.
const ROUND: Duration = Duration::from_millis(500);

/// Where little memory is left, the usual unsaved work divided by this is enough for a checkpoint: what is in memory for
/// want of one is on a map afterwards.
const PRESSED_DIVISOR: usize = 8;
/// The log, and the replay that waits in it for a checkpoint, are kept below the free space divided by this.
const FREE_DIVISOR: u64 = 4;
/// Below this, a log is not worth a checkpoint, however full the disk is.
const LEAST_LOG_BYTES: u64 = 256 << 10;

/// Vacuums, checkpoints what is due, cuts the log, and maintains the reserve. A failure leaves everything as it was;
/// the next call tries again.
pub fn run_housekeeping(catalog: &Catalog) {
    let shared = catalog.shared();
    // Where the disk has little room left, the log must not take it.
    let room =
        shared.storage.free_bytes().map_or(u64::MAX, |free| (free / FREE_DIVISOR).max(LEAST_LOG_BYTES));
    let checkpoint_work = shared.thresholds.checkpoint_bytes.min(usize::try_from(room).unwrap_or(usize::MAX));
    let log_budget_bytes = shared.thresholds.log_budget_bytes.min(room);
    let supervisor = &shared.supervisor;
    supervisor.step(Task::Removal, || catalog.remove_detached());
    catalog.settle_map_faults();
    for collection in catalog.collections() {
        if shared.indexer.is_closed() {
            return;
        }
        collection.guard(Task::Housekeeping, || keep(catalog, &collection, checkpoint_work));
    }
    supervisor.step(Task::LogMaintenance, || {
        if !catalog.maintenance_faults().is_empty() {
            let _ = catalog.checkpoint();
        }
        shorten_replay(catalog, log_budget_bytes);
        shrink_log(catalog, log_budget_bytes);
    });
    supervisor.step(Task::DiskSpace, || {
        measure_room(catalog);
        if shared.reserve.fits(shared.unsaved_work.load(Ordering::Relaxed) as u64) {
            // Without a reserve a full disk refuses deletions too, until another process frees space.
            let _ = shared.reserve.keep(shared.log.size_bytes());
        } else {
            // The next checkpoint needs all free space.
            shared.reserve.release();
        }
    });
}

/// What a round does for one collection.
fn keep(catalog: &Catalog, collection: &Arc<Collection>, checkpoint_work: usize) {
    let shared = catalog.shared();
    shared.storage.yield_point("starting housekeeping");
    collection.guard(Task::Waiters, || collection.settle_waiting());
    let started = Instant::now();
    while collection.fault().is_none()
        && collection.guard(Task::Vacuum, || collection.remove_expired()) == Some(true)
        && started.elapsed() < ROUND
        && !shared.indexer.is_closed()
    {}
    let started = Instant::now();
    while collection.fault().is_none()
        && collection.guard(Task::Vacuum, || collection.vacuum_rows()) == Some(true)
        && started.elapsed() < ROUND
    {}
    catalog.quarantine_damaged(collection);
    let has_space_to_free =
        || collection.guard(Task::DiskSpace, || collection.has_space_to_free()) == Some(true);
    let is_due = collection.unsaved_work() >= checkpoint_work
        || (shared.memory.is_pressed() && collection.unsaved_work() >= checkpoint_work / PRESSED_DIVISOR)
        || collection.checkpoint_fault().is_some()
        || collection.vacuum_waited()
        || (!shared.reserve.is_spent() && collection.has_unwritten_graph())
        || has_space_to_free();
    if is_due {
        checkpoint(catalog, collection, GraphPolicy::WhenGrown);
    }
    // Before the next step, whose success would be taken for that of what failed.
    let is_to_retry = collection.is_to_retry(Task::NextIndex) || collection.is_to_retry(Task::Index);
    if collection.fault().is_none() {
        collection.guard(Task::Index, || collection.maintain_auto_indexes());
    }
    collection.guard(Task::Measure, || {
        collection.measure_indexes();
        collection.measure_disk();
    });
    // There may be memory now for a graph that waited for it.
    if is_to_retry || (shared.memory.is_limited() && !collection.is_settled()) {
        shared.indexer.push(collection);
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
            let Some(needed) = collection.guard(Task::DiskSpace, || collection.space_needed()) else {
                // About as much as the log has for it.
                waiting += collection.unsaved_work() as u64;
                continue;
            };
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
        if !is_long()
            || collection.unsaved_work() == 0
            || started.elapsed() >= ROUND
            || shared.indexer.is_closed()
        {
            return;
        }
        checkpoint(catalog, &collection, GraphPolicy::WhenGrown);
    }
}

/// Checkpoints the collections that pin the oldest segments, until the log is within its budget, no checkpoint can
/// shorten it, or the time is used up.
fn shrink_log(catalog: &Catalog, budget_bytes: u64) {
    let shared = catalog.shared();
    let log = &shared.log;
    catalog.release_segments();
    catalog.cut_log();
    let started = Instant::now();
    while log.size_bytes() > budget_bytes && started.elapsed() < ROUND && !shared.indexer.is_closed() {
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

/// Checkpoints what waits in the log of a server that is not written to, cuts the log, and shortens the reserve. The time of
/// one round is bounded; the next one goes on.
pub fn shorten_idle_log(catalog: &Catalog) {
    let shared = catalog.shared();
    shrink_log(catalog, LEAST_LOG_BYTES.min(shared.thresholds.log_budget_bytes));
    // A disk that fails keeps a longer reserve than it needs.
    let _ = shared.reserve.shorten(shared.log.size_bytes());
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
    catalog.shared().supervisor.step(Task::Removal, || catalog.remove_detached());
    for collection in catalog.collections() {
        checkpoint(catalog, &collection, GraphPolicy::Always);
    }
    let _ = catalog.checkpoint();
    catalog.cut_log();
}

/// Checkpoints a collection as far as the disk has room. A failure leaves everything as it was.
pub fn checkpoint(catalog: &Catalog, collection: &Arc<Collection>, policy: GraphPolicy) {
    let shared = collection.shared();
    let is_full = shared.reserve.is_spent();
    if is_full {
        let needed = collection.bytes_to_write();
        let free = || shared.storage.free_bytes().unwrap_or(u64::MAX);
        let mut room = free();
        if room < needed {
            // A checkpoint of a killed process has left files that no manifest names.
            let _ = collection.remove_orphans();
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
    let written = collection.guard(Task::Checkpoint, || collection.checkpoint(policy));
    let met_the_end =
        |error: &CheckpointError| matches!(error, CheckpointError::Storage(e) if e.kind() == ErrorKind::Full);
    // A failed checkpoint leaves the one before it in force, and the log whole. What it cost is given back already.
    if written.is_some_and(|written| written.is_err_and(|error| met_the_end(&error)))
        && (shared.reserve.release() || policy != GraphPolicy::Never)
    {
        let _ = collection.guard(Task::Checkpoint, || collection.checkpoint(GraphPolicy::Never));
    }
    catalog.quarantine_damaged(collection);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocator::refuse;
    use crate::catalog::Mode;
    use crate::engine::{Engine, Operation, Options, Request};
    use crate::storage::SimDisk;

    #[test]
    fn a_collection_whose_index_found_no_memory_is_queued_again() {
        let options = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
        let engine = Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens");
        let operation = Operation::parse("create_collection").expect("a known operation");
        let body = br#"{"vectors":{"size":1,"distance":"Dot"}}"#.to_vec();
        let request = Request::new(operation, "c", body);
        engine.execute(request, Box::new(|result| drop(result.expect("it is answered"))));
        let collection = Arc::clone(&engine.catalog().collections()[0]);
        let queue = &engine.catalog().shared().indexer;
        let refused: Option<()> = collection.guard(Task::Index, || refuse(1));
        assert!(refused.is_none() && !collection.is_to_retry(Task::Index), "it rests");
        std::thread::sleep(Duration::from_millis(1_050));
        assert!(collection.is_to_retry(Task::Index));
        queue.forget(&collection);
        run_housekeeping(engine.catalog());
        let started = Instant::now();
        let is_queued = std::thread::scope(|scope| {
            let popped = scope.spawn(|| queue.pop().is_some());
            while !popped.is_finished() && started.elapsed() < Duration::from_secs(5) {
                std::thread::yield_now();
            }
            queue.close();
            popped.join().expect("it does not panic")
        });
        assert!(is_queued);
    }
}
