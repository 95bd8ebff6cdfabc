//! Runs the plans of a search that has a graph, one after the other until one has found enough.

use super::bound_search::{BoundSearch, Check};
use super::estimate;
use super::matching::Matching;
use super::planner::{CostModel, Plan};
use super::tally;
use super::tree::QuantizationParams;
use super::vector_search::Width;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::field::{FieldGraph, GraphSearch};
use crate::index::{Stopped, Traversal, WalkParams, WalkScratch};
use crate::types::{Node, Row, RowRange};
use std::cell::{Cell, RefCell};

/// Points that are checked to estimate how many match a filter that field indexes do not answer exactly.
const SAMPLE: usize = 256;
/// The first of them. They are enough when a quarter of them match.
const FIRST_SAMPLE: usize = 64;
/// At most this many candidates are all checked, which costs less than an estimate.
const FEW: u64 = 512;
/// Matching rows that a two-hop walk starts from, in addition to the node that the descent from the entry point finds. The
/// matches may form several clusters, and walks do not lead from one to another.
const SEEDS: usize = 32;
/// Size of the sample of matching rows that the seeds are taken from: those nearest to the query. With a probability of 1 in
/// 500,000 the sample has no row of a given cluster that has a twentieth of the matches.
const SEED_SAMPLE: usize = 256;
/// Nodes that a wide walk meets before it begins to check how many of them match.
const UNCHECKED: u32 = 32;
/// Nodes that it checks then.
const CHECKED: u32 = 96;
/// Nodes that it checks where documents have to be read, which cost more than bits.
const CHECKED_BY_DOCUMENT: u32 = 32;
/// The walk is given up when fewer of these match than the expected share divided by this.
const FAR_BELOW: f64 = 8.0;
/// Part of the width of the walk in which `k` matches have to be. A walk finds nearly all of the nearest rows, but misses some
/// of the farthest in its width.
const TRUSTED: f64 = 0.8;

/// The widest search.
const WIDEST: usize = 100_000;
/// Rows that a two-hop walk checks for each unit of its width, roughly.
const CHECKS_PER_EF: usize = 64;

thread_local! {
    /// Visited marks and candidate lists of this thread's walks, shared by all collections.
    static SCRATCH: RefCell<WalkScratch> = RefCell::new(WalkScratch::new());
}

/// One search of a field with a graph, and the plans that it tries.
pub(super) struct PlanRunner<'a> {
    bound: &'a BoundSearch<'a>,
    graph: &'a FieldGraph,
    /// First row of the tail, whose rows are not in the graph.
    boundary: Row,
}

/// What a wide walk learns of the matches near the query from some of the first nodes that it meets.
struct NearMatches {
    /// Nodes that are checked, after those that are not.
    checked: u32,
    /// The walk is too far from the matches when no more of them match.
    fewest: u32,
    met: Cell<u32>,
    passed: Cell<u32>,
}

/// Distances and rows, best first.
type Found = Vec<(f32, Row)>;

