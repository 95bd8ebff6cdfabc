//! The writer's rows of one vector field.

use super::graph_slot::GraphSlot;
use super::places::Places;
use super::run::{RunPlace, run_of};
use super::table::{FieldTable, place_bytes};
use crate::arena::{AtomicColumn, AtomicColumn64, AtomicWord, RowArena};
use crate::config::VectorParams;
use crate::storage::Map;
use crate::types::{OpNumber, PointOffset, Row, RowRange};
use crate::vectors::RowFormat;
use std::sync::Arc;

/// Death of a row that is alive.
pub const ALIVE: u64 = u64::MAX;

/// How many rows and vectors a field has at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldCounts {
    /// Rows, dead ones included.
    pub rows: u32,
    /// Rows that are alive.
    pub live: u64,
    /// Vectors that are alive: one for each point that has any.
    pub vectors: u64,
}

/// The writer's side of a vector field. A row is written once. It dies when its point gets another vector, loses its vector,
/// or is deleted. A point refers to its vector by the first row. All rows of a vector die together.
pub struct FieldArena {
    format: RowFormat,
    dim: usize,
    /// Vectors have a run of rows each, instead of one row.
    is_multi: bool,
    rows: RowArena,
    places: Places,
    /// Operation at which the row died; [`ALIVE`] before.
    deaths: AtomicColumn64,
    live: u64,
    vectors: u64,
    graphs: Arc<GraphSlot>,
}

impl FieldArena {
    /// An empty field. A full chunk of its rows has about `chunk_bytes`.
    pub fn new(params: &VectorParams, chunk_bytes: usize) -> FieldArena {
        let (format, dim) = (params.row_format(), params.size);
        FieldArena {
            format,
            dim,
            is_multi: params.multivector.is_some(),
            rows: RowArena::with_chunk_bytes(format.row_bytes(dim), chunk_bytes),
            places: Places::new(params.multivector.is_some()),
            deaths: AtomicColumn64::new(),
            live: 0,
            vectors: 0,
            graphs: Arc::default(),
        }
    }

    /// The graphs over the rows.
    pub fn graphs(&self) -> &GraphSlot {
        &self.graphs
    }

    /// Appends a vector of the point at offset `owner`: one row of the field's format or several. Returns the first.
    pub fn push(&mut self, rows: &[u8], owner: PointOffset) -> Row {
        let count = rows.len() / self.row_bytes();
        debug_assert!(count == 1 || self.is_multi, "a dense vector is one row");
        let first = self.end();
        for row in rows.chunks_exact(self.row_bytes()) {
            self.rows.push(row);
            self.deaths.push(ALIVE);
        }
        for place in RunPlace::run(owner, count as u32) {
            self.places.push(place);
        }
        self.live += count as u64;
        self.vectors += 1;
        first
    }

