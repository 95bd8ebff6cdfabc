//! MaxSim, the comparison of multi-vectors: for each row of the query the nearest row of the vector, summed up
//! (Khattab & Zaharia, *ColBERT*, SIGIR 2020, §3.1).
//!
//! In distances, which are smaller for nearer, it is the sum of the minima: Σ min d(q, r). Under Dot and Cosine that is
//! minus the sum of the greatest products, under Manhattan the sum of the least sums of differences, and under Euclid
//! the sum of the least *squared* distances, whose root clients see.

use kithdb_kernels::{TileKernels, bytes_of, kernels};

use super::{Distance, Stopped};
use crate::arena::RowTable;
use crate::types::{Metric, RowRange};
use crate::vectors::{RowFormat, inverse_norm};

/// With at least this many query rows, products are computed for all of them at once, as a product of matrices.
const MIN_PANEL_QUERIES: usize = 4;

/// Products of components between two stop checks: about a millisecond of them.
const WORK_PER_CHECK: u64 = 1 << 24;

/// Compares one query of one row or several with the multi-vectors of one field.
///
/// A vector has one distance, whatever found it: it depends on the query and the vector's rows alone.
pub struct MaxSim {
    distance: Distance,
    dim: usize,
    query: Vec<f32>,
    comparison: Comparison,
    /// Least distance of each query row so far; minus the greatest product in the [`Comparison::Panels`].
    least: Vec<f32>,
    work: u64,
}

/// How rows are compared.
enum Comparison {
    /// One query row after the other, with four rows at a time.
    OneByOne,
    /// All query rows at once.
    Panels(Panels),
}

/// The query rows, component by component, and room for products.
struct Panels {
    tile: &'static TileKernels,
    /// Lanes and components of each panel; `tile.wide` query rows in each but the last.
    panels: Vec<(usize, Vec<f32>)>,
    sums: Vec<f32>,
    /// Components of some rows, where the rows are not `f32`.
    widened: Vec<f32>,
}

impl MaxSim {
    /// A comparison with a query whose rows of `dim` components follow each other. For [`Metric::Cosine`] they are
    /// expected to be normalised. Panics when there is no row, or half a one.
    pub fn new(distance: Distance, dim: usize, query: Vec<f32>) -> MaxSim {
        assert!(!query.is_empty() && query.len().is_multiple_of(dim), "a query of whole rows");
        let queries = query.len() / dim;
        // The squared distance does not follow from a product without losing digits, that of Manhattan not at all.
        let is_product = matches!(distance.metric(), Metric::Dot | Metric::Cosine);
        let comparison = if is_product && queries >= MIN_PANEL_QUERIES {
            Comparison::Panels(Panels::new(dim, &query))
        } else {
            Comparison::OneByOne
        };
        MaxSim { distance, dim, query, comparison, least: vec![0.0; queries], work: 0 }
    }

    /// The distance of the vector whose rows are those of `run`: finite, and never −0. `stop` is called about once in a
    /// millisecond of work. The work of earlier calls counts too.
    ///
    /// # Errors
    /// [`Stopped`] once `stop` returns true. Panics when the run is empty or goes beyond the table.
    pub fn compare(
        &mut self,
        rows: &RowTable,
        run: RowRange,
        stop: &impl Fn() -> bool,
    ) -> Result<f32, Stopped> {
        assert!(!run.is_empty(), "a vector without rows");
        self.least.fill(f32::INFINITY);
        let block = match &self.comparison {
            Comparison::OneByOne => 4,
            Comparison::Panels(panels) => panels.tile.rows,
        };
        let mut slices: Vec<&[u8]> = Vec::with_capacity(block);
        let run = run.numbers();
        rows.expect_run(run.clone());
        for from in run.clone().step_by(block) {
            slices.clear();
            slices.extend((from..run.end.min(from + block as u32)).map(|row| rows.row(row)));
            self.work += (slices.len() * self.query.len()) as u64;
            if self.work >= WORK_PER_CHECK {
                self.work = 0;
                if stop() {
                    return Err(Stopped);
                }
            }
            match &mut self.comparison {
                Comparison::OneByOne => self.compare_one_by_one(&slices),
                Comparison::Panels(panels) => {
                    panels.compare(self.distance.format(), &slices, &mut self.least)
                }
            }
        }
        let sum: f64 = self.least.iter().map(|&least| f64::from(least.clamp(f32::MIN, f32::MAX))).sum();
        // Adding zero turns −0 into 0.
        Ok(sum.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32 + 0.0)
    }

