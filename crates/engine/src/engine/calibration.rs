//! Calibrates the recall of searches in the background (C14): one query of one field after the other, at most on a
//! share of the processors ([`Options::calibration_share`]), and beside reads only where they leave one.

#[cfg(doc)]
use super::Options;
use super::pool::Priority;
use crate::catalog::{Catalog, Entry};
use crate::collection::{Collection, Snapshot};
use crate::field::calibration::{Calibration, LEAST};
use crate::query::calibrating::{measurable, measure, rows_of};
use crate::scheduling::{BackgroundWork, thread_time, yield_to_reads};
use crate::supervision::{self, Stop, Task};
use std::cell::{Cell, RefCell};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// Work that is done before the pause that it costs.
const STEP: Duration = Duration::from_micros(200);
/// Pause after a round over all collections in which there was nothing to do.
const REST: Duration = Duration::from_secs(1);
/// Share of the rows that has to change for a new calibration.
const CHANGED: f64 = 0.2;
/// Age of one that is made anew, of a collection that is searched.
const AGE_SECONDS: u64 = 3600;
/// A calibration is used again after so many further queries.
const EVERY: u32 = 32;

/// The thread that calibrates.
pub struct Calibrator {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Calibrator {
    /// Starts the thread. It uses at most a share of the processors, which is above 0.
    ///
    /// # Errors
    /// The error of the system when it refuses it.
    pub fn start(catalog: &Arc<Catalog>, share: f64) -> std::io::Result<Calibrator> {
        let stop = Arc::<Stop>::default();
        let supervisor = &catalog.shared().supervisor;
        let work = {
            let (catalog, stop) = (Arc::clone(catalog), Arc::clone(&stop));
            move || calibrate_until_stopped(&catalog, &stop, share)
        };
        let thread = supervisor.spawn("kith-recall".into(), Task::Calibration, &stop, work)?;
        Ok(Calibrator { stop, thread: Some(thread) })
    }

