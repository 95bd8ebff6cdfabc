//! The universal query (C6.3), and search, which is one form of it.

use super::matching::Matching;
use super::nearest::{self, Target};
use super::request::{LookupFrom, Query, QueryRequest, QueryVector};
use super::{Hit, order, sample, scroll};
use crate::collection::Snapshot;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::types::PointId;
use std::sync::Arc;

/// Finds the collection that an example id is looked up in.
pub trait Lookup {
    /// A snapshot of that collection.
    ///
    /// # Errors
    /// `CollectionNotFound` and what else the catalog says of it.
    fn collection(&self, name: &str) -> Result<Arc<Snapshot>, Error>;
}

/// Runs a query on a snapshot.
///
/// # Errors
/// `VectorNotFound`, `DimensionMismatch`, `PointNotFound`, `Timeout`; `BadRequest` for a vector that an example
/// lacks.
pub fn query(
    snapshot: &Snapshot,
    request: &QueryRequest,
    lookup: &dyn Lookup,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    deadline.check()?;
    let view = &*snapshot.view;
    let window = window(request);
    let hits = match &request.query {
        Query::Nearest(vector) => {
            let target = target(snapshot, request, vector, lookup)?;
            nearest::nearest(snapshot, &target, request, window, deadline)?
        }
        Query::OrderBy(order_by) => {
            let matching = Matching::new(&view.state, request.filter.as_ref());
            order::ordered(&view.state, &matching, order_by, window, deadline)?
        }
        // A sample has no order to skip in: the offset is without meaning.
        Query::Sample => return sample::sample(view, request, deadline),
        Query::ById => {
            let matching = Matching::new(&view.state, request.filter.as_ref());
            let offsets = scroll::by_id(&view.state, &matching, None, window, deadline)?;
            offsets.into_iter().map(Hit::unscored).collect()
        }
    };
    Ok(page(hits, request))
}

/// How many hits a request reaches over.
pub(super) fn window(request: &QueryRequest) -> usize {
    request.limit.saturating_add(request.offset)
}

/// What a request answers of the first `window` hits.
pub(super) fn page(mut hits: Vec<Hit>, request: &QueryRequest) -> Vec<Hit> {
    hits.drain(..request.offset.min(hits.len()));
    hits
}

/// What a request for the nearest searches for.
pub(super) fn nearest_target(
    snapshot: &Snapshot,
    request: &QueryRequest,
    lookup: &dyn Lookup,
) -> Result<Target, Error> {
    match &request.query {
        Query::Nearest(vector) => target(snapshot, request, vector, lookup),
        _ => Err(Error::Internal("only searches for the nearest have a target".into())),
    }
}

/// The vector to search with, and the point to leave out.
fn target(
    snapshot: &Snapshot,
    request: &QueryRequest,
    vector: &QueryVector,
    lookup: &dyn Lookup,
) -> Result<Target, Error> {
    let config = &snapshot.view.state.config;
    let field =
        config.field_index(&request.using).ok_or_else(|| Error::VectorNotFound(request.using.to_string()))?;
    let (_, params) = &config.fields()[field];
    let (components, excluded) = match vector {
        QueryVector::Dense(components) => (components.clone(), None),
        QueryVector::Id(id) => match &request.lookup_from {
            None => (vector_of(snapshot, *id, &request.using)?, Some(*id)),
            Some(LookupFrom { collection, vector }) => {
                let other = lookup.collection(collection)?;
                let name = vector.as_deref().unwrap_or(&request.using);
                let excluded = (other.id == snapshot.id).then_some(*id);
                (vector_of(&other, *id, name)?, excluded)
            }
        },
    };
    if components.len() != params.size {
        return Err(Error::DimensionMismatch {
            name: request.using.to_string(),
            expected: params.size,
            got: components.len(),
        });
    }
    let excluded = excluded.and_then(|id| snapshot.view.state.ids.get(&id).copied());
    Ok(Target { field, components, excluded })
}

fn vector_of(snapshot: &Snapshot, id: PointId, name: &str) -> Result<Vec<f32>, Error> {
    let view = &*snapshot.view;
    let config = &view.state.config;
    let field = config.field_index(name).ok_or_else(|| Error::VectorNotFound(name.to_string()))?;
    let (_, params) = &config.fields()[field];
    let (_, point) = view.state.point(id).ok_or_else(|| Error::PointNotFound(vec![id]))?;
    let row = point
        .rows
        .row(field)
        .ok_or_else(|| Error::PointNotFound(vec![id]).within(format!("query: no vector '{name}'")))?;
    let mut components = Vec::with_capacity(params.size);
    view.fields[field].read_back(row, &mut components);
    Ok(components)
}
