//! The new vectors of fields that are being embedded anew (C19): they are in shadows of these.
//!
//! A point has a vector in a shadow only where it has one in the field, and only of the text that it has now.

use super::Head;
use crate::faults::PlantedFault;
use crate::state::point::Point;
use crate::types::{OpNumber, PointId, PointOffset};
use crate::vectors::VectorValue;
use std::sync::Arc;

impl Head {
    /// Puts new vectors beside those of their points, whose versions stay: clients see none of it.
    pub(super) fn fill_vectors(&mut self, op: OpNumber, shadow: u16, vectors: &[(PointId, Vec<f32>)]) {
        for (id, components) in vectors {
            if let Some((offset, point)) = self.state.point(id) {
                let mut point = point.to_point();
                let vector = VectorValue::Dense(components.clone());
                self.set_row(op, offset, &mut point, shadow, Some(&vector));
                self.state.set(offset, point);
            }
        }
    }

    /// Takes the new vector from a point that loses its vector in a field.
    pub(super) fn drop_new_vector(
        &mut self,
        op: OpNumber,
        offset: PointOffset,
        point: &mut Point,
        field: u16,
    ) {
        if let Some(shadow) = self.state.config.shadow_at(usize::from(field)) {
            self.set_row(op, offset, point, shadow as u16, None);
        }
    }

    /// Takes those new vectors from a point that are not of the text of its next payload, or whose field has none any more.
    pub(super) fn drop_outdated_vectors(
        &mut self,
        op: OpNumber,
        offset: PointOffset,
        point: &mut Point,
        payload: &[u8],
    ) {
        if self.state.config.reembeddings().is_empty() {
            return;
        }
        let config = Arc::clone(&self.state.config);
        for reembedding in config.reembeddings() {
            let shadow = config.shadow_of(reembedding);
            let field = config.field_index(&reembedding.field);
            let has_vector = field.is_some_and(|field| point.rows.row(field).is_some());
            let stays = has_vector && reembedding.is_same_text(point.payload.bytes(), payload);
            let stays = stays || PlantedFault::NewVectorOfOldText.is_on();
            if !stays && point.rows.row(shadow).is_some() {
                self.set_row(op, offset, point, shadow as u16, None);
            }
        }
    }
}
