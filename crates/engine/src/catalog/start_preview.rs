//! A preview of a start: a start that changes nothing, and reports which collections would be served.

use super::file::{self, CatalogFile, Found, SavedEntry};
use super::loading::{Loaded, Sleepers};
use super::open::unknown_folder;
use super::replay::{Replay, Slot, change_aliases, move_aliases};
use super::{ADOPT, ALIASES, CATALOG, CREATE, DROP, OpenError};
use crate::collection::{Opening, OpeningOptions, Unopened};
use crate::memory::{Memory, MemoryLimit};
use crate::storage::Storage;
use crate::types::Lsn;
use crate::wal::{self, LogReport, Replayed};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A record of the log whose body is damaged under an intact header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Its place in the log.
    pub lsn: Lsn,
    /// The collection that it belongs to; 0 for the catalog.
    pub collection: u64,
}

impl DamagedRecord {
    /// The path of its segment, relative to the data directory, and a sentence.
    pub fn describe(&self, storage: &dyn Storage) -> (String, String) {
        let file = wal::path_holding(storage, self.lsn).unwrap_or_else(|_| "log".to_string());
        (file, format!("the body of record {} does not have its checksum", self.lsn))
    }
}

/// A collection as a start would find it.
pub struct PreviewedCollection {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The collection, or why it would be quarantined.
    pub outcome: Result<Opening, Unopened>,
}

/// What a start would find.
pub struct StartPreview {
    /// What the log says of itself.
    pub report: LogReport,
    /// What is wrong with the catalog's file or its copy: the path, and a sentence. The other was read.
    pub catalog_fault: Option<(&'static str, String)>,
    /// Records with damaged bodies, in order.
    pub damaged: Vec<DamagedRecord>,
    /// Why the server would not start at all.
    pub fault: Option<String>,
    /// The collections by their numbers.
    pub collections: Vec<PreviewedCollection>,
    /// LSN of the catalog's last record.
    pub last_lsn: Lsn,
    /// Number of the next collection.
    pub next_id: u64,
}

/// The source of the list of collections, to which the records of the log are then applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The catalog's file, or its copy.
    File,
    /// The folders of the collections, when both files are lost: names are made up.
    Folders,
}

impl Source {
    fn load(self, storage: &dyn Storage) -> Result<Found, OpenError> {
        match self {
            Source::File => Ok(CatalogFile::load(storage)?),
            Source::Folders => {
                Ok(Found { file: CatalogFile::from_folders(storage)?, fault: None, stale: None })
            }
        }
    }
}

/// Performs a start without writing, even if `storage` would allow it: catalog, checkpoints, the log after them. With a
/// name, other collections are left out.
///
/// # Errors
/// What would stop a start.
pub fn preview_start(
    storage: &Arc<dyn Storage>,
    source: Source,
    only: Option<&str>,
    options: OpeningOptions,
) -> Result<StartPreview, OpenError> {
    let Found { file: mut saved, fault: catalog_fault, .. } = source.load(&**storage)?;
    saved.entries.retain(|(_, name, _)| only.is_none_or(|only| name == only));
    // A preview is not of a server, whose limit is another.
    let memory = Arc::new(Memory::of(MemoryLimit::None));
    let mut replay = Replay::load(Arc::clone(storage), saved, options, memory, &Sleepers::default());
    replay.only = only.map(str::to_string);
    let applied = replay.highest_applied();
    let report = wal::inspect(&**storage, applied, &mut |item| replay.visit(item)).map_err(OpenError::Log)?;
    if source == Source::File {
        // Without the catalog, records that were cut cannot be distinguished from records that are lost.
        replay.lose_catalog(&report);
        if replay.fault.is_none() {
            replay.fault = unknown_folder(&**storage, replay.next_id)?;
        }
    }
    replay.lose(&report);
    replay.complete();
    let Replay { slots, fault, last_lsn, next_id, damage, .. } = replay;
    // None is left asleep.
    let found = |(id, Slot { name, opening, .. }): (u64, Slot)| {
        let outcome = opening.and_then(Loaded::into_opening);
        PreviewedCollection { id, name, outcome }
    };
    let collections = slots.into_iter().map(found).collect();
    Ok(StartPreview { report, catalog_fault, damaged: damage.records, fault, collections, last_lsn, next_id })
}

