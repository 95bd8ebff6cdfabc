//! The background threads of an engine: indexers, the keeper of files and log, and the one that answers late writes.

use super::heap_trim::HeapTrim;
use super::housekeeping::{run_housekeeping, shorten_idle_log};
use super::idle_log::{self, Pause};
use super::memory_watch;
use super::pool::Priority;
use super::residency::Sweeper;
use crate::allocator;
use crate::catalog::Catalog;
use crate::collection::{Collection, IndexDraft, IndexPermit};
use crate::field::IndexScratch;
use crate::scheduling::BackgroundWork;
use crate::supervision::{self, Stop, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two checks of the deadlines of writes that wait for a writer. What a client that left has queued is
/// gone in at most twice that.
const OVERDUE_CHECK_INTERVAL: Duration = Duration::from_millis(25);

/// How long an indexer sleeps when its queue becomes empty. A collection that is queued meanwhile wakes no thread, so
/// that a stream of small writes does not wake one for each.
const REST: Duration = Duration::from_millis(5);

/// How long an indexer waits when there is no memory for what it builds.
const WAIT_FOR_MEMORY: Duration = Duration::from_millis(100);

/// The background threads of an engine.
pub struct Background {
    stop: Arc<Stop>,
    catalog: Arc<Catalog>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    /// Starts an indexer for each core, the thread that checkpoints and vacuums, and the one that answers requests whose
    /// deadline has passed while they waited for no thread; `give_up_overdue` does it for those that others keep.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn start(
        catalog: &Arc<Catalog>,
        housekeeping: Duration,
        give_up_overdue: impl Fn() + Send + 'static,
    ) -> std::io::Result<Background> {
        let stop = Arc::<Stop>::default();
        let supervisor = &catalog.shared().supervisor;
        let indexers = std::thread::available_parallelism().map_or(1, usize::from);
        // Its drop ends those that have started where one is refused.
        let mut background =
            Background { stop: Arc::clone(&stop), catalog: Arc::clone(catalog), threads: Vec::new() };
        let threads = &mut background.threads;
        for number in 0..indexers {
            let (catalog, name) = (Arc::clone(catalog), format!("kith-index-{number}"));
            threads.push(supervisor.spawn(name, Task::Index, &stop, move || index_until_closed(&catalog))?);
        }
        for collection in catalog.collections() {
            catalog.shared().indexer.push(&collection);
        }
        let keeper = {
            let (catalog, stop) = (Arc::clone(catalog), Arc::clone(&stop));
            let mut heap_trim = HeapTrim::new(Instant::now());
            move || keep_until_stopped(&catalog, &stop, housekeeping, &mut heap_trim)
        };
        threads.push(supervisor.spawn("kith-checkpoint".into(), Task::Housekeeping, &stop, keeper)?);
        let deadlines = {
            let (catalog, stop) = (Arc::clone(catalog), Arc::clone(&stop));
            move || {
                while !stop.is_requested() {
                    stop.wait(OVERDUE_CHECK_INTERVAL);
                    give_up_overdue();
                    give_up_overdue_writes(&catalog);
                    catalog.answer_overdue_deletions();
                    catalog.shared().supervisor.succeeded(Task::Deadlines);
                }
            }
        };
        threads.push(supervisor.spawn("kith-deadline".into(), Task::Deadlines, &stop, deadlines)?);
        threads.extend(memory_watch::start(catalog, &stop)?);
        Ok(background)
    }

    /// Ends running work at its next check, and waits for the threads, at most until `deadline`. False when one still
    /// runs then.
    pub fn close(&mut self, deadline: Option<Instant>) -> bool {
        self.stop.request();
        self.catalog.shared().indexer.close();
        supervision::join(self.threads.drain(..), deadline)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.close(None);
    }
}

