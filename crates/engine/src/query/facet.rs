//! Facets: the values of a field and how many of the matching points hold each.
//!
//! The answer does not depend on field indexes. Where an index has the values as they are stored, and not only few points
//! match, its postings are counted, and documents are read only of points with values that it does not cover. Otherwise
//! the documents of all matching points are read.

use super::estimate;
use super::matching::Matching;
use super::request::FacetRequest;
use crate::collection::{State, View};
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::filter::IndexSet as _;
use crate::limits::MAX_FACET_VALUES;
use crate::payload::{CountedValue, Document, FieldIndex, JsonPath, Value};
use crate::point_set::PointSet;
use std::borrow::Cow;
use std::collections::HashMap;

/// A document is read about as fast as so many entries of an index are counted.
const ENTRIES_PER_DOCUMENT: u64 = 8;

/// A value of a field: those that `match` compares with. Ordered as facets with equal counts are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FacetValue<'a> {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A string, as it is stored.
    Text(Cow<'a, str>),
}

/// A value and how many points hold it.
pub type FacetHit<'a> = (FacetValue<'a>, u64);

/// The values that most of the matching points hold, most first; of equal counts by value.
///
/// # Errors
/// `Timeout`; `BadRequest` for a field with too many values.
pub fn facet<'v>(
    view: &'v View,
    request: &FacetRequest,
    deadline: &Deadline,
) -> Result<Vec<FacetHit<'v>>, Error> {
    let state = &view.state;
    let matching = Matching::new(state, request.filter.as_ref(), deadline);
    let everything = matching.is_everything();
    let points = matching.offsets(deadline)?;
    let index = state.index(&request.key).filter(|index| {
        let entries = index.points_count();
        index.has_stored_values() && points.len().saturating_mul(ENTRIES_PER_DOCUMENT) >= entries
    });
    let mut counts = Counts { found: HashMap::new(), pace: Pace::new(deadline, 1) };
    let mut hits = match index {
        None => {
            deadline.expect(estimate::documents(points.len(), 1))?;
            counts.add_documents(state, &points, &request.key, |_| true)?;
            Vec::new()
        }
        Some(index) => {
            let odd = index.uncovered() & &points;
            deadline.expect(estimate::documents(odd.len(), 1))?;
            let covered = |value: &FacetValue<'_>| covers(index, value);
            counts.add_documents(state, &odd, &request.key, |value| !covered(value))?;
            counts.of_index(index, (!everything).then_some(&points))?
        }
    };
    hits.extend(counts.found);
    if hits.len() > MAX_FACET_VALUES {
        return Err(too_many());
    }
    let order = |a: &FacetHit<'_>, b: &FacetHit<'_>| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    if hits.len() > request.limit {
        hits.select_nth_unstable_by(request.limit, order);
        hits.truncate(request.limit);
    }
    hits.sort_unstable_by(order);
    Ok(hits)
}

/// Whether an index that has stored values has that one.
fn covers(index: &FieldIndex, value: &FacetValue<'_>) -> bool {
    use crate::payload::FieldKind;
    match value {
        FacetValue::Bool(_) => index.schema().kind() == FieldKind::Bool,
        FacetValue::Integer(_) => index.schema().kind() == FieldKind::Integer,
        FacetValue::Text(_) => index.schema().kind() == FieldKind::Keyword,
    }
}

fn too_many() -> Error {
    Error::bad(format!("key: the field has more than {MAX_FACET_VALUES} different values"))
}

/// What is counted so far, of documents.
struct Counts<'v, 'd> {
    found: HashMap<FacetValue<'v>, u64>,
    pace: Pace<'d>,
}

impl<'v> Counts<'v, '_> {
    /// Counts each value of each document once, of those that are `wanted`.
    fn add_documents(
        &mut self,
        state: &'v State,
        points: &PointSet,
        key: &JsonPath,
        wanted: impl Fn(&FacetValue<'_>) -> bool,
    ) -> Result<(), Error> {
        let mut values = Vec::new();
        for offset in state.reading(points.iter()) {
            let bytes = state.at(offset).document();
            self.pace.step(bytes.len())?;
            Document::new(bytes).values_at(key, |value| match value {
                Value::Array(array) => array.elements().for_each(|element| values.extend(of(element))),
                value => values.extend(of(value)),
            });
            values.sort_unstable();
            values.dedup();
            for value in values.drain(..).filter(|value| wanted(value)) {
                *self.found.entry(value).or_default() += 1;
            }
            if self.found.len() > MAX_FACET_VALUES {
                return Err(too_many());
            }
        }
        Ok(())
    }

    /// Counts the values of an index, of all points or of these.
    fn of_index(
        &mut self,
        index: &'v FieldIndex,
        among: Option<&PointSet>,
    ) -> Result<Vec<FacetHit<'v>>, Error> {
        let bits = among.map(PointSet::bits);
        let (mut hits, mut over) = (Vec::new(), Ok(()));
        index.count_values(bits.as_ref(), |value, count| {
            over = self.pace.step(count as usize);
            if count > 0 {
                let value = match value {
                    CountedValue::Text(text) => FacetValue::Text(Cow::Borrowed(text)),
                    CountedValue::Integer(integer) => FacetValue::Integer(integer),
                    CountedValue::Bool(value) => FacetValue::Bool(value),
                };
                hits.push((value, count));
            }
            if hits.len() > MAX_FACET_VALUES {
                over = Err(too_many());
            }
            over.is_ok()
        });
        over.map(|()| hits)
    }
}

/// The facet of a stored value, if it is one that `match` compares with.
fn of(value: Value<'_>) -> Option<FacetValue<'_>> {
    match value {
        Value::Bool(value) => Some(FacetValue::Bool(value)),
        Value::Number(_) => value.as_i64().map(FacetValue::Integer),
        Value::String(text) => Some(FacetValue::Text(text.decode())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
