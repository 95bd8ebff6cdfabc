//! What a graph compares: its nodes, as codes or as original vectors.

use super::Distance;
use super::fetch::{Fetch, Kind};
use super::hnsw::Hnsw;
use crate::arena::RowTable;
use crate::types::{Metric, Node};
use crate::vectors::{CodeQuery, CodeTable};
use kithdb_kernels::{Hint, prefetch_range};

/// Distances between queries and the nodes of one graph.
///
/// Distances are finite, never −0, smaller for nearer, and the same whatever method computed them. A graph is built
/// and searched over any space; searching one over another space than it was built in works as far as both agree.
pub trait Space: Sync {
    /// What nodes are compared with: a vector in the form that makes comparisons cheap. Its default is empty until
    /// [`Space::load`] or the code that created it has filled it.
    type Query: Default;

    /// The distance of a node.
    fn one(&self, query: &Self::Query, node: Node) -> f32;

    /// The distances of four nodes; the same numbers as [`Space::one`] gives for each.
    fn four(&self, query: &Self::Query, nodes: [Node; 4]) -> [f32; 4];

    /// Prefetches what a distance to the node needs.
    fn prefetch(&self, node: Node);

    /// Nodes that a walk should prefetch before it scores them.
    fn look_ahead(&self) -> usize;

    /// Whether this space has the node. A space over an older view lacks the rows that came after it.
    #[inline(always)]
    fn can_read(&self, _node: Node) -> bool {
        true
    }

    /// The metric of the distances.
    fn metric(&self) -> Metric;

    /// Turns `query` into one that stands for a node that can be read.
    fn load(&self, node: Node, query: &mut Self::Query);

    /// Whether two nodes that can be read are at the same distance from everything.
    fn is_same(&self, a: Node, b: Node) -> bool;
}

/// The original vectors of a graph's nodes, in one view of the rows.
#[derive(Clone, Copy)]
pub struct Originals<'a> {
    rows: &'a RowTable,
    distance: Distance,
    dim: usize,
    graph: &'a Hnsw,
    hint: Hint,
    /// Bytes of a row that are prefetched.
    ahead_bytes: usize,
    look_ahead: usize,
}

impl<'a> Originals<'a> {
    /// The vectors of `graph`'s nodes, of `dim` components each, which are rows of `rows` or came after it.
    pub fn new(rows: &'a RowTable, distance: Distance, dim: usize, graph: &'a Hnsw) -> Originals<'a> {
        let fetch = Fetch::current(Kind::Originals, rows.row_bytes());
        let look_ahead = fetch.look_ahead(Kind::Originals, rows.row_bytes());
        let ahead_bytes = fetch.bytes(rows.row_bytes());
        Originals { rows, distance, dim, graph, hint: fetch.hint, ahead_bytes, look_ahead }
    }

    #[inline(always)]
    fn row(&self, node: Node) -> &'a [u8] {
        self.rows.row(self.graph.row_of(node).get())
    }
}

impl Space for Originals<'_> {
    type Query = Vec<f32>;

    #[inline(always)]
    fn one(&self, query: &Vec<f32>, node: Node) -> f32 {
        self.distance.one(query, self.row(node))
    }

    #[inline(always)]
    fn four(&self, query: &Vec<f32>, nodes: [Node; 4]) -> [f32; 4] {
        self.distance.four(query, nodes.map(|node| self.row(node)))
    }

    #[inline(always)]
    fn prefetch(&self, node: Node) {
        // Walks prefetch before they check whether the row can be read.
        let row = self.graph.row_of(node).get();
        if self.rows.holds(row) {
            prefetch_range(self.hint, self.rows.row(row).as_ptr(), self.ahead_bytes);
        }
    }

    #[inline(always)]
    fn look_ahead(&self) -> usize {
        self.look_ahead
    }

    #[inline(always)]
    fn can_read(&self, node: Node) -> bool {
        self.rows.holds(self.graph.row_of(node).get())
    }

    #[inline(always)]
    fn metric(&self) -> Metric {
        self.distance.metric()
    }

    fn load(&self, node: Node, query: &mut Vec<f32>) {
        query.clear();
        self.distance.format().decode_for_search(self.row(node), self.dim, query);
    }

    fn is_same(&self, a: Node, b: Node) -> bool {
        self.row(a) == self.row(b)
    }
}

/// The codes of a graph's nodes. Every node has one before it is linked, so no view is too old for it: a walk over
/// codes relies on its filter to leave out what its view must not see.
#[derive(Clone, Copy)]
pub struct Codes<'a> {
    table: &'a CodeTable,
    hint: Hint,
    ahead_bytes: usize,
    look_ahead: usize,
}

impl<'a> Codes<'a> {
    /// The codes in a table that is numbered as the graph is.
    pub fn new(table: &'a CodeTable) -> Codes<'a> {
        let row_bytes = table.row_bytes();
        let fetch = Fetch::current(Kind::Codes, row_bytes);
        let look_ahead = fetch.look_ahead(Kind::Codes, row_bytes);
        Codes { table, hint: fetch.hint, ahead_bytes: fetch.bytes(row_bytes), look_ahead }
    }
}

impl Space for Codes<'_> {
    type Query = CodeQuery;

    #[inline(always)]
    fn one(&self, query: &CodeQuery, node: Node) -> f32 {
        self.table.one(query, node)
    }

    #[inline(always)]
    fn four(&self, query: &CodeQuery, nodes: [Node; 4]) -> [f32; 4] {
        self.table.four(query, nodes)
    }

    #[inline(always)]
    fn prefetch(&self, node: Node) {
        self.table.prefetch(self.hint, node, self.ahead_bytes);
    }

    #[inline(always)]
    fn look_ahead(&self) -> usize {
        self.look_ahead
    }

    #[inline(always)]
    fn metric(&self) -> Metric {
        self.table.metric()
    }

    fn load(&self, node: Node, query: &mut CodeQuery) {
        self.table.load(node, query);
    }

    fn is_same(&self, a: Node, b: Node) -> bool {
        self.table.is_same(a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{CodeParams, Encoder};

    #[test]
    fn codes_are_fetched_several_ahead_whatever_was_measured() {
        let encoder = Encoder::train(Metric::Dot, 64, CodeParams::default(), &[] as &[Vec<f32>], 1);
        assert!(Codes::new(&CodeTable::new(&encoder)).look_ahead() > 1);
    }
}
