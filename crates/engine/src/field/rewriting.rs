//! Rewriting a graph: without its dead nodes, and in the order in which walks meet the others.

use super::graph::{FieldGraph, IndexScratch, NodeCodes, NodesOfRows};
use super::table::FieldTable;
use crate::faults::PlantedFault;
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
        let end = if PlantedFault::RewriteCoversTail.is_on() { table.end() } else { boundary };
        let mut rewritten = FieldGraph::with(hnsw, self.graph_params, self.metric, codes, end);
        // Nodes that no link led to are missing in the new graph.
        let mut is_kept = vec![false; nodes.len()];
        for &node in &old {
            is_kept.get_mut(node.index()).into_iter().for_each(|kept| *kept = true);
        }
        if PlantedFault::RewriteLosesRows.is_on() {
            is_kept.fill(true);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{GraphParams, VectorParams};
    use crate::field::FieldArena;
    use crate::index::{Hnsw, HnswParams};
    use crate::types::{Metric, PointOffset};

    /// An indexer that ends between the allocation of a node and its links leaves one that no walk meets.
    #[test]
    fn a_row_whose_node_no_link_leads_to_is_in_the_rewritten_graph() {
        const ROWS: u32 = 64;
        let params = VectorParams::new(1, Metric::Euclid);
        let mut arena = FieldArena::new(&params, 4 << 10);
        let mut bytes = Vec::new();
        for owner in 0..ROWS {
            bytes.clear();
            params.row_format().encode(&[owner as f32], &mut bytes);
            arena.push(&bytes, PointOffset::new(owner));
        }
        let table = arena.table();
        let graph_params = GraphParams { m: 4, ef_construct: 16, codes: None };
        let hnsw =
            Hnsw::new(HnswParams { m: graph_params.m, ef_construct: graph_params.ef_construct, seed: 1 });
        hnsw.provide(ROWS);
        let graph = FieldGraph::with(hnsw, graph_params, Metric::Euclid, None, Row::new(ROWS));
        let mut scratch = IndexScratch::default();
        let unlinked = Row::new(40);
        for row in (0..ROWS).map(Row::new) {
            if row == unlinked {
                let _slot = graph.hnsw.allocate(row);
            } else {
                graph.insert(&table, row, &mut scratch);
            }
        }
        let rewritten = graph.rewritten(&table, OpNumber::FIRST, &mut scratch, &|| false);
        let rewritten = rewritten.unwrap_or_else(|_| panic!("nobody stops it"));
        let missing: Vec<Row> =
            (0..ROWS).map(Row::new).filter(|&row| rewritten.node_of(row).is_none()).collect();
        assert_eq!((missing, rewritten.indexed()), (Vec::new(), Row::new(ROWS)));
    }
}
