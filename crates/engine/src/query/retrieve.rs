//! Points by id (C5.2, C5.3).

use super::Shown;
use super::request::RetrieveRequest;
use crate::collection::{View, not_found};
use crate::error::Error;
use crate::point_set::PointSet;
use crate::types::PointOffset;

/// Offsets of the points asked for, in that order; an id that is asked for twice is answered once, as in Qdrant. Points
/// that the caller may not see are absent.
///
/// # Errors
/// `PointNotFound` with the absent ids, unless they are left out; those of the deadline.
pub fn retrieve(
    view: &View,
    request: &RetrieveRequest,
    mut shown: Shown<'_>,
) -> Result<Vec<PointOffset>, Error> {
    let (mut seen, mut absent) = (PointSet::new(), Vec::new());
    let mut offsets = Vec::with_capacity(request.ids.len());
    for id in &request.ids {
        match view.state.offset(id) {
            Some(offset) if seen.contains(offset) => {}
            Some(offset) if shown.has(&view.state, offset)? => {
                seen.insert(offset);
                offsets.push(offset);
            }
            _ if request.leaves_out_absent => {}
            _ => absent.push(id.clone()),
        }
    }
    if absent.is_empty() { Ok(offsets) } else { Err(not_found(absent)) }
}
