//! What is kept of a point.

use crate::storage::Map;
use crate::types::{OpNumber, PointId, Row};
use std::ops::Range;
use std::sync::Arc;

/// In place of the row of a field in which a point has no vector.
pub const NO_ROW: Row = Row::new(u32::MAX);

/// Rows of a point, one for each vector field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The common case: one field.
    One(Row),
    /// Several fields, or none.
    Many(Arc<[Row]>),
}

impl Rows {
    /// No vectors in any of `fields` fields.
    pub fn none(fields: usize) -> Rows {
        if fields == 1 { Rows::One(NO_ROW) } else { Rows::Many(vec![NO_ROW; fields].into()) }
    }

    /// These rows, one for each field.
    pub fn of(rows: &[Row]) -> Rows {
        match rows {
            [one] => Rows::One(*one),
            _ => Rows::Many(rows.into()),
        }
    }

    /// How many fields there are.
    pub fn fields(&self) -> usize {
        match self {
            Rows::One(_) => 1,
            Rows::Many(rows) => rows.len(),
        }
    }

    /// The row in a field, if the point has a vector there.
    pub fn row(&self, field: usize) -> Option<Row> {
        let row = match self {
            Rows::One(row) if field == 0 => *row,
            Rows::One(_) => NO_ROW,
            Rows::Many(rows) => rows.get(field).copied().unwrap_or(NO_ROW),
        };
        (row != NO_ROW).then_some(row)
    }

    /// Sets the row of a field; [`NO_ROW`] for none.
    pub fn set(&mut self, field: usize, row: Row) {
        match self {
            Rows::One(one) if field == 0 => *one = row,
            Rows::One(_) => {}
            Rows::Many(rows) => Arc::make_mut(rows)[field] = row,
        }
    }
}

/// Where the bytes of a stored payload are.
#[derive(Clone)]
pub struct StoredPayload {
    /// Number of the data file.
    pub file: u32,
    /// The file.
    pub map: Map,
    /// Place in the file.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
}

/// A payload: normalised JSON.
#[derive(Clone)]
pub enum Payload {
    /// `{}`
    Empty,
    /// Not yet in a checkpoint.
    Memory(Arc<[u8]>),
    /// In a data file.
    Stored(StoredPayload),
}

impl Payload {
    /// A payload from normalised JSON.
    pub fn new(bytes: &[u8]) -> Payload {
        if bytes == b"{}" { Payload::Empty } else { Payload::Memory(bytes.into()) }
    }

    /// Bytes that it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Payload::Empty | Payload::Stored(_) => 0,
            Payload::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Bytes of the normalised JSON, none of `{}`.
    pub fn json_bytes(&self) -> u64 {
        match self {
            Payload::Stored(stored) => u64::from(stored.len),
            Payload::Empty | Payload::Memory(_) => self.memory_bytes(),
        }
    }

    /// The normalised JSON.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Payload::Empty => b"{}",
            Payload::Memory(bytes) => bytes,
            Payload::Stored(stored) => {
                let range: Range<usize> =
                    stored.offset as usize..stored.offset as usize + stored.len as usize;
                // The range was checked when the checkpoint was written or loaded.
                &stored.map[range]
            }
        }
    }
}

/// A point as it is read from the table of points and put into it. A deleted point leaves a tombstone, so that offsets
/// never move; a new point takes its place.
#[derive(Clone)]
pub struct Point {
    /// The client's id.
    pub id: PointId,
    /// Operation of its last change.
    pub version: OpNumber,
    /// Whether it exists; false for a tombstone.
    pub live: bool,
    /// Its payload.
    pub payload: Payload,
    /// Its vectors' rows.
    pub rows: Rows,
}
