//! Maximal marginal relevance: Carbonell, Goldstein, *The Use of MMR, Diversity-Based Reranking for Reordering Documents
//! and Producing Summaries*, SIGIR 1998.

use super::Hit;
use super::scorer::{Scorer, vector_of};
use super::vector_search::Target;
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::vectors::VectorValue;

/// A hit that can be chosen.
struct Candidate {
    hit: Hit,
    /// Similarity to what is asked for.
    relevance: f32,
    /// Similarity to the most similar of those chosen.
    redundancy: f32,
}

impl Candidate {
    fn worth(&self, diversity: f64) -> f64 {
        (1.0 - diversity) * f64::from(self.relevance) - diversity * f64::from(self.redundancy)
    }
}

/// The first `k` of some hits, which come best first: the first of them, then always the one that is worth most,
/// (1 − diversity) · its similarity to the target − diversity · its greatest similarity to those chosen before (of
/// multi-vectors: the MaxSim of its rows over theirs). Scores stay what they are. Hits without the vector are dropped.
///
/// # Errors
/// `Timeout`.
pub fn choose(
    view: &View,
    target: &Target,
    diversity: f32,
    hits: Vec<Hit>,
    k: usize,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let diversity = f64::from(diversity);
    let mut similarities = Vec::with_capacity(1);
    let mut relevance = Scorer::new(view, target.field, &[&target.vector], deadline)?;
    let mut left: Vec<Candidate> = Vec::with_capacity(hits.len());
    for hit in hits {
        if relevance.similarities(hit.offset, &mut similarities)? {
            left.push(Candidate { hit, relevance: similarities[0], redundancy: f32::NEG_INFINITY });
        }
    }
    let mut chosen: Vec<Hit> = Vec::with_capacity(k.min(left.len()));
    let mut next = 0;
    while chosen.len() < k && next < left.len() {
        deadline.check()?;
        // Removed in order: among equals the better hit stays in front.
        let Candidate { hit, .. } = left.remove(next);
        chosen.push(hit);
        let Some(vector) = vector_of(view, target.field, hit.offset) else { continue };
        let mut to_chosen = Scorer::new(view, target.field, &[&vector], deadline)?;
        let mut best = (0, f64::NEG_INFINITY);
        for (at, candidate) in left.iter_mut().enumerate() {
            let is_compared = match &vector {
                // MaxSim takes sides: how well is what this candidate says said already?
                VectorValue::Multi(_) => {
                    let Some(asking) = vector_of(view, target.field, candidate.hit.offset) else { continue };
                    let mut from_candidate = Scorer::new(view, target.field, &[&asking], deadline)?;
                    from_candidate.similarities(hit.offset, &mut similarities)?
                }
                VectorValue::Dense(_) | VectorValue::Sparse(_) => {
                    to_chosen.similarities(candidate.hit.offset, &mut similarities)?
                }
            };
            if is_compared {
                candidate.redundancy = candidate.redundancy.max(similarities[0]);
            }
            let worth = candidate.worth(diversity);
            if worth > best.1 {
                best = (at, worth);
            }
        }
        next = best.0;
    }
    Ok(chosen)
}
