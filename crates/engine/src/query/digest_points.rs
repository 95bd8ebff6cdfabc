//! The digest of the points of a collection, by which replicas are compared.

use super::estimate;
use crate::collection::View;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::state::PointDigester;

/// The sum of the digests of all live points of a view. It depends on their ids, versions, payloads and vectors alone, and not
/// on how they are laid out.
///
/// # Errors
/// Those of the deadline.
pub fn digest_points(view: &View, deadline: &Deadline) -> Result<u128, Error> {
    let state = &view.state;
    let row_bytes = view.live_vector_bytes().checked_div(state.live.len()).unwrap_or_default();
    let work = estimate::documents(state.live.len(), 1)
        + estimate::rows(state.live.len(), usize::try_from(row_bytes).unwrap_or(usize::MAX));
    deadline.expect(work)?;
    let mut pace = Pace::new(deadline, 1);
    let mut digester = PointDigester::of(view);
    let mut sum = 0_u128;
    for offset in state.reading(state.live.iter()) {
        let point = state.at(offset);
        pace.step(point.document().len() + row_bytes as usize)?;
        sum = sum.wrapping_add(digester.digest(point));
    }
    Ok(sum)
}