/// Vacuums, checkpoints, shortens the log, and returns memory, at intervals.
fn keep_until_stopped(catalog: &Arc<Catalog>, stop: &Stop, interval: Duration, heap_trim: &mut HeapTrim) {
    Priority::Low.take();
    let supervisor = &catalog.shared().supervisor;
    let (mut pause, mut sweeper) = (Pause::default(), Sweeper::default());
    loop {
        stop.wait(interval);
        if stop.is_requested() {
            return;
        }
        run_housekeeping(catalog);
        let next = catalog.shared().log.next_lsn();
        let pause = pause.since(next, Instant::now());
        let data_bytes = catalog.collections().iter().map(|one| one.disk_bytes()).sum();
        let log_bytes = catalog.shared().log.size_bytes() + catalog.shared().reserve.bytes();
        if idle_log::is_due(pause, log_bytes, data_bytes) {
            supervisor.step(Task::LogMaintenance, || shorten_idle_log(catalog));
        }
        supervisor.step(Task::Residency, || sweeper.sweep(catalog));
        supervisor.step(Task::HeapTrim, || {
            let points = |one: &Arc<Collection>| one.view().state.ids.len() as u64;
            let points = catalog.collections().iter().map(points).sum();
            if heap_trim.is_due(points, next, pause, Instant::now()) {
                allocator::trim();
            }
        });
        supervisor.succeeded(Task::Housekeeping);
    }
}

/// Answers the writes whose deadline has passed while they waited for a writer.
fn give_up_overdue_writes(catalog: &Catalog) {
    if catalog.shared().waiting_writes.load(Ordering::Relaxed) == 0 {
        return;
    }
    for collection in catalog.collections() {
        collection.guard(Task::Deadlines, || collection.give_up_overdue_writes());
    }
}

/// What an indexer is to do for a collection.
enum Work<'c> {
    FieldIndex(Box<IndexDraft>),
    /// An automatic one, which takes a permit of the threads that the configuration allows.
    AutoIndex(IndexPermit<'c>, Box<IndexDraft>),
    Graphs(IndexPermit<'c>),
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
        collection.guard(Task::NextIndex, || collection.drop_auto_indexes_if_told());
        if catalog.shared().memory.is_critical() {
            // The tail stays what it is, and searches scan it, until there is room.
            std::thread::sleep(WAIT_FOR_MEMORY);
            queue.push(&collection);
            continue;
        }
        match collection.guard(Task::NextIndex, || next_work(&collection)).flatten() {
            None => {}
            Some(Work::FieldIndex(draft)) => {
                // The next field index, or the graphs, are for another indexer.
                queue.push(&collection);
                if collection.guard(Task::Index, || collection.build_index(&draft)).is_none() {
                    // It was refused memory, or such work rests: another indexer takes it later.
                    std::thread::sleep(WAIT_FOR_MEMORY);
                    draft.release_if(true);
                }
            }
            Some(Work::AutoIndex(permit, draft)) => {
                queue.push(&collection);
                collection.guard(Task::Index, || collection.build_index(&draft));
                drop(permit);
            }
            Some(Work::Graphs(permit)) => {
                let more = collection.guard(Task::Index, || collection.index_some(&mut scratch));
                drop(permit);
                if more == Some(true) {
                    queue.push(&collection);
                }
            }
        }
        catalog.shared().supervisor.succeeded(Task::Index);
    }
}

fn next_work(collection: &Arc<Collection>) -> Option<Work<'_>> {
    if collection.fault().is_some() {
        // A collection with a fault is skipped: the work would fail again.
        return None;
    }
    // While growth is refused no index is begun; the queue gets the collection again when it is taken up.
    if !collection.shared().memory.is_refusing()
        && let Some(draft) = collection.take_draft()
    {
        return Some(Work::FieldIndex(Box::new(draft)));
    }
    let permit = collection.start_indexing()?;
    if let Some(draft) = collection.begin_auto_index() {
        return Some(Work::AutoIndex(permit, Box::new(draft)));
    }
    if collection.has_rows_to_index() {
        // There may be enough for another indexer.
        collection.shared().indexer.push(collection);
    }
    Some(Work::Graphs(permit))
}

/// Builds all field indexes and graphs, for engines without threads.
pub fn index_everything(catalog: &Catalog, scratch: &mut IndexScratch) {
    for collection in catalog.collections() {
        collection.guard(Task::Index, || collection.build_indexes());
        collection.guard(Task::Index, || collection.build_auto_indexes());
        while collection.guard(Task::Index, || collection.index_some(scratch)) == Some(true) {}
    }
}
