//! What a collection holds in memory, by component.

use super::Collection;
use crate::payload::FieldIndex;
use crate::state::{AutoIndex, DeclaredIndex, Expiry};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a collection by component. Maps are not memory: the system keeps of them what it has room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Original vectors in memory.
    pub originals: u64,
    /// Original vectors on read-only maps.
    pub originals_mapped: u64,
    /// Codes of the graphs' nodes.
    pub codes: u64,
    /// Links of the graphs, which node stands for which row, and the inverted indexes of sparse fields.
    pub links: u64,
    /// Points, ids, owners and deaths of rows, and the operations that came with an identity.
    pub points: u64,
    /// Payloads that no checkpoint has written yet.
    pub payloads: u64,
    /// Field indexes, with what they keep for searches, as they were when they were last measured, and the groups of points
    /// that are kept for grouped queries.
    pub field_indexes: u64,
}

/// Field indexes are measured no more often than this.
const MEASURED_EVERY: Duration = Duration::from_secs(10);
/// The next measurement waits this many times the duration of the last: measuring takes one percent of a core.
const MEASURED_FACTOR: u32 = 100;

/// Bytes of a collection's field indexes, which only a walk through all their values tells.
#[derive(Default)]
pub(super) struct IndexBytes {
    measured: AtomicU64,
    /// Bytes of the automatic indexes; measured when their number changes, and at the same intervals.
    automatic: AtomicU64,
    last: Mutex<Option<LastMeasured>>,
}

struct LastMeasured {
    /// How many indexes there were.
    indexes: usize,
    /// When they are to be measured again.
    due: Instant,
}

impl MemoryReport {
    /// Component by component.
    pub fn add(&mut self, other: &MemoryReport) {
        self.originals += other.originals;
        self.originals_mapped += other.originals_mapped;
        self.codes += other.codes;
        self.links += other.links;
        self.points += other.points;
        self.payloads += other.payloads;
        self.field_indexes += other.field_indexes;
    }

    /// Bytes in memory, maps left out.
    pub fn resident(&self) -> u64 {
        self.originals + self.codes + self.links + self.points + self.payloads + self.field_indexes
    }
}

impl Collection {
    /// Measures the field indexes, unless the same were measured lately.
    pub fn measure_indexes(&self) {
        let mut last = self.index_bytes.last.lock();
        let view = self.view();
        let built = view.state.indexes.iter().filter_map(DeclaredIndex::built);
        let (indexes, started) = (built.clone().count(), Instant::now());
        if last.as_ref().is_some_and(|last| last.indexes == indexes && started < last.due) {
            return;
        }
        self.index_bytes.measured.store(built.map(FieldIndex::memory_bytes).sum(), Ordering::Relaxed);
        self.measure_auto_indexes();
        let due = started + MEASURED_EVERY.max(started.elapsed() * MEASURED_FACTOR);
        *last = Some(LastMeasured { indexes, due });
    }

    /// Measures the automatic indexes.
    pub(super) fn measure_auto_indexes(&self) {
        let view = self.view();
        let built = view.state.auto_indexes.iter().filter_map(AutoIndex::built);
        self.index_bytes.automatic.store(built.map(FieldIndex::memory_bytes).sum(), Ordering::Relaxed);
    }

    /// Bytes of the automatic indexes, which give way to everything else, as they were when they were last measured.
    pub fn automatic_bytes(&self) -> u64 {
        self.index_bytes.automatic.load(Ordering::Relaxed)
    }

    /// About what the graphs will take for the rows that are not in them yet.
    pub fn unbuilt_bytes(&self) -> u64 {
        let view = self.view();
        let unbuilt = |field: usize| {
            let slot = &view.fields[field].graphs;
            let graph = slot.next.load_full().or_else(|| slot.current.load_full())?;
            let rows = view.fields[field].len().saturating_sub(graph.claimed().get());
            // Dead ones are left out.
            let rows = u64::from(rows).min(view.fields[field].live());
            Some(rows * graph.node_bytes(view.fields[field].dim))
        };
        (0..view.fields.len()).filter_map(unbuilt).sum()
    }

    /// What the collection holds now, its field indexes as they were when they were last measured.
    pub fn memory(&self) -> MemoryReport {
        let view = self.view();
        let mut report = MemoryReport {
            payloads: view.state.payload_bytes,
            field_indexes: self.index_bytes.measured.load(Ordering::Relaxed)
                + self.automatic_bytes()
                + self.group_keys.memory_bytes(),
            ..MemoryReport::default()
        };
        for table in view.fields.iter() {
            report.originals += table.rows.memory_bytes() as u64;
            report.originals_mapped += table.rows.mapped_bytes() as u64;
            report.points += table.columns_bytes() as u64;
            for graph in [table.graphs.current.load_full(), table.graphs.next.load_full()].iter().flatten() {
                report.codes += graph.codes_bytes() as u64;
                report.links += graph.links_bytes() as u64;
            }
        }
        for table in view.sparse.iter() {
            report.originals += table.rows.memory_bytes() as u64;
            report.originals_mapped += table.rows.mapped_bytes() as u64;
            report.links += table.blocks.memory_bytes() as u64;
            report.points += table.columns_bytes() as u64;
        }
        report.points += view.state.points.memory_bytes();
        report.points += view.state.ids.memory_bytes();
        report.points += view.state.id_bytes;
        report.points += view.state.live.memory_bytes() + view.state.operations.memory_bytes();
        report.points += view.state.expiry.as_ref().map_or(0, Expiry::memory_bytes);
        report
    }
}
