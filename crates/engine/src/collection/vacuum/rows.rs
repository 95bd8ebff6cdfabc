//! Chunks and blocks of rows that are mostly dead.

use crate::field::FieldTable;
use crate::field::sparse_table::SparseTable;
use crate::index::sparse::Block;
use crate::state::{MOVED_BYTES, View};
use crate::types::{OpNumber, Row, RowRange};
use std::sync::Arc;

/// A chunk is emptied when its rows divided by this are dead. Emptied at a half, every byte that is moved frees another.
const EMPTYING_DIVISOR: u32 = 2;

/// A full chunk with enough dead rows to be emptied.
pub(super) struct MostlyDeadChunk {
    pub chunk: u32,
    /// Rows of it that are alive.
    pub live: u32,
}

/// The bytes of some live rows of a field, about.
pub(super) fn live_bytes(view: &View, position: usize, live: u32) -> u64 {
    let dense = view.fields.get(position);
    dense.map_or(MOVED_BYTES as u64, |table| u64::from(live) * table.rows.row_bytes() as u64)
}

/// Rows of a field of any kind that die and are given back in chunks.
pub(super) trait ChunkedRows {
    fn len(&self) -> u32;
    fn live(&self) -> u64;
    fn alive(&self, row: Row, op: OpNumber) -> bool;
    fn chunk_rows(&self) -> u32;
    fn holds(&self, row: Row) -> bool;
}

impl ChunkedRows for FieldTable {
    fn len(&self) -> u32 {
        FieldTable::len(self)
    }

    fn live(&self) -> u64 {
        FieldTable::live(self)
    }

    fn alive(&self, row: Row, op: OpNumber) -> bool {
        FieldTable::alive(self, row, op)
    }

    fn chunk_rows(&self) -> u32 {
        self.rows.chunk_rows()
    }

    fn holds(&self, row: Row) -> bool {
        FieldTable::holds(self, row)
    }
}

impl ChunkedRows for SparseTable {
    fn len(&self) -> u32 {
        SparseTable::len(self)
    }

    fn live(&self) -> u64 {
        SparseTable::live(self)
    }

    fn alive(&self, row: Row, op: OpNumber) -> bool {
        SparseTable::alive(self, row, op)
    }

    fn chunk_rows(&self) -> u32 {
        self.rows.chunk_rows()
    }

    fn holds(&self, row: Row) -> bool {
        self.rows.holds(row)
    }
}

impl View {
    /// The rows of each field in the order of positions.
    pub(super) fn row_tables(&self) -> impl Iterator<Item = &dyn ChunkedRows> {
        let dense = self.fields.iter().map(|table| table as &dyn ChunkedRows);
        dense.chain(self.sparse.iter().map(|table| table as &dyn ChunkedRows))
    }
}

/// A block of a sparse field, by its place among these, and the same without its dead rows.
pub(super) struct ThinnedBlock {
    pub field: usize,
    pub old: Arc<Block>,
    pub new: Block,
}

/// Blocks with enough dead rows to be written without them. Blocks smaller than a chunk are merged into greater ones
/// sooner.
pub(super) fn thinned_blocks(view: &View) -> Vec<ThinnedBlock> {
    let mut thinned = Vec::new();
    for (field, table) in view.sparse.iter().enumerate() {
        let least = table.rows.chunk_rows();
        let held: u64 = table.blocks.iter().map(|block| u64::from(block.held())).sum();
        let dead = (held + table.tail().len() as u64).saturating_sub(table.live());
        if dead < u64::from(least / EMPTYING_DIVISOR).max(1) {
            continue;
        }
        for old in table.blocks.iter().filter(|block| block.range().len() >= least as usize) {
            let alive = |row| table.alive(row, view.op);
            let live = old.range().iter().filter(|&row| alive(row)).count() as u32;
            if old.held().saturating_sub(live) * EMPTYING_DIVISOR >= old.held() {
                thinned.push(ThinnedBlock { field, old: Arc::clone(old), new: old.thinned(alive) });
            }
        }
    }
    thinned
}

/// Full chunks that are still held and have enough dead rows to be emptied.
pub(super) fn mostly_dead_chunks(table: &dyn ChunkedRows, op: OpNumber) -> Vec<MostlyDeadChunk> {
    let rows = table.chunk_rows();
    // Most of the time nearly everything is alive: then no chunk can be due.
    if u64::from(table.len()) - table.live() < u64::from(rows / EMPTYING_DIVISOR).max(1) {
        return Vec::new();
    }
    let count = |chunk: u32| {
        let live = chunk_range(table, chunk).iter().filter(|&row| table.alive(row, op)).count() as u32;
        MostlyDeadChunk { chunk, live }
    };
    (0..table.len() / rows)
        .filter(|chunk| table.holds(Row::new(chunk * rows)))
        .map(count)
        .filter(|dying| (rows - dying.live) * EMPTYING_DIVISOR >= rows)
        .collect()
}

pub(super) fn chunk_range(table: &dyn ChunkedRows, chunk: u32) -> RowRange {
    RowRange::of_chunk(chunk, table.chunk_rows())
}
