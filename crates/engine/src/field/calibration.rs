//! The recall of searches through a graph by the width of their walks, as measured on a sample of queries, and the width
//! that reaches a recall. See docs/recall.md.

use crate::config::GraphParams;
use crate::faults::PlantedFault;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::vectors::split_mix;
use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// Widths that recall is measured at.
pub const LADDER: [usize; 9] = [10, 16, 32, 64, 128, 256, 512, 1024, 2048];
/// Numbers of hits that recall is measured for.
pub const HITS: [usize; 2] = [10, 100];
/// Shares of points that match, at which searches are measured: all, and the least share of each class.
pub const SHARES: [f64; 4] = [1.0, 0.3, 0.1, 0.03];
/// Share of matches from which a filter counts as none.
const EVERYTHING: f64 = 0.99;
/// Queries of a whole calibration with vectors of points. One with vectors of searches has as many as are kept.
pub const WHOLE: u32 = 256;
/// Queries from which on one is used.
pub const LEAST: u32 = 32;
/// What recall may fall short of a target by.
const TOLERANCE: f64 = 0.005;
/// Standard errors below the mean that a bound lies at which the recall is below in one of a hundred samples. A few queries
/// miss most of their hits and the rest none, so that fewer standard errors hold for less than their share of samples.
const ONE_SIDED: f64 = 2.326;
/// Standard errors on either side of the mean in the interval of 95 % that is shown.
const TWO_SIDED: f64 = 1.96;
/// A search that no width is measured for is at most so wide.
const WIDEST: usize = 100_000;
/// Vectors of searches that are kept for each field.
pub const KEPT_QUERIES: usize = 256;
/// Kept queries from which on a calibration is made of them.
pub const ENOUGH_QUERIES: usize = 64;
/// When all places are taken, every 64th search replaces a kept one.
const REPLACING_INTERVAL: u64 = 64;

/// The recall of some measured searches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct MeasuredRecall {
    count: u32,
    sum: f64,
    squares: f64,
}

impl MeasuredRecall {
    fn add(&mut self, recall: f64) {
        self.count += 1;
        self.sum += recall;
        self.squares += recall * recall;
    }

    fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }

    /// Standard error of the mean. Where all searches had the same recall it is that of two more hits that were missed.
    fn error(&self, hits: usize) -> f64 {
        if self.count == 0 {
            return 1.0;
        }
        let (n, mean) = (f64::from(self.count), self.mean());
        let missed = 2.0 / (n * hits as f64 + 2.0);
        let least = missed * (1.0 - missed) / hits as f64;
        let variance = (self.squares / n - mean * mean).max(least);
        (variance / n).sqrt()
    }
}

/// An estimated recall with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecallEstimate {
    /// The mean.
    pub recall: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Searches that were compared with exact ones.
    pub samples: u32,
    /// When the last one was, in seconds since 1970.
    pub at: u64,
}

/// What was measured of one graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    graph_params: GraphParams,
    /// Rows that the table ever had, and live ones, when it began.
    rows: (u32, u64),
    /// Whether the queries were those of searches.
    pub is_live: bool,
    /// When the last query was measured, in seconds since 1970.
    pub at: u64,
    samples: u32,
    measured: [[[MeasuredRecall; LADDER.len()]; SHARES.len()]; HITS.len()],
}

impl Calibration {
    /// An empty one for a graph of those parameters, over a table of so many rows that were ever written and are alive.
    pub fn new(graph_params: GraphParams, rows: (u32, u64), is_live: bool) -> Calibration {
        Calibration { graph_params, rows, is_live, at: 0, samples: 0, measured: Default::default() }
    }

    /// Queries that were measured.
    pub fn samples(&self) -> u32 {
        self.samples
    }

    /// Takes note that a query was measured whole.
    pub fn finish_query(&mut self, at: u64) {
        self.samples += 1;
        self.at = at;
    }

    /// Adds the recall of a query for `HITS[hits]` hits among the share `SHARES[class]`, at each width of the ladder.
    pub fn add(&mut self, hits: usize, class: usize, recalls: &[f64; LADDER.len()]) {
        for (measured, &recall) in self.measured[hits][class].iter_mut().zip(recalls) {
            measured.add(recall);
        }
    }

    /// Whether it was measured on a graph like this one, of a table that has not changed much since.
    pub fn fits(&self, graph_params: &GraphParams, rows: (u32, u64)) -> bool {
        (self.graph_params == *graph_params || PlantedFault::CalibrationOfOtherGraph.is_on())
            && self.changed(rows) < 0.5
    }

    /// Share of the rows that were written or have died since, roughly.
    pub fn changed(&self, (written, live): (u32, u64)) -> f64 {
        let added = u64::from(written.abs_diff(self.rows.0));
        let died = (self.rows.1 + added).saturating_sub(live);
        added.max(died) as f64 / self.rows.1.max(1) as f64
    }

