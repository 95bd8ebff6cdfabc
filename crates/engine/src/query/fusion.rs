//! Several lists of hits as one (C6.3).
//!
//! - Reciprocal rank fusion: Cormack, Clarke, Büttcher, *Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
//!   Learning Methods*, SIGIR 2009. A point scores Σ 1 / ((pos + 1) / w + k − 1) over the lists that have it, with its
//!   place pos, from 0, and the list's weight w: 1 / (pos + k) where all weigh 1.
//! - Distribution-based score fusion: of each list the scores between μ − 3s and μ + 3s become 0 to 1, with the mean μ
//!   and the sample deviation s; beyond that they are not cut off. A point scores the sum over the lists.

use super::run::List;
use super::tree::Fusion;
use super::{Hit, ranking::ranking_by};
use crate::types::PointOffset;
use std::cmp::Ordering;
use std::collections::HashSet;

/// The scaled score in a list whose scores do not differ.
const MIDDLE: f64 = 0.5;

/// The best `k` points of some lists together, ties in the order of ids, which `by_id` has. A point that is several times in one
/// list counts once, where it comes first.
pub fn fuse(
    by_id: impl Fn(PointOffset, PointOffset) -> Ordering,
    fusion: &Fusion,
    lists: &[List],
    k: usize,
    threshold: Option<f32>,
) -> Vec<Hit> {
    let mut scored: Vec<(PointOffset, f64)> =
        Vec::with_capacity(lists.iter().map(|list| list.hits.len()).sum());
    for (at, list) in lists.iter().enumerate() {
        let hits = different(&list.hits);
        let contributions = contributions(fusion, at, list, &hits);
        scored.extend(hits.iter().zip(contributions).map(|(hit, worth)| (hit.offset, worth)));
    }
    // Stable, so that the sums are always made in the order of the lists.
    scored.sort_by_key(|&(offset, _)| offset);
    let mut best = ranking_by(by_id, k, threshold);
    for point in scored.chunk_by(|a, b| a.0 == b.0) {
        let score: f64 = point.iter().map(|&(_, score)| score).sum();
        // A weight may make it overflow, and steps further up cannot compute with an infinity.
        best.offer(point[0].0, (score as f32).clamp(f32::MIN, f32::MAX));
    }
    best.into_hits()
}

/// What each hit of the list at place `at`, without repetitions, adds to the score of its point.
pub(super) fn contributions(fusion: &Fusion, at: usize, list: &List, hits: &[Hit]) -> Vec<f64> {
    match fusion {
        Fusion::Rrf { k, weights } => {
            let weight = weights.get(at).copied().unwrap_or(1.0);
            (0..hits.len()).map(|place| reciprocal(place, *k, weight)).collect()
        }
        Fusion::Dbsf => {
            let sign = if list.smaller_is_better { -1.0 } else { 1.0 };
            let scores: Vec<f64> = hits.iter().map(|hit| sign * f64::from(hit.score)).collect();
            normalised(&scores)
        }
    }
}

/// The hits without the repetitions of a point, of which an ordering by an array has several.
pub(super) fn different(hits: &[Hit]) -> Vec<Hit> {
    let mut seen = HashSet::with_capacity(hits.len());
    hits.iter().filter(|hit| seen.insert(hit.offset)).copied().collect()
}

/// The score of a place in a list; 0 in a list of weight 0.
fn reciprocal(place: usize, k: f64, weight: f64) -> f64 {
    if weight > 0.0 { 1.0 / ((place as f64 + 1.0) / weight + k - 1.0) } else { 0.0 }
}

/// Scores of one list on the scale of all lists.
fn normalised(scores: &[f64]) -> Vec<f64> {
    let count = scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / count;
    let squares: f64 = scores.iter().map(|score| (score - mean) * (score - mean)).sum();
    let deviation = (squares / (count - 1.0)).sqrt();
    let is_level = scores.iter().all(|score| *score == scores[0]);
    let scale =
        |score: &f64| if is_level { MIDDLE } else { (score - (mean - 3.0 * deviation)) / (6.0 * deviation) };
    scores.iter().map(scale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(values: &[f64], expected: &[f64]) {
        assert_eq!(values.len(), expected.len());
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 5e-5;
        assert!(values.iter().zip(expected).all(is_near), "{values:?} instead of {expected:?}");
    }

    #[test]
    fn places_are_worth_their_reciprocal_c6_3() {
        near(&[0, 1, 2].map(|place| reciprocal(place, 2.0, 1.0)), &[0.5, 0.3333, 0.25]);
        near(&[reciprocal(0, 2.0, 1.0) + reciprocal(1, 2.0, 1.0)], &[0.8333]);
        near(&[reciprocal(0, 2.0, 3.0), reciprocal(0, 2.0, 1.0)], &[0.75, 0.5]);
        near(&[reciprocal(0, 60.0, 1.0)], &[1.0 / 60.0]);
        near(&[reciprocal(0, 2.0, 0.0), reciprocal(0, 2.0, -1.0)], &[0.0, 0.0]);
        near(&[reciprocal(0, 1.0, 3.0)], &[3.0]);
    }

    #[test]
    fn scores_are_brought_to_the_scale_of_their_list_c6_3() {
        near(&normalised(&[0.9, 0.8, 0.7]), &[0.6667, 0.5, 0.3333]);
        near(&normalised(&[3.0]), &[0.5]);
        near(&normalised(&[0.1, 0.1, 0.1]), &[0.5, 0.5, 0.5]);
        near(&normalised(&[]), &[]);
        let mut outlier = vec![0.0; 99];
        outlier.push(1.0);
        assert!(normalised(&outlier)[99] > 1.0, "nothing is cut off");
    }
}
