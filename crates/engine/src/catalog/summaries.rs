//! The file with the summaries of collections: what lets a start leave them asleep (C24).
//!
//! It is derived and never relied on. Each summary names the manifest that it is of, so that one that is out of date is of no
//! use and does no harm; and it is written without a sync.

use super::Catalog;
use super::residence::Presence;
use super::sleeping::Summary;
use crate::change::Input;
use crate::storage::header::{read_body, with_body_header};
use crate::storage::{Storage, StorageError};
use std::collections::HashMap;

const MAGIC: &[u8; 8] = b"KITHSUMM";
const VERSION: u32 = 1;
/// Path of the file in the data directory.
const PATH: &str = "catalog/SUMMARIES";
/// What it is written as, before it gets its name.
const NEXT: &str = "catalog/SUMMARIES.new";

/// The summaries by the number of their collection; none where the file is missing, damaged or of another release.
pub(super) fn load(storage: &dyn Storage) -> HashMap<u64, Summary> {
    let Ok(bytes) = storage.read(PATH) else { return HashMap::new() };
    let decode = |body: &[u8]| decode(body).map(|summaries| (VERSION, summaries));
    read_body(&bytes, MAGIC, VERSION..=VERSION, decode).unwrap_or_default()
}

fn decode(body: &[u8]) -> Option<HashMap<u64, Summary>> {
    let mut input = Input(body);
    let mut summaries = HashMap::new();
    while !input.0.is_empty() {
        let id = u64::from_le_bytes(input.array().ok()?);
        summaries.insert(id, Summary::decode(&mut input).ok()?);
    }
    Some(summaries)
}

impl Catalog {
    /// Writes the summaries of all collections whose checkpoints have everything. It is no loss where that fails.
    ///
    /// # Errors
    /// The disk's.
    pub fn write_summaries(&self) -> Result<(), StorageError> {
        let mut body = Vec::new();
        for entry in self.entries() {
            let summary = match entry.presence() {
                Presence::Awake(collection)
                    if collection.is_settled() && collection.pinned_lsn().is_none() =>
                {
                    collection.measure_disk();
                    Summary::of(&collection)
                }
                Presence::Asleep(sleeping) => Some(sleeping.summary.clone()),
                Presence::Awake(_) | Presence::Nothing => None,
            };
            if let Some(summary) = summary {
                body.extend_from_slice(&entry.id.to_le_bytes());
                summary.encode(&mut body);
            }
        }
        let storage = &*self.shared.storage;
        storage.create_dir_all("catalog")?;
        // A file that is there is not written over: the next start may read it.
        drop(storage.remove(NEXT));
        storage.create(NEXT)?.append(&with_body_header(MAGIC, VERSION, &body))?;
        storage.rename(NEXT, PATH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Lsn, OpNumber};

    #[test]
    fn summaries_are_read_back_and_no_byte_of_them_may_be_another() {
        let summary = |at: u64| Summary {
            op: OpNumber::new(at),
            lsn: Lsn::new(at + 1),
            next_file: 3,
            points: at * 10,
            vectors: at * 20,
            indexed_vectors: at,
            disk_bytes: 1 << 40,
            resident_bytes: 77,
            next_expiry: (at == 2).then_some(-5),
            index_points: vec![at; at as usize],
        };
        let mut body = Vec::new();
        for at in 0..4_u64 {
            body.extend_from_slice(&(at + 100).to_le_bytes());
            summary(at).encode(&mut body);
        }
        let found = decode(&body).expect("what was written");
        assert_eq!(found.len(), 4);
        (0..4).for_each(|at| assert_eq!(found[&(at + 100)], summary(at)));
        let disk = crate::storage::MemoryDisk::default();
        disk.create_dir_all("catalog").unwrap();
        let whole = with_body_header(MAGIC, VERSION, &body);
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            drop(disk.remove(PATH));
            disk.create(PATH).unwrap().append(&damaged).unwrap();
            assert!(load(&disk).is_empty(), "byte {at}");
        }
    }
}
