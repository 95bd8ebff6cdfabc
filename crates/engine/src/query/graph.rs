//! A search through the graph of a field: the plans, one after the other until one has found enough.

use super::matching::Matching;
use super::planner::{Plan, Task};
use super::search::{Check, Search};
use super::tally;
use super::tree::SearchParams;
use crate::error::Error;
use crate::field::{FieldGraph, How};
use crate::index::{SearchScratch, Stopped, TopK, Traversal};
use std::cell::{Cell, RefCell};

/// Points that are looked at to estimate how many match a filter that no index answers…
const SAMPLE: usize = 256;
/// … and the first of them, which are enough when a quarter of them match.
const FIRST_SAMPLE: usize = 64;
/// Candidates so few that each is looked at, sooner than an estimate is made.
const FEW: u64 = 512;
/// Matching rows that a two-hop walk starts from, beside the graph's own way to the query: the matches may be several
/// heaps, of which a walk leaves none for another. They are the nearest…
const SEEDS: usize = 32;
/// … of so many. A heap that has a twentieth of the matches is missed by all of them once in 500,000 times.
const SEED_SAMPLE: usize = 256;
/// Nodes that a wide walk lets pass before it begins to ask how many of them match.
const UNASKED: u32 = 32;
/// Nodes that it asks about then; documents cost more than bits.
const ASKED: u32 = 96;
const ASKED_BY_DOCUMENT: u32 = 32;
/// The walk is given up when fewer of these match than the expected share divided by this.
const FAR_BELOW: f64 = 8.0;
/// Part of the walk's width in which `k` matches have to be. The nearest rows in it are as good as all there; towards
/// its end some are missing.
const TRUSTED: f64 = 0.8;

/// Rows that a two-hop walk checks for each unit of its width, roughly.
const CHECKS_PER_EF: usize = 64;

thread_local! {
    /// Visited marks and pools of this thread's searches, shared by all collections.
    static SCRATCH: RefCell<SearchScratch> = RefCell::new(SearchScratch::new());
}

/// See the module.
pub(super) struct GraphSearch<'a> {
    search: &'a Search<'a>,
    graph: &'a FieldGraph,
    /// Rows from here on are not in the graph: the tail.
    boundary: u32,
    ef: usize,
    params: &'a SearchParams,
}

/// Distances and rows, best first.
type Found = Vec<(f32, u32)>;

