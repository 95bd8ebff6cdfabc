//! The nearest multi-vectors by MaxSim: exactly, or through the graph of their rows.
//!
//! The nodes of the graph are single rows. For each row of the query, a walk finds the nearest rows. The vectors that these
//! belong to are the candidates. The walks give a lower bound of the distance of a candidate, to which each query row adds one
//! term: the distance of the nearest row of the candidate that its walk has found, or, if it has found none, the greatest
//! distance that it has found, because rows that were not found are not nearer (the imputation of XTR, Lee et al., *Rethinking
//! the Role of Token Retrieval in Multi-Vector Retrieval*, NeurIPS 2023; as a bound, Fagin's threshold algorithm, PODS 2001).
//! Candidates are compared exactly in the order of these bounds, until none that is left can be among the best.

use super::bound_search::{BoundSearch, Check};
use super::matching::Matching;
use super::multi_scorer::prepared;
use super::nearest::hits;
use super::plan_runner::PlanRunner;
use super::planner::{self, CostModel, Plan};
use super::scorer;
use super::tree::{QuantizationParams, SearchParams};
use super::vector_search::VectorSearch;
use super::{Hit, tally};
use crate::collection::{Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::field::{FieldGraph, FieldTable};
use crate::index::{Distance, MaxSim, Stopped, TopK};
use crate::types::{Row, RowRange};
use crate::vectors::MultiVector;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Least number of rows that the walk of each query row finds, for each hit: several rows may be of one vector.
const ROWS_PER_HIT: usize = 2;
/// The factor by which walks are widened when the rows that they have found belong to too few vectors.
const WIDENING: usize = 4;
/// How often walks are widened before all vectors are compared.
const WIDENINGS: usize = 2;
/// Cost of a component of an exact comparison of two rows, in distances of a walk. Comparisons are products of matrices.
/// Measured at 64 components.
const COMPARED_COMPONENT: f64 = 1.0 / 1600.0;
/// All vectors are compared if that costs at most this multiple of the walks, because the result is exact.
const EXACT_COST_LIMIT: f64 = 2.0;
/// Candidates that are compared between two checks of the bounds of the rest.
const BATCH: usize = 32;
/// Rows between two checks of the deadline where most rows are skipped.
const STOP_INTERVAL: u32 = 4096;

/// The best points that match of a field of multi-vectors, best first, ties by id.
///
/// # Errors
/// `Timeout`.
pub fn nearest(
    snapshot: &Snapshot,
    search: &VectorSearch<'_>,
    query: &MultiVector,
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let (view, field) = (&*snapshot.view, search.target.field);
    let multi = MultiSearch::new(view, search, query, deadline);
    let graph = snapshot.graphs[field].as_ref().filter(|_| !search.params.exact);
    let found = match graph {
        Some((graph, boundary)) => multi.approximate(graph, *boundary, matching)?,
        None => {
            let found = multi.exact_below(matching, multi.bound.table.end())?;
            tally::count(|tally| {
                tally.exact_scans += 1;
                tally.compared += multi.bound.possible(matching);
            });
            found
        }
    };
    Ok(hits(view, search, found))
}

/// A search of one field of multi-vectors.
struct MultiSearch<'a> {
    /// Its query has all rows, one after the other.
    bound: BoundSearch<'a>,
}

/// Distances and first rows of vectors, best first.
type Found = Vec<(f32, Row)>;

/// The vectors whose rows the walks have found.
#[derive(Default)]
struct Candidates {
    /// First row of the vector → `unmet` minus the lower bound of its distance, and the last query row whose walk found it.
    met: HashMap<Row, (f64, usize)>,
    /// Lower bound of the distance of a vector that no walk has found.
    unmet: f64,
}

