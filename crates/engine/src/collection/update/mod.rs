//! Typed updates: what a request asks to change, parsed and checked as far as that goes without the collection.

mod applying;
mod comparing;
mod finder;
mod resolution;
mod resolve;
mod source_sync;
mod work;

pub(super) use applying::{Applying, Used};
pub use comparing::{SyncPlan, ask_for_vectors, plan_sync};
pub(super) use finder::Finder;
pub use resolution::{Resolution, TimeSlice};
pub use resolve::not_found;
pub use source_sync::{
    ContentHash, MergedPart, SourceSync, SyncContent, SyncEntries, SyncEntry, Synced, Texts,
};
pub(super) use work::{edited_bytes, filter_work};

use crate::config::VectorModels;
use crate::deadline::Deadline;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::limits::Limits;
use crate::payload::JsonPath;
use crate::state::Numbering;
use crate::types::PointId;
use crate::vectors::VectorValue;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Vectors by name, in the order of the request; the unnamed vector under `""`. No name twice.
pub type NamedVectors = Vec<(Box<str>, VectorValue)>;

/// A point of an upsert (C5.1).
#[derive(Clone, Debug)]
pub struct PointInput {
    /// The point's id.
    pub id: PointId,
    /// Its vectors; empty for a point without vectors.
    pub vectors: NamedVectors,
    /// Its payload as normalised JSON ([`crate::json::read_payload`]); `{}` when absent or null.
    pub payload: Box<[u8]>,
    /// The version that the point must have; 0 when it must be absent (C25).
    pub if_version: Option<u64>,
}

/// A point of an update of vectors (C5.5).
#[derive(Clone, Debug)]
pub struct VectorsInput {
    /// The point's id.
    pub id: PointId,
    /// At least one vector.
    pub vectors: NamedVectors,
    /// As in [`PointInput`].
    pub if_version: Option<u64>,
}

/// The versions that the points of a selection by id must have (C25).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// Any.
    #[default]
    Any,
    /// All the same.
    All(u64),
    /// Some ids, each its own.
    Each(HashMap<PointId, u64>),
}

impl Versions {
    /// What a point must have.
    pub fn of(&self, id: &PointId) -> Option<u64> {
        match self {
            Versions::Any => None,
            Versions::All(version) => Some(*version),
            Versions::Each(versions) => versions.get(id).copied(),
        }
    }
}

/// What an upsert does with ids that exist, or do not (C5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateMode {
    /// Insert or replace.
    Upsert,
    /// Skip ids that exist.
    InsertOnly,
    /// Skip ids that are absent.
    UpdateOnly,
}

/// Which points an update is about. When a request gives both, the ids count.
#[derive(Clone, Debug)]
pub enum Selection {
    /// These ids, in the order of the request, possibly repeated, and the versions that they must have.
    Ids(Vec<PointId>, Versions),
    /// The points that match.
    Filter(Filter),
}

/// One update. A `points/batch` is a list of them; every other write is a list of one.
#[derive(Clone, Debug)]
pub enum Update {
    /// C5.1
    Upsert {
        /// In the order of the request; the last of a repeated id wins.
        points: Vec<PointInput>,
        /// What to do with existing and absent ids.
        mode: UpdateMode,
        /// Existing points that do not match keep their state.
        update_filter: Option<Filter>,
        /// The models of the vectors.
        models: VectorModels,
    },
    /// C5.4
    Delete(Selection),
    /// C5.5: the vectors given replace those of the same name.
    UpdateVectors {
        /// Ids with at least one vector each; a repeated id merges.
        points: Vec<VectorsInput>,
        /// Points that do not match keep their state.
        update_filter: Option<Filter>,
        /// The models of the vectors.
        models: VectorModels,
    },
    /// C5.10
    DeleteVectors {
        /// Names; `""` for the unnamed vector. Not empty.
        names: Vec<Box<str>>,
        /// Which points.
        selection: Selection,
    },
    /// C5.6: merge.
    SetPayload {
        /// Normalised JSON object.
        payload: Box<[u8]>,
        /// Where to merge; the top level when absent.
        key: Option<JsonPath>,
        /// Which points.
        selection: Selection,
    },
    /// C5.7: replace.
    OverwritePayload {
        /// Normalised JSON object.
        payload: Box<[u8]>,
        /// What to replace; the whole payload when absent.
        key: Option<JsonPath>,
        /// Which points.
        selection: Selection,
    },
    /// C5.8
    DeletePayload {
        /// Paths to remove.
        keys: Vec<JsonPath>,
        /// Which points.
        selection: Selection,
    },
    /// C5.9
    ClearPayload(Selection),
    /// C20; the only one of its request.
    Sync(Box<SourceSync>),
}

/// The updates of one request, and what they may cost.
#[derive(Clone, Copy)]
pub struct Updates<'r> {
    /// In order; each sees the ones before it.
    pub list: &'r [Update],
    /// The keys of a `points/batch`.
    pub batch: Option<&'r [&'static str]>,
    /// The points that the caller may reach (C15); all when absent.
    pub within: Option<&'r Filter>,
    /// Points whose time has come by then are absent (C17).
    pub now: Option<i64>,
    /// Conflicts name the number that the request will have, where a part of it meets another one.
    pub numbering: Numbering,
    /// The limits of the engine.
    pub limits: &'r Limits,
    /// The deadline of the request.
    pub deadline: &'r Deadline,
}

