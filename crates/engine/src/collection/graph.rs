//! The graph of a vector field, filled in the background from the rows that readers already see.

use super::config::{EffectiveHnsw, VectorParams};
use super::field::FieldTable;
use crate::index::{BuildScratch, Hnsw, HnswParams};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

/// A graph over the rows `0..indexed` of a field. The rows after them are the tail, which searches scan exactly.
pub struct FieldGraph {
    /// The graph itself.
    pub hnsw: Hnsw,
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
        Self::with(Hnsw::new(made_with, params.metric, params.row_format(), params.size), hnsw, 0)
    }

    /// A graph from a checkpoint that holds the rows below `indexed`.
    pub fn loaded(graph: Hnsw, hnsw: &EffectiveHnsw, indexed: u32) -> FieldGraph {
        Self::with(graph, hnsw, indexed)
    }

    fn with(graph: Hnsw, hnsw: &EffectiveHnsw, indexed: u32) -> FieldGraph {
        FieldGraph {
            hnsw: graph,
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
    pub fn index_some(&self, table: &FieldTable, op: u64, scratch: &mut BuildScratch) -> bool {
        let len = table.len();
        let claim = self.claimed.fetch_update(Ordering::AcqRel, Ordering::Acquire, |from| {
            (from < len).then(|| len.min(from + Self::CLAIM_ROWS))
        });
        let Ok(from) = claim else { return false };
        let to = len.min(from + Self::CLAIM_ROWS);
        for row in from..to {
            if table.alive(row, op) {
                self.hnsw.insert(&table.rows, row, scratch);
            }
        }
        self.finish(from, to);
        true
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
