//! Reading at leisure what nobody asks for: decay is found while a backup that is sound still exists.
//!
//! Data files, graphs and manifests are compared with their checksums at a bounded rate. (The log is not read: its
//! records are in memory and soon in a checkpoint.) A collection with a damaged data file is quarantined, since its
//! answers could be wrong; what the server still has in memory is written again.

use crate::catalog::Catalog;
use crate::collection::{Bell, FileFault, Part};
use crate::limits::MAX_SCRUB_FINDINGS;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// How often and how fast files are read.
#[derive(Clone, Copy, Debug)]
pub struct ScrubOptions {
    /// Most bytes a second.
    pub bytes_per_second: u64,
    /// From the end of one pass, or the start, which reads everything too, to the next.
    pub interval: Duration,
}

/// One piece that was not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrubFinding {
    /// Counts the findings of this process, from 1.
    pub number: u64,
    /// Name of the collection.
    pub collection: String,
    /// The file, relative to the data directory.
    pub file: String,
    /// What is wrong, and what was done.
    pub what: String,
}

/// What the scrub did since the engine was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Passes that came to their end.
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
    /// The last findings, oldest first.
    pub findings: VecDeque<ScrubFinding>,
}

/// The scrub of an engine.
pub struct Scrub {
    report: Arc<Mutex<ScrubReport>>,
    stop: Arc<AtomicBool>,
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Scrub {
    /// Starts the thread, where there is something for it to do.
    ///
    /// # Errors
    /// The system's, when it refuses a thread.
    pub fn start(catalog: &Arc<Catalog>, options: Option<ScrubOptions>) -> std::io::Result<Scrub> {
        let mut scrub =
            Scrub { report: Arc::default(), stop: Arc::default(), bell: Arc::default(), thread: None };
        if let Some(options) = options {
            let (catalog, report) = (Arc::clone(catalog), Arc::clone(&scrub.report));
            let (stop, bell) = (Arc::clone(&scrub.stop), Arc::clone(&scrub.bell));
            let run = move || {
                super::pool::Priority::Behind.take();
                let is_open = || !stop.load(Ordering::Acquire);
                while is_open() {
                    bell.wait(options.interval);
                    if is_open() {
                        pass(&catalog, &report, &mut |bytes| {
                            let seconds = bytes as f64 / options.bytes_per_second.max(1) as f64;
                            bell.wait(Duration::from_secs_f64(seconds));
                            is_open()
                        });
                    }
                }
            };
            scrub.thread = Some(std::thread::Builder::new().name("kith-scrub".into()).spawn(run)?);
        }
        Ok(scrub)
    }

    /// What was found so far.
    pub fn report(&self) -> ScrubReport {
        self.report.lock().clone()
    }

    /// One pass in the caller, as fast as it goes.
    pub fn run_once(&self, catalog: &Catalog) {
        pass(catalog, &self.report, &mut |_| true);
    }

    /// Ends a running pass and waits for the thread.
    pub fn close(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.bell.ring();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn pass(catalog: &Catalog, report: &Mutex<ScrubReport>, pace: &mut dyn FnMut(u64) -> bool) {
    let mut goes_on = true;
    for entry in catalog.entries() {
        let Some(collection) = entry.collection() else { continue };
        let inspection = collection.verify_files(&mut |bytes| {
            goes_on = pace(bytes);
            goes_on
        });
        report.lock().bytes += inspection.bytes;
        for fault in &inspection.faults {
            let done = match &fault.part {
                Part::Graph { .. } | Part::Manifest => match collection.write_again(&fault.part) {
                    Ok(()) => "it is written again".to_string(),
                    Err(error) => format!("it cannot be written again: {error}"),
                },
                // A device that refuses once may give it the next time: wrong answers are not to be feared.
                _ if fault.unreadable => {
                    "the collection is still served; move it to another disk".to_string()
                }
                _ => {
                    catalog.quarantine(&entry, &sentence(fault));
                    "the collection is quarantined: restore a backup, or stop the server and run kithdb repair"
                        .to_string()
                }
            };
            note(&mut report.lock(), &entry.name, fault, &done);
        }
        if !goes_on {
            return;
        }
    }
    let mut report = report.lock();
    report.passes += 1;
    report.finished_at =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs());
}

/// What a client is told, and advised what to do: the name of the file without its folders.
fn sentence(fault: &FileFault) -> String {
    let file = fault.path.rsplit('/').next().unwrap_or_default();
    format!("{} in {file}, since the server started", fault.what)
}

fn note(report: &mut ScrubReport, collection: &str, fault: &FileFault, done: &str) {
    let counter = match fault.part {
        Part::Graph { .. } => &mut report.graph_failures,
        Part::Manifest => &mut report.manifest_failures,
        _ => &mut report.data_failures,
    };
    *counter += 1;
    let number = report.data_failures + report.graph_failures + report.manifest_failures;
    if report.findings.len() == MAX_SCRUB_FINDINGS {
        report.findings.pop_front();
    }
    report.findings.push_back(ScrubFinding {
        number,
        collection: collection.to_string(),
        file: fault.path.clone(),
        what: format!("{}; {done}", fault.what),
    });
}
