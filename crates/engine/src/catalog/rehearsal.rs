//! A start that changes nothing: what would be served, and what would not.

use super::file::CatalogFile;
use super::open::{OpenError, Replay, Slot};
use crate::collection::{Opening, OpeningOptions};
use crate::storage::Storage;
use crate::wal::{self, LogReport, Replayed};
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
    pub outcome: Result<Opening, String>,
}

/// What a start would find.
pub struct Rehearsal {
    /// What the log says of itself.
    pub report: LogReport,
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

/// Goes through a start without writing, whatever `storage` allows: catalog, checkpoints, the log after them. With a
/// name, other collections are left out.
///
/// # Errors
/// What a start could not get past; the catalog's file is one of these.
pub fn rehearse(
    storage: &Arc<dyn Storage>,
    only: Option<&str>,
    options: OpeningOptions,
) -> Result<Rehearsal, OpenError> {
    let mut saved = CatalogFile::load(&**storage).map_err(OpenError::Catalog)?;
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
    replay.lose(&report);
    let Replay { slots, fault, last_lsn, next_id, .. } = replay;
    let found = |(id, Slot { name, opening, .. })| Rehearsed { id, name, outcome: opening };
    let collections = slots.into_iter().map(found).collect();
    Ok(Rehearsal { report, damaged, fault, collections, last_lsn, next_id })
}
