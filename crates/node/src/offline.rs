//! Operations on a data directory that no server holds: check, repair, verify, lock.

use kithdb_engine::{
    CheckReport, DirectoryLock, Finding, Findings, LogEnd, OpenError, RepairReport, RepairedCollection,
    UnsoundFile, check_directory, read_auth_generation, repair_directory, verify_directory,
};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Task};
use napi_derive::napi;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// A collection that was checked.
#[napi(object, object_from_js = false)]
pub struct NativeCheckedCollection {
    /// Its number, which its folder carries.
    pub id: f64,
    /// Its name; nothing where that is lost.
    pub name: Option<String>,
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
#[napi(catch_unwind, ts_return_type = "Promise<NativeCheckReport>")]
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
        run(|| check_directory(&self.data_dir, self.collection.as_deref()))
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

/// What a repair did, or would do, about one collection.
#[napi(object, object_from_js = false)]
pub struct NativeRepairedCollection {
    /// Its name.
    pub name: String,
    /// What was wrong with it.
    pub faults: Vec<String>,
    /// Live points afterwards.
    pub points: f64,
    /// Ids of points that could not be kept, as far as they are listed.
    pub lost_ids: Vec<String>,
    /// How many points could not be kept.
    pub lost_points: f64,
    /// Places of points of which not even the ids are known.
    pub unknown_points: f64,
    /// First and last number of operations whose records are lost.
    pub lost_operations: Vec<Vec<f64>>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// What a repair did, or would do.
#[napi(object, object_from_js = false)]
pub struct NativeRepairReport {
    /// The collections that were damaged.
    pub mended: Vec<NativeRepairedCollection>,
    /// Whether a new log takes the place of a damaged one.
    pub replaces_log: bool,
    /// Whether the list of collections is written again, the file or its copy being damaged.
    pub replaces_catalog: bool,
    /// Whether one of the two files that say how far the log was cut is damaged and both are written again.
    pub replaces_mark: bool,
    /// What there is to say of the log and the catalog.
    pub notes: Vec<String>,
    /// Folder in the data directory with what was replaced.
    pub salvage: Option<String>,
    /// Whether there is nothing to repair.
    pub sound: bool,
}

/// Repairs a data directory on a thread of its own, or says what a repair would do. `stamp` names the folder for what
/// is replaced.
#[napi(catch_unwind, ts_return_type = "Promise<NativeRepairReport>")]
pub fn repair_data_dir(data_dir: String, stamp: String, dry_run: bool) -> AsyncTask<Repair> {
    AsyncTask::new(Repair { data_dir, stamp, dry_run })
}

/// See [`repair_data_dir`].
pub struct Repair {
    data_dir: String,
    stamp: String,
    dry_run: bool,
}

impl Task for Repair {
    type Output = RepairReport;
    type JsValue = NativeRepairReport;

    fn compute(&mut self) -> napi::Result<RepairReport> {
        run(|| repair_directory(&self.data_dir, &self.stamp, self.dry_run))
    }

    fn resolve(&mut self, _env: Env, report: RepairReport) -> napi::Result<NativeRepairReport> {
        let repaired = |RepairedCollection { name, faults, losses, points, .. }: RepairedCollection| {
            NativeRepairedCollection {
                name,
                faults,
                points: points as f64,
                lost_ids: losses.ids().map(|id| id.to_string()).collect(),
                lost_points: losses.points() as f64,
                unknown_points: losses.unknown_points as f64,
                lost_operations: losses
                    .operations
                    .iter()
                    .map(|range| vec![range.start.get() as f64, (range.end.get() - 1) as f64])
                    .collect(),
                notes: losses.notes,
            }
        };
        let sound = report.is_sound();
        Ok(NativeRepairReport {
            mended: report.repaired.into_iter().map(repaired).collect(),
            replaces_log: report.replaces_log,
            replaces_catalog: report.replaces_catalog,
            replaces_mark: report.replaces_mark,
            notes: report.notes,
            salvage: report.salvage,
            sound,
        })
    }
}

/// A file that is not what was written.
#[napi(object, object_from_js = false)]
pub struct NativeUnsoundFile {
    /// Relative to the data directory.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
    /// Whether it can be made again from the others.
    pub is_derived: bool,
    /// Whether another release wrote it, so that this one cannot verify it.
    pub is_of_other_release: bool,
}

/// Compares the files of a data directory that no process writes to with their checksums, on a thread of its own.
/// Nothing in it changes, and no lock is taken. `is_log_synced` says that a server had synced the whole log before it
/// was copied.
#[napi(catch_unwind, ts_return_type = "Promise<Array<NativeUnsoundFile>>")]
pub fn verify_data_files(data_dir: String, is_log_synced: bool) -> AsyncTask<Verify> {
    let log_end = if is_log_synced { LogEnd::Synced } else { LogEnd::PerhapsTorn };
    AsyncTask::new(Verify { data_dir, log_end })
}

/// See [`verify_data_files`].
pub struct Verify {
    data_dir: String,
    log_end: LogEnd,
}

impl Task for Verify {
    type Output = Vec<UnsoundFile>;
    type JsValue = Vec<NativeUnsoundFile>;

    fn compute(&mut self) -> napi::Result<Vec<UnsoundFile>> {
        run(|| verify_directory(&self.data_dir, self.log_end))
    }

    fn resolve(&mut self, _env: Env, found: Vec<UnsoundFile>) -> napi::Result<Vec<NativeUnsoundFile>> {
        let native = |UnsoundFile { file, what, is_derived, is_of_other_release }| NativeUnsoundFile {
            file,
            what,
            is_derived,
            is_of_other_release,
        };
        Ok(found.into_iter().map(native).collect())
    }
}

/// The generation of the store of authentication that the catalog of a data directory has noted, whichever process has that
/// open; 0 where there is none. Nothing in it changes, and no lock is taken.
#[napi(catch_unwind, ts_return_type = "Promise<number>")]
pub fn read_noted_generation(data_dir: String) -> AsyncTask<ReadGeneration> {
    AsyncTask::new(ReadGeneration { data_dir })
}

/// See [`read_noted_generation`].
pub struct ReadGeneration {
    data_dir: String,
}

impl Task for ReadGeneration {
    type Output = u64;
    type JsValue = f64;

    fn compute(&mut self) -> napi::Result<u64> {
        run(|| read_auth_generation(&self.data_dir))
    }

    fn resolve(&mut self, _env: Env, generation: u64) -> napi::Result<f64> {
        Ok(generation as f64)
    }
}

/// Runs `work`, with errors as Node takes them. A panic becomes an error, so that the process can report it.
fn run<T>(work: impl FnOnce() -> Result<T, OpenError>) -> napi::Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| napi::Error::from_reason("the engine failed while reading the data directory"))?
        .map_err(|error| napi::Error::from_reason(error.to_string()))
}

/// A data directory that this process holds: no server starts on it until it is released.
#[napi]
pub struct NativeDirectoryLock {
    lock: Option<DirectoryLock>,
}

#[napi]
impl NativeDirectoryLock {
    /// Holds a data directory, which must exist.
    ///
    /// # Errors
    /// When another process holds it, or a restore into it was not finished.
    #[napi(constructor, catch_unwind)]
    pub fn new(data_dir: String) -> napi::Result<NativeDirectoryLock> {
        let lock =
            DirectoryLock::new(&data_dir).map_err(|error| napi::Error::from_reason(error.to_string()))?;
        Ok(NativeDirectoryLock { lock: Some(lock) })
    }

    /// Lets it go. A second call does nothing.
    #[napi(catch_unwind)]
    pub fn release(&mut self) {
        self.lock = None;
    }
}
