//! Limits on the size of a collection.

use super::scope::CollectionSize;
use super::{Strict, at_most};
use crate::collection::update::{SourceSync, SyncContent, Update, UpdateMode};
use crate::collection::{Admission, View};
use crate::error::Error;
use crate::types::PointId;
use std::collections::HashSet;

/// Bytes of `{}`, the payload of a point without one.
const EMPTY_OBJECT: usize = 2;

/// How large a collection may become. Writes at one time are checked one after the other: each before it is queued, so that it
/// is refused early, and again by the writer, behind those that came before it.
pub(super) struct SizeLimits {
    points: Option<u64>,
    vector_bytes: Option<u64>,
    payload_bytes: Option<u64>,
    /// What other shards have.
    elsewhere: CollectionSize,
    /// The caller may not reach all points (C15).
    hides_counts: bool,
}

impl Strict<'_> {
    /// The limits on the size, where there are any and the request meets them.
    pub(super) fn sizes(&self) -> Option<SizeLimits> {
        let mode = &self.mode;
        let limits = SizeLimits {
            points: mode.max_points_count,
            vector_bytes: mode.max_collection_vector_size_bytes,
            payload_bytes: mode.max_collection_payload_size_bytes,
            elsewhere: self.scope.elsewhere(),
            hides_counts: self.hides_counts,
        };
        let any = [limits.points, limits.vector_bytes, limits.payload_bytes].iter().any(Option::is_some);
        (any && !self.scope.is_check()).then_some(limits)
    }

    /// The check of these limits by the writer.
    pub fn admission(&self) -> Option<Admission> {
        let limits = self.sizes()?;
        Some(Box::new(move |view, updates| limits.check(view, updates)))
    }
}

impl SizeLimits {
    /// # Errors
    /// `BadRequest` that names the limit.
    pub(super) fn check(&self, view: &View, updates: &[Update]) -> Result<(), Error> {
        self.check_points(view, updates)?;
        self.check_sizes(view, updates)
    }

    /// How many points there would be: with all new ones of the request, whatever it deletes.
    fn check_points(&self, view: &View, updates: &[Update]) -> Result<(), Error> {
        let Some(most) = self.points else { return Ok(()) };
        let upserted = updates.iter().flat_map(|update| -> Box<dyn Iterator<Item = &PointId> + '_> {
            match update {
                Update::Upsert { points, mode, .. } if *mode != UpdateMode::UpdateOnly => {
                    Box::new(points.iter().map(|point| &point.id))
                }
                Update::Sync(sync) => Box::new(contents_of(sync).map(|(id, _)| id)),
                _ => Box::new(std::iter::empty()),
            }
        });
        let new: HashSet<&PointId> = upserted.filter(|id| view.state.offset(id).is_none()).collect();
        if new.is_empty() {
            return Ok(());
        }
        let count = self.elsewhere.points.saturating_add((view.points_count() + new.len()) as u64);
        if self.hides_counts && count > most {
            // Whoever reaches some of the points learns nothing of how many there are (C15).
            return Err(Error::bad(format!(
                "points of the collection: the new ones exceed max_points_count: {most} of the collection's strict mode"
            )));
        }
        at_most("points of the collection", Some(count), "max_points_count", Some(most))
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
        let limits = [(vectors, "vector", self.vector_bytes), (payloads, "payload", self.payload_bytes)];
        for (brings, what, most) in limits {
            let Some(most) = most.filter(|_| brings) else { continue };
            let size = match what {
                "vector" => view.live_vector_bytes().saturating_add(self.elsewhere.vector_bytes),
                _ => view.state.live_payload_bytes.saturating_add(self.elsewhere.payload_bytes),
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

/// The points of a sync that have content.
pub(super) fn contents_of(sync: &SourceSync) -> impl Iterator<Item = (&PointId, &SyncContent)> {
    sync.entries.iter().filter_map(|entry| Some((&entry.id, entry.content.as_deref()?)))
}
