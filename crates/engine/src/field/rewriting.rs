//! Rewriting a graph: without its dead nodes, and in the order in which walks meet the others.

use super::graph::{FieldGraph, IndexScratch, NodeCodes, NodesOfRows};
use super::table::FieldTable;
use crate::index::{Codes, Stopped};
use crate::types::{OpNumber, Row};
use crate::vectors::CodeTable;
use std::sync::Arc;

impl FieldGraph {
    /// A new graph without the nodes whose rows are dead at operation `op`, in the order of walks. Searches and insertions into
    /// this one go on meanwhile. Rows from the boundary of the new one on are to be indexed into it.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true.
    pub fn rewritten(
        &self,
        table: &FieldTable,
        op: OpNumber,
        scratch: &mut IndexScratch,
        stop: &(impl Fn() -> bool + Sync),
    ) -> Result<FieldGraph, Stopped> {
        let boundary = self.indexed().min(table.end());
        // Rows from the boundary on may have nodes already, whose insertion may not be finished.
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
        // Nodes that no link led to are missing in the new graph.
        let mut is_kept = vec![false; nodes.len()];
        for &node in &old {
            is_kept.get_mut(node.index()).into_iter().for_each(|kept| *kept = true);
        }
        let lost = nodes.filter(|&node| !is_kept[node.index()] && keep(node));
        let lost: Vec<Row> = lost.map(|node| self.hnsw.row_of(node)).collect();
        if let Some(&least) = lost.iter().min() {
            rewritten.nodes = NodesOfRows::of(&rewritten.hnsw, Some(least));
        }
        for row in lost {
            rewritten.insert(table, row, scratch);
        }
        rewritten.ordered = rewritten.hnsw.len();
        Ok(rewritten)
    }
}
