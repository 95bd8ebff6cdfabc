//! Parts of sources that wait for the last one (C20). `docs/sync.md` has the design.

use super::noted_syncs::NotedSyncs;
use crate::collection::Collection;
use crate::collection::update::{MergedPart, SourceSync, SyncEntries};
use crate::config::VectorModels;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::limits::{MAX_STAGED_BYTES, MAX_STAGED_SYNCS};
use crate::memory::Held;
use crate::payload::JsonPath;
use crate::storage::Storage;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long parts wait for the next one, and how long it is known that a sync had parts.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// Syncs that had parts and have none any more; the oldest are forgotten.
const MAX_PAST: usize = 16 * MAX_STAGED_SYNCS;

/// Identifies a sync. The same `sync_id` of another caller or collection is another sync.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SyncKey {
    pub caller: Box<str>,
    pub collection: u64,
    pub sync_id: Box<str>,
}

impl SyncKey {
    /// Whether both are of one caller and have one `sync_id`.
    fn is_named_as(&self, other: &SyncKey) -> bool {
        self.caller == other.caller && self.sync_id == other.sync_id
    }
}

/// All syncs that wait for their last part.
pub(super) struct StagedSyncs(Mutex<Inner>);

struct Inner {
    staged: HashMap<SyncKey, Staged>,
    /// Oldest first.
    past: VecDeque<Past>,
    noted: NotedSyncs,
    /// Until when a sync may have lost parts without a note of it; `None` where the notes were read.
    doubtful_until: Option<Instant>,
}

/// A sync that had parts and has none any more.
struct Past {
    key: SyncKey,
    /// See [`Staged::name`].
    name: Box<str>,
    /// Whether it was applied; otherwise its parts are lost.
    is_applied: bool,
    /// Until when it is known.
    until: Instant,
}

/// The parts of one sync.
struct Staged {
    /// What its requests call the collection. The name, or alias, may stand for another collection later.
    name: Box<str>,
    /// Whether a part came that was not the last.
    has_parts: bool,
    scope: Filter,
    hash_key: JsonPath,
    models: Vec<VectorModels>,
    entries: Arc<SyncEntries>,
    /// The last part, and how many models there were before it. It is taken out when another part comes: it was not applied.
    last: Option<(MergedPart, usize)>,
    collection: Weak<Collection>,
    ends: Instant,
    _held: Held,
}

impl StagedSyncs {
    /// No staged syncs: the parts of an earlier run are lost.
    pub fn new(storage: Arc<dyn Storage>) -> StagedSyncs {
        let noted = NotedSyncs::open(storage);
        let doubtful_until = noted.is_unknown().then(|| Instant::now() + KEPT_FOR);
        StagedSyncs(Mutex::new(Inner {
            staged: HashMap::new(),
            past: VecDeque::new(),
            noted,
            doubtful_until,
        }))
    }

    /// Adds a part, and answers how many points of the source are staged. A part that is sent again counts once. `name` is
    /// what the request calls the collection.
    ///
    /// # Errors
    /// `SyncConflict` for another scope or key than that of the parts before, and where parts of this sync are lost, or are of
    /// another collection that had the name: then they are forgotten. `Overloaded`, `MemoryLimit` and `StorageFull` where
    /// there is no room.
    pub fn stage(
        &self,
        key: SyncKey,
        name: &str,
        collection: &Arc<Collection>,
        sync: SourceSync,
    ) -> Result<u64, Error> {
        let mut inner = self.0.lock();
        inner.remove_ended();
        inner.check_lost(&key)?;
        inner.check_moved(&key, name)?;
        // Before the answer, which says that the part is here.
        inner.noted.begin(&key)?;
        match inner.merge(key.clone(), name, collection, sync) {
            Ok((staged, _)) => {
                staged.has_parts = true;
                Ok(staged.entries.len() as u64)
            }
            Err(error) => {
                if !inner.staged.contains_key(&key) {
                    inner.noted.end(&key);
                }
                Err(error)
            }
        }
    }

