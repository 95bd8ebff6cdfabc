//! The replay of the log at a start: which collections there are, what each of them has, and what is lost.

use super::aliases::{Alias, Aliases};
use super::entry::{Entry, EntryState};
use super::file::{self, CatalogFile, SavedEntry};
use super::loading::{Loaded, Loading, Sleepers, load_checkpoints};
use super::start_preview::DamagedRecord;
use super::{ADOPT, ALIASES, CATALOG, CREATE, DROP};
use crate::allocator::catch;
use crate::checkpoint::Manifest;
use crate::collection::{CHANGES, Cause, OpeningOptions, Shared, Unopened, is_manifest_damaged};
use crate::config::CollectionConfig;
use crate::faults::PlantedFault;
use crate::memory::Memory;
use crate::recent_operations::RecentOperations;
use crate::storage::Storage;
use crate::types::{Lsn, OperationId};
use crate::wal::{DamageKind, LogReport, Replayed};
use imbl::OrdMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The damage that a start found, except what the log reports itself.
#[derive(Debug, Default)]
pub struct StartDamage {
    /// The catalog's file or its copy: what is wrong with it, and what was done.
    pub catalog: Option<(&'static str, String)>,
    /// Records of the log with damaged bodies under intact headers.
    pub records: Vec<DamagedRecord>,
    /// Graphs: the name of the collection, the file, and what is wrong with it.
    pub graphs: Vec<(String, String, String)>,
    /// Numbers of collections whose manifest is damaged: their faults say more.
    pub manifests: BTreeSet<u64>,
    /// Numbers of collections with damaged data files: their faults say more.
    pub data: BTreeSet<u64>,
}

/// A collection while the log is replayed.
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) config: Arc<CollectionConfig>,
    /// LSN of the record that created it; 0 when the log does not hold it any more.
    pub(super) created: Lsn,
    /// It came with a checkpoint, so that one that is not there is lost.
    pub(super) is_adopted: bool,
    pub(super) opening: Result<Loaded, Unopened>,
}

/// A start while the log is replayed: what the checkpoints have, and what the records after them change.
pub(super) struct Replay {
    storage: Arc<dyn Storage>,
    options: OpeningOptions,
    memory: Arc<Memory>,
    /// The one collection that is opened; all of them when absent.
    pub(super) only: Option<String>,
    pub(super) slots: BTreeMap<u64, Slot>,
    pub(super) next_id: u64,
    pub(super) saved_lsn: Lsn,
    pub(super) last_lsn: Lsn,
    /// The last operations on the catalog that came with an identity.
    pub(super) operations: RecentOperations,
    /// Aliases, each with the number of its collection.
    pub(super) aliases: BTreeMap<String, u64>,
    /// The highest number of a collection that has a record in the log.
    highest_id: u64,
    /// What makes the whole directory unusable.
    pub(super) fault: Option<String>,
    /// The damage that was found.
    pub(super) damage: StartDamage,
}

impl Replay {
    /// Loads the checkpoints of the collections that the catalog's file lists.
    /// Those among `sleepers` may be left asleep.
    pub(super) fn load(
        storage: Arc<dyn Storage>,
        saved: CatalogFile,
        options: OpeningOptions,
        memory: Arc<Memory>,
        sleepers: &Sleepers,
    ) -> Replay {
        let loading = Loading { storage: &*storage, options, memory: &memory };
        let openings = load_checkpoints(loading, &saved.entries, sleepers);
        let mut damage = StartDamage::default();
        for ((id, ..), opening) in saved.entries.iter().zip(&openings) {
            damage.note_damage(&*storage, *id, opening);
        }
        let slots = saved
            .entries
            .into_iter()
            .zip(openings)
            .map(|((id, name, config), opening)| {
                (id, Slot { name, config, created: Lsn::NONE, is_adopted: false, opening })
            })
            .collect();
        Replay {
            storage,
            options,
            memory,
            only: None,
            slots,
            next_id: saved.next_id,
            saved_lsn: saved.lsn,
            last_lsn: saved.lsn,
            operations: saved.operations,
            aliases: saved.aliases.into_iter().map(|(id, alias)| (alias, id)).collect(),
            highest_id: 0,
            fault: None,
            damage,
        }
    }

