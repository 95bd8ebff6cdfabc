//! What an engine serves.

use super::Core;
use super::cursors::CursorFigures;
use super::pool::{Load, Pool};
use crate::collection::MemoryReport;
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
        let log_damages = self.log_damages.clone();
        let reads = self.reads.lock().as_ref().map(Pool::load).unwrap_or_default();
        let searches = self.searches.sum();
        let mut status = Status { searches, reads, log_damages, ..Status::default() };
        status.cursors = self.cursors.figures();
        status.memory_use = self.catalog.shared().memory.in_use();
        status.expired_points = self.catalog.shared().expired_points.load(Ordering::Relaxed);
        for entry in self.catalog.entries() {
            status.collections += 1;
            if let Some(collection) = entry.collection() {
                status.points += collection.view().points_count();
                status.memory.add(&collection.memory());
                let estimates = [status.recall, estimate(&collection.read_snapshot())];
                status.recall = estimates.into_iter().flatten().min_by(|a, b| a.recall.total_cmp(&b.recall));
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
}
