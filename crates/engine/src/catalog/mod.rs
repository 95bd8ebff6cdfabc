//! The collections of a data directory: names, states, creation, deletion.
//!
//! What exists is decided by records of the log, like everything else; the file `CATALOG` is their checkpoint.
//! A collection is active, marked for deletion, or quarantined (C4.5, C10.2).

mod adoption;
mod aliases;
mod deletion;
mod directory_lock;
mod entry;
mod file;
mod loading;
mod open;
mod open_error;
mod replay;
mod residence;
mod sleeping;
mod staging;
mod start_preview;
mod summaries;
mod waking;

pub use crate::wal::CATALOG;
pub use adoption::AdoptedFolder;
pub use aliases::AliasAction;
pub use directory_lock::{UNFINISHED_RESTORE, lock_directory, lock_directory_to_read};
pub use entry::{DeletionReply, Entry, Use};
pub use file::{COPY_PATH as CATALOG_COPY, CatalogFault, SavedEntry, catalog_fault, noted_auth_generation};
pub use open::{CatalogOptions, Mode, Opened, open};
pub use open_error::OpenError;
pub use replay::StartDamage;
pub use residence::{Presence, ResidenceState};
pub use sleeping::{Sleeping, Summary, may_sleep};
pub use staging::STAGING;
pub use start_preview::{
    DamagedRecord, PreviewedCollection, SavedCatalog, Source, StartPreview, UnlistedCollections, preview_log,
    preview_start, salvage_catalog,
};

use crate::collection::{Collection, Shared, Unopened};
use crate::config::CollectionConfig;
use crate::deadline::DeletionFlag;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::limits::MAX_SCRUB_FINDINGS;
use crate::recent_operations::{CallIdentity, Known, RecentOperations};
use crate::storage::{ErrorKind, StorageError, map_faults};
use crate::types::{IdKind, Lsn};
use crate::wal::{Appender, Durability, LogError};
use aliases::Aliases;
use arc_swap::ArcSwap;
use deletion::Detached;
use entry::EntryState;
pub(crate) use file::CatalogFile;
use file::{Found, NoCatalog};
use imbl::OrdMap;
use parking_lot::{Mutex, RwLock};
use residence::Residence;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

/// About what an empty collection takes of the memory.
const EMPTY_BYTES: u64 = 32 << 10;

/// Kind of the record that creates a collection.
const CREATE: u8 = 16;
/// Kind of the record that marks a collection for deletion.
const DROP: u8 = 17;
/// Kind of the record that makes collections of folders that are there, in the place of others.
const ADOPT: u8 = 18;
/// Kind of the record that changes aliases.
const ALIASES: u8 = 19;

/// The collections of a data directory: see the module.
pub struct Catalog {
    shared: Arc<Shared>,
    entries: ArcSwap<OrdMap<String, Arc<Entry>>>,
    /// Changed only while the recorded state is locked.
    aliases: ArcSwap<Aliases>,
    recorded: Mutex<RecordedState>,
    /// Detached collections whose files are still there.
    detached: Mutex<Vec<Detached>>,
    /// Entries whose deletion waits for requests to end.
    deletions: Mutex<Vec<Arc<Entry>>>,
    /// Why the last attempt to cut the log failed.
    cut_fault: Mutex<Option<String>>,
    /// Locked for writing while the whole log is needed, for reading while it is cut.
    cuts: RwLock<()>,
    /// Faults of maps that [`Catalog::settle_map_faults`] has dealt with.
    settled_faults: AtomicU64,
    /// Whether there is, or was, a collection whose ids are strings.
    has_strings: AtomicBool,
    /// Which threads open collections that wake.
    mode: Mode,
    /// Graphs that were damaged when their collections woke: name of the collection, file, and what is wrong.
    damaged_graphs: Mutex<Vec<(String, String, String)>>,
}

/// What only changes of the catalog touch, one at a time.
struct RecordedState {
    /// The number of the next collection, of whatever origin.
    next_id: u64,
    /// LSN of the catalog's last record.
    last_lsn: Lsn,
    /// LSN that the catalog's file includes.
    saved_lsn: Lsn,
    /// The last operations that came with an identity, each with its LSN.
    operations: RecentOperations,
    /// The generation of the store of authentication that was noted last; 0 where none was.
    auth_generation: u64,
    /// The file or its copy is damaged or out of date: both are to be written again.
    is_stale: bool,
    /// Why the last attempt to write it failed.
    fault: Option<String>,
}

