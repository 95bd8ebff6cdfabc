//! The graph of a vector field, filled in the background from the rows that readers already see.

use super::config::{EffectiveHnsw, VectorParams};
use super::field::FieldTable;
use crate::arena::RowTable;
use crate::index::{
    BuildScratch, Distance, Hnsw, HnswParams, Originals, SearchScratch, Space, Stopped, Walk,
};
use parking_lot::Mutex;
use std::cmp::Ordering as Order;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// A graph over the rows `0..indexed` of a field. The rows after them are the tail, which searches scan exactly.
pub struct FieldGraph {
    /// The graph itself.
    pub hnsw: Hnsw,
    distance: Distance,
    dim: usize,
    /// `m` that it was made with.
    pub m: usize,
    /// `ef_construct` that it was made with.
    pub ef_construct: usize,
    /// First row that no indexer has claimed.
    claimed: AtomicU32,
    /// Every row below it is in the graph, or was dead when its turn came.
    indexed: AtomicU32,
    /// Finished claims beyond `indexed`: start → end.
    finished: Mutex<BTreeMap<u32, u32>>,
}

impl FieldGraph {
    /// Rows that an indexer claims at a time: short enough to stop quickly, long enough to make claims rare.
    pub const CLAIM_ROWS: u32 = 128;

    /// An empty graph.
    pub fn new(hnsw: &EffectiveHnsw, params: &VectorParams, seed: u64) -> FieldGraph {
        let made_with = HnswParams { m: hnsw.m, ef_construct: hnsw.ef_construct, seed };
        Self::with(Hnsw::new(made_with), params, hnsw, 0)
    }

    /// A graph from a checkpoint that holds the rows below `indexed`.
    pub fn loaded(graph: Hnsw, params: &VectorParams, hnsw: &EffectiveHnsw, indexed: u32) -> FieldGraph {
        Self::with(graph, params, hnsw, indexed)
    }

    fn with(graph: Hnsw, params: &VectorParams, hnsw: &EffectiveHnsw, indexed: u32) -> FieldGraph {
        FieldGraph {
            hnsw: graph,
            distance: Distance::of(params.metric, params.row_format()),
            dim: params.size,
            m: hnsw.m,
            ef_construct: hnsw.ef_construct,
            claimed: AtomicU32::new(indexed),
            indexed: AtomicU32::new(indexed),
            finished: Mutex::new(BTreeMap::new()),
        }
    }

    /// Whether the graph was made with these parameters.
    pub fn fits(&self, hnsw: &EffectiveHnsw) -> bool {
        self.m == hnsw.m && self.ef_construct == hnsw.ef_construct
    }

    /// First row of the tail.
    ///
    /// A reader loads this *before* its view: a row that was skipped because it was dead is then dead in the
    /// reader's view too.
    pub fn indexed(&self) -> u32 {
        self.indexed.load(Ordering::Acquire)
    }

    /// Claims some rows of the table and puts the live ones into the graph. Several threads may do this at once.
    /// Answers false when there was nothing to claim.
    pub fn index_some(&self, table: &FieldTable, op: u64, scratch: &mut BuildScratch<Vec<f32>>) -> bool {
        let len = table.len();
        let claim = self.claimed.fetch_update(Ordering::AcqRel, Ordering::Acquire, |from| {
            (from < len).then(|| len.min(from + Self::CLAIM_ROWS))
        });
        let Ok(from) = claim else { return false };
        let to = len.min(from + Self::CLAIM_ROWS);
        let space = self.originals(&table.rows);
        let mut query = Vec::with_capacity(self.dim);
        for row in from..to {
            if table.alive(row, op) {
                let slot = self.hnsw.claim(row);
                space.load(slot.node(), &mut query);
                self.hnsw.insert(&space, slot, &query, scratch);
            }
        }
        self.finish(from, to);
        true
    }

    /// The nearest accepted rows that a walk of width `ef` finds, best first, equal distances in the order of `tie`.
    ///
    /// # Errors
    /// [`Stopped`] when `stop` says so.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own, and most are closures")]
    pub fn search(
        &self,
        rows: &RowTable,
        query: &Vec<f32>,
        ef: usize,
        accept: &impl Fn(u32) -> bool,
        tie: &impl Fn(u32, u32) -> Order,
        scratch: &mut SearchScratch,
        stop: &impl Fn() -> bool,
    ) -> Result<Vec<(f32, u32)>, Stopped> {
        let accept = |node| accept(self.hnsw.row_of(node));
        let found =
            self.hnsw.search(&self.originals(rows), query, &Walk::wide(ef), &accept, scratch, stop)?;
        let mut found: Vec<(f32, u32)> =
            found.iter().map(|c| (c.distance(), self.hnsw.row_of(c.node()))).collect();
        for equal in found.chunk_by_mut(|a, b| a.0 == b.0) {
            equal.sort_unstable_by(|a, b| tie(a.1, b.1));
        }
        Ok(found)
    }

    /// The graph's nodes as the rows of a table.
    pub fn originals<'a>(&'a self, rows: &'a RowTable) -> Originals<'a> {
        Originals::new(rows, self.distance, self.dim, &self.hnsw)
    }

    fn finish(&self, from: u32, to: u32) {
        let mut finished = self.finished.lock();
        finished.insert(from, to);
        let mut indexed = self.indexed.load(Ordering::Acquire);
        while let Some(end) = finished.remove(&indexed) {
            indexed = end;
        }
        self.indexed.store(indexed, Ordering::Release);
    }
}
