//! One entry of the catalog, and its use by requests.

use super::Catalog;
use super::residence::{Place, Presence, Residence, ResidenceState};
use super::sleeping::Sleeping;
use super::waking;
use crate::collection::{Cause, Collection, Unopened, link_folder};
use crate::config::CollectionConfig;
use crate::deadline::{Deadline, DeletionFlag};
use crate::error::Error;
use crate::storage::{Storage, StorageError};
use crate::types::Lsn;
use parking_lot::{Mutex, MutexGuard};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A collection's place in the catalog.
pub struct Entry {
    /// Number of the collection, never used twice.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Configuration at its creation; the collection itself knows the one in force.
    pub config: Arc<CollectionConfig>,
    state: EntryState,
    usage: Mutex<UsageState>,
    /// Whether it was deleted: the requests that use it are cancelled.
    pub(super) gone: DeletionFlag,
}

/// Called once, when the name of a deleted collection is free, or the time for that is over.
pub type DeletionReply = Box<dyn FnOnce(Result<bool, Error>) + Send>;

/// Whether the collection could be opened.
pub(super) enum EntryState {
    /// It is served, awake or asleep.
    Active(Residence),
    /// It could not be opened: the fault, and the LSN from which on the log must keep its records.
    Quarantined { fault: String, pinned_lsn: Option<Lsn> },
}

/// Advice about a quarantined collection. There is nothing to repair if no file is damaged.
fn advice(cause: Cause) -> &'static str {
    match cause {
        Cause::Damaged | Cause::Unreadable => {
            "; stop the server, see what is damaged with `kithdb check`, and save what can be saved with `kithdb repair`, \
             or restore a backup"
        }
        Cause::Denied => {
            "; let the user of the server read it (see to its owner and its mode), and start the server again"
        }
        Cause::Folder => "; move the folder away, put the file there, and start the server again",
        Cause::Exhausted => {
            "; no damage was found: give the server more memory, address space (`ulimit -v`) or file descriptors \
             (`ulimit -n`), and start it again"
        }
        // The message itself says what to do.
        Cause::OtherFormat => "",
    }
}

impl EntryState {
    /// A quarantined collection: its fault, and the LSN from which on it needs the log.
    pub(super) fn quarantined(fault: &Unopened, pinned_lsn: Option<Lsn>) -> EntryState {
        let now = if fault.cause == Cause::Exhausted { "the collection cannot be opened now: " } else { "" };
        let fault = format!("{now}{fault}; nothing of it was changed{}", advice(fault.cause));
        EntryState::Quarantined { fault, pinned_lsn }
    }
}

/// Stages of a deletion, and the use of the collection by requests.
pub(super) struct UsageState {
    users: usize,
    /// When a request that needed its points last ended.
    used: Instant,
    /// It is put to sleep as soon as nothing holds it.
    about_to_sleep: bool,
    /// No new request may start.
    deleting: bool,
    /// The mark is in the log.
    mark_durable: bool,
    detaching: bool,
    detached: bool,
    /// The request that deletes it, until it is answered.
    deletion: Option<(Deadline, DeletionReply)>,
}

impl Default for UsageState {
    fn default() -> UsageState {
        UsageState {
            users: 0,
            used: Instant::now(),
            about_to_sleep: false,
            deleting: false,
            mark_durable: false,
            detaching: false,
            detached: false,
            deletion: None,
        }
    }
}

impl UsageState {
    fn note_use(&mut self) {
        self.used = Instant::now();
        self.about_to_sleep = false;
    }
}

impl Entry {
    pub(super) fn new(id: u64, name: String, config: Arc<CollectionConfig>, state: EntryState) -> Entry {
        let gone = DeletionFlag::new(&name);
        Entry { id, name, config, state, usage: Mutex::default(), gone }
    }

    /// The collection, if it is in memory: neither quarantined nor asleep.
    pub fn collection(&self) -> Option<Arc<Collection>> {
        self.residence()?.collection()
    }

    /// What there is of the collection.
    pub fn presence(&self) -> Presence {
        self.residence().map_or(Presence::Nothing, Residence::presence)
    }

    /// What is known of a collection that is asleep, or that wakes.
    pub fn sleeping(&self) -> Option<Arc<Sleeping>> {
        match self.presence() {
            Presence::Asleep(sleeping) => Some(sleeping),
            Presence::Awake(_) | Presence::Nothing => None,
        }
    }

    /// Whether a collection that is served is in memory.
    pub fn residence_state(&self) -> Option<ResidenceState> {
        Some(self.residence()?.state())
    }

    /// How long its last opening took, if it was opened since the engine was.
    pub fn opened(&self) -> Option<Duration> {
        self.residence()?.opened()
    }

    /// Time since a request used it.
    pub fn idle(&self) -> Duration {
        self.usage.lock().used.elapsed()
    }

    /// Sets the time of the last use to now.
    pub fn note_use(&self) {
        self.usage.lock().note_use();
    }

    /// Asks background work that can be interrupted to let go of the collection until its next use.
    pub fn announce_sleep(&self) {
        self.usage.lock().about_to_sleep = true;
    }

    /// Whether it is to be put to sleep, and was not used since.
    pub fn is_about_to_sleep(&self) -> bool {
        self.usage.lock().about_to_sleep
    }

    /// Requests that searched it since the engine was opened.
    pub fn searches(&self) -> u64 {
        self.residence().map_or(0, Residence::searches)
    }

    pub(super) fn residence(&self) -> Option<&Residence> {
        match &self.state {
            EntryState::Active(residence) => Some(residence),
            EntryState::Quarantined { .. } => None,
        }
    }

