//! Parts of sources that wait for the last one (C20). `docs/sync.md` has the design.

use crate::collection::Collection;
use crate::collection::update::{SourceSync, SyncEntries};
use crate::config::ModelClaims;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::limits::{MAX_STAGED_BYTES, MAX_STAGED_SYNCS};
use crate::memory::Held;
use crate::payload::JsonPath;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// How long parts wait for the next one.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// Whose sync it is. The same `sync_id` of another caller or collection is another sync.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct SyncKey {
    pub caller: Box<str>,
    pub collection: u64,
    pub sync_id: Box<str>,
}

/// All syncs that wait for their last part.
#[derive(Default)]
pub(super) struct StagedSyncs(Mutex<HashMap<SyncKey, Staged>>);

/// The parts of one sync.
struct Staged {
    scope: Filter,
    hash_key: JsonPath,
    models: Vec<ModelClaims>,
    entries: Arc<SyncEntries>,
    /// Points of the source so far, without those of the last part.
    count: u64,
    collection: Weak<Collection>,
    ends: Instant,
    _held: Held,
}

impl StagedSyncs {
    /// Adds a part, and answers how many points of the source are staged. A part that is sent again counts once.
    ///
    /// # Errors
    /// `SyncConflict` for another scope or key than that of the parts before; `Overloaded` and `MemoryLimit` where there is no
    /// room.
    pub fn stage(&self, key: SyncKey, collection: &Arc<Collection>, sync: SourceSync) -> Result<u64, Error> {
        let mut all = self.0.lock();
        let count = Self::merge(&mut all, key, collection, sync)?;
        count.count = count.entries.len() as u64;
        Ok(count.count)
    }

    /// The whole sync, whose last part this is. It stays staged until [`end`](Self::end), in case that it has to be sent again.
    ///
    /// # Errors
    /// `SyncConflict` where not as many points are staged as the last part says: then nothing of the sync is kept. Otherwise as
    /// [`stage`](Self::stage).
    pub fn complete(
        &self,
        key: SyncKey,
        collection: &Arc<Collection>,
        sync: SourceSync,
        staged: u64,
    ) -> Result<SourceSync, Error> {
        let mut all = self.0.lock();
        let found = all.get(&key).filter(|staged| staged.is_alive(Instant::now()));
        let found = found.map_or(0, |staged| staged.count);
        if found != staged && !PlantedFault::StagedPartsForgotten.is_on() {
            all.remove(&key);
            return Err(Error::SyncConflict(format!(
                "staged: {found} points of this sync_id are staged, not {staged}: parts are kept for {} s and not over a \
                 restart; nothing is kept of them now, send all again",
                KEPT_FOR.as_secs()
            )));
        }
        let (if_revision, sent_contents) = (sync.if_revision, sync.sent_contents);
        let whole = Self::merge(&mut all, key, collection, sync)?;
        let (scope, hash_key) = (whole.scope.clone(), whole.hash_key.clone());
        let mut complete = SourceSync::new(scope, hash_key, SyncEntries::default(), ModelClaims::default());
        complete.entries = Arc::clone(&whole.entries);
        complete.models.clone_from(&whole.models);
        (complete.if_revision, complete.sent_contents) = (if_revision, sent_contents);
        Ok(complete)
    }

    /// Forgets a sync that was applied.
    pub fn end(&self, key: &SyncKey) {
        let ended = self.0.lock().remove(key);
        drop(ended);
    }

    /// Forgets those whose next part did not come, and those of collections that are gone.
    pub fn sweep(&self) {
        let now = Instant::now();
        let ended: Vec<_> = self.0.lock().extract_if(|_, staged| !staged.is_alive(now)).collect();
        drop(ended);
    }

    fn merge<'m>(
        all: &'m mut HashMap<SyncKey, Staged>,
        key: SyncKey,
        collection: &Arc<Collection>,
        sync: SourceSync,
    ) -> Result<&'m mut Staged, Error> {
        let now = Instant::now();
        all.retain(|_, staged| staged.is_alive(now));
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
            count: 0,
            collection: Arc::downgrade(collection),
            ends: now,
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
        merged.merge(entries);
        staged._held = memory.hold(merged.bytes());
        staged.ends = now + KEPT_FOR;
        Ok(staged)
    }
}

impl Staged {
    fn is_alive(&self, now: Instant) -> bool {
        self.ends > now && self.collection.upgrade().is_some_and(|collection| !collection.is_retired())
    }
}
