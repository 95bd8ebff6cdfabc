//! The scrub reads all files in the background, so that decay is found while a sound backup still exists.
//!
//! Data files, graphs, manifests, the catalog and the closed segments of the log are compared with their checksums at a
//! bounded rate. A collection with a damaged data file is quarantined, since its answers could be wrong; other damaged
//! files are written again from memory, or replaced by checkpoints. A read for which the system has no memory or file
//! descriptor says nothing of a file: the next pass reads it again.

use super::housekeeping::checkpoint_up_to;
use crate::catalog::{CATALOG_COPY, Catalog, Entry, StartDamage};
use crate::collection::{Collection, FileFault, Part, Unopened, inspect};
use crate::limits::MAX_SCRUB_FINDINGS;
use crate::storage::{ErrorKind, ReadOnly, Storage, StorageError};
use crate::supervision::{self, Stop, Task};
use crate::wal::{self, LogReport};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// How often and how fast files are read.
#[derive(Clone, Copy, Debug)]
pub struct ScrubOptions {
    /// Greatest rate in bytes a second.
    pub bytes_per_second: u64,
    /// Time from the end of one pass to the next. The start reads everything too and counts as a pass.
    pub interval: Duration,
}

/// A damaged part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrubFinding {
    /// Grows from finding to finding of this process.
    pub number: u64,
    /// Name of the collection, where the file belongs to one.
    pub collection: Option<String>,
    /// The file, relative to the data directory.
    pub file: String,
    /// What is wrong, and what was done.
    pub what: String,
}

/// What the scrub did since the engine was opened, and what that start found, which reads everything as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Passes that were finished.
    pub passes: u64,
    /// When the last one did, in seconds since 1970.
    pub finished_at: Option<u64>,
    /// Bytes compared with a checksum.
    pub bytes: u64,
    /// Pieces of data files that failed.
    pub data_failures: u64,
    /// Pieces of graph files that failed.
    pub graph_failures: u64,
    /// Manifests that failed.
    pub manifest_failures: u64,
    /// Times that the catalog's file or its copy failed.
    pub catalog_failures: u64,
    /// Segments of the log that failed.
    pub log_failures: u64,
    /// The last findings, oldest first, without those of the start that the engine's status has.
    pub findings: VecDeque<ScrubFinding>,
}

/// The scrub of an engine.
pub struct Scrub {
    report: Arc<Mutex<ScrubReport>>,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl ScrubReport {
    /// The findings of a start.
    pub fn of_start(damage: &StartDamage, log: &LogReport) -> ScrubReport {
        let mark = log.mark_fault.iter().filter(|fault| fault.has_other);
        let mut report = ScrubReport {
            data_failures: damage.data.len() as u64,
            manifest_failures: damage.manifests.len() as u64,
            log_failures: (log.damages.len() + mark.count() + damage.records.len()) as u64,
            ..ScrubReport::default()
        };
        if let Some((file, what)) = &damage.catalog {
            note(&mut report, |r| &mut r.catalog_failures, None, file, what.clone());
        }
        for (collection, file, what) in &damage.graphs {
            let what = format!("{what}; it is built again in the background, while searches are exact");
            note(&mut report, |r| &mut r.graph_failures, Some(collection.clone()), file, what);
        }
        report
    }
}

impl Scrub {
    /// Starts the thread if there are options. `report` has the findings of the start.
    ///
    /// # Errors
    /// The error of the system when it refuses a thread.
    pub fn start(
        catalog: &Arc<Catalog>,
        options: Option<ScrubOptions>,
        report: ScrubReport,
    ) -> std::io::Result<Scrub> {
        let report = Arc::new(Mutex::new(report));
        let mut scrub = Scrub { report, stop: Arc::default(), thread: None };
        if let Some(options) = options {
            let (found, stop) = (Arc::clone(&scrub.report), Arc::clone(&scrub.stop));
            let read = Arc::clone(catalog);
            let supervisor = &catalog.shared().supervisor;
            let work = move || scrub_until_stopped(&read, &found, &stop, options);
            scrub.thread = Some(supervisor.spawn("kith-scrub".into(), Task::Scrub, &scrub.stop, work)?);
        }
        Ok(scrub)
    }

    /// What was found so far, by it and by collections that woke.
    pub fn report(&self, catalog: &Catalog) -> ScrubReport {
        note_woken(catalog, &self.report);
        self.report.lock().clone()
    }

    /// One pass in the caller, as fast as it goes.
    pub fn run_once(&self, catalog: &Arc<Catalog>) {
        pass(catalog, &self.report, &mut |_| true);
    }

