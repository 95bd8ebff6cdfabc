//! Rows of one sparse field, and their inverted index.

use super::arena::{ALIVE, clear_dropped};
use super::sparse_rows::SparseRows;
use crate::arena::{AtomicColumn32, AtomicColumn64, ColumnTable32, ColumnTable64};
use crate::config::SparseParams;
use crate::faults::PlantedFault;
use crate::index::sparse::{Block, BlockSizes, Blocks};
use crate::storage::Map;
use crate::types::{OpNumber, PointOffset, Row, RowRange};
use crate::vectors::{SparseFormat, SparseRow, SparseVector};
use std::sync::Arc;

/// Assumed size of a row in the choice of the size of chunks: 256 elements.
const USUAL_ROW_BYTES: usize = 2 << 10;
/// Rows of a full chunk at most.
const MAX_CHUNK_ROWS: u32 = 2048;

/// The writer's side of a sparse field. A row is written once. It dies when its point gets another vector, loses its vector,
/// or is deleted.
pub struct SparseArena {
    format: SparseFormat,
    rows: SparseRows,
    blocks: Blocks,
    /// Offset of the point.
    owners: AtomicColumn32,
    /// Operation at which the row died; [`ALIVE`] before.
    deaths: AtomicColumn64,
    live: u64,
}

/// A state of a field that a writer can restore.
#[derive(Clone)]
pub struct SparseMark {
    rows: SparseRows,
    blocks: Blocks,
    live: u64,
}

impl SparseArena {
    /// An empty field. A full chunk of usual rows has about `chunk_bytes`.
    pub fn new(params: &SparseParams, chunk_bytes: usize) -> SparseArena {
        let chunk_rows = (chunk_bytes / USUAL_ROW_BYTES).next_power_of_two() as u32;
        let chunk_rows = chunk_rows.clamp(2, MAX_CHUNK_ROWS);
        SparseArena {
            format: SparseFormat::of(params.datatype()),
            rows: SparseRows::new(chunk_rows),
            blocks: Blocks::new(BlockSizes::around(chunk_rows)),
            owners: AtomicColumn32::new(),
            deaths: AtomicColumn64::new(),
            live: 0,
        }
    }

    /// Appends a row of the field's format for the point at offset `owner` and indexes it. Returns its number.
    pub fn push(&mut self, row: &[u8], owner: PointOffset) -> Row {
        let row = self.rows.push(row);
        self.owners.push(owner.get());
        self.deaths.push(ALIVE);
        self.live += 1;
        let (rows, format) = (&self.rows, self.format);
        // Dead rows too: a death that no reader has seen may be taken back.
        self.blocks.take_in(format, rows.len(), |row| Some(format.row(rows.row(row))));
        row
    }

