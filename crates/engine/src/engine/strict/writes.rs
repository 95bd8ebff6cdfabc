//! Limits of writes.

use super::rates::take;
use super::sizes::contents_of;
use super::{Strict, StrictScope, at_most};
use crate::collection::update::{NamedVectors, Selection, Update};
use crate::collection::{View, Write};
use crate::error::Error;
use crate::vectors::VectorValue;

/// Tokens of a write rate that an update of the points that match a filter takes, however many match: they are not known
/// before it is resolved.
const TOKENS_OF_FILTERED_UPDATE: u64 = 5;

impl Strict<'_> {
    /// Checks a write. A dry run uses up no rate.
    ///
    /// # Errors
    /// `BadRequest` that names the limit; `RateLimited`.
    pub fn check_write(&self, view: &View, write: &Write) -> Result<(), Error> {
        let is_part = matches!(self.scope, StrictScope::Part { .. });
        match write {
            Write::Points { updates, batch, .. } => {
                if !is_part {
                    for (at, update) in updates.iter().enumerate() {
                        let place = |names: &Vec<&str>| format!("operations[{at}].{}.", names[at]);
                        self.check_update(update).map_err(|error| match (error, batch) {
                            (Error::BadRequest(why), Some(names)) => {
                                Error::BadRequest(format!("{}{why}", place(names)))
                            }
                            (error, _) => error,
                        })?;
                    }
                }
                self.sizes().map_or(Ok(()), |sizes| sizes.check(view, updates))?;
                if is_part || self.is_dry_run {
                    return Ok(());
                }
                let tokens = updates.iter().map(tokens_of_update).sum();
                take(&self.collection.rates().updates, self.mode.write_rate_limit, tokens, "write_rate_limit")
            }
            Write::CreateIndex { path, .. } if !is_part => {
                let others = self.state.indexes.iter().filter(|index| index.path() != path).count() as u64;
                let most = self.mode.max_payload_index_count;
                at_most("field indexes", Some(others + 1), "max_payload_index_count", most)
            }
            _ => Ok(()),
        }
    }

    fn check_update(&self, update: &Update) -> Result<(), Error> {
        let most = self.mode.upsert_max_batchsize;
        let size = |points: usize| at_most("points", Some(points as u64), "upsert_max_batchsize", most);
        let unindexed = self.mode.unindexed_filtering_update;
        match update {
            Update::Upsert { points, update_filter, .. } => {
                size(points.len())?;
                self.check_lengths(points.iter().map(|point| &point.vectors))?;
                self.check_filter("update_filter", update_filter.as_ref(), unindexed)
            }
            Update::UpdateVectors { points, update_filter, .. } => {
                size(points.len())?;
                self.check_lengths(points.iter().map(|point| &point.vectors))?;
                self.check_filter("update_filter", update_filter.as_ref(), unindexed)
            }
            Update::Sync(sync) => {
                size(sync.sent_contents)?;
                self.check_lengths(contents_of(sync).map(|(_, content)| &content.vectors))?;
                self.check_filter("scope", Some(&sync.scope), unindexed)
            }
            Update::Delete(selection) | Update::ClearPayload(selection) => self.check_selection(selection),
            Update::DeleteVectors { selection, .. }
            | Update::SetPayload { selection, .. }
            | Update::OverwritePayload { selection, .. }
            | Update::DeletePayload { selection, .. } => self.check_selection(selection),
        }
    }

    fn check_selection(&self, selection: &Selection) -> Result<(), Error> {
        match selection {
            Selection::Ids(..) => Ok(()),
            Selection::Filter(filter) => {
                self.check_filter("filter", Some(filter), self.mode.unindexed_filtering_update)
            }
        }
    }

    /// How many rows a multi-vector and how many indices a sparse vector has.
    fn check_lengths<'v>(&self, points: impl Iterator<Item = &'v NamedVectors>) -> Result<(), Error> {
        let mode = &self.mode;
        if mode.multivector_rows.is_empty() && mode.sparse_indices.is_empty() {
            return Ok(());
        }
        for (at, vectors) in points.enumerate() {
            for (name, value) in vectors {
                let (limits, length, kind, unit, setting) = match value {
                    VectorValue::Dense(_) => continue,
                    VectorValue::Multi(rows) => {
                        (&mode.multivector_rows, rows.len(), "Multivector", "vectors", "multivector_config")
                    }
                    VectorValue::Sparse(sparse) => {
                        (&mode.sparse_indices, sparse.len(), "Sparse vector", "indices", "sparse_config")
                    }
                };
                let most = limits.iter().find(|(named, _)| named == name).map(|(_, most)| *most);
                if most.is_some_and(|most| length as u64 > most) {
                    let most = most.unwrap_or_default();
                    return Err(Error::bad(format!(
                        "points[{at}].vector: {kind} '{name}' has a limit of {most} {unit}, but {length} were provided! ({setting} of the collection's strict mode)"
                    )));
                }
            }
        }
        Ok(())
    }
}

/// Tokens of a write rate that an update takes: one for each point that it names.
fn tokens_of_update(update: &Update) -> u64 {
    match update {
        Update::Upsert { points, .. } => points.len() as u64,
        Update::UpdateVectors { points, .. } => points.len() as u64,
        Update::Sync(sync) => sync.sent_contents as u64 + TOKENS_OF_FILTERED_UPDATE,
        Update::Delete(selection)
        | Update::ClearPayload(selection)
        | Update::DeleteVectors { selection, .. }
        | Update::SetPayload { selection, .. }
        | Update::OverwritePayload { selection, .. }
        | Update::DeletePayload { selection, .. } => match selection {
            Selection::Ids(ids, _) => ids.len() as u64,
            Selection::Filter(_) => TOKENS_OF_FILTERED_UPDATE,
        },
    }
}
