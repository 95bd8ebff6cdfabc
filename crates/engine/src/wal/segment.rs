//! Segment files: their names and their creation.

use super::format::is_lsn;
use crate::faults::PlantedFault;
use crate::storage::{ErrorKind, Storage, StorageError, StorageFile};
use crate::types::Lsn;

/// Directory of the log in the data directory.
pub(super) const DIR: &str = "log";
/// Name under which a segment is written before it counts.
const UNFINISHED: &str = "log/unfinished.tmp";

/// A segment that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// LSN of its first record.
    pub(super) first: Lsn,
    pub(super) bytes: u64,
}

pub(super) fn path(first: Lsn) -> String {
    format!("{DIR}/{:016x}.log", first.get())
}

/// First LSN of the segment at a path.
pub(super) fn first_of(path: &str) -> Option<Lsn> {
    parse(path.strip_prefix(DIR)?.strip_prefix('/')?)
}

/// First LSNs of the segments, ascending. Other files are ignored.
pub(super) fn list(storage: &dyn Storage) -> Result<Vec<Lsn>, StorageError> {
    let mut firsts: Vec<Lsn> = storage.list(DIR)?.iter().filter_map(|name| parse(name)).collect();
    firsts.sort_unstable();
    Ok(firsts)
}

fn parse(name: &str) -> Option<Lsn> {
    let digits = name.strip_suffix(".log")?;
    let canonical = digits.len() == 16 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let first = if canonical { u64::from_str_radix(digits, 16).ok() } else { None };
    first.filter(|first| is_lsn(*first)).map(Lsn::new)
}

/// What exists after [`create`] has failed.
pub(super) enum CreateError {
    /// The segment does not exist.
    Absent(StorageError),
    /// The name may or may not be durable.
    Unknown(StorageError),
}

/// Writes a segment whole, syncs it, and only then gives it its name: a named segment is never torn, and everything
/// before it was durable when it appeared. A segment of the same name is replaced.
pub(super) fn create(
    storage: &dyn Storage,
    first: Lsn,
    content: &[u8],
) -> Result<Box<dyn StorageFile>, CreateError> {
    match storage.remove(UNFINISHED) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(CreateError::Absent(e)),
        _ => {}
    }
    let write = || -> Result<(), StorageError> {
        let mut file = storage.create(UNFINISHED)?;
        file.append(content)?;
        PlantedFault::SegmentNotSynced.skips(|| file.sync())
    };
    if let Err(error) = write() {
        // Best effort, to give the space back; the next creation removes it otherwise.
        let _ = storage.remove(UNFINISHED);
        return Err(CreateError::Absent(error));
    }
    let path = path(first);
    let publish = || {
        storage.rename(UNFINISHED, &path)?;
        PlantedFault::SegmentNameNotSynced.skips(|| storage.sync_dir(DIR))?;
        storage.open_append(&path)
    };
    publish().map_err(CreateError::Unknown)
}
