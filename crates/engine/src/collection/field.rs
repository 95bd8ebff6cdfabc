//! Rows of one vector field.

use super::config::VectorParams;
use crate::arena::{AtomicColumn64, ColumnTable, RowArena, RowTable};
use crate::types::{Datatype, Metric};
use kithdb_kernels::{norm, normalise};

/// Death of a row that is alive.
pub const ALIVE: u64 = u64::MAX;

/// The writer's side of a vector field. A row is written once; it dies when its point gets another vector, loses
/// it, or is deleted.
pub struct FieldArena {
    rows: RowArena,
    /// Low half: offset of the point. High half: norm of the vector as sent, where the rows are normalised
    /// copies of whole numbers (Cosine over uint8), else 0.
    owners: AtomicColumn64,
    /// Operation at which the row died; [`ALIVE`] before.
    deaths: AtomicColumn64,
    live: u64,
}

impl FieldArena {
    /// An empty field of vectors with `size` components.
    pub fn new(size: usize) -> FieldArena {
        FieldArena {
            rows: RowArena::new(size),
            owners: AtomicColumn64::new(),
            deaths: AtomicColumn64::new(),
            live: 0,
        }
    }

    /// Appends a row and answers its number.
    pub fn push(&mut self, vector: &StoredVector<'_>, owner: u32) -> u32 {
        let row = self.rows.push(vector.components);
        self.owners.push(u64::from(owner) | u64::from(vector.norm.to_bits()) << 32);
        self.deaths.push(ALIVE);
        self.live += 1;
        row
    }

    /// Appends a row as a checkpoint kept it: dead until [`FieldArena::revive`].
    pub fn load(&mut self, components: &[f32], owner: u64) {
        self.rows.push(components);
        self.owners.push(owner);
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

    /// Rows that are alive.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// A reader's table of the rows so far.
    pub fn table(&self) -> FieldTable {
        FieldTable {
            rows: self.rows.table(),
            owners: self.owners.table(),
            deaths: self.deaths.table(),
            live: self.live,
        }
    }

    /// The components of a row.
    pub fn row(&self, row: u32) -> &[f32] {
        self.rows.row(row)
    }
}

/// A reader's table of a field's rows: those below its length never change but for their deaths.
#[derive(Clone)]
pub struct FieldTable {
    /// The vectors, as they are searched.
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

    /// The owner word as it is kept in checkpoints.
    pub fn owner_word(&self, row: u32) -> u64 {
        self.owners.load(row)
    }

    /// Whether a row is alive at operation `op`, at which this table was taken or later.
    pub fn alive(&self, row: u32, op: u64) -> bool {
        self.deaths.load(row) > op
    }

    /// Appends the vector as clients read it back.
    pub fn read_back(&self, row: u32, params: &VectorParams, out: &mut Vec<f32>) {
        let components = self.rows.row(row);
        if params.metric == Metric::Cosine && params.datatype() == Datatype::Uint8 {
            let norm = f32::from_bits((self.owners.load(row) >> 32) as u32);
            out.extend(components.iter().map(|component| (component * norm).round()));
        } else {
            out.extend_from_slice(components);
        }
    }
}

/// A vector as it is kept, from [`prepare`].
pub struct StoredVector<'a> {
    /// Components of the row.
    pub components: &'a [f32],
    /// Norm of the vector as sent where that is needed to read it back, else 0.
    pub norm: f32,
}

/// Rounds a vector to the field's element type and normalises it under Cosine, as the log keeps it.
///
/// Whole numbers under Cosine stay as they are sent (C2.4, C2.6); [`row_of`] makes their rows.
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

/// The row of a prepared vector. `scratch` holds the components where they differ from the vector.
pub fn row_of<'a>(params: &VectorParams, vector: &'a [f32], scratch: &'a mut Vec<f32>) -> StoredVector<'a> {
    if params.metric == Metric::Cosine && params.datatype() == Datatype::Uint8 {
        scratch.clear();
        scratch.extend_from_slice(vector);
        normalise(scratch);
        return StoredVector { components: scratch, norm: norm(vector) as f32 };
    }
    StoredVector { components: vector, norm: 0.0 }
}
