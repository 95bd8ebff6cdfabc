//! Ordering by the value of a field (C6.7).

use super::matching::Matching;
use super::request::{Direction, OrderBy, StartFrom};
use super::{Hit, OrderValue, estimate};
use crate::collection::State;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::filter::IndexSet as _;
use crate::payload::{Document, OrderKey, Postings, Value, parse_datetime};
use crate::types::{PointId, PointOffset};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Integers below this are floats without loss.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// The first `limit` values in that order, one entry for each different value of a point. Ties are by id, ascending.
///
/// An integer or datetime index is read in its order when it knows every value of the field; otherwise, and when
/// only few points match, the documents are read. The answer is the same.
pub fn ordered(
    state: &State,
    matching: &Matching<'_>,
    order_by: &OrderBy,
    limit: usize,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    // Reading the index meets a matching point in every (live / matching) entries.
    let live = state.live.len();
    let entries = (limit as u64).saturating_mul(live) / matching.at_most().max(1);
    // An index compares its integers with a float as floats, which is exact below 2^53 only.
    let exact =
        !matches!(order_by.start_from, Some(StartFrom::Float(start)) if start.abs() >= EXACT_INTEGERS);
    let index = state
        .index(&order_by.key)
        .filter(|index| exact && index.uncovered().is_empty() && entries < matching.at_most());
    if let Some(index) = index
        && let Some(values) = index.ordered(first_key(order_by), order_by.direction == Direction::Desc)
        && let Some(hits) = from_index(state, matching, values, limit, deadline)?
    {
        return Ok(hits);
    }
    from_documents(state, matching, order_by, limit, deadline)
}

fn first_key(order_by: &OrderBy) -> Option<OrderKey> {
    order_by.start_from.map(|start| match start {
        StartFrom::Integer(value) => OrderKey::Integer(value),
        StartFrom::Float(value) => OrderKey::Float(value),
        StartFrom::Datetime(value) => OrderKey::Datetime(value),
    })
}

/// `None` when the index holds floats: it knows `1` and `1.0` as one value, and answers show them as they are.
fn from_index<'a>(
    state: &State,
    matching: &Matching<'_>,
    values: impl Iterator<Item = (OrderKey, &'a Postings)>,
    limit: usize,
    deadline: &Deadline,
) -> Result<Option<Vec<Hit>>, Error> {
    let mut hits = Vec::new();
    let mut pace = matching.pace(deadline);
    for (key, postings) in values {
        let value = match key {
            OrderKey::Integer(value) | OrderKey::Datetime(value) => OrderValue::Integer(value),
            OrderKey::Float(_) => return Ok(None),
        };
        let mut offsets = Vec::new();
        for offset in postings.iter() {
            pace.step(state.at(offset).document().len())?;
            if matching.accepts(offset) {
                offsets.push(offset);
            }
        }
        offsets.sort_unstable_by(|&a, &b| state.at(a).id().cmp(&state.at(b).id()));
        hits.extend(offsets.into_iter().map(|offset| Hit { offset, score: 1.0, order_value: Some(value) }));
        if hits.len() >= limit {
            hits.truncate(limit);
            break;
        }
    }
    Ok(Some(hits))
}

fn from_documents(
    state: &State,
    matching: &Matching<'_>,
    order_by: &OrderBy,
    limit: usize,
    deadline: &Deadline,
) -> Result<Vec<Hit>, Error> {
    let start = order_by.start_from.map(|start| match start {
        StartFrom::Integer(value) | StartFrom::Datetime(value) => OrderValue::Integer(value),
        StartFrom::Float(value) => OrderValue::Float(value),
    });
    let compare = |a: &Entry<'_>, b: &Entry<'_>| {
        let by_value = match order_by.direction {
            Direction::Asc => compare_values(a.value, b.value),
            Direction::Desc => compare_values(b.value, a.value),
        };
        by_value.then_with(|| a.id.cmp(&b.id))
    };
    deadline.expect(estimate::documents(matching.at_most(), 1))?;
    // Keeps the list short, for one point with a long array as for all points together. Entries beyond the first `limit` are
    // not needed again.
    let most = GATHERED.max(limit * 2);
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut pace = Pace::new(deadline, 1);
    for offset in state.reading(matching.offsets(deadline)?.iter()) {
        let point = state.at(offset);
        let first_entry = entries.len();
        pace.step(point.document().len())?;
        Document::new(point.document()).values_at(&order_by.key, |value| {
            each_orderable(value, &mut |value| {
                let from_start = start.is_none_or(|start| match order_by.direction {
                    Direction::Asc => compare_values(value, start) != Ordering::Less,
                    Direction::Desc => compare_values(value, start) != Ordering::Greater,
                });
                if from_start {
                    entries.push(Entry { value, id: point.id(), offset });
                    if entries.len() - first_entry >= most {
                        drop_repeated(&mut entries, first_entry);
                        keep_first(&mut entries, first_entry, limit, compare);
                    }
                }
            });
        });
        drop_repeated(&mut entries, first_entry);
        if entries.len() >= most {
            keep_first(&mut entries, 0, limit, compare);
        }
    }
    entries.sort_unstable_by(compare);
    entries.truncate(limit);
    Ok(entries
        .into_iter()
        .map(|entry| Hit { offset: entry.offset, score: 1.0, order_value: Some(entry.value) })
        .collect())
}

/// Entries that are gathered before any is dropped.
const GATHERED: usize = 4_096;

