//! Maximal marginal relevance: Carbonell, Goldstein, *The Use of MMR, Diversity-Based Reranking for Reordering Documents
//! and Producing Summaries*, SIGIR 1998.

use super::scorer::{Scorer, vector_of};
use super::vector_search::Target;
use super::{Hit, estimate};
use crate::collection::View;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::vectors::VectorValue;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The hits that were chosen, as others are compared with them.
pub trait Redundancy {
    /// Adds a hit.
    ///
    /// # Errors
    /// `Timeout`.
    fn add(&mut self, hit: Hit) -> Result<(), Error>;

    /// The greatest similarity of a hit to those that were added from that place on; −∞ where there is none.
    ///
    /// # Errors
    /// `Timeout`.
    fn of(&mut self, hit: Hit, from: usize) -> Result<f32, Error>;
}

/// A hit that can be chosen.
struct Candidate {
    hit: Hit,
    /// Similarity to what is asked for.
    relevance: f32,
    /// Similarity to the most similar of those chosen that it was compared with.
    redundancy: f32,
    /// It was compared with the first so many of those chosen.
    compared: usize,
}

impl Candidate {
    fn worth(&self, diversity: f64) -> f64 {
        (1.0 - diversity) * f64::from(self.relevance) - diversity * f64::from(self.redundancy)
    }
}

/// A candidate in the order of its worth; among equals the better hit comes first.
struct Ranked {
    worth: f64,
    candidate: usize,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        self.worth.total_cmp(&other.worth).then(other.candidate.cmp(&self.candidate))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

/// Comparisons between two checks of the deadline.
const COMPARISONS_PER_CHECK: usize = 256;

/// The first `k` of some hits, which come best first: the first of them, then always the one that is worth most,
/// (1 − diversity) · its similarity to the target − diversity · its greatest similarity to those chosen before (of
/// multi-vectors: the MaxSim of its rows over theirs). Scores stay what they are. Hits without the vector are dropped.
///
/// A candidate's worth can only fall as more are chosen. So a candidate is compared with those chosen only when it is the
/// best by its last known worth, and it is chosen if it stays so (Minoux, *Accelerated greedy algorithms for maximizing
/// submodular set functions*, 1978).
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
    let candidates = candidates(view, target, hits.into_iter(), deadline)?;
    let chosen_at_most = k.min(candidates.len());
    let components = target.vector.components().saturating_mul(chosen_at_most);
    deadline.expect(estimate::comparisons(candidates.len() as u64, chosen_at_most, components)?)?;
    let (added, scorers) = (Vec::new(), Vec::new());
    let mut chosen = Chosen { view, field: target.field, deadline, hits: added, scorers, comparisons: 0 };
    choose_by(candidates, diversity, k, &mut chosen)
}

/// As [`choose`], of hits that are given with their similarities to the target, the best first.
///
/// # Errors
/// Those of `chosen`.
pub fn choose_by(
    candidates: impl IntoIterator<Item = (Hit, f32)>,
    diversity: f32,
    k: usize,
    chosen: &mut impl Redundancy,
) -> Result<Vec<Hit>, Error> {
    let diversity = f64::from(diversity);
    let of = |(hit, relevance)| Candidate { hit, relevance, redundancy: f32::NEG_INFINITY, compared: 0 };
    let mut candidates: Vec<Candidate> = candidates.into_iter().map(of).collect();
    let mut by_worth: BinaryHeap<Ranked> = BinaryHeap::new();
    let mut hits = Vec::with_capacity(k.min(candidates.len()));
    if k > 0 && !candidates.is_empty() {
        chosen.add(candidates[0].hit)?;
        hits.push(candidates[0].hit);
        let rest = 1..candidates.len();
        by_worth.extend(rest.map(|candidate| Ranked { worth: f64::INFINITY, candidate }));
    }
    while hits.len() < k
        && let Some(Ranked { candidate: place, .. }) = by_worth.pop()
    {
        let candidate = &mut candidates[place];
        if candidate.compared == hits.len() {
            chosen.add(candidate.hit)?;
            hits.push(candidate.hit);
            continue;
        }
        let further = chosen.of(candidate.hit, candidate.compared)?;
        candidate.redundancy = candidate.redundancy.max(further);
        candidate.compared = hits.len();
        by_worth.push(Ranked { worth: candidate.worth(diversity), candidate: place });
    }
    Ok(hits)
}

/// The hits that have the vector, best first, with their similarities to the target.
fn candidates(
    view: &View,
    target: &Target,
    hits: impl ExactSizeIterator<Item = Hit>,
    deadline: &Deadline,
) -> Result<Vec<(Hit, f32)>, Error> {
    let mut similarities = Vec::with_capacity(1);
    let mut relevance = Scorer::new(view, target.field, &[&target.vector], target.idf.as_ref(), deadline)?;
    let mut found = Vec::with_capacity(hits.len());
    for (at, hit) in hits.enumerate() {
        if at % COMPARISONS_PER_CHECK == 0 {
            deadline.check()?;
        }
        if relevance.similarities(hit.offset, &mut similarities)? {
            found.push((hit, similarities[0]));
        }
    }
    Ok(found)
}