    /// Ends a running pass and waits for the thread, at most until `deadline`. False when it still runs then.
    pub fn close(&mut self, deadline: Option<Instant>) -> bool {
        self.stop.request();
        supervision::join(self.thread.take(), deadline)
    }
}

fn scrub_until_stopped(
    catalog: &Arc<Catalog>,
    report: &Mutex<ScrubReport>,
    stop: &Stop,
    ScrubOptions { bytes_per_second, interval }: ScrubOptions,
) {
    super::pool::Priority::Low.take();
    while !stop.is_requested() {
        stop.wait(interval);
        if !stop.is_requested() {
            pass(catalog, report, &mut |bytes| {
                let seconds = bytes as f64 / bytes_per_second.max(1) as f64;
                stop.wait(Duration::from_secs_f64(seconds));
                !stop.is_requested()
            });
        }
        catalog.shared().supervisor.succeeded(Task::Scrub);
    }
}

fn pass(catalog: &Arc<Catalog>, report: &Mutex<ScrubReport>, pace: &mut dyn FnMut(u64) -> bool) {
    let mut goes_on = true;
    let mut pace = |bytes| {
        goes_on = goes_on && pace(bytes);
        goes_on
    };
    for entry in catalog.entries() {
        if entry.sleeping().is_some() {
            scrub_sleeping(catalog, &entry, report, &mut pace);
        }
        if let Some(collection) = entry.collection() {
            // A panic for one collection must not end the pass for the others.
            collection
                .guard(Task::Scrub, || scrub_collection(catalog, &entry, &collection, report, &mut pace));
        }
        if !pace(0) {
            return;
        }
    }
    scrub_catalog(catalog, report);
    scrub_log(catalog, report, &mut pace);
    if !pace(0) {
        return;
    }
    let mut report = report.lock();
    report.passes += 1;
    report.finished_at =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs());
}

/// What is done about damaged data.
const QUARANTINED: &str =
    "the collection is quarantined: restore a backup, or stop the server and run kithdb repair";
/// What is said of damaged data of a collection for which the system has no memory.
const UNDECIDED: &str = "the collection is asleep, and could not be opened now to decide what becomes of it: the next pass, \
     or request, tries again";

/// Reads the files of a collection without waking it. Where they are damaged, or the manifest is missing, it wakes, and what
/// is found then decides: files that were replaced meanwhile are no fault, and a graph is built again.
fn scrub_sleeping(
    catalog: &Arc<Catalog>,
    entry: &Arc<Entry>,
    report: &Mutex<ScrubReport>,
    pace: &mut dyn FnMut(u64) -> bool,
) {
    let shared = catalog.shared();
    let Some(sleeping) = entry.sleeping() else { return };
    let look = || inspect(&*shared.storage, entry.id, shared.thresholds.row_chunk_bytes, pace);
    let Some(inspection) = shared.supervisor.step(Task::Scrub, look) else { return };
    let inspection = inspection.after_checkpoint(entry.id).without_exhausted();
    report.lock().bytes += inspection.bytes;
    if inspection.faults.is_empty() {
        return;
    }
    catalog.wake(entry);
    let is_quarantined = catalog.entries().iter().any(|now| now.id == entry.id && now.fault().is_some());
    // It has slept all the time, so these are its files.
    let is_undecided =
        !entry.is_deleting() && entry.sleeping().is_some_and(|now| Arc::ptr_eq(&now, &sleeping));
    let is_noted = |fault: &&FileFault| is_quarantined || is_undecided && !fault.part.is_derived();
    for fault in inspection.faults.iter().filter(is_noted) {
        let counter: Counter = match &fault.part {
            Part::Graph { .. } => |r| &mut r.graph_failures,
            Part::Manifest => |r| &mut r.manifest_failures,
            _ => |r| &mut r.data_failures,
        };
        let what = format!("{}; {}", fault.what, if is_quarantined { QUARANTINED } else { UNDECIDED });
        note(&mut report.lock(), counter, Some(entry.name.clone()), &fault.path, what);
    }
}

/// Takes over the damaged graphs of collections that woke.
fn note_woken(catalog: &Catalog, report: &Mutex<ScrubReport>) {
    for (collection, file, what) in catalog.take_damaged_graphs() {
        let what = format!("{what}; it is built again in the background, while searches are exact");
        note(&mut report.lock(), |r| &mut r.graph_failures, Some(collection), &file, what);
    }
}