    /// The least width that reaches a recall for `k` hits among a share of the points. `None` where none of the ladder does.
    ///
    /// Between two measured shares it is interpolated by the logarithms of both. `is_scanned` says of a share and a width
    /// whether the search is a scan: then the figures of that share and width say nothing of walks.
    pub fn ef(
        &self,
        target: f64,
        k: usize,
        share: f64,
        is_scanned: impl Fn(f64, usize) -> bool,
    ) -> Option<usize> {
        let class = class_of(share);
        let of_class =
            |class: usize| self.ef_among(target, k, class, &|width| is_scanned(SHARES[class], width));
        let below = of_class(class)?;
        if class == 0 || share < SHARES[class] {
            return Some(below);
        }
        let above = of_class(class - 1)?;
        let [least, most] = [SHARES[class], SHARES[class - 1]];
        if is_scanned(least, below) {
            return Some(above);
        }
        let part = ((share / least).ln() / (most / least).ln()).clamp(0.0, 1.0);
        let between = (below as f64).powf(1.0 - part) * (above as f64).powf(part);
        Some((between.ceil() as usize).max(k))
    }

    /// The width for one of the measured shares.
    fn ef_among(
        &self,
        target: f64,
        k: usize,
        class: usize,
        is_scanned: &impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let width = |hits: usize| self.width(target, hits, class, is_scanned);
        let [few, many] = HITS;
        if k <= few {
            return Some((width(0)?.ceil() as usize).max(k));
        }
        // More hits take no narrower walk.
        let narrow = width(0)?;
        let wide = width(1)?.max(narrow);
        if k >= many {
            return Some(((wide * k as f64 / many as f64).ceil() as usize).clamp(k, WIDEST.max(k)));
        }
        let between = (k - few) as f64 / (many - few) as f64;
        Some(((narrow + (wide - narrow) * between).ceil() as usize).max(k))
    }

    /// The width for one of the measured numbers of hits. Between two measured widths recall is taken to rise with the
    /// logarithm of the width: it rises faster at first, so the width is not too small. From a walk to a scan it rises at once.
    fn width(
        &self,
        target: f64,
        hits: usize,
        class: usize,
        is_scanned: &impl Fn(usize) -> bool,
    ) -> Option<f64> {
        let curve = self.curve(hits, class);
        let is_sure = |low: f64| low >= target - TOLERANCE || PlantedFault::BoundOfRecallIgnored.is_on();
        let reaches = |&(mean, low): &(f64, f64)| mean >= target && is_sure(low);
        let at = curve.iter().position(reaches)?;
        if at == 0 {
            return Some(LADDER[0] as f64);
        }
        // No walk is narrower than its hits are many.
        let [from, to] = [at - 1, at].map(|at| LADDER[at].max(HITS[hits]) as f64);
        if is_scanned(LADDER[at]) && !is_scanned(LADDER[at - 1]) {
            return Some(to);
        }
        let ((mean_before, low_before), (mean, low)) = (curve[at - 1], curve[at]);
        let part = |from: f64, to: f64, wanted: f64| {
            if from >= wanted || to <= from { 0.0 } else { (wanted - from) / (to - from) }
        };
        let part = part(mean_before, mean, target).max(part(low_before, low, target - TOLERANCE));
        Some(from * (to / from).powf(part.clamp(0.0, 1.0)))
    }

    /// Mean and lower bound of the recall at each width; neither falls, because a wider walk finds no less.
    fn curve(&self, hits: usize, class: usize) -> Vec<(f64, f64)> {
        let mut best = (0.0_f64, 0.0_f64);
        let measured = self.measured[hits][class].iter();
        let point = |measured: &MeasuredRecall| {
            let low = measured.mean() - ONE_SIDED * measured.error(HITS[hits]);
            best = (best.0.max(measured.mean()), best.1.max(low));
            best
        };
        measured.map(point).collect()
    }

    /// The recall of ten hits of all points at a width, from the measured width that is not greater.
    pub fn estimate(&self, ef: usize) -> RecallEstimate {
        let measured = &self.measured[0][0];
        let at = LADDER.iter().rposition(|&width| width <= ef).unwrap_or(0);
        let (here, next) = (&measured[at], &measured[(at + 1).min(LADDER.len() - 1)]);
        let (from, to) = (LADDER[at] as f64, LADDER[(at + 1).min(LADDER.len() - 1)] as f64);
        let part = if to > from { ((ef as f64).max(from) / from).ln() / (to / from).ln() } else { 0.0 };
        let recall = here.mean() + (next.mean() - here.mean()) * part.min(1.0);
        let error = TWO_SIDED * here.error(HITS[0]).max(next.error(HITS[0]));
        let bounded = |recall: f64| recall.clamp(0.0, 1.0);
        RecallEstimate {
            recall: bounded(recall),
            low: bounded(recall - error),
            high: bounded(recall + error),
            samples: self.samples,
            at: self.at,
        }
    }
}