/// As [`preview_start`], of the catalog and the log alone: no collection is loaded, so that little memory is needed.
///
/// # Errors
/// As for [`preview_start`].
pub fn preview_log(storage: &Arc<dyn Storage>) -> Result<StartPreview, OpenError> {
    // No collection has an empty name.
    preview_start(storage, Source::File, Some(""), OpeningOptions::default())
}

/// The catalog as its file, every record that can be read, and the folders say.
pub struct SavedCatalog {
    file: CatalogFile,
    /// Collections of which only the folder is left: their names are made up.
    nameless: BTreeSet<u64>,
    /// Collections that are known to have been deleted, of numbers that the file had not given out yet.
    deleted: BTreeSet<u64>,
    /// Collections whose creation the log holds.
    created: BTreeSet<u64>,
    /// The file lists every collection with a number below this that was not deleted.
    listed_below: u64,
}

/// The catalog, also when parts of the log are missing. Where the log `is_lossy`, creations may be among the lost
/// records; then the folders show which collections have a checkpoint.
///
/// # Errors
/// When the source or the log cannot be read at all.
pub fn salvage_catalog(
    storage: &dyn Storage,
    source: Source,
    is_lossy: bool,
) -> Result<SavedCatalog, OpenError> {
    let mut saved = source.load(storage)?.file;
    let mut entries: BTreeMap<u64, SavedEntry> =
        std::mem::take(&mut saved.entries).into_iter().map(|entry| (entry.0, entry)).collect();
    let mut aliases = SalvagedAliases::of(std::mem::take(&mut saved.aliases));
    let (mut nameless, mut deleted, mut created) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let listed_below = if source == Source::File { saved.next_id } else { 0 };
    if source == Source::Folders {
        nameless.extend(entries.keys());
    } else if is_lossy {
        // Of numbers that the file has given out, those that it does not list were deleted before it was written.
        let folders = CatalogFile::from_folders(storage)?;
        let later = folders.entries.into_iter().filter(|(id, ..)| *id >= listed_below);
        let later: BTreeMap<u64, SavedEntry> = later.map(|entry| (entry.0, entry)).collect();
        nameless.extend(later.keys());
        entries.extend(later);
        saved.next_id = saved.next_id.max(folders.next_id);
    }
    let visit = &mut |item: Replayed<'_>| {
        let Replayed::Record { lsn, operation, collection, kind, body, .. } = item else { return };
        // A number that is in use is not given out again, even if parts of the catalog are lost.
        saved.next_id = saved.next_id.max(collection + 1);
        if collection != CATALOG {
            return;
        }
        let made = made(kind, body);
        // An adoption has the files beside its record, and not in the log.
        created.extend(made.iter().map(|(id, ..)| *id).filter(|_| kind == CREATE));
        if lsn <= saved.lsn {
            return;
        }
        saved.lsn = lsn;
        operation.iter().for_each(|id| saved.operations.note(*id, lsn.get()));
        for id in dropped(kind, body) {
            nameless.remove(&id);
            entries.remove(&id);
            deleted.insert(id);
        }
        aliases.see(kind, body);
        for entry in made {
            saved.next_id = saved.next_id.max(entry.0 + 1);
            nameless.remove(&entry.0);
            entries.insert(entry.0, entry);
        }
    };
    wal::salvage(storage, visit).map_err(OpenError::Log)?;
    name_nameless(&nameless, &mut entries);
    saved.aliases = aliases.kept(&entries);
    saved.entries = entries.into_values().collect();
    Ok(SavedCatalog { file: saved, nameless, deleted, created, listed_below })
}

/// Makes up the names of collections of which only the folder is left.
fn name_nameless(nameless: &BTreeSet<u64>, entries: &mut BTreeMap<u64, SavedEntry>) {
    for id in nameless {
        // A collection that a client created with such a name keeps it.
        let is_taken = |name: &String| entries.values().any(|(other, taken, _)| other != id && taken == name);
        let names = (2..).map(|at| format!("recovered-{id}-{at}"));
        let name = std::iter::once(format!("recovered-{id}")).chain(names).find(|name| !is_taken(name));
        if let (Some((_, entry_name, _)), Some(name)) = (entries.get_mut(id), name) {
            *entry_name = name;
        }
    }
}

/// The aliases as the file and the records that can be read say, with the numbers of their collections.
struct SalvagedAliases(BTreeMap<String, u64>);

impl SalvagedAliases {
    fn of(saved: Vec<(u64, String)>) -> SalvagedAliases {
        SalvagedAliases(saved.into_iter().map(|(id, alias)| (alias, id)).collect())
    }

