//! Why points are, or are not, among the hits of a query (C13).

use super::Hit;
use super::prepared::{Goal, Prepared, Step};
use super::run::{List, Lookup, finish, leaf};
use super::tally::take_tally;
use super::trace::{Trace, Tracer};
use super::tree::{QueryRequest, SearchParams};
use crate::collection::{Snapshot, not_found};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::point_set::PointSet;
use crate::types::{PointId, PointOffset};
use std::cell::OnceCell;

/// What became of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// The point.
    pub id: PointId,
    /// Whether it is among the hits.
    pub returned: bool,
    /// Its score, compared exactly; `None` where it has none.
    pub score: Option<f32>,
    /// Its place among all that match, compared exactly, from 1; for a point that does not match, where it would be. `None`
    /// where there is no such place.
    pub rank: Option<u64>,
    /// Where the first condition stands that it fails.
    pub failed_condition: Option<String>,
    /// Why it was not returned.
    pub lost_by: Option<Loss>,
}

/// Why a point was not returned: the first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// It has no vector of the name that was searched, or a sparse one that shares no index with the query.
    NoVector,
    /// A filter; it is an example of the query; or it has no value that it could be ordered by.
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

/// What became of some points. `samples` are the hits of the leaves that draw samples.
///
/// # Errors
/// `PointNotFound` with those that there are not; `Timeout`; `BadRequest` where a formula has no value.
pub(super) fn why(
    snapshot: &Snapshot,
    request: &QueryRequest,
    prepared: &Prepared,
    (hits, samples): (&[Hit], &[Vec<Hit>]),
    (asked, lookup): (&[PointId], &dyn Lookup),
    deadline: &Deadline,
) -> Result<Vec<Why>, Error> {
    let state = &snapshot.view.state;
    let mut absent = Vec::new();
    for id in asked {
        if !lookup.finds(&snapshot.view, id)? {
            absent.push(id.clone());
        }
    }
    if !absent.is_empty() {
        return Err(not_found(absent));
    }
    let exact = with_params(prepared, |params| SearchParams { exact: true, ..params });
    let offsets: PointSet = asked.iter().filter_map(|id| state.offset(id)).collect();
    let trace = Tracer::new(snapshot, offsets, samples, deadline).query(&exact.root, &request.node)?;
    let case = Case {
        snapshot,
        prepared,
        trace,
        samples,
        returned: hits.iter().map(|hit| hit.offset).collect(),
        by_codes: OnceCell::new(),
        deadline,
    };
    let found = asked.iter().map(|id| case.of(id)).collect();
    // It is not counted as a search.
    take_tally();
    found
}

/// The query with other parameters of its searches.
fn with_params(prepared: &Prepared, change: impl Fn(SearchParams) -> SearchParams) -> Prepared {
    let mut changed = Prepared { root: prepared.root.clone(), offset: prepared.offset };
    changed.for_each_step(&mut |step| step.params = change(step.params));
    changed
}

/// A query whose result is to be explained.
struct Case<'a> {
    snapshot: &'a Snapshot,
    prepared: &'a Prepared,
    trace: Trace<'a>,
    samples: &'a [Vec<Hit>],
    returned: PointSet,
    /// What scans of codes find in place of walks; only where a point was lost by one of the two.
    by_codes: OnceCell<PointSet>,
    deadline: &'a Deadline,
}

impl Case<'_> {
    fn of(&self, id: &PointId) -> Result<Why, Error> {
        let state = &self.snapshot.view.state;
        let Some(offset) = state.offset(id) else { return Err(not_found(vec![id.clone()])) };
        let returned = self.returned.contains(offset);
        let failed_condition = if returned || PlantedFault::FailedConditionHidden.is_on() {
            None
        } else {
            self.trace.failed_condition(state, offset)
        };
        let (score, rank) = self.score_and_rank(offset);
        let lost_by = if returned { None } else { Some(self.loss(offset)?) };
        Ok(Why { id: id.clone(), returned, score, rank, failed_condition, lost_by })
    }

    fn loss(&self, offset: PointOffset) -> Result<Loss, Error> {
        if let Some(loss) = self.trace.loss(&self.snapshot.view.state, offset, false) {
            return Ok(loss);
        }
        if self.trace.places.get(&offset).is_some_and(|&place| place < self.prepared.offset) {
            return Ok(Loss::Rank);
        }
        Ok(if self.found_by_codes()?.contains(offset) { Loss::Walk } else { Loss::Codes })
    }

    fn found_by_codes(&self) -> Result<&PointSet, Error> {
        if let Some(found) = self.by_codes.get() {
            return Ok(found);
        }
        let scanning = with_params(self.prepared, |params| SearchParams {
            scans_codes: true,
            indexed_only: false,
            ..params
        });
        let mut samples = self.samples.iter().cloned();
        let found = |step: &Step| match step.goal {
            Goal::Sample => Ok(List { hits: samples.next().unwrap_or_default(), smaller_is_better: false }),
            _ => leaf(self.snapshot, step, self.deadline),
        };
        let leaves = scanning.leaves().into_iter().map(found).collect::<Result<Vec<List>, Error>>()?;
        let hits = finish(self.snapshot, &scanning, leaves, self.deadline)?;
        Ok(self.by_codes.get_or_init(|| hits.iter().map(|hit| hit.offset).collect()))
    }

    /// The score of a point and its place. Of one that is not found, where it would be, if that can be said.
    fn score_and_rank(&self, offset: PointOffset) -> (Option<f32>, Option<u64>) {
        let Trace { hits, places, alone, .. } = &self.trace;
        if let Some(&place) = places.get(&offset) {
            return (Some(hits[place].score), Some(place as u64 + 1));
        }
        let goal = &self.prepared.root.goal;
        let score = alone.as_ref().and_then(|scores| scores.get(&offset).copied());
        let (Some(score), false) = (score, matches!(goal, Goal::OrderBy(_))) else { return (None, None) };
        if matches!(goal, Goal::Mmr { .. }) {
            return (Some(score), None);
        }
        let state = &self.snapshot.view.state;
        let id = state.at(offset).id();
        let is_better = |other: &Hit| {
            self.trace.is_worse(score, other.score)
                || score == other.score && state.at(other.offset).id() < id
        };
        (Some(score), Some(hits.partition_point(is_better) as u64 + 1))
    }
}
