//! The log without opening it: what a start would find, and which files a copy of it needs.

use crate::storage::Storage;

use super::recovery::recover;
use super::report::{LogReport, Replayed};
use super::{LogError, cut_mark, segment};

/// Shows every record that a start would replay to `visit`, and changes nothing on disk.
///
/// # Errors
/// As [`Log::open`](super::Log::open), but for those of writing.
pub fn inspect(storage: &dyn Storage, visit: &mut dyn FnMut(Replayed<'_>)) -> Result<LogReport, LogError> {
    recover(storage, 0, visit).map(|found| found.report)
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

/// Declares that nothing up to a sequence is needed any more, in a directory without segments: a log that is opened
/// there afterwards goes on behind it.
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