    fn compare_one_by_one(&mut self, rows: &[&[u8]]) {
        for (query, least) in self.query.chunks_exact(self.dim).zip(&mut self.least) {
            if let &[a, b, c, d] = rows {
                let [a, b, c, d] = self.distance.four(query, [a, b, c, d]);
                *least = least.min(a).min(b).min(c).min(d);
            } else {
                rows.iter().for_each(|row| *least = least.min(self.distance.one(query, row)));
            }
        }
    }
}

impl Panels {
    fn new(dim: usize, query: &[f32]) -> Panels {
        let tile = kernels().tile;
        let panel = |rows: &[f32]| {
            let queries = rows.len() / dim;
            let lanes = if queries <= tile.narrow { tile.narrow } else { tile.wide };
            let mut components = vec![0.0; lanes * dim];
            for (lane, row) in rows.chunks_exact(dim).enumerate() {
                components.iter_mut().skip(lane).step_by(lanes).zip(row).for_each(|(to, &q)| *to = q);
            }
            (lanes, components)
        };
        Panels {
            tile,
            panels: query.chunks(tile.wide * dim).map(panel).collect(),
            sums: vec![0.0; tile.rows * tile.wide],
            widened: Vec::new(),
        }
    }

    /// Lowers `least` to minus the products with some rows, at most as many as a tile has.
    fn compare(&mut self, format: RowFormat, rows: &[&[u8]], least: &mut [f32]) {
        let dim = self.panels[0].1.len() / self.panels[0].0;
        if format != RowFormat::F32 {
            self.widened.resize(rows.len() * dim, 0.0);
            for (row, wide) in rows.iter().zip(self.widened.chunks_exact_mut(dim)) {
                (format.kernels().widen)(format.components(row, dim), wide);
            }
        }
        let widened: Vec<&[u8]>;
        let components: &[&[u8]] = if format == RowFormat::F32 {
            rows
        } else {
            widened = self.widened.chunks_exact(dim).map(bytes_of).collect();
            &widened
        };
        for ((lanes, panel), least) in self.panels.iter().zip(least.chunks_mut(self.tile.wide)) {
            let sums = &mut self.sums[..lanes * rows.len()];
            (self.tile.dot)(panel, components, &[], sums);
            for (row, sums) in rows.iter().zip(sums.chunks_exact(*lanes)) {
                let factor = if format == RowFormat::U8Unit { -inverse_norm(row) } else { -1.0 };
                for (least, &sum) in least.iter_mut().zip(sums) {
                    // A product that overflowed both ways is no number, and takes no part.
                    *least = least.min(factor * sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arena::RowArena;
    use crate::types::Row;

    const METRICS: [Metric; 4] = [Metric::Cosine, Metric::Euclid, Metric::Dot, Metric::Manhattan];
    const FORMATS: [RowFormat; 4] = [RowFormat::F32, RowFormat::F16, RowFormat::U8, RowFormat::U8Unit];

    fn table(format: RowFormat, dim: usize, components: &[f32]) -> RowTable {
        let mut arena = RowArena::new(format.row_bytes(dim));
        for row in components.chunks_exact(dim) {
            let mut bytes = Vec::new();
            format.encode(row, &mut bytes);
            arena.push(&bytes);
        }
        arena.table()
    }

    /// The definition, in f64: the score that clients see, and the greatest term that it can have lost digits of.
    fn defined(metric: Metric, query: &[f32], rows: &RowTable, format: RowFormat, dim: usize) -> (f64, f64) {
        let (mut total, mut size) = (0.0, 0.0);
        for query in query.chunks_exact(dim) {
            let (mut best, mut terms) = (f64::NEG_INFINITY, 0.0f64);
            for row in 0..rows.len() {
                let mut compared = Vec::new();
                format.decode_for_search(rows.row(row), dim, &mut compared);
                let pairs = query.iter().zip(&compared).map(|(&q, &r)| (f64::from(q), f64::from(r)));
                let similarity = match metric {
                    Metric::Cosine | Metric::Dot => pairs.clone().map(|(q, r)| q * r).sum(),
                    Metric::Euclid => -pairs.clone().map(|(q, r)| (q - r) * (q - r)).sum::<f64>(),
                    Metric::Manhattan => -pairs.clone().map(|(q, r)| (q - r).abs()).sum::<f64>(),
                };
                best = best.max(similarity);
                terms = terms.max(pairs.map(|(q, r)| (q * r).abs()).sum());
            }
            total += best;
            size += terms.max(best.abs());
        }
        match metric {
            Metric::Cosine | Metric::Dot => (total, size),
            Metric::Euclid => ((-total).max(0.0).sqrt(), (-total).max(0.0).sqrt()),
            Metric::Manhattan => (-total, -total),
        }
    }

    fn score(metric: Metric, query: &[f32], rows: &RowTable, format: RowFormat, dim: usize) -> f32 {
        let mut max_sim = MaxSim::new(Distance::of(metric, format), dim, query.to_vec());
        metric.score(max_sim.compare(rows, RowRange::of_len(Row::FIRST, rows.len()), &|| false).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn the_score_is_that_of_the_definition_c2_4(
            (dim, query, rows) in (1usize..70).prop_flat_map(|dim| (
                Just(dim),
                prop::collection::vec(-3.0f32..3.0, dim..40 * dim),
                prop::collection::vec((0u8..=255).prop_map(f32::from), dim..30 * dim),
            )),
        ) {
            let query = &query[..query.len() / dim * dim];
            for (metric, format) in METRICS.iter().flat_map(|&m| FORMATS.map(|f| (m, f))) {
                if format == RowFormat::U8Unit && metric != Metric::Cosine {
                    continue;
                }
                let rows = table(format, dim, &rows);
                let (expected, size) = defined(metric, query, &rows, format, dim);
                let score = f64::from(score(metric, query, &rows, format, dim));
                prop_assert!(
                    (score - expected).abs() <= 1e-5 * size + 1e-6,
                    "{:?} {:?}: {} instead of {}", metric, format, score, expected
                );
            }
        }
    }

    #[test]
    fn euclid_is_the_root_of_the_sum_of_the_least_squares() {
        let rows = table(RowFormat::F32, 2, &[0.0, 1.0]);
        let score = score(Metric::Euclid, &[0.0, 0.0, 1.0, 1.0], &rows, RowFormat::F32, 2);
        assert!((score - 2f32.sqrt()).abs() < 1e-6);
    }

    #[test]
    fn a_vector_has_one_distance_wherever_its_rows_lie() {
        let vector: Vec<f32> = (0..21).map(|at| (at * at % 13) as f32).collect();
        let (mut shifted, other) = (vec![5.0; 3 * 5], vec![9.0; 3 * 2]);
        shifted.extend_from_slice(&vector);
        shifted.extend_from_slice(&other);
        let query: Vec<f32> = (0..3 * 37).map(|at| (at % 7) as f32 - 3.0).collect();
        for metric in METRICS {
            let compare = |components: &[f32], first: u32| {
                let rows = table(RowFormat::F32, 3, components);
                let mut max_sim = MaxSim::new(Distance::of(metric, RowFormat::F32), 3, query.clone());
                max_sim.compare(&rows, RowRange::of_len(Row::new(first), 7), &|| false).unwrap().to_bits()
            };
            assert_eq!(compare(&vector, 0), compare(&shifted, 5), "{metric:?}");
        }
    }

    #[test]
    fn overflow_stays_finite_and_ordered() {
        let big = [3e38f32; 2];
        let query: Vec<f32> = big.iter().chain(&[3e38, -3e38]).copied().cycle().take(16).collect();
        let rows = table(RowFormat::F32, 2, &big);
        for (metric, query) in METRICS.iter().flat_map(|&m| [(m, &query[..]), (m, &query[..4])]) {
            let mut max_sim = MaxSim::new(Distance::of(metric, RowFormat::F32), 2, query.to_vec());
            let distance = max_sim.compare(&rows, RowRange::of_len(Row::FIRST, 1), &|| false).unwrap();
            assert!(distance.is_finite() && distance.to_bits() != (-0.0f32).to_bits(), "{metric:?}");
        }
    }

    #[test]
    fn a_long_comparison_stops_when_it_is_told_to() {
        let rows = table(RowFormat::F32, 64, &vec![1.0; 64 * 3000]);
        let query = vec![1.0; 64 * 500];
        for metric in [Metric::Dot, Metric::Manhattan] {
            let mut max_sim = MaxSim::new(Distance::of(metric, RowFormat::F32), 64, query.clone());
            assert_eq!(max_sim.compare(&rows, RowRange::of_len(Row::FIRST, 3000), &|| true), Err(Stopped));
        }
    }
}