/// Drops all but the first `limit` of the entries from `first` on, in no order.
fn keep_first(
    entries: &mut Vec<Entry>,
    first: usize,
    limit: usize,
    compare: impl Fn(&Entry, &Entry) -> Ordering,
) {
    if entries.len() - first > limit {
        entries[first..].select_nth_unstable_by(limit, compare);
        entries.truncate(first + limit);
    }
}

/// Drops those entries from `first` on, all of one point, whose value an earlier one of them has.
fn drop_repeated(entries: &mut Vec<Entry>, first: usize) {
    // By sorting, as an array may be long. The sort is stable: of `1` and `1.0` the one that was stored first stays.
    entries[first..].sort_by(|a, b| compare_values(a.value, b.value));
    let mut kept = first;
    for at in first..entries.len() {
        if at == first || compare_values(entries[kept - 1].value, entries[at].value) != Ordering::Equal {
            entries.swap(kept, at);
            kept += 1;
        }
    }
    entries.truncate(kept);
}

/// A value of a point.
struct Entry<'v> {
    value: OrderValue,
    id: Cow<'v, PointId>,
    offset: PointOffset,
}

/// Calls `found` for each value that has an order: numbers and date-times, the elements of an array one by one.
fn each_orderable(value: Value<'_>, found: &mut dyn FnMut(OrderValue)) {
    match value {
        Value::Number(text) => {
            if let Ok(integer) = text.parse::<i64>() {
                found(OrderValue::Integer(integer));
            } else if let Ok(float) = text.parse::<f64>() {
                found(OrderValue::Float(float));
            }
        }
        Value::String(text) => {
            if let Some(micros) = parse_datetime(&text.decode()) {
                found(OrderValue::Integer(micros));
            }
        }
        Value::Array(array) => {
            for element in array.elements().filter(|element| !matches!(element, Value::Array(_))) {
                each_orderable(element, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
    }
}

/// Compares integers exactly and everything else as `f64`.
pub fn compare_values(a: OrderValue, b: OrderValue) -> Ordering {
    match (a, b) {
        (OrderValue::Integer(a), OrderValue::Integer(b)) => a.cmp(&b),
        // JSON has no NaN. The two zeros are equal here, as each of them is to the integer 0.
        (OrderValue::Float(a), OrderValue::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        (OrderValue::Integer(a), OrderValue::Float(b)) => compare_mixed(a, b),
        (OrderValue::Float(a), OrderValue::Integer(b)) => compare_mixed(b, a).reverse(),
    }
}

/// An integer against a float without losing the integer's low bits, so that the order stays total.
fn compare_mixed(a: i64, b: f64) -> Ordering {
    if b >= 9_223_372_036_854_775_808.0 {
        return Ordering::Less;
    }
    if b < -9_223_372_036_854_775_808.0 {
        return Ordering::Greater;
    }
    let whole = b.floor();
    a.cmp(&(whole as i64)).then(if b > whole { Ordering::Less } else { Ordering::Equal })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_value() -> impl Strategy<Value = OrderValue> {
        prop_oneof![
            any::<i64>().prop_map(OrderValue::Integer),
            (-3i64..3).prop_map(OrderValue::Integer),
            (-6i32..6).prop_map(|v| OrderValue::Float(f64::from(v) / 2.0)),
            Just(OrderValue::Float(-0.0)),
            (-1e19f64..1e19).prop_map(OrderValue::Float),
        ]
    }

    #[test]
    fn a_point_has_one_row_for_each_different_value() {
        let ids = [7, 8].map(PointId::Num);
        let entry =
            |id: usize, value| Entry { value, id: Cow::Borrowed(&ids[id - 7]), offset: PointOffset::new(0) };
        let (one, also_one, two) = (OrderValue::Integer(1), OrderValue::Float(1.0), OrderValue::Integer(2));
        let mut entries =
            vec![entry(7, one), entry(8, two), entry(8, also_one), entry(8, two), entry(8, one)];
        drop_repeated(&mut entries, 1);
        let values: Vec<OrderValue> = entries.iter().map(|entry| entry.value).collect();
        assert_eq!(format!("{values:?}"), format!("{:?}", [one, also_one, two]));
    }

    #[test]
    fn of_many_rows_the_first_are_kept() {
        let entry = |value| Entry {
            value: OrderValue::Integer(value),
            id: Cow::Owned(PointId::Num(1)),
            offset: PointOffset::new(0),
        };
        let mut entries: Vec<Entry<'_>> = [-7, -8].into_iter().chain((0..100).rev()).map(entry).collect();
        keep_first(&mut entries, 2, 10, |a, b| compare_values(a.value, b.value));
        entries[2..].sort_unstable_by(|a, b| compare_values(a.value, b.value));
        let values: Vec<OrderValue> = entries.iter().map(|entry| entry.value).collect();
        let expected: Vec<OrderValue> = [-7, -8].into_iter().chain(0..10).map(OrderValue::Integer).collect();
        assert_eq!(format!("{values:?}"), format!("{expected:?}"));
        keep_first(&mut entries, 2, 10, |a, b| compare_values(a.value, b.value));
        assert_eq!(entries.len(), 12);
    }

    proptest! {
        #[test]
        fn the_order_is_total(a in any_value(), b in any_value(), c in any_value()) {
            prop_assert_eq!(compare_values(a, b), compare_values(b, a).reverse());
            if compare_values(a, b) != Ordering::Greater && compare_values(b, c) != Ordering::Greater {
                prop_assert_ne!(compare_values(a, c), Ordering::Greater);
            }
        }
    }
}
