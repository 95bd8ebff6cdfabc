//! What an engine serves.

use super::Core;
use super::cursors::CursorFigures;
use super::pool::{Load, Pool};
use crate::catalog::{Entry, Presence, Sleeping};
use crate::collection::{Collection, IndexBacklog, MemoryReport};
use crate::durations::DurationCounts;
use crate::field::calibration::RecallEstimate;
use crate::limits::MAX_HEALTH_ISSUES;
#[cfg(doc)]
use crate::limits::MAX_REPORTED_DAMAGES;
use crate::memory::MemoryUse;
use crate::query::Tally;
use crate::query::calibrating::estimate;
use crate::sync::atomic::Ordering;
use kithdb_kernels::{code_kernels, kernels};

/// What an engine serves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Collections, quarantined ones included.
    pub collections: usize,
    /// Those that are asleep.
    pub asleep: usize,
    /// Live points of all of them.
    pub points: usize,
    /// Quarantined collections.
    pub quarantined: usize,
    /// Name and fault of quarantined collections; at most [`MAX_HEALTH_ISSUES`].
    pub faults: Vec<(String, String)>,
    /// File, relative to the data directory, and a sentence for each piece of damage that the log had when it was
    /// opened; at most [`MAX_REPORTED_DAMAGES`].
    pub log_damages: Vec<(String, String)>,
    /// Points that were removed since the engine was opened because their time had come.
    pub expired_points: u64,
    /// Field indexes that the engine made by itself.
    pub auto_indexes: u64,
    /// What searches did since the engine was opened.
    pub searches: Tally,
    /// The recall of searches of the collection where it is least; `None` where none is calibrated.
    pub recall: Option<RecallEstimate>,
    /// Reads that wait and run.
    pub reads: Load,
    /// The open cursors.
    pub cursors: CursorFigures,
    /// What all collections hold in memory.
    pub memory: MemoryReport,
    /// What is held of the memory that is allowed.
    pub memory_use: MemoryUse,
    /// What is held of the disk.
    pub disk: DiskBytes,
    /// What is in no index yet, over all collections.
    pub backlog: IndexBacklog,
    /// How long the syncs of the log took since the engine was opened.
    pub log_syncs: DurationCounts,
    /// How long the checkpoints of collections took since the engine was opened.
    pub checkpoints: DurationCounts,
    /// How long collections took to wake since the engine was opened.
    pub wakes: DurationCounts,
}

/// Bytes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskBytes {
    /// Bytes of the log's segments.
    pub log: u64,
    /// Bytes of the files of all served collections, at most some seconds old.
    pub data: u64,
}

/// Figures of one collection.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionFigures {
    /// Its name.
    pub name: String,
    /// Live points.
    pub points: u64,
    /// Bytes in memory, maps left out.
    pub memory_bytes: u64,
    /// Bytes of its files.
    pub disk_bytes: u64,
    /// What is in no index yet.
    pub backlog: IndexBacklog,
    /// Requests that searched it since the engine was opened.
    pub searches: u64,
    /// Writes that were applied since it was created.
    pub writes: u64,
    /// The recall of its searches, where it is calibrated.
    pub recall: Option<RecallEstimate>,
}

impl CollectionFigures {
    /// `None` of a collection that is quarantined.
    fn of(entry: &Entry) -> Option<CollectionFigures> {
        let name = entry.name.clone();
        let collection = match entry.presence() {
            Presence::Awake(collection) => collection,
            Presence::Asleep(sleeping) => return Some(CollectionFigures::of_sleeping(entry, &sleeping)),
            Presence::Nothing => return None,
        };
        let view = collection.view();
        Some(CollectionFigures {
            name,
            points: view.points_count() as u64,
            memory_bytes: collection.memory().resident(),
            disk_bytes: collection.disk_bytes(),
            backlog: collection.index_backlog(),
            searches: entry.searches(),
            writes: view.op.get(),
            recall: estimate(&collection.read_snapshot()),
        })
    }

    fn of_sleeping(entry: &Entry, sleeping: &Sleeping) -> CollectionFigures {
        let summary = &sleeping.summary;
        CollectionFigures {
            name: entry.name.clone(),
            points: summary.points,
            memory_bytes: 0,
            disk_bytes: summary.disk_bytes,
            backlog: IndexBacklog::default(),
            searches: entry.searches(),
            writes: summary.op.get(),
            recall: sleeping.recall,
        }
    }
}

impl Status {
    /// Adds a collection that is in memory.
    fn add(&mut self, collection: &Collection) {
        self.points += collection.view().points_count();
        self.memory.add(&collection.memory());
        self.disk.data += collection.disk_bytes();
        self.auto_indexes += collection.auto_indexes();
        self.backlog.add(&collection.index_backlog());
        let estimates = [self.recall, estimate(&collection.read_snapshot())];
        self.recall = estimates.into_iter().flatten().min_by(|a, b| a.recall.total_cmp(&b.recall));
    }
}

/// The instruction sets that this CPU runs the kernels with, such as `avx512`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionSets {
    /// For original vectors.
    pub rows: &'static str,
    /// For codes.
    pub codes: &'static str,
}

/// The instruction sets that were chosen for this CPU.
pub fn instruction_sets() -> InstructionSets {
    InstructionSets { rows: kernels().level.name(), codes: code_kernels().level.name() }
}

impl Core {
    /// What the engine serves now: walks all collections.
    pub(super) fn status(&self) -> Status {
        let shared = self.catalog.shared();
        let mut status = Status {
            log_damages: self.log_damages.clone(),
            reads: self.reads.lock().as_ref().map(Pool::load).unwrap_or_default(),
            searches: self.searches.sum(),
            cursors: self.cursors.figures(),
            memory_use: shared.memory.in_use(),
            expired_points: shared.expired_points.load(Ordering::Relaxed),
            disk: DiskBytes { log: shared.log.figures().disk_bytes(), data: 0 },
            log_syncs: shared.log.figures().syncs.counts(),
            checkpoints: shared.checkpoints.counts(),
            wakes: shared.wakes.counts(),
            ..Status::default()
        };
        for entry in self.catalog.entries() {
            status.collections += 1;
            match entry.presence() {
                Presence::Awake(collection) => status.add(&collection),
                Presence::Asleep(sleeping) => {
                    status.asleep += 1;
                    status.points += sleeping.summary.points as usize;
                    status.disk.data += sleeping.summary.disk_bytes;
                }
                Presence::Nothing => {}
            }
            if let Some(fault) = entry.fault() {
                status.quarantined += 1;
                if status.faults.len() < MAX_HEALTH_ISSUES {
                    status.faults.push((entry.name.clone(), fault.to_string()));
                }
            }
        }
        status
    }

    /// Figures of the collections that were created first, as many as were asked for when the engine was opened: which they
    /// are changes only when one of them is deleted.
    pub(super) fn collection_figures(&self) -> Vec<CollectionFigures> {
        if self.reported_collections == 0 {
            return Vec::new();
        }
        let mut entries = self.catalog.entries();
        entries.sort_unstable_by_key(|entry| entry.id);
        entries
            .iter()
            .filter_map(|entry| CollectionFigures::of(entry))
            .take(self.reported_collections)
            .collect()
    }
}
