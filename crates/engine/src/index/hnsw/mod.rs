//! Approximate search: a hierarchical navigable small world graph over the rows of a [`RowTable`].
//!
//! Malkov & Yashunin, *Efficient and robust approximate nearest neighbor search using HNSW graphs*, arXiv 1603.09320,
//! with these differences:
//!
//! - **Connected by construction.** Each new node and one older node, its *parent*, hold links to each other that no
//!   pruning removes. These links form a tree over all nodes, so the base layer is strongly connected: every row can
//!   be reached from every other, whatever the data and the order of insertion. See [`tree`].
//! - **No locks in readers.** Link rows are arrays of atomics that never move; a node's links are written before the
//!   first link to it. A reader that meets a row in the middle of a rewrite sees some mixture of old and new links,
//!   all of which name nodes. Writers take a lock bit of one node at a time.
//! - **One mutable graph, many views.** A search passes the rows that its view holds and what it accepts. It walks
//!   through rows that are not accepted and steps over rows that are too new for the view.
//! - Levels come from a seeded hash of the row number by integer arithmetic alone: the same rows give the same levels
//!   on every machine, and a file need not store them.

mod file;
mod insert;
mod nodes;
mod pool;
mod search;
mod select;
mod tree;
mod visited;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

pub use file::GraphError;
pub use insert::BuildScratch;
pub use search::SearchScratch;

use super::Distance;
use crate::arena::{LinkArena, RowTable};
use crate::types::Metric;
use crate::vectors::RowFormat;
use nodes::Nodes;

/// How a graph is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HnswParams {
    /// Links of a node in the upper layers, half of those in the base layer; 2 to 512.
    pub m: usize,
    /// Candidates that an insertion looks at; 1 to 65,536. Less than `m` works as `m`.
    pub ef_construct: usize,
    /// Decides the levels of the nodes.
    pub seed: u64,
}

/// The graph. It holds links only; the vectors stay in the row table that every call is given, always the same one or
/// a later or earlier snapshot of it.
///
/// Inserting and searching take `&self` and go on at the same time from any number of threads.
pub struct Hnsw {
    params: HnswParams,
    metric: Metric,
    distance: Distance,
    dim: usize,
    nodes: Nodes,
    /// Where searches start: `(level + 1) << 32 | row` of a node on the highest level, 0 in an empty graph.
    entry: AtomicU64,
    /// `row + 1` of the first node, 0 in an empty graph. Where a view starts that is too old for the entry point.
    root: AtomicU64,
}

impl Hnsw {
    /// Rows from this number on cannot be indexed.
    pub const MAX_ROWS: u32 = LinkArena::MAX_ROWS;

    /// Largest `m`.
    pub const MAX_M: usize = 512;
    /// Largest `ef_construct`.
    pub const MAX_EF_CONSTRUCT: usize = 65_536;

    /// An empty graph over rows of `dim` components. Panics when a parameter is out of its range.
    pub fn new(params: HnswParams, metric: Metric, format: RowFormat, dim: usize) -> Hnsw {
        assert!((2..=Self::MAX_M).contains(&params.m), "m of {}", params.m);
        assert!(
            (1..=Self::MAX_EF_CONSTRUCT).contains(&params.ef_construct),
            "ef_construct of {}",
            params.ef_construct
        );
        Hnsw {
            params,
            metric,
            distance: Distance::of(metric, format),
            dim,
            nodes: Nodes::new(params.m, params.seed),
            entry: AtomicU64::new(0),
            root: AtomicU64::new(0),
        }
    }

    /// The parameters that the graph is built with.
    pub fn params(&self) -> HnswParams {
        self.params
    }

    /// The metric that the graph is built for.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Number of rows in the graph, those on their way included.
    pub fn len(&self) -> u32 {
        self.nodes.len()
    }

    /// Whether no row is in the graph.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a row has been inserted, or is being inserted.
    pub fn contains(&self, row: u32) -> bool {
        self.nodes.contains(row)
    }

    /// Bytes in memory, vectors not included.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.nodes.bytes()
    }

    /// Puts a row into `vector`, as it is compared.
    fn load(&self, rows: &RowTable, row: u32, vector: &mut Vec<f32>) {
        vector.clear();
        self.distance.format().decode_for_search(rows.row(row), self.dim, vector);
    }

    /// Row and level of the entry point.
    fn entry(&self) -> Option<(u32, usize)> {
        unpack_entry(self.entry.load(Ordering::Acquire))
    }

    fn root(&self) -> Option<u32> {
        (self.root.load(Ordering::Acquire) as u32).checked_sub(1)
    }

    /// Makes a node the entry point, if its level is above that of the present one.
    fn raise_entry(&self, row: u32, level: usize) {
        let word = pack_entry(row, level);
        // Fails, and rightly does nothing, when the present level is as high.
        let _ = self.entry.fetch_update(Ordering::AcqRel, Ordering::Acquire, |present| {
            unpack_entry(present).is_none_or(|(_, highest)| level > highest).then_some(word)
        });
    }
}

fn pack_entry(row: u32, level: usize) -> u64 {
    ((level as u64 + 1) << 32) | u64::from(row)
}

fn unpack_entry(word: u64) -> Option<(u32, usize)> {
    let level = (word >> 32).checked_sub(1)?;
    Some((word as u32, level as usize))
}

/// A vector to compare rows with, and where these are.
#[derive(Clone, Copy)]
struct Probe<'a> {
    rows: &'a RowTable,
    distance: Distance,
    vector: &'a [f32],
}

impl<'a> Probe<'a> {
    fn new(rows: &'a RowTable, distance: Distance, vector: &'a [f32]) -> Probe<'a> {
        let row_bytes = distance.format().row_bytes(vector.len());
        assert_eq!(row_bytes, rows.row_bytes(), "query of a wrong length");
        Probe { rows, distance, vector }
    }

    /// Whether the view of this search holds the row.
    fn can_read(&self, row: u32) -> bool {
        row < self.rows.len()
    }

    fn one(&self, row: u32) -> f32 {
        self.distance.one(self.vector, self.rows.row(row))
    }
}
