//! A reader's rows of one vector field.

use super::arena::FieldCounts;
use super::graph_slot::GraphSlot;
use super::places::PlacesTable;
use super::run::{RunPlace, run_of};
use crate::arena::{ColumnTable64, RowTable};
use crate::config::VectorParams;
use crate::faults::PlantedFault;
use crate::types::{Datatype, Metric, OpNumber, PointOffset, Row, RowRange};
use crate::vectors::RowFormat;
use kithdb_kernels::normalise;
use std::sync::Arc;

/// A reader's table of a field's rows. Nothing of them changes but their deaths.
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
    pub(super) places: PlacesTable,
    pub(super) deaths: ColumnTable64,
    pub(super) live: u64,
    pub(super) vectors: u64,
    /// The graphs over the rows. They change while the table stays as it is.
    pub graphs: Arc<GraphSlot>,
}

impl FieldTable {
    /// Rows, dead ones included.
    pub fn len(&self) -> u32 {
        self.rows.len()
    }

    /// The row after the last.
    #[inline(always)]
    pub fn end(&self) -> Row {
        Row::new(self.len())
    }

    /// The rows, dead ones included.
    #[inline(always)]
    pub fn all_rows(&self) -> RowRange {
        RowRange::new(Row::FIRST, self.end())
    }

    /// The bytes of a row. Panics when there is no such row, or when it has been dropped.
    #[inline(always)]
    pub fn row(&self, row: Row) -> &[u8] {
        self.rows.row(row.get())
    }

    /// Whether there is such a row and it has not been dropped.
    pub fn holds(&self, row: Row) -> bool {
        self.rows.holds(row.get())
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

    /// The counts of the table.
    pub fn counts(&self) -> FieldCounts {
        FieldCounts { rows: self.len(), live: self.live, vectors: self.vectors }
    }

    /// Offset of the point that a row belongs to.
    #[inline(always)]
    pub fn owner(&self, row: Row) -> PointOffset {
        self.places.owner(row.get())
    }

    /// How many rows the vector that begins at this row has; none if no vector begins here.
    #[inline(always)]
    pub fn begins(&self, row: Row) -> Option<u32> {
        self.place(row).begins()
    }

    /// The rows of the vector that a row belongs to.
    pub fn run(&self, row: Row) -> RowRange {
        if self.is_multi { run_of(row, |row| self.place(row)) } else { RowRange::of_len(row, 1) }
    }

    #[inline(always)]
    fn place(&self, row: Row) -> RunPlace {
        self.places.load(row.get())
    }

    /// Bytes of the place of a row in a checkpoint.
    pub fn place_bytes(&self) -> usize {
        place_bytes(self.is_multi)
    }

    /// Appends the place of a row as checkpoints have it; [`stored_places`] reads it back.
    pub fn store_place(&self, row: Row, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.place(row).word().to_le_bytes()[..self.place_bytes()]);
    }

    /// Whether a row is alive at operation `op`, at which this table was taken or later.
    pub fn alive(&self, row: Row, op: OpNumber) -> bool {
        self.deaths.load(row.get()) > op.get() || PlantedFault::DeadRowsFound.is_on()
    }

    /// Replaces `out` by a row as it is searched.
    pub fn vector(&self, row: Row, out: &mut Vec<f32>) {
        out.clear();
        self.format.decode_for_search(self.row(row), self.dim, out);
    }

    /// Bytes of memory for places and deaths.
    pub fn columns_bytes(&self) -> usize {
        self.places.memory_bytes() + self.deaths.memory_bytes()
    }

    /// Appends the vector whose first row is `row` as clients read it back, the rows of a multi-vector one after the other.
    pub fn read_back(&self, row: Row, out: &mut Vec<f32>) {
        for row in self.run(row).iter() {
            self.format.decode(self.row(row), self.dim, out);
        }
    }
}

/// Bytes of a place in a checkpoint. That of a dense vector, which is one row, is its owner.
pub(super) fn place_bytes(is_multi: bool) -> usize {
    if is_multi { size_of::<u64>() } else { size_of::<u32>() }
}

/// The places in a checkpoint, of `place_bytes` bytes each.
pub fn stored_places(bytes: &[u8], place_bytes: usize) -> impl Iterator<Item = RunPlace> {
    bytes.chunks_exact(place_bytes).map(move |stored| {
        let mut word = [0; size_of::<u64>()];
        word[..place_bytes].copy_from_slice(stored);
        let word = u64::from_le_bytes(word);
        if place_bytes == size_of::<u64>() {
            RunPlace::from_word(word)
        } else {
            RunPlace::alone(PointOffset::new(word as u32))
        }
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
        Datatype::Float16 | Datatype::Turbo4 => {
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
