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
use super::nearest::hits;
use super::planner::{self, Plan, Task};
use super::scorer::{self, Ask};
use super::search::{Check, Search};
use super::tree::{QuantizationParams, SearchParams};
use super::{Hit, tally};
use crate::collection::{Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::field::{FieldGraph, FieldTable};
use crate::index::{Distance, MaxSim, Stopped, TopK};
use crate::types::{Metric, PointOffset};
use crate::vectors::MultiVector;
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
/// What a component of an exact comparison of two rows costs, in distances of a walk: they are computed as a product of
/// matrices, and nothing is kept of most. Measured at 64 components.
const COMPARED_COMPONENT: f64 = 1.0 / 1600.0;
/// All vectors are compared where that takes at most so many times as long as the walks: it misses nothing.
const WORTH_EXACTNESS: f64 = 2.0;
/// Candidates that are compared between two looks at what is left.
const BATCH: usize = 32;
/// Rows between two looks at the clock where most are passed over.
const STOP_INTERVAL: u32 = 4096;

/// The best points that match of a field of multi-vectors, best first, ties by id.
///
/// # Errors
/// `Timeout`.
pub fn nearest(
    snapshot: &Snapshot,
    ask: &Ask<'_>,
    query: &MultiVector,
    matching: &mut Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let (view, field) = (&*snapshot.view, ask.target.field);
    let search = MultiSearch::new(view, ask, query, deadline);
    let graph = snapshot.graphs[field].as_ref().filter(|_| !ask.params.exact);
    let found = match graph {
        Some((graph, boundary)) => {
            let (name, _) = &view.state.config.fields()[field];
            let ef_search = view.state.config.effective_hnsw(name).map_or(ask.k, |hnsw| hnsw.ef_search);
            let ef = ask.params.hnsw_ef.unwrap_or(ef_search).max(ask.k);
            search.approximate(graph, *boundary, ef, ask.params, matching)?
        }
        None => {
            tally::count(|tally| tally.exact_scans += 1);
            search.exact_below(matching, search.search.table.len())?
        }
    };
    Ok(hits(view, field, ask.threshold, found))
}

/// A search of one field of multi-vectors.
struct MultiSearch<'a> {
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
    /// A search for the best vectors.
    fn new(view: &'a View, ask: &Ask<'a>, query: &MultiVector, deadline: &'a Deadline) -> MultiSearch<'a> {
        let (field, excluded) = (ask.target.field, ask.excluded);
        let table = &view.fields[field];
        let distance = Distance::of(scorer::metric_of(&view.state.config, field), table.format);
        let query = prepared(distance.metric(), query);
        MultiSearch { search: Search { view, table, field, distance, query, k: ask.k, deadline, excluded } }
    }

    /// The best vectors through a graph, whose boundary was loaded before the view. Each row of the query walks with a
    /// width of at least `ef`.
    ///
    /// # Errors
    /// `Timeout` once the deadline has passed.
    fn approximate(
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
        if matching.is_everything() && self.is_scanned_as_soon(width) {
            return self.exact_below(matching, end);
        }
        let mut plan = None;
        let (mut top, mut in_tail) = (TopK::new(k, |a, b| self.search.tie(a, b)), None);
        for _ in 0..=WIDENINGS {
            let walk = Walk { graph, boundary, width, params };
            let Some(candidates) = self.candidates(&walk, &mut plan, matching)? else { break };
            let in_tail = match in_tail {
                Some(known) => known,
                None => *in_tail.insert(self.scan(tail..end, matching, &mut top)?),
            };
            let possible = self.search.possible(matching).saturating_sub(in_tail);
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

    /// Whether comparing all vectors takes hardly longer than walks of that width.
    fn is_scanned_as_soon(&self, width: usize) -> bool {
        #[cfg(test)]
        if planner::forced::plan().is_some() {
            return false;
        }
        let Search { table, .. } = self.search;
        let rows_each = table.live() as f64 / table.vectors().max(1) as f64;
        let row = table.dim as f64 * COMPARED_COMPONENT;
        let walk = planner::distances(width) + width as f64 * rows_each * row;
        table.live() as f64 * row <= WORTH_EXACTNESS * walk
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

    /// Compares at most `most` candidates below `tail`, and those that are as promising as the last of them, exactly, the
    /// most promising first.
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
        // Equal vectors have one bound. With one of them all are compared: which of them come first only their ids say.
        if let Some(&(last, _)) = order.get(most.saturating_sub(1)) {
            order.truncate(order.partition_point(|(bound, _)| *bound <= last));
        }
        let mut max_sim = self.max_sim();
        let mut best: Vec<f32> = Vec::with_capacity(order.len());
        let mut compared = f64::NEG_INFINITY;
        for batch in order.chunks(BATCH) {
            let (k, next) = (self.search.k, batch[0].0);
            // Nothing that is left can be nearer than the last of the best so far.
            if best.len() >= k
                && next > compared
                && next > f64::from(*best.select_nth_unstable_by(k - 1, f32::total_cmp).1)
            {
                break;
            }
            compared = batch[batch.len() - 1].0;
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
            let first = view.state.at(offset).rows.row(field).filter(|_| !excluded.contains(offset));
            let Some(first) = first else { continue };
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

    fn max_sim(&self) -> MaxSim {
        MaxSim::new(self.search.distance, self.search.table.dim, self.search.query.clone())
    }

    fn compare(&self, max_sim: &mut MaxSim, run: Range<u32>) -> Result<f32, Error> {
        let stop = || self.search.deadline.passed();
        let compared = max_sim.compare(&self.search.table.rows, run, &stop);
        compared.map_err(|Stopped| self.search.deadline.error())
    }
}

/// The rows of a query as they are compared.
fn prepared(metric: Metric, query: &MultiVector) -> Vec<f32> {
    let mut rows = query.components.clone();
    if metric == Metric::Cosine {
        rows.chunks_exact_mut(query.dim).for_each(normalise);
    }
    rows
}

/// Some multi-vectors, ready to be compared with the points of one field.
pub struct MultiScorer<'a> {
    view: &'a View,
    table: &'a FieldTable,
    field: usize,
    queries: Vec<MaxSim>,
    deadline: &'a Deadline,
}

impl<'a> MultiScorer<'a> {
    /// A scorer for vectors that all fit the field.
    pub fn new<'v>(
        view: &'a View,
        field: usize,
        vectors: impl Iterator<Item = &'v MultiVector>,
        deadline: &'a Deadline,
    ) -> MultiScorer<'a> {
        let table = &view.fields[field];
        let distance = Distance::of(scorer::metric_of(&view.state.config, field), table.format);
        let query = |query| MaxSim::new(distance, table.dim, prepared(distance.metric(), query));
        MultiScorer { view, table, field, queries: vectors.map(query).collect(), deadline }
    }

    /// The similarities of the live point at an offset to each of the vectors, in `out`. False when the point has no
    /// vector in the field.
    ///
    /// # Errors
    /// `Timeout`: one comparison may take its time.
    pub fn similarities(&mut self, offset: PointOffset, out: &mut Vec<f32>) -> Result<bool, Error> {
        out.clear();
        let Some(first) = self.view.state.at(offset).rows.row(self.field) else { return Ok(false) };
        let stop = || self.deadline.passed();
        for query in &mut self.queries {
            let distance = query.compare(&self.table.rows, self.table.run(first), &stop);
            // `0.0 - x` and not `-x`: there is no −0 among distances, and shall be none among similarities.
            out.push(0.0 - distance.map_err(|Stopped| self.deadline.error())?);
        }
        Ok(true)
    }
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
