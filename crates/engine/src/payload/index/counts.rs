//! The values of an index, each with how many points hold it.

use super::schema::FieldKind;
use super::{FieldIndex, Postings, Values, postings};
use crate::point_set::{Bits, PointSet};
use crate::types::PointOffset;

/// A value as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedValue<'a> {
    /// A value of a keyword index.
    Text(&'a str),
    /// A value of an integer index.
    Integer(i64),
    /// A value of a bool index.
    Bool(bool),
}

impl FieldIndex {
    /// Whether the index has its values as they are stored: a uuid index has many spellings as one, a float index `1` and
    /// `1.0`.
    pub fn has_stored_values(&self) -> bool {
        matches!(self.kind(), FieldKind::Keyword | FieldKind::Integer | FieldKind::Bool)
    }

    /// The points that hold a value as it is stored; `None` where the index does not cover such values.
    pub fn points_with(&self, value: &CountedValue<'_>) -> Option<PointSet> {
        let postings = match (&self.values, self.kind(), value) {
            (Values::Texts { texts, .. }, _, CountedValue::Text(text)) => texts.get(*text),
            (Values::Numbers(column), FieldKind::Integer, CountedValue::Integer(integer)) => {
                column.get(integer)
            }
            (Values::Numbers(column), FieldKind::Bool, CountedValue::Bool(value)) => {
                column.get(&i64::from(*value))
            }
            _ => return None,
        };
        Some(postings::union(postings.into_iter()))
    }

    /// Every covered value and how many points hold it, of `among` where that is given. `found` returns false to end it.
    /// Nothing where [`FieldIndex::has_stored_values`] is false.
    pub fn count_values<'a>(
        &'a self,
        among: Option<&Bits>,
        mut found: impl FnMut(CountedValue<'a>, u64) -> bool,
    ) {
        self.for_each_postings(|value, postings| {
            let count = match among {
                None => postings.len(),
                Some(bits) => postings.count_in(bits),
            };
            found(value, count)
        });
    }

    /// Every covered value with the points that hold it, ascending. `found` returns false to end it. Nothing where
    /// [`FieldIndex::has_stored_values`] is false.
    pub fn for_each_value<'a>(
        &'a self,
        mut found: impl FnMut(CountedValue<'a>, &mut dyn Iterator<Item = PointOffset>) -> bool,
    ) {
        self.for_each_postings(|value, postings| found(value, &mut postings.iter()));
    }

    fn for_each_postings<'a>(&'a self, mut found: impl FnMut(CountedValue<'a>, &'a Postings) -> bool) {
        match (&self.values, self.kind()) {
            (Values::Texts { texts, .. }, _) => {
                for (text, postings) in texts.range::<str>(..) {
                    if !found(CountedValue::Text(text), postings) {
                        return;
                    }
                }
            }
            (Values::Numbers(column), kind @ (FieldKind::Integer | FieldKind::Bool)) => {
                for (&key, postings) in column.range::<i64>(..) {
                    let value = match kind {
                        FieldKind::Bool => CountedValue::Bool(key != 0),
                        _ => CountedValue::Integer(key),
                    };
                    if !found(value, postings) {
                        return;
                    }
                }
            }
            _ => {}
        }
    }
}
