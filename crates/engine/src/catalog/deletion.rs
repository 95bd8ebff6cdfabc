//! Deleting collections: the mark, the end of the requests that run, the files.

use super::entry::{DeletionReply, Entry};
use super::{Catalog, DROP};
use crate::collection::directory;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::limits::MAX_HEALTH_ISSUES;
use crate::recent_operations::CallIdentity;
use imbl::OrdMap;
use std::sync::Arc;

/// A deleted collection whose files still exist.
pub(super) struct Detached {
    id: u64,
    name: String,
    /// The collection, until its files were first tried.
    entry: Option<Arc<Entry>>,
    /// Why they could not be removed.
    fault: Option<String>,
}

/// What a deletion found.
enum Marked {
    /// A collection, which is marked now.
    Now(Arc<Entry>),
    /// The same call has marked the collection before.
    Before,
    /// No collection.
    Nothing,
}

impl Catalog {
    /// Deletes a collection. The mark is durable when this returns; then the requests that use it are cancelled. The
    /// reply is called when the last of them has ended and the name is free, or the deadline has passed; with false when
    /// there was no collection. No thread waits for that.
    ///
    /// A call that was applied before changes nothing.
    ///
    /// The reply's errors: `OutcomeUnknown`, `CollectionDeleted` when another request is deleting it, and the log's.
    pub fn delete(
        self: &Arc<Self>,
        name: &str,
        identity: Option<CallIdentity>,
        deadline: Deadline,
        reply: DeletionReply,
    ) {
        let entry = match self.mark_named(name, identity) {
            Ok(Marked::Now(entry)) => entry,
            Ok(Marked::Before) => return reply(Ok(true)),
            Ok(Marked::Nothing) => return reply(Ok(false)),
            Err(error) => return reply(Err(error)),
        };
        entry.when_detached(deadline, reply);
        self.end_requests_of(&entry);
        if entry.is_deletion_over() {
            // Its deadline may have passed while the mark was made durable.
            entry.answer_deletion();
        } else {
            self.deletions.lock().push(entry);
        }
    }

    /// Cancels the requests that use an entry that is marked for deletion durably; the last of them detaches it.
    pub(super) fn end_requests_of(&self, entry: &Arc<Entry>) {
        entry.gone.begin();
        if let Some(collection) = entry.collection() {
            collection.stop_waiting();
            collection.give_up_overdue_writes();
        }
        if entry.is_idle() {
            self.detach(entry);
        }
    }

    /// Answers the deletions whose deadline has passed. The mark is durable, so the collection is deleted for all that.
    pub fn answer_overdue_deletions(&self) {
        let mut deletions = self.deletions.lock();
        if deletions.is_empty() {
            return;
        }
        let ended: Vec<_> = deletions.extract_if(.., |entry| entry.is_deletion_over()).collect();
        drop(deletions);
        ended.iter().for_each(|entry| entry.answer_deletion());
    }

    /// Marks the collection of that name for deletion, durably.
    fn mark_named(&self, name: &str, identity: Option<CallIdentity>) -> Result<Marked, Error> {
        loop {
            if self.was_applied(&self.recorded.lock(), identity)? {
                return Ok(Marked::Before);
            }
            let Some(entry) = self.entries.load().get(name).cloned() else { return Ok(Marked::Nothing) };
            self.shared.storage.yield_point("before a collection is deleted");
            if !entry.start_deleting() {
                return Err(Error::CollectionDeleted(name.to_string()));
            }
            self.shared.storage.yield_point("marking a collection for deletion");
            match self.mark(&entry, identity) {
                Ok(true) => return Ok(Marked::Now(entry)),
                Ok(false) => entry.stop_deleting(),
                Err(error) => {
                    entry.stop_deleting();
                    return Err(error);
                }
            }
        }
    }

    /// Marks an entry for deletion, durably. Returns false when another entry has taken its place because the
    /// collection was quarantined.
    fn mark(&self, entry: &Arc<Entry>, identity: Option<CallIdentity>) -> Result<bool, Error> {
        let mut recorded = self.recorded.lock();
        if !self.entries.load().get(&entry.name).is_some_and(|now| Arc::ptr_eq(now, entry)) {
            return Ok(false);
        }
        self.append(&mut recorded, DROP, identity, &entry.id.to_le_bytes())?;
        // Before the recorded state is unlocked: the catalog's file must not include both the mark and the entry.
        entry.mark_durable();
        if !PlantedFault::AliasOutlivesCollection.is_on() {
            self.forget_aliases(entry.id);
        }
        Ok(true)
    }

    /// Frees the name of a deleted collection that no request uses any more. Its files go in the background: the last
    /// user may be the log's thread, which must not wait for them.
    pub(super) fn detach(&self, entry: &Arc<Entry>) {
        if !entry.start_detaching() {
            return;
        }
        self.entries.rcu(|entries| {
            let mut entries = OrdMap::clone(entries);
            if entries.get(&entry.name).is_some_and(|now| now.id == entry.id) {
                entries.remove(&entry.name);
            }
            entries
        });
        let (id, name) = (entry.id, entry.name.clone());
        self.detached.lock().push(Detached { id, name, entry: Some(Arc::clone(entry)), fault: None });
        entry.finish_detaching();
    }

    /// Removes the files of detached collections. Those that cannot be removed are tried again by the next call; what a
    /// crash leaves is removed at the next start: the mark is in the log.
    pub fn remove_detached(&self) {
        let ids: Vec<u64> = self.detached.lock().iter().map(|one| one.id).collect();
        for id in ids {
            let entry =
                self.detached.lock().iter_mut().find(|one| one.id == id).and_then(|one| one.entry.take());
            let remove = || match entry.as_ref().and_then(|entry| entry.collection()) {
                Some(collection) => collection.remove_files(),
                None => self.shared.storage.remove_dir_all(&directory(id)),
            };
            let removed = PlantedFault::DeletedFolderStays.skips(remove);
            let mut detached = self.detached.lock();
            let Some(at) = detached.iter().position(|one| one.id == id) else { continue };
            match removed {
                Err(error) if at < MAX_HEALTH_ISSUES => detached[at].fault = Some(error.to_string()),
                _ => drop(detached.remove(at)),
            }
        }
    }

    /// Deleted collections whose files could not be removed, and why.
    pub fn removal_faults(&self) -> Vec<(String, String)> {
        let detached = self.detached.lock();
        detached.iter().filter_map(|one| Some((one.name.clone(), one.fault.clone()?))).collect()
    }
}
