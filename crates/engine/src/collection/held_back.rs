//! What a view of the past keeps from being freed, as an upper bound.

use super::{Collection, Snapshot};
use crate::faults::PlantedFault;
use std::sync::Arc;

/// Views share what they have in common. A change copies the pieces of the maps in which its points are, which are at most so
/// much larger than the work of its record (256 bytes for each point, and its bytes).
const COPIED_FACTOR: u64 = 32;

/// What a view had, and when it was taken.
#[derive(Clone, Copy, Debug)]
pub struct HeldBack {
    /// Bytes of points, payloads and field indexes, without the rows and graphs.
    state: u64,
    /// The work of the collection's records so far.
    work: u64,
}

impl Collection {
    /// Notes what a snapshot that was just taken may hold back later.
    pub fn held_back_by(&self, snapshot: &Snapshot) -> HeldBack {
        let report = self.memory();
        let state = report.points + report.payloads + report.field_indexes;
        debug_assert_eq!(snapshot.id, self.id, "a snapshot of this collection");
        HeldBack { state, work: self.position.work() }
    }

    /// The most bytes that a snapshot keeps from being freed now: what was changed since of points, payloads and field
    /// indexes, and graphs that were replaced. Rows are on maps once a checkpoint has them.
    pub fn held_back(&self, snapshot: &Snapshot, noted: &HeldBack) -> u64 {
        let changed = self.position.work().saturating_sub(noted.work).saturating_mul(COPIED_FACTOR);
        let view = self.view();
        let is_current = |graph: &Arc<_>| {
            view.fields.iter().any(|table| {
                table.graphs.current.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, graph))
            })
        };
        let replaced = snapshot.graphs.iter().flatten().filter(|(graph, _)| !is_current(graph));
        let graphs: u64 = replaced.map(|(graph, _)| (graph.codes_bytes() + graph.links_bytes()) as u64).sum();
        PlantedFault::HeldBackNotCounted.forgets(changed.min(noted.state) + graphs)
    }
}