    /// Applies a record of the catalog, which may make collections in the place of others.
    fn see(&mut self, kind: u8, body: &[u8]) {
        if kind == ALIASES
            && let Some(changes) = file::decode_aliases(body)
        {
            change_aliases(&mut self.0, changes);
        }
        let adopted = if kind == ADOPT { file::decode_adoption(body) } else { None };
        for ((id, ..), replaced) in adopted.iter().flatten() {
            replaced.iter().for_each(|old| move_aliases(&mut self.0, *old, *id));
        }
    }

    /// The aliases of collections that exist. Where parts of the log are missing, an alias may name a deleted collection, or
    /// equal the name of a new one; such aliases are left out.
    fn kept(mut self, entries: &BTreeMap<u64, SavedEntry>) -> Vec<(u64, String)> {
        let names: BTreeSet<&str> = entries.values().map(|(_, name, _)| name.as_str()).collect();
        self.0.retain(|alias, id| entries.contains_key(id) && !names.contains(alias.as_str()));
        self.0.into_iter().map(|(alias, id)| (id, alias)).collect()
    }
}

/// Collections with records in the log that no list names: their creation, or their deletion, is lost.
pub struct UnlistedCollections {
    listed: BTreeSet<u64>,
    /// Records of each, by the collection's number.
    pub records: BTreeMap<u64, u64>,
}

impl UnlistedCollections {
    /// None yet.
    pub fn of(catalog: &SavedCatalog) -> UnlistedCollections {
        let listed = catalog.entries().iter().map(|(id, ..)| *id).collect();
        UnlistedCollections { listed, records: BTreeMap::new() }
    }

    /// Every collection that has records in the log and that `catalog` does not list.
    ///
    /// # Errors
    /// When the log cannot be read at all.
    pub fn find(storage: &dyn Storage, catalog: &SavedCatalog) -> Result<UnlistedCollections, OpenError> {
        let mut unlisted = UnlistedCollections::of(catalog);
        wal::salvage(storage, &mut |item| unlisted.see(&item)).map_err(OpenError::Log)?;
        Ok(unlisted)
    }

    /// Counts a record, which may come after damage.
    pub fn see(&mut self, item: &Replayed<'_>) {
        match *item {
            Replayed::Record { collection: CATALOG, kind, body, .. } => {
                for id in dropped(kind, body) {
                    self.records.remove(&id);
                }
            }
            Replayed::Record { collection, .. } if !self.listed.contains(&collection) => {
                *self.records.entry(collection).or_default() += 1;
            }
            Replayed::Record { .. } | Replayed::BadBody { .. } => {}
        }
    }
}

/// The collections that a record of the catalog makes.
fn made(kind: u8, body: &[u8]) -> Vec<SavedEntry> {
    match kind {
        CREATE => file::decode_entry(body).map(|(entry, _)| entry).into_iter().collect(),
        ADOPT => file::decode_adoption(body).into_iter().flatten().map(|(entry, _)| entry).collect(),
        _ => Vec::new(),
    }
}

/// The collections that a record of the catalog deletes.
fn dropped(kind: u8, body: &[u8]) -> Vec<u64> {
    match kind {
        DROP => body.try_into().ok().map(u64::from_le_bytes).into_iter().collect(),
        ADOPT => {
            file::decode_adoption(body).into_iter().flatten().filter_map(|(_, replaced)| replaced).collect()
        }
        _ => Vec::new(),
    }
}

impl SavedCatalog {
    /// Number, name and configuration at creation of each collection.
    pub fn entries(&self) -> &[SavedEntry] {
        &self.file.entries
    }

    /// Whether only the folder of a collection is left, so that its name is made up.
    pub fn is_nameless(&self, id: u64) -> bool {
        self.nameless.contains(&id)
    }

    /// Whether a collection that it does not list is known to have been deleted.
    pub fn is_deleted(&self, id: u64) -> bool {
        id < self.listed_below || self.deleted.contains(&id)
    }

    /// Whether the log holds the creation of a collection.
    pub fn is_created_in_log(&self, id: u64) -> bool {
        self.created.contains(&id)
    }

    /// LSN of the last record that it includes.
    pub fn lsn(&self) -> Lsn {
        self.file.lsn
    }

    /// Replaces the catalog's file: it then includes everything up to the LSN `lsn`.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn store(&self, storage: &dyn Storage, lsn: Lsn) -> Result<(), OpenError> {
        Ok(CatalogFile { lsn, ..self.file.clone() }.store(storage)?)
    }
}