    /// The whole sync, whose last part this is. The parts before it stay staged until [`end`](Self::end), in case that the last
    /// one has to be sent again.
    ///
    /// # Errors
    /// `SyncConflict` where not as many points are staged as the last part says, where it does not say it and a sync of that
    /// name was applied lately, and where parts are lost: then nothing of the sync is kept. Otherwise as
    /// [`stage`](Self::stage).
    pub fn complete(
        &self,
        key: SyncKey,
        name: &str,
        collection: &Arc<Collection>,
        sync: SourceSync,
        staged: Option<u64>,
    ) -> Result<SourceSync, Error> {
        let mut inner = self.0.lock();
        inner.remove_ended();
        inner.check_lost(&key)?;
        if staged.is_none() {
            inner.check_moved(&key, name)?;
        }
        inner.check_count(&key, name, staged)?;
        let (if_revision, sent_contents) = (sync.if_revision, sync.sent_contents);
        let models = inner.staged.get(&key).map_or(0, |staged| staged.models.len());
        let (whole, part) = inner.merge(key, name, collection, sync)?;
        whole.last = Some((part, models));
        let (scope, hash_key) = (whole.scope.clone(), whole.hash_key.clone());
        let mut complete = SourceSync::new(scope, hash_key, SyncEntries::default(), VectorModels::default());
        complete.entries = Arc::clone(&whole.entries);
        complete.models.clone_from(&whole.models);
        (complete.if_revision, complete.sent_contents) = (if_revision, sent_contents);
        Ok(complete)
    }

    /// Removes a sync that was applied.
    pub fn end(&self, key: &SyncKey) {
        let mut inner = self.0.lock();
        let ended = inner.staged.remove(key);
        inner.noted.end(key);
        if let Some(ended) = &ended {
            inner.remember(key, ended, true);
        }
        drop(inner);
        drop(ended);
    }

    /// Removes syncs whose next part did not come in time, and those of deleted collections.
    pub fn sweep(&self) {
        let ended = self.0.lock().remove_ended();
        drop(ended);
    }
}

impl Inner {
    fn remove_ended(&mut self) -> Vec<Staged> {
        let now = Instant::now();
        self.past.retain(|past| past.until > now);
        if self.doubtful_until.is_some_and(|end| end <= now) {
            self.doubtful_until = None;
            self.noted.renew();
        }
        let ended: Vec<_> = self.staged.extract_if(|_, staged| !staged.is_alive(now)).collect();
        for (key, staged) in &ended {
            // A later part must not be taken for the first one. The number of a deleted collection comes in none.
            if staged.is_retired() {
                self.noted.end(key)
            } else {
                self.noted.lose(key)
            }
            self.remember(key, staged, false);
        }
        ended.into_iter().map(|(_, staged)| staged).collect()
    }

    /// Keeps it known that a sync had parts.
    fn remember(&mut self, key: &SyncKey, ended: &Staged, is_applied: bool) {
        if !ended.has_parts {
            return;
        }
        self.past.retain(|past| past.key != *key);
        if self.past.len() == MAX_PAST {
            self.past.pop_front();
        }
        let until = Instant::now() + KEPT_FOR;
        self.past.push_back(Past { key: key.clone(), name: ended.name.clone(), is_applied, until });
    }

    /// Whether a sync of this caller and `sync_id` had parts, of this collection or of one that had its name.
    fn is_past(&self, key: &SyncKey, name: &str) -> bool {
        let is_of = |past: &&Past| past.key.collection == key.collection || *past.name == *name;
        self.past.iter().filter(is_of).any(|past| past.key.is_named_as(key))
    }

    fn check_lost(&mut self, key: &SyncKey) -> Result<(), Error> {
        if !self.noted.take_lost(key) {
            return Ok(());
        }
        // It is said once.
        self.past.retain(|past| past.key != *key);
        Err(Error::SyncConflict(format!("sync_id: parts that were staged before are lost: {}", kept())))
    }

    /// Refuses a part where the name of the collection stood for another one when the parts before it came.
    fn check_moved(&mut self, key: &SyncKey, name: &str) -> Result<(), Error> {
        if !self.forget_moved(key, name) {
            return Ok(());
        }
        let what = "parts that were staged before are of another collection, which had this name";
        Err(Error::SyncConflict(format!("sync_id: {what}: {}", kept())))
    }

    /// Removes the parts of this sync that are of another collection which had the name, and what is known of those that are
    /// lost. Says whether there were any.
    fn forget_moved(&mut self, key: &SyncKey, name: &str) -> bool {
        let is_moved = |other: &SyncKey, its_name: &str| {
            other.is_named_as(key) && other.collection != key.collection && its_name == name
        };
        let is_staged =
            |other: &SyncKey, staged: &mut Staged| staged.has_parts && is_moved(other, &staged.name);
        let moved: Vec<_> = self.staged.extract_if(is_staged).collect();
        moved.iter().for_each(|(other, _)| self.noted.end(other));
        let before = self.past.len();
        self.past.retain(|past| past.is_applied || !is_moved(&past.key, &past.name));
        !moved.is_empty() || self.past.len() < before
    }

