//! The nearest multi-vectors by MaxSim: exactly, or through the graph of their rows.
//!
//! The graph knows single rows. Each row of the query walks it for the rows nearest to it, and the vectors that these
//! belong to are the candidates. What a candidate's distance is at least follows from the walks alone: for a query row
//! that found one of its rows, that distance; for any other, the farthest that the row did find, because what was not
//! found is not nearer (the imputation of XTR, Lee et al., *Rethinking the Role of Token Retrieval in Multi-Vector
//! Retrieval*, NeurIPS 2023; as a bound, Fagin's threshold algorithm, PODS 2001). Candidates are compared exactly in
//! the order of these bounds, until none that is left can be among the best.

use super::graph::GraphSearch;
use super::matching::Matching;
use super::planner::{Plan, Task};
use super::request::{QuantizationParams, SearchParams};
use super::search::{Check, Search};
use super::tally;
use crate::collection::{FieldGraph, FieldTable, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::index::{Distance, MaxSim, Stopped, TopK};
use crate::types::Metric;
use kithdb_kernels::normalise;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

/// Rows that each query row asks for at the least, for each hit: several may be of one vector.
const ROWS_PER_HIT: usize = 2;
/// What the rows asked for are multiplied with when they came from too few vectors…
const WIDENING: usize = 4;
/// … so many times at most, before all vectors are compared.
const WIDENINGS: usize = 2;
/// Candidates that are compared between two looks at what is left.
const BATCH: usize = 32;
/// Rows between two looks at the clock where most are passed over.
const STOP_INTERVAL: u32 = 4096;

/// A search of one field of multi-vectors.
pub(super) struct MultiSearch<'a> {
    /// Its query holds all rows, one after the other.
    search: Search<'a>,
}

/// Distances and first rows of vectors, best first.
type Found = Vec<(f32, u32)>;

/// What the walks say of the vectors that they met.
#[derive(Default)]
struct Candidates {
    /// First row of the vector → how much nearer it is than the bound of one that no walk met, and the last query row
    /// that met it.
    met: HashMap<u32, (f64, usize)>,
    /// What the distance of a vector that no walk met is at least.
    unmet: f64,
}

