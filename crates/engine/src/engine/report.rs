//! What an engine serves and what is wrong with it, as a snapshot.
//!
//! Counting walks all collections, so a thread of the engine does it, and only when a snapshot is requested and the last one
//! is too old. However many callers there are, there is at most one walk at a time, and a caller that accepts a snapshot
//! of the last second never causes more than one in a second.

#[cfg(doc)]
use super::Options;
use super::health_issue::{self, HealthIssue};
use super::pool::Priority;
use super::{CollectionFigures, Core, Status};
use crate::faults::PlantedFault;
use crate::supervision::{self, PanicEvent, Stop, Task};
use arc_swap::ArcSwap;
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Callers that may wait for the next report. Further ones get the one that is there.
const MAX_WAITING: usize = 256;

/// A snapshot.
#[derive(Clone, Debug)]
pub struct Report {
    /// Grows from snapshot to snapshot of an engine.
    pub number: u64,
    /// When counting began.
    pub made: Instant,
    /// What is served.
    pub status: Status,
    /// Figures of the collections that were created first, at most [`Options::reported_collections`].
    pub collections: Vec<CollectionFigures>,
    /// What an operator has to deal with.
    pub issues: Vec<HealthIssue>,
    /// How often each background task has panicked.
    pub panics: Vec<(Task, u64)>,
    /// How often the thread of each background task was taken up again after one.
    pub restarts: Vec<(Task, u64)>,
    /// The last panics, oldest first.
    pub panic_events: Vec<BackgroundPanic>,
}

/// A panic of background work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundPanic {
    /// What was caught.
    pub event: PanicEvent,
    /// Name of the collection, where the task worked on one that still exists.
    pub collection: Option<String>,
}

impl Report {
    /// Counts now: walks all collections.
    pub(super) fn make(core: &Core, number: u64) -> Report {
        let made = Instant::now();
        let catalog = &core.catalog;
        let supervisor = &catalog.shared().supervisor;
        let events = supervisor.events();
        let names: HashMap<u64, String> = if events.is_empty() {
            HashMap::new()
        } else {
            catalog.entries().iter().map(|entry| (entry.id, entry.name.clone())).collect()
        };
        let named = |event: PanicEvent| {
            let collection = event.collection.and_then(|id| names.get(&id).cloned());
            BackgroundPanic { event, collection }
        };
        Report {
            number,
            made,
            status: core.status(),
            collections: core.collection_figures(),
            issues: health_issue::health_issues(catalog),
            panics: Task::ALL.into_iter().zip(supervisor.counts()).collect(),
            restarts: Task::ALL.into_iter().zip(supervisor.restarts()).collect(),
            panic_events: events.into_iter().map(named).collect(),
        }
    }
}

/// Called when a report of the wished age is there.
pub type Reported = Box<dyn FnOnce() + Send>;

/// The thread that makes the reports, and the last one.
pub struct Reporter {
    shared: Arc<Shared>,
    stop: Arc<Stop>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    core: Arc<Core>,
    current: ArcSwap<Report>,
    waiting: Mutex<Waiting>,
    asked: Condvar,
}

#[derive(Default)]
struct Waiting {
    callers: Vec<(Duration, Reported)>,
    closed: bool,
}

impl Reporter {
    /// Makes a first report and starts the thread.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub(super) fn start(core: &Arc<Core>) -> std::io::Result<Reporter> {
        let shared = Arc::new(Shared {
            core: Arc::clone(core),
            current: ArcSwap::from_pointee(Report::make(core, 1)),
            waiting: Mutex::default(),
            asked: Condvar::new(),
        });
        let stop = Arc::<Stop>::default();
        let supervisor = &core.catalog.shared().supervisor;
        let work = {
            let shared = Arc::clone(&shared);
            move || shared.report_until_closed()
        };
        let thread = supervisor.spawn("kith-report".into(), Task::Report, &stop, work)?;
        Ok(Reporter { shared, stop, thread: Mutex::new(Some(thread)) })
    }

    /// The last report.
    pub fn report(&self) -> Arc<Report> {
        self.shared.current.load_full()
    }

    /// Calls `done` once, when the last report is at most so old: at once, or on the thread of the reports.
    pub fn when_fresh(&self, max_age: Duration, done: Reported) {
        let is_old = self.report().made.elapsed() > max_age || PlantedFault::ReportForEachCaller.is_on();
        if is_old && !PlantedFault::OldReportAnswered.is_on() {
            let mut waiting = self.shared.waiting.lock();
            if !waiting.closed && waiting.callers.len() < MAX_WAITING {
                waiting.callers.push((max_age, done));
                drop(waiting);
                self.shared.asked.notify_one();
                return;
            }
        }
        done();
    }

    /// Answers everyone who waits and ends the thread. False when it still runs at `deadline`.
    pub fn close(&self, deadline: Option<Instant>) -> bool {
        let callers = {
            let mut waiting = self.shared.waiting.lock();
            waiting.closed = true;
            std::mem::take(&mut waiting.callers)
        };
        drop(Answered(callers));
        self.shared.asked.notify_all();
        self.stop.request();
        supervision::join(self.thread.lock().take(), deadline)
    }
}

impl Shared {
    fn report_until_closed(&self) {
        Priority::Low.take();
        loop {
            let callers = {
                let mut waiting = self.waiting.lock();
                while waiting.callers.is_empty() && !waiting.closed {
                    self.asked.wait(&mut waiting);
                }
                if waiting.closed {
                    return;
                }
                // Before counting: who asks from here on may want a later report.
                std::mem::take(&mut waiting.callers)
            };
            // Who asked while the last report was made is content with it, if it is young enough.
            let age = self.current.load().made.elapsed();
            let (content, callers): (Vec<_>, _) = callers
                .into_iter()
                .partition(|(most, _)| age <= *most && !PlantedFault::ReportForEachCaller.is_on());
            drop(Answered(content));
            if callers.is_empty() {
                continue;
            }
            let callers = Answered(callers);
            let supervisor = &self.core.catalog.shared().supervisor;
            let number = self.current.load().number + 1;
            self.current.store(Arc::new(Report::make(&self.core, number)));
            supervisor.succeeded(Task::Report);
            drop(callers);
        }
    }
}

/// Callers that are called when this is dropped, after a panic too: then they find the report before.
struct Answered(Vec<(Duration, Reported)>);

impl Drop for Answered {
    fn drop(&mut self) {
        for (_, done) in self.0.drain(..) {
            let _ = catch_unwind(AssertUnwindSafe(done));
        }
    }
}
