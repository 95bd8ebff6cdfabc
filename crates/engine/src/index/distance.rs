//! The distance of a metric: smaller is better, finite, totally ordered.

use kithdb_kernels::{FourRows, OneRow, kernels};

use crate::types::Metric;

/// How to compare rows under a [`Metric`], with the kernels of this CPU.
///
/// A distance is always a finite number: what overflows is the greatest or least `f32`, an inner product that
/// overflows both ways counts as the worst, and there is no −0. So distances are totally ordered by `<`.
#[derive(Clone, Copy)]
pub struct Distance {
    one: OneRow,
    four: FourRows,
    sign: f32,
}

impl Distance {
    /// The distance of a metric. For [`Metric::Cosine`] rows and queries are expected to be normalised.
    pub fn of(metric: Metric) -> Distance {
        let k = kernels();
        match metric {
            Metric::Cosine | Metric::Dot => Distance { one: k.dot, four: k.dot4, sign: -1.0 },
            Metric::Euclid => Distance { one: k.l2_squared, four: k.l2_squared4, sign: 1.0 },
            Metric::Manhattan => Distance { one: k.l1, four: k.l1_4, sign: 1.0 },
        }
    }

    /// The distance of two vectors of equal length.
    #[inline(always)]
    pub fn one(&self, query: &[f32], row: &[f32]) -> f32 {
        self.finish((self.one)(query, row))
    }

    /// The distances of a vector to four rows; the same numbers as [`Distance::one`] gives for each.
    #[inline(always)]
    pub fn four(&self, query: &[f32], rows: [&[f32]; 4]) -> [f32; 4] {
        (self.four)(query, rows).map(|sum| self.finish(sum))
    }

    #[inline(always)]
    fn finish(&self, sum: f32) -> f32 {
        let distance = if sum.is_nan() { f32::MAX } else { self.sign * sum };
        // Adding zero turns −0 into 0.
        distance.clamp(f32::MIN, f32::MAX) + 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_and_its_opposite_stay_finite_and_ordered() {
        let (big, mixed) = ([3e38f32, 3e38], [3e38f32, -3e38]);
        for metric in [Metric::Cosine, Metric::Dot, Metric::Euclid, Metric::Manhattan] {
            let distance = Distance::of(metric);
            for row in [big, mixed] {
                let d = distance.one(&big, &row);
                assert!(d.is_finite() && d.to_bits() != (-0.0f32).to_bits(), "{metric:?} {d}");
                assert_eq!(distance.four(&big, [&row; 4]), [d; 4]);
            }
        }
        assert_eq!(Distance::of(Metric::Dot).one(&big, &mixed), f32::MAX, "NaN is the worst");
        assert_eq!(Distance::of(Metric::Dot).one(&big, &big), f32::MIN);
    }

    #[test]
    fn a_zero_vector_is_at_distance_zero_under_cosine_c2_4() {
        let d = Distance::of(Metric::Cosine).one(&[0.0; 5], &[0.2; 5]);
        assert_eq!(d.to_bits(), 0.0f32.to_bits());
    }
}
