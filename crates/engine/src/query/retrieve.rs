//! Points by id (C5.2, C5.3).

use super::request::RetrieveRequest;
use crate::collection::{View, not_found};
use crate::error::Error;
use crate::filter::Filter;
use crate::point_set::PointSet;
use crate::types::PointOffset;

/// Offsets of the points asked for, in that order; an id that is asked for twice is answered once, as in Qdrant. Points
/// that do not match `within` are absent.
///
/// # Errors
/// `PointNotFound` with the absent ids, unless they are left out.
pub fn retrieve(
    view: &View,
    request: &RetrieveRequest,
    within: Option<&Filter>,
) -> Result<Vec<PointOffset>, Error> {
    let (mut seen, mut absent) = (PointSet::new(), Vec::new());
    let mut offsets = Vec::with_capacity(request.ids.len());
    for id in &request.ids {
        let shown =
            |offset: &PointOffset| within.is_none_or(|within| within.matches(&view.state.subject(*offset)));
        match view.state.offset(id).filter(shown) {
            Some(offset) if seen.insert(offset) => offsets.push(offset),
            Some(_) => {}
            None if request.leaves_out_absent => {}
            None => absent.push(id.clone()),
        }
    }
    if absent.is_empty() { Ok(offsets) } else { Err(not_found(absent)) }
}
