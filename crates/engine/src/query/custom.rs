//! Scores made of the similarities to several examples. All of them are better when larger, whatever the metric.
//!
//! The formulas are those of Qdrant's recommendation and discovery queries. σ below is [`sigmoid`], a similarity a
//! number of which only the order has a meaning.

use super::tree::Idf;
use crate::vectors::VectorValue;

/// Tolerance of a context: a point that is about equally near to both sides of a pair is on neither.
const MARGIN: f32 = f32::EPSILON;

/// How some similarities make one score.
#[derive(Clone, Debug, PartialEq)]
pub enum CustomScore {
    /// With p the greatest similarity to a positive example and n that to a negative one (−∞ where there is none):
    /// σ(p) if p > n, else −σ(n).
    BestScore {
        /// How many of the vectors are positive; they come first.
        positives: usize,
    },
    /// The sum of the similarities to positive examples minus that to negative ones.
    SumScores {
        /// How many of the vectors are positive; they come first.
        positives: usize,
    },
    /// For a target and the pairs (positive, negative) after it: how many pairs have the point on their positive side
    /// minus how many have it on the other, plus σ(similarity to the target), which only decides among equals.
    Discover,
    /// For pairs (positive, negative): Σ f(min(sim(positive) − sim(negative) − ε, 0)) with f(x) = x / (1 + |x|): how far
    /// the point is on the wrong sides. 0 is best.
    Context,
    /// The sum of the similarities, each multiplied by one of these weights.
    Weighted(Box<[f64]>),
}

impl CustomScore {
    /// The score by relevance feedback, of a target and the examples behind it, of which a model gave these scores. With s the
    /// similarities: a·s(target) + Σ over pairs (p, n) with score(p) > score(n) of (score(p) − score(n))^b·c·(s(p) − s(n)). That
    /// is a sum with one weight for each example.
    pub fn feedback(a: f32, b: f32, c: f32, scores: &[f32]) -> CustomScore {
        let gain = |more: f32, less: f32| {
            let difference = f64::from(more) - f64::from(less);
            if difference > 0.0 { difference.powf(f64::from(b)) } else { 0.0 }
        };
        let weight = |&score: &f32| {
            f64::from(c) * scores.iter().map(|&other| gain(score, other) - gain(other, score)).sum::<f64>()
        };
        CustomScore::Weighted(std::iter::once(f64::from(a)).chain(scores.iter().map(weight)).collect())
    }

    /// The score of a point with these similarities, in the order of the vectors. Never NaN or −0.
    pub fn of(&self, similarities: &[f32]) -> f32 {
        let score = match self {
            CustomScore::BestScore { positives } => {
                let (positive, negative) = similarities.split_at(*positives);
                let best = |side: &[f32]| side.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let (p, n) = (best(positive), best(negative));
                if p > n { sigmoid(p) } else { -sigmoid(n) }
            }
            CustomScore::SumScores { positives } => {
                let (positive, negative) = similarities.split_at(*positives);
                let sum = |side: &[f32]| side.iter().map(|&s| f64::from(s)).sum::<f64>();
                (sum(positive) - sum(negative)) as f32
            }
            CustomScore::Discover => match similarities {
                [] => 0.0,
                [target, pairs @ ..] => {
                    let sides = pairs.chunks_exact(2).map(|pair| side(pair[0], pair[1])).sum::<i32>();
                    sides as f32 + sigmoid(*target)
                }
            },
            CustomScore::Context => {
                let loss = |pair: &[f32]| f64::from(bounded((pair[0] - pair[1] - MARGIN).min(0.0)));
                similarities.chunks_exact(2).map(loss).sum::<f64>() as f32
            }
            CustomScore::Weighted(weights) => {
                let sum =
                    similarities.iter().zip(weights).map(|(&s, weight)| f64::from(s) * weight).sum::<f64>();
                // Infinite weights of both signs.
                if sum.is_nan() { 0.0 } else { sum as f32 }
            }
        };
        score.clamp(f32::MIN, f32::MAX) + 0.0
    }
}

/// Vectors of one field, and how the similarities to them make a score.
#[derive(Clone, Debug)]
pub struct Custom {
    /// Position of the field.
    pub field: usize,
    /// The vectors, which fit the field; there is at least one.
    pub vectors: Vec<VectorValue>,
    /// The score.
    pub score: CustomScore,
    /// Which points weigh the vectors; only of a sparse field with the modifier `idf`.
    pub idf: Option<Idf>,
}

/// 1 on the positive side of a pair, −1 on the other, 0 between them.
fn side(positive: f32, negative: f32) -> i32 {
    i32::from(positive > negative) - i32::from(positive < negative)
}

/// x / (1 + |x|): between −1 and 1, in the order of x.
fn bounded(x: f32) -> f32 {
    if x.is_infinite() { x.signum() } else { x / (1.0 + x.abs()) }
}