impl<'a> MultiSearch<'a> {
    /// A search for the best `k` vectors. The rows of the query follow each other, as they were sent.
    pub fn new(
        view: &'a View,
        field: usize,
        query: &[f32],
        k: usize,
        excluded: Option<u32>,
        deadline: &'a Deadline,
    ) -> MultiSearch<'a> {
        let table = &view.fields[field];
        let metric = view.state.config.fields()[field].1.metric;
        let distance = Distance::of(metric, table.format);
        let query = prepared(metric, table.dim, query);
        MultiSearch { search: Search { view, table, field, distance, query, k, deadline, excluded } }
    }

    /// The best vectors of all that match, each compared.
    ///
    /// # Errors
    /// `Timeout` once the deadline has passed.
    pub fn exact(&self, matching: &mut Matching<'_>) -> Result<Found, Error> {
        self.exact_below(matching, self.search.table.len())
    }

    /// The best vectors through a graph, whose boundary was loaded before the view. Each row of the query walks with a
    /// width of at least `ef`.
    ///
    /// # Errors
    /// `Timeout` once the deadline has passed.
    pub fn approximate(
        &self,
        graph: &FieldGraph,
        boundary: u32,
        ef: usize,
        params: &SearchParams,
        matching: &mut Matching<'_>,
    ) -> Result<Found, Error> {
        let Search { table, k, .. } = self.search;
        let boundary = boundary.min(table.len());
        // A vector that has a row behind the boundary counts as behind it.
        let tail = if boundary < table.len() { table.run(boundary).start } else { table.len() };
        let end = if params.indexed_only { tail } else { table.len() };
        let mut width = ef.max(k.saturating_mul(ROWS_PER_HIT));
        let mut plan = None;
        for _ in 0..=WIDENINGS {
            let walk = Walk { graph, boundary, width, params };
            let Some(candidates) = self.candidates(&walk, &mut plan, matching)? else { break };
            let mut top = TopK::new(k, |a, b| self.search.tie(a, b));
            let in_tail = self.scan(tail..end, matching, &mut top)?;
            let possible = matching.at_most().min(table.vectors());
            let possible = possible.saturating_sub(in_tail + u64::from(self.search.excluded.is_some()));
            let met = candidates.met.keys().filter(|&&first| first < tail).count() as u64;
            if met >= possible.min(k as u64) {
                self.rerank(candidates, tail, self.most_reranked(&walk), &mut top)?;
                return Ok(top.into_sorted());
            }
            tally::count(|tally| tally.fallbacks += 1);
            width = width.saturating_mul(WIDENING);
        }
        self.exact_below(matching, end)
    }

    /// The vectors that the walks of the query's rows meet; none where comparing all that match is the better way.
    fn candidates(
        &self,
        walk: &Walk<'_>,
        plan: &mut Option<Plan>,
        matching: &mut Matching<'_>,
    ) -> Result<Option<Candidates>, Error> {
        let Search { table, .. } = self.search;
        let mut candidates = Candidates::default();
        let params = walk.params_for_rows();
        let mut task: Option<Task> = None;
        for (at, row) in self.search.query.chunks_exact(table.dim).enumerate() {
            let search = Search { query: row.to_vec(), k: walk.width, ..self.search };
            let graph = GraphSearch::new(&search, walk.graph, walk.boundary, walk.width, &params);
            let task = match &mut task {
                Some(task) => task,
                none => none.insert(self.row_task(graph.task(matching)?)),
            };
            let found = loop {
                let plan = plan.get_or_insert_with(|| {
                    let plan = task.first();
                    tally::count(|tally| tally.start(plan));
                    plan
                });
                let found = match *plan {
                    Plan::Scan => return Ok(None),
                    Plan::Wide => graph.wide(matching, task)?,
                    Plan::TwoHop => Some(graph.two_hops(matching, task)?),
                };
                match found {
                    Some(found) => break found,
                    None => *plan = task.after_wide(),
                }
            };
            candidates.add(at, &found, table);
        }
        Ok(Some(candidates))
    }

    /// A task of points as one of rows.
    fn row_task(&self, task: Task) -> Task {
        let Search { table, .. } = self.search;
        let rows_each = table.live() as f64 / table.vectors().max(1) as f64;
        Task { matches: task.matches.min(table.vectors() as f64) * rows_each, ..task }
    }

    /// Candidates to compare at most.
    fn most_reranked(&self, walk: &Walk<'_>) -> usize {
        let factor = f64::from(walk.params.quantization.oversampling.unwrap_or(1.0));
        walk.width.max((factor * self.search.k as f64).ceil() as usize)
    }

    /// Compares at most `most` candidates below `tail` exactly, the most promising first.
    fn rerank<T: Fn(u32, u32) -> Ordering>(
        &self,
        candidates: Candidates,
        tail: u32,
        most: usize,
        top: &mut TopK<T>,
    ) -> Result<(), Error> {
        let unmet = candidates.unmet;
        let mut order: Vec<(f64, u32)> = candidates
            .met
            .into_iter()
            .filter(|(first, _)| *first < tail)
            .map(|(first, (nearer, _))| (unmet - nearer, first))
            .collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        order.truncate(most);
        let mut max_sim = self.max_sim();
        let mut best: Vec<f32> = Vec::with_capacity(order.len());
        for batch in order.chunks(BATCH) {
            let k = self.search.k;
            // Nothing that is left can be nearer than the last of the best so far.
            if best.len() >= k
                && batch[0].0 > f64::from(*best.select_nth_unstable_by(k - 1, f32::total_cmp).1)
            {
                break;
            }
            tally::count(|tally| tally.reranked += batch.len() as u64);
            for &(_, first) in batch {
                let distance = self.compare(&mut max_sim, self.search.table.run(first))?;
                best.push(distance);
                top.offer(distance, first);
            }
        }
        Ok(())
    }

    /// The best of all vectors that match and end below a row.
    fn exact_below(&self, matching: &mut Matching<'_>, end: u32) -> Result<Found, Error> {
        let mut top = TopK::new(self.search.k, |a, b| self.search.tie(a, b));
        if matching.is_everything() {
            self.scan(0..end, matching, &mut top)?;
            return Ok(top.into_sorted());
        }
        matching.settle(self.search.deadline)?;
        let Search { view, table, field, excluded, .. } = self.search;
        let mut max_sim = self.max_sim();
        for (at, offset) in matching.candidates().iter().enumerate() {
            if at % STOP_INTERVAL as usize == 0 {
                self.search.deadline.check()?;
            }
            let Some(first) = view.state.at(offset).rows.row(field).filter(|_| Some(offset) != excluded)
            else {
                continue;
            };
            let run = table.run(first);
            if run.end <= end {
                top.offer(self.compare(&mut max_sim, run)?, first);
            }
        }
        Ok(top.into_sorted())
    }

    /// Compares the vectors in a range of rows that match, each that begins and ends there. Answers how many.
    fn scan<T: Fn(u32, u32) -> Ordering>(
        &self,
        range: Range<u32>,
        matching: &Matching<'_>,
        top: &mut TopK<T>,
    ) -> Result<u64, Error> {
        let Search { table, deadline, .. } = self.search;
        let check = Check::new(&self.search, matching);
        let mut max_sim = self.max_sim();
        let (mut row, mut look) = (range.start, range.start);
        while row < range.end {
            if row >= look {
                deadline.check()?;
                look = row.saturating_add(STOP_INTERVAL);
            }
            // Rows of dropped chunks begin nothing.
            let Some(rows) = table.begins(row) else {
                row += 1;
                continue;
            };
            let run = row..row + rows;
            if run.end <= range.end && check.passes(row) {
                top.offer(self.compare(&mut max_sim, run.clone())?, row);
            }
            check.finish()?;
            row = run.end;
        }
        tally::count(|tally| tally.scanned += check.passed());
        Ok(check.passed())
    }

    fn max_sim(&self) -> MaxSim<'_> {
        MaxSim::new(self.search.distance, self.search.table.dim, &self.search.query)
    }

    fn compare(&self, max_sim: &mut MaxSim<'_>, run: Range<u32>) -> Result<f32, Error> {
        let stop = || self.search.deadline.passed();
        let compared = max_sim.compare(&self.search.table.rows, run, &stop);
        compared.map_err(|Stopped| self.search.deadline.error())
    }
}

/// The rows of a query as they are compared.
pub(super) fn prepared(metric: Metric, dim: usize, query: &[f32]) -> Vec<f32> {
    let mut query = query.to_vec();
    if metric == Metric::Cosine {
        query.chunks_exact_mut(dim).for_each(normalise);
    }
    query
}

/// How each row of the query walks.
struct Walk<'a> {
    graph: &'a FieldGraph,
    boundary: u32,
    /// Rows that it asks for.
    width: usize,
    params: &'a SearchParams,
}

impl Walk<'_> {
    /// Candidates are compared by their originals anyway: rows are so only where their codes say too little of them.
    fn params_for_rows(&self) -> SearchParams {
        let ignore = self.params.quantization.ignore;
        let quantization = QuantizationParams { ignore, rescore: self.graph.is_coarse(), oversampling: None };
        SearchParams { quantization, ..*self.params }
    }
}

impl Candidates {
    /// Takes in what the query row `at` has found, best first.
    fn add(&mut self, at: usize, found: &[(f32, u32)], table: &FieldTable) {
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
