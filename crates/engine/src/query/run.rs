//! The universal query (C6.3), and search, which is one form of it.
//!
//! The leaves of a query are independent of each other, so that threads can run them at the same time ([`leaf`]). The
//! steps above them work on what they have found ([`finish`]).

use super::matching::Matching;
use super::prepared::{Goal, Prepared, Step};
use super::ranking::by_id;
use super::scorer;
use super::tree::{QueryRequest, SearchParams};
use super::vector_search::VectorSearch;
use super::{Hit, calculated, custom_scan, fusion, mmr, order, sample, scroll, tally};
use crate::collection::{Snapshot, View};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::point_set::PointSet;
use crate::types::{PointId, PointOffset};
use std::sync::Arc;

/// Finds the collection that an example id is looked up in.
pub trait Lookup {
    /// A snapshot of that collection.
    ///
    /// # Errors
    /// `CollectionNotFound` and what else the catalog says of it.
    fn collection(&self, name: &str) -> Result<Arc<Snapshot>, Error>;

    /// Whether the caller may see the point at an offset of a view. One that it may not see is absent for it.
    ///
    /// # Errors
    /// Those of the deadline of the request.
    fn shows(&self, view: &View, offset: PointOffset) -> Result<bool, Error> {
        let _ = (view, offset);
        Ok(true)
    }

    /// Whether a view has a point of that id which the caller may see.
    ///
    /// # Errors
    /// As of [`Lookup::shows`].
    fn finds(&self, view: &View, id: &PointId) -> Result<bool, Error> {
        view.state.offset(id).map_or(Ok(false), |offset| self.shows(view, offset))
    }
}

/// What a step has found, best first.
pub struct List {
    /// The hits.
    pub hits: Vec<Hit>,
    /// Their scores are distances.
    pub smaller_is_better: bool,
}

/// Prepares and runs a query on a snapshot, on this thread.
///
/// # Errors
/// The errors of [`Prepared::new`] and of [`run`].
pub fn query(
    snapshot: &Snapshot,
    request: &QueryRequest,
    lookup: &dyn Lookup,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    run(snapshot, &Prepared::new(snapshot, request, lookup)?, deadline)
}

/// Runs a query on the snapshot that it was prepared for, on this thread.
///
/// # Errors
/// `Timeout`.
pub fn run(snapshot: &Snapshot, prepared: &Prepared, deadline: &Deadline) -> Result<Vec<Hit>, Error> {
    let root = &prepared.root;
    // Most requests are one leaf.
    if root.sources.is_empty() {
        return Ok(page(prepared, leaf(snapshot, root, deadline)?.hits));
    }
    let leaves = prepared.leaves().into_iter().map(|step| leaf(snapshot, step, deadline));
    let lists = leaves.collect::<Result<Vec<List>, Error>>()?;
    finish(snapshot, prepared, lists, deadline)
}

/// Runs one leaf of a query.
///
/// # Errors
/// `Timeout`.
pub fn leaf(snapshot: &Snapshot, step: &Step, deadline: &Deadline) -> Result<List, Error> {
    deadline.check()?;
    let mut matching =
        tally::planned(1, || Matching::new(&snapshot.view.state, step.filter.as_deref(), deadline));
    let list = find(snapshot, step, &mut matching, step.params, deadline)?;
    tally::matched(1, &matching);
    deadline.whole(list)
}

/// The hits of a query, given what its leaves have found, in their order.
///
/// # Errors
/// `Timeout`.
pub fn finish(
    snapshot: &Snapshot,
    prepared: &Prepared,
    leaves: Vec<List>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let list = merge(snapshot, &prepared.root, &mut leaves.into_iter(), deadline)?;
    Ok(page(prepared, list.hits))
}

/// What is answered of the hits found.
pub(super) fn page(prepared: &Prepared, mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.drain(..prepared.offset.min(hits.len()));
    hits
}

/// What a step finds among what is below it.
fn merge(
    snapshot: &Snapshot,
    step: &Step,
    leaves: &mut std::vec::IntoIter<List>,
    deadline: &Deadline,
) -> Result<List, Error> {
    if step.sources.is_empty() {
        return leaves.next().ok_or_else(|| Error::Internal("a leaf of a query was left out".into()));
    }
    let lists = merge_sources(snapshot, step, leaves, deadline)?;
    combine(snapshot, step, &lists, deadline)
}

/// What each source of a step finds.
pub(super) fn merge_sources(
    snapshot: &Snapshot,
    step: &Step,
    leaves: &mut std::vec::IntoIter<List>,
    deadline: &Deadline,
) -> Result<Vec<List>, Error> {
    step.sources.iter().map(|source| merge(snapshot, source, leaves, deadline)).collect()
}

/// What a step finds among what its sources have found.
pub(super) fn combine(
    snapshot: &Snapshot,
    step: &Step,
    lists: &[List],
    deadline: &Deadline,
) -> Result<List, Error> {
    deadline.check()?;
    let state = &snapshot.view.state;
    let hits = match &step.goal {
        Goal::Fusion(fusion) => Some(fusion::fuse(by_id(state), fusion, lists, step.window, step.threshold)),
        Goal::Formula(formula) => {
            Some(calculated::rank(state, formula, lists, step.window, step.threshold, deadline)?)
        }
        _ => None,
    };
    if let Some(hits) = hits {
        return Ok(List { hits, smaller_is_better: false });
    }
    let found: PointSet = lists.iter().flat_map(|list| &list.hits).map(|hit| hit.offset).collect();
    // Each of the candidates is compared, however many there are.
    let params = SearchParams { exact: true, ..step.params };
    find(snapshot, step, &mut Matching::among(state, found), params, deadline)
}

/// What a step finds among the points that match.
///
/// # Errors
/// `Timeout`.
pub(super) fn find(
    snapshot: &Snapshot,
    step: &Step,
    matching: &mut Matching<'_>,
    params: SearchParams,
    deadline: &Deadline,
) -> Result<List, Error> {
    let view = &*snapshot.view;
    let (state, window, threshold) = (&view.state, step.window, step.threshold);
    let by_distance = |field| !scorer::metric_of(&state.config, field).higher_is_better();
    let list = |hits| List { hits, smaller_is_better: false };
    match &step.goal {
        Goal::Nearest(target) => {
            let search = VectorSearch::of_step(&state.config, step, params, target, window);
            let hits = scorer::nearest(snapshot, &search, matching, deadline)?;
            return Ok(List { hits, smaller_is_better: by_distance(target.field) });
        }
        Goal::Mmr { target, diversity, candidates, .. } => {
            let search = VectorSearch::of_step(&state.config, step, params, target, *candidates);
            let hits = scorer::nearest(snapshot, &search, matching, deadline)?;
            let hits = mmr::choose(view, target, *diversity, hits, window, deadline)?;
            return Ok(List { hits, smaller_is_better: by_distance(target.field) });
        }
        _ => matching.exclude(&step.excluded),
    }
    Ok(list(match &step.goal {
        Goal::Custom(custom) => custom_scan::scan(view, custom, matching, window, threshold, deadline)?,
        Goal::OrderBy(order_by) => order::ordered(state, matching, order_by, window, deadline)?,
        Goal::Sample => sample::sample(matching, window, deadline)?,
        Goal::ById => {
            let offsets = scroll::by_id(state, matching, None, window, deadline)?;
            offsets.into_iter().map(Hit::unscored).collect()
        }
        Goal::Nearest(_) | Goal::Mmr { .. } | Goal::Fusion(_) | Goal::Formula(_) => {
            return Err(Error::Internal("a step without sources works on sources".into()));
        }
    }))
}
