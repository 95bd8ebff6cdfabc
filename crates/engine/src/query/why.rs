//! Why points are, or are not, among the hits of a query (C13).

use super::Hit;
use super::excluded::Excluded;
use super::matching::Matching;
use super::prepared::{Goal, Prepared, Step};
use super::run::{List, Lookup, find, run};
use super::scorer;
use super::tree::{QueryNode, QueryRequest, SearchParams};
use crate::collection::{Snapshot, not_found};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::point_set::PointSet;
use crate::types::{Metric, PointId, PointOffset};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

/// What became of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The point.
    pub id: PointId,
    /// Whether it is among the hits.
    pub returned: bool,
    /// Its score, compared exactly; `None` where it has none.
    pub score: Option<f32>,
    /// Its place among all that match, compared exactly, from 1; for a point that does not match, where it would be.
    pub rank: Option<u64>,
    /// Where the first condition stands that it fails.
    pub failed_condition: Option<String>,
    /// Why it was not returned.
    pub lost_by: Option<Loss>,
}

/// Why a point was not returned: the first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// It has no vector of the name that was searched.
    NoVector,
    /// A filter, or it is an example of the query.
    Filter,
    /// Its score is beyond the threshold.
    Threshold,
    /// Enough others are better, or it is before the offset.
    Rank,
    /// Its code is too far from what it stands for.
    Codes,
    /// The walk through the graph did not meet it.
    Walk,
}

impl Loss {
    /// The word for it in answers.
    pub fn name(self) -> &'static str {
        match self {
            Loss::NoVector => "no_vector",
            Loss::Filter => "filter",
            Loss::Threshold => "threshold",
            Loss::Rank => "rank",
            Loss::Codes => "codes",
            Loss::Walk => "walk",
        }
    }
}

/// What became of some points.
///
/// # Errors
/// `PointNotFound` with those that there are not; `Timeout`.
pub(super) fn why(
    snapshot: &Snapshot,
    request: &QueryRequest,
    prepared: &Prepared,
    hits: &[Hit],
    (asked, lookup): (&[PointId], &dyn Lookup),
    deadline: &Deadline,
) -> Result<Vec<Why>, Error> {
    let state = &snapshot.view.state;
    let is_shown = |id| state.offset(id).is_some_and(|offset| lookup.shows(&snapshot.view, offset));
    let absent: Vec<PointId> = asked.iter().copied().filter(|id| !is_shown(*id)).collect();
    if !absent.is_empty() {
        return Err(not_found(absent));
    }
    let exact = exact(prepared, state.live.len());
    let ranks = Ranks::new(run(snapshot, &exact, deadline)?);
    let case = Case {
        snapshot,
        request,
        prepared,
        exact: &exact,
        ranks,
        returned: hits.iter().map(|hit| hit.offset).collect(),
        by_codes: OnceCell::new(),
        deadline,
    };
    asked.iter().map(|&id| case.of(id)).collect()
}

/// The query with exact searches, without a threshold, and with all points in their order.
fn exact(prepared: &Prepared, points: u64) -> Prepared {
    let mut exact = Prepared { root: prepared.root.clone(), offset: 0 };
    exact.for_each_step(&mut |step| step.params = SearchParams { exact: true, ..step.params });
    exact.root.threshold = None;
    // What is chosen to differ from each other, and what is chosen at random, has no order beyond what is asked for.
    if !matches!(exact.root.goal, Goal::Mmr { .. } | Goal::Sample) && !PlantedFault::RankOfPage.is_on() {
        exact.root.window = exact.root.window.max(usize::try_from(points).unwrap_or(usize::MAX));
    }
    exact
}

/// The query with scans of codes in place of walks.
fn by_codes(prepared: &Prepared) -> Prepared {
    let mut scanning = Prepared { root: prepared.root.clone(), offset: prepared.offset };
    scanning.for_each_step(&mut |step| {
        step.params = SearchParams { scans_codes: true, indexed_only: false, ..step.params };
    });
    scanning
}

/// All points that match in their exact order.
struct Ranks {
    hits: Vec<Hit>,
    places: HashMap<PointOffset, usize>,
}

impl Ranks {
    fn new(hits: Vec<Hit>) -> Ranks {
        let places = hits.iter().enumerate().rev().map(|(place, hit)| (hit.offset, place)).collect();
        Ranks { hits, places }
    }
}

/// A query whose result is to be explained.
struct Case<'a> {
    snapshot: &'a Snapshot,
    request: &'a QueryRequest,
    prepared: &'a Prepared,
    exact: &'a Prepared,
    ranks: Ranks,
    returned: PointSet,
    /// What scans of codes find in place of walks; only where a point was lost by one of the two.
    by_codes: OnceCell<PointSet>,
    deadline: &'a Deadline,
}

