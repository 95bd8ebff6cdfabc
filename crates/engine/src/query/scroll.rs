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
use std::borrow::Cow;

/// A page, and the id of the first point after it.
pub struct Page {
    /// The points of the page.
    pub hits: Vec<Hit>,
    /// First id of the next page; `None` after the last page and for pages by a field.
    pub next: Option<PointId>,
}

/// One page of the matching points.
pub fn scroll(view: &View, request: &ScrollRequest, deadline: &Deadline) -> Result<Page, Error> {
    let matching = Matching::new(&view.state, request.filter.as_ref(), deadline);
    if let Some(order_by) = &request.order_by {
        let hits = order::ordered(&view.state, &matching, order_by, request.limit, deadline)?;
        return deadline.whole(Page { hits, next: None });
    }
    let mut offsets = by_id(&view.state, &matching, request.offset.as_ref(), request.limit + 1, deadline)?;
    let next =
        (offsets.len() > request.limit).then(|| view.state.at(offsets[request.limit]).id().into_owned());
    offsets.truncate(request.limit);
    deadline.whole(Page { hits: offsets.into_iter().map(Hit::unscored).collect(), next })
}

/// The first `limit` matching points from `from` on, by id ascending.
pub fn by_id(
    state: &State,
    matching: &Matching<'_>,
    from: Option<&PointId>,
    limit: usize,
    deadline: &Deadline,
) -> Result<Vec<PointOffset>, Error> {
    let from = from.unwrap_or(&PointId::Num(0));
    let (points, candidates) = (state.ids.len() as u64, matching.at_most());
    // Few candidates are sorted by id, which takes about a step of a pass over all ids for each. If the pass is expected to
    // meet a page of them sooner, it is tried first, for as many steps: matches may all have higher ids.
    let steps = match candidates.saturating_mul(8) < points {
        false => u64::MAX,
        true if points.saturating_mul(limit as u64) < candidates.saturating_mul(candidates) => candidates,
        true => 0,
    };
    match in_order(state, matching, from, limit, steps, deadline)? {
        Some(found) => Ok(found),
        None => sorted(state, matching, from, limit, deadline),
    }
}

/// The page by a pass over the ids in their order; `None` if it is not full after that many steps.
fn in_order(
    state: &State,
    matching: &Matching<'_>,
    from: &PointId,
    limit: usize,
    steps: u64,
    deadline: &Deadline,
) -> Result<Option<Vec<PointOffset>>, Error> {
    if steps == 0 {
        return Ok(None);
    }
    let mut found = Vec::with_capacity(limit.min(1024));
    let mut pace = matching.pace(deadline);
    for (step, offset) in (0u64..).zip(state.indexed_offsets_from(from)) {
        if step == steps {
            return Ok(None);
        }
        pace.step(state.at(offset).document().len())?;
        if matching.accepts(offset) {
            found.push(offset);
            if found.len() == limit {
                break;
            }
        }
    }
    Ok(Some(found))
}

/// The page by sorting everything that matches.
fn sorted(
    state: &State,
    matching: &Matching<'_>,
    from: &PointId,
    limit: usize,
    deadline: &Deadline,
) -> Result<Vec<PointOffset>, Error> {
    let mut found: Vec<(Cow<'_, PointId>, PointOffset)> = matching
        .offsets(deadline)?
        .iter()
        .map(|offset| (state.at(offset).id(), offset))
        .filter(|(id, _)| **id >= *from)
        .collect();
    if found.len() > limit {
        found.select_nth_unstable(limit);
        found.truncate(limit);
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, offset)| offset).collect())
}
