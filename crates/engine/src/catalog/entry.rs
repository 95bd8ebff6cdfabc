//! One entry of the catalog, and its use by requests.

use super::Catalog;
use crate::collection::{Cause, Collection, Unopened};
use crate::config::CollectionConfig;
use crate::deadline::{Deadline, DeletionFlag};
use crate::error::Error;
use crate::types::Lsn;
use parking_lot::Mutex;
use std::sync::Arc;

/// A collection's place in the catalog.
pub struct Entry {
    /// Number of the collection, never used twice.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Configuration at its creation; the collection itself knows the one in force.
    pub config: Arc<CollectionConfig>,
    state: EntryState,
    life: Mutex<Life>,
    /// Whether it was deleted: the requests that use it are cancelled.
    pub(super) gone: DeletionFlag,
}

/// Called once, when the name of a deleted collection is free, or the time for that is over.
pub type DeletionReply = Box<dyn FnOnce(Result<bool, Error>) + Send>;

/// Whether the collection could be opened.
pub(super) enum EntryState {
    /// It is served.
    Active(Arc<Collection>),
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

/// Stages of a deletion, and the requests that still use the collection.
#[derive(Default)]
struct Life {
    users: usize,
    /// No new request may start.
    deleting: bool,
    /// The mark is in the log.
    mark_durable: bool,
    detaching: bool,
    detached: bool,
    /// The request that deletes it, until it is answered.
    deletion: Option<(Deadline, DeletionReply)>,
}

impl Entry {
    pub(super) fn new(id: u64, name: String, config: Arc<CollectionConfig>, state: EntryState) -> Entry {
        let gone = DeletionFlag::new(&name);
        Entry { id, name, config, state, life: Mutex::default(), gone }
    }

    /// The collection, unless it is quarantined.
    pub fn collection(&self) -> Option<&Arc<Collection>> {
        match &self.state {
            EntryState::Active(collection) => Some(collection),
            EntryState::Quarantined { .. } => None,
        }
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
        match &self.state {
            EntryState::Active(collection) => Arc::clone(&collection.view().state.config),
            EntryState::Quarantined { .. } => Arc::clone(&self.config),
        }
    }

    /// Whether the collection is marked for deletion.
    pub fn is_deleting(&self) -> bool {
        self.life.lock().deleting
    }

    pub(super) fn pinned_lsn(&self) -> Option<Lsn> {
        match &self.state {
            EntryState::Active(collection) => collection.pinned_lsn(),
            EntryState::Quarantined { pinned_lsn, .. } => *pinned_lsn,
        }
    }

    /// Marks the entry; false when it already is.
    pub(super) fn start_deleting(&self) -> bool {
        !std::mem::replace(&mut self.life.lock().deleting, true)
    }

    pub(super) fn stop_deleting(&self) {
        self.life.lock().deleting = false;
    }

    pub(super) fn mark_durable(&self) {
        self.life.lock().mark_durable = true;
    }

    pub(super) fn is_mark_durable(&self) -> bool {
        self.life.lock().mark_durable
    }

    pub(super) fn is_idle(&self) -> bool {
        self.life.lock().users == 0
    }

    /// The right to detach the collection, which is granted once.
    pub(super) fn start_detaching(&self) -> bool {
        !std::mem::replace(&mut self.life.lock().detaching, true)
    }

    pub(super) fn finish_detaching(&self) {
        self.life.lock().detached = true;
        self.answer_deletion();
    }

    /// Keeps the reply to the request that deletes the entry until that is detached, which may have happened since the
    /// mark.
    pub(super) fn when_detached(&self, deadline: Deadline, reply: DeletionReply) {
        let mut life = self.life.lock();
        if life.detached {
            drop(life);
            return reply(Ok(true));
        }
        life.deletion = Some((deadline, reply));
    }

    /// Whether the request that deletes it is answered, or is to be.
    pub(super) fn is_deletion_over(&self) -> bool {
        self.life.lock().deletion.as_ref().is_none_or(|(deadline, _)| deadline.passed())
    }

    /// Answers the request that deletes it, if that has not been done.
    pub(super) fn answer_deletion(&self) {
        let deletion = self.life.lock().deletion.take();
        if let Some((_, reply)) = deletion {
            reply(Ok(true));
        }
    }
}

/// A request's reference to a collection, which is not detached while the reference exists.
pub struct Use {
    catalog: Arc<Catalog>,
    entry: Arc<Entry>,
}

impl Use {
    /// A reference, unless the entry is marked for deletion.
    pub(super) fn new(catalog: Arc<Catalog>, entry: Arc<Entry>) -> Option<Use> {
        let mut life = entry.life.lock();
        if life.deleting {
            return None;
        }
        life.users += 1;
        drop(life);
        Some(Use { catalog, entry })
    }

    /// The entry.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The collection.
    ///
    /// # Errors
    /// `CollectionFault` when it is quarantined.
    pub fn collection(&self) -> Result<&Arc<Collection>, Error> {
        let fault = || Error::CollectionFault(self.entry.fault().unwrap_or_default().to_string());
        self.entry.collection().ok_or_else(fault)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let last = {
            let mut life = self.entry.life.lock();
            life.users -= 1;
            life.users == 0 && life.mark_durable
        };
        if last {
            self.catalog.detach(&self.entry);
        }
    }
}
