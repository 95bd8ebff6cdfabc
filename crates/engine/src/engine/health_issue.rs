//! What an engine that goes on all the same wants its operator to know: it takes no writes, or fewer, or cannot keep its
//! files in order.

use crate::catalog::Catalog;
use crate::limits::MAX_TOLD_TROUBLES;
use std::sync::atomic::Ordering;

/// What is in trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The disk was full, and has not enough room again: nothing may grow.
    DiskFull,
    /// The log takes no writes until the server is started again.
    Log,
    /// A collection is set aside: its files are damaged.
    Quarantine,
    /// A collection takes no writes until the server is started again.
    Collection,
    /// A checkpoint could not be written, or the log behind it not be cut: the log grows, and with it the next start.
    Checkpoint,
    /// Files of a deleted collection could not be removed.
    Removal,
}

impl TroubleKind {
    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            TroubleKind::DiskFull => "disk_full",
            TroubleKind::Log => "log",
            TroubleKind::Quarantine => "quarantine",
            TroubleKind::Collection => "collection",
            TroubleKind::Checkpoint => "checkpoint",
            TroubleKind::Removal => "removal",
        }
    }
}

/// Something that an operator has to see to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// What is in trouble.
    pub kind: TroubleKind,
    /// The collection, where it is one.
    pub collection: Option<String>,
    /// What is wrong. It may name files relative to the data directory: not for clients.
    pub what: String,
}

/// What is wrong now, what concerns everything first.
pub fn troubles(catalog: &Catalog) -> Vec<Trouble> {
    let shared = catalog.shared();
    let of_all = |kind, what: String| Trouble { kind, collection: None, what };
    let of_one = |kind, name: &str, what: String| Trouble { kind, collection: Some(name.to_string()), what };
    let mut found = Vec::new();
    let unsaved = shared.unsaved_work.load(Ordering::Relaxed) as u64;
    if !shared.reserve.admits_growth(unsaved) {
        let what =
            "the disk is full: writes that make the data grow are refused until there is room".to_string();
        found.push(of_all(TroubleKind::DiskFull, what));
    }
    found.extend(shared.log.fault().map(|fault| of_all(TroubleKind::Log, fault.to_string())));
    found.extend(catalog.upkeep_faults().into_iter().map(|what| of_all(TroubleKind::Checkpoint, what)));
    let removals = catalog.removal_faults();
    found.extend(removals.into_iter().map(|(name, what)| of_one(TroubleKind::Removal, &name, what)));
    for entry in catalog.entries() {
        let mut tell =
            |kind, what: Option<String>| found.extend(what.map(|what| of_one(kind, &entry.name, what)));
        tell(TroubleKind::Quarantine, entry.fault().map(str::to_string));
        if let Some(collection) = entry.collection() {
            tell(TroubleKind::Collection, collection.fault());
            tell(TroubleKind::Checkpoint, collection.checkpoint_fault());
        }
        if found.len() >= MAX_TOLD_TROUBLES {
            break;
        }
    }
    found.truncate(MAX_TOLD_TROUBLES);
    found
}
