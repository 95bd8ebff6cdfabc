//! Faults of an engine that still serves: it accepts no or fewer writes, or cannot maintain its files.

use crate::catalog::Catalog;
use crate::limits::MAX_HEALTH_ISSUES;
use std::sync::atomic::Ordering;

/// What a health issue is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthIssueKind {
    /// The disk was full and does not have enough room yet: writes that make the data grow are refused.
    DiskFull,
    /// Little memory is left: writes that make the data grow are refused.
    MemoryLimit,
    /// The log accepts no writes until the server is started again.
    Log,
    /// A collection is quarantined: its files are damaged.
    Quarantine,
    /// A collection accepts no writes until the server is started again.
    Collection,
    /// A checkpoint could not be written, or the log could not be cut: the log grows, and the next start takes longer.
    Checkpoint,
    /// Files of a deleted collection could not be removed.
    Removal,
    /// Background work fails because of a defect of the engine, and is tried again.
    Background,
}

impl HealthIssueKind {
    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            HealthIssueKind::DiskFull => "disk_full",
            HealthIssueKind::MemoryLimit => "memory_limit",
            HealthIssueKind::Log => "log",
            HealthIssueKind::Quarantine => "quarantine",
            HealthIssueKind::Collection => "collection",
            HealthIssueKind::Checkpoint => "checkpoint",
            HealthIssueKind::Removal => "removal",
            HealthIssueKind::Background => "background",
        }
    }
}

/// A fault that an operator has to deal with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthIssue {
    /// What it is about.
    pub kind: HealthIssueKind,
    /// The collection, where it is one.
    pub collection: Option<String>,
    /// What is wrong. It may name files relative to the data directory: not for clients.
    pub what: String,
}

/// The issues of this moment, those of the whole engine first.
pub fn health_issues(catalog: &Catalog) -> Vec<HealthIssue> {
    let shared = catalog.shared();
    let of_all = |kind, what: String| HealthIssue { kind, collection: None, what };
    let of_one =
        |kind, name: &str, what: String| HealthIssue { kind, collection: Some(name.to_string()), what };
    let mut found = Vec::new();
    let unsaved = shared.unsaved_work.load(Ordering::Relaxed) as u64;
    if !shared.reserve.admits_growth(unsaved) {
        let what =
            "the disk is full: writes that make the data grow are refused until there is room".to_string();
        found.push(of_all(HealthIssueKind::DiskFull, what));
    }
    let memory = shared.memory.in_use();
    if memory.is_refusing {
        let what = format!(
            "little memory is left: writes that make the data grow are refused until less than 85 % is held (the process \
             holds {} of {} bytes, the engine {} of its {})",
            memory.process, memory.limit, memory.engine, memory.engine_limit
        );
        found.push(of_all(HealthIssueKind::MemoryLimit, what));
    }
    found.extend(shared.log.fault().map(|fault| of_all(HealthIssueKind::Log, fault.to_string())));
    found.extend(
        catalog.maintenance_faults().into_iter().map(|what| of_all(HealthIssueKind::Checkpoint, what)),
    );
    found
        .extend(shared.supervisor.faults().into_iter().map(|what| of_all(HealthIssueKind::Background, what)));
    let removals = catalog.removal_faults();
    found.extend(removals.into_iter().map(|(name, what)| of_one(HealthIssueKind::Removal, &name, what)));
    for entry in catalog.entries() {
        let mut add =
            |kind, what: Option<String>| found.extend(what.map(|what| of_one(kind, &entry.name, what)));
        add(HealthIssueKind::Quarantine, entry.fault().map(str::to_string));
        if let Some(collection) = entry.collection() {
            add(HealthIssueKind::Collection, collection.fault());
            add(HealthIssueKind::Checkpoint, collection.checkpoint_fault());
            add(HealthIssueKind::Background, collection.task_failure());
        }
        if found.len() >= MAX_HEALTH_ISSUES {
            break;
        }
    }
    found.truncate(MAX_HEALTH_ISSUES);
    found
}