impl RecordedState {
    /// A number that no collection has had. It is not given again, also when its collection comes to nothing: a record whose
    /// sync failed may be in the log all the same.
    fn take_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }
}

impl Catalog {
    fn new(
        shared: Arc<Shared>,
        entries: OrdMap<String, Arc<Entry>>,
        aliases: Aliases,
        recorded: RecordedState,
        mode: Mode,
    ) -> Catalog {
        let has_strings = entries.values().any(|entry| entry.config.ids == IdKind::String);
        Catalog {
            shared,
            has_strings: AtomicBool::new(has_strings),
            entries: ArcSwap::from_pointee(entries),
            aliases: ArcSwap::from_pointee(aliases),
            recorded: Mutex::new(recorded),
            detached: Mutex::default(),
            deletions: Mutex::default(),
            cut_fault: Mutex::default(),
            cuts: RwLock::default(),
            settled_faults: AtomicU64::new(0),
            mode,
            damaged_graphs: Mutex::default(),
        }
    }

    /// What the collections share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// All entries by name, those being deleted left out.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.entries.load().values().filter(|entry| !entry.is_deleting()).cloned().collect()
    }

    /// Collections that serve and are awake, for background work; those being deleted included.
    pub fn collections(&self) -> Vec<Arc<Collection>> {
        self.entries.load().values().filter_map(|entry| entry.collection()).collect()
    }

    /// The entry of that name or alias, held for one request. One with a deadline says so ([`Use::until`]).
    ///
    /// # Errors
    /// `CollectionNotFound`, `CollectionDeleted`.
    pub fn enter(self: &Arc<Self>, name: &str) -> Result<Use, Error> {
        let entry = self.named(name).ok_or_else(|| Error::CollectionNotFound(name.to_string()))?;
        Use::new(Arc::clone(self), entry).ok_or_else(|| Error::CollectionDeleted(name.to_string()))
    }

    /// Wakes a collection, for background work. It does nothing where that is being deleted, or cannot be opened.
    pub fn wake(self: &Arc<Self>, entry: &Arc<Entry>) {
        if let Some(held) = Use::new(Arc::clone(self), Arc::clone(entry)) {
            // A collection that cannot be opened is quarantined by that.
            let _ = held.collection();
        }
    }

    /// The graphs that were damaged when their collections woke, since this was asked last.
    pub fn take_damaged_graphs(&self) -> Vec<(String, String, String)> {
        std::mem::take(&mut *self.damaged_graphs.lock())
    }

    fn note_damaged_graphs(&self, name: &str, damaged: &[(String, String)]) {
        let mut noted = self.damaged_graphs.lock();
        let room = MAX_SCRUB_FINDINGS.saturating_sub(noted.len());
        let damaged = damaged.iter().take(room);
        noted.extend(damaged.map(|(file, what)| (name.to_string(), file.clone(), what.clone())));
    }

    /// Whether a collection of that name or alias exists; one being deleted is an error (C4.5).
    pub fn exists(&self, name: &str) -> Result<bool, Error> {
        match self.named(name) {
            Some(entry) if entry.is_deleting() => Err(Error::CollectionDeleted(name.to_string())),
            entry => Ok(entry.is_some()),
        }
    }

    /// Which ids the points of the collection of that name or alias have; the default where there is none.
    pub fn id_kind(&self, name: &str) -> IdKind {
        if !self.has_strings() {
            return IdKind::Default;
        }
        self.named(name).map_or(IdKind::Default, |entry| entry.config.ids)
    }

    /// Whether there may be a collection whose ids are strings.
    pub fn has_strings(&self) -> bool {
        self.has_strings.load(Ordering::Acquire)
    }

    /// Takes note of the ids of a collection that is to be added.
    fn note_ids(&self, config: &CollectionConfig) {
        if config.ids == IdKind::String {
            self.has_strings.store(true, Ordering::Release);
        }
    }

    /// Creates a collection; durable when it returns. A call that was applied before changes nothing.
    ///
    /// # Errors
    /// `OutcomeUnknown`, `CollectionExists`, `CollectionDeleted`, `AliasExists`, `BadRequest` at the limit of collections, and
    /// the log's.
    pub fn create(
        &self,
        name: &str,
        config: CollectionConfig,
        identity: Option<CallIdentity>,
    ) -> Result<(), Error> {
        let mut recorded = self.recorded.lock();
        if self.was_applied(&recorded, identity)? {
            return Ok(());
        }
        self.refuse_taken(name)?;
        let limit = self.shared.limits.max_collections;
        if self.entries.load().len() >= limit {
            return Err(Error::bad(format!("At most {limit} collections (max_collections)")));
        }
        self.shared.admit_growth(EMPTY_BYTES)?;
        let id = recorded.take_id();
        let body = file::encode_entry(id, name, &config);
        self.append(&mut recorded, CREATE, identity, &body)?;
        // Without it a full disk refuses deletions as well; the next round of background work tries again.
        let _ = self.shared.reserve.keep_for_data(self.shared.log.size_bytes());
        self.note_ids(&config);
        let config = Arc::new(config);
        let collection =
            Collection::create(id, Arc::clone(&self.shared), Arc::clone(&config), recorded.last_lsn);
        let state = EntryState::Active(Residence::awake(Arc::new(collection), None));
        let entry = Arc::new(Entry::new(id, name.to_string(), config, state));
        self.entries.rcu(|entries| entries.update(name.to_string(), Arc::clone(&entry)));
        Ok(())
    }

    /// Whether the collection of that name or alias goes, for the deadline of a request that uses it.
    pub fn gone(&self, name: &str) -> Option<DeletionFlag> {
        self.named(name).map(|entry| entry.gone.clone())
    }

    /// Why the catalog's file could not be written, or the log could not be cut.
    pub fn maintenance_faults(&self) -> Vec<String> {
        let recorded = self.recorded.lock().fault.clone();
        recorded.into_iter().chain(self.cut_fault.lock().clone()).collect()
    }

    /// Quarantines a collection that was served so far, because its files are damaged. Requests that run are finished;
    /// every later one gets the fault. The log keeps what its checkpoint does not have.
    pub fn quarantine(&self, entry: &Arc<Entry>, fault: impl Into<Unopened>) {
        let fault = fault.into();
        let Some(collection) = entry.collection() else { return };
        collection.poison(&fault.what);
        self.replace_by_fault(entry, &fault, collection.checkpointed_lsn());
    }

    /// Quarantines a collection that cannot wake. Returns the error for who waits for it.
    fn quarantine_sleeping(&self, entry: &Arc<Entry>, sleeping: &Sleeping, fault: Unopened) -> Error {
        self.replace_by_fault(entry, &fault, sleeping.summary.lsn);
        let named = self.named(&entry.name).filter(|now| now.id == entry.id);
        let reported = named.and_then(|now| now.fault().map(str::to_string));
        Error::CollectionFault(reported.unwrap_or(fault.what))
    }

    /// Puts a quarantined entry in the place of one that was served, whose checkpoint has everything up to an LSN.
    fn replace_by_fault(&self, entry: &Arc<Entry>, fault: &Unopened, checkpointed: Lsn) {
        let state = EntryState::quarantined(fault, Some(checkpointed.next()));
        let quarantined = Arc::new(Entry::new(entry.id, entry.name.clone(), entry.current_config(), state));
        // A deletion marks the entry that has the name, and no other may have it from then on.
        let _recorded = self.recorded.lock();
        self.entries.rcu(|entries| match entries.get(&entry.name) {
            // A deletion holds the entry that it found, and will remove it.
            Some(now) if Arc::ptr_eq(now, entry) && !entry.is_deleting() => {
                entries.update(entry.name.clone(), Arc::clone(&quarantined))
            }
            _ => OrdMap::clone(entries),
        });
    }

    /// Quarantines a collection that has found its own files to be damaged.
    pub fn quarantine_damaged(&self, collection: &Collection) {
        let Some(damage) = collection.damage() else { return };
        let entry = self.entries().into_iter().find(|entry| entry.id == collection.id);
        if let Some(entry) = entry {
            self.quarantine(&entry, damage);
        }
    }

    /// Quarantines the collections of which a map could not be read. Returns how many maps of the process that was when
    /// this began: as long as [`map_faults`] says the same, nothing of a collection that was entered since is zeros in the
    /// place of what was written.
    pub fn settle_map_faults(&self) -> u64 {
        let faults = map_faults();
        if faults == self.settled_faults.load(Ordering::Acquire) {
            return faults;
        }
        for collection in self.collections() {
            if collection.report_map_fault().is_some() {
                self.quarantine_damaged(&collection);
            }
        }
        self.settled_faults.fetch_max(faults, Ordering::AcqRel);
        faults
    }

    /// LSN from which on quarantined collections need the log.
    pub fn quarantined_lsn(&self) -> Option<Lsn> {
        let entries = self.entries.load();
        entries
            .values()
            .filter(|entry| entry.collection().is_none())
            .filter_map(|entry| entry.pinned_lsn())
            .min()
    }

    /// LSN of the oldest record that only the log holds.
    pub fn pinned_lsn(&self) -> Option<Lsn> {
        let own = self.own_pinned_lsn();
        own.into_iter().chain(self.pinned_lsn_of_collections()).min()
    }

    /// LSN of the oldest record of the catalog that its file does not have.
    fn own_pinned_lsn(&self) -> Option<Lsn> {
        let recorded = self.recorded.lock();
        (recorded.last_lsn > recorded.saved_lsn).then(|| recorded.saved_lsn.next())
    }

    fn pinned_lsn_of_collections(&self) -> Option<Lsn> {
        self.entries.load().values().filter_map(|entry| entry.pinned_lsn()).min()
    }

    /// Writes the catalog's file where only records of the catalog keep finished segments of the log.
    pub fn release_segments(&self) {
        let Some(own) = self.own_pinned_lsn() else { return };
        if self.shared.log.has_finished_segments()
            && self.pinned_lsn_of_collections().is_none_or(|other| own < other)
        {
            // Without the file the log still has everything, and the next round tries again.
            let _ = self.checkpoint();
        }
    }

    /// Cuts the log below the oldest record that no checkpoint has, unless the whole log is needed. A log that cannot
    /// be cut now is cut later; it still holds everything.
    pub fn cut_log(&self) {
        let Some(_cutting) = self.cuts.try_read() else { return };
        let log = &self.shared.log;
        // The bound is read first: a record that is appended later has an LSN above it, so it is kept even if its
        // collection does not report it yet.
        let bound = log.next_lsn();
        self.shared.storage.yield_point("finding what pins the log");
        let pinned = self.pinned_lsn().unwrap_or(bound);
        self.shared.storage.yield_point("cutting the log");
        let pinned = pinned.plus(u64::from(PlantedFault::LogCutTooFar.is_on()));
        let cut = log.cut(bound.min(pinned));
        *self.cut_fault.lock() = cut.err().map(|error| error.to_string());
    }

    /// Reads the catalog's file and its copy, and writes both again when one of them is not what was written. Returns
    /// which file that was, what is wrong with it, and the outcome of writing both.
    pub fn scrub_file(&self) -> Option<(&'static str, String, Result<(), StorageError>)> {
        // The files must not be replaced after one of them is read and before the other is.
        let mut recorded = self.recorded.lock();
        let (path, what) = match CatalogFile::load(&*self.shared.storage) {
            Ok(Found { fault: Some(fault), .. }) => fault,
            // The next round of background work tries again to write the file.
            Ok(_) if recorded.is_stale || recorded.fault.is_some() => return None,
            Ok(Found { stale: Some(dir), .. }) => {
                let path = if dir == file::COPY_DIR { file::COPY_PATH } else { file::PATH };
                (path, "the file CATALOG is missing or an older one".to_string())
            }
            Ok(Found { file: found, .. })
                if (found.lsn, found.auth_generation) != (recorded.saved_lsn, recorded.auth_generation) =>
            {
                (file::PATH, "the file CATALOG is missing or an older one, and so is its copy".to_string())
            }
            Ok(_) => return None,
            Err(NoCatalog::Lost(what) | NoCatalog::Refused(what) | NoCatalog::Unread(what)) => {
                (file::PATH, what)
            }
        };
        recorded.is_stale = true;
        drop(recorded);
        Some((path, what, self.checkpoint()))
    }

    /// Writes the catalog's file and its copy, so that the log no longer has to hold its records.
    ///
    /// # Errors
    /// The disk's; the file before it stays in force.
    pub fn checkpoint(&self) -> Result<(), StorageError> {
        self.write_file(&mut self.recorded.lock())
    }

    /// The generation of the store of authentication that was noted last (C3.8); 0 where none was.
    pub fn auth_generation(&self) -> u64 {
        self.recorded.lock().auth_generation
    }

    /// Notes a generation of the store of authentication, durably, unless a later one was noted. It is in no record of the
    /// log: the file alone says it, so that it can be read before the log is.
    ///
    /// # Errors
    /// `StorageFull` and `Internal`; then the next checkpoint of the catalog tries again to write it.
    pub fn note_auth_generation(&self, generation: u64) -> Result<(), Error> {
        let mut recorded = self.recorded.lock();
        if generation > recorded.auth_generation {
            recorded.auth_generation = generation;
            recorded.is_stale |= !PlantedFault::GenerationNotNoted.is_on();
        }
        self.write_file(&mut recorded).map_err(|error| match error.kind() {
            ErrorKind::Full => Error::StorageFull,
            _ => Error::Internal(error.public()),
        })
    }

    fn write_file(&self, recorded: &mut RecordedState) -> Result<(), StorageError> {
        if recorded.last_lsn == recorded.saved_lsn && !recorded.is_stale {
            return Ok(());
        }
        let entries = self.entries.load();
        let too_early = PlantedFault::DeletionListedTooEarly.is_on();
        let is_gone = |entry: &Entry| if too_early { entry.is_deleting() } else { entry.is_mark_durable() };
        let entries = entries.values().filter(|entry| !is_gone(entry));
        let file = CatalogFile {
            lsn: recorded.last_lsn,
            next_id: recorded.next_id,
            entries: entries.map(|entry| (entry.id, entry.name.clone(), Arc::clone(&entry.config))).collect(),
            operations: recorded.operations.clone(),
            auth_generation: recorded.auth_generation,
            aliases: self.saved_aliases(),
        };
        let stored = file.store(&*self.shared.storage);
        recorded.fault = stored.as_ref().err().map(ToString::to_string);
        stored?;
        recorded.saved_lsn = recorded.last_lsn;
        recorded.is_stale = false;
        Ok(())
    }

    /// The aliases as the file has them.
    fn saved_aliases(&self) -> Vec<(u64, String)> {
        let left_out = PlantedFault::AliasesNotSaved.is_on();
        let aliases = self.aliases.load();
        let saved = aliases.iter().filter(|_| !left_out);
        saved.map(|(alias, target)| (target.id, alias.clone())).collect()
    }

    /// Whether a call was applied already.
    ///
    /// # Errors
    /// `OutcomeUnknown` where that is not known.
    fn was_applied(&self, recorded: &RecordedState, identity: Option<CallIdentity>) -> Result<bool, Error> {
        let Some(call) = identity else { return Ok(false) };
        match recorded.operations.find(&call, self.shared.log.next_lsn()) {
            Known::New => Ok(false),
            Known::Applied(_) => Ok(true),
            Known::Unknown => Err(Error::OutcomeUnknown),
        }
    }

    /// Appends a record of the catalog, waits until it is durable, and takes note of it.
    fn append(
        &self,
        recorded: &mut RecordedState,
        kind: u8,
        identity: Option<CallIdentity>,
        body: &[u8],
    ) -> Result<(), Error> {
        let operation = identity.map(|call| call.id);
        let (send, receive) = mpsc::channel::<Result<Lsn, LogError>>();
        let done = Box::new(move |result| {
            let _ = send.send(result);
        });
        let body = body.to_vec();
        let fill = move |log: &mut Appender<'_>| log.append(CATALOG, kind, operation, body).map(drop);
        // A refusal was reported to `done`.
        drop(self.shared.log.append(fill, Durability::Always, done));
        match receive.recv() {
            Ok(Ok(lsn)) => {
                recorded.last_lsn = lsn;
                operation.iter().for_each(|id| recorded.operations.note(*id, lsn.get()));
                Ok(())
            }
            Ok(Err(error)) => {
                // This record has changed nothing yet, so the next one does not depend on it.
                self.shared.log.resume(CATALOG);
                Err(crate::collection::refused(&error))
            }
            Err(_) => Err(Error::ShuttingDown),
        }
    }
}
