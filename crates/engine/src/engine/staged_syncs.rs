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
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long parts wait for the next one.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// Identifies a sync. The same `sync_id` of another caller or collection is another sync.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SyncKey {
    pub caller: Box<str>,
    pub collection: u64,
    pub sync_id: Box<str>,
}

/// All syncs that wait for their last part.
pub(super) struct StagedSyncs(Mutex<Inner>);

struct Inner {
    staged: HashMap<SyncKey, Staged>,
    noted: NotedSyncs,
    /// Until when a sync may have lost parts without a note of it; `None` where the notes were read.
    doubtful_until: Option<Instant>,
}

/// The parts of one sync.
struct Staged {
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
        StagedSyncs(Mutex::new(Inner { staged: HashMap::new(), noted, doubtful_until }))
    }

    /// Adds a part, and answers how many points of the source are staged. A part that is sent again counts once.
    ///
    /// # Errors
    /// `SyncConflict` for another scope or key than that of the parts before, and where parts of this sync are lost: then they
    /// are forgotten. `Overloaded`, `MemoryLimit` and `StorageFull` where there is no room.
    pub fn stage(&self, key: SyncKey, collection: &Arc<Collection>, sync: SourceSync) -> Result<u64, Error> {
        let mut inner = self.0.lock();
        inner.remove_ended();
        inner.check_lost(&key)?;
        // Before the answer, which says that the part is here.
        inner.noted.begin(&key)?;
        match inner.merge(key.clone(), collection, sync) {
            Ok((staged, _)) => Ok(staged.entries.len() as u64),
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
    /// `SyncConflict` where not as many points are staged as the last part says, if it does, and where parts are lost: then
    /// nothing of the sync is kept. Otherwise as [`stage`](Self::stage).
    pub fn complete(
        &self,
        key: SyncKey,
        collection: &Arc<Collection>,
        sync: SourceSync,
        staged: Option<u64>,
    ) -> Result<SourceSync, Error> {
        let mut inner = self.0.lock();
        inner.remove_ended();
        inner.check_lost(&key)?;
        inner.check_count(&key, staged)?;
        let (if_revision, sent_contents) = (sync.if_revision, sync.sent_contents);
        let models = inner.staged.get(&key).map_or(0, |staged| staged.models.len());
        let (whole, part) = inner.merge(key, collection, sync)?;
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
        let ended: Vec<_> = self.staged.extract_if(|_, staged| !staged.is_alive(now)).collect();
        for (key, staged) in &ended {
            // A later part must not be taken for the first one. A collection that is gone has no later part.
            if staged.is_retired() { self.noted.end(key) } else { self.noted.lose(key) }
        }
        ended.into_iter().map(|(_, staged)| staged).collect()
    }

    fn check_lost(&mut self, key: &SyncKey) -> Result<(), Error> {
        if !self.noted.take_lost(key) {
            return Ok(());
        }
        Err(Error::SyncConflict(format!("sync_id: parts that were staged before are lost: {}", kept())))
    }

    /// Checks what the last part says of the parts before it, which may be nothing.
    fn check_count(&mut self, key: &SyncKey, said: Option<u64>) -> Result<(), Error> {
        let found = self.staged.get_mut(key).map_or(0, |staged| {
            staged.take_last_back();
            staged.entries.len() as u64
        });
        let wrong = match said {
            _ if PlantedFault::StagedPartsForgotten.is_on() => return Ok(()),
            Some(said) if said != found => {
                format!("staged: {found} points of this sync_id are staged, not {said}: {}", kept())
            }
            None if self.doubtful_until.is_some_and(|end| Instant::now() < end) => {
                "staged: is needed here: the notes of staged parts are damaged, and some may be lost"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        self.staged.remove(key);
        self.noted.end(key);
        Err(Error::SyncConflict(wrong))
    }

    fn merge(
        &mut self,
        key: SyncKey,
        collection: &Arc<Collection>,
        sync: SourceSync,
    ) -> Result<(&mut Staged, MergedPart), Error> {
        let all = &mut self.staged;
        if let Some(staged) = all.get_mut(&key) {
            staged.take_last_back();
        }
        let entries = Arc::unwrap_or_clone(sync.entries);
        let bytes: u64 = all.values().map(|staged| staged.entries.bytes()).sum();
        if bytes + entries.bytes() > MAX_STAGED_BYTES {
            let most = MAX_STAGED_BYTES >> 20;
            return Err(Error::Overloaded(format!(
                "the staged parts of syncs hold {most} MiB, the most at a time"
            )));
        }
        if all.len() >= MAX_STAGED_SYNCS && !all.contains_key(&key) {
            return Err(Error::Overloaded(format!(
                "parts of {MAX_STAGED_SYNCS} syncs are staged, the most at a time"
            )));
        }
        let memory = &collection.shared().memory;
        if !memory.has_room_for(entries.bytes()) {
            return Err(Error::MemoryLimit);
        }
        let staged = all.entry(key).or_insert_with(|| Staged {
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
        self.ends > now && !self.is_retired()
    }

    fn is_retired(&self) -> bool {
        self.collection.upgrade().is_none_or(|collection| collection.is_retired())
    }
}

/// How long parts are kept, and what to do.
fn kept() -> String {
    let seconds = KEPT_FOR.as_secs();
    format!(
        "parts are kept for {seconds} s and not over a restart; nothing is kept of them now, send all again"
    )
}