    /// Links its checkpoint below `into`. None is written meanwhile.
    pub(super) fn stage(&self, storage: &dyn Storage, into: &str) -> Result<(), StorageError> {
        let Some(residence) = self.residence() else { return link_folder(storage, self.id, into) };
        // One that is asleep stays so until its files are linked.
        let place = residence.place.read();
        let Place::Awake(collection) = &*place else { return link_folder(storage, self.id, into) };
        let collection = Arc::clone(collection);
        drop(place);
        collection.stage(into)
    }

    /// Keeps requests from beginning; `None` where some run, or where it is being deleted.
    pub(super) fn lock_unused(&self) -> Option<MutexGuard<'_, UsageState>> {
        let usage = self.usage.lock();
        (usage.users == 0 && !usage.deleting).then_some(usage)
    }

    /// What is wrong with a quarantined collection.
    pub fn fault(&self) -> Option<&str> {
        match &self.state {
            EntryState::Active(_) => None,
            EntryState::Quarantined { fault, .. } => Some(fault),
        }
    }

    /// The configuration in force.
    pub fn current_config(&self) -> Arc<CollectionConfig> {
        match self.presence() {
            Presence::Awake(collection) => Arc::clone(&collection.view().state.config),
            Presence::Asleep(sleeping) => Arc::clone(&sleeping.config),
            Presence::Nothing => Arc::clone(&self.config),
        }
    }

    /// Whether the collection is marked for deletion.
    pub fn is_deleting(&self) -> bool {
        self.usage.lock().deleting
    }

    pub(super) fn pinned_lsn(&self) -> Option<Lsn> {
        match &self.state {
            // One that is asleep has everything in its checkpoint.
            EntryState::Active(residence) => residence.collection()?.pinned_lsn(),
            EntryState::Quarantined { pinned_lsn, .. } => *pinned_lsn,
        }
    }

    /// Marks the entry; false when it already is.
    pub(super) fn start_deleting(&self) -> bool {
        !std::mem::replace(&mut self.usage.lock().deleting, true)
    }

    pub(super) fn stop_deleting(&self) {
        self.usage.lock().deleting = false;
    }

    pub(super) fn mark_durable(&self) {
        self.usage.lock().mark_durable = true;
    }

    pub(super) fn is_mark_durable(&self) -> bool {
        self.usage.lock().mark_durable
    }

    pub(super) fn is_idle(&self) -> bool {
        self.usage.lock().users == 0
    }

    /// The right to detach the collection, which is granted once.
    pub(super) fn start_detaching(&self) -> bool {
        !std::mem::replace(&mut self.usage.lock().detaching, true)
    }

    pub(super) fn finish_detaching(&self) {
        self.usage.lock().detached = true;
        self.answer_deletion();
    }

    /// Keeps the reply to the request that deletes the entry until that is detached, which may have happened since the
    /// mark.
    pub(super) fn when_detached(&self, deadline: Deadline, reply: DeletionReply) {
        let mut usage = self.usage.lock();
        if usage.detached {
            drop(usage);
            return reply(Ok(true));
        }
        usage.deletion = Some((deadline, reply));
    }

    /// Whether the request that deletes it is answered, or is to be.
    pub(super) fn is_deletion_over(&self) -> bool {
        self.usage.lock().deletion.as_ref().is_none_or(|(deadline, _)| deadline.passed())
    }

    /// Answers the request that deletes it, if that has not been done.
    pub(super) fn answer_deletion(&self) {
        let deletion = self.usage.lock().deletion.take();
        if let Some((_, reply)) = deletion {
            reply(Ok(true));
        }
    }
}

/// A request's reference to a collection, which is not detached and does not fall asleep while the reference exists.
pub struct Use {
    catalog: Arc<Catalog>,
    entry: Arc<Entry>,
    /// Until when the request waits for a collection that wakes.
    deadline: Option<Deadline>,
    /// The collection, once it was asked for.
    collection: OnceLock<Arc<Collection>>,
}

impl Use {
    /// A reference, unless the entry is marked for deletion.
    pub(super) fn new(catalog: Arc<Catalog>, entry: Arc<Entry>) -> Option<Use> {
        let mut usage = entry.usage.lock();
        if usage.deleting {
            return None;
        }
        usage.users += 1;
        drop(usage);
        Some(Use { catalog, entry, deadline: None, collection: OnceLock::new() })
    }

    /// The same for a request that waits until its deadline for a collection that wakes.
    #[must_use]
    pub fn until(self, deadline: &Deadline) -> Use {
        let mut held = self;
        held.deadline = Some(deadline.clone());
        held
    }

    pub(super) fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The entry.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    /// The collection. One that is asleep is woken (C24).
    ///
    /// # Errors
    /// `CollectionFault` when it is quarantined; of one that wakes the deadline's errors, and `MemoryLimit`.
    pub fn collection(&self) -> Result<&Arc<Collection>, Error> {
        if let Some(collection) = self.collection.get() {
            return Ok(collection);
        }
        let fault = || Error::CollectionFault(self.entry.fault().unwrap_or_default().to_string());
        let residence = self.entry.residence().ok_or_else(fault)?;
        let collection = waking::awake(&self.catalog, &self.entry, residence, self.deadline.as_ref())?;
        Ok(self.collection.get_or_init(|| collection))
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        // Its reference goes before the count of users says that nobody has one.
        let was_used = self.collection.take().is_some();
        let last = {
            let mut usage = self.entry.usage.lock();
            if was_used {
                usage.note_use();
            }
            usage.users -= 1;
            usage.users == 0 && usage.mark_durable
        };
        if last {
            self.catalog.detach(&self.entry);
        }
    }
}
