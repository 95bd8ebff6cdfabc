//! The files of a directory against their checksums, without opening it: in little memory, and nothing is written.

use super::check::{folders, part_name};
use crate::catalog::{CatalogFault, OpenError, catalog_fault};
use crate::collection::{Cause, inspect};
use crate::storage::Storage;
use crate::wal::{self, LogError};

/// A file that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsoundFile {
    /// Relative to the data directory.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
    /// Whether it can be made again from the others.
    pub is_derived: bool,
    /// Whether another release wrote it: nothing is wrong with it, as far as this one can tell.
    pub is_of_other_release: bool,
}

/// Compares the catalog, the mark of how far the log was cut, all segments of the log but the last, manifests, data and
/// graph files with their checksums.
/// `row_chunk_bytes` is that of the server.
///
/// # Errors
/// The disk's, when a folder cannot be listed.
pub fn verify_files(storage: &dyn Storage, row_chunk_bytes: usize) -> Result<Vec<UnsoundFile>, OpenError> {
    let mut found = Vec::new();
    let mut add = |file: String, what: String, is_derived, is_of_other_release| {
        found.push(UnsoundFile { file, what, is_derived, is_of_other_release });
    };
    if let Some(CatalogFault { path, what, has_other, is_of_other_release }) = catalog_fault(storage) {
        add(path.to_string(), what, has_other, is_of_other_release);
    }
    match wal::mark_fault(storage) {
        Ok(None) => {}
        Ok(Some(fault)) => add(fault.path.to_string(), fault.what, fault.has_other, false),
        Err(LogError::Unsupported { file, version }) => {
            let what = LogError::Unsupported { file: file.clone(), version }.to_string();
            add(file, what, false, true);
        }
        Err(error) => add("log/cut".to_string(), error.public(), false, false),
    }
    let segments: Vec<String> = storage.list("log")?.iter().map(|name| format!("log/{name}")).collect();
    for fault in wal::verify_closed(storage, &segments, &mut |_| true).faults {
        add(fault.path, fault.what, false, fault.is_of_other_release);
    }
    for id in folders(storage)? {
        for fault in inspect(storage, id, row_chunk_bytes, &mut |_| true).faults {
            let what = format!("{}: {}", part_name(&fault.part), fault.what);
            add(fault.path, what, fault.part.is_derived(), fault.cause == Cause::OtherFormat);
        }
    }
    Ok(found)
}
