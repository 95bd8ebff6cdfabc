//! Rows of one vector field.

use super::config::VectorParams;
use crate::arena::{AtomicColumn64, ColumnTable, RowArena, RowTable};
use crate::storage::Map;
use crate::types::{Datatype, Metric};
use crate::vectors::RowFormat;
use kithdb_kernels::normalise;

/// Death of a row that is alive.
pub const ALIVE: u64 = u64::MAX;

/// The writer's side of a vector field. A row is written once; it dies when its point gets another vector, loses
/// it, or is deleted.
pub struct FieldArena {
    format: RowFormat,
    dim: usize,
    rows: RowArena,
    /// Offset of the point.
    owners: AtomicColumn64,
    /// Operation at which the row died; [`ALIVE`] before.
    deaths: AtomicColumn64,
    live: u64,
}

impl FieldArena {
    /// An empty field. A full chunk of its rows has about `chunk_bytes`.
    pub fn new(params: &VectorParams, chunk_bytes: usize) -> FieldArena {
        let (format, dim) = (params.row_format(), params.size);
        FieldArena {
            format,
            dim,
            rows: RowArena::with_chunk_bytes(format.row_bytes(dim), chunk_bytes),
            owners: AtomicColumn64::new(),
            deaths: AtomicColumn64::new(),
            live: 0,
        }
    }

    /// Appends a row of the field's format and answers its number.
    pub fn push(&mut self, row: &[u8], owner: u32) -> u32 {
        let row = self.rows.push(row);
        self.owners.push(u64::from(owner));
        self.deaths.push(ALIVE);
        self.live += 1;
        row
    }

    /// Appends rows as a checkpoint kept them, each with its owner: dead until [`FieldArena::revive`].
    pub fn load<'a>(&mut self, rows: impl Iterator<Item = (&'a [u8], u32)>) {
        for (row, owner) in rows {
            self.rows.push(row);
            self.load_owner(owner);
        }
    }

    /// Appends a full chunk whose rows lie in a map from `offset` on, likewise.
    pub fn load_mapped(&mut self, map: &Map, offset: u64, owners: impl Iterator<Item = u32>) {
        self.rows.push_mapped(map.clone(), offset);
        owners.for_each(|owner| self.load_owner(owner));
    }

    /// Appends a full chunk that was dropped, all of its rows being dead.
    pub fn load_dropped(&mut self) {
        self.rows.push_released();
        (0..self.rows.chunk_rows()).for_each(|_| self.load_owner(0));
    }

    fn load_owner(&mut self, owner: u32) {
        self.owners.push(u64::from(owner));
        self.deaths.push(0);
    }

    /// Marks a row dead from operation `op` on.
    pub fn kill(&mut self, row: u32, op: u64) {
        self.deaths.store(row, op);
        self.live -= 1;
    }

    /// Takes back a death that no reader has seen.
    pub fn revive(&mut self, row: u32) {
        self.deaths.store(row, ALIVE);
        self.live += 1;
    }

    /// Drops the rows from `len` on, which no reader has seen. `live` is the count to return to.
    pub fn truncate(&mut self, len: u32, live: u64) {
        self.rows.truncate(len);
        self.owners.truncate(len);
        self.deaths.truncate(len);
        self.live = live;
    }

    /// Rows, dead ones included.
    pub fn len(&self) -> u32 {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// Rows that are alive.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// A reader's table of the rows so far.
    pub fn table(&self) -> FieldTable {
        FieldTable {
            format: self.format,
            dim: self.dim,
            rows: self.rows.table(),
            owners: self.owners.table(),
            deaths: self.deaths.table(),
            live: self.live,
        }
    }

    /// The bytes of a row.
    pub fn row(&self, row: u32) -> &[u8] {
        self.rows.row(row)
    }

    /// Offset of the point that a row was written for.
    pub fn owner(&self, row: u32) -> u32 {
        self.owners.load(row) as u32
    }

    /// Whether a row is alive, as far as the writer knows.
    pub fn is_alive(&self, row: u32) -> bool {
        self.deaths.load(row) == ALIVE
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.dim)
    }

    /// Whether a row is there and its chunk has not been dropped.
    pub fn holds(&self, row: u32) -> bool {
        self.rows.holds(row)
    }

    /// Whether a chunk is full and still there.
    pub fn holds_chunk(&self, chunk: u32) -> bool {
        let rows = self.chunk_rows();
        chunk < self.len() / rows && self.rows.holds(chunk * rows)
    }

    /// Drops a full chunk, all of whose rows are dead.
    pub fn release(&mut self, chunk: u32) {
        self.rows.release(chunk);
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

/// A reader's table of a field's rows: those below its length never change but for their deaths.
#[derive(Clone)]
pub struct FieldTable {
    /// How rows are kept.
    pub format: RowFormat,
    /// Components of a vector.
    pub dim: usize,
    /// The vectors, as they are searched exactly.
    pub rows: RowTable,
    owners: ColumnTable,
    deaths: ColumnTable,
    live: u64,
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

    /// Offset of the point that a row belongs to.
    pub fn owner(&self, row: u32) -> u32 {
        self.owners.load(row) as u32
    }

    /// Whether a row is alive at operation `op`, at which this table was taken or later.
    pub fn alive(&self, row: u32, op: u64) -> bool {
        self.deaths.load(row) > op
    }

    /// Replaces `out` by the vector as it is searched.
    pub fn vector(&self, row: u32, out: &mut Vec<f32>) {
        out.clear();
        self.format.decode_for_search(self.rows.row(row), self.dim, out);
    }

    /// Bytes of memory for owners and deaths.
    pub fn columns_bytes(&self) -> usize {
        self.owners.memory_bytes() + self.deaths.memory_bytes()
    }

    /// Appends the vector as clients read it back.
    pub fn read_back(&self, row: u32, out: &mut Vec<f32>) {
        self.format.decode(self.rows.row(row), self.dim, out);
    }
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
