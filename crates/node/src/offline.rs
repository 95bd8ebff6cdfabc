//! What can be done with a data directory that no server holds.

use kithdb_engine::catalog::{OpenError, claim};
use kithdb_engine::integrity::{CheckReport, Finding, Findings, check};
use kithdb_engine::storage::{LockGuard, RealDisk, Storage};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// One line of a report.
#[napi(object, object_from_js = false)]
pub struct NativeFinding {
    /// `note`, `derived` or `damage`.
    pub severity: &'static str,
    /// The file or folder, relative to the data directory.
    pub file: String,
    /// The collection that it belongs to.
    pub collection: Option<String>,
    /// What is wrong.
    pub what: String,
    /// What that means for the data.
    pub effect: String,
    /// What to do.
    pub advice: String,
}

/// A collection that was looked at.
#[napi(object, object_from_js = false)]
pub struct NativeCheckedCollection {
    /// Its number, which its folder carries.
    pub id: f64,
    /// Its name.
    pub name: String,
    /// Live points; nothing when it would be quarantined.
    pub points: Option<f64>,
    /// Why it would be quarantined.
    pub fault: Option<String>,
}

/// What a check found.
#[napi(object, object_from_js = false)]
pub struct NativeCheckReport {
    /// What is to be reported.
    pub findings: Vec<NativeFinding>,
    /// Findings beyond those that are listed.
    pub unlisted: f64,
    /// The collections by number.
    pub collections: Vec<NativeCheckedCollection>,
    /// Files that were read.
    pub files: f64,
    /// Bytes that were compared with a checksum.
    pub bytes: f64,
}

/// Checks a data directory, or one collection of it, on a thread of its own. It must exist, and nothing in it changes.
#[napi(ts_return_type = "Promise<NativeCheckReport>")]
pub fn check_data_dir(data_dir: String, collection: Option<String>) -> AsyncTask<Check> {
    AsyncTask::new(Check { data_dir, collection })
}

/// See [`check_data_dir`].
pub struct Check {
    data_dir: String,
    collection: Option<String>,
}

impl Task for Check {
    type Output = CheckReport;
    type JsValue = NativeCheckReport;

    fn compute(&mut self) -> napi::Result<CheckReport> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        at_rest(&self.data_dir, |storage| check(storage, self.collection.as_deref(), threads))
    }

    fn resolve(&mut self, _env: Env, report: CheckReport) -> napi::Result<NativeCheckReport> {
        let collections = report.collections.into_iter().map(|found| NativeCheckedCollection {
            id: found.id as f64,
            name: found.name,
            points: found.points.map(|points| points as f64),
            fault: found.fault,
        });
        let (findings, unlisted) = findings(report.findings);
        Ok(NativeCheckReport {
            findings,
            unlisted,
            collections: collections.collect(),
            files: report.files as f64,
            bytes: report.bytes as f64,
        })
    }
}

fn findings(findings: Findings) -> (Vec<NativeFinding>, f64) {
    let native = |finding: Finding| NativeFinding {
        severity: finding.severity.name(),
        file: finding.file,
        collection: finding.collection,
        what: finding.what,
        effect: finding.effect,
        advice: finding.advice,
    };
    (findings.listed.into_iter().map(native).collect(), findings.unlisted as f64)
}

/// Does something with a data directory while this process holds it.
fn at_rest<T>(
    data_dir: &str,
    work: impl FnOnce(Arc<dyn Storage>) -> Result<T, OpenError>,
) -> napi::Result<T> {
    let run = || -> Result<T, OpenError> {
        let disk: Arc<dyn Storage> = Arc::new(RealDisk::open(data_dir)?);
        let _lock = claim(&*disk)?;
        work(disk)
    };
    // A panic must not end the process without a word about the directory.
    let done = catch_unwind(AssertUnwindSafe(run));
    let done =
        done.map_err(|_| napi::Error::from_reason("the engine failed while reading the data directory"))?;
    done.map_err(|error| napi::Error::from_reason(error.to_string()))
}

/// A data directory that this process holds: no server starts on it until it is released.
#[napi]
pub struct NativeClaim {
    lock: Option<LockGuard>,
}

#[napi]
impl NativeClaim {
    /// Holds a data directory, which must exist.
    ///
    /// # Errors
    /// When another process holds it, or a restore into it did not come to its end.
    #[napi(constructor, catch_unwind)]
    pub fn new(data_dir: String) -> napi::Result<NativeClaim> {
        let held = || -> Result<LockGuard, OpenError> { claim(&RealDisk::open(&data_dir)?) };
        let lock = held().map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(NativeClaim { lock: Some(lock) })
    }

    /// Lets it go. A second call does nothing.
    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        self.lock = None;
    }
}
