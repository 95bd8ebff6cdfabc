//! Points in the order of a score that is better when larger: custom scores, fused ranks and the like.

use super::Hit;
use crate::collection::State;
use crate::index::TopK;
use crate::types::PointOffset;
use std::cmp::Ordering;

/// The best points by a score, ties by id (C2.4).
pub struct Ranking<T: Fn(PointOffset, PointOffset) -> Ordering> {
    top: TopK<PointOffset, T>,
    threshold: f32,
}

/// An empty ranking of at most `k` points of a state, none of them below the threshold.
pub fn ranking(
    state: &State,
    k: usize,
    threshold: Option<f32>,
) -> Ranking<impl Fn(PointOffset, PointOffset) -> Ordering + use<'_>> {
    ranking_by(by_id(state), k, threshold)
}

/// The same with an order among equals.
pub fn ranking_by<T: Fn(PointOffset, PointOffset) -> Ordering>(
    tie: T,
    k: usize,
    threshold: Option<f32>,
) -> Ranking<T> {
    Ranking { top: TopK::new(k, tie), threshold: threshold.unwrap_or(f32::NEG_INFINITY) }
}

/// The order of the points of a state by their ids.
pub fn by_id(state: &State) -> impl Fn(PointOffset, PointOffset) -> Ordering + use<'_> {
    |a: PointOffset, b: PointOffset| state.at(a).id().cmp(&state.at(b).id())
}

impl<T: Fn(PointOffset, PointOffset) -> Ordering> Ranking<T> {
    /// Offers the point at an offset, which was not offered before, with its score, which is not NaN.
    #[inline]
    pub fn offer(&mut self, offset: PointOffset, score: f32) {
        if score >= self.threshold {
            self.top.offer(-score, offset);
        }
    }

    /// The best, best first.
    pub fn into_hits(self) -> Vec<Hit> {
        // `0.0 - x` and not `-x`: no score is −0.
        let hit = |(distance, offset)| Hit::scored(offset, 0.0 - distance);
        self.top.into_sorted().into_iter().map(hit).collect()
    }
}
