//! Limits of writes.

use super::rates::take;
use super::{Strict, StrictScope, at_most};
use crate::collection::update::{NamedVectors, Selection, SourceSync, SyncContent, Update};
use crate::collection::{View, Write};
use crate::error::Error;
use crate::types::PointId;
use crate::vectors::VectorValue;
use std::collections::HashSet;

/// Tokens of a write rate that an update of the points that match a filter takes, however many match: they are not known
/// before it is resolved.
const TOKENS_OF_FILTERED_UPDATE: u64 = 5;

/// Bytes of `{}`, the payload of a point without one.
const EMPTY_OBJECT: usize = 2;

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
                if !self.scope.is_check() {
                    self.check_points(view, updates)?;
                    self.check_sizes(view, updates)?;
                }
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

    /// How many points there would be: with all new ones of the request, whatever it deletes.
    fn check_points(&self, view: &View, updates: &[Update]) -> Result<(), Error> {
        let Some(most) = self.mode.max_points_count else { return Ok(()) };
        let upserted = updates.iter().flat_map(|update| -> Box<dyn Iterator<Item = &PointId> + '_> {
            match update {
                Update::Upsert { points, .. } => Box::new(points.iter().map(|point| &point.id)),
                Update::Sync(sync) => Box::new(contents_of(sync).map(|(id, _)| id)),
                _ => Box::new(std::iter::empty()),
            }
        });
        let new: HashSet<&PointId> = upserted.filter(|id| self.state.offset(id).is_none()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let count = self.scope.elsewhere().points.saturating_add((view.points_count() + new.len()) as u64);
        if self.hides_counts && count > most {
            // Whoever reaches some of the points learns nothing of how many there are (C15).
            return Err(Error::bad(format!(
                "points of the collection: the new ones exceed max_points_count: {most} of the collection's strict mode"
            )));
        }
        at_most("points of the collection", Some(count), "max_points_count", Some(most))
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

    /// Whether there is room for what the updates bring: a limit that is reached refuses whatever brings more, so the size
    /// may exceed it by what one request brings.
    fn check_sizes(&self, view: &View, updates: &[Update]) -> Result<(), Error> {
        let (mut vectors, mut payloads) = (false, false);
        for update in updates {
            match update {
                Update::Upsert { points, .. } => {
                    vectors |= points.iter().any(|point| !point.vectors.is_empty());
                    payloads |= points.iter().any(|point| point.payload.len() > EMPTY_OBJECT);
                }
                Update::Sync(sync) => {
                    vectors |= contents_of(sync).any(|(_, content)| !content.vectors.is_empty());
                    payloads |= contents_of(sync).any(|(_, content)| content.payload.len() > EMPTY_OBJECT);
                }
                Update::UpdateVectors { .. } => vectors = true,
                Update::SetPayload { .. } | Update::OverwritePayload { .. } => payloads = true,
                _ => {}
            }
        }
        let limits = [
            (vectors, "vector", self.mode.max_collection_vector_size_bytes),
            (payloads, "payload", self.mode.max_collection_payload_size_bytes),
        ];
        for (brings, what, most) in limits {
            let Some(most) = most.filter(|_| brings) else { continue };
            let elsewhere = self.scope.elsewhere();
            let size = match what {
                "vector" => view.live_vector_bytes().saturating_add(elsewhere.vector_bytes),
                _ => self.state.payload_bytes.saturating_add(elsewhere.payload_bytes),
            };
            if size >= most {
                let has =
                    if self.hides_counts { String::new() } else { format!(": the collection has {size}") };
                return Err(Error::bad(format!(
                    "Max {what} storage size limit of {most} bytes reached{has} (max_collection_{what}_size_bytes of its strict mode)"
                )));
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

/// The points of a sync that have content.
fn contents_of(sync: &SourceSync) -> impl Iterator<Item = (&PointId, &SyncContent)> {
    sync.entries.iter().filter_map(|entry| Some((&entry.id, entry.content.as_deref()?)))
}
