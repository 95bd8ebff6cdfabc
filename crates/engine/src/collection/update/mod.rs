//! Typed updates: what a request asks to change, parsed and checked as far as that goes without the collection.

mod resolve;

pub use resolve::not_found;
pub(super) use resolve::resolve;

use crate::filter::Filter;
use crate::payload::JsonPath;
use crate::types::PointId;
use crate::vectors::VectorValue;

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
    /// These ids, in the order of the request, possibly repeated.
    Ids(Vec<PointId>),
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
    },
    /// C5.4
    Delete(Selection),
    /// C5.5: the vectors given replace those of the same name.
    UpdateVectors {
        /// Ids with at least one vector each; a repeated id merges.
        points: Vec<(PointId, NamedVectors)>,
        /// Points that do not match keep their state.
        update_filter: Option<Filter>,
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
}

impl Update {
    /// Whether it may write vectors.
    pub fn adds_rows(&self) -> bool {
        matches!(self, Update::Upsert { .. } | Update::UpdateVectors { .. })
    }

    /// Whether it makes the data grow.
    pub fn grows(&self) -> bool {
        match self {
            Update::Upsert { .. }
            | Update::UpdateVectors { .. }
            | Update::SetPayload { .. }
            | Update::OverwritePayload { .. } => true,
            Update::Delete(_)
            | Update::DeleteVectors { .. }
            | Update::DeletePayload { .. }
            | Update::ClearPayload(_) => false,
        }
    }
}
