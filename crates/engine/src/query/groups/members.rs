//! Which points belong to given groups.

use crate::collection::State;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::filter::IndexSet as _;
use crate::group_keys::{GroupId, groups_of};
use crate::payload::{CountedValue, FieldIndex, Interval, JsonPath};
use crate::point_set::PointSet;
use crate::query::estimate;
use crate::types::{PointId, PointOffset};
use std::collections::HashMap;

/// The points of each group among `candidates`. An index of the field that has its values as they are stored gives them
/// for most points; any other index says whose documents have to be read. Without one, those of all candidates are read.
///
/// # Errors
/// `Timeout`.
pub(super) fn members(
    state: &State,
    by: &JsonPath,
    groups: &[&GroupId<'_>],
    candidates: &PointSet,
    deadline: &Deadline,
) -> Result<Vec<PointSet>, Error> {
    let Some(index) = state.index(by) else {
        return by_documents(state, by, groups, candidates, deadline);
    };
    if !index.has_stored_values() {
        let mut possible = PointSet::new();
        groups.iter().for_each(|group| possible |= &may_hold(index, group));
        return by_documents(state, by, groups, &(&possible & candidates), deadline);
    }
    // Points with a value that the index does not cover may be in no group, and in groups that it does not know.
    let odd = &(index.uncovered() | index.null()) & candidates;
    let mut members = by_documents(state, by, groups, &odd, deadline)?;
    for (group, members) in groups.iter().zip(&mut members) {
        if let Some(holders) = group.indexed().and_then(|value| index.points_with(&value)) {
            *members |= &(&(&holders & candidates) - &odd);
        }
    }
    Ok(members)
}

/// The points that may be in a group.
fn may_hold(index: &FieldIndex, group: &GroupId<'_>) -> PointSet {
    match group.indexed() {
        Some(CountedValue::Text(text)) => index.match_string(text, PointId::parse_uuid(text)).possible(),
        Some(CountedValue::Integer(integer)) => index.match_integer(integer).possible(),
        // An integer beyond those of conditions, which an index of floats has nevertheless.
        _ => match group {
            GroupId::Integer(integer) => {
                let at = Some(*integer as f64);
                let value = Interval { gte: at, lte: at, ..Interval::default() };
                &index.numbers_within(&value).possible() | index.uncovered()
            }
            GroupId::Text(_) => index.uncovered().clone(),
        },
    }
}

fn by_documents(
    state: &State,
    by: &JsonPath,
    groups: &[&GroupId<'_>],
    points: &PointSet,
    deadline: &Deadline,
) -> Result<Vec<PointSet>, Error> {
    let mut members: Vec<Vec<PointOffset>> = vec![Vec::new(); groups.len()];
    if !points.is_empty() {
        deadline.expect(estimate::documents(points.len(), 1))?;
        let places: HashMap<&GroupId<'_>, usize> = groups.iter().copied().zip(0..).collect();
        let (mut pace, mut ids) = (Pace::new(deadline, 1), Vec::new());
        for offset in state.reading(points.iter()) {
            let payload = state.at(offset).document();
            pace.step(payload.len())?;
            groups_of(payload, by, &mut ids);
            ids.iter().filter_map(|id| places.get(id)).for_each(|&place| members[place].push(offset));
        }
    }
    Ok(members.iter().map(|offsets| PointSet::from_sorted(offsets)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{FieldKind, FieldSchema};

    #[test]
    fn points_with_an_integer_beyond_those_of_conditions_may_be_in_its_group_whatever_the_index() {
        let large = GroupId::Integer(u64::MAX.into());
        let document = br#"{"k":18446744073709551615}"#;
        for kind in FieldKind::ALL {
            let mut index = FieldIndex::new(JsonPath::parse("k").unwrap(), FieldSchema::new(kind));
            index.replace(PointOffset::new(7), None, Some(document));
            assert!(may_hold(&index, &large).contains(PointOffset::new(7)), "{kind:?}");
        }
    }
}