    /// Appends rows of a checkpoint, each with its owner. They are dead until [`SparseArena::revive`] and not indexed until
    /// [`SparseArena::index_loaded`].
    pub fn load<'a>(&mut self, rows: impl Iterator<Item = (&'a [u8], PointOffset)>) {
        for (row, owner) in rows {
            self.rows.push(row);
            self.load_owner(owner);
        }
    }

    /// As [`SparseArena::load`], for a full chunk whose rows are in a map from byte `offset` on.
    pub fn load_mapped(
        &mut self,
        lengths: &[u32],
        map: &Map,
        offset: usize,
        owners: impl Iterator<Item = PointOffset>,
    ) {
        self.rows.push_mapped(lengths, map, offset);
        owners.for_each(|owner| self.load_owner(owner));
    }

    /// Appends a full chunk that was dropped, all of its rows being dead.
    pub fn load_dropped(&mut self) {
        let chunk = self.rows.full_chunks();
        self.rows.push_released();
        (0..self.rows.chunk_rows()).for_each(|_| self.load_owner(PointOffset::new(0)));
        self.clear_columns(chunk);
    }

    fn load_owner(&mut self, owner: PointOffset) {
        self.owners.push(owner.get());
        self.deaths.push(0);
    }

    /// Indexes the rows that were loaded, except those that were not revived.
    pub fn index_loaded(&mut self) {
        let SparseArena { format, rows, blocks, deaths, .. } = self;
        let is_taken = |row: Row| deaths.load(row.get()) == ALIVE && !PlantedFault::SparseIndexLost.is_on();
        let row = |row: Row| is_taken(row).then(|| format.row(rows.row(row)));
        blocks.take_in(*format, rows.len(), row);
    }

    /// Marks a row dead from operation `op` on.
    pub fn kill(&mut self, row: Row, op: OpNumber) {
        self.deaths.store(row.get(), op.get());
        self.live -= 1;
    }

    /// Takes back a death that no reader has seen.
    pub fn revive(&mut self, row: Row) {
        self.deaths.store(row.get(), ALIVE);
        self.live += 1;
    }

    /// The present state, for [`SparseArena::go_back`].
    pub fn mark(&self) -> SparseMark {
        SparseMark { rows: self.rows.clone(), blocks: self.blocks.clone(), live: self.live }
    }

    /// Restores the state of a mark. No reader has seen what is dropped. The caller has taken back the deaths before.
    pub fn go_back(&mut self, mark: SparseMark) {
        self.owners.truncate(mark.rows.len());
        self.deaths.truncate(mark.rows.len());
        self.rows = mark.rows;
        self.blocks = mark.blocks;
        self.live = mark.live;
    }

    /// A reader's table of the rows so far.
    pub fn table(&self) -> SparseTable {
        SparseTable {
            format: self.format,
            rows: self.rows.clone(),
            blocks: self.blocks.clone(),
            owners: self.owners.table(),
            deaths: self.deaths.table(),
            live: self.live,
        }
    }

    /// The bytes of a row.
    pub fn row(&self, row: Row) -> &[u8] {
        self.rows.row(row)
    }

    /// How rows are kept.
    pub fn format(&self) -> SparseFormat {
        self.format
    }

    /// Offset of the point that a row was written for.
    pub fn owner(&self, row: Row) -> PointOffset {
        PointOffset::new(self.owners.load(row.get()))
    }

    /// Whether a row is alive, as far as the writer knows.
    pub fn is_alive(&self, row: Row) -> bool {
        self.deaths.load(row.get()) == ALIVE
    }

    /// Rows, dead ones included.
    pub fn len(&self) -> u32 {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Rows of a full chunk, in memory and on disk.
    pub fn chunk_rows(&self) -> u32 {
        self.rows.chunk_rows()
    }

    /// Whether a row is there and its chunk has not been dropped.
    pub fn holds(&self, row: Row) -> bool {
        self.rows.holds(row)
    }

    /// Whether a chunk is full and still there.
    pub fn holds_chunk(&self, chunk: u32) -> bool {
        chunk < self.rows.full_chunks() && self.rows.holds(Row::new(chunk * self.chunk_rows()))
    }

    /// Drops a full chunk, all of whose rows are dead.
    pub fn release(&mut self, chunk: u32) {
        self.rows.release(chunk);
        self.clear_columns(chunk);
    }

    /// As [`FieldArena`](super::FieldArena) does.
    fn clear_columns(&mut self, chunk: u32) {
        let rows = &self.rows;
        let is_dropped = |row| !rows.holds(Row::new(row));
        clear_dropped(&mut self.owners, chunk, rows.chunk_rows(), is_dropped);
        clear_dropped(&mut self.deaths, chunk, rows.chunk_rows(), is_dropped);
    }

    /// Lets readers take the rows of a full chunk from a map from now on.
    pub fn seal(&mut self, chunk: u32, map: &Map, offset: usize) {
        self.rows.seal(chunk, map, offset);
    }

    /// Replaces a block by the same block without its dead rows.
    pub fn replace_block(&mut self, old: &Arc<Block>, new: Block) {
        self.blocks.replace(old, new);
    }
}

/// A reader's table of a sparse field. Nothing of its rows and index changes but the deaths of rows.
#[derive(Clone)]
pub struct SparseTable {
    /// How rows are kept.
    pub format: SparseFormat,
    /// The rows.
    pub rows: SparseRows,
    /// The inverted index of most of them.
    pub blocks: Blocks,
    owners: ColumnTable32,
    deaths: ColumnTable64,
    live: u64,
}

impl SparseTable {
    /// Rows, dead ones included.
    pub fn len(&self) -> u32 {
        self.rows.len()
    }

    /// The rows that are in no block of the index.
    pub fn tail(&self) -> RowRange {
        RowRange::new(self.blocks.indexed(), Row::new(self.len()))
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// Rows alive at the table's operation.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Offset of the point that a row belongs to.
    pub fn owner(&self, row: Row) -> PointOffset {
        PointOffset::new(self.owners.load(row.get()))
    }

    /// Whether a row is alive at operation `op`, at which this table was taken or later.
    #[inline(always)]
    pub fn alive(&self, row: Row, op: OpNumber) -> bool {
        self.deaths.load(row.get()) > op.get()
    }

    /// The elements of a row. Panics when its chunk has been dropped; a chunk with a live row has not.
    pub fn row(&self, row: Row) -> SparseRow<'_> {
        self.format.row(self.rows.row(row))
    }

    /// The vector as clients read it back.
    pub fn vector(&self, row: Row) -> SparseVector {
        self.row(row).vector()
    }

    /// Bytes of memory for owners and deaths.
    pub fn columns_bytes(&self) -> usize {
        self.owners.memory_bytes() + self.deaths.memory_bytes()
    }

    /// The state of the table, for [`SparseArena::go_back`].
    pub fn mark(&self) -> SparseMark {
        SparseMark { rows: self.rows.clone(), blocks: self.blocks.clone(), live: self.live }
    }
}