impl<'a> MultiSearch<'a> {
    /// A search for the best vectors.
    fn new(
        view: &'a View,
        search: &VectorSearch<'a>,
        query: &MultiVector,
        deadline: &'a Deadline,
    ) -> MultiSearch<'a> {
        let field = search.target.field;
        let table = &view.fields[field];
        let distance = Distance::of(scorer::metric_of(&view.state.config, field), table.format);
        let query = prepared(distance.metric(), query);
        MultiSearch { bound: BoundSearch { search: *search, view, table, distance, query, deadline } }
    }

    /// The best vectors through a graph, whose boundary was loaded before the view. The walk of each query row is at least `ef`
    /// wide.
    ///
    /// # Errors
    /// `Timeout` once the deadline has passed.
    fn approximate(
        &self,
        graph: &FieldGraph,
        boundary: Row,
        matching: &mut Matching<'_>,
    ) -> Result<Found, Error> {
        let BoundSearch { table, search: VectorSearch { k, ef, params, .. }, .. } = self.bound;
        let boundary = boundary.min(table.end());
        // A vector that has a row in the tail belongs to the tail.
        let tail = if boundary < table.end() { table.run(boundary).start } else { table.end() };
        let end = if params.indexed_only { tail } else { table.end() };
        let mut width = ef.max(k.saturating_mul(ROWS_PER_HIT));
        if params.scans_codes || matching.is_everything() && self.is_scan_affordable(width) {
            return self.exact_below(matching, end);
        }
        let mut plan = None;
        let (mut top, mut in_tail) = (self.bound.top(), None);
        for _ in 0..=WIDENINGS {
            let Some(candidates) = self.candidates((graph, boundary), width, &mut plan, matching)? else {
                break;
            };
            let in_tail = match in_tail {
                Some(known) => known,
                None => *in_tail.insert(self.scan(RowRange::new(tail, end), matching, &mut top)?),
            };
            let possible = self.bound.possible(matching).saturating_sub(in_tail);
            let met = candidates.met.keys().filter(|&&first| first < tail).count() as u64;
            if met >= possible.min(k as u64) {
                self.rerank(candidates, tail, self.most_reranked(width), &mut top)?;
                return Ok(top.into_sorted());
            }
            tally::count(|tally| tally.fallbacks += 1);
            width = width.saturating_mul(WIDENING);
        }
        self.exact_below(matching, end)
    }

    /// The vectors whose rows the walks of the query's rows find; none if comparing all that match costs less. Each walk finds
    /// `width` rows.
    fn candidates(
        &self,
        (graph, boundary): (&FieldGraph, Row),
        width: usize,
        plan: &mut Option<Plan>,
        matching: &mut Matching<'_>,
    ) -> Result<Option<Candidates>, Error> {
        let BoundSearch { search, table, .. } = self.bound;
        let mut candidates = Candidates::default();
        // In the end vectors are compared by their originals. Rows are re-ranked by theirs only if their codes are too coarse.
        let ignore = search.params.quantization.ignore;
        let quantization = QuantizationParams { ignore, rescore: graph.is_coarse(), oversampling: None };
        let params = SearchParams { quantization, ..search.params };
        let search = VectorSearch { k: width, ef: width, params, ..search };
        let mut costs: Option<CostModel> = None;
        for (at, row) in self.bound.query.chunks_exact(table.dim).enumerate() {
            let of_row = BoundSearch { search, query: row.to_vec(), ..self.bound };
            let runner = PlanRunner::new(&of_row, graph, boundary);
            let costs = match &mut costs {
                Some(costs) => costs,
                none => none.insert(self.row_costs(runner.costs(matching)?)),
            };
            let found = loop {
                let plan = plan.get_or_insert_with(|| {
                    let plan = costs.first();
                    tally::count(|tally| tally.start(plan));
                    plan
                });
                let found = match *plan {
                    Plan::Scan => return Ok(None),
                    Plan::Wide => runner.wide(matching, costs)?,
                    Plan::TwoHop => Some(runner.two_hops(matching, costs)?),
                };
                match found {
                    Some(found) => break found,
                    None => *plan = costs.after_wide(),
                }
            };
            candidates.add(at, &found, table);
        }
        Ok(Some(candidates))
    }

    /// Whether comparing all vectors takes at most [`EXACT_COST_LIMIT`] times as long as walks of that width.
    fn is_scan_affordable(&self, width: usize) -> bool {
        #[cfg(any(test, feature = "testing"))]
        if planner::forced::plan().is_some() {
            return false;
        }
        let BoundSearch { table, .. } = self.bound;
        let rows_each = table.live() as f64 / table.vectors().max(1) as f64;
        let row = table.dim as f64 * COMPARED_COMPONENT;
        let walk = planner::distances(width) + width as f64 * rows_each * row;
        table.live() as f64 * row <= EXACT_COST_LIMIT * walk
    }

    /// The costs of a search for points as those of one for rows.
    fn row_costs(&self, costs: CostModel) -> CostModel {
        let BoundSearch { table, .. } = self.bound;
        let rows_each = table.live() as f64 / table.vectors().max(1) as f64;
        CostModel { matches: costs.matches.min(table.vectors() as f64) * rows_each, ..costs }
    }

    /// Candidates to compare at most.
    fn most_reranked(&self, width: usize) -> usize {
        let search = &self.bound.search;
        let factor = f64::from(search.params.quantization.oversampling.unwrap_or(1.0));
        width.max((factor * search.k as f64).ceil() as usize)
    }

    /// Compares candidates before `tail` exactly, those of the lowest bounds first: at most `most` of them and all that have the
    /// same bound as the last one.
    fn rerank<T: Fn(Row, Row) -> Ordering>(
        &self,
        candidates: Candidates,
        tail: Row,
        most: usize,
        top: &mut TopK<Row, T>,
    ) -> Result<(), Error> {
        let unmet = candidates.unmet;
        let mut order: Vec<(f64, Row)> = candidates
            .met
            .into_iter()
            .filter(|(first, _)| *first < tail)
            .map(|(first, (nearer, _))| (unmet - nearer, first))
            .collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        // Equal vectors have the same bound. If one of them is compared, all are: their order follows from their ids.
        if let Some(&(last, _)) = order.get(most.saturating_sub(1)) {
            order.truncate(order.partition_point(|(bound, _)| *bound <= last));
        }
        let mut max_sim = self.max_sim();
        let mut best: Vec<f32> = Vec::with_capacity(order.len());
        let mut compared = f64::NEG_INFINITY;
        for batch in order.chunks(BATCH) {
            let (k, next) = (self.bound.search.k, batch[0].0);
            // No candidate that is left can be nearer than the k-th of those compared.
            if best.len() >= k
                && next > compared
                && next > f64::from(*best.select_nth_unstable_by(k - 1, f32::total_cmp).1)
            {
                break;
            }
            compared = batch[batch.len() - 1].0;
            tally::count(|tally| tally.reranked += batch.len() as u64);
            for &(_, first) in batch {
                let distance = self.compare(&mut max_sim, self.bound.table.run(first))?;
                best.push(distance);
                top.offer(distance, first);
            }
        }
        Ok(())
    }

    /// The best of all vectors that match and end before a row.
    fn exact_below(&self, matching: &mut Matching<'_>, end: Row) -> Result<Found, Error> {
        let mut top = self.bound.top();
        if matching.is_everything() {
            self.scan(RowRange::new(Row::FIRST, end), matching, &mut top)?;
            return Ok(top.into_sorted());
        }
        matching.settle(self.bound.deadline)?;
        let BoundSearch { search, view, table, .. } = &self.bound;
        let mut max_sim = self.max_sim();
        for (at, offset) in matching.candidates().iter().enumerate() {
            if at % STOP_INTERVAL as usize == 0 {
                self.bound.deadline.check()?;
            }
            let first =
                view.state.at(offset).row(self.bound.field()).filter(|_| !search.excluded.contains(offset));
            let Some(first) = first else { continue };
            let run = table.run(first);
            if run.end <= end {
                top.offer(self.compare(&mut max_sim, run)?, first);
            }
        }
        Ok(top.into_sorted())
    }

    /// Compares the matching vectors that begin and end in a range of rows. Returns how many there are.
    fn scan<T: Fn(Row, Row) -> Ordering>(
        &self,
        range: RowRange,
        matching: &Matching<'_>,
        top: &mut TopK<Row, T>,
    ) -> Result<u64, Error> {
        let BoundSearch { table, deadline, .. } = self.bound;
        let check = Check::new(&self.bound, matching);
        let mut max_sim = self.max_sim();
        let (mut row, mut next_check) = (range.start, range.start);
        while row < range.end {
            if row >= next_check {
                deadline.check()?;
                next_check = Row::new(row.get().saturating_add(STOP_INTERVAL));
            }
            // No vector begins at a row of a dropped chunk.
            let Some(rows) = table.begins(row) else {
                row = row.plus(1);
                continue;
            };
            let run = RowRange::of_len(row, rows);
            if run.end <= range.end && check.passes(row) {
                top.offer(self.compare(&mut max_sim, run)?, row);
            }
            check.finish()?;
            row = run.end;
        }
        tally::count(|tally| tally.scanned += check.passed());
        Ok(check.passed())
    }

    fn max_sim(&self) -> MaxSim {
        MaxSim::new(self.bound.distance, self.bound.table.dim, self.bound.query.clone())
    }

    fn compare(&self, max_sim: &mut MaxSim, run: RowRange) -> Result<f32, Error> {
        let stop = || self.bound.deadline.passed();
        let compared = max_sim.compare(&self.bound.table.rows, run, &stop);
        compared.map_err(|Stopped| self.bound.deadline.error())
    }
}

