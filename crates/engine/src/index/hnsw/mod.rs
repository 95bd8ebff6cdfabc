//! Approximate search: a hierarchical navigable small world graph over the nodes of a [`Space`](super::Space).
//!
//! Malkov & Yashunin, *Efficient and robust approximate nearest neighbor search using HNSW graphs*, arXiv 1603.09320,
//! with these differences:
//!
//! - **Nodes are not rows.** The graph numbers its nodes itself and knows the row of each, so it can be written anew
//!   in another order and without its dead nodes. What it compares is a space of its nodes: codes or originals.
//! - **Connected by construction.** Each new node and one older node, its *parent*, have links to each other that no
//!   pruning removes. These links form a tree over all nodes, so the base layer is strongly connected: every node can
//!   be reached from every other, whatever the data and the order of insertion. See [`tree`].
//! - **No locks in readers.** Link rows are arrays of atomics that never move; a node's links are written before the
//!   first link to it. A reader of links that are being rewritten sees a mixture of old and new ones, all of which
//!   name nodes. Writers take the lock bit of one node at a time.
//! - **One mutable graph, many views.** The caller of a walk says which nodes its view accepts. The walk goes through
//!   nodes that are not accepted, and skips those that its space cannot read.
//! - **Equal vectors are linked once.** The others form a chain that begins at the first, see [`duplicates`].
//! - Levels come from a seeded hash of the node's number by integer arithmetic alone: the same insertions give the
//!   same graph on every machine.

mod computer;
mod duplicates;
mod explore;
mod file;
mod forest;
mod frontier;
mod insert;
mod isolated;
mod nodes;
mod parts;
mod pool;
mod rewrite;
mod select;
mod tree;
mod two_hops;
mod visited;
mod walk;
mod word;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub(super) use computer::DistanceComputer;
pub use explore::Further;
pub use file::{GraphError, ReadGraph};
pub use insert::BuildScratch;
pub use nodes::Slot;
pub use pool::Candidate;
pub use walk::{Traversal, WalkParams, WalkScratch, Work};

use crate::types::{Node, Row};
use nodes::Nodes;

/// How a graph is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HnswParams {
    /// Links of a node in the upper layers, half of those in the base layer; 2 to 512.
    pub m: usize,
    /// Candidates that an insertion considers; 1 to 65,536. Less than `m` works as `m`.
    pub ef_construct: usize,
    /// Decides the levels of the nodes.
    pub seed: u64,
}

/// The graph. It holds links and the row of each node; what nodes look like is in the [`Space`](super::Space) that every call is
/// given, always one of the same vectors.
///
/// Insertions and walks take `&self` and go on at the same time from any number of threads.
pub struct Hnsw {
    params: HnswParams,
    nodes: Nodes,
    /// Where walks start: `(level + 1) << 32 | node` of a node on the highest level, 0 in an empty graph.
    entry: AtomicU64,
    /// `node + 1` of the first node, 0 in an empty graph. Where a view starts that is too old for the entry point.
    root: AtomicU64,
    /// `node + 1` of the last parent that was looked for in the tree, 0 while there is none. It may have room.
    last_parent: AtomicU32,
}

impl Hnsw {
    /// Greatest number of nodes.
    pub const MAX_NODES: u32 = Nodes::MAX;

    /// Largest `m`.
    pub const MAX_M: usize = 512;
    /// Largest `ef_construct`.
    pub const MAX_EF_CONSTRUCT: usize = 65_536;

    /// An empty graph. Panics when a parameter is out of its range.
    pub fn new(params: HnswParams) -> Hnsw {
        assert!((2..=Self::MAX_M).contains(&params.m), "m of {}", params.m);
        assert!(
            (1..=Self::MAX_EF_CONSTRUCT).contains(&params.ef_construct),
            "ef_construct of {}",
            params.ef_construct
        );
        Hnsw {
            params,
            nodes: Nodes::new(params.m, params.seed, 0),
            entry: AtomicU64::new(0),
            root: AtomicU64::new(0),
            last_parent: AtomicU32::new(0),
        }
    }

    /// The parameters that the graph is built with.
    pub fn params(&self) -> HnswParams {
        self.params
    }

    /// Number of nodes in the graph, those being inserted included.
    pub fn len(&self) -> u32 {
        self.nodes.len()
    }

    /// The nodes in the graph, those being inserted included.
    pub fn all_nodes(&self) -> impl ExactSizeIterator<Item = Node> + use<> {
        (0..self.len()).map(Node::new)
    }

    /// Whether no node is in the graph.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row of a node that a walk has found, or that is known to be inserted. Panics when there is no such node.
    #[inline(always)]
    pub fn row_of(&self, node: Node) -> Row {
        self.nodes.row_of(node)
    }

    /// The row of a node below [`len`](Self::len); none while another thread is still adding the node.
    pub fn placed_row(&self, node: Node) -> Option<Row> {
        self.nodes.placed_row(node)
    }

    /// Gives a row (below 2³² − 1) the next node. The caller ensures that no row has two.
    ///
    /// Panics when the graph has [`Hnsw::MAX_NODES`].
    pub fn allocate(&self, row: Row) -> Slot {
        self.nodes.allocate(row)
    }

    /// Allocates what `more` nodes will need, so that inserting them does not stop half-way. Without memory it unwinds to the
    /// next `catch` of the allocator.
    pub fn provide(&self, more: u32) {
        self.nodes.provide(more);
    }

    /// Whether there are duplicates: nodes that the space which they were inserted over could not tell from others. A walk
    /// returns them with the distance of the node that they are duplicates of.
    pub fn has_duplicates(&self) -> bool {
        self.nodes.duplicates.exist()
    }

    /// Bytes in memory, vectors not included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.nodes.bytes()
    }

    /// Node and level of the entry point.
    fn entry(&self) -> Option<(Node, usize)> {
        unpack_entry(self.entry.load(Ordering::Acquire))
    }

    fn root(&self) -> Option<Node> {
        (self.root.load(Ordering::Acquire) as u32).checked_sub(1).map(Node::new)
    }

    /// Makes a node the entry point, if its level is above that of the present one.
    fn raise_entry(&self, node: Node, level: usize) {
        let word = pack_entry(node, level);
        // Fails, and rightly does nothing, when the present level is as high.
        let _ = self.entry.fetch_update(Ordering::AcqRel, Ordering::Acquire, |present| {
            unpack_entry(present).is_none_or(|(_, highest)| level > highest).then_some(word)
        });
    }
}

fn pack_entry(node: Node, level: usize) -> u64 {
    ((level as u64 + 1) << 32) | u64::from(node.get())
}

fn unpack_entry(word: u64) -> Option<(Node, usize)> {
    let level = (word >> 32).checked_sub(1)?;
    Some((Node::new(word as u32), level as usize))
}