impl Case<'_> {
    fn of(&self, id: PointId) -> Result<Why, Error> {
        let state = &self.snapshot.view.state;
        let Some(offset) = state.offset(id) else { return Err(not_found(vec![id])) };
        let returned = self.returned.contains(offset);
        let failed_condition = if returned || PlantedFault::FailedConditionHidden.is_on() {
            None
        } else {
            self.failed_condition(offset, &self.request.node, "")
        };
        let (score, rank) = match self.ranks.places.get(&offset) {
            Some(&place) => (Some(self.ranks.hits[place].score), Some(place as u64 + 1)),
            None => self.alone(offset)?,
        };
        let lost_by = match returned {
            true => None,
            false => Some(self.loss(offset, failed_condition.is_some(), score, rank)?),
        };
        Ok(Why { id, returned, score, rank, failed_condition, lost_by })
    }

    fn loss(
        &self,
        offset: PointOffset,
        is_filtered: bool,
        score: Option<f32>,
        rank: Option<u64>,
    ) -> Result<Loss, Error> {
        let root = &self.prepared.root;
        if self.prepared.leaves().iter().all(|leaf| self.has_no_vector(leaf, offset)) {
            return Ok(Loss::NoVector);
        }
        if is_filtered {
            return Ok(Loss::Filter);
        }
        let (Some(score), Some(rank)) = (score, rank) else { return Ok(Loss::Rank) };
        if root.threshold.is_some_and(|least| self.is_worse(score, least)) {
            return Ok(Loss::Threshold);
        }
        let place = usize::try_from(rank - 1).unwrap_or(usize::MAX);
        if !(self.prepared.offset..root.window).contains(&place) {
            return Ok(Loss::Rank);
        }
        Ok(if self.found_by_codes()?.contains(offset) { Loss::Walk } else { Loss::Codes })
    }

    fn found_by_codes(&self) -> Result<&PointSet, Error> {
        if let Some(found) = self.by_codes.get() {
            return Ok(found);
        }
        let hits = run(self.snapshot, &by_codes(self.prepared), self.deadline)?;
        Ok(self.by_codes.get_or_init(|| hits.iter().map(|hit| hit.offset).collect()))
    }

    /// Whether a leaf compares vectors and the point has none of that name.
    fn has_no_vector(&self, leaf: &Step, offset: PointOffset) -> bool {
        let field = match &leaf.goal {
            Goal::Nearest(target) | Goal::Mmr { target, .. } => target.field,
            Goal::Custom(custom) => custom.field,
            _ => return false,
        };
        scorer::vector_of(&self.snapshot.view, field, offset).is_none()
    }

    /// How the root compares scores.
    fn metric(&self) -> Option<Metric> {
        match &self.prepared.root.goal {
            Goal::Nearest(target) | Goal::Mmr { target, .. } => {
                Some(scorer::metric_of(&self.snapshot.view.state.config, target.field))
            }
            _ => None,
        }
    }

    fn is_worse(&self, score: f32, than: f32) -> bool {
        self.metric().map_or(score < than, |metric| metric.is_worse(score, than))
    }

    /// The score of a point that does not match, and where it would be.
    fn alone(&self, offset: PointOffset) -> Result<(Option<f32>, Option<u64>), Error> {
        let root = &self.exact.root;
        if !root.sources.is_empty()
            || !matches!(root.goal, Goal::Nearest(_) | Goal::Mmr { .. } | Goal::Custom(_))
        {
            return Ok((None, None));
        }
        let step = Step { filter: None, excluded: Arc::new(Excluded::default()), window: 1, ..root.clone() };
        let state = &self.snapshot.view.state;
        let mut matching = Matching::among(state, [offset].into_iter().collect());
        let List { hits, .. } = find(self.snapshot, &step, &mut matching, step.params, self.deadline)?;
        let Some(hit) = hits.first() else { return Ok((None, None)) };
        if matches!(root.goal, Goal::Mmr { .. }) {
            return Ok((Some(hit.score), None));
        }
        let id = state.at(offset).id;
        let is_better = |other: &Hit| {
            self.is_worse(hit.score, other.score)
                || hit.score == other.score && state.at(other.offset).id < id
        };
        Ok((Some(hit.score), Some(self.ranks.hits.partition_point(is_better) as u64 + 1)))
    }

    /// The place of the first condition that keeps a point from what a node finds.
    fn failed_condition(&self, offset: PointOffset, node: &QueryNode, place: &str) -> Option<String> {
        let state = &self.snapshot.view.state;
        let dot = if place.is_empty() { "" } else { "." };
        if let Some(failing) = node.filter.as_ref().and_then(|filter| filter.failing(&state.subject(offset)))
        {
            return Some(format!("{place}{dot}filter.{failing}"));
        }
        let id = state.at(offset).id;
        let mut is_example = false;
        if node.lookup_from.is_none() {
            node.query.for_each_example(&mut |example| {
                is_example |= matches!(example, super::tree::Example::Id(named) if *named == id);
            });
        }
        if is_example {
            return Some(format!("{place}{dot}query"));
        }
        let mut below = node.prefetch.iter().enumerate();
        let first = below.next().and_then(|(at, source)| {
            self.failed_condition(offset, source, &format!("{place}{dot}prefetch[{at}]"))
        })?;
        below
            .all(|(at, source)| {
                self.failed_condition(offset, source, &format!("{place}{dot}prefetch[{at}]")).is_some()
            })
            .then_some(first)
    }
}
