//! What a reader holds: one consistent, immutable state of a collection.

use super::PointRef;
use super::State;
use crate::field::FieldTable;
use crate::field::sparse_table::SparseTable;
use crate::types::{Lsn, OpNumber, Row};
use crate::vectors::{MultiVector, VectorValue};
use std::sync::Arc;

/// A collection at operation [`View::op`]. Taking one is a reference count; nothing a writer does later shows.
pub struct View {
    /// The last operation in it.
    pub op: OpNumber,
    /// LSN of that operation's record.
    pub lsn: Lsn,
    /// Points, ids, field indexes.
    pub state: State,
    /// Tables of the vector fields, in the order of the configuration.
    pub fields: Arc<[FieldTable]>,
    /// Tables of the sparse fields in theirs; their positions follow those of `fields`.
    pub sparse: Arc<[SparseTable]>,
}

impl View {
    /// The vector of a point of this view in the field at a position
    /// ([`CollectionConfig::vector_position`](crate::config::CollectionConfig::vector_position)), as clients read it
    /// back; `None` when the point has none there.
    pub fn vector(&self, point: PointRef<'_>, position: usize) -> Option<VectorValue> {
        let row = point.row(position)?;
        let Some(table) = self.fields.get(position) else {
            return Some(VectorValue::Sparse(self.sparse[position - self.fields.len()].vector(row)));
        };
        let mut components = Vec::with_capacity(table.dim);
        table.read_back(row, &mut components);
        Some(if table.is_multi {
            VectorValue::Multi(MultiVector { dim: table.dim, components })
        } else {
            VectorValue::Dense(components)
        })
    }

    /// Whether a chunk of the rows of the field at a position has not been dropped.
    pub fn holds_chunk(&self, position: usize, chunk: u32) -> bool {
        let first = Row::new(chunk * self.chunk_rows(position));
        match self.fields.get(position) {
            Some(table) => table.holds(first),
            None => self.sparse[position - self.fields.len()].rows.holds(first),
        }
    }

    /// Rows of the field at a position, dead ones included.
    pub fn rows(&self, position: usize) -> u32 {
        match self.fields.get(position) {
            Some(table) => table.len(),
            None => self.sparse[position - self.fields.len()].len(),
        }
    }

    /// Rows of a full chunk of the field at a position.
    pub fn chunk_rows(&self, position: usize) -> u32 {
        match self.fields.get(position) {
            Some(table) => table.rows.chunk_rows(),
            None => self.sparse[position - self.fields.len()].rows.chunk_rows(),
        }
    }

    /// Bytes of the vectors of live points as they are kept; those of sparse ones by the mean of all rows that are held.
    pub fn live_vector_bytes(&self) -> u64 {
        let dense = self.fields.iter().map(|table| table.live() * table.rows.row_bytes() as u64);
        let sparse = self.sparse.iter().map(|table| {
            let stored = (table.rows.memory_bytes() + table.rows.mapped_bytes()) as u64;
            stored * table.live() / u64::from(table.rows.held()).max(1)
        });
        dense.chain(sparse).sum()
    }

    /// Live points.
    pub fn points_count(&self) -> usize {
        self.state.live.len() as usize
    }
}
