//! Reading an index in the order of its values.

use super::keys::float_of_key;
use super::lookup::{float_keys, keys_within};
use super::postings::Postings;
use super::schema::FieldKind;
use super::{FieldIndex, Values};
use crate::payload::interval::Interval;

/// A value that has an order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OrderKey {
    /// A value of an integer index.
    Integer(i64),
    /// A value of a float index.
    Float(f64),
    /// A value of a datetime index: microseconds since the epoch.
    Datetime(i64),
}

/// Values in order, each with the points that hold it. A point with several values comes once for each.
pub type Ordered<'a> = Box<dyn Iterator<Item = (OrderKey, &'a Postings)> + 'a>;

impl FieldIndex {
    /// The covered values from `from` on, inclusive, in ascending or descending order. Points in
    /// [`FieldIndex::uncovered`] may hold further values, which the caller has to read from their payloads.
    ///
    /// `None` when the values have no order or `from` is not of their kind.
    pub fn ordered(&self, from: Option<OrderKey>, descending: bool) -> Option<Ordered<'_>> {
        let Values::Numbers(column) = &self.values else { return None };
        let kind = self.kind();
        let from = match from {
            None => Some(i64::MIN..=i64::MAX),
            Some(from) => match (kind, from) {
                (FieldKind::Integer, OrderKey::Integer(value))
                | (FieldKind::Datetime, OrderKey::Datetime(value)) => {
                    Some(if descending { i64::MIN..=value } else { value..=i64::MAX })
                }
                (FieldKind::Integer, OrderKey::Float(value)) => {
                    let interval = from_float(value, descending);
                    keys_within(|k| interval.above_lower(k as f64), |k| interval.below_upper(k as f64))
                }
                (FieldKind::Float, OrderKey::Integer(value)) => {
                    float_keys(&from_float(value as f64, descending))
                }
                (FieldKind::Float, OrderKey::Float(value)) => float_keys(&from_float(value, descending)),
                _ => return None,
            },
        };
        let wrap: fn(i64) -> OrderKey = match kind {
            FieldKind::Integer => OrderKey::Integer,
            FieldKind::Float => |key| OrderKey::Float(float_of_key(key)),
            FieldKind::Datetime => OrderKey::Datetime,
            FieldKind::Keyword | FieldKind::Bool | FieldKind::Uuid | FieldKind::Text | FieldKind::Geo => {
                return None;
            }
        };
        let Some(keys) = from else { return Some(Box::new(std::iter::empty())) };
        let entries =
            column.range(keys).map(move |(key, postings): (&i64, &Postings)| (wrap(*key), postings));
        Some(if descending { Box::new(entries.rev()) } else { Box::new(entries) })
    }

    /// Whether the index has values in order: integers, floats or date-times.
    pub fn is_orderable(&self) -> bool {
        matches!(self.kind(), FieldKind::Integer | FieldKind::Float | FieldKind::Datetime)
    }
}

fn from_float(value: f64, descending: bool) -> Interval<f64> {
    if descending {
        Interval { lte: Some(value), ..Interval::default() }
    } else {
        Interval { gte: Some(value), ..Interval::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FieldSchema;
    use super::*;
    use crate::payload::JsonPath;
    use crate::types::PointOffset;

    fn index(kind: FieldKind, docs: &[&str]) -> FieldIndex {
        let mut index = FieldIndex::new(JsonPath::parse("k").unwrap(), FieldSchema::new(kind));
        for (offset, value) in docs.iter().enumerate() {
            index.insert(PointOffset::new(offset as u32), format!("{{\"k\":{value}}}").as_bytes());
        }
        index
    }

    fn order(index: &FieldIndex, from: Option<OrderKey>, descending: bool) -> Vec<(OrderKey, Vec<u32>)> {
        index
            .ordered(from, descending)
            .unwrap()
            .map(|(key, held)| (key, held.iter().map(PointOffset::get).collect()))
            .collect()
    }

    #[test]
    fn values_come_in_order_with_their_points_c6_7() {
        use OrderKey::{Datetime, Float, Integer};
        let integers = index(FieldKind::Integer, &["5", "-1", "[5,7]", "\"x\"", "2.5"]);
        assert_eq!(
            order(&integers, None, false),
            [(Integer(-1), vec![1]), (Integer(5), vec![0, 2]), (Integer(7), vec![2])]
        );
        assert_eq!(
            order(&integers, Some(Integer(5)), true),
            [(Integer(5), vec![0, 2]), (Integer(-1), vec![1])]
        );
        assert_eq!(order(&integers, Some(Float(5.5)), false), [(Integer(7), vec![2])]);
        let floats = index(FieldKind::Float, &["2.5", "-0.5", "3", "-0.0"]);
        assert_eq!(
            order(&floats, Some(Integer(0)), false),
            [(Float(0.0), vec![3]), (Float(2.5), vec![0]), (Float(3.0), vec![2])]
        );
        let dates = index(FieldKind::Datetime, &["\"1970-01-02\"", "\"1970-01-01\"", "\"no date\""]);
        assert_eq!(order(&dates, None, true), [(Datetime(86_400_000_000), vec![0]), (Datetime(0), vec![1])]);
        assert!(integers.ordered(Some(Datetime(0)), false).is_none());
        assert!(index(FieldKind::Keyword, &[]).ordered(None, false).is_none());
        assert!(integers.is_orderable() && !index(FieldKind::Bool, &[]).is_orderable());
    }
}
