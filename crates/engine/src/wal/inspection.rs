//! The log without opening it: what a start would find, and which files a copy of it needs.

use crate::storage::Storage;

use super::recovery::{Shadowed, recover};
use super::report::{LogReport, Replayed};
use super::{LogError, cut_mark, segment};

/// Shows every record that a start would replay to `visit`, and changes nothing on disk. `applied` is the highest
/// sequence that any checkpoint has applied.
///
/// # Errors
/// As [`Log::open`](super::Log::open), but for those of writing.
pub fn inspect(
    storage: &dyn Storage,
    applied: u64,
    visit: &mut dyn FnMut(Replayed<'_>),
) -> Result<LogReport, LogError> {
    recover(storage, 0, applied, Shadowed::Listed, visit).map(|found| found.report)
}

/// Shows every record that can be read to `visit`, those behind damage included, and changes nothing on disk. Answers
/// the first sequence that no record has, or can have had.
///
/// # Errors
/// As [`inspect`].
pub fn salvage(storage: &dyn Storage, visit: &mut dyn FnMut(Replayed<'_>)) -> Result<u64, LogError> {
    recover(storage, 0, 0, Shadowed::Shown, visit).map(|found| found.next)
}

/// Removes all segments: their records are in checkpoints, and [`start_behind`] says so.
///
/// # Errors
/// The disk's.
pub fn remove_segments(storage: &dyn Storage) -> Result<(), LogError> {
    let remove = || {
        for first in segment::list(storage)? {
            storage.remove(&segment::path(first))?;
        }
        storage.sync_dir(segment::DIR)
    };
    remove().map_err(LogError::from_storage)
}

/// Path of the segment whose first record has that sequence.
pub fn segment_path(first: u64) -> String {
    segment::path(first)
}

/// Path of the segment that a sequence stands in, as far as the names say.
///
/// # Errors
/// The disk's.
pub fn path_holding(storage: &dyn Storage, sequence: u64) -> Result<String, LogError> {
    let firsts = segment::list(storage).map_err(LogError::from_storage)?;
    let first = firsts.into_iter().take_while(|first| *first <= sequence).last();
    Ok(first.map_or_else(|| segment::DIR.to_string(), segment::path))
}

/// Declares that nothing up to a sequence is needed any more: a log that is opened afterwards goes on behind it.
///
/// # Errors
/// The disk's.
pub fn start_behind(storage: &dyn Storage, sequence: u64) -> Result<(), LogError> {
    let prepare = || {
        storage.create_dir_all(segment::DIR)?;
        storage.sync_dir("")?;
        cut_mark::store(storage, sequence + 1)
    };
    prepare().map_err(LogError::from_storage)
}
