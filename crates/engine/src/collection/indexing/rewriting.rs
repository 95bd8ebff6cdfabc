//! Writing a graph anew: without its dead nodes, and in the order in which walks meet the others.

use crate::collection::{Collection, View};
use crate::field::graph::{FieldGraph, IndexScratch, NodeCodes, NodesOfRows};
use crate::field::table::FieldTable;
use crate::index::{Codes, Stopped};
use crate::right_of_way::give_way;
use crate::vectors::CodeTable;
use std::sync::Arc;

/// A graph that has grown so many times since it was last in order is put in order once it has nothing else to do.
const ORDER_GROWTH: u32 = 4;
/// Share of dead nodes from which on a graph is rewritten while the disk is full.
const FULL_DISK_SHARE: f64 = 0.05;

impl Collection {
    /// Whether a graph has so many dead nodes that it is to be rewritten.
    pub(in crate::collection) fn is_worn(&self, view: &View, field: usize, graph: &FieldGraph) -> bool {
        let nodes = graph.hnsw.len();
        let optimizers = &view.state.config.optimizers;
        // Of the live rows some may not be nodes yet: there are at least so many dead nodes.
        let dead = u64::from(nodes).saturating_sub(view.fields[field].live());
        let least = optimizers.vacuum_min_vector_number.min(self.shared.thresholds.vacuum_rows);
        // On a full disk the rows that were moved are to be dropped before there is room to move more.
        let is_full = self.shared.reserve.is_spent();
        let share = optimizers.deleted_threshold;
        let share = if is_full { share.min(FULL_DISK_SHARE) } else { share };
        dead >= least.max(1) && dead as f64 >= share * f64::from(nodes)
    }

    /// Whether a graph grew so much since its nodes were last in order that it is worth rewriting.
    pub(in crate::collection) fn is_out_of_order(&self, graph: &FieldGraph) -> bool {
        let nodes = graph.hnsw.len();
        nodes >= self.shared.thresholds.order_rows && nodes / ORDER_GROWTH >= graph.ordered
    }

    /// Rewrites a graph; `None` when the engine stops or the collection is deleted meanwhile.
    pub(in crate::collection) fn rewritten(
        &self,
        view: &View,
        field: usize,
        graph: &FieldGraph,
        scratch: &mut IndexScratch,
    ) -> Option<Arc<FieldGraph>> {
        let stop = || {
            self.shared.storage.turn("rewriting a graph");
            give_way();
            self.shared.indexer.is_closed() || self.is_retired()
        };
        graph.rewritten(&view.fields[field], view.op, scratch, &stop).ok().map(Arc::new)
    }
}

impl FieldGraph {
    /// The graph without the nodes whose rows are dead at operation `op`, and in order. Searches and insertions go on
    /// in this one meanwhile; rows from the new one's boundary on are to be indexed into it.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` says so.
    fn rewritten(
        &self,
        table: &FieldTable,
        op: u64,
        scratch: &mut IndexScratch,
        stop: &(impl Fn() -> bool + Sync),
    ) -> Result<FieldGraph, Stopped> {
        let boundary = self.indexed().min(table.len());
        // Rows from the boundary on may have nodes already, which may not be whole.
        let keep = |node| {
            let row = self.hnsw.placed_row(node);
            row.is_some_and(|row| row < boundary && table.alive(row, op))
        };
        let nodes = self.hnsw.all_nodes();
        let (hnsw, old) = match &self.codes {
            Some(codes) => self.hnsw.rewrite(&Codes::new(&codes.table), &keep, 1, stop)?,
            None => self.hnsw.rewrite(&self.originals(table), &keep, 1, stop)?,
        };
        let codes = self.codes.as_ref().map(|codes| {
            let copy = CodeTable::new(&codes.encoder);
            for (new, &old) in hnsw.all_nodes().zip(&old) {
                copy.copy_node(&codes.table, old, new);
            }
            NodeCodes { encoder: Arc::clone(&codes.encoder), table: copy }
        });
        let mut rewritten = FieldGraph::with(hnsw, self.recipe, self.metric, codes, boundary);
        // A node that nothing led to would be lost with the old graph.
        let mut is_kept = vec![false; nodes.len()];
        for &node in &old {
            is_kept.get_mut(node.index()).into_iter().for_each(|kept| *kept = true);
        }
        let lost = nodes.filter(|&node| !is_kept[node.index()] && keep(node));
        let lost: Vec<u32> = lost.map(|node| self.hnsw.row_of(node)).collect();
        if let Some(&least) = lost.iter().min() {
            rewritten.nodes = NodesOfRows::of(&rewritten.hnsw, least);
        }
        for row in lost {
            rewritten.insert(table, row, scratch);
        }
        rewritten.ordered = rewritten.hnsw.len();
        Ok(rewritten)
    }
}
