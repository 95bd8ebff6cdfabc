//! Counting (C6.5).

use super::matching::Matching;
use super::request::CountRequest;
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;

/// Points that an estimate checks, spread evenly over those that may match. If there are no more, they are counted one by
/// one.
const SAMPLE: usize = 1024;

/// Points of the view that match. An estimate is allowed when the request says so; field indexes answer exactly
/// either way, so only conditions that no index decides are ever estimated.
pub fn count(view: &View, request: &CountRequest, deadline: &Deadline) -> Result<u64, Error> {
    // What an estimate says must not depend on whether there is an automatic index (C23).
    let undeclared = !request.exact && !view.state.auto_indexes.is_empty();
    let without = undeclared.then(|| view.state.without_auto_indexes());
    let matching = Matching::new(without.as_ref().unwrap_or(&view.state), request.filter.as_ref(), deadline);
    if matching.is_exact() {
        return Ok(matching.at_most());
    }
    if request.exact || matching.at_most() <= SAMPLE as u64 {
        return Ok(matching.offsets(deadline)?.len());
    }
    let (mut seen, mut passed) = (0u64, 0u64);
    let mut pace = matching.pace(deadline);
    for offset in view.state.reading(matching.spread::<SAMPLE>()) {
        pace.step(view.state.at(offset).document().len())?;
        seen += 1;
        passed += u64::from(matching.accepts(offset));
    }
    Ok((passed as f64 / seen.max(1) as f64 * matching.at_most() as f64).round() as u64)
}
