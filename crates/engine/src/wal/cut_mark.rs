//! How far the log was cut, so that segments which are missing for another reason are noticed.
//!
//! The mark is written and synced before the first segment it covers is deleted.

use crate::storage::{ErrorKind, Storage, StorageError};

use super::LogError;
use super::format::is_sequence;
use super::segment::DIR;

const PATH: &str = "log/cut";
const UNFINISHED: &str = "log/cut.tmp";
const MAGIC: [u8; 8] = *b"KITHCUT\0";
const VERSION: u32 = 1;
const LEN: usize = 24;

/// What the mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CutMark {
    /// Every sequence below this one was deliberately deleted, or is about to be; 1 before the first cut.
    Below(u64),
    /// The file cannot be read: what is missing at the start cannot be told from what was cut.
    Damaged,
}

pub(super) fn load(storage: &dyn Storage) -> Result<CutMark, LogError> {
    let bytes = match storage.read(PATH) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(CutMark::Below(1)),
        Err(e) => return Err(LogError::from_storage(e)),
    };
    if let Some(version) = other_version(&bytes) {
        return Err(LogError::Unsupported { file: PATH.to_owned(), version });
    }
    let mut below = [0; 8];
    match bytes.get(12..20) {
        Some(field) => below.copy_from_slice(field),
        None => return Ok(CutMark::Damaged),
    }
    let below = u64::from_le_bytes(below);
    Ok(if is_sequence(below) && bytes == encode(below) { CutMark::Below(below) } else { CutMark::Damaged })
}

/// The version of an intact mark that this code does not read: whatever is in it, its checksum is at the end.
fn other_version(bytes: &[u8]) -> Option<u32> {
    let (content, checksum) = bytes.split_last_chunk()?;
    let version = u32::from_le_bytes(*content.strip_prefix(&MAGIC)?.first_chunk()?);
    (version != VERSION && crc32c::crc32c(content) == u32::from_le_bytes(*checksum)).then_some(version)
}

/// Makes the mark durable.
pub(super) fn store(storage: &dyn Storage, below: u64) -> Result<(), StorageError> {
    match storage.remove(UNFINISHED) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = storage.create(UNFINISHED)?;
    file.append(&encode(below))?;
    file.sync()?;
    drop(file);
    storage.rename(UNFINISHED, PATH)?;
    storage.sync_dir(DIR)
}

fn encode(below: u64) -> [u8; LEN] {
    let mut out = [0; LEN];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..20].copy_from_slice(&below.to_le_bytes());
    let checksum = crc32c::crc32c(&out[..20]);
    out[20..].copy_from_slice(&checksum.to_le_bytes());
    out
}
