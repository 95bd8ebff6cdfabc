//! The groups of the nearest rows by one walk, which goes on until it has filled them.
//!
//! A walk compares ten times the rows that it keeps. Those are near the query, too, and fill most groups. For the others it
//! goes on, comparing rows of these groups only, which costs a fraction of a wider walk; and where a group has so few
//! members that comparing all of them costs less, or has too few rows in the end, they are compared.

use super::slots::Slots;
use crate::collection::Snapshot;
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::field::{FieldGraph, GraphSearch, GroupRows, best_rows};
use crate::group_keys::{KeyColumn, Keys};
use crate::index::{Further, Stopped, WalkParams, WalkScratch};
use crate::query::bound_search::{BoundSearch, Check};
use crate::query::matching::Matching;
use crate::query::plan_runner::PlanRunner;
use crate::query::planner::Plan;
use crate::query::prepared::{Goal, Step};
use crate::query::rows::RowFinder;
use crate::query::vector_search::VectorSearch;
use crate::query::{Hit, estimate, nearest, tally};
use crate::types::{PointOffset, Row, RowRange};
use crate::vectors::VectorValue;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

/// Share of matches from which on a walk fills groups. Where fewer match, most of what it meets is of no use.
const LEAST_SHARE: f64 = 0.5;
/// Rows that a walk checks for each unit of its width, roughly.
const CHECKS_PER_EF: usize = 16;

fn by_estimate(a: &(f32, Row), b: &(f32, Row)) -> Ordering {
    a.0.total_cmp(&b.0)
}

thread_local! {
    /// What the walks of this thread have met.
    static SCRATCH: RefCell<WalkScratch> = RefCell::new(WalkScratch::new());
}

/// What a walk has found.
pub(super) struct Walked {
    /// The groups.
    pub groups: Vec<WalkedGroup>,
    /// Nothing that matches was left out.
    pub is_complete: bool,
}

/// A group with its best hits.
pub(super) struct WalkedGroup {
    /// Its number.
    pub key: u32,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// It has no more hits than these, or they are enough.
    pub is_settled: bool,
}

/// The groups of a step that searches a field of dense vectors, by a walk where that is the plan; none elsewhere. `counts` are
/// the groups that are wanted, and the hits of each.
///
/// # Errors
/// `Timeout`.
pub(super) fn walk(
    snapshot: &Snapshot,
    step: &Step,
    matching: &mut Matching<'_>,
    keys: &KeyColumn,
    counts: (usize, usize),
    deadline: &Deadline,
) -> Result<Option<Walked>, Error> {
    let Goal::Nearest(target) = &step.goal else { return Ok(None) };
    let VectorValue::Dense(components) = &target.vector else { return Ok(None) };
    let view = &*snapshot.view;
    let graph = snapshot.graphs[target.field].as_ref();
    let Some((graph, boundary)) = graph.filter(|_| !step.params.exact && !step.params.scans_codes) else {
        return Ok(None);
    };
    let search = VectorSearch::of_step(&view.state.config, step, step.params, target, step.window);
    let bound = nearest::bound(view, search, components, deadline);
    let costs = PlanRunner::new(&bound, graph, *boundary).costs(matching)?;
    if costs.first() != Plan::Wide || costs.share() < LEAST_SHARE {
        return Ok(None);
    }
    bound.table.graphs.calibration.note_query(components);
    tally::compared(&costs);
    tally::count(|tally| tally.start(Plan::Wide));
    let ef = costs.wide_ef();
    matching.expect((ef * CHECKS_PER_EF) as u64);
    let boundary = (*boundary).min(bound.table.end());
    let walk = GroupWalk { bound: &bound, graph, boundary, matching, keys, counts };
    walk.run(ef).map(Some)
}

/// A grouped search of one field by a walk.
struct GroupWalk<'a> {
    bound: &'a BoundSearch<'a>,
    graph: &'a FieldGraph,
    /// First row of the tail, whose rows are not in the graph.
    boundary: Row,
    matching: &'a Matching<'a>,
    keys: &'a KeyColumn,
    /// Groups wanted, and rows of each.
    counts: (usize, usize),
}