impl<'a> GraphSearch<'a> {
    /// A search of width `ef`, at least `k`. `boundary` was loaded before the view.
    pub fn new(
        search: &'a Search<'a>,
        graph: &'a FieldGraph,
        boundary: u32,
        ef: usize,
        params: &'a SearchParams,
    ) -> GraphSearch<'a> {
        GraphSearch { search, graph, boundary: boundary.min(search.table.len()), ef, params }
    }

    /// The best `k` rows that match.
    pub fn run(&self, matching: &mut Matching<'_>) -> Result<Found, Error> {
        let task = self.task(matching)?;
        let mut plan = task.first();
        tally::count(|tally| tally.start(plan));
        loop {
            let found = match plan {
                Plan::Scan => return self.scan(matching),
                Plan::Wide => self.wide(matching, &task)?,
                Plan::TwoHop => Some(self.two_hops(matching, &task)?),
            };
            if let Some(found) = found {
                let in_graph = found.len() as u64;
                let (found, in_tail) = self.with_tail(found, matching)?;
                let possible = self.search.possible(matching).saturating_sub(in_tail);
                if in_graph >= possible.min(self.search.k as u64) {
                    return Ok(found);
                }
            }
            tally::count(|tally| tally.fallbacks += 1);
            plan = if plan == Plan::Wide { task.after_wide() } else { Plan::Scan };
        }
    }

    /// What there is to do. Candidates that are few are settled on the way.
    pub fn task(&self, matching: &mut Matching<'_>) -> Result<Task, Error> {
        let nodes = u64::from(self.graph.hnsw.len());
        if !matching.is_exact() && matching.at_most() <= FEW {
            matching.settle(self.search.deadline)?;
        }
        let exact = matching.is_exact();
        let matches = if exact { matching.at_most() as f64 } else { self.estimate(matching)? };
        Ok(Task {
            nodes,
            matches: matches.min(self.search.table.live() as f64),
            documents: if exact { 0 } else { matching.at_most() },
            by_document: !exact,
            ef: self.ef,
            k: self.search.k,
        })
    }

    /// Roughly how many candidates match, from an evenly spread sample.
    fn estimate(&self, matching: &Matching<'_>) -> Result<f64, Error> {
        let mut pace = matching.pace(self.search.deadline);
        let (mut seen, mut passed) = (0, 0);
        for offset in matching.spread(SAMPLE) {
            if seen == FIRST_SAMPLE && passed * 4 >= seen {
                break;
            }
            pace.step(self.search.view.state.at(offset).payload.bytes().len())?;
            seen += 1;
            passed += usize::from(matching.accepts(offset));
        }
        Ok(passed as f64 / seen.max(1) as f64 * matching.at_most() as f64)
    }

    fn how<'s>(&self, ef: usize, traversal: Traversal, starts: &'s [u32]) -> How<'s> {
        let quantization = &self.params.quantization;
        How {
            k: self.search.k,
            ef,
            ignore: quantization.ignore,
            rescore: quantization.rescore,
            oversampling: quantization.oversampling,
            traversal,
            starts,
        }
    }

    /// Every match, by its code.
    fn scan(&self, matching: &mut Matching<'_>) -> Result<Found, Error> {
        matching.settle(self.search.deadline)?;
        let how = self.how(self.ef, Traversal::Check, &[]);
        let end = if self.params.indexed_only { self.boundary } else { self.search.table.len() };
        let rows = self.search.rows(matching).filter(|&row| row < end);
        let stop = || self.search.deadline.passed();
        let Search { table, query, .. } = self.search;
        let tie = |a, b| self.search.tie(a, b);
        tally::count(|tally| tally.scanned += self.search.possible(matching));
        let ranked = self
            .graph
            .scan_codes(table, query, rows, &how, tie, &stop)
            .map_err(|Stopped| self.search.deadline.error())?;
        tally::count(|tally| tally.reranked += ranked.reranked as u64);
        Ok(ranked.best)
    }

    /// A walk through all nodes, of whose finds the matches are picked out. None when hardly any node matches where
    /// the query is.
    pub fn wide(&self, matching: &Matching<'_>, task: &Task) -> Result<Option<Found>, Error> {
        let check = Check::new(self.search, matching);
        let asked = if task.by_document { ASKED_BY_DOCUMENT } else { ASKED };
        let fewest = (task.share() * f64::from(asked) / FAR_BELOW) as u32;
        let (met, passed) = (Cell::new(0u32), Cell::new(0u32));
        let is_everything = matching.is_everything();
        let meet = |node: u32| {
            if !is_everything {
                let at = met.get();
                met.set(at + 1);
                if (UNASKED..UNASKED + asked).contains(&at) {
                    let row = self.graph.hnsw.row_of(node);
                    passed.set(passed.get() + u32::from(row < self.boundary && check.passes(row)));
                }
            }
            true
        };
        let is_far = || met.get() >= UNASKED + asked && passed.get() <= fewest;
        let stop = || check.is_late() || is_far() || self.search.deadline.passed();
        let how = self.how(task.wide_ef(), Traversal::Check, &[]);
        // Asked best first: where the k-th match is among all that was found.
        let (rank, matches, place) = (Cell::new(0usize), Cell::new(0usize), Cell::new(None));
        let wanted = |row| {
            rank.set(rank.get() + 1);
            let is_match = row < self.boundary && check.passes(row);
            matches.set(matches.get() + usize::from(is_match));
            if is_match && matches.get() == self.search.k {
                place.set(Some(rank.get()));
            }
            is_match
        };
        let found = self.walk(&how, &meet, &wanted, &stop);
        check.finish()?;
        match found {
            Err(Stopped) if is_far() => Ok(None),
            Err(Stopped) => Err(self.search.deadline.error()),
            Ok(found) => {
                let trusted = place.get().is_none_or(|place| place as f64 <= TRUSTED * how.ef as f64);
                Ok((is_everything || trusted).then_some(found))
            }
        }
    }

    /// A walk through the matching nodes only.
    pub fn two_hops(&self, matching: &mut Matching<'_>, task: &Task) -> Result<Found, Error> {
        matching.expect((task.two_hop_ef() * CHECKS_PER_EF) as u64);
        let check = Check::new(self.search, matching);
        let seeds = self.seeds(matching)?;
        let stop = || check.is_late() || self.search.deadline.passed();
        let accept = |node| {
            let row = self.graph.hnsw.row_of(node);
            row < self.boundary && check.passes(row)
        };
        let how = self.how(task.two_hop_ef(), Traversal::TwoHop, &seeds);
        let found = self.walk(&how, &accept, &|_| true, &stop);
        check.finish()?;
        found.map_err(|Stopped| self.search.deadline.error())
    }

    /// Rows in the graph that match, from all over it, as near to the query as such a few are.
    fn seeds(&self, matching: &Matching<'_>) -> Result<Vec<u32>, Error> {
        if matching.is_everything() {
            return Ok(Vec::new());
        }
        let Search { view, table, query, field, deadline, .. } = self.search;
        let mut pace = matching.pace(deadline);
        let mut rows = Vec::with_capacity(SEED_SAMPLE);
        for offset in matching.spread(SEED_SAMPLE) {
            let point = view.state.at(offset);
            // What no index has answered is looked at.
            if !matching.is_exact() {
                pace.step(point.payload.bytes().len())?;
            }
            rows.extend(
                point.rows.row(*field).filter(|&row| row < self.boundary && matching.accepts(offset)),
            );
        }
        rows.sort_unstable();
        rows.dedup();
        let how = How { k: SEEDS, rescore: false, ..self.how(SEEDS, Traversal::Check, &[]) };
        let stop = || deadline.passed();
        let nearest = self.graph.scan_codes(table, query, rows.into_iter(), &how, |a, b| a.cmp(&b), &stop);
        let nearest = nearest.map_err(|Stopped| deadline.error())?;
        Ok(nearest.best.into_iter().map(|(_, row)| row).collect())
    }

    fn walk(
        &self,
        how: &How<'_>,
        accept: &impl Fn(u32) -> bool,
        wanted: &impl Fn(u32) -> bool,
        stop: &impl Fn() -> bool,
    ) -> Result<Found, Stopped> {
        let Search { table, query, .. } = self.search;
        let tie = |a, b| self.search.tie(a, b);
        SCRATCH.with_borrow_mut(|scratch| {
            let found = self.graph.search(table, query, how, accept, wanted, tie, scratch, stop);
            let work = scratch.take_work();
            tally::count(|tally| {
                tally.hops += work.hops;
                tally.distances += work.distances;
                tally.reranked += found.as_ref().map_or(0, |ranked| ranked.reranked as u64);
            });
            found.map(|ranked| ranked.best)
        })
    }

    /// The best of what the walk has found and of the tail, and how many rows of the tail match.
    fn with_tail(&self, found: Found, matching: &Matching<'_>) -> Result<(Found, u64), Error> {
        let tail = self.boundary..self.search.table.len();
        if self.params.indexed_only || tail.is_empty() {
            return Ok((found, 0));
        }
        let mut top = TopK::new(self.search.k, |a, b| self.search.tie(a, b));
        found.iter().for_each(|&(distance, row)| top.offer(distance, row));
        let check = Check::new(self.search, matching);
        self.search.scan_range(tail, &check, &mut top)?;
        Ok((top.into_sorted(), check.passed()))
    }
}
