//! Why a collection takes no writes any more, or is not to be read either, or is not checkpointed.

use super::Collection;
use crate::error::Error;

/// What is wrong with a collection since it was opened. Of what stays wrong the first thing counts.
#[derive(Default)]
pub(super) struct Faults {
    /// Why writes are refused until it is reopened.
    poison: Option<String>,
    /// A file of it is not what was written: what is read from it may be wrong.
    damage: Option<String>,
    /// Why the last checkpoint was not made.
    checkpoint: Option<String>,
}

impl Collection {
    /// Why the collection takes no writes, if it does not.
    pub fn fault(&self) -> Option<String> {
        self.faults.lock().poison.clone()
    }

    /// Refuses all writes from now on, until the collection is reopened.
    pub fn poison(&self, why: &str) {
        self.faults.lock().poison.get_or_insert_with(|| why.to_string());
        self.stop_waiting();
    }

    /// What was found to be wrong with its files when some of them were to be copied. Whoever owns the collection is to
    /// [set it aside](crate::catalog::Catalog::set_aside_damaged).
    pub fn damage(&self) -> Option<String> {
        self.faults.lock().damage.clone()
    }

    /// Takes note of a file that is not what was written. Nothing is written any more that may come from it.
    pub(super) fn report_damage(&self, what: &str) {
        let why = format!("{what}, since the server started");
        self.poison(&why);
        self.faults.lock().damage.get_or_insert(why);
    }

    /// Why the last checkpoint was not made, if it was not: in words for whoever runs the server.
    pub fn checkpoint_fault(&self) -> Option<String> {
        self.faults.lock().checkpoint.clone()
    }

    /// Takes note of how a checkpoint ended.
    pub(super) fn note_checkpoint(&self, fault: Option<String>) {
        self.faults.lock().checkpoint = fault;
    }

    /// An error when the collection takes no writes.
    pub fn check_writable(&self) -> Result<(), Error> {
        self.fault().map_or(Ok(()), |why| Err(Error::CollectionFault(why)))
    }
}