/// ½ (x / (1 + |x|) + 1): between 0 and 1, in the order of x. Of a large distance, which is a negative x, little would be left
/// of the difference to 1.
fn sigmoid(x: f32) -> f32 {
    if x < 0.0 { 0.5 / (1.0 - x) } else { 0.5 * (bounded(x) + 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(score: f32, expected: f32) {
        assert!((score - expected).abs() < 5e-5, "{score} instead of {expected}");
    }

    #[test]
    fn the_best_example_of_either_side_decides_c6_3() {
        let best = CustomScore::BestScore { positives: 1 };
        near(best.of(&[0.9, 0.2]), 0.7368);
        near(best.of(&[0.2, 0.9]), -0.7368);
        let two = CustomScore::BestScore { positives: 2 };
        assert_eq!(two.of(&[0.9, 0.3, 0.2, 0.1]), best.of(&[0.9, 0.2]));
        let (none, all) = (CustomScore::BestScore { positives: 0 }, CustomScore::BestScore { positives: 1 });
        near(none.of(&[0.9]), -0.7368);
        near(all.of(&[0.9]), 0.7368);
        near(all.of(&[f32::MIN]), 0.0);
        // Squared distances of vectors of bytes.
        for (far, farther) in [(2e5, 2.0001e5), (2e7, 1e8), (1e8, 1.001e8)] {
            assert!(all.of(&[-far]) > all.of(&[-farther]) && none.of(&[-far]) < none.of(&[-farther]));
        }
    }

    proptest! {
        #[test]
        fn feedback_is_the_sum_over_all_pairs_c6_3(
            a in -2.0f32..2.0, b in 0.0f32..3.0, c in -2.0f32..2.0,
            items in prop::collection::vec((-1.0f32..1.0, -1.0f32..1.0), 1..8), target in -1.0f32..1.0,
        ) {
            let scores: Vec<f32> = items.iter().map(|item| item.0).collect();
            let similarities: Vec<f32> = std::iter::once(target).chain(items.iter().map(|item| item.1)).collect();
            let mut expected = f64::from(a) * f64::from(target);
            for (p, s_p) in &items {
                for (n, s_n) in items.iter().filter(|(n, _)| p > n) {
                    let by = (f64::from(*p) - f64::from(*n)).powf(f64::from(b)) * f64::from(c);
                    expected += by * (f64::from(*s_p) - f64::from(*s_n));
                }
            }
            let score = CustomScore::feedback(a, b, c, &scores).of(&similarities);
            prop_assert!((f64::from(score) - expected).abs() < 1e-4, "{} instead of {}", score, expected);
        }
    }

    #[test]
    fn feedback_without_a_difference_is_the_target_alone_c6_3() {
        near(CustomScore::feedback(2.0, 100.0, 100.0, &[0.5]).of(&[0.25, 9.0]), 0.5);
        near(CustomScore::feedback(1.0, 0.0, 1.0, &[0.5, 0.5]).of(&[0.25, 9.0, 1.0]), 0.25);
        assert_eq!(CustomScore::feedback(0.0, 9e9, 1.0, &[9.0, 0.0]).of(&[0.0, 1.0, 1.0]), 0.0);
    }

    #[test]
    fn similarities_are_summed_by_their_side_c6_3() {
        near(CustomScore::SumScores { positives: 2 }.of(&[0.5, 0.25, 0.125]), 0.625);
        assert_eq!(CustomScore::SumScores { positives: 2 }.of(&[f32::MAX, f32::MAX]), f32::MAX);
        assert_eq!(CustomScore::SumScores { positives: 0 }.of(&[0.0]).to_bits(), 0);
    }

    #[test]
    fn pairs_come_before_the_target_c6_3() {
        near(CustomScore::Discover.of(&[0.5, 0.9, 0.2]), 1.6667);
        near(CustomScore::Discover.of(&[0.5, 0.2, 0.9]), -0.3333);
        near(CustomScore::Discover.of(&[0.5, 0.4, 0.4]), 0.6667);
        near(CustomScore::Discover.of(&[0.5]), 0.6667);
    }

    #[test]
    fn a_context_counts_what_is_on_the_wrong_side_c6_3() {
        near(CustomScore::Context.of(&[0.2, 0.9]), -0.4118);
        assert_eq!(CustomScore::Context.of(&[0.9, 0.2]).to_bits(), 0.0f32.to_bits());
        near(CustomScore::Context.of(&[0.2, 0.9, 0.9, 0.2]), -0.4118);
        assert!(CustomScore::Context.of(&[0.5, 0.5]) < 0.0, "between both sides is not on the right one");
        assert_eq!(CustomScore::Context.of(&[f32::MIN, f32::MAX]), -1.0);
    }
}
