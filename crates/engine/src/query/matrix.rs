//! The distance matrix: a random sample of the matching points, and for each of them the nearest of the others.

use super::excluded::Excluded;
use super::matching::Matching;
use super::request::MatrixRequest;
use super::tree::SearchParams;
use super::vector_search::{Target, VectorSearch, Width};
use super::{Hit, sample, scorer};
use crate::collection::Snapshot;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::limits::MAX_COMPARED_COMPONENTS;
use crate::point_set::PointSet;
use crate::types::PointOffset;

/// A point of the sample and its nearest others, best first.
pub type MatrixRow = (PointOffset, Vec<Hit>);

/// The rows by id, ascending; none for a sample of fewer than two points.
///
/// # Errors
/// `VectorNotFound`; `BadRequest` for a sample whose comparisons are too much work; `Timeout`.
pub fn matrix(
    snapshot: &Snapshot,
    request: &MatrixRequest,
    deadline: &Deadline,
) -> Result<Vec<MatrixRow>, Error> {
    let view = &*snapshot.view;
    let state = &view.state;
    let field = state.config.declared_position(&request.using)?;
    let matching = Matching::new(state, request.filter.as_ref(), deadline);
    let with_vector: PointSet = (&matching.offsets(deadline)?)
        .into_iter()
        .filter(|&offset| state.at(offset).row(field).is_some())
        .collect();
    let drawn = sample::sample(&Matching::among(state, with_vector), request.sample, deadline)?;
    let mut offsets: Vec<PointOffset> = drawn.into_iter().map(|hit| hit.offset).collect();
    if offsets.len() < 2 {
        return Ok(Vec::new());
    }
    offsets.sort_unstable_by(|&a, &b| state.at(a).id().cmp(&state.at(b).id()));
    let size = state.config.fields().get(field).map_or(1, |(_, params)| params.size) as u64;
    let compared = (offsets.len() as u64).saturating_pow(2).saturating_mul(size);
    if compared > MAX_COMPARED_COMPONENTS {
        return Err(Error::bad(format!(
            "sample: the points of the sample have {compared} components to compare, at most {MAX_COMPARED_COMPONENTS} are"
        )));
    }
    let all: PointSet = offsets.iter().copied().collect();
    let params = SearchParams { exact: true, ..SearchParams::default() };
    let mut rows = Vec::with_capacity(offsets.len());
    for offset in offsets {
        deadline.check()?;
        let Some(vector) = scorer::vector_of(view, field, offset) else { continue };
        let target = Target { field, vector, idf: None };
        let excluded = Excluded::new(vec![offset]);
        let k = request.limit;
        let search = VectorSearch {
            target: &target,
            k,
            ef: k,
            width: Width::Given,
            params,
            avoided: None,
            threshold: None,
            excluded: &excluded,
        };
        let mut matching = Matching::among(state, all.clone());
        rows.push((offset, scorer::nearest(snapshot, &search, &mut matching, deadline)?));
    }
    Ok(rows)
}
