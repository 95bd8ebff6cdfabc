//! Re-ranking: what a search found by codes, compared by the originals.

use crate::field::table::FieldTable;
use crate::index::{Distance, Stopped, TopK};
use crate::types::Row;
use kithdb_kernels::prefetch_l2;
use std::cmp::Ordering;
use std::time::{Duration, Instant};

/// Candidates of the first round in addition to the wanted number. The errors of the first round are the first ones known.
const FIRST_BEYOND: usize = 6;
/// An unknown error is assumed to be at most this multiple of the root mean square of the known ones.
const DEVIATIONS: f64 = 5.0;
/// Known errors that are needed for that. Where there are many duplicates, the first rows may all be of one vector.
const FEWEST_ERRORS: f64 = 6.0;
/// Rows that are prefetched ahead of their comparison.
const LOOK_AHEAD: usize = 16;

/// Rows that are compared between two stop checks, a multiple of four.
const STOP_INTERVAL: usize = 256;

/// A query that candidates are compared with by their originals.
pub(super) struct Reranking<'a> {
    pub table: &'a FieldTable,
    pub distance: Distance,
    pub query: &'a [f32],
    /// Hits wanted.
    pub k: usize,
    /// Ends the re-ranking once it returns true: originals may have to be read from disk.
    pub stop: &'a dyn Fn() -> bool,
}

/// The best rows by their originals.
#[derive(Debug, Default)]
pub struct Ranked {
    /// Distances and rows, best first.
    pub best: Vec<(f32, Row)>,
    /// Rows that were compared by their originals after their codes.
    pub reranked: usize,
    /// Time of that.
    pub took: Duration,
}

impl Reranking<'_> {
    /// The best of some rows, equal ones in the order of `tie`.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true, here and below.
    pub fn all(&self, rows: &[Row], tie: impl Fn(Row, Row) -> Ordering) -> Result<Vec<(f32, Row)>, Stopped> {
        let mut top = TopK::new(self.k, tie);
        self.compare(rows, |_, distance, row| top.offer(distance, row))?;
        Ok(top.into_sorted())
    }

    /// The best of `candidates`, which come with estimates of their distances, lowest first, and of `others`, which have no
    /// estimates. At least `least` candidates are compared.
    ///
    /// The errors of the estimates become known as candidates are compared. A candidate can only be among the best if the error
    /// of its estimate is at least the estimate minus the k-th distance. Once that is more than the [greatest](Errors::greatest)
    /// error expected, this candidate and all after it are left out.
    pub fn promising(
        &self,
        candidates: impl Iterator<Item = (f32, Row)>,
        least: usize,
        others: &[Row],
        tie: impl Fn(Row, Row) -> Ordering,
    ) -> Result<Ranked, Stopped> {
        let start = Instant::now();
        let mut candidates = candidates.peekable();
        let mut top = TopK::new(self.k, tie);
        let (mut rows, mut estimates) = (Vec::new(), Vec::new());
        let (mut distances, mut errors) = (Vec::new(), Errors::default());
        let first = self.k.saturating_add(FIRST_BEYOND).max(least);
        let (mut limit, mut most) = (f64::INFINITY, first.saturating_add(3) & !3);
        // Candidates of one estimate have one code, and may be of one vector. `tie` decides their order, so all of them are
        // compared.
        let mut last = f32::NAN;
        loop {
            rows.clear();
            estimates.clear();
            while rows.len() < most
                && let Some((estimate, row)) =
                    candidates.next_if(|&(estimate, _)| f64::from(estimate) <= limit || estimate == last)
            {
                rows.push(row);
                estimates.push(estimate);
                last = estimate;
            }
            if rows.is_empty() {
                break;
            }
            self.compare(&rows, |at, distance, row| {
                top.offer(distance, row);
                distances.push(distance);
                // Duplicates of a vector have the same error; it counts once.
                if at == 0 || estimates[at] != estimates[at - 1] {
                    errors.add(f64::from(estimates[at]) - f64::from(distance));
                }
            })?;
            limit = self.limit(&mut distances, &errors);
            // Each round doubles what was compared, so that its limit rests on as many errors as it has rows.
            most = distances.len();
        }
        self.compare(others, |_, distance, row| top.offer(distance, row))?;
        Ok(Ranked { best: top.into_sorted(), reranked: distances.len(), took: start.elapsed() })
    }

    /// The estimate from which on a row is not among the best.
    fn limit(&self, distances: &mut [f32], errors: &Errors) -> f64 {
        if self.k == 0 {
            return f64::NEG_INFINITY;
        }
        if distances.len() < self.k || errors.count < FEWEST_ERRORS {
            return f64::INFINITY;
        }
        let kth = f64::from(*distances.select_nth_unstable_by(self.k - 1, f32::total_cmp).1);
        kth + errors.greatest()
    }

    /// Calls `each` for each row with its position among the rows, its distance, and the row.
    pub(super) fn compare(&self, rows: &[Row], mut each: impl FnMut(usize, f32, Row)) -> Result<(), Stopped> {
        let row = |row: Row| self.table.row(row);
        self.table.rows.expect(rows.iter().map(|row| row.get()));
        rows.iter().take(LOOK_AHEAD).for_each(|&next| prefetch_l2(row(next)));
        let (fours, rest) = rows.as_chunks::<4>();
        for (at, four) in fours.iter().enumerate() {
            if (4 * at + 4).is_multiple_of(STOP_INTERVAL) && (self.stop)() {
                return Err(Stopped);
            }
            rows.iter().skip(at * 4 + LOOK_AHEAD).take(4).for_each(|&next| prefetch_l2(row(next)));
            let distances = self.distance.four(self.query, four.map(row));
            (4 * at..).zip(distances).zip(four).for_each(|((at, distance), &row)| each(at, distance, row));
        }
        for (at, &one) in (4 * fours.len()..).zip(rest) {
            each(at, self.distance.one(self.query, row(one)), one);
        }
        Ok(())
    }
}