    /// Checks what the last part says of the parts before it, which may be nothing.
    fn check_count(&mut self, key: &SyncKey, name: &str, said: Option<u64>) -> Result<(), Error> {
        let (found, has_parts) = self.staged.get_mut(key).map_or((0, false), |staged| {
            staged.take_last_back();
            (staged.entries.len() as u64, staged.has_parts)
        });
        let wrong = match said {
            _ if PlantedFault::StagedPartsForgotten.is_on() => return Ok(()),
            Some(said) if said != found => {
                format!("staged: {found} points of this sync_id are staged, not {said}: {}", kept())
            }
            None if self.doubtful_until.is_some_and(|end| Instant::now() < end) => {
                "staged: is needed here: the notes of staged parts are damaged or not in the backup, and some may be lost"
                    .to_owned()
            }
            None if !has_parts && self.is_past(key, name) => {
                "staged: is needed here: parts of this sync_id were applied before, and are not staged any more; say 0 where \
                 this part is all of the source"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        self.forget_moved(key, name);
        self.staged.remove(key);
        self.noted.end(key);
        Err(Error::SyncConflict(wrong))
    }

    /// Whether parts of so many bytes may be staged beside those that are.
    fn check_room(&self, key: &SyncKey, bytes: u64, collection: &Collection) -> Result<(), Error> {
        let held: u64 = self.staged.values().map(|staged| staged.entries.bytes()).sum();
        if held + bytes > MAX_STAGED_BYTES {
            let most = MAX_STAGED_BYTES >> 20;
            return Err(Error::Overloaded(format!(
                "the staged parts of syncs hold {most} MiB, the most at a time"
            )));
        }
        if self.staged.len() >= MAX_STAGED_SYNCS && !self.staged.contains_key(key) {
            return Err(Error::Overloaded(format!(
                "parts of {MAX_STAGED_SYNCS} syncs are staged, the most at a time"
            )));
        }
        if collection.shared().memory.has_room_for(bytes) { Ok(()) } else { Err(Error::MemoryLimit) }
    }

    fn merge(
        &mut self,
        key: SyncKey,
        name: &str,
        collection: &Arc<Collection>,
        sync: SourceSync,
    ) -> Result<(&mut Staged, MergedPart), Error> {
        if let Some(staged) = self.staged.get_mut(&key) {
            staged.take_last_back();
        }
        let entries = Arc::unwrap_or_clone(sync.entries);
        self.check_room(&key, entries.bytes(), collection)?;
        let memory = &collection.shared().memory;
        let staged = self.staged.entry(key).or_insert_with(|| Staged {
            name: name.into(),
            has_parts: false,
            scope: sync.scope.clone(),
            hash_key: sync.hash_key.clone(),
            models: Vec::new(),
            entries: Arc::default(),
            last: None,
            collection: Arc::downgrade(collection),
            ends: Instant::now(),
            _held: memory.hold(0),
        });
        for (field, is_same) in
            [("scope", staged.scope == sync.scope), ("hash_key", staged.hash_key == sync.hash_key)]
        {
            if !is_same {
                let why = "is another one than in the parts before of this sync_id";
                return Err(Error::SyncConflict(format!("{field}: {why}")));
            }
        }
        for models in sync.models {
            if !staged.models.contains(&models) {
                staged.models.push(models);
            }
        }
        let merged = Arc::make_mut(&mut staged.entries);
        // Their bodies are gone, or will be.
        merged.forget_texts();
        let part = merged.merge(entries);
        staged._held = memory.hold(merged.bytes());
        staged.ends = Instant::now() + KEPT_FOR;
        Ok((staged, part))
    }
}

impl Staged {
    /// Takes a last part out that was not applied.
    fn take_last_back(&mut self) {
        if let Some((last, models)) = self.last.take() {
            Arc::make_mut(&mut self.entries).take_back(last);
            self.models.truncate(models);
        }
    }

    fn is_alive(&self, now: Instant) -> bool {
        self.ends > now && self.collection.upgrade().is_some_and(|collection| !collection.is_retired())
    }

    /// Whether its collection was deleted or replaced. One that is not in memory may have been quarantined, and come back.
    fn is_retired(&self) -> bool {
        self.collection.upgrade().is_some_and(|collection| collection.is_retired())
    }
}

/// How long parts are kept, and what to do.
fn kept() -> String {
    let seconds = KEPT_FOR.as_secs();
    format!(
        "parts are kept for {seconds} s and not over a restart; nothing is kept of them now, send all again"
    )
}