fn scrub_collection(
    catalog: &Catalog,
    entry: &Arc<Entry>,
    collection: &Collection,
    report: &Mutex<ScrubReport>,
    pace: &mut dyn FnMut(u64) -> bool,
) {
    let inspection = collection.verify_files(pace);
    report.lock().bytes += inspection.bytes;
    for fault in &inspection.faults {
        let (done, counter): (String, Counter) = match &fault.part {
            Part::Graph { .. } => (rewritten(collection.write_again(&fault.part)), |r| &mut r.graph_failures),
            Part::Manifest => (rewritten(collection.write_again(&fault.part)), |r| &mut r.manifest_failures),
            _ => {
                // Also where the device only refuses a read: a search that reads the page would end the process
                // (SIGBUS).
                catalog.quarantine(entry, Unopened { what: sentence(fault), cause: fault.cause });
                (QUARANTINED.to_string(), |r| &mut r.data_failures)
            }
        };
        let what = format!("{}; {done}", fault.what);
        note(&mut report.lock(), counter, Some(entry.name.clone()), &fault.path, what);
    }
}

fn rewritten(result: Result<(), StorageError>) -> String {
    match result {
        Ok(()) => "it is written again".to_string(),
        Err(error) => format!("it cannot be written again: {error}"),
    }
}

fn scrub_catalog(catalog: &Catalog, report: &Mutex<ScrubReport>) {
    if !can_read(&*catalog.shared().storage) {
        return;
    }
    if let Some((path, what, result)) = catalog.scrub_file() {
        let what = format!("{what}; {}", rewritten(result));
        note(&mut report.lock(), |r| &mut r.catalog_failures, None, path, what);
    }
}

/// A running server has applied every record, so damage of the log harms only the next start. Checkpoints therefore
/// take over all records of a damaged segment.
fn scrub_log(catalog: &Catalog, report: &Mutex<ScrubReport>, pace: &mut dyn FnMut(u64) -> bool) {
    let storage = &catalog.shared().storage;
    if !can_read(&**storage) {
        return;
    }
    if let Some((fault, repaired)) = catalog.shared().log.repair_mark() {
        let done = repaired.map_or_else(
            |error| format!("it cannot be written again: {error}"),
            |()| "it is written again".to_string(),
        );
        let what = format!("{}; {done}", fault.what);
        note(&mut report.lock(), |r| &mut r.log_failures, None, fault.path, what);
    }
    let paths = || -> Vec<String> {
        let segments = catalog.shared().log.with_segments(|segments| segments.to_vec());
        segments.unwrap_or_default().into_iter().map(|(path, _)| path).collect()
    };
    let reading = ReadOnly::new(Arc::clone(storage));
    let inspection = wal::verify_closed(&reading, &paths(), pace);
    report.lock().bytes += inspection.bytes;
    if reading.refused().is_some_and(|error| error.kind() == ErrorKind::Exhausted) {
        return;
    }
    for fault in inspection.faults {
        // A segment that was cut meanwhile is no fault.
        if !paths().contains(&fault.path) {
            continue;
        }
        checkpoint_up_to(catalog, fault.last);
        let done = if !paths().contains(&fault.path) {
            "what it held is in checkpoints, and it was removed"
        } else if catalog.pinned_lsn().is_some_and(|pinned| pinned <= fault.last) {
            "it cannot be replaced by checkpoints now: make a backup before the server stops"
        } else {
            "what it held is in checkpoints, and it goes when the log is cut the next time"
        };
        let what = format!("{}; {done}", fault.what);
        note(&mut report.lock(), |r| &mut r.log_failures, None, &fault.path, what);
    }
}

/// Whether the system has memory and a file descriptor for a read at the moment.
fn can_read(storage: &dyn Storage) -> bool {
    let read = storage.read_range(CATALOG_COPY, 0, 1);
    !read.is_err_and(|error| error.kind() == ErrorKind::Exhausted)
}

/// The sentence that clients get: it names the file without its folders.
fn sentence(fault: &FileFault) -> String {
    let file = fault.path.rsplit('/').next().unwrap_or_default();
    format!("{} in {file}, since the server started", fault.what)
}

/// One of the counters of a report.
type Counter = fn(&mut ScrubReport) -> &mut u64;

fn note(report: &mut ScrubReport, counter: Counter, collection: Option<String>, file: &str, what: String) {
    *counter(report) += 1;
    let number = report.data_failures
        + report.graph_failures
        + report.manifest_failures
        + report.catalog_failures
        + report.log_failures;
    if report.findings.len() == MAX_SCRUB_FINDINGS {
        report.findings.pop_front();
    }
    report.findings.push_back(ScrubFinding { number, collection, file: file.to_string(), what });
}
