//! Verifies the files of a directory by their checksums without opening it. It needs little memory and writes nothing.

use super::advice::part_name;
use super::check::folders;
use crate::catalog::{self, CatalogFault, OpenError, Source, StartPreview};
use crate::change::missing_before;
use crate::collection::{self, Cause, Inspection, directory, inspect};
use crate::storage::{ReadOnly, Storage};
use crate::types::{Lsn, OpNumber};
use crate::wal::{self, DamageKind, LogError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A file that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsoundFile {
    /// Relative to the data directory.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
    /// Whether it can be made again from the others.
    pub is_derived: bool,
    /// Whether another release wrote it, so that this one cannot verify it.
    pub is_of_other_release: bool,
}

/// How the log of a directory ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// All of it was synced: a server synced it for a backup.
    Synced,
    /// Possibly torn by a crash: an unreadable end counts as damage only if something proves that it was durable.
    PerhapsTorn,
}

/// Compares the catalog, the mark of how far the log was cut, every record of the log, manifests, data and graph files
/// with their checksums, and the log with what the checkpoints lack. `row_chunk_bytes` is that of the server.
///
/// # Errors
/// The error of the disk when a folder cannot be listed.
pub fn verify_files(
    storage: Arc<dyn Storage>,
    row_chunk_bytes: usize,
    log_end: LogEnd,
) -> Result<Vec<UnsoundFile>, OpenError> {
    let storage: Arc<dyn Storage> = Arc::new(ReadOnly::new(storage));
    let mut found = Vec::new();
    let mut add = |file: String, what: String, is_derived, is_of_other_release| {
        found.push(UnsoundFile { file, what, is_derived, is_of_other_release });
    };
    if let Some(CatalogFault { path, what, has_other, is_of_other_release }) =
        catalog::catalog_fault(&*storage)
    {
        add(path.to_string(), what, has_other, is_of_other_release);
    }
    match wal::mark_fault(&*storage) {
        Ok(None) => {}
        Ok(Some(fault)) => add(fault.path.to_string(), fault.what, fault.has_other, false),
        // The log cannot be read either, and is reported below.
        Err(LogError::Unsupported { .. }) => {}
        Err(error) => add("log/cut".to_string(), error.public(), false, false),
    }
    let log = log_faults(&storage, log_end)?;
    let is_log_sound = log.is_empty();
    for (file, Faults { first, more, is_of_other_release }) in log {
        let more = if more == 0 { String::new() } else { format!(", and {more} more") };
        add(file, format!("{first}{more}"), false, is_of_other_release);
    }
    let mut inspections = BTreeMap::new();
    for id in folders(&*storage)? {
        let inspection = inspect(&*storage, id, row_chunk_bytes, &mut |_| true);
        for fault in &inspection.faults {
            let what = format!("{}: {}", part_name(&fault.part), fault.what);
            let is_of_other_release = fault.cause == Cause::OtherFormat;
            add(fault.path.clone(), what, fault.part.is_derived(), is_of_other_release);
        }
        inspections.insert(id, inspection);
    }
    // Records that damage of the log hides were reported with that damage.
    if is_log_sound {
        for (file, what) in lost_checkpoints(&*storage, &inspections) {
            add(file, what, false, false);
        }
    }
    Ok(found)
}

/// What is wrong with a segment.
struct Faults {
    first: String,
    more: usize,
    is_of_other_release: bool,
}

