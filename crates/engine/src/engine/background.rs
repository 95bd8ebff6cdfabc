//! Work that hardly anybody waits for: building field indexes, moving tails into graphs, checkpoints, cutting the log.

use super::pool::Priority;
use crate::catalog::Catalog;
use crate::collection::{Bell, Collection, GraphPolicy, IndexScratch};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at the log.
const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// The background threads of an engine.
pub struct Background {
    stop: Arc<AtomicBool>,
    catalog: Arc<Catalog>,
    keeper_bell: Arc<Bell>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    /// Starts an indexer for each core, and the housekeeper.
    ///
    /// # Errors
    /// The system's, when it refuses a thread.
    pub fn start(catalog: &Arc<Catalog>) -> std::io::Result<Background> {
        let stop = Arc::new(AtomicBool::new(false));
        let keeper_bell = Arc::new(Bell::default());
        let indexers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut threads = Vec::with_capacity(indexers + 1);
        for number in 0..indexers {
            let catalog = Arc::clone(catalog);
            let name = format!("kith-index-{number}");
            threads.push(std::thread::Builder::new().name(name).spawn(move || index_until_closed(&catalog))?);
        }
        for collection in catalog.collections() {
            catalog.shared().indexer.push(&collection);
        }
        let keeper = {
            let (catalog, stop, bell) = (Arc::clone(catalog), Arc::clone(&stop), Arc::clone(&keeper_bell));
            std::thread::Builder::new().name("kith-checkpoint".into()).spawn(move || {
                while !stop.load(Ordering::Acquire) {
                    bell.wait(HOUSEKEEPING);
                    keep_house(&catalog);
                }
            })?
        };
        threads.push(keeper);
        Ok(Background { stop, catalog: Arc::clone(catalog), keeper_bell, threads })
    }

    /// Ends what runs at its next stop and waits for it.
    pub fn close(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.catalog.shared().indexer.close();
        self.keeper_bell.ring();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Works on the field indexes and graphs of one collection after the other, as the queue gives them.
fn index_until_closed(catalog: &Catalog) {
    Priority::Behind.take();
    let queue = &catalog.shared().indexer;
    let mut scratch = IndexScratch::default();
    while let Some(collection) = queue.pop() {
        if collection.fault().is_some() {
            // What failed once would fail again.
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

/// Works off what the field indexes and graphs of all collections need: for engines without threads.
pub fn index_everything(catalog: &Catalog, scratch: &mut IndexScratch) {
    for collection in catalog.collections() {
        guarded(&collection, "the indexer", || collection.build_indexes());
        while guarded(&collection, "the indexer", || collection.index_some(scratch)) == Some(true) {}
    }
}

/// Checkpoints what is due and cuts the log behind it. Failures leave everything as it was; the next look tries
/// again.
pub fn keep_house(catalog: &Catalog) {
    let thresholds = catalog.shared().thresholds;
    catalog.remove_detached();
    for collection in catalog.collections() {
        collection.settle_waiting();
        let started = Instant::now();
        while collection.fault().is_none()
            && guarded(&collection, "the vacuum", || collection.vacuum_rows()) == Some(true)
            && started.elapsed() < HOUSEKEEPING
        {}
        if collection.unsaved_bytes() >= thresholds.checkpoint_bytes || collection.has_unwritten_graph() {
            checkpoint(&collection, GraphPolicy::WhenGrown);
        }
    }
    shrink_log(catalog, thresholds.log_budget_bytes);
}

/// Checkpoints the collections that pin the oldest segments, until the log is within its budget, nothing helps any
/// more, or the time of a look is used up.
fn shrink_log(catalog: &Catalog, budget_bytes: u64) {
    let log = &catalog.shared().log;
    catalog.cut_log();
    let started = Instant::now();
    while log.size_bytes() > budget_bytes && started.elapsed() < HOUSEKEEPING {
        let _ = catalog.checkpoint();
        // A quarantined collection keeps its part of the log for whoever salvages it: below that nothing helps.
        let kept = catalog.quarantined_lsn().unwrap_or(u64::MAX);
        let pinning = catalog
            .collections()
            .into_iter()
            .filter_map(|collection| collection.pinned_lsn().map(|lsn| (lsn, collection)))
            .min_by_key(|(lsn, _)| *lsn)
            .filter(|(lsn, _)| *lsn < kept);
        let Some((pinned, collection)) = pinning else { break };
        checkpoint(&collection, GraphPolicy::WhenGrown);
        catalog.cut_log();
        if collection.pinned_lsn() == Some(pinned) {
            break;
        }
    }
}

/// Checkpoints everything, graphs included: a clean stop.
pub fn checkpoint_everything(catalog: &Catalog) {
    catalog.remove_detached();
    for collection in catalog.collections() {
        checkpoint(&collection, GraphPolicy::Always);
    }
    let _ = catalog.checkpoint();
    catalog.cut_log();
}

fn checkpoint(collection: &Arc<Collection>, policy: GraphPolicy) {
    // A failed checkpoint leaves the one before it in force, and the log whole.
    let _ = guarded(collection, "a checkpoint", || collection.checkpoint(policy));
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
