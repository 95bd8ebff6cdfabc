//! Pages of points (C6.4).

use super::Hit;
use super::matching::Matching;
use super::order;
use super::request::ScrollRequest;
use crate::collection::State;
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::types::{PointId, PointOffset};

/// A page, and the id of the first point after it.
pub struct Page {
    /// The points of the page.
    pub hits: Vec<Hit>,
    /// First id of the next page; `None` after the last page and for pages by a field.
    pub next: Option<PointId>,
}

/// One page of the matching points.
pub fn scroll(view: &View, request: &ScrollRequest, deadline: &Deadline) -> Result<Page, Error> {
    let matching = Matching::new(&view.state, request.filter.as_ref());
    if let Some(order_by) = &request.order_by {
        let hits = order::ordered(&view.state, &matching, order_by, request.limit, deadline)?;
        return Ok(Page { hits, next: None });
    }
    let mut offsets = by_id(&view.state, &matching, request.offset, request.limit + 1, deadline)?;
    let next = (offsets.len() > request.limit).then(|| view.state.at(offsets[request.limit]).id);
    offsets.truncate(request.limit);
    Ok(Page { hits: offsets.into_iter().map(Hit::unscored).collect(), next })
}

/// The first `limit` matching points from `from` on, by id ascending.
pub fn by_id(
    state: &State,
    matching: &Matching<'_>,
    from: Option<PointId>,
    limit: usize,
    deadline: &Deadline,
) -> Result<Vec<PointOffset>, Error> {
    let from = from.unwrap_or(PointId::Num(0));
    // If there are few candidates, they are sorted by id. If there are many, a pass in the order of ids meets them soon.
    if matching.at_most() * 8 < state.ids.len() as u64 {
        let mut found: Vec<(PointId, PointOffset)> = matching
            .offsets(deadline)?
            .iter()
            .map(|offset| (state.at(offset).id, offset))
            .filter(|(id, _)| *id >= from)
            .collect();
        found.sort_unstable();
        found.truncate(limit);
        return Ok(found.into_iter().map(|(_, offset)| offset).collect());
    }
    let mut found = Vec::with_capacity(limit.min(1024));
    let mut pace = matching.pace(deadline);
    for (_, &offset) in state.ids.range(from..) {
        pace.step(state.at(offset).payload.bytes().len())?;
        if matching.accepts(offset) {
            found.push(offset);
            if found.len() == limit {
                break;
            }
        }
    }
    Ok(found)
}