    fn loading(&self) -> Loading<'_> {
        Loading { storage: &*self.storage, options: self.options, memory: &self.memory }
    }

    /// The highest LSN that any checkpoint has.
    pub(super) fn highest_applied(&self) -> Lsn {
        let openings = self.slots.values().filter_map(|slot| slot.opening.as_ref().ok());
        openings.map(Loaded::lsn).max().unwrap_or_default().max(self.saved_lsn)
    }

    /// Applies a record of the log.
    pub(super) fn visit(&mut self, item: Replayed<'_>) {
        if let Replayed::BadBody { lsn, collection, .. } = item {
            self.damage.records.push(DamagedRecord { lsn, collection });
        }
        match item {
            Replayed::Record { lsn, operation, collection: CATALOG, kind, body, .. } => {
                if lsn > self.saved_lsn {
                    self.last_lsn = lsn;
                    operation.iter().for_each(|id| self.operations.note(*id, lsn.get()));
                    if self.catalog_record(lsn, kind, body).is_none() {
                        self.fault =
                            Some("the log holds a catalog record that cannot be decoded".to_string());
                    }
                } else {
                    self.note_creation(lsn, kind, body);
                }
            }
            Replayed::Record { lsn, operation, collection, kind: CHANGES, body, .. } => {
                // The collection of a record may have been deleted, or its creation may be lost.
                self.highest_id = self.highest_id.max(collection);
                self.replay(collection, lsn, operation, body);
            }
            Replayed::Record { collection, .. } => {
                let what = "the log holds a record of an unknown kind: use the release that wrote it, or a later one";
                self.quarantine(collection, Unopened { what: what.to_string(), cause: Cause::OtherFormat });
            }
            Replayed::BadBody { lsn, collection: CATALOG, .. } => {
                if lsn > self.saved_lsn {
                    self.fault = Some("a record of the catalog in the log is damaged".to_string());
                }
            }
            Replayed::BadBody { lsn, collection, .. } => self.lose_behind(collection, lsn),
        }
    }

    /// Applies a record to its collection, if that can still be opened. One that was left asleep is opened first.
    fn replay(&mut self, id: u64, lsn: Lsn, operation: Option<OperationId>, body: &[u8]) {
        let Some(Slot { opening, config, .. }) = self.slots.get_mut(&id) else { return };
        let Ok(loaded) = opening else { return };
        let replay = |loaded: &mut Loaded| {
            let replayed = catch(|| loaded.replay(lsn, operation, body));
            replayed.unwrap_or_else(|refused| Err(refused.into()))
        };
        match replay(loaded) {
            Ok(true) => {}
            Ok(false) => {
                let (storage, options, memory) = (&*self.storage, self.options, &self.memory);
                *opening = Loaded::open(id, config, Loading { storage, options, memory });
                self.damage.note_damage(&*self.storage, id, opening);
                if let Ok(loaded) = opening
                    && let Err(fault) = replay(loaded)
                {
                    *opening = Err(fault);
                }
            }
            Err(fault) => *opening = Err(fault),
        }
    }

    fn catalog_record(&mut self, lsn: Lsn, kind: u8, body: &[u8]) -> Option<()> {
        match kind {
            CREATE => {
                let ((id, name, config), rest) = file::decode_entry(body)?;
                if !rest.is_empty() {
                    return None;
                }
                self.create(lsn, (id, name, config), false);
            }
            ADOPT => {
                for (entry, replaced) in file::decode_adoption(body)? {
                    if let Some(old) = replaced {
                        move_aliases(&mut self.aliases, old, entry.0);
                        self.remove(old);
                    }
                    self.create(lsn, entry, true);
                }
            }
            DROP => self.remove(u64::from_le_bytes(body.try_into().ok()?)),
            ALIASES => change_aliases(&mut self.aliases, file::decode_aliases(body)?),
            _ => return None,
        }
        Some(())
    }

    /// The aliases with the names of their collections.
    pub(super) fn named_aliases(&self) -> Aliases {
        let named = |(alias, id): (&String, &u64)| {
            let slot = self.slots.get(id)?;
            Some((alias.clone(), Alias { id: *id, before: None, collection: slot.name.clone() }))
        };
        self.aliases.iter().filter_map(named).collect()
    }

    /// Adds a collection that a record creates.
    fn create(&mut self, lsn: Lsn, (id, name, config): SavedEntry, is_adopted: bool) {
        if self.only.as_ref().is_none_or(|only| *only == name) {
            let opening = Loaded::open(id, &config, self.loading());
            self.damage.note_damage(&*self.storage, id, &opening);
            self.slots.insert(id, Slot { name, config, created: lsn, is_adopted, opening });
        }
        self.next_id = self.next_id.max(PlantedFault::NumberUsedAgain.forgets(id + 1));
    }

    fn remove(&mut self, id: u64) {
        self.slots.remove(&id);
        self.aliases.retain(|_, target| *target != id);
        self.damage.clear_damage(id);
    }

    /// Notes where the log has the creation of collections that the catalog's file has too.
    fn note_creation(&mut self, lsn: Lsn, kind: u8, body: &[u8]) {
        let created: Vec<u64> = match kind {
            CREATE => file::decode_entry(body).iter().map(|((id, ..), _)| *id).collect(),
            ADOPT => file::decode_adoption(body).iter().flatten().map(|((id, ..), _)| *id).collect(),
            _ => Vec::new(),
        };
        for id in created {
            if let Some(slot) = self.slots.get_mut(&id) {
                slot.created = lsn;
                slot.is_adopted = kind == ADOPT;
            }
        }
    }

    /// Notes records of the catalog that the log has lost, so that collections may be missing from the list.
    pub(super) fn lose_catalog(&mut self, report: &LogReport) {
        let highest_id = report.behind.keys().copied().max().unwrap_or_default().max(self.highest_id);
        let is_behind = report.behind.get(&CATALOG).is_some_and(|&highest| highest > self.saved_lsn);
        let fault = match report.catalog_before.filter(|lsn| *lsn > self.saved_lsn) {
            Some(lsn) => {
                let gap = report.damages.iter().find(|damage| damage.kind == DamageKind::Gap);
                let why = gap.map_or_else(String::new, |gap| format!(". {}: {gap}", gap.file()));
                format!(
                    "record {lsn} of the log is lost, which created or deleted a collection, so nobody knows all \
                     collections{why}"
                )
            }
            None if is_behind || highest_id >= self.next_id => {
                "records of the catalog in the log are damaged".to_string()
            }
            None => return,
        };
        self.fault.get_or_insert(fault);
    }

    /// Notes what else the log has lost.
    ///
    /// It is unknown which collections had records in the unreadable part. Every collection without a later record or
    /// checkpoint may have lost its last changes, and is quarantined rather than served in an older state.
    pub(super) fn lose(&mut self, report: &LogReport) {
        let lost = report.damages.iter().filter(|damage| damage.loses_above(Lsn::NONE));
        let lost = lost.max_by_key(|damage| damage.lost_to.unwrap_or(Lsn::MAX));
        let Some(damage) = lost else { return };
        let lost_to = damage.lost_to.unwrap_or(Lsn::MAX);
        for slot in self.slots.values_mut().filter(|slot| slot.created < lost_to) {
            if slot.opening.as_ref().is_ok_and(|opening| opening.lsn() < lost_to) {
                slot.opening = Err(may_be_its_own(damage.kind).into());
            }
        }
        for (&collection, &highest) in &report.behind {
            self.lose_behind(collection, highest);
        }
    }

    /// Records of a collection up to `highest` cannot be read: unless its checkpoint has them, it is quarantined.
    fn lose_behind(&mut self, collection: u64, highest: Lsn) {
        let lost = self.slots.get(&collection).and_then(|slot| slot.opening.as_ref().ok());
        if lost.is_some_and(|opening| opening.lsn() < highest) {
            self.quarantine(collection, "records of this collection in the log are damaged".into());
        }
    }

    /// Notes collections of which a part is missing, once everything in the log was applied.
    pub(super) fn complete(&mut self) {
        for (&id, slot) in &mut self.slots {
            // The log has a creation that came with its files, and not what it consists of.
            let created = if slot.is_adopted { Lsn::NONE } else { slot.created };
            let fault = slot.opening.as_ref().ok().and_then(|opening| opening.missing(created));
            if let Some(fault) = fault {
                slot.opening = Err(fault.into());
                self.damage.manifests.insert(id);
            }
        }
    }

    /// The collections by name, served or quarantined, and what was damaged.
    pub(super) fn into_entries(self, shared: &Arc<Shared>) -> (OrdMap<String, Arc<Entry>>, StartDamage) {
        let (mut damage, storage) = (self.damage, &self.storage);
        let entries = self.slots.into_iter().map(|(id, Slot { name, config, created, opening, .. })| {
            if let Ok(opening) = &opening {
                let graphs = opening.damaged_graphs().iter();
                damage.graphs.extend(graphs.map(|(file, what)| (name.clone(), file.clone(), what.clone())));
            }
            let state = match opening {
                Ok(loaded) => EntryState::Active(loaded.into_residence(shared, created)),
                Err(fault) => {
                    let needed_from = needed_from(&**storage, id, &fault);
                    EntryState::quarantined(&fault, Some(needed_from))
                }
            };
            (name.clone(), Arc::new(Entry::new(id, name, config, state)))
        });
        let entries = entries.collect();
        (entries, damage)
    }

    fn quarantine(&mut self, collection: u64, fault: Unopened) {
        if let Some(slot) = self.slots.get_mut(&collection) {
            slot.opening = Err(fault);
        }
    }
}

