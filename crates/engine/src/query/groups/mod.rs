//! Hits grouped by a field of the payload: the best groups, and of each the best hits (C12).
//!
//! A group is as good as its best hit, so the best groups are those of the best hits. The first search is a walk that goes
//! on for the groups that are not full (`walk`) or, where there can be none, a search for enough hits to fill all groups
//! if no group has more than its share of them. If too few groups are found, others are searched for outside the groups
//! that are full. Then, of each group that is not full, its points are searched. Scores do not depend on what is searched,
//! so what is found fits together. docs/query.md has the reasons.

mod found;
mod members;
mod numbering;
mod slots;
mod walk;

pub use crate::group_keys::GroupId;
pub use found::Group;

use super::Hit;
use super::excluded::Excluded;
use super::matching::Matching;
use super::prepared::{Goal, Prepared, Step};
use super::request::GroupsRequest;
use super::run::find;
use super::scorer;
use super::tally;
use super::tree::{QueryNode, QueryRequest};
use super::vector_search::VectorSearch;
use crate::collection::{Snapshot, State};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::Filter;
use crate::point_set::PointSet;
use found::{Found, Order};
use numbering::Numbering;
use std::sync::Arc;

/// A search that compares every match finds so many times the hits that it would have to: they cost little more.
const SCAN_WIDENING: usize = 4;
/// The factor by which a search is widened that finds no further group, or points several times.
const WIDENING: usize = 4;

/// The query that a grouped one begins with: for enough hits to fill all groups. What its prefetches find is multiplied by
/// the size of a group, as in Qdrant, each up to `max_window`.
pub fn widened(request: &GroupsRequest, max_window: usize) -> QueryRequest {
    fn widen(sources: &mut [QueryNode], size: usize, max_window: usize) {
        for source in sources {
            source.limit = source.limit.saturating_mul(size).min(max_window.max(source.limit));
            widen(&mut source.prefetch, size, max_window);
        }
    }
    let mut query = request.query.clone();
    query.node.limit = query.node.limit.saturating_mul(request.size);
    widen(&mut query.node.prefetch, request.size, max_window);
    query
}

/// Whether further hits of a query can be searched for one group at a time. They cannot where a hit depends on the others, or
/// on what prefetches have found.
pub fn can_continue(prepared: &Prepared) -> bool {
    prepared.root.sources.is_empty() && !matches!(prepared.root.goal, Goal::Mmr { .. })
}

/// Lets a query with prefetches find everything that these have found.
pub fn find_all(prepared: &mut Prepared) {
    let root = &mut prepared.root;
    if !matches!(root.goal, Goal::Mmr { .. }) {
        let candidates = root.sources.iter().map(|source| source.window).fold(0, usize::saturating_add);
        root.window = root.window.max(candidates);
    }
}

/// The groups of what a query has found.
pub fn group_hits<'v>(
    snapshot: &'v Snapshot,
    prepared: &Prepared,
    request: &GroupsRequest,
    hits: &[Hit],
) -> Vec<Group<'v>> {
    let state = &snapshot.view.state;
    let numbering = Numbering::new(state, &request.by, None);
    let mut found = Found::new(state, numbering, request.size, order_of(state, &prepared.root.goal));
    found.add(hits);
    found.into_best(request.query.node.limit)
}

/// The groups of a query of which [`can_continue`] is true.
///
/// # Errors
/// `Timeout`.
pub fn search<'v>(
    snapshot: &'v Snapshot,
    prepared: &Prepared,
    request: &GroupsRequest,
    deadline: &Deadline,
) -> Result<Vec<Group<'v>>, Error> {
    let (state, step) = (&snapshot.view.state, &prepared.root);
    let kept = snapshot.group_keys.of(&snapshot.view, &request.by, deadline)?;
    let numbering = Numbering::new(state, &request.by, kept);
    let found = Found::new(state, numbering, request.size, order_of(state, &step.goal));
    let mut search = GroupSearch { snapshot, step, request, found, is_complete: false, deadline };
    let mut matching = tally::planned(1, || Matching::new(state, step.filter.as_deref(), deadline));
    search.begin(&mut matching)?;
    search.find_further_groups()?;
    search.fill(&matching)?;
    tally::matched(1, &matching);
    Ok(search.found.into_best(request.query.node.limit))
}

/// A grouped search that is under way.
struct GroupSearch<'v, 'q> {
    snapshot: &'v Snapshot,
    step: &'q Step,
    request: &'q GroupsRequest,
    found: Found<'v, 'q>,
    /// No match is left that could be in a group that is not full.
    is_complete: bool,
    deadline: &'q Deadline,
}

impl GroupSearch<'_, '_> {
    fn state(&self) -> &State {
        &self.snapshot.view.state
    }

    /// How many groups are wanted.
    fn limit(&self) -> usize {
        self.request.query.node.limit
    }

    /// The first search.
    fn begin(&mut self, matching: &mut Matching<'_>) -> Result<(), Error> {
        if let Some(walked) = self.walk(matching)? {
            self.is_complete = walked;
            return Ok(());
        }
        let window = self.first_window(matching);
        let step = Step { window, ..self.step.clone() };
        self.find(&step, matching)
    }

    /// The first search as a walk that fills the groups. None where it cannot be one; else whether nothing was left out.
    fn walk(&mut self, matching: &mut Matching<'_>) -> Result<Option<bool>, Error> {
        let Some(keys) = self.found.numbering().kept().map(Arc::clone) else { return Ok(None) };
        let counts = (self.limit(), self.request.size);
        let walked = walk::walk(self.snapshot, self.step, matching, &keys, counts, self.deadline)?;
        Ok(walked.map(|walked| {
            for group in &walked.groups {
                self.found.add_group(group.key, &group.hits, group.is_settled);
            }
            walked.is_complete
        }))
    }

