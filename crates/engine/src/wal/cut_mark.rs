//! How far the log was cut, so that segments which are missing for another reason are noticed.
//!
//! The mark is in two files in two folders, because nothing else distinguishes a segment that was cut from a lost one.
//! Both are durable before the first segment that they cover is deleted, the copy first. After a crash or a failure
//! between the two writes the higher mark is right: the records between the marks still exist, and checkpoints have
//! them.

use std::fmt;

use crate::storage::header::{Sealed, seal, unseal};
use crate::storage::{ErrorKind, Storage, StorageError, make_dir, replace};
use crate::types::Lsn;

use super::LogError;
use super::format::is_lsn;
use super::segment::{self, DIR};

const NAME: &str = "cut";
/// Path of the mark.
pub(super) const PATH: &str = "log/cut";
/// Folder of the copy: that of the catalog, since a folder can be lost too.
const COPY_DIR: &str = "catalog";
/// Path of the copy.
pub(super) const COPY_PATH: &str = "catalog/cut";

/// Paths of the mark and of its copy.
pub const MARK_PATHS: [&str; 2] = [PATH, COPY_PATH];

const MAGIC: &[u8; 8] = b"KITHCUT\0";
const VERSION: u32 = 1;

/// One of the two files that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkFault {
    /// Its path in the data directory.
    pub path: &'static str,
    /// The rest of a sentence that begins with its name.
    pub what: String,
    /// Whether the other one is sound, so that nothing is lost.
    pub has_other: bool,
}

impl MarkFault {
    /// What there is to say where both are gone, or are not those that were written last.
    pub(super) fn lost() -> MarkFault {
        MarkFault {
            path: PATH,
            what: "is missing or an older one, and so is its copy".to_string(),
            has_other: false,
        }
    }

    /// What there is to say where neither can be read.
    pub(super) fn unreadable(error: &LogError) -> MarkFault {
        MarkFault { path: PATH, what: format!("cannot be read: {}", error.public()), has_other: false }
    }
}

/// The content of the two files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CutMark {
    /// Every LSN below this one was deliberately deleted, or is about to be; 1 before the first cut. `None` where
    /// neither file says so: then missing segments at the start cannot be distinguished from cut ones.
    pub(super) below: Option<Lsn>,
    /// A file that cannot be used.
    pub(super) fault: Option<MarkFault>,
    /// The files differ, or one is missing: both are to be written again.
    pub(super) is_stale: bool,
}

/// Why one of the files cannot be used.
#[derive(Clone, Debug)]
enum Unusable {
    Damaged,
    OtherFormat(u32),
    Storage(StorageError),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Damaged => f.write_str("is damaged"),
            Unusable::OtherFormat(version) => write!(f, "has format version {version}"),
            Unusable::Storage(error) => write!(f, "cannot be read: {}", error.public()),
        }
    }
}

/// Reads both files.
///
/// # Errors
/// [`LogError::Unsupported`] for a later format, and the disk's where it gives neither file.
pub(super) fn load(storage: &dyn Storage) -> Result<CutMark, LogError> {
    let (main, copy) = (read(storage, PATH), read(storage, COPY_PATH));
    for (path, read, other) in [(PATH, &main, None), (COPY_PATH, &copy, Some(&main))] {
        // A later release that ended between the two had begun with the copy.
        if let Err(Unusable::OtherFormat(version)) = read
            && !matches!(other, Some(Ok(Some(_))))
        {
            return Err(LogError::Unsupported { file: path.to_owned(), version: *version });
        }
    }
    let fault = |path, why: &Unusable, has_other| MarkFault { path, what: why.to_string(), has_other };
    let mark = |below, fault, is_stale| Ok(CutMark { below: Some(below), fault, is_stale });
    match (main, copy) {
        (Ok(Some(main)), Ok(Some(copy))) => mark(main.max(copy), None, main != copy),
        // A directory of a release that had no copy, or its backup.
        (Ok(Some(main)), Ok(None)) => mark(main, None, true),
        (Ok(None), Ok(Some(copy))) => {
            let what = "is missing".to_string();
            let fault = MarkFault { path: PATH, what, has_other: true };
            mark(copy, has_lost_segments(storage)?.then_some(fault), true)
        }
        (Ok(None), Ok(None)) => mark(Lsn::FIRST, None, false),
        (Ok(Some(main)), Err(why)) => mark(main, Some(fault(COPY_PATH, &why, true)), true),
        (Err(why), Ok(Some(copy))) => mark(copy, Some(fault(PATH, &why, true)), true),
        // The device may give it another time: nothing is concluded from that.
        (Err(Unusable::Storage(error)), _) | (_, Err(Unusable::Storage(error))) => {
            Err(LogError::from_storage(error))
        }
        (Err(why), _) => Ok(CutMark { below: None, fault: Some(fault(PATH, &why, false)), is_stale: false }),
        (_, Err(why)) => {
            Ok(CutMark { below: None, fault: Some(fault(COPY_PATH, &why, false)), is_stale: false })
        }
    }
}

/// Whether the oldest segments are gone, before which both files were durable. Where they are not, a crash at the first
/// cut may have left the copy alone.
fn has_lost_segments(storage: &dyn Storage) -> Result<bool, LogError> {
    let firsts = segment::list(storage).map_err(LogError::from_storage)?;
    Ok(firsts.first().is_some_and(|first| *first > Lsn::FIRST))
}

/// Whether the log was ever cut, as far as anything says so.
///
/// # Errors
/// The error of the disk.
pub fn was_cut(storage: &dyn Storage) -> Result<bool, StorageError> {
    Ok(storage.exists(PATH)? || storage.exists(COPY_PATH)?)
}

/// What is wrong with the mark or its copy, if anything is.
///
/// # Errors
/// As for opening the log.
pub fn mark_fault(storage: &dyn Storage) -> Result<Option<MarkFault>, LogError> {
    load(storage).map(|mark| mark.fault)
}

/// Writes both files again where one of them is not what was written.
///
/// # Errors
/// As for opening the log.
pub fn repair_mark(storage: &dyn Storage) -> Result<(), LogError> {
    let mark = load(storage)?;
    mark.below.map_or(Ok(()), |below| store(storage, below)).map_err(LogError::from_storage)
}

/// Makes the mark durable in both files.
pub(super) fn store(storage: &dyn Storage, below: Lsn) -> Result<(), StorageError> {
    let bytes = seal(MAGIC, VERSION, &below.get().to_le_bytes());
    if !storage.exists(COPY_DIR)? {
        make_dir(storage, COPY_DIR)?;
    }
    [COPY_DIR, DIR].into_iter().try_for_each(|dir| replace(storage, dir, NAME, &bytes))
}

/// One of the files; `None` when it is not there.
fn read(storage: &dyn Storage, path: &str) -> Result<Option<Lsn>, Unusable> {
    let bytes = match storage.read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(Unusable::Storage)?,
    };
    let Sealed { version, fields } = unseal(&bytes, MAGIC).ok_or(Unusable::Damaged)?;
    if version != VERSION {
        return Err(Unusable::OtherFormat(version));
    }
    let below = fields.try_into().map(u64::from_le_bytes).map_err(|_| Unusable::Damaged)?;
    if is_lsn(below) { Ok(Some(Lsn::new(below))) } else { Err(Unusable::Damaged) }
}