/// The damage of the log that a start would find, by file.
fn log_faults(storage: &Arc<dyn Storage>, end: LogEnd) -> Result<BTreeMap<String, Faults>, OpenError> {
    let mut faults: BTreeMap<String, Faults> = BTreeMap::new();
    let mut add = |file: String, what: String| {
        let more = |faults: &mut Faults| faults.more += 1;
        faults.entry(file).and_modify(more).or_insert(Faults {
            first: what,
            more: 0,
            is_of_other_release: false,
        });
    };
    let StartPreview { report, damaged, fault, .. } = match catalog::preview_log(storage) {
        Ok(preview) => preview,
        // The catalog or the mark, which were reported already.
        Err(OpenError::CatalogLost(_) | OpenError::Catalog(_)) => return Ok(faults),
        Err(OpenError::Log(LogError::Unsupported { file, version })) => {
            let first = LogError::Unsupported { file: file.clone(), version }.to_string();
            return Ok(BTreeMap::from([(file, Faults { first, more: 0, is_of_other_release: true })]));
        }
        Err(OpenError::Log(error)) => {
            add("log".to_string(), error.public());
            return Ok(faults);
        }
        Err(error) => return Err(error),
    };
    for record in damaged {
        let (file, what) = record.describe(&**storage);
        add(file, what);
    }
    // The mark has been verified separately.
    for damage in report.damages.iter().filter(|damage| damage.kind != DamageKind::CutMark) {
        add(damage.file(), damage.to_string());
    }
    if report.torn_bytes > 0 && end == LogEnd::Synced {
        let file = wal::path_holding(&**storage, Lsn::MAX).map_err(OpenError::Log)?;
        add(
            file,
            format!("{} bytes at the end, which were durable, hold no sound record", report.torn_bytes),
        );
    }
    if let Some(fault) = fault.filter(|_| faults.is_empty()) {
        faults.insert("log".to_string(), Faults { first: fault, more: 0, is_of_other_release: false });
    }
    Ok(faults)
}

/// Collections whose last checkpoint is missing: the log has only later operations, or no longer has the
/// creation, or data files are there without a manifest.
fn lost_checkpoints(storage: &dyn Storage, inspections: &BTreeMap<u64, Inspection>) -> Vec<(String, String)> {
    let Ok(catalog) = catalog::salvage_catalog(storage, Source::File, false) else { return Vec::new() };
    let mut ops: BTreeMap<u64, OpNumber> = BTreeMap::new();
    let mut without_manifest: Vec<u64> = Vec::new();
    for (id, ..) in catalog.entries() {
        let inspection = inspections.get(id);
        // Its fault was reported already.
        if inspection.is_some_and(|inspection| !inspection.faults.is_empty()) {
            continue;
        }
        ops.insert(*id, inspection.map_or(OpNumber::NONE, |inspection| inspection.op));
        // The manifest is one of the files.
        if inspection.is_none_or(|inspection| inspection.files == 0) {
            without_manifest.push(*id);
        }
    }
    let mut lost: BTreeMap<u64, String> = BTreeMap::new();
    let visit = &mut |item: wal::Replayed<'_>| {
        if let wal::Replayed::Record { collection, kind: collection::CHANGES, body, .. } = item
            && let Some(op) = ops.get_mut(&collection)
            && let Some((previous, next)) = collection::operations_of(body)
        {
            if next > *op && previous != *op {
                let state = *op;
                lost.entry(collection).or_insert_with(|| match missing_before(state, previous, next) {
                    Some(missing) => {
                        format!("the checkpoint with operation {missing} is missing, which the log no longer has")
                    }
                    None => format!(
                        "the record of operation {next} in the log comes behind operation {previous}, and operation {state} is there"
                    ),
                });
            }
            *op = next.max(*op);
        }
    };
    // Its damage was reported already.
    let _ = wal::salvage(storage, visit);
    // As at a start: the log holds a creation until there is a manifest, and all operations until that has them.
    for id in without_manifest.into_iter().filter(|id| ops.get(id) == Some(&OpNumber::NONE)) {
        let has_data = inspections
            .get(&id)
            .is_some_and(|inspection| inspection.orphans.iter().any(|path| path.ends_with(".data")));
        if has_data || !catalog.is_created_in_log(id) {
            lost.entry(id).or_insert_with(|| "the file MANIFEST is missing".to_string());
        }
    }
    lost.into_iter().map(|(id, what)| (directory(id), what)).collect()
}
