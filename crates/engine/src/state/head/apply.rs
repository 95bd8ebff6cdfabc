//! Applying changes to the head.

use super::Head;
use crate::change::{Change, FieldVector};
use crate::config::CollectionConfig;
use crate::faults::PlantedFault;
use crate::state::allowance::{Allowance, Unapplied};
use crate::state::declared_index::DeclaredIndex;
use crate::state::editing::Editing;
use crate::state::point::{Payload, Point, Rows};
use crate::types::{OpNumber, PointId, PointOffset};
use std::collections::HashSet;
use std::sync::Arc;

/// The configuration of a change.
fn restored(json: &[u8]) -> Result<Arc<CollectionConfig>, Unapplied> {
    CollectionConfig::restore(json).map(Arc::new).map_err(|error| Unapplied::Refused(error.to_string()))
}

impl Head {
    /// Applies one change that was accepted before, as part of operation `op`.
    ///
    /// # Errors
    /// A sentence, where the change is not one that was logged.
    pub fn apply(&mut self, op: OpNumber, change: &Change) -> Result<(), String> {
        self.apply_within(op, change, &mut Allowance::unbounded()).map_err(|why| match why {
            Unapplied::Refused(why) | Unapplied::TooLong(why) => why,
            Unapplied::GivenUp(error) => error.to_string(),
        })
    }

    /// Applies one change as part of operation `op`.
    ///
    /// # Errors
    /// [`Unapplied`]: a payload edit would nest too deep or add more than is allowed, or the request is given up. Nothing
    /// else of a resolved change can fail.
    pub fn apply_within(
        &mut self,
        op: OpNumber,
        change: &Change,
        allowance: &mut Allowance<'_>,
    ) -> Result<(), Unapplied> {
        match change {
            Change::Put { id, vectors, payload } => self.put(op, id, vectors, payload),
            Change::Delete(ids) => {
                for id in ids {
                    self.delete(op, id);
                }
            }
            Change::SetVectors { id, vectors } => {
                if let Some((offset, mut point)) = self.take(id) {
                    for (field, vector) in vectors {
                        self.set_row(op, offset, &mut point, *field, Some(vector));
                    }
                    self.write_back(op, offset, point);
                }
            }
            Change::DropVectors { fields, ids } => {
                for id in ids {
                    if let Some((offset, mut point)) = self.take(id) {
                        for &field in fields {
                            self.set_row(op, offset, &mut point, field, None);
                            self.drop_new_vector(op, offset, &mut point, field);
                        }
                        self.write_back(op, offset, point);
                    }
                }
            }
            Change::EditPayload { edit, ids } => {
                let editing = Editing::new(edit);
                self.refuse_certain_growth(&editing, ids, allowance)?;
                for id in ids {
                    self.edit_payload(op, id, &editing, allowance)?;
                }
            }
            Change::CreateIndex { path, schema } => {
                let index = DeclaredIndex::restore(path.clone(), schema).map_err(Unapplied::Refused)?;
                let indexes = Arc::make_mut(&mut self.state.indexes);
                indexes.retain(|index| index.path() != path);
                indexes.push(index);
                // One that is built goes on until this one is.
                if self.state.auto_index(path).is_some_and(|auto| auto.built().is_none()) {
                    Arc::make_mut(&mut self.state.auto_indexes).retain(|auto| auto.path() != path);
                }
            }
            Change::DropIndex(path) => {
                Arc::make_mut(&mut self.state.indexes).retain(|index| index.path() != path)
            }
            Change::FillVectors { field, vectors } => self.fill_vectors(op, *field, vectors),
            Change::SetConfig(json) => self.state.set_config(restored(json)?),
            Change::Skipped(_) | Change::After(_) => {}
            Change::SetFields(json) => self.set_fields(op, restored(json)?),
        }
        Ok(())
    }