impl<'a> PlanRunner<'a> {
    /// A runner for a search. `boundary` was loaded before the view.
    pub fn new(bound: &'a BoundSearch<'a>, graph: &'a FieldGraph, boundary: Row) -> PlanRunner<'a> {
        PlanRunner { bound, graph, boundary: boundary.min(bound.table.end()) }
    }

    /// The best `k` rows that match.
    pub fn run(&self, matching: &mut Matching<'_>) -> Result<Found, Error> {
        let costs = self.costs(matching)?;
        let mut plan = if self.bound.search.params.scans_codes { Plan::Scan } else { costs.first() };
        tally::compared(&costs);
        tally::count(|tally| tally.start(plan));
        loop {
            let found = match plan {
                Plan::Scan => return self.scan(matching, &costs),
                Plan::Wide => self.wide(matching, &costs)?,
                Plan::TwoHop => Some(self.two_hops(matching, &costs)?),
            };
            if let Some(found) = found {
                let in_graph = found.len() as u64;
                let (found, in_tail) = self.with_tail(found, matching)?;
                let possible = self.bound.possible(matching).saturating_sub(in_tail);
                if in_graph >= possible.min(self.bound.search.k as u64) {
                    return Ok(found);
                }
            }
            tally::count(|tally| tally.fallbacks += 1);
            plan = if plan == Plan::Wide { costs.after_wide() } else { Plan::Scan };
        }
    }

    /// What the plans cost. If there are few candidates, each of them is checked here.
    pub fn costs(&self, matching: &mut Matching<'_>) -> Result<CostModel, Error> {
        let nodes = u64::from(self.graph.hnsw.len());
        if !matching.is_exact() && matching.at_most() <= FEW {
            matching.settle(self.bound.deadline)?;
        }
        let exact = matching.is_exact();
        let matches = if exact { matching.at_most() as f64 } else { self.estimate(matching)? };
        let costs = CostModel {
            nodes,
            matches: matches.min(self.bound.table.live() as f64),
            documents: if exact { 0 } else { matching.at_most() },
            by_document: !exact,
            ef: self.bound.search.ef,
            width: self.bound.search.width,
            k: self.bound.search.k,
        };
        Ok(self.calibrated(costs))
    }

    /// The costs with the width that reaches the recall asked for, where one is and the field is calibrated.
    fn calibrated(&self, costs: CostModel) -> CostModel {
        let Width::Formula(target, most) = costs.width else { return costs };
        let table = self.bound.table;
        let rows = (table.end().get(), table.live());
        let Some(calibration) = table.graphs.calibration.fitting(&self.graph.graph_params, rows) else {
            return costs;
        };
        // Of the live rows: the dead ones among the nodes are no part of what was measured.
        let share = costs.matches / (table.live().max(1) as f64);
        let is_scanned = |share: f64, ef: usize| {
            let matches = share * table.live() as f64;
            CostModel { matches, documents: 0, by_document: false, ef, ..costs }.first() == Plan::Scan
        };
        // Where no measured width reaches it, a width of everything is compared with a scan, which costs less.
        let ef = calibration.ef(target, costs.k, share, is_scanned);
        let ef = ef.unwrap_or_else(|| usize::try_from(costs.nodes).unwrap_or(usize::MAX).min(WIDEST));
        CostModel { ef: ef.min(most).max(costs.k), width: Width::Calibrated(target), ..costs }
    }

    /// Roughly how many candidates match, from an evenly spread sample.
    fn estimate(&self, matching: &Matching<'_>) -> Result<f64, Error> {
        let mut pace = matching.pace(self.bound.deadline);
        let (mut seen, mut passed) = (0, 0);
        for offset in matching.spread::<SAMPLE>() {
            if seen == FIRST_SAMPLE && passed * 4 >= seen {
                break;
            }
            pace.step(self.bound.view.state.at(offset).document().len())?;
            seen += 1;
            passed += usize::from(matching.accepts(offset));
        }
        Ok(passed as f64 / seen.max(1) as f64 * matching.at_most() as f64)
    }

    fn graph_search(&self) -> GraphSearch<'_> {
        let BoundSearch { search, table, query, .. } = self.bound;
        let quantization = search.params.quantization;
        GraphSearch { graph: self.graph, table, query, k: search.k, quantization }
    }

    /// Every match, by its code.
    fn scan(&self, matching: &mut Matching<'_>, costs: &CostModel) -> Result<Found, Error> {
        let BoundSearch { search, table, deadline, .. } = self.bound;
        matching.settle(deadline)?;
        // A code is a quarter of a row of floats, or less, but at a random place.
        deadline.expect(estimate::rows(matching.at_most(), table.rows.row_bytes()))?;
        let end = if search.params.indexed_only { self.boundary } else { table.end() };
        let rows = self.bound.rows(matching).filter(|&row| row < end);
        tally::count(|tally| tally.scanned += self.bound.possible(matching));
        let tie = |a, b| self.bound.tie(a, b);
        let ranked = self.graph_search().scan(rows, costs.ef, tie, &|| deadline.passed());
        let ranked = ranked.map_err(|Stopped| deadline.error())?;
        tally::count(|tally| tally.rerank(&ranked));
        Ok(ranked.best)
    }