    /// Ends a running measurement and waits for the thread, at most until `deadline`. False when it still runs then.
    pub fn close(&mut self, deadline: Option<std::time::Instant>) -> bool {
        self.stop.request();
        supervision::join(self.thread.take(), deadline)
    }
}

fn calibrate_until_stopped(catalog: &Catalog, stop: &Stop, share: f64) {
    Priority::Low.take();
    while !stop.is_requested() {
        let pace = Pacer::new(stop, share);
        let mut has_worked = false;
        // A round takes minutes: one that is deleted meanwhile must not stay in memory until its turn, and one that is to
        // sleep must not be held.
        let entries: Vec<Weak<Entry>> = catalog.entries().iter().map(Arc::downgrade).collect();
        for entry in entries.iter().filter_map(Weak::upgrade).filter(|entry| !entry.is_about_to_sleep()) {
            let Some(collection) = entry.collection() else { continue };
            if stop.is_requested() {
                return;
            }
            // One that is deleted or to sleep is not measured to the end: until then its vectors stay in memory.
            let is_unwanted = || collection.is_retired() || entry.is_about_to_sleep();
            let step = || calibrate_some(&collection, &|| pace.pause() || is_unwanted());
            has_worked |= collection.guard(Task::Calibration, step) == Some(true);
        }
        drop(pace);
        catalog.shared().supervisor.succeeded(Task::Calibration);
        if !has_worked {
            stop.wait(REST);
        }
    }
}

/// Calibrates every field of every collection whole, in the caller, as fast as it goes.
pub fn calibrate_everything(catalog: &Catalog) {
    for collection in catalog.collections() {
        while collection.guard(Task::Calibration, || calibrate_some(&collection, &|| false)) == Some(true) {}
    }
}

/// Measures a query of each field of a collection that is to be calibrated. False when there was nothing to do.
fn calibrate_some(collection: &Arc<Collection>, pause: &impl Fn() -> bool) -> bool {
    let is_out_of_use = collection.fault().is_some() || collection.is_retired();
    if is_out_of_use || collection.shared().memory.is_critical() {
        return false;
    }
    let snapshot = collection.read_snapshot();
    let fields: Vec<usize> = measurable(&snapshot).collect();
    let mut has_worked = false;
    for field in fields {
        has_worked |= calibrate_field(&snapshot, field, pause);
    }
    has_worked
}

fn calibrate_field(snapshot: &Snapshot, field: usize, pause: &impl Fn() -> bool) -> bool {
    let Some((graph, _)) = &snapshot.graphs[field] else { return false };
    let slot = &snapshot.view.fields[field].graphs.calibration;
    let (rows, graph_params) = (rows_of(snapshot, field), graph.graph_params);
    let current = slot.current.load_full();
    // As soon as there is one to use, what clients search for counts more than the rest of one without that.
    let is_worth_it = |next: &Calibration| next.is_live || current.is_none() || !slot.has_queries();
    // Taken out of its place: a panic costs what was measured, and nothing else.
    let taken = slot.next.lock().take().filter(|next| next.fits(&graph_params, rows) && is_worth_it(next));
    let mut next = match taken {
        Some(next) => next,
        None => {
            let is_sound = current.as_ref().is_some_and(|current| {
                current.fits(&graph_params, rows)
                    && current.changed(rows) < CHANGED
                    && now().saturating_sub(current.at) < AGE_SECONDS
                    && (current.is_live || !slot.has_queries())
            });
            if is_sound || rows.1 == 0 {
                return false;
            }
            Calibration::new(graph_params, rows, slot.has_queries())
        }
    };
    if measure(snapshot, field, next.samples(), &mut next, pause) != Ok(true) {
        // Given up, or nothing to measure: what there is stays for the next round.
        *slot.next.lock() = (next.samples() > 0).then_some(next);
        return false;
    }
    next.finish_query(now());
    let samples = next.samples();
    let is_better = current.is_none_or(|current| !current.fits(&graph_params, rows) || samples >= LEAST * 2);
    if samples >= LEAST && samples.is_multiple_of(EVERY) && is_better {
        slot.current.store(Some(Arc::new(next.clone())));
    }
    *slot.next.lock() = (samples < slot.whole(next.is_live)).then_some(next);
    true
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Keeps the work of this thread within a share of the processors.
struct Pacer<'a> {
    stop: &'a Stop,
    share: f64,
    /// Processor time of the thread at the end of the last pause.
    since: Cell<Duration>,
    work: RefCell<Option<BackgroundWork>>,
    processors: usize,
}

impl<'a> Pacer<'a> {
    fn new(stop: &'a Stop, share: f64) -> Pacer<'a> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let work = RefCell::new(Some(BackgroundWork::begin()));
        Pacer { stop, share, since: Cell::new(thread_time()), work, processors }
    }

    /// Waits as long as the work since the last call costs. True when the engine closes.
    fn pause(&self) -> bool {
        yield_to_reads();
        let worked = thread_time().saturating_sub(self.since.get());
        if worked >= STEP {
            // A thread that sleeps is no work that others should make room for.
            self.work.replace(None);
            self.stop.wait(worked.mul_f64(pause_for(self.share, self.processors)));
            self.work.replace(Some(BackgroundWork::begin()));
            self.since.set(thread_time());
        }
        self.stop.is_requested()
    }
}

/// The pause after some work, as a multiple of it.
fn pause_for(share: f64, processors: usize) -> f64 {
    (1.0 / (share * processors as f64) - 1.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_pauses_together_are_the_share_of_the_processors() {
        for processors in [1, 2, 8, 100] {
            let share = 1.0 / (1.0 + pause_for(0.01, processors)) / processors as f64;
            assert!((share - 0.01).abs() < 1e-9, "{share} of {processors}");
        }
        assert_eq!(pause_for(0.5, 2), 0.0, "one thread whole");
        assert_eq!(pause_for(1.0, 4), 0.0, "it has no more than one thread");
    }
}