/// The class of a share of matches: that of the greatest of [`SHARES`] that is not above it, or the last one.
fn class_of(share: f64) -> usize {
    if share >= EVERYTHING {
        return 0;
    }
    let class = SHARES[1..].iter().position(|&least| share >= least);
    class.map_or(SHARES.len() - 1, |at| at + 1)
}

/// A width for a target where nothing was measured: 64 for a recall of 0.95, more the nearer the target is to 1.
pub fn ef_by_formula(target: f64, k: usize) -> usize {
    let width = 64.0 * (0.05 / (1.0 - target).max(0.001)).powf(0.7);
    // Of a hundred hits the last ones are as hard to find at a hundred as of ten at ten.
    let hits = (k as f64 / 10.0).max(1.0).sqrt();
    ((width.max(32.0) * hits).ceil() as usize).max(k).min(WIDEST.max(k))
}

/// The calibrations of a field: the one that searches use, the one that is being made, and vectors of searches.
#[derive(Default)]
pub struct FieldCalibration {
    /// The one that searches use.
    pub current: ArcSwapOption<Calibration>,
    /// The one that is being made, if one is.
    pub next: Mutex<Option<Calibration>>,
    /// Vectors of searches, as they were sent.
    queries: Mutex<Vec<Arc<[f32]>>>,
    /// Searches so far.
    searches: AtomicU64,
}

impl FieldCalibration {
    /// Takes note of a search. Most leave only a count.
    pub fn note_query(&self, vector: &[f32]) {
        let number = self.searches.fetch_add(1, Ordering::Relaxed);
        if number >= KEPT_QUERIES as u64 && !number.is_multiple_of(REPLACING_INTERVAL) {
            return;
        }
        let Some(mut queries) = self.queries.try_lock() else { return };
        if queries.len() < KEPT_QUERIES {
            queries.push(vector.into());
        } else {
            let place = scattered(number) as usize % KEPT_QUERIES;
            queries[place] = vector.into();
        }
    }

    /// One of the kept queries, if there are enough.
    pub fn query(&self, number: u32) -> Option<Arc<[f32]>> {
        let queries = self.queries.lock();
        (queries.len() >= ENOUGH_QUERIES).then(|| Arc::clone(&queries[number as usize % queries.len()]))
    }

    /// Whether there are enough queries of searches for a calibration.
    pub fn has_queries(&self) -> bool {
        self.queries.lock().len() >= ENOUGH_QUERIES
    }

    /// How many queries a whole calibration has. A vector of a search that was measured twice would make the bounds too
    /// narrow: there are as many queries as vectors.
    pub fn whole(&self, is_live: bool) -> u32 {
        if is_live && !PlantedFault::QueryMeasuredTwice.is_on() {
            self.queries.lock().len() as u32
        } else {
            WHOLE
        }
    }

    /// The calibration, if it suits a graph of those parameters and a table of so many rows.
    pub fn fitting(&self, graph_params: &GraphParams, rows: (u32, u64)) -> Option<Arc<Calibration>> {
        self.current.load_full().filter(|calibration| calibration.fits(graph_params, rows))
    }
}