    /// A walk through all nodes, and the matches among the rows that it finds. None when hardly any node near the query
    /// matches.
    pub fn wide(&self, matching: &Matching<'_>, costs: &CostModel) -> Result<Option<Found>, Error> {
        let BoundSearch { search, deadline, .. } = self.bound;
        let check = Check::new(self.bound, matching);
        let near = NearMatches::new(costs);
        let is_everything = matching.is_everything();
        let meet = |node: Node| {
            if !is_everything {
                near.meet(|| {
                    let row = self.graph.hnsw.row_of(node);
                    row < self.boundary && check.passes(row)
                });
            }
            true
        };
        let stop = || check.is_late() || near.are_few() || deadline.passed();
        let params = WalkParams { avoided: self.avoided(), ..WalkParams::wide(costs.wide_ef()) };
        // Called best first: finds the rank of the k-th match among the rows that the walk has found.
        let (rank, matches, place) = (Cell::new(0usize), Cell::new(0usize), Cell::new(None));
        let wanted = |row| {
            rank.set(rank.get() + 1);
            let is_match = row < self.boundary && check.passes(row);
            matches.set(matches.get() + usize::from(is_match));
            if is_match && matches.get() == search.k {
                place.set(Some(rank.get()));
            }
            is_match
        };
        // Of thousands of equal vectors the dead ones would take the places of the live ones.
        let is_alive = |node: Node| {
            let row = self.graph.hnsw.row_of(node);
            row < self.boundary && self.bound.table.alive(row, self.bound.view.op)
        };
        let found = self.walk(&params, (&meet, &is_alive), &wanted, &stop);
        check.finish()?;
        match found {
            Err(Stopped) if near.are_few() => Ok(None),
            Err(Stopped) => Err(deadline.error()),
            Ok(found) => {
                let trusted = place.get().is_none_or(|place| place as f64 <= TRUSTED * params.ef as f64);
                Ok((is_everything || trusted).then_some(found))
            }
        }
    }

    /// A walk through the matching nodes only.
    pub fn two_hops(&self, matching: &mut Matching<'_>, costs: &CostModel) -> Result<Found, Error> {
        let ef = costs.two_hop_ef();
        matching.expect((ef * CHECKS_PER_EF) as u64);
        let check = Check::new(self.bound, matching);
        let seeds = self.seeds(matching)?;
        let stop = || check.is_late() || self.bound.deadline.passed();
        let accept = |node| {
            let row = self.graph.hnsw.row_of(node);
            row < self.boundary && check.passes(row)
        };
        let avoided = self.avoided();
        let params = WalkParams { ef, traversal: Traversal::TwoHop, starts: &seeds, avoided };
        let found = self.walk(&params, (&accept, &accept), &|_| true, &stop);
        check.finish()?;
        found.map_err(|Stopped| self.bound.deadline.error())
    }

    /// The node that walks do not meet. None where its duplicates would not be found without it.
    fn avoided(&self) -> Option<Node> {
        let node = self.graph.node_of(self.bound.search.avoided?)?;
        let mut chain = self.graph.hnsw.with_duplicates(node);
        chain.nth(1).is_none().then_some(node)
    }

    /// Nodes that match: those nearest to the query of a sample from the whole collection.
    fn seeds(&self, matching: &Matching<'_>) -> Result<Vec<Node>, Error> {
        if matching.is_everything() {
            return Ok(Vec::new());
        }
        let BoundSearch { search, view, deadline, .. } = self.bound;
        let mut pace = matching.pace(deadline);
        let mut rows = Vec::with_capacity(SEED_SAMPLE);
        for offset in matching.spread::<SEED_SAMPLE>() {
            let point = view.state.at(offset);
            // A condition that no index has answered is checked on the document.
            if !matching.is_exact() {
                pace.step(point.document().len())?;
            }
            let row = point.row(self.bound.field());
            let row = row.filter(|row| search.avoided != Some(*row));
            rows.extend(row.filter(|&row| row < self.boundary && matching.accepts(offset)));
        }
        rows.sort_unstable();
        rows.dedup();
        let quantization = QuantizationParams { rescore: false, ..search.params.quantization };
        let nearest = GraphSearch { k: SEEDS, quantization, ..self.graph_search() };
        let nearest = nearest.scan(rows.into_iter(), SEEDS, |a, b| a.cmp(&b), &|| deadline.passed());
        let nearest = nearest.map_err(|Stopped| deadline.error())?;
        Ok(nearest.best.into_iter().filter_map(|(_, row)| self.graph.node_of(row)).collect())
    }

