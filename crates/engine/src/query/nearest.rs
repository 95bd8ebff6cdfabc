//! The nearest neighbours of a vector: graph and tail, or an exact scan, whichever the filter makes cheaper.

use super::Hit;
use super::matching::Matching;
use super::request::QueryRequest;
use super::rows::RowFinder;
use crate::collection::{FieldGraph, FieldTable, Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::index::{Distance, SearchScratch, Stopped, TopK, flat};
use crate::types::Metric;
use kithdb_kernels::normalise;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

/// Rows that a graph search looks at for each unit of `ef`, roughly; only used to compare plans.
const ROWS_PER_EF: f64 = 10.0;
/// A walk past this many unwanted rows for each wanted one is always dearer than a scan.
const MAX_DETOUR: f64 = 20.0;
/// Documents that are evaluated to estimate how selective an unindexed filter is.
const ESTIMATE_SAMPLE: usize = 256;

thread_local! {
    /// Visited marks and pools of this thread's searches, shared by all collections.
    static SCRATCH: RefCell<SearchScratch> = RefCell::new(SearchScratch::new());
}

/// What to search for.
pub struct Target {
    /// Position of the vector field.
    pub field: usize,
    /// The query vector as sent; of the field's dimension.
    pub components: Vec<f32>,
    /// Offset of a point to leave out.
    pub excluded: Option<u32>,
}

/// A search on one field of one view.
struct Search<'a> {
    view: &'a View,
    table: &'a FieldTable,
    metric: Metric,
    field: usize,
    query: Vec<f32>,
    excluded: Option<u32>,
    k: usize,
    deadline: &'a Deadline,
}

/// The best `k` hits, best first, ties by id.
pub fn nearest(
    snapshot: &Snapshot,
    target: &Target,
    request: &QueryRequest,
    k: usize,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let view = &*snapshot.view;
    let (name, _) = &view.state.config.fields()[target.field];
    let search = Search::new(view, target, k, deadline);
    let mut matching = Matching::new(&view.state, request.filter.as_ref());
    let graph = snapshot.graphs[target.field].as_ref();
    let found = match graph {
        Some((graph, indexed)) if !request.params.exact => {
            let ef_search = view.state.config.effective_hnsw(name).map_or(k, |hnsw| hnsw.ef_search);
            let ef = request.params.hnsw_ef.unwrap_or(ef_search).max(k);
            let indexed_only = request.params.indexed_only;
            if !indexed_only && search.scan_is_cheaper(&mut matching, ef)? {
                search.scan(&matching)?
            } else {
                search.walk(graph, *indexed, &matching, ef, indexed_only)?
            }
        }
        _ => search.scan(&matching)?,
    };
    Ok(hits(snapshot, target, request, found))
}

/// The rows nearest to each of the targets, which are all of one field, with their distances: `k` of each, best first,
/// ties by id.
pub fn scan_many(
    snapshot: &Snapshot,
    targets: &[(&Target, usize)],
    matching: &Matching<'_>,
    deadline: &Deadline,
) -> Result<Vec<Vec<(f32, u32)>>, Error> {
    let scan =
        |&(target, k): &(&Target, usize)| Search::new(&snapshot.view, target, k, deadline).scan(matching);
    targets.iter().map(scan).collect()
}

/// Rows as hits: with their scores, without those beyond the threshold.
pub fn hits(
    snapshot: &Snapshot,
    target: &Target,
    request: &QueryRequest,
    found: Vec<(f32, u32)>,
) -> Vec<Hit> {
    let view = &*snapshot.view;
    let (table, metric) = (&view.fields[target.field], view.state.config.fields()[target.field].1.metric);
    let worse = |score: f32, threshold: f32| {
        if metric.higher_is_better() { score < threshold } else { score > threshold }
    };
    let mut hits: Vec<Hit> = found
        .into_iter()
        .map(|(distance, row)| Hit {
            offset: table.owner(row),
            score: metric.score(distance),
            order_value: None,
        })
        .filter(|hit| request.score_threshold.is_none_or(|threshold| !worse(hit.score, threshold)))
        .collect();
    // Different distances may have one score: the root of a square is coarser than the square.
    for equal in hits.chunk_by_mut(|a, b| a.score == b.score) {
        equal.sort_unstable_by_key(|hit| view.state.at(hit.offset).id);
    }
    hits
}