/// A number that is as good as random, from a number that counts.
pub fn scattered(number: u64) -> u64 {
    split_mix(&mut number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(recalls: &[[f64; LADDER.len()]]) -> Calibration {
        let graph_params = GraphParams { m: 16, ef_construct: 100, codes: None };
        let mut calibration = Calibration::new(graph_params, (1000, 1000), false);
        for one in recalls {
            for hits in 0..HITS.len() {
                (0..SHARES.len()).for_each(|class| calibration.add(hits, class, one));
            }
            calibration.finish_query(7);
        }
        calibration
    }

    /// The decision to scan of searches that always walk: never.
    fn never(_share: f64, _ef: usize) -> bool {
        false
    }

    fn recalls() -> impl Strategy<Value = Vec<[f64; LADDER.len()]>> {
        let one = prop::array::uniform9(0.0..=1.0);
        prop::collection::vec(one, 32..80)
    }

    proptest! {
        #[test]
        fn a_higher_target_and_more_hits_never_take_a_narrower_walk(
            recalls in recalls(), low in 0.5..0.999, more in 0.0..0.4, k in 1usize..500, share in 0.0..=1.0,
            scans in any::<bool>(),
        ) {
            let calibration = of(&recalls);
            let high = f64::min(low + more, 0.999);
            let width = |target, k| calibration.ef(target, k, share, |_, _| scans).unwrap_or(usize::MAX);
            prop_assert!(width(low, k) <= width(high, k));
            prop_assert!(width(low, k) <= width(low, k + 1));
            prop_assert!(width(low, k) >= k);
            prop_assert!(ef_by_formula(low, k) <= ef_by_formula(high, k));
            prop_assert!(ef_by_formula(low, k) >= k);
            let estimate = calibration.estimate(k);
            prop_assert!(estimate.low <= estimate.recall && estimate.recall <= estimate.high);
        }
    }

    #[test]
    fn a_width_is_chosen_only_where_the_lower_bound_reaches_the_target_too() {
        // One query in twenty finds nothing at all below a width of 128.
        let mut all = vec![[1.0; LADDER.len()]; 64];
        all.iter_mut().step_by(16).for_each(|one| one[..4].fill(0.0));
        let calibration = of(&all);
        assert_eq!(calibration.ef(0.5, 10, 1.0, never), Some(10));
        let wide = calibration.ef(0.93, 10, 1.0, never).expect("a width");
        assert!(wide > 64 && wide <= 128, "{wide}: the mean of 64 is 0.9375, its lower bound is less");
    }

    #[test]
    fn between_two_shares_the_width_is_between_theirs_unless_the_lesser_is_scanned() {
        let graph_params = GraphParams { m: 16, ef_construct: 100, codes: None };
        let mut calibration = Calibration::new(graph_params, (1000, 1000), false);
        // All points need 128, a third 512, a tenth 16.
        for (class, reached) in [4, 6, 1, 1].into_iter().enumerate() {
            let mut one = [0.5; LADDER.len()];
            one[reached..].fill(1.0);
            (0..64).for_each(|_| calibration.add(0, class, &one));
        }
        let ef = |share, scans| calibration.ef(0.999, 10, share, |_, _| scans).expect("a width");
        let [all, third, tenth] = [1.0, 0.3, 0.1].map(|share| ef(share, false));
        assert!(all > 64 && all <= 128 && third > 256 && third <= 512 && tenth > 10 && tenth <= 16);
        assert!(ef(0.6, false) > all && ef(0.6, false) < third);
        assert!(ef(0.2, false) > tenth && ef(0.2, false) < third);
        assert_eq!((ef(0.2, true), ef(0.6, true)), (third, all));
        assert_eq!(ef(0.01, true), ef(0.03, false), "below the last there is no other");
    }

    #[test]
    fn a_recall_that_only_a_scan_reaches_takes_a_scan() {
        // A third of the points are walked up to 64 with a recall of 0.9, and scanned from 128 on.
        let mut one = [0.9; LADDER.len()];
        one[4..].fill(1.0);
        let calibration = of(&[one; 64]);
        let ef = |target, scans: bool| calibration.ef(target, 10, 0.3, |_, ef| scans && ef >= 128);
        assert!(ef(0.95, false).is_some_and(|ef| ef > 64 && ef < 128), "between two walks");
        assert_eq!(ef(0.95, true), Some(128));
        assert_eq!(ef(0.85, true), Some(10));
    }

    #[test]
    fn what_no_width_reaches_has_none() {
        let calibration = of(&[[0.7; LADDER.len()]; 64]);
        assert_eq!(calibration.ef(0.9, 10, 1.0, never), None);
        assert_eq!(calibration.ef(0.69, 10, 1.0, never), Some(10));
    }

    #[test]
    fn a_calibration_of_another_graph_or_of_a_table_that_changed_is_not_used() {
        let calibration = of(&[[0.7; LADDER.len()]; 64]);
        let graph_params = GraphParams { m: 16, ef_construct: 100, codes: None };
        assert!(calibration.fits(&graph_params, (1200, 1200)));
        assert!(!calibration.fits(&graph_params, (1600, 1600)), "grown by more than half");
        assert!(!calibration.fits(&graph_params, (1000, 400)), "more than half have died");
        assert!(!calibration.fits(&GraphParams { m: 8, ..graph_params }, (1000, 1000)));
    }

    #[test]
    fn of_many_searches_few_are_kept() {
        let field = FieldCalibration::default();
        (0..63).for_each(|at| field.note_query(&[at as f32]));
        assert!(!field.has_queries() && field.query(0).is_none());
        assert_eq!((field.whole(true), field.whole(false)), (63, WHOLE));
        (63..100_000).for_each(|at| field.note_query(&[at as f32]));
        assert_eq!(field.queries.lock().len(), KEPT_QUERIES);
        let late = field.queries.lock().iter().filter(|query| query[0] > 50_000.0).count();
        assert!(late > KEPT_QUERIES / 2, "{late} of the later half");
        assert_eq!(field.whole(true), KEPT_QUERIES as u32);
    }
}
