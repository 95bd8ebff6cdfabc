//! The points that score best by several examples: every one that matches is compared.

use super::Hit;
use super::custom::Custom;
use super::matching::Matching;
use super::ranking::ranking;
use super::scorer::Scorer;
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::vectors::VectorValue;

/// Comparisons between two checks of the deadline.
const COMPARISONS_PER_CHECK: usize = 1024;

/// The best `k` points that match, best first, ties by id, none of them below the threshold.
///
/// # Errors
/// `Timeout`.
pub fn scan(
    view: &View,
    custom: &Custom,
    matching: &mut Matching<'_>,
    k: usize,
    threshold: Option<f32>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    matching.settle(deadline)?;
    let vectors: Vec<&VectorValue> = custom.vectors.iter().collect();
    let mut scorer = Scorer::new(view, custom.field, &vectors, deadline)?;
    let mut best = ranking(&view.state, k, threshold);
    let mut similarities = Vec::with_capacity(vectors.len());
    let mut compared = COMPARISONS_PER_CHECK;
    for offset in matching.candidates() {
        if compared >= COMPARISONS_PER_CHECK {
            deadline.check()?;
            compared = 0;
        }
        compared += vectors.len();
        if scorer.similarities(offset, &mut similarities)? {
            best.offer(offset, custom.score.of(&similarities));
        }
    }
    Ok(best.into_hits())
}
