//! Collections that come with their files: clones of others (C26), and those of snapshots (C12).
//!
//! Their folders are filled under new numbers, which no other collection gets, and their files are verified by opening
//! them. Then one record of the catalog makes them collections, and ends those that they replace.

use super::entry::{Entry, EntryState};
use super::residence::Residence;
use super::{ADOPT, Catalog, file};
use crate::checkpoint::{Manifest, NotAdopted, UNFINISHED, adopt_folder, discard_unfinished};
use crate::collection::{Cause, CheckpointError, Collection, Opening, OpeningOptions, Unopened, directory};
use crate::config::CollectionConfig;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::recent_operations::CallIdentity;
use crate::storage::{ErrorKind, StorageError};
use crate::types::Lsn;
use imbl::OrdMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a point takes of the memory beside its payload, its vectors and the graphs, roughly.
const POINT_BYTES: u64 = 96;

/// A collection that is to come from a folder of the data directory.
#[derive(Debug)]
pub struct AdoptedFolder {
    /// Its name. A collection that has it is replaced.
    pub name: String,
    /// The folder, with a manifest and the files that it names. They are linked, and stay where they are.
    pub folder: String,
}

/// A collection whose files are ready and that the catalog does not have.
struct Candidate {
    id: u64,
    name: String,
    config: Arc<CollectionConfig>,
    collection: Arc<Collection>,
    /// How long its opening took.
    opened: Duration,
}

impl Catalog {
    /// Makes a collection of the same state under another name; durable when it returns, and not there at all after an
    /// error or a crash. It has every write that was acknowledged before the call. A call that was applied before
    /// changes nothing.
    ///
    /// # Errors
    /// As [`Catalog::create`]; `CollectionFault` when the source cannot be read.
    pub fn clone_collection(
        self: &Arc<Self>,
        source: &str,
        name: &str,
        identity: Option<CallIdentity>,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        if self.was_applied(&self.recorded.lock(), identity)? {
            return Ok(());
        }
        let source = self.enter(source)?.until(deadline);
        let of = source.collection()?;
        self.refuse_taken(name)?;
        let link = |number| of.link_copy(number).map_err(|why| refusal(&why));
        let candidate = self.prepare(name, link, &|why| match why.cause {
            Cause::Exhausted => Error::MemoryLimit,
            Cause::Damaged | Cause::OtherFormat => Error::CollectionFault(why.what),
            Cause::Unreadable | Cause::Denied | Cause::Folder => Error::Internal(why.what),
        })?;
        let candidates = [candidate];
        let outcome = deadline.check().map_err(NotRecorded::from);
        let outcome = outcome.and_then(|()| self.commit(&candidates, Taken::IsRefused, identity));
        self.settle(&candidates, outcome)
    }

    /// Makes a checkpoint of a collection, and links its files into a folder that is there: the collection at one operation,
    /// with every write that was acknowledged before the call. The files do not change any more.
    ///
    /// # Errors
    /// `CollectionNotFound` and the like; `CollectionFault`, `StorageFull`, `Internal`.
    pub fn link_snapshot(self: &Arc<Self>, name: &str, into: &str, deadline: &Deadline) -> Result<(), Error> {
        let held = self.enter(name)?.until(deadline);
        held.collection()?.link_snapshot(into).map_err(|why| refusal(&why))
    }