impl Selection {
    /// The same among some points.
    fn within(&self, ids: &BTreeSet<PointId>) -> Selection {
        match self {
            Selection::Ids(of_all, versions) => {
                let within = of_all.iter().filter(|id| ids.contains(*id)).cloned();
                Selection::Ids(within.collect(), versions.clone())
            }
            Selection::Filter(filter) => Selection::Filter(filter.clone()),
        }
    }
}

impl Update {
    /// Keeps an update by filter to the points that the caller may reach (C15).
    pub fn limit(&mut self, within: Option<&Arc<Filter>>) {
        let Some(within) = within.filter(|_| !PlantedFault::UpdateOutsideToken.is_on()) else { return };
        let selection = match self {
            Update::Upsert { .. } | Update::UpdateVectors { .. } => return,
            Update::Sync(sync) => return sync.limit(within),
            Update::Delete(selection)
            | Update::ClearPayload(selection)
            | Update::DeleteVectors { selection, .. }
            | Update::SetPayload { selection, .. }
            | Update::OverwritePayload { selection, .. }
            | Update::DeletePayload { selection, .. } => selection,
        };
        if let Selection::Filter(filter) = selection {
            let own = Arc::new(std::mem::take(filter));
            *filter = Filter::all_of([Arc::clone(within), own]);
        }
    }

    /// The filter that decides which points it changes, if one does.
    pub fn filter(&self) -> Option<&Filter> {
        match self {
            Update::Upsert { update_filter, .. } | Update::UpdateVectors { update_filter, .. } => {
                update_filter.as_ref()
            }
            Update::Sync(sync) => Some(sync.reached()),
            Update::Delete(selection)
            | Update::ClearPayload(selection)
            | Update::DeleteVectors { selection, .. }
            | Update::SetPayload { selection, .. }
            | Update::OverwritePayload { selection, .. }
            | Update::DeletePayload { selection, .. } => match selection {
                Selection::Filter(filter) => Some(filter),
                Selection::Ids(..) => None,
            },
        }
    }

    /// The sync, if it is one.
    pub fn sync(&self) -> Option<&SourceSync> {
        match self {
            Update::Sync(sync) => Some(sync),
            _ => None,
        }
    }

    /// The points that its filter has to decide; `None` for all.
    fn decided(&self) -> Option<Vec<&PointId>> {
        match self {
            Update::Upsert { points, .. } => Some(points.iter().map(|point| &point.id).collect()),
            Update::UpdateVectors { points, .. } => Some(points.iter().map(|point| &point.id).collect()),
            _ => None,
        }
    }

    /// The same update of some points only. A filter is left as it is.
    fn within(&self, ids: &BTreeSet<PointId>) -> Update {
        match self {
            Update::Upsert { points, mode, update_filter, models } => Update::Upsert {
                points: points.iter().filter(|point| ids.contains(&point.id)).cloned().collect(),
                mode: *mode,
                update_filter: update_filter.clone(),
                models: models.clone(),
            },
            Update::UpdateVectors { points, update_filter, models } => Update::UpdateVectors {
                points: points.iter().filter(|point| ids.contains(&point.id)).cloned().collect(),
                update_filter: update_filter.clone(),
                models: models.clone(),
            },
            Update::Delete(selection) => Update::Delete(selection.within(ids)),
            Update::ClearPayload(selection) => Update::ClearPayload(selection.within(ids)),
            Update::DeleteVectors { names, selection } => {
                Update::DeleteVectors { names: names.clone(), selection: selection.within(ids) }
            }
            Update::SetPayload { payload, key, selection } => Update::SetPayload {
                payload: payload.clone(),
                key: key.clone(),
                selection: selection.within(ids),
            },
            Update::OverwritePayload { payload, key, selection } => Update::OverwritePayload {
                payload: payload.clone(),
                key: key.clone(),
                selection: selection.within(ids),
            },
            Update::DeletePayload { keys, selection } => {
                Update::DeletePayload { keys: keys.clone(), selection: selection.within(ids) }
            }
            // Nothing of its request comes behind it that would see what it did.
            Update::Sync(sync) => Update::Sync(sync.clone()),
        }
    }

    /// Whether it may write vectors.
    pub fn adds_rows(&self) -> bool {
        match self {
            Update::Upsert { .. } | Update::UpdateVectors { .. } => true,
            Update::Sync(sync) => sync.entries.contents() > 0,
            _ => false,
        }
    }

    /// Points that it writes whole or in part, where the request has them one by one.
    pub fn points(&self) -> usize {
        match self {
            Update::Upsert { points, .. } => points.len(),
            Update::UpdateVectors { points, .. } => points.len(),
            Update::Sync(sync) => sync.entries.contents(),
            _ => 0,
        }
    }

    /// Whether it makes the data grow.
    pub fn grows(&self) -> bool {
        match self {
            Update::Upsert { .. }
            | Update::UpdateVectors { .. }
            | Update::SetPayload { .. }
            | Update::OverwritePayload { .. } => true,
            Update::Sync(sync) => sync.entries.contents() > 0,
            Update::Delete(_)
            | Update::DeleteVectors { .. }
            | Update::DeletePayload { .. }
            | Update::ClearPayload(_) => false,
        }
    }
}