impl<'a> Search<'a> {
    fn new(view: &'a View, target: &Target, k: usize, deadline: &'a Deadline) -> Search<'a> {
        let metric = view.state.config.fields()[target.field].1.metric;
        let mut query = target.components.clone();
        if metric == Metric::Cosine {
            normalise(&mut query);
        }
        let (table, excluded) = (&view.fields[target.field], target.excluded);
        Search { view, table, metric, field: target.field, query, excluded, k, deadline }
    }

    /// Whether to scan the matching points instead of walking the graph.
    fn scan_is_cheaper(&self, matching: &mut Matching<'_>, ef: usize) -> Result<bool, Error> {
        if matching.is_everything() {
            return Ok(self.table.live() <= self.k as u64);
        }
        let total = self.table.live().max(1) as f64;
        let walk = |matches: f64| ROWS_PER_EF * ef as f64 * (total / matches.max(1.0)).min(MAX_DETOUR);
        if !matching.is_exact() {
            // Walking evaluates a document for each row on the way; scanning evaluates all candidates first.
            let matches = self.estimate(matching)?;
            if matches > walk(matches) && walk(matches) < matching.at_most() as f64 {
                return Ok(false);
            }
            matching.settle(self.deadline)?;
        }
        let matches = matching.at_most() as f64;
        Ok(matches <= walk(matches))
    }

    /// Roughly how many candidates match, from an evenly spread sample.
    fn estimate(&self, matching: &Matching<'_>) -> Result<f64, Error> {
        let ids = self.view.state.points.len();
        let step = (ids / ESTIMATE_SAMPLE).max(1);
        let sampled = (0..ids).step_by(step).filter(|&at| self.view.state.points[at].live);
        let (mut seen, mut passed) = (0u32, 0u32);
        let mut pace = matching.pace(self.deadline);
        for offset in sampled {
            pace.step(self.view.state.points[offset].payload.bytes().len())?;
            seen += 1;
            passed += u32::from(matching.accepts(offset as u32));
        }
        Ok(f64::from(passed) / f64::from(seen.max(1)) * self.view.state.live.len() as f64)
    }

    /// Exact distances to everything that matches.
    fn scan(&self, matching: &Matching<'_>) -> Result<Vec<(f32, u32)>, Error> {
        let stop = || self.deadline.passed();
        let mut top = TopK::new(self.k, |a, b| self.tie(a, b));
        let (rows, distance) = (&self.table.rows, Distance::of(self.metric, self.table.format));
        let scanned = if matching.is_everything() {
            let accept = |row| self.alive(row);
            flat::scan_range(rows, distance, &self.query, 0..self.table.len(), &accept, &mut top, &stop)
        } else {
            let offsets = matching.offsets(self.deadline)?;
            let mut finder = RowFinder::new(self.view, self.field);
            let ids = offsets
                .iter()
                .filter(|&offset| Some(offset) != self.excluded)
                .filter_map(|offset| finder.row(offset));
            flat::scan_ids(rows, distance, &self.query, ids, &mut top, &stop)
        };
        scanned.map_err(|Stopped| self.deadline.error())?;
        Ok(top.into_sorted())
    }

    /// The graph's rows by a walk, the tail's by a scan; a scan of everything when that leaves too few.
    fn walk(
        &self,
        graph: &FieldGraph,
        indexed: u32,
        matching: &Matching<'_>,
        ef: usize,
        indexed_only: bool,
    ) -> Result<Vec<(f32, u32)>, Error> {
        // Between two of the walk's own looks at the clock, many documents may be evaluated.
        let (pace, late) = (RefCell::new(matching.pace(self.deadline)), Cell::new(false));
        let stop = || late.get() || self.deadline.passed();
        let tie = |a, b| self.tie(a, b);
        let admits = |offset: u32| {
            let payload = || self.view.state.at(offset).payload.bytes().len();
            late.set(late.get() || (!matching.is_exact() && pace.borrow_mut().step(payload()).is_err()));
            !late.get() && matching.accepts(offset)
        };
        let matches = |row| self.alive(row) && (matching.is_everything() || admits(self.table.owner(row)));
        // Rows that were indexed after this snapshot's boundary are in its tail.
        let indexed = indexed.min(self.table.len());
        let accept = |row| row < indexed && matches(row);
        let mut found = SCRATCH
            .with_borrow_mut(|scratch| {
                graph.hnsw.search(&self.table.rows, &self.query, ef, &accept, &tie, scratch, &stop)
            })
            .map_err(|Stopped| self.deadline.error())?;
        found.truncate(self.k);
        if !indexed_only {
            let mut top = TopK::new(self.k, tie);
            found.iter().for_each(|&(distance, row)| top.offer(distance, row));
            let (rows, distance) = (&self.table.rows, Distance::of(self.metric, self.table.format));
            flat::scan_range(
                rows,
                distance,
                &self.query,
                indexed..self.table.len(),
                &matches,
                &mut top,
                &stop,
            )
            .map_err(|Stopped| self.deadline.error())?;
            found = top.into_sorted();
        }
        if late.get() {
            return Err(self.deadline.error());
        }
        if !indexed_only {
            let possible =
                matching.at_most().min(self.table.live()).saturating_sub(u64::from(self.excluded.is_some()));
            if (found.len() as u64) < possible.min(self.k as u64) {
                return self.scan(matching);
            }
        }
        Ok(found)
    }

    fn alive(&self, row: u32) -> bool {
        // Without a point to leave out the owner is not looked up: it would be a cache miss for each row.
        self.table.alive(row, self.view.op)
            && self.excluded.is_none_or(|excluded| self.table.owner(row) != excluded)
    }

    /// Order among equal distances: by id, so that the answer does not depend on the plan.
    fn tie(&self, a: u32, b: u32) -> Ordering {
        let id = |row| self.view.state.at(self.table.owner(row)).id;
        id(a).cmp(&id(b))
    }
}