/// From where on the log must keep its records for a collection that cannot be opened.
fn needed_from(storage: &dyn Storage, id: u64, fault: &Unopened) -> Lsn {
    // Nothing was found damaged, and the next start needs what comes behind the checkpoint.
    if fault.cause == Cause::Exhausted
        && let Ok(Some(manifest)) = Manifest::load(storage, id)
    {
        return manifest.lsn;
    }
    // Everything from the start: what can be saved of the collection is still in it.
    Lsn::NONE
}

/// Gives the aliases of a collection to the one that takes its place.
pub(super) fn move_aliases(aliases: &mut BTreeMap<String, u64>, from: u64, to: u64) {
    aliases.values_mut().filter(|target| **target == from).for_each(|target| *target = to);
}

/// Applies a record that changes aliases.
pub(super) fn change_aliases(aliases: &mut BTreeMap<String, u64>, changes: Vec<(u64, String)>) {
    for (id, alias) in changes {
        match id {
            0 => drop(aliases.remove(&alias)),
            id => drop(aliases.insert(alias, id)),
        }
    }
}

impl StartDamage {
    /// Notes the file that keeps a collection from being opened.
    fn note_damage(&mut self, storage: &dyn Storage, id: u64, opening: &Result<Loaded, Unopened>) {
        if opening.as_ref().is_err_and(|fault| fault.cause.is_failure()) {
            let kind = if is_manifest_damaged(storage, id) { &mut self.manifests } else { &mut self.data };
            kind.insert(id);
        }
    }

    /// A deletion may have removed some files of a collection before a crash.
    fn clear_damage(&mut self, id: u64) {
        self.manifests.remove(&id);
        self.data.remove(&id);
    }
}

/// What is wrong with a collection whose records may be among those that were lost.
fn may_be_its_own(kind: DamageKind) -> &'static str {
    match kind {
        DamageKind::Gap | DamageKind::Missing => {
            "segments of the log are missing whose records may be this collection's"
        }
        DamageKind::CutMark => {
            "the mark of how far the log was cut is damaged, and so is its copy: whether segments of the log \
             with records of this collection are missing nobody can tell"
        }
        DamageKind::RecordHeader | DamageKind::SegmentHeader => {
            "records of the log are damaged that may be this collection's"
        }
    }
}
