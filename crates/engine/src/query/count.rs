//! Counting (C6.5).

use super::matching::Matching;
use super::request::CountRequest;
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;

/// Points of the view that match. An estimate is allowed when the request says so; field indexes answer exactly
/// either way, so only unindexed conditions are ever estimated, by their upper bound.
pub fn count(view: &View, request: &CountRequest, deadline: &Deadline) -> Result<u64, Error> {
    let matching = Matching::new(&view.state, request.filter.as_ref());
    if matching.is_exact() || !request.exact {
        return Ok(matching.at_most());
    }
    Ok(matching.offsets(deadline)?.len())
}