/// The hits chosen so far.
struct Chosen<'a> {
    view: &'a View,
    field: usize,
    deadline: &'a Deadline,
    hits: Vec<Hit>,
    /// For each hit the scorer of its vector. Empty for multi-vectors: there the candidate's rows are the query.
    scorers: Vec<Scorer<'a>>,
    /// Since the last check of the deadline.
    comparisons: usize,
}

impl Redundancy for Chosen<'_> {
    fn add(&mut self, hit: Hit) -> Result<(), Error> {
        match vector_of(self.view, self.field, hit.offset) {
            // MaxSim is not symmetric: each candidate's rows are compared as the query.
            None | Some(VectorValue::Multi(_)) => {}
            Some(vector) => {
                self.scorers.push(Scorer::new(self.view, self.field, &[&vector], None, self.deadline)?);
            }
        }
        self.hits.push(hit);
        Ok(())
    }

    fn of(&mut self, hit: Hit, from: usize) -> Result<f32, Error> {
        let further = self.hits.len() - from;
        if self.comparisons == 0 || self.comparisons + further > COMPARISONS_PER_CHECK {
            self.deadline.check()?;
            self.comparisons = 0;
        }
        self.comparisons += further;
        let mut similarities = Vec::with_capacity(1);
        let mut greatest = f32::NEG_INFINITY;
        let mut note = |similarities: &[f32]| greatest = greatest.max(similarities[0]);
        if self.scorers.is_empty() {
            let Some(asking) = vector_of(self.view, self.field, hit.offset) else { return Ok(greatest) };
            let mut scorer = Scorer::new(self.view, self.field, &[&asking], None, self.deadline)?;
            for hit in &self.hits[from..] {
                if scorer.similarities(hit.offset, &mut similarities)? {
                    note(&similarities);
                }
            }
            return Ok(greatest);
        }
        for scorer in &mut self.scorers[from..] {
            if scorer.similarities(hit.offset, &mut similarities)? {
                note(&similarities);
            }
        }
        Ok(greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::{Change, Head};
    use crate::config::tests::config_of;
    use crate::deadline::Cancellation;
    use crate::types::{Lsn, PointId};
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    /// A view of one point with a vector, and the point as a hit.
    fn one_point() -> (View, Hit) {
        let mut head = Head::new(config_of(r#"{"vectors":{"size":2,"distance":"Dot"}}"#), 1 << 12);
        let vectors = vec![(0, VectorValue::Dense(vec![1.0, 2.0]))];
        let payload = Box::from(&b"{}"[..]);
        head.op = head.op.next();
        head.apply(head.op, &Change::Put { id: PointId::Num(1), vectors, payload }).unwrap();
        let view = head.view(Lsn::NONE);
        let offset = view.state.offset(&PointId::Num(1)).unwrap();
        (view, Hit::scored(offset, 1.0))
    }

    /// A deadline that has not come, and what makes it pass.
    fn deadline() -> (Deadline, Cancellation) {
        let cancellation = Cancellation::default();
        let deadline = Deadline::new(Instant::now(), Duration::from_secs(3600), "Query");
        (deadline.or_cancelled(cancellation.clone()), cancellation)
    }

    #[test]
    fn candidates_are_compared_until_the_next_check_after_the_request_was_cancelled_c1_10() {
        let (view, hit) = one_point();
        let target = Target { field: 0, vector: VectorValue::Dense(vec![1.0, 0.0]), idf: None };
        // The candidate whose check ends the request that is cancelled at a candidate.
        let ended_at = |cancelled_at: usize| {
            let (deadline, cancellation) = deadline();
            let last = Cell::new(0);
            let hits = (0..1000).map(|at| {
                if at == cancelled_at {
                    cancellation.cancel();
                }
                last.set(at);
                hit
            });
            let found = candidates(&view, &target, hits, &deadline);
            assert!(matches!(found, Err(Error::Cancelled)), "cancelled at {cancelled_at}");
            last.get()
        };
        assert_eq!([0, 1, 256, 257, 600].map(ended_at), [0, 256, 256, 512, 768]);
    }

    #[test]
    fn the_deadline_is_checked_once_in_256_comparisons_with_those_chosen_c1_10() {
        let (view, hit) = one_point();
        let (deadline, cancellation) = deadline();
        let (hits, scorers) = (Vec::new(), Vec::new());
        let mut chosen = Chosen { view: &view, field: 0, deadline: &deadline, hits, scorers, comparisons: 0 };
        chosen.add(hit).unwrap();
        // The first comparison comes after a check.
        chosen.of(hit, 0).unwrap();
        cancellation.cancel();
        let further = (0..1000).take_while(|_| chosen.of(hit, 0).is_ok()).count();
        assert_eq!(1 + further, 256);
    }

    #[test]
    fn candidates_are_equal_where_neither_comes_first() {
        let ranked = |worth, candidate| Ranked { worth, candidate };
        let (one, same) = (ranked(0.5, 1), ranked(0.5, 1));
        assert!(one == same);
        assert!(one != ranked(0.5, 2));
        assert!(one != ranked(0.25, 1));
    }
}