impl Candidates {
    /// Adds the rows that the walk of the query row `at` has found, best first.
    fn add(&mut self, at: usize, found: &[(f32, Row)], table: &FieldTable) {
        let Some(&(farthest, _)) = found.last() else { return };
        self.unmet += f64::from(farthest);
        for &(distance, row) in found {
            let (nearer, last) = self.met.entry(table.run(row).start).or_insert((0.0, usize::MAX));
            // Best first: further rows of the same vector do not count.
            if *last != at {
                *last = at;
                *nearer += f64::from(farthest) - f64::from(distance);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::{Change, Head};
    use crate::config::tests::config_of;
    use crate::query::excluded::Excluded;
    use crate::query::vector_search::{Target, Width};
    use crate::types::{Lsn, PointId};
    use crate::vectors::VectorValue;
    use std::time::{Duration, Instant};

    #[test]
    fn a_scan_of_points_without_the_vector_ends_with_its_time_c1_10() {
        let config =
            r#"{"vectors":{"m":{"size":2,"distance":"Dot","multivector_config":{"comparator":"max_sim"}}}}"#;
        let mut head = Head::new(config_of(config), 1 << 12);
        let payload = Box::from(&b"{}"[..]);
        head.op = head.op.next();
        head.apply(head.op, &Change::Put { id: PointId::Num(1), vectors: vec![], payload }).unwrap();
        let view = head.view(Lsn::NONE);
        let query = MultiVector { dim: 2, components: vec![1.0, 2.0] };
        let target = Target { field: 0, vector: VectorValue::Multi(query.clone()), idf: None };
        let (params, excluded) = (SearchParams::default(), Excluded::default());
        let (avoided, threshold, width) = (None, None, Width::Given);
        let search = VectorSearch {
            target: &target,
            k: 1,
            ef: 1,
            width,
            params,
            avoided,
            threshold,
            excluded: &excluded,
        };
        let scanned = |allowed: Duration| {
            let deadline = Deadline::new(Instant::now(), allowed, "Search");
            let multi = MultiSearch::new(&view, &search, &query, &deadline);
            let mut matching = Matching::among(&view.state, view.state.live.clone());
            multi.exact_below(&mut matching, multi.bound.table.end())
        };
        assert!(scanned(Duration::from_secs(3600)).unwrap().is_empty());
        assert!(matches!(scanned(Duration::ZERO), Err(Error::Timeout(_))));
    }
}
