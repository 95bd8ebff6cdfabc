//! Why a collection takes no writes any more, or is not to be read either, or is not checkpointed.

use super::Collection;
use crate::checkpoint::unreadable_file;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::storage::map_faults;
use crate::supervision::{Skipped, Task, TaskFailures};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is wrong with a collection since it was opened, and whether it was deleted.
#[derive(Default)]
pub(super) struct Health {
    faults: Mutex<Faults>,
    /// The collection was deleted: long work is to be given up.
    is_retired: AtomicBool,
    /// Background tasks that panicked the last time they worked on the collection.
    task_failures: TaskFailures,
    /// Map faults of the process that were counted when none of them was in this collection.
    sound_at: AtomicU64,
}

/// Faults of a collection. Of the lasting ones (`poison`, `damage`) the first is kept.
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

    /// Runs a step of background work on the collection. A panic in it is counted and shown in the collection's info; the
    /// step then rests for a while, in which it is skipped. Where the collection may be half changed, its writes are
    /// refused from then on. `None` when it was skipped or panicked.
    pub fn guard<T>(&self, task: Task, step: impl FnOnce() -> T) -> Option<T> {
        let done = self.shared.supervisor.step_of(&self.health.task_failures, task, Some(self.id), step);
        let spoils = task.changes_collection() && !PlantedFault::BackgroundPoisonDropped.is_on();
        if done.as_ref().is_err_and(|why| *why == Skipped::Panicked) && spoils {
            self.poison(&format!(
                "the background task `{}` failed inside the engine; restart the server to reopen the collection",
                task.name()
            ));
        }
        done.ok()
    }

    /// What the background failed to do for the collection, and tries again.
    pub fn task_failure(&self) -> Option<String> {
        self.health.task_failures.sentences().into_iter().next()
    }

    /// Whether a task panicked the last time, and is to be tried again now.
    pub fn is_to_retry(&self, task: Task) -> bool {
        self.health.task_failures.has(task) && !self.health.task_failures.is_resting(task)
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

    /// Which of its files could not be read through its map. From then on zeros are read in its place: nothing that was
    /// read since is to be answered or written, and the collection is to be
    /// [quarantined](crate::catalog::Catalog::settle_map_faults).
    pub fn map_fault(&self) -> Option<String> {
        let faults = if PlantedFault::MapFaultsIgnored.is_on() { 0 } else { map_faults() };
        if faults == self.health.sound_at.load(Ordering::Acquire) {
            return None;
        }
        let found = unreadable_file(&*self.shared.storage, self.id);
        if found.is_none() {
            self.health.sound_at.store(faults, Ordering::Release);
        }
        found
    }

    /// As [`Collection::map_fault`]; a fault is noted, and nothing is written any more.
    pub fn report_map_fault(&self) -> Option<String> {
        let fault = self.map_fault()?;
        self.report_damage(&fault);
        self.fault()
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