    /// Appends rows of a checkpoint, with their places. They are dead until [`FieldArena::revive`].
    pub fn load<'a>(&mut self, rows: impl Iterator<Item = (&'a [u8], RunPlace)>) {
        for (row, place) in rows {
            self.rows.push(row);
            self.load_place(place);
        }
    }

    /// As [`FieldArena::load`], for a full chunk whose rows are in a map from byte `offset` on.
    pub fn load_mapped(&mut self, map: &Map, offset: u64, places: impl Iterator<Item = RunPlace>) {
        self.rows.push_mapped(map.clone(), offset);
        places.for_each(|place| self.load_place(place));
    }

    /// Appends a full chunk that was dropped, all of its rows being dead.
    pub fn load_dropped(&mut self) {
        let chunk = self.len() / self.chunk_rows();
        self.rows.push_released();
        (0..self.rows.chunk_rows()).for_each(|_| self.load_place(RunPlace::from_word(0)));
        self.clear_columns(chunk);
    }

    fn load_place(&mut self, place: RunPlace) {
        self.places.push(place);
        self.deaths.push(0);
    }

    /// Marks the vector whose first row is `row` dead from operation `op` on.
    pub fn kill(&mut self, row: Row, op: OpNumber) {
        self.stamp(row, op.get());
        self.live -= self.run(row).len() as u64;
        self.vectors -= 1;
    }

    /// Takes back the death of the vector whose first row is `row`. No reader has seen it dead.
    pub fn revive(&mut self, row: Row) {
        self.stamp(row, ALIVE);
        self.live += self.run(row).len() as u64;
        self.vectors += 1;
    }

    fn stamp(&mut self, row: Row, death: u64) {
        self.run(row).numbers().for_each(|row| self.deaths.store(row, death));
    }

    /// Drops the rows beyond `counts.rows`, which no reader has seen, and restores these counts.
    pub fn truncate(&mut self, counts: FieldCounts) {
        self.rows.truncate(counts.rows);
        self.places.truncate(counts.rows);
        self.deaths.truncate(counts.rows);
        (self.live, self.vectors) = (counts.live, counts.vectors);
    }

    /// The counts of this moment.
    pub fn counts(&self) -> FieldCounts {
        FieldCounts { rows: self.len(), live: self.live, vectors: self.vectors }
    }

    /// Rows, dead ones included.
    pub fn len(&self) -> u32 {
        self.rows.len()
    }

    /// The row after the last.
    pub fn end(&self) -> Row {
        Row::new(self.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// A reader's table of the rows so far.
    pub fn table(&self) -> FieldTable {
        FieldTable {
            format: self.format,
            dim: self.dim,
            is_multi: self.is_multi,
            rows: self.rows.table(),
            places: self.places.table(),
            deaths: self.deaths.table(),
            live: self.live,
            vectors: self.vectors,
            graphs: Arc::clone(&self.graphs),
        }
    }

    /// Whether the vector whose first row is `row` has exactly these rows.
    pub fn holds_same(&self, row: Row, rows: &[u8]) -> bool {
        let run = self.run(row);
        run.len() * self.row_bytes() == rows.len()
            && run
                .numbers()
                .zip(rows.chunks_exact(self.row_bytes()))
                .all(|(row, other)| self.rows.row(row) == other)
    }

    /// Replaces `out` by the rows of the vector whose first row is `row`.
    pub fn copy(&self, row: Row, out: &mut Vec<u8>) {
        out.clear();
        self.run(row).numbers().for_each(|row| out.extend_from_slice(self.rows.row(row)));
    }

    /// Offset of the point that a row was written for.
    pub fn owner(&self, row: Row) -> PointOffset {
        self.place(row).owner()
    }

    /// The rows of the vector that a row belongs to.
    pub fn run(&self, row: Row) -> RowRange {
        if self.is_multi { run_of(row, |row| self.place(row)) } else { RowRange::of_len(row, 1) }
    }

    fn place(&self, row: Row) -> RunPlace {
        self.places.load(row.get())
    }

    /// Whether a row is alive, as far as the writer knows.
    pub fn is_alive(&self, row: Row) -> bool {
        self.deaths.load(row.get()) == ALIVE
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.dim)
    }

    /// Whether a vector of the point at offset `owner` begins at this row, and none of the chunks of its rows has been
    /// dropped.
    pub fn holds(&self, row: Row, owner: PointOffset) -> bool {
        if !self.is_multi {
            return self.rows.holds(row.get());
        }
        let Some(rows) = (row < self.end()).then(|| self.place(row).begins()).flatten() else { return false };
        // The number comes from a file that may be damaged.
        let Some(end) = row.get().checked_add(rows).map(Row::new).filter(|&end| end <= self.end()) else {
            return false;
        };
        let has_place = |(row, place): (Row, _)| self.rows.holds(row.get()) && self.place(row) == place;
        RowRange::new(row, end).iter().zip(RunPlace::run(owner, rows)).all(has_place)
    }

    /// Bytes of the place of a row in a checkpoint.
    pub fn place_bytes(&self) -> usize {
        place_bytes(self.is_multi)
    }

    /// Whether a chunk is full and still there.
    pub fn holds_chunk(&self, chunk: u32) -> bool {
        let rows = self.chunk_rows();
        chunk < self.len() / rows && self.rows.holds(chunk * rows)
    }

    /// Drops a full chunk, all of whose rows are dead.
    pub fn release(&mut self, chunk: u32) {
        self.rows.release(chunk);
        self.clear_columns(chunk);
    }

    /// Frees the chunk of each column that has the rows of a dropped chunk, if all rows in it have been dropped.
    fn clear_columns(&mut self, chunk: u32) {
        let rows = &self.rows;
        let is_dropped = |row| !rows.holds(row);
        self.places.clear_dropped(chunk, rows.chunk_rows(), is_dropped);
        clear_dropped(&mut self.deaths, chunk, rows.chunk_rows(), is_dropped);
    }

    /// Lets readers take the rows of a full chunk from a map from now on.
    pub fn seal(&mut self, chunk: u32, map: &Map, offset: u64) {
        self.rows.seal(chunk, map.clone(), offset);
    }

    /// How rows are kept.
    pub fn format(&self) -> RowFormat {
        self.format
    }

    /// Rows of a full chunk, in memory and on disk.
    pub fn chunk_rows(&self) -> u32 {
        self.rows.chunk_rows()
    }
}

/// Clears each chunk of a column that has rows of a dropped chunk, if it is full and all rows in it have been dropped. A place
/// and a death of 0 are those of a row that never lived.
pub(super) fn clear_dropped<W: AtomicWord>(
    column: &mut AtomicColumn<W>,
    chunk: u32,
    chunk_rows: u32,
    is_dropped: impl Fn(u32) -> bool,
) {
    let column_rows = column.chunk_rows();
    let first = chunk * chunk_rows;
    let full = column.len() / column_rows;
    for cleared in
        (first / column_rows..=(first + (chunk_rows - 1)) / column_rows).take_while(|at| *at < full)
    {
        let start = cleared * column_rows;
        if (start..start + column_rows).step_by(chunk_rows.min(column_rows) as usize).all(&is_dropped) {
            column.clear(cleared);
        }
    }
}