impl GroupWalk<'_> {
    /// Walks with the width `ef`, and with greater widths while groups are not full.
    fn run(&self, ef: usize) -> Result<Walked, Error> {
        let deadline = self.bound.deadline;
        let check = Check::new(self.bound, self.matching);
        let slots = RefCell::new(Slots::new(self.keys, self.counts, self.bound.table.live()));
        let (width, is_first, is_complete) = (Cell::new(ef), Cell::new(true), Cell::new(false));
        let wanted = |row: Row| row < self.boundary && slots.borrow().wants(self.keys_of(row));
        let mut pause = |radius: Option<f32>, met: &[(f32, Row)]| -> Option<Further> {
            let slots = &mut *slots.borrow_mut();
            // No radius says that no node is left. At the first pause every row was then met; later only the wanted ones.
            let is_all = radius.is_none() && is_first.get();
            is_complete.set(is_all || radius.is_some_and(|radius| self.is_beyond(radius)));
            let is_last = is_complete.get() || radius.is_none();
            if is_first.replace(false) {
                let rest = self.begin(slots, radius, met, &check);
                slots.settle(radius.unwrap_or(f32::INFINITY));
                // Rows that the walk has met beyond its width are needed only if it goes on.
                if is_last || !slots.goes_on(ef, ef) {
                    return None;
                }
                self.add(slots, &rest, &check);
            } else {
                self.add(slots, met, &check);
            }
            slots.settle(radius?);
            let further = slots.further(ef, width.get()).filter(|_| !is_last && !met.is_empty())?;
            width.set(further.width);
            Some(further)
        };
        let params = WalkParams { avoided: None, ..WalkParams::wide(ef) };
        let stop = || check.is_late() || deadline.passed();
        let search = self.graph_search();
        SCRATCH
            .with_borrow_mut(|scratch| {
                let walked = search.explore(&params, &wanted, &mut pause, scratch, &stop);
                let work = scratch.take_work();
                tally::count(|tally| {
                    tally.hops += work.hops;
                    tally.distances += work.distances;
                });
                walked
            })
            .map_err(|Stopped| deadline.error())?;
        let mut slots = slots.into_inner();
        self.add_tail(&mut slots, &check)?;
        if !is_complete.get() {
            self.compare_members(&mut slots, width.get(), &check)?;
        }
        check.finish()?;
        let groups = self.ranked(&search, slots)?;
        Ok(Walked { groups, is_complete: is_complete.get() })
    }

    fn graph_search(&self) -> GraphSearch<'_> {
        let BoundSearch { search, table, query, .. } = self.bound;
        let quantization = search.params.quantization;
        GraphSearch { graph: self.graph, table, query, k: self.counts.1, quantization }
    }

    #[inline(always)]
    fn keys_of(&self, row: Row) -> Keys<'_> {
        self.keys.keys(self.bound.table.owner(row))
    }

    /// Whether scores at a distance are worse than the threshold.
    fn is_beyond(&self, distance: f32) -> bool {
        let metric = self.bound.distance.metric();
        self.bound.search.threshold.is_some_and(|least| metric.is_worse(metric.score(distance), least))
    }

    /// Makes groups of the nearest rows. Returns the others.
    fn begin(
        &self,
        slots: &mut Slots<'_>,
        radius: Option<f32>,
        met: &[(f32, Row)],
        check: &Check<'_>,
    ) -> Vec<(f32, Row)> {
        let is_near = |&(estimate, _): &(f32, Row)| radius.is_none_or(|radius| estimate <= radius);
        let (mut near, rest): (Vec<_>, Vec<_>) = met.iter().copied().partition(is_near);
        near.sort_unstable_by(by_estimate);
        for &(estimate, row) in &near {
            if self.is_match(row, check) {
                slots.add((estimate, row), self.keys_of(row), true);
            }
        }
        rest
    }

    /// Adds rows to their groups, and groups while there are too few.
    fn add(&self, slots: &mut Slots<'_>, rows: &[(f32, Row)], check: &Check<'_>) {
        let (groups, adds_groups) = (slots.slots.len(), slots.needs_groups());
        // Look-ups that do not wait for each other: first whose each row is, then the groups of all.
        let owners: Vec<PointOffset> = rows.iter().map(|&(_, row)| self.bound.table.owner(row)).collect();
        for (&(estimate, row), &owner) in rows.iter().zip(&owners) {
            let keys = self.keys.keys(owner);
            if (adds_groups || slots.has_any(keys)) && self.is_match(row, check) {
                slots.add((estimate, row), keys, adds_groups);
            }
        }
        if slots.slots.len() > groups {
            slots.sort();
        }
    }

    fn is_match(&self, row: Row, check: &Check<'_>) -> bool {
        row < self.boundary && (PlantedFault::GroupsOutsideFilter.is_on() || check.passes(row))
    }

    fn add_tail(&self, slots: &mut Slots<'_>, check: &Check<'_>) -> Result<(), Error> {
        let BoundSearch { table, distance, query, deadline, search, .. } = self.bound;
        let tail = RowRange::new(self.boundary, table.end());
        if search.params.indexed_only || tail.is_empty() || PlantedFault::TailOutsideGroups.is_on() {
            return Ok(());
        }
        deadline.expect(estimate::rows(tail.numbers().len() as u64, table.rows.row_bytes()))?;
        for (at, row) in tail.iter().enumerate() {
            if at % 256 == 255 {
                deadline.check()?;
            }
            if check.passes(row) {
                slots.add_exact((distance.one(query, table.row(row)), row), self.keys_of(row));
            }
        }
        tally::count(|tally| tally.tail += tail.numbers().len() as u64);
        slots.sort();
        Ok(())
    }

    /// Compares the members of the groups that the walk did not fill.
    fn compare_members(&self, slots: &mut Slots<'_>, width: usize, check: &Check<'_>) -> Result<(), Error> {
        let deadline = self.bound.deadline;
        let search = self.graph_search();
        for place in slots.unfilled(width) {
            let slot = &mut slots.slots[place];
            if PlantedFault::GroupLeftUnfilled.is_on() {
                slot.is_settled = true;
                continue;
            }
            deadline
                .expect(estimate::rows(self.keys.at_most(slot.key), self.bound.table.rows.row_bytes()))?;
            let mut finder = RowFinder::new(self.bound.view, self.bound.field());
            let live = &self.bound.view.state.live;
            let members = self.keys.members(slot.key).filter(|&offset| live.contains(offset));
            let rows = members.filter_map(|offset| finder.row(offset));
            let rows = rows.filter(|&row| self.is_match(row, check));
            slot.rows.estimates.clear();
            search
                .estimate(rows, &mut slot.rows, &|| deadline.passed())
                .map_err(|Stopped| deadline.error())?;
            slot.is_settled = true;
            let scanned = slot.rows.estimates.len();
            tally::count(|tally| tally.scanned += scanned as u64);
        }
        Ok(())
    }

    /// The best rows of the best groups by their distances.
    fn ranked(&self, search: &GraphSearch<'_>, slots: Slots<'_>) -> Result<Vec<WalkedGroup>, Error> {
        let mut groups: Vec<GroupRows> = Vec::with_capacity(slots.slots.len());
        let keys: Vec<(u32, bool)> = slots
            .slots
            .into_iter()
            .map(|slot| {
                groups.push(slot.rows);
                (slot.key, slot.is_settled)
            })
            .collect();
        let deadline = self.bound.deadline;
        let compared = search
            .rank_groups(&mut groups, self.counts, &|| deadline.passed())
            .map_err(|Stopped| deadline.error())?;
        tally::count(|tally| tally.reranked += compared as u64);
        let tie = |a, b| self.bound.tie(a, b);
        let filled = keys.into_iter().zip(groups).filter(|(_, group)| !group.exact.is_empty());
        let walked = filled.map(|((key, is_settled), group)| {
            let rows = best_rows(group.exact, self.counts.1, tie);
            WalkedGroup { key, hits: nearest::hits(self.bound.view, &self.bound.search, rows), is_settled }
        });
        Ok(walked.collect())
    }
}
