//! Why a collection takes no writes any more, or is not to be read either, or is not checkpointed.

use super::Collection;
use crate::error::Error;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

/// What is wrong with a collection since it was opened, and whether it was deleted.
#[derive(Default)]
pub(super) struct Health {
    faults: Mutex<Faults>,
    /// The collection was deleted: long work is to be given up.
    is_retired: AtomicBool,
}

/// Of faults that last, the first counts.
#[derive(Default)]
struct Faults {
    /// Why writes are refused until the collection is reopened.
    poison: Option<String>,
    /// A file of it is not what was written: what is read from it may be wrong.
    damage: Option<String>,
    /// Why the last checkpoint was not made.
    checkpoint: Option<String>,
}

impl Health {
    /// Takes note of how a checkpoint ended.
    pub fn note_checkpoint(&self, fault: Option<String>) {
        self.faults.lock().checkpoint = fault;
    }

    /// Takes note that the collection was deleted.
    pub fn retire(&self) {
        self.is_retired.store(true, Ordering::Relaxed);
    }

    /// Whether the collection was deleted.
    pub fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Relaxed)
    }
}

impl Collection {
    /// Why the collection takes no writes, if it does not.
    pub fn fault(&self) -> Option<String> {
        self.health.faults.lock().poison.clone()
    }

    /// Refuses all writes from now on, until the collection is reopened.
    pub fn poison(&self, why: &str) {
        self.health.faults.lock().poison.get_or_insert_with(|| why.to_string());
        self.stop_waiting();
    }

    /// What is wrong with a file of it, found when the file was to be copied. The owner of the collection is to
    /// [quarantine it](crate::catalog::Catalog::quarantine_damaged).
    pub fn damage(&self) -> Option<String> {
        self.health.faults.lock().damage.clone()
    }

    /// Takes note of a file that is not what was written. Nothing is written any more that may come from it.
    pub(super) fn report_damage(&self, what: &str) {
        let why = format!("{what}, since the server started");
        self.poison(&why);
        self.health.faults.lock().damage.get_or_insert(why);
    }

    /// Why the last checkpoint was not made, if it was not: in words for the operator of the server.
    pub fn checkpoint_fault(&self) -> Option<String> {
        self.health.faults.lock().checkpoint.clone()
    }

    /// An error when the collection takes no writes.
    pub fn check_writable(&self) -> Result<(), Error> {
        self.fault().map_or(Ok(()), |why| Err(Error::CollectionFault(why)))
    }
}
