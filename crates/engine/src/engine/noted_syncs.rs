//! The names of syncs with parts in memory, noted on the disk (C20): a start finds there which parts are lost, so that the
//! last one cannot delete what they had. `docs/sync.md` has the design, `docs/formats.md` the file.

use super::staged_syncs::SyncKey;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::limits::MAX_STAGED_SYNCS;
use crate::storage::{ErrorKind, Storage, StorageError, make_dir, replace};
use crate::vectors::digest;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

const DIR: &str = "catalog";
const FILE: &str = "staged-syncs";
/// Begins the file: what it is, and the version of its format.
const TITLE: &[u8] = b"kithdb staged syncs 1\n";
/// Syncs with lost parts that are listed at most; the oldest are dropped from the list.
const MAX_LOST: usize = 16 * MAX_STAGED_SYNCS;

/// A digest of a [`SyncKey`].
type Note = u128;

/// The notes of one data directory.
pub(super) struct NotedSyncs {
    storage: Arc<dyn Storage>,
    /// Syncs whose parts are in memory, in the order in which the file has them: the same writes leave the same bytes.
    begun: BTreeSet<Note>,
    /// Syncs whose parts were, oldest first.
    lost: VecDeque<Note>,
    /// Whether the file could not be read: any parts may be lost.
    is_unknown: bool,
}

impl NotedSyncs {
    /// Those that an earlier run has left behind: all of them are lost.
    pub fn open(storage: Arc<dyn Storage>) -> NotedSyncs {
        let found = match storage.read(&format!("{DIR}/{FILE}")) {
            Ok(bytes) => decode(&bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => Some(VecDeque::new()),
            Err(_) => None,
        };
        NotedSyncs {
            storage,
            begun: BTreeSet::new(),
            is_unknown: found.is_none(),
            lost: found.unwrap_or_default(),
        }
    }

    /// Whether the notes could not be read, so that it is unknown which parts are lost.
    pub fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Notes durably that a sync has parts from now on.
    ///
    /// # Errors
    /// The errors of the disk; nothing is noted then.
    pub fn begin(&mut self, key: &SyncKey) -> Result<(), Error> {
        let note = note_of(key);
        if PlantedFault::StagedSyncsNotNoted.is_on() || !self.begun.insert(note) {
            return Ok(());
        }
        self.store().map_err(|error| {
            self.begun.remove(&note);
            match error.kind() {
                ErrorKind::Full => Error::StorageFull,
                _ => Error::Internal(error.public()),
            }
        })
    }

    /// Takes the note of a sync away. Where the disk fails it is found at the next start, which only refuses a part.
    pub fn end(&mut self, key: &SyncKey) {
        if self.begun.remove(&note_of(key)) {
            let _ = self.store();
        }
    }

    /// The parts of a sync are in memory no more, but it has not ended.
    pub fn lose(&mut self, key: &SyncKey) {
        let note = note_of(key);
        if self.begun.remove(&note) {
            self.lost.push_back(note);
            if self.lost.len() > MAX_LOST {
                self.lost.pop_front();
            }
        }
    }

    /// Writes the file again, which could not be read: what was lost then is so no more.
    pub fn renew(&mut self) {
        let _ = self.store();
    }

    /// Whether parts of a sync are lost. The note is removed then: the caller reports it.
    pub fn take_lost(&mut self, key: &SyncKey) -> bool {
        let note = note_of(key);
        let before = self.lost.len();
        self.lost.retain(|&lost| lost != note);
        let was_lost = self.lost.len() < before;
        if was_lost {
            let _ = self.store();
        }
        was_lost
    }

    fn store(&mut self) -> Result<(), StorageError> {
        make_dir(&*self.storage, DIR)?;
        replace(&*self.storage, DIR, FILE, &encode(self.lost.iter().chain(&self.begun)))?;
        Ok(())
    }
}

fn encode<'n>(notes: impl Iterator<Item = &'n Note>) -> Vec<u8> {
    let mut bytes = TITLE.to_vec();
    notes.for_each(|note| bytes.extend(note.to_le_bytes()));
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

/// None for what is no such file: damaged, or what a restore of a backup has put there, since the backup has none.
fn decode(bytes: &[u8]) -> Option<VecDeque<Note>> {
    let (rest, checksum) = bytes.split_last_chunk()?;
    let notes = rest.strip_prefix(TITLE)?;
    let (notes, []) = notes.as_chunks() else { return None };
    let is_sound = crc32c::crc32c(rest) == u32::from_le_bytes(*checksum);
    is_sound.then(|| notes.iter().map(|note| Note::from_le_bytes(*note)).collect())
}

/// The note of a sync. Every version must compute the same one: notes outlive the process.
fn note_of(key: &SyncKey) -> Note {
    let names = [key.caller.as_bytes(), key.sync_id.as_bytes()];
    let words = names.iter().flat_map(|name| {
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        std::iter::once(name.len() as u64).chain(name.chunks(8).map(word))
    });
    let words: Vec<u64> = std::iter::once(key.collection).chain(words).collect();
    digest(&words, [0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::SimDisk;

    fn key(caller: &str, sync_id: &str) -> SyncKey {
        SyncKey { caller: caller.into(), collection: 3, sync_id: sync_id.into() }
    }

    fn reopened(disk: &SimDisk) -> NotedSyncs {
        NotedSyncs::open(Arc::new(disk.clone()))
    }

    #[test]
    fn what_had_begun_before_a_start_is_lost_and_what_had_ended_is_not_c20() {
        let disk = SimDisk::new();
        let mut noted = reopened(&disk);
        assert!(!noted.is_unknown());
        let [one, other, ended] = [key("token 1", "s"), key("token 1s", ""), key("token 1", "t")];
        [&one, &other, &ended].into_iter().for_each(|key| noted.begin(key).expect("the disk works"));
        noted.end(&ended);
        noted.lose(&other);
        assert!(!noted.take_lost(&one), "it goes on");
        let mut noted = reopened(&disk);
        assert!(noted.take_lost(&one) && noted.take_lost(&other) && !noted.take_lost(&ended));
        assert!(!noted.take_lost(&one), "it was said once");
        assert!(!reopened(&disk).take_lost(&other), "after a start too");
    }

    #[test]
    fn notes_that_cannot_be_read_are_unknown_c20() {
        let disk = SimDisk::new();
        reopened(&disk).begin(&key("", "s")).expect("the disk works");
        let path = format!("{DIR}/{FILE}");
        let sound = disk.read(&path).expect("it is there");
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 4;
            replace(&disk, DIR, FILE, &damaged).expect("the disk works");
            assert!(reopened(&disk).is_unknown(), "byte {at}");
        }
        for len in 0..sound.len() {
            replace(&disk, DIR, FILE, &sound[..len]).expect("the disk works");
            assert!(reopened(&disk).is_unknown(), "{len} bytes");
        }
        replace(&disk, DIR, FILE, b"restored\n").expect("the disk works");
        let mut restored = reopened(&disk);
        assert!(restored.is_unknown());
        restored.renew();
        assert!(!reopened(&disk).is_unknown(), "nothing is in doubt any more");
    }
}