    fn walk(
        &self,
        params: &WalkParams<'_>,
        accept_and_choose: (&impl Fn(Node) -> bool, &impl Fn(Node) -> bool),
        wanted: &impl Fn(Row) -> bool,
        stop: &impl Fn() -> bool,
    ) -> Result<Found, Stopped> {
        let tie = |a, b| self.bound.tie(a, b);
        SCRATCH.with_borrow_mut(|scratch| {
            let found = self.graph_search().walk(params, accept_and_choose, wanted, tie, scratch, stop);
            let work = scratch.take_work();
            tally::count(|tally| {
                tally.hops += work.hops;
                tally.distances += work.distances;
                if let Ok(ranked) = &found {
                    tally.rerank(ranked);
                }
            });
            found.map(|ranked| ranked.best)
        })
    }

    /// The best of what the walk has found and of the tail, and how many rows of the tail match.
    fn with_tail(&self, found: Found, matching: &Matching<'_>) -> Result<(Found, u64), Error> {
        let tail = RowRange::new(self.boundary, self.bound.table.end());
        let is_left_out = self.bound.search.params.indexed_only || PlantedFault::TailNotScanned.is_on();
        if is_left_out || tail.is_empty() {
            return Ok((found, 0));
        }
        let mut top = self.bound.top();
        found.iter().for_each(|&(distance, row)| top.offer(distance, row));
        let check = Check::new(self.bound, matching);
        self.bound.scan_range(tail, &check, &mut top)?;
        tally::count(|tally| tally.tail += tail.numbers().len() as u64);
        Ok((top.into_sorted(), check.passed()))
    }
}

impl NearMatches {
    /// None met yet, of a search with these costs.
    fn new(costs: &CostModel) -> NearMatches {
        let checked = if costs.by_document { CHECKED_BY_DOCUMENT } else { CHECKED };
        let fewest = (costs.share() * f64::from(checked) / FAR_BELOW) as u32;
        NearMatches { checked, fewest, met: Cell::new(0), passed: Cell::new(0) }
    }

    /// Counts a node that the walk has met, and whether it matches if it is one of those that are checked.
    #[inline(always)]
    fn meet(&self, is_match: impl FnOnce() -> bool) {
        let at = self.met.get();
        self.met.set(at + 1);
        if (UNCHECKED..UNCHECKED + self.checked).contains(&at) {
            self.passed.set(self.passed.get() + u32::from(is_match()));
        }
    }

    /// Whether all that are checked were, and hardly any of them matched.
    fn are_few(&self) -> bool {
        self.met.get() >= UNCHECKED + self.checked && self.passed.get() <= self.fewest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search for which half of all rows match.
    fn half(by_document: bool) -> CostModel {
        let (nodes, matches, documents, width) = (1000, 500.0, 0, Width::Given);
        CostModel { nodes, matches, documents, by_document, ef: 64, width, k: 10 }
    }

    #[test]
    fn a_wide_walk_checks_96_nodes_after_the_first_32_and_32_where_documents_are_read() {
        for (by_document, checked) in [(false, 32..128), (true, 32..64)] {
            let near = NearMatches::new(&half(by_document));
            let is_checked = |_: &u32| {
                let is_checked = Cell::new(false);
                near.meet(|| {
                    is_checked.set(true);
                    true
                });
                is_checked.get()
            };
            assert!((0..1000).filter(is_checked).eq(checked), "by document: {by_document}");
        }
    }

    #[test]
    fn a_wide_walk_is_given_up_when_at_most_an_eighth_of_the_expected_matches_are_near() {
        // Of 96 nodes 48 are expected to match.
        for (matches, are_few) in [(0, true), (6, true), (7, false), (96, false)] {
            let near = NearMatches::new(&half(false));
            (0..32).for_each(|_| near.meet(|| true));
            for at in 0..96 {
                assert!(!near.are_few(), "{at} were checked");
                near.meet(|| at < matches);
            }
            assert_eq!(near.are_few(), are_few, "{matches} matched");
            // Those that are met later do not count.
            (0..100).for_each(|_| near.meet(|| true));
            assert_eq!(near.are_few(), are_few, "{matches} matched");
        }
    }
}
