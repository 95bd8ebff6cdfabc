//! A start that changes nothing: what would be served, and what would not.

use super::file::{self, CatalogFile, Found, SavedEntry};
use super::open::{OpenError, Replay, Slot};
use super::{CATALOG, CREATE, DROP};
use crate::collection::{Opening, OpeningOptions, Unopened};
use crate::storage::Storage;
use crate::wal::{self, LogReport, Replayed};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A record of the log whose body is damaged under an intact header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedRecord {
    /// Its place in the log.
    pub sequence: u64,
    /// The collection that it belongs to; 0 for the catalog.
    pub collection: u64,
}

/// A collection as a start would find it.
pub struct Rehearsed {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The collection, or why it would be quarantined.
    pub outcome: Result<Opening, Unopened>,
}

/// What a start would find.
pub struct Rehearsal {
    /// What the log says of itself.
    pub report: LogReport,
    /// What is wrong with the catalog's file or its copy: the path, and a sentence. The other was read.
    pub catalog_fault: Option<(&'static str, String)>,
    /// Records with damaged bodies, in order.
    pub damaged: Vec<DamagedRecord>,
    /// Why the server would not start at all.
    pub fault: Option<String>,
    /// The collections by their numbers.
    pub collections: Vec<Rehearsed>,
    /// Log sequence of the catalog's last record.
    pub last_lsn: u64,
    /// Number of the next collection.
    pub next_id: u64,
}

/// Where the list of collections comes from, before the log goes on from there.
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

/// Goes through a start without writing, whatever `storage` allows: catalog, checkpoints, the log after them. With a
/// name, other collections are left out.
///
/// # Errors
/// What a start could not get past.
pub fn rehearse(
    storage: &Arc<dyn Storage>,
    source: Source,
    only: Option<&str>,
    options: OpeningOptions,
) -> Result<Rehearsal, OpenError> {
    let Found { file: mut saved, fault: catalog_fault, .. } = source.load(&**storage)?;
    saved.entries.retain(|(_, name, _)| only.is_none_or(|only| name == only));
    let mut replay = Replay::load(Arc::clone(storage), saved, options);
    replay.only = only.map(str::to_string);
    let mut damaged = Vec::new();
    let visit = &mut |item: Replayed<'_>| {
        if let Replayed::BadBody { sequence, collection, .. } = item {
            damaged.push(DamagedRecord { sequence, collection });
        }
        replay.visit(item);
    };
    let report = wal::inspect(&**storage, visit).map_err(OpenError::Log)?;
    if source == Source::File {
        // Without it nothing tells what was cut from what is lost.
        replay.lose_catalog(&report);
    }
    replay.lose(&report);
    let Replay { slots, fault, last_lsn, next_id, .. } = replay;
    let found = |(id, Slot { name, opening, .. })| Rehearsed { id, name, outcome: opening };
    let collections = slots.into_iter().map(found).collect();
    Ok(Rehearsal { report, catalog_fault, damaged, fault, collections, last_lsn, next_id })
}

/// The catalog as its file and every record that can be read say.
pub struct SavedCatalog(CatalogFile);

/// The catalog, whatever is missing of the log.
///
/// # Errors
/// What keeps the source from being read, and what reading the log cannot get past.
pub fn salvage_catalog(storage: &dyn Storage, source: Source) -> Result<SavedCatalog, OpenError> {
    let mut saved = source.load(storage)?.file;
    let mut entries: BTreeMap<u64, SavedEntry> =
        std::mem::take(&mut saved.entries).into_iter().map(|entry| (entry.0, entry)).collect();
    let visit = &mut |item: Replayed<'_>| {
        let Replayed::Record { sequence, collection, kind, body, .. } = item else { return };
        // A number that is in use is not given out again, whatever was lost of the catalog.
        saved.next_id = saved.next_id.max(collection + 1);
        if collection != CATALOG || sequence <= saved.lsn {
            return;
        }
        saved.lsn = sequence;
        if kind == CREATE
            && let Some((entry, [])) = file::decode_entry(body)
        {
            saved.next_id = saved.next_id.max(entry.0 + 1);
            entries.insert(entry.0, entry);
        } else if let Some(id) = dropped(kind, body) {
            entries.remove(&id);
        }
    };
    wal::salvage(storage, visit).map_err(OpenError::Log)?;
    saved.entries = entries.into_values().collect();
    Ok(SavedCatalog(saved))
}

/// Collections with records in the log that no list names: their creation, or their deletion, is lost.
pub struct Strays {
    listed: BTreeSet<u64>,
    /// Records of each, by the collection's number.
    pub records: BTreeMap<u64, u64>,
}

impl Strays {
    /// None yet.
    pub fn of(catalog: &SavedCatalog) -> Strays {
        let listed = catalog.entries().iter().map(|(id, ..)| *id).collect();
        Strays { listed, records: BTreeMap::new() }
    }

    /// Every collection that the log tells of and `catalog` does not list.
    ///
    /// # Errors
    /// What reading the log cannot get past.
    pub fn find(storage: &dyn Storage, catalog: &SavedCatalog) -> Result<Strays, OpenError> {
        let mut strays = Strays::of(catalog);
        wal::salvage(storage, &mut |item| strays.see(&item)).map_err(OpenError::Log)?;
        Ok(strays)
    }

    /// Takes note of a record, which may stand behind damage.
    pub fn see(&mut self, item: &Replayed<'_>) {
        match *item {
            Replayed::Record { collection: CATALOG, kind, body, .. } => {
                if let Some(id) = dropped(kind, body) {
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

/// The collection that a record of the catalog deletes, if that is what it does.
fn dropped(kind: u8, body: &[u8]) -> Option<u64> {
    (kind == DROP).then(|| body.try_into().ok().map(u64::from_le_bytes)).flatten()
}

impl SavedCatalog {
    /// Number, name and configuration at creation of each collection.
    pub fn entries(&self) -> &[SavedEntry] {
        &self.0.entries
    }

    /// Replaces the catalog's file: it then includes everything up to the sequence `lsn`.
    ///
    /// # Errors
    /// The disk's.
    pub fn store(&self, storage: &dyn Storage, lsn: u64) -> Result<(), OpenError> {
        let CatalogFile { next_id, entries, .. } = &self.0;
        Ok(CatalogFile { lsn, next_id: *next_id, entries: entries.clone() }.store(storage)?)
    }
}
