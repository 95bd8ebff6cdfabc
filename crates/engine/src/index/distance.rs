//! The distance of a metric: smaller is better, finite, totally ordered.

use kithdb_kernels::{FourByteRows, OneByteRow};

use crate::types::Metric;
use crate::vectors::{RowFormat, inverse_norm};

/// How to compare a query with stored rows under a [`Metric`], with the kernels of this CPU.
///
/// A distance is always a finite number: what overflows is the greatest or least `f32`, an inner product that
/// overflows both ways counts as the worst, and there is no −0. So distances are totally ordered by `<`.
#[derive(Clone, Copy)]
pub struct Distance {
    one: OneByteRow,
    four: FourByteRows,
    sign: f32,
    metric: Metric,
    format: RowFormat,
}

impl Distance {
    /// The distance of a metric between `f32` queries and rows of a format. For [`Metric::Cosine`] queries are
    /// expected to be normalised, and so are rows, but for [`RowFormat::U8Unit`].
    pub fn of(metric: Metric, format: RowFormat) -> Distance {
        let rows = format.kernels();
        let (one, four, sign) = match metric {
            Metric::Cosine | Metric::Dot => (rows.dot, rows.dot4, -1.0),
            Metric::Euclid => (rows.l2_squared, rows.l2_squared4, 1.0),
            Metric::Manhattan => (rows.l1, rows.l1_4, 1.0),
        };
        Distance { one, four, sign, metric, format }
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The format of the rows.
    pub fn format(&self) -> RowFormat {
        self.format
    }

    /// The distance of a query and a row of as many components. Panics when the row has another length.
    #[inline(always)]
    pub fn one(&self, query: &[f32], row: &[u8]) -> f32 {
        if self.format == RowFormat::U8Unit {
            return self
                .finish((self.one)(query, self.format.components(row, query.len())) * inverse_norm(row));
        }
        self.finish((self.one)(query, row))
    }

    /// The distances of a query to four rows; the same numbers as [`Distance::one`] gives for each.
    #[inline(always)]
    pub fn four(&self, query: &[f32], rows: [&[u8]; 4]) -> [f32; 4] {
        if self.format == RowFormat::U8Unit {
            let mut sums = (self.four)(query, rows.map(|row| self.format.components(row, query.len())));
            sums.iter_mut().zip(rows).for_each(|(sum, row)| *sum *= inverse_norm(row));
            return sums.map(|sum| self.finish(sum));
        }
        (self.four)(query, rows).map(|sum| self.finish(sum))
    }

    #[inline(always)]
    fn finish(&self, sum: f32) -> f32 {
        let distance = if sum.is_nan() { f32::MAX } else { self.sign * sum };
        // Adding zero turns −0 into 0.
        distance.clamp(f32::MIN, f32::MAX) + 0.0
    }
}

/// Square of the factor by which [`stretched`] makes distances longer.
const STRETCH_SQUARED: f32 = 1.05;

/// The distance between two nodes as it is used to decide whether a link to one of them makes a link to the other
/// superfluous: for √1.05 times the length where the metric has lengths, so that nodes keep more links, and longer ones.
/// That is α of Vamana (Subramanya et al., "DiskANN", 2019). Inner products have no lengths and stay as they are.
#[inline(always)]
pub fn stretched(metric: Metric, distance: f32) -> f32 {
    match metric {
        Metric::Euclid => distance * STRETCH_SQUARED,
        // Half of the square of a distance between normalised vectors is one more than this distance.
        Metric::Cosine => distance + (1.0 + distance) * (STRETCH_SQUARED - 1.0),
        Metric::Manhattan => distance * STRETCH_SQUARED.sqrt(),
        Metric::Dot => distance,
    }
}

/// The power of the length between two vectors that their distance grows with. Of inner products it is so only between
/// vectors that are as long as each other.
pub fn power(metric: Metric) -> i32 {
    match metric {
        Metric::Euclid | Metric::Cosine | Metric::Dot => 2,
        Metric::Manhattan => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::Datatype;

    const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];
    const FORMATS: [RowFormat; 4] = [RowFormat::F32, RowFormat::F16, RowFormat::U8, RowFormat::U8Unit];

    fn row(format: RowFormat, vector: &[f32]) -> Vec<u8> {
        let mut row = Vec::new();
        format.encode(vector, &mut row);
        row
    }

    proptest! {
        #[test]
        fn one_row_and_four_rows_agree_and_are_the_distance_of_what_is_compared(
            (query, rows) in (1usize..200).prop_flat_map(|dim| {
                let bytes = prop::collection::vec((0u8..=255).prop_map(f32::from), dim);
                (prop::collection::vec(-3.0f32..3.0, dim), prop::collection::vec(bytes, 4))
            }),
        ) {
            for (metric, format) in METRICS.iter().flat_map(|&m| FORMATS.map(|f| (m, f))) {
                let distance = Distance::of(metric, format);
                let rows: Vec<Vec<u8>> = rows.iter().map(|vector| row(format, vector)).collect();
                let four = distance.four(&query, [&rows[0], &rows[1], &rows[2], &rows[3]]);
                for (row, four) in rows.iter().zip(four) {
                    let one = distance.one(&query, row);
                    prop_assert_eq!(one.to_bits(), four.to_bits());
                    let mut compared = Vec::new();
                    format.decode_for_search(row, query.len(), &mut compared);
                    let pairs = query.iter().zip(&compared).map(|(&q, &r)| (f64::from(q), f64::from(r)));
                    let (exact, size): (f64, f64) = match metric {
                        // A row whose components are lengthless is only ever compared by direction.
                        _ if format == RowFormat::U8Unit && metric != Metric::Cosine => continue,
                        Metric::Cosine | Metric::Dot => {
                            (-pairs.clone().map(|(q, r)| q * r).sum::<f64>(), pairs.map(|(q, r)| (q * r).abs()).sum())
                        }
                        Metric::Euclid => { let s = pairs.map(|(q, r)| (q - r) * (q - r)).sum(); (s, s) }
                        Metric::Manhattan => { let s = pairs.map(|(q, r)| (q - r).abs()).sum(); (s, s) }
                    };
                    prop_assert!((f64::from(one) - exact).abs() <= size * 1e-4 + 1e-6, "{:?} {:?}", metric, format);
                }
            }
        }
    }

    #[test]
    fn overflow_and_its_opposite_stay_finite_and_ordered() {
        let (big, mixed) = ([3e38f32, 3e38], [3e38f32, -3e38]);
        for metric in METRICS {
            let distance = Distance::of(metric, RowFormat::F32);
            for other in [big, mixed] {
                let row = row(RowFormat::F32, &other);
                let d = distance.one(&big, &row);
                assert!(d.is_finite() && d.to_bits() != (-0.0f32).to_bits(), "{metric:?} {d}");
                assert_eq!(distance.four(&big, [&row; 4]), [d; 4]);
            }
        }
        let dot = Distance::of(Metric::Dot, RowFormat::F32);
        assert_eq!(dot.one(&big, &row(RowFormat::F32, &mixed)), f32::MAX, "NaN is the worst");
        assert_eq!(dot.one(&big, &row(RowFormat::F32, &big)), f32::MIN);
    }

    #[test]
    fn a_zero_vector_is_at_distance_zero_under_cosine_c2_4() {
        for datatype in [Datatype::Float32, Datatype::Float16, Datatype::Uint8] {
            let format = RowFormat::of(Metric::Cosine, datatype);
            let d = Distance::of(Metric::Cosine, format);
            assert_eq!(d.one(&[0.0; 5], &row(format, &[1.0; 5])).to_bits(), 0.0f32.to_bits());
            assert_eq!(d.one(&[-0.4; 5], &row(format, &[0.0; 5])).to_bits(), 0.0f32.to_bits());
        }
    }

    #[test]
    fn whole_numbers_are_compared_exactly() {
        let (query, other): (Vec<f32>, Vec<f32>) =
            (0..250u8).map(|i| (f32::from(255 - i), f32::from(i))).unzip();
        let squares: u64 = (0..250u64).map(|i| (255 - 2 * i as i64).unsigned_abs().pow(2)).sum();
        let euclid = Distance::of(Metric::Euclid, RowFormat::U8);
        assert_eq!(euclid.one(&query, &row(RowFormat::U8, &other)), squares as f32);
    }
}
