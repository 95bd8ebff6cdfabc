//! Reads the log without opening it: what a start would find, and which files a copy of it needs.

use crate::storage::Storage;
use crate::types::Lsn;

use super::recovery::{BehindDamage, recover};
use super::report::{LogReport, Replayed};
use super::{LogError, cut_mark, segment};

/// Shows every record that a start would replay to `visit`, and changes nothing on disk. `applied` is the highest
/// LSN that any checkpoint has applied.
///
/// # Errors
/// As [`Log::open`](super::Log::open), but for those of writing.
pub fn inspect(
    storage: &dyn Storage,
    applied: Lsn,
    visit: &mut dyn FnMut(Replayed<'_>),
) -> Result<LogReport, LogError> {
    recover(storage, Lsn::NONE, applied, BehindDamage::Listed, visit).map(|found| found.report)
}

/// Shows every record that can be read to `visit`, those behind damage included, and changes nothing on disk. Returns
/// the first LSN that no record has, or can have had.
///
/// # Errors
/// As [`inspect`].
pub fn salvage(storage: &dyn Storage, visit: &mut dyn FnMut(Replayed<'_>)) -> Result<Lsn, LogError> {
    recover(storage, Lsn::NONE, Lsn::NONE, BehindDamage::Shown, visit).map(|found| found.next)
}

/// Removes all segments: their records are in checkpoints, and [`start_behind`] says so.
///
/// # Errors
/// The error of the disk.
pub fn remove_segments(storage: &dyn Storage) -> Result<(), LogError> {
    let remove = || {
        for first in segment::list(storage)? {
            storage.remove(&segment::path(first))?;
        }
        storage.sync_dir(segment::DIR)
    };
    remove().map_err(LogError::from_storage)
}

/// Path of the segment whose first record has that LSN.
pub fn segment_path(first: Lsn) -> String {
    segment::path(first)
}

/// Path of the segment that holds an LSN, as far as the names say.
///
/// # Errors
/// The error of the disk.
pub fn path_holding(storage: &dyn Storage, lsn: Lsn) -> Result<String, LogError> {
    let firsts = segment::list(storage).map_err(LogError::from_storage)?;
    let first = firsts.into_iter().take_while(|first| *first <= lsn).last();
    Ok(first.map_or_else(|| segment::DIR.to_string(), segment::path))
}

/// Declares that nothing up to an LSN is needed any more: a log that is opened afterwards continues after it.
///
/// # Errors
/// The error of the disk.
pub fn start_behind(storage: &dyn Storage, lsn: Lsn) -> Result<(), LogError> {
    let prepare = || {
        storage.create_dir_all(segment::DIR)?;
        storage.sync_dir("")?;
        cut_mark::store(storage, lsn.next())
    };
    prepare().map_err(LogError::from_storage)
}
