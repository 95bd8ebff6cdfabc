//! What prefetches have found, in the order of a formula (C6.3).

use super::Hit;
use super::formula::Formula;
use super::ranking::ranking;
use super::run::List;
use crate::collection::State;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::point_set::PointSet;
use crate::types::PointOffset;
use std::collections::HashMap;

/// The best `k` of the points in some lists, ties by id, none of them below the threshold.
///
/// # Errors
/// `Timeout`; `BadRequest` where the formula has no value.
pub fn rank(
    state: &State,
    formula: &Formula,
    lists: &[List],
    k: usize,
    threshold: Option<f32>,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let found: PointSet = lists.iter().flat_map(|list| &list.hits).map(|hit| hit.offset).collect();
    let scores: Vec<HashMap<PointOffset, f32>> = lists.iter().map(scores_of).collect();
    let mut best = ranking(state, k, threshold);
    let mut pace = Pace::new(deadline, formula.work());
    let mut of_point = Vec::with_capacity(lists.len());
    for offset in state.reading(found.iter()) {
        pace.step(state.at(offset).document().len())?;
        of_point.clear();
        of_point.extend(scores.iter().map(|scores| scores.get(&offset).copied()));
        best.offer(offset, formula.evaluate(&state.subject(offset), &of_point, Some(deadline))?);
    }
    Ok(best.into_hits())
}

/// The score of each point of a list; that of its first hit where it has several.
pub(super) fn scores_of(list: &List) -> HashMap<PointOffset, f32> {
    let mut scores = HashMap::with_capacity(list.hits.len());
    for hit in &list.hits {
        scores.entry(hit.offset).or_insert(hit.score);
    }
    scores
}
