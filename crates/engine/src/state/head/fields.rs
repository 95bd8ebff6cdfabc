//! The fields of the head: adding and removing them.
//!
//! A field that is removed is kept until the operation that removed it is durable, because the log may refuse it.

use super::Head;
use crate::change::{Change, FieldVector};
use crate::config::{CollectionConfig, FieldKey};
use crate::field::arena::FieldArena;
use crate::field::sparse_table::SparseArena;
use crate::types::OpNumber;
use crate::vectors::VectorValue;
use std::sync::Arc;

/// A field that was removed.
pub(super) struct RemovedField {
    /// The operation that did it.
    pub op: OpNumber,
    key: FieldKey,
    rows: FieldRows,
}

/// The rows of a field of either kind.
enum FieldRows {
    Dense(FieldArena),
    Sparse(SparseArena),
}

impl Head {
    /// Whether the vectors of a change are of the fields at their positions. Those of a change behind the record that added a
    /// field are not, where that record is lost.
    pub fn fits(&self, change: &Change) -> bool {
        let config = &self.state.config;
        let is_known = |position: u16| usize::from(position) < config.positions();
        let fits = |(position, vector): &FieldVector| {
            is_known(*position)
                && config.kind_at(usize::from(*position)) == vector.kind()
                && config.fields().get(usize::from(*position)).is_none_or(|(_, params)| match vector {
                    VectorValue::Dense(components) => components.len() == params.size,
                    VectorValue::Multi(rows) => rows.dim == params.size,
                    VectorValue::Sparse(_) => false,
                })
        };
        match change {
            Change::Put { vectors, .. } | Change::SetVectors { vectors, .. } => vectors.iter().all(fits),
            Change::DropVectors { fields, .. } => fields.iter().all(|position| is_known(*position)),
            Change::FillVectors { field, vectors } => {
                let shadow = config
                    .fields()
                    .get(usize::from(*field))
                    .filter(|_| config.is_shadow(usize::from(*field)));
                shadow.is_some_and(|(_, params)| {
                    vectors.iter().all(|(_, components)| components.len() == params.size)
                })
            }
            _ => true,
        }
    }

    /// Gives the collection the fields of a configuration, as operation `op`. No death may be waiting for its operation to
    /// become durable: deaths name positions.
    pub(super) fn set_fields(&mut self, op: OpNumber, config: Arc<CollectionConfig>) {
        debug_assert!(self.deaths.is_empty(), "deaths of operations that are not durable");
        let from = config.positions_in(&self.state.config);
        // All that needs memory comes before the first change.
        let state = self.state.rearranged(Arc::clone(&config), &from);
        self.rearrange(op, &config);
        self.state = state;
    }

    /// Goes back to the fields of an earlier configuration, which no reader has seen replaced.
    pub(super) fn arrange(&mut self, config: &CollectionConfig) {
        if self.state.config.fields_changed() != config.fields_changed() {
            self.rearrange(OpNumber::NONE, config);
        }
    }

    /// Puts the rows of the fields in the order of a configuration. Fields that it does not have count as removed by
    /// operation `op`; for [`OpNumber::NONE`] they are dropped.
    fn rearrange(&mut self, op: OpNumber, config: &CollectionConfig) {
        let (keys, wanted) = (self.state.config.field_keys(), config.field_keys());
        let mut fresh = self.fresh_fields(config, &keys, &wanted);
        let mut fields = Vec::with_capacity(wanted.len());
        let mut sparse = Vec::with_capacity(wanted.len());
        let mut pool: Vec<RemovedField> = Vec::with_capacity(keys.len() + self.removed.len());
        // From here on nothing needs memory: a failure would leave the head without its rows.
        let dense = self.fields.drain(..).map(FieldRows::Dense);
        let rows = dense.chain(self.sparse.drain(..).map(FieldRows::Sparse));
        pool.extend(keys.into_iter().zip(rows).map(|(key, rows)| RemovedField { op, key, rows }));
        pool.append(&mut self.removed);
        for (position, key) in wanted.iter().enumerate() {
            let kept = pool.iter().position(|field| field.key == *key);
            let rows = kept.map(|at| pool.swap_remove(at).rows).or_else(|| fresh[position].take());
            match rows {
                Some(FieldRows::Dense(rows)) => fields.push(rows),
                Some(FieldRows::Sparse(rows)) => sparse.push(rows),
                None => unreachable!("every field is kept, or fresh"),
            }
        }
        (self.fields, self.sparse) = (fields, sparse);
        pool.retain(|field| field.op != OpNumber::NONE);
        self.removed = pool;
    }

    /// The rows of the fields of a configuration that the head does not have, by position.
    fn fresh_fields(
        &self,
        config: &CollectionConfig,
        keys: &[FieldKey],
        wanted: &[FieldKey],
    ) -> Vec<Option<FieldRows>> {
        let is_known =
            |key: &FieldKey| keys.contains(key) || self.removed.iter().any(|field| field.key == *key);
        let fresh = |(position, key): (usize, &FieldKey)| {
            let dense = config.fields().len();
            let rows = |position: usize| match position.checked_sub(dense) {
                None => FieldRows::Dense(FieldArena::new(&config.fields()[position].1, self.row_chunk_bytes)),
                Some(at) => {
                    FieldRows::Sparse(SparseArena::new(&config.sparse_fields()[at].1, self.row_chunk_bytes))
                }
            };
            (!is_known(key)).then(|| rows(position))
        };
        wanted.iter().enumerate().map(fresh).collect()
    }
}
