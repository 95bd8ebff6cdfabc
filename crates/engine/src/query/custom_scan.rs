//! The points that score best by several examples: every one that matches is compared.

use super::Hit;
use super::custom::Custom;
use super::estimate;
use super::matching::Matching;
use super::ranking::ranking;
use super::scorer::{Scorer, SimilarityBlock};
use super::tally;
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::vectors::VectorValue;

/// Points that are compared with all examples at a time. Their vectors and the examples of a strip share the second cache.
const BLOCK: usize = 64;

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
    let components = vectors.iter().map(|vector| vector.components()).sum();
    deadline.expect(estimate::comparisons(matching.at_most(), vectors.len(), components)?)?;
    tally::count(|tally| tally.compared += matching.at_most() * vectors.len() as u64);
    let mut scorer = Scorer::new(view, custom.field, &vectors, custom.idf.as_ref(), deadline)?;
    let mut best = ranking(&view.state, k, threshold);
    let mut block = SimilarityBlock::default();
    let mut offsets = Vec::with_capacity(BLOCK);
    let mut candidates = matching.candidates().into_iter();
    loop {
        deadline.check()?;
        offsets.clear();
        offsets.extend(candidates.by_ref().take(BLOCK));
        if offsets.is_empty() {
            return Ok(best.into_hits());
        }
        scorer.block(&offsets, &mut block, deadline)?;
        for (offset, similarities) in block.iter() {
            best.offer(offset, custom.score.of(similarities));
        }
    }
}
