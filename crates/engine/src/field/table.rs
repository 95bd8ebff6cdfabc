//! Rows of one vector field.

use super::run::{RunPlace, run_of};
use crate::arena::{AtomicColumn64, ColumnTable, RowArena, RowTable};
use crate::config::VectorParams;
use crate::storage::Map;
use crate::types::{Datatype, Metric, OpNumber, PointOffset};
use crate::vectors::RowFormat;
use kithdb_kernels::normalise;
use std::ops::Range;

/// Death of a row that is alive.
pub const ALIVE: u64 = u64::MAX;

/// How many rows and vectors a field has at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldCounts {
    /// Rows, dead ones included.
    pub rows: u32,
    /// Rows that are alive.
    pub live: u64,
    /// Vectors that are alive: as many as there are points with one, of which each has a row or, in a field of
    /// multi-vectors, a run of them.
    pub vectors: u64,
}

/// The writer's side of a vector field. A row is written once; it dies when its point gets another vector, loses
/// it, or is deleted. A vector is named by its first row, and dies with all of its rows.
pub struct FieldArena {
    format: RowFormat,
    dim: usize,
    /// Vectors have a run of rows each, instead of one row.
    is_multi: bool,
    rows: RowArena,
    /// [`RunPlace`] of the row.
    places: AtomicColumn64,
    /// Operation at which the row died; [`ALIVE`] before.
    deaths: AtomicColumn64,
    live: u64,
    vectors: u64,
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
            places: AtomicColumn64::new(),
            deaths: AtomicColumn64::new(),
            live: 0,
            vectors: 0,
        }
    }

    /// Appends a vector, one row of the field's format or several, and answers the number of the first.
    pub fn push(&mut self, rows: &[u8], owner: u32) -> u32 {
        let count = rows.len() / self.row_bytes();
        debug_assert!(count == 1 || self.is_multi, "a dense vector is one row");
        let first = self.rows.len();
        for row in rows.chunks_exact(self.row_bytes()) {
            self.rows.push(row);
            self.deaths.push(ALIVE);
        }
        for place in RunPlace::run(owner, count as u32) {
            self.places.push(place.word());
        }
        self.live += count as u64;
        self.vectors += 1;
        first
    }

    /// Appends rows as a checkpoint kept them, with their places: dead until [`FieldArena::revive`].
    pub fn load<'a>(&mut self, rows: impl Iterator<Item = (&'a [u8], RunPlace)>) {
        for (row, place) in rows {
            self.rows.push(row);
            self.load_place(place);
        }
    }

    /// Appends a full chunk whose rows lie in a map from `offset` on, likewise.
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
        self.places.push(place.word());
        self.deaths.push(0);
    }

    /// Marks a vector dead from operation `op` on. `row` is its first.
    pub fn kill(&mut self, row: u32, op: OpNumber) {
        self.stamp(row, op.get());
        self.live -= self.run(row).len() as u64;
        self.vectors -= 1;
    }

    /// Takes back the death of a vector that no reader has seen.
    pub fn revive(&mut self, row: u32) {
        self.stamp(row, ALIVE);
        self.live += self.run(row).len() as u64;
        self.vectors += 1;
    }

    fn stamp(&mut self, row: u32, death: u64) {
        self.run(row).for_each(|row| self.deaths.store(row, death));
    }

    /// Drops the rows from `counts.rows` on, which no reader has seen, and returns to these counts.
    pub fn truncate(&mut self, counts: FieldCounts) {
        self.rows.truncate(counts.rows);
        self.places.truncate(counts.rows);
        self.deaths.truncate(counts.rows);
        (self.live, self.vectors) = (counts.live, counts.vectors);
    }

    /// What there is now.
    pub fn counts(&self) -> FieldCounts {
        FieldCounts { rows: self.len(), live: self.live, vectors: self.vectors }
    }

    /// Rows, dead ones included.
    pub fn len(&self) -> u32 {
        self.rows.len()
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
        }
    }

    /// Whether the vector whose first row that is has exactly these rows.
    pub fn holds_same(&self, row: u32, rows: &[u8]) -> bool {
        let run = self.run(row);
        run.len() * self.row_bytes() == rows.len()
            && run.zip(rows.chunks_exact(self.row_bytes())).all(|(row, other)| self.rows.row(row) == other)
    }

    /// Replaces `out` by the rows of the vector whose first row that is.
    pub fn copy(&self, row: u32, out: &mut Vec<u8>) {
        out.clear();
        self.run(row).for_each(|row| out.extend_from_slice(self.rows.row(row)));
    }

    /// Offset of the point that a row was written for.
    pub fn owner(&self, row: u32) -> u32 {
        self.place(row).owner()
    }

    /// The rows of the vector that a row belongs to.
    pub fn run(&self, row: u32) -> Range<u32> {
        if self.is_multi { run_of(row, |row| self.place(row)) } else { row..row + 1 }
    }

    fn place(&self, row: u32) -> RunPlace {
        RunPlace::from_word(self.places.load(row))
    }

    /// Whether a row is alive, as far as the writer knows.
    pub fn is_alive(&self, row: u32) -> bool {
        self.deaths.load(row) == ALIVE
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.dim)
    }

    /// Whether a vector of the point at offset `owner` begins at this row, and no chunk that it has rows in has been
    /// dropped.
    pub fn holds(&self, row: u32, owner: u32) -> bool {
        if !self.is_multi {
            return self.rows.holds(row);
        }
        let Some(rows) = (row < self.len()).then(|| self.place(row).begins()).flatten() else { return false };
        // Counted from a file: it may claim anything.
        let Some(end) = row.checked_add(rows).filter(|&end| end <= self.len()) else { return false };
        let has_place = |(row, place)| self.rows.holds(row) && self.place(row) == place;
        (row..end).zip(RunPlace::run(owner, rows)).all(has_place)
    }

    /// Bytes that a checkpoint keeps of a row beside it: whose it is, and where in its vector.
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

    /// Gives back what is kept of each row around a chunk that was dropped, once all of these rows are gone.
    fn clear_columns(&mut self, chunk: u32) {
        let rows = &self.rows;
        let gone = |row| !rows.holds(row);
        clear_dropped(&mut [&mut self.places, &mut self.deaths], chunk, rows.chunk_rows(), gone);
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

/// Clears the chunk of columns that has the rows of a dropped chunk of rows, if it is full and all rows in it are gone:
/// places and deaths of 0 are those of a row that never lived. A chunk of columns has one chunk of rows or several.
pub(super) fn clear_dropped(
    columns: &mut [&mut AtomicColumn64],
    chunk: u32,
    chunk_rows: u32,
    gone: impl Fn(u32) -> bool,
) {
    for column in columns {
        let cleared = chunk * chunk_rows / column.chunk_rows();
        let first = cleared * column.chunk_rows();
        let is_full = cleared < column.len() / column.chunk_rows();
        if is_full && (first..first + column.chunk_rows()).step_by(chunk_rows as usize).all(&gone) {
            column.clear(cleared);
        }
    }
}

/// A reader's table of a field's rows: those below its length never change but for their deaths.
#[derive(Clone)]
pub struct FieldTable {
    /// How rows are kept.
    pub format: RowFormat,
    /// Components of a row.
    pub dim: usize,
    /// Vectors have a run of rows each, instead of one row.
    pub is_multi: bool,
    /// The vectors, as they are searched exactly.
    pub rows: RowTable,
    places: ColumnTable,
    deaths: ColumnTable,
    live: u64,
    vectors: u64,
}

impl FieldTable {
    /// Rows, dead ones included.
    pub fn len(&self) -> u32 {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// Rows alive at the table's operation.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Vectors alive at the table's operation: one for each point that has any.
    pub fn vectors(&self) -> u64 {
        self.vectors
    }

    /// What there is.
    pub fn counts(&self) -> FieldCounts {
        FieldCounts { rows: self.len(), live: self.live, vectors: self.vectors }
    }

    /// Offset of the point that a row belongs to.
    #[inline(always)]
    pub fn owner(&self, row: u32) -> PointOffset {
        PointOffset::new(self.place(row).owner())
    }

    /// Rows of the vector that begins at this row, if one does.
    #[inline(always)]
    pub fn begins(&self, row: u32) -> Option<u32> {
        self.place(row).begins()
    }

    /// The rows of the vector that a row belongs to.
    pub fn run(&self, row: u32) -> Range<u32> {
        if self.is_multi { run_of(row, |row| self.place(row)) } else { row..row + 1 }
    }

    #[inline(always)]
    fn place(&self, row: u32) -> RunPlace {
        RunPlace::from_word(self.places.load(row))
    }

    /// Bytes that a checkpoint keeps of a row beside it.
    pub fn place_bytes(&self) -> usize {
        place_bytes(self.is_multi)
    }

    /// Appends what a checkpoint keeps of a row beside it; [`stored_places`] reads it back.
    pub fn store_place(&self, row: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.place(row).word().to_le_bytes()[..self.place_bytes()]);
    }

    /// Whether a row is alive at operation `op`, at which this table was taken or later.
    pub fn alive(&self, row: u32, op: OpNumber) -> bool {
        self.deaths.load(row) > op.get()
    }

    /// Replaces `out` by a row as it is searched.
    pub fn vector(&self, row: u32, out: &mut Vec<f32>) {
        out.clear();
        self.format.decode_for_search(self.rows.row(row), self.dim, out);
    }

    /// Bytes of memory for places and deaths.
    pub fn columns_bytes(&self) -> usize {
        self.places.memory_bytes() + self.deaths.memory_bytes()
    }

    /// Appends the vector whose first row that is as clients read it back, the rows of a multi-vector one after the
    /// other.
    pub fn read_back(&self, row: u32, out: &mut Vec<f32>) {
        for row in self.run(row) {
            self.format.decode(self.rows.row(row), self.dim, out);
        }
    }
}

/// A dense vector needs no more than its owner: its run is itself.
fn place_bytes(is_multi: bool) -> usize {
    if is_multi { size_of::<u64>() } else { size_of::<u32>() }
}

/// The places that a checkpoint kept, `place_bytes` of them each.
pub fn stored_places(bytes: &[u8], place_bytes: usize) -> impl Iterator<Item = RunPlace> {
    bytes.chunks_exact(place_bytes).map(move |stored| {
        let mut word = [0; size_of::<u64>()];
        word[..place_bytes].copy_from_slice(stored);
        let word = u64::from_le_bytes(word);
        if place_bytes == size_of::<u64>() { RunPlace::from_word(word) } else { RunPlace::alone(word as u32) }
    })
}

/// Rounds a vector to the field's element type and normalises it under Cosine, as the log keeps it.
///
/// Whole numbers under Cosine stay as they are sent (C2.4, C2.6).
///
/// # Errors
/// What is wrong with a component.
pub fn prepare(params: &VectorParams, vector: &mut [f32]) -> Result<(), String> {
    match params.datatype() {
        Datatype::Uint8 => {
            if let Some(bad) = vector.iter().find(|v| !(0.0..=255.0).contains(*v) || v.fract() != 0.0) {
                return Err(format!("uint8 vectors take whole numbers from 0 to 255, got {bad}"));
            }
        }
        Datatype::Float32 => {
            if params.metric == Metric::Cosine {
                normalise(vector);
            }
        }
        Datatype::Float16 => {
            if params.metric == Metric::Cosine {
                normalise(vector);
            }
            for component in vector.iter_mut() {
                let rounded = half::f16::from_f32(*component);
                if !rounded.is_finite() {
                    return Err(format!("{component} is beyond the range of float16"));
                }
                *component = rounded.to_f32();
            }
        }
    }
    Ok(())
}