/// By how much some estimates of distances are too great.
#[derive(Default)]
pub(super) struct Errors {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Errors {
    pub(super) fn add(&mut self, error: f64) {
        self.count += 1.0;
        self.sum += error;
        self.squares += error * error;
    }

    /// [`Errors::greatest`], without a bound while too few errors are known.
    pub(super) fn expected_greatest(&self) -> f64 {
        if self.count < FEWEST_ERRORS { f64::INFINITY } else { self.greatest() }
    }

    /// The greatest expected error: estimate minus distance.
    ///
    /// Candidates come in ascending order of their estimates, which biases the mean error of the first ones downwards. So a
    /// negative mean is ignored, and the mean square is used.
    fn greatest(&self) -> f64 {
        let count = self.count.max(1.0);
        (self.sum / count).max(0.0) + DEVIATIONS * (self.squares / count).sqrt()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::VectorParams;
    use crate::field::FieldArena;
    use crate::types::{Metric, PointOffset};
    use proptest::prelude::*;

    pub const DIM: usize = 3;

    pub fn table(vectors: &[[u8; DIM]]) -> FieldTable {
        let params = VectorParams::new(DIM, Metric::Euclid);
        let mut arena = FieldArena::new(&params, 4 << 10);
        let mut bytes = Vec::new();
        for (owner, vector) in (0..).zip(vectors) {
            bytes.clear();
            params.row_format().encode(&vector.map(f32::from), &mut bytes);
            arena.push(&bytes, PointOffset::new(owner));
        }
        arena.table()
    }

    /// The error of an estimate: in both directions, the largest twice the smallest; equal vectors have equal codes.
    pub fn error_of(vector: [u8; DIM], noise: f32, seed: u64) -> f32 {
        let mixed =
            vector.iter().fold(seed, |mixed, &x| (mixed ^ u64::from(x)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let size = noise * (0.5 + (mixed >> 32 & 255) as f32 / 510.0);
        if mixed >> 63 == 0 { size } else { -size }
    }

    fn by_row(a: Row, b: Row) -> Ordering {
        a.cmp(&b)
    }

    proptest! {
        #[test]
        fn the_promising_ones_hold_the_best_of_all(
            // Of few different ones, so that there are ties.
            vectors in prop::collection::vec(prop::array::uniform3(0u8..12), 1..300),
            query in prop::array::uniform3(0u8..12), k in 0usize..30,
            noise in prop_oneof![Just(0.0f32), 0.01f32..30.0], seed in any::<u64>(),
        ) {
            let table = table(&vectors);
            let query = query.map(f32::from);
            let reranking = Reranking {
                table: &table, distance: Distance::of(Metric::Euclid, table.format), query: &query, k, stop: &|| false,
            };
            let rows: Vec<Row> = (0..vectors.len() as u32).map(Row::new).collect();
            let all = reranking.all(&rows, by_row).unwrap();
            prop_assert_eq!(all.len(), k.min(rows.len()));
            let mut estimates: Vec<(f32, Row)> = rows.iter().map(|&row| {
                let vector = vectors[row.index()];
                let exact = reranking.distance.one(&query, table.row(row));
                (exact + error_of(vector, noise, seed), row)
            }).collect();
            estimates.sort_by(|a, b| a.0.total_cmp(&b.0));
            let promising = reranking.promising(estimates.iter().copied(), 0, &[], by_row).unwrap();
            prop_assert_eq!(&promising.best, &all);
            prop_assert!(promising.reranked <= rows.len());
            // Those without an estimate are always compared.
            let (known, others) = estimates.split_at(estimates.len() / 2);
            let others: Vec<Row> = others.iter().map(|&(_, row)| row).collect();
            let mixed = reranking.promising(known.iter().copied(), 0, &others, by_row).unwrap();
            prop_assert_eq!(&mixed.best, &all);
        }
    }

    #[test]
    fn duplicates_are_not_separated_where_a_round_ends() {
        // Rows 27 and 28 are copies of row 0, and codes say that they are far away.
        let vectors: Vec<[u8; DIM]> = (0..29).map(|x| [if x < 27 { x } else { 0 }, 0, 0]).collect();
        let table = table(&vectors);
        let distance = Distance::of(Metric::Euclid, table.format);
        let reranking = Reranking { table: &table, distance, query: &[0.0; DIM], k: 20, stop: &|| false };
        let estimates =
            (0..29).map(|row| (if row < 27 { (row * row) as f32 } else { 40_000.0 }, Row::new(row)));
        let found = reranking.promising(estimates, 0, &[], by_row).unwrap();
        assert_eq!(found.reranked, 29);
        assert_eq!(
            found.best[..4],
            [(0.0, 0), (0.0, 27), (0.0, 28), (1.0, 1)].map(|(distance, row)| (distance, Row::new(row)))
        );
    }

    #[test]
    fn few_are_compared_where_estimates_are_good_and_all_where_they_say_nothing() {
        let vectors: Vec<[u8; DIM]> = (0..=255).map(|x| [x, 0, 0]).collect();
        let table = table(&vectors);
        let distance = Distance::of(Metric::Euclid, table.format);
        let reranking = Reranking { table: &table, distance, query: &[0.0; DIM], k: 10, stop: &|| false };
        let square = |row: u32| (row * row) as f32;
        let good = reranking
            .promising((0..256).map(|row| (square(row) + 0.1, Row::new(row))), 0, &[], by_row)
            .unwrap();
        assert_eq!(good.reranked, 16);
        let none =
            reranking.promising((0..256).rev().map(|row| (0.0, Row::new(row))), 0, &[], by_row).unwrap();
        assert_eq!(none.reranked, 256);
        for ranked in [good, none] {
            assert!(ranked.best.into_iter().eq((0..10).map(|row| (square(row), Row::new(row)))));
        }
    }

    #[test]
    fn a_comparison_of_many_rows_ends_when_stop_returns_true() {
        let table = table(&[[1, 2, 3]]);
        let distance = Distance::of(Metric::Euclid, table.format);
        let looks = std::cell::Cell::new(0);
        let stop = || {
            looks.set(looks.get() + 1);
            looks.get() == 3
        };
        let reranking = Reranking { table: &table, distance, query: &[0.0; DIM], k: 10, stop: &stop };
        let rows = vec![Row::FIRST; 1_000_000];
        assert!(reranking.all(&rows, by_row).is_err());
        looks.set(0);
        let candidates = rows.iter().map(|&row| (0.0, row));
        assert!(reranking.promising(candidates, rows.len(), &[], by_row).is_err());
        looks.set(0);
        assert!(reranking.promising(std::iter::empty(), 0, &rows, by_row).is_err());
        assert_eq!(looks.get(), 3);
    }
}