    /// Whether there is no group beside those that were found.
    fn has_all_groups(&self) -> bool {
        self.found.numbering().kept().is_some_and(|keys| self.found.len() >= keys.groups())
    }

    /// How many hits the first search finds: enough to fill all groups, and those that it meets anyway.
    fn first_window(&self, matching: &Matching<'_>) -> usize {
        let (step, window) = (self.step, self.step.window);
        if let Goal::Nearest(target) = &step.goal
            && !step.params.exact
            && self.snapshot.graphs.get(target.field).is_some_and(Option::is_some)
        {
            // The width of a walk that has to be filtered grows with its hits.
            let config = &self.state().config;
            let walk = || VectorSearch::of_step(config, step, step.params, target, window).ef;
            return if matching.is_everything() { walk() } else { window };
        }
        window.saturating_mul(SCAN_WIDENING)
    }

    fn find(&mut self, step: &Step, matching: &mut Matching<'_>) -> Result<(), Error> {
        self.deadline.check()?;
        let list = find(self.snapshot, step, matching, step.params, self.deadline)?;
        self.is_complete = list.hits.len() < step.window;
        self.found.add(&list.hits);
        Ok(())
    }

    /// Searches outside the full groups until there are enough groups. Each search finds a further group, fills one, or is
    /// followed by a wider one, so that there are few, whatever the values are.
    fn find_further_groups(&mut self) -> Result<(), Error> {
        let mut window = self.step.window;
        while !self.is_complete && self.found.len() < self.limit() && !self.has_all_groups() {
            let before = (self.found.len(), self.found.full().count());
            let full: Vec<GroupId<'_>> = self.found.full().filter_map(|group| self.found.id(group)).collect();
            let full = full.iter().filter_map(GroupId::indexed);
            let others = Arc::new(Filter::holding_others(&self.request.by, full));
            let filter = match &self.step.filter {
                Some(filter) => Filter::all_of([Arc::clone(filter), others]),
                None => Filter::all_of([others]),
            };
            let excluded = Arc::new(self.step.excluded.and(self.found.seen().to_vec()));
            let step = Step { excluded, window, ..self.step.clone() };
            let snapshot = self.snapshot;
            self.find(&step, &mut Matching::new(&snapshot.view.state, Some(&filter), self.deadline))?;
            if before == (self.found.len(), self.found.full().count()) {
                window = window.saturating_mul(WIDENING);
            }
        }
        Ok(())
    }

    /// Searches the points of each of the best groups that is not full.
    fn fill(&mut self, matching: &Matching<'_>) -> Result<(), Error> {
        if self.is_complete {
            return Ok(());
        }
        let unfilled = self.found.unfilled(self.limit());
        if unfilled.is_empty() {
            return Ok(());
        }
        let members = self.members(&unfilled, matching.candidates())?;
        for (place, members) in unfilled.into_iter().zip(members) {
            if members.len() <= self.found.group(place).hits.len() as u64 {
                continue;
            }
            let snapshot = self.snapshot;
            let mut within = match PlantedFault::GroupFilledOutsideFilter.is_on() {
                true => Matching::among(&snapshot.view.state, members),
                false => matching.narrowed(members),
            };
            let hits = self.best_of(&mut within)?;
            self.found.fill(place, &hits);
        }
        Ok(())
    }

    /// The points of groups among `candidates`.
    fn members(&self, places: &[usize], candidates: &PointSet) -> Result<Vec<PointSet>, Error> {
        if let Some(keys) = self.found.numbering().kept() {
            let members = |&place: &usize| {
                let members = keys.members(self.found.group(place).number);
                members.filter(|&offset| candidates.contains(offset)).collect()
            };
            return Ok(places.iter().map(members).collect());
        }
        let ids = places.iter().map(|&place| self.found.id(self.found.group(place)));
        let ids: Vec<GroupId<'_>> = ids.map(|id| id.ok_or_else(lost_group)).collect::<Result<_, _>>()?;
        let ids: Vec<&GroupId<'_>> = ids.iter().collect();
        members::members(self.state(), &self.request.by, &ids, candidates, self.deadline)
    }

    /// The best hits among the points of one group, enough to fill it where there are enough.
    fn best_of(&self, matching: &mut Matching<'_>) -> Result<Vec<Hit>, Error> {
        let mut window = self.request.size;
        loop {
            self.deadline.check()?;
            let step = Step { window, ..self.step.clone() };
            let list = find(self.snapshot, &step, matching, step.params, self.deadline)?;
            let points = Excluded::new(list.hits.iter().map(|hit| hit.offset).collect());
            if list.hits.len() < window || points.len() >= self.request.size {
                return Ok(list.hits);
            }
            window = window.saturating_mul(WIDENING);
        }
    }
}

fn lost_group() -> Error {
    Error::Internal("a point of a group is not in it".into())
}

/// The order of the hits of a query.
fn order_of(state: &State, goal: &Goal) -> Order {
    match goal {
        Goal::Nearest(target) => {
            let metric = scorer::metric_of(&state.config, target.field);
            Order::Scores { smaller_is_better: !metric.higher_is_better() }
        }
        Goal::Custom(_) | Goal::Fusion(_) | Goal::Formula(_) => Order::Scores { smaller_is_better: false },
        Goal::Mmr { .. } | Goal::OrderBy(_) | Goal::Sample | Goal::ById => Order::Found,
    }
}