    /// Makes collections of folders, each in the place of one that has its name: all of them at once, or none. Durable
    /// when it returns. A call that was applied before changes nothing.
    ///
    /// # Errors
    /// `BadRequest` when a folder does not hold what a server has written; otherwise as [`Catalog::create`].
    pub fn adopt(
        &self,
        folders: &[AdoptedFolder],
        identity: Option<CallIdentity>,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        if folders.is_empty() || self.was_applied(&self.recorded.lock(), identity)? {
            return Ok(());
        }
        let mut candidates = Vec::new();
        let mut failed = None;
        for AdoptedFolder { name, folder } in folders {
            let storage = &*self.shared.storage;
            let lsn = self.shared.log.durable_lsn();
            let link = |number| adopt_folder(storage, folder, number, lsn).map_err(unadopted);
            let prepared = deadline
                .check()
                .and_then(|()| self.prepare(name, link, &|why| unadopted(NotAdopted::Unusable(why))));
            match prepared {
                Ok(candidate) => candidates.push(candidate),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let outcome = match failed {
            Some(error) => Err(NotRecorded::Refused(error)),
            None => deadline
                .check()
                .map_err(NotRecorded::from)
                .and_then(|()| self.commit(&candidates, Taken::IsReplaced, identity)),
        };
        self.settle(&candidates, outcome)
    }

    /// Fills a folder under a new number, and opens it.
    fn prepare(
        &self,
        name: &str,
        link: impl FnOnce(u64) -> Result<(), Error>,
        unopened: &dyn Fn(Unopened) -> Error,
    ) -> Result<Candidate, Error> {
        let id = self.recorded.lock().take_id();
        let prepared = link(id).and_then(|()| {
            let storage = &*self.shared.storage;
            let manifest = Manifest::load(storage, id).map_err(|bad| unopened(bad.into()))?;
            let manifest = manifest.ok_or_else(|| Error::Internal("a copy has no manifest".into()))?;
            self.shared.admit_growth(manifest.memory_bytes(POINT_BYTES))?;
            let config = CollectionConfig::restore(&manifest.config)?;
            let config = Arc::new(config);
            // The other threads have requests to serve.
            let row_chunk_bytes = self.shared.thresholds.row_chunk_bytes;
            let options = OpeningOptions { threads: 1, row_chunk_bytes };
            let started = Instant::now();
            let opening = Opening::load(id, storage, &config, options).map_err(unopened)?;
            if let Some(what) = opening.contradictions().into_iter().next() {
                return Err(unopened(what.into()));
            }
            let collection = Arc::new(Collection::open(opening, Arc::clone(&self.shared), Lsn::NONE));
            let opened = started.elapsed();
            Ok(Candidate { id, name: name.to_string(), config, collection, opened })
        });
        if prepared.is_err() {
            // The next start removes what cannot be removed now.
            let _ = discard_unfinished(&*self.shared.storage, id);
        }
        prepared
    }

    /// Records the collections and puts them into the list.
    fn commit(
        &self,
        candidates: &[Candidate],
        taken: Taken,
        identity: Option<CallIdentity>,
    ) -> Result<(), NotRecorded> {
        // A backup that is being staged has either both the record and the folders, or neither.
        let _no_staging = self.cuts.read();
        let mut recorded = self.recorded.lock();
        if self.was_applied(&recorded, identity)? {
            return Err(NotRecorded::Before);
        }
        let replaced = self.replaced_by(candidates, taken)?;
        let entries: Vec<_> = candidates
            .iter()
            .zip(&replaced)
            .map(|(new, old)| {
                let entry = file::encode_entry(new.id, &new.name, &new.config);
                (entry, old.as_ref().map_or(0, |old| old.id))
            })
            .collect();
        let adopted = if PlantedFault::AdoptionHalved.is_on() { &entries[..1] } else { &entries[..] };
        self.append(&mut recorded, ADOPT, identity, &file::encode_adoption(adopted))
            .map_err(NotRecorded::Log)?;
        candidates.iter().for_each(|candidate| self.note_ids(&candidate.config));
        for (new, old) in candidates.iter().zip(&replaced) {
            old.iter().for_each(|old| self.move_aliases(old.id, new.id));
        }
        self.entries.rcu(|entries| {
            let mut entries = OrdMap::clone(entries);
            for Candidate { id, name, config, collection, opened } in candidates {
                let state = EntryState::Active(Residence::awake(Arc::clone(collection), Some(*opened)));
                let entry = Entry::new(*id, name.clone(), Arc::clone(config), state);
                entries.insert(name.clone(), Arc::new(entry));
            }
            entries
        });
        for old in replaced.into_iter().flatten() {
            old.start_deleting();
            // Before the recorded state is unlocked, as for a deletion.
            old.mark_durable();
            self.end_requests_of(&old);
        }
        drop(recorded);
        for Candidate { collection, .. } in candidates {
            self.shared.indexer.push(collection);
        }
        Ok(())
    }

    /// The collections that have the names.
    fn replaced_by(&self, candidates: &[Candidate], taken: Taken) -> Result<Vec<Option<Arc<Entry>>>, Error> {
        let mut replaced = Vec::new();
        for Candidate { name, .. } in candidates {
            let is_free = !self.entries.load().contains_key(name);
            if is_free || matches!(taken, Taken::IsRefused) {
                self.refuse_taken(name)?;
            }
            self.exists(name)?;
            replaced.push(self.entries.load().get(name).cloned());
        }
        let added = replaced.iter().filter(|old| old.is_none()).count();
        let limit = self.shared.limits.max_collections;
        if added > 0 && self.entries.load().len() + added > limit {
            return Err(Error::bad(format!("At most {limit} collections (max_collections)")));
        }
        Ok(replaced)
    }

    /// Removes the marks of what was recorded, or the folders of what was not.
    fn settle(&self, candidates: &[Candidate], outcome: Result<(), NotRecorded>) -> Result<(), Error> {
        let storage = &*self.shared.storage;
        let discard = || {
            for Candidate { id, .. } in candidates {
                let _ = discard_unfinished(storage, *id);
            }
        };
        match outcome {
            Ok(()) => {
                for Candidate { id, .. } in candidates {
                    // Otherwise the next checkpoint does it.
                    let _ = storage.remove(&format!("{}/{UNFINISHED}", directory(*id)));
                }
                Ok(())
            }
            Err(NotRecorded::Before) => {
                discard();
                Ok(())
            }
            Err(NotRecorded::Refused(error)) => {
                discard();
                Err(error)
            }
            // A record whose sync failed may be in the log all the same: then the next start needs the folders.
            Err(NotRecorded::Log(error)) => {
                let is_refused = matches!(error, Error::StorageFull | Error::Overloaded(_));
                if is_refused || PlantedFault::DoubtfulCopyRemoved.is_on() {
                    discard();
                }
                Err(error)
            }
        }
    }
}

/// What becomes of a collection that has the name already.
#[derive(Clone, Copy)]
enum Taken {
    IsRefused,
    IsReplaced,
}

/// Why collections were not recorded.
enum NotRecorded {
    /// The same call has recorded one before.
    Before,
    /// It is certain that they were not.
    Refused(Error),
    /// The log refused the record.
    Log(Error),
}

impl From<Error> for NotRecorded {
    fn from(error: Error) -> Self {
        NotRecorded::Refused(error)
    }
}

/// Why the checkpoint of the source could not be copied.
fn refusal(why: &CheckpointError) -> Error {
    match why {
        CheckpointError::Storage(error) => refused(error),
        CheckpointError::Log(error) => crate::collection::refused(error),
        CheckpointError::Damaged(_) | CheckpointError::HalfAdopted => Error::CollectionFault(why.to_string()),
    }
}

fn refused(error: &StorageError) -> Error {
    match error.kind() {
        ErrorKind::Full => Error::StorageFull,
        _ => Error::Internal(error.public()),
    }
}

fn unadopted(why: NotAdopted) -> Error {
    let is_of_system = why.is_of_system();
    match why {
        NotAdopted::Refused(error) => refused(&error),
        NotAdopted::Unusable(why) if why.cause == Cause::Exhausted => Error::MemoryLimit,
        NotAdopted::Unusable(why) if is_of_system => Error::Internal(why.what),
        NotAdopted::Unusable(why) => Error::bad(format!("The snapshot cannot be used: {}", why.what)),
    }
}