    fn put(&mut self, op: OpNumber, id: &PointId, vectors: &[FieldVector], payload: &[u8]) {
        let (offset, mut point) = match self.take(id) {
            Some((offset, point)) => {
                self.reindex(offset, Some(point.payload.bytes()), Some(payload));
                (offset, point)
            }
            None => {
                let rows = Rows::none(usize::from(self.positions()));
                let point = Point { id: id.clone(), version: op, live: true, payload: Payload::Empty, rows };
                let offset = self.state.add(point.clone());
                self.reindex(offset, None, Some(payload));
                (offset, point)
            }
        };
        let config = Arc::clone(&self.state.config);
        let vector_at = |field: u16| vectors.iter().find(|(at, _)| *at == field).map(|(_, vector)| vector);
        for field in 0..self.positions() {
            if !config.is_shadow(usize::from(field)) {
                self.set_row(op, offset, &mut point, field, vector_at(field));
            }
        }
        self.drop_outdated_vectors(op, offset, &mut point, payload);
        point.payload = Payload::new(payload);
        self.write_back(op, offset, point);
    }

    fn delete(&mut self, op: OpNumber, id: &PointId) {
        let Some((offset, mut point)) = self.take(id) else { return };
        self.reindex(offset, Some(point.payload.bytes()), None);
        for field in 0..self.positions() {
            self.set_row(op, offset, &mut point, field, None);
        }
        self.state.remove(id, offset);
        point.live = false;
        point.payload = Payload::Empty;
        self.write_back(op, offset, point);
    }

    /// Refuses an edit that is certain to add more than is allowed, before it is made.
    fn refuse_certain_growth(
        &self,
        editing: &Editing<'_>,
        ids: &[PointId],
        allowance: &Allowance<'_>,
    ) -> Result<(), Unapplied> {
        let Some(room) = allowance.room() else { return Ok(()) };
        let least = editing.least_bytes();
        if least.saturating_mul(ids.len() as u64) <= room {
            return Ok(());
        }
        let mut certain = allowance.trial();
        // A point that is named twice grows once.
        let mut seen = HashSet::with_capacity(ids.len());
        for id in ids {
            if let Some((_, point)) = self.state.point(id)
                && seen.insert(id)
            {
                certain.grow(least.saturating_sub(point.document().len() as u64))?;
            }
        }
        Ok(())
    }

    fn edit_payload(
        &mut self,
        op: OpNumber,
        id: &PointId,
        editing: &Editing<'_>,
        allowance: &mut Allowance<'_>,
    ) -> Result<(), Unapplied> {
        let Some((offset, mut point)) = self.take(id) else { return Ok(()) };
        let before = point.payload.clone();
        if let Payload::Stored(stored) = &before
            && editing.edit.keeps_a_part()
        {
            self.edited.read_from(stored);
        }
        // Each field index looks through the payload that goes and the one that comes.
        let readers = 1 + self.state.indexes.len() + self.state.auto_indexes.len();
        allowance.read(before.bytes().len())?;
        allowance.pace.step(before.bytes().len() * readers)?;
        if let Some(after) = editing.apply(before.bytes(), &mut allowance.pace)? {
            allowance.grow(after.len().saturating_sub(before.bytes().len()) as u64)?;
            allowance.pace.work(after.len() * readers)?;
            self.reindex(offset, Some(before.bytes()), Some(&after));
            self.drop_outdated_vectors(op, offset, &mut point, &after);
            point.payload = Payload::new(&after);
        }
        self.write_back(op, offset, point);
        Ok(())
    }

    fn take(&self, id: &PointId) -> Option<(PointOffset, Point)> {
        self.state.point(id).map(|(offset, point)| (offset, point.to_point()))
    }

    fn write_back(&mut self, op: OpNumber, offset: PointOffset, mut point: Point) {
        point.version = op;
        self.state.set(offset, point);
    }

    fn reindex(&mut self, offset: PointOffset, before: Option<&[u8]>, after: Option<&[u8]>) {
        if let Some(expiry) = &mut self.state.expiry {
            expiry.replace(offset, before, after);
        }
        if !self.state.indexes.is_empty() {
            for index in Arc::make_mut(&mut self.state.indexes) {
                index.replace(offset, before, after);
            }
        }
        if !self.state.auto_indexes.is_empty() && !PlantedFault::AutoIndexMissesWrites.is_on() {
            for auto in Arc::make_mut(&mut self.state.auto_indexes) {
                auto.replace(offset, before, after);
            }
        }
    }
}
