//! When a graph is rewritten: without its dead nodes, and in the order in which walks meet the others.

use crate::collection::Collection;
use crate::field::{FieldGraph, IndexScratch};
use crate::scheduling::yield_to_reads;
use crate::state::View;
use std::sync::Arc;

/// A graph that has grown by this factor since it was last in order is put in order once it has nothing else to do.
const ORDER_GROWTH: u32 = 4;
/// Rebuild threshold while the disk is full: the share of dead nodes from which on a graph is rewritten.
const FULL_DISK_SHARE: f64 = 0.05;

impl Collection {
    /// Whether the share of dead nodes of a graph has reached the rebuild threshold.
    pub(super) fn is_due_for_rebuild(&self, view: &View, field: usize, graph: &FieldGraph) -> bool {
        let nodes = graph.hnsw.len();
        let optimizers = &view.state.config.optimizers;
        // Some live rows may not be nodes yet: this is a lower bound.
        let dead = u64::from(nodes).saturating_sub(view.fields[field].live());
        let least = optimizers.vacuum_min_vector_number.min(self.shared.thresholds.vacuum_rows);
        // On a full disk the rows that were moved are to be dropped before there is room to move more.
        let is_full = self.shared.reserve.is_spent();
        let share = optimizers.deleted_threshold;
        let share = if is_full { share.min(FULL_DISK_SHARE) } else { share };
        dead >= least.max(1) && dead as f64 >= share * f64::from(nodes)
    }

    /// Whether a graph grew so much since its nodes were last in order that it is worth rewriting.
    pub(super) fn is_out_of_order(&self, graph: &FieldGraph) -> bool {
        let nodes = graph.hnsw.len();
        nodes >= self.shared.thresholds.order_rows && nodes / ORDER_GROWTH >= graph.ordered
    }

    /// Rewrites a graph; `None` when the engine stops or the collection is deleted meanwhile.
    pub(super) fn rewritten(
        &self,
        view: &View,
        field: usize,
        graph: &FieldGraph,
        scratch: &mut IndexScratch,
    ) -> Option<Arc<FieldGraph>> {
        let stop = || {
            self.shared.storage.yield_point("rewriting a graph");
            yield_to_reads();
            self.shared.indexer.is_closed() || self.is_retired()
        };
        graph.rewritten(&view.fields[field], view.op, scratch, &stop).ok().map(Arc::new)
    }
}
