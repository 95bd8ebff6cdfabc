//! Which points satisfy a condition, as far as an index knows.
//!
//! Each lookup answers for *some value of the point satisfies the condition*, arrays opened one level. A value that
//! the index covers is decided here where its key tells enough; the others leave the point in doubt.

use super::bounds::Bounds;
use super::held::float_key;
use super::postings;
use super::schema::FieldKind;
use super::words::Words;
use super::work::PlanWork;
use super::{FieldIndex, Values};
use crate::payload::datetime::parse_datetime;
use crate::payload::interval::Interval;
use crate::payload::text::Pattern;
use crate::point_set::PointSet;
use std::ops::RangeInclusive;

impl FieldIndex {
    /// Strings equal to `text`; `uuid` is its value if it is a UUID, and then strings that are the same UUID.
    pub fn match_string(&self, text: &str, uuid: Option<u128>) -> Bounds {
        self.any_strings(std::iter::once((text, uuid)))
    }

    /// Strings equal to one of these, each with the UUID that it may be. At least one.
    pub fn any_strings<'t>(&self, list: impl Iterator<Item = (&'t str, Option<u128>)>) -> Bounds {
        if let Values::Words(words) = &self.values {
            return Bounds::within(self.holders(words, list));
        }
        let mut others = false;
        let hits = self.covered_strings(list, &mut others);
        match self.kind() {
            FieldKind::Keyword => Bounds::exact(hits),
            FieldKind::Uuid if !others => Bounds::exact(hits),
            FieldKind::Uuid => Bounds::new(hits, self.odd_points()),
            // Equal strings are the same date-time; whether the same date-time is the same string, only the payload says.
            FieldKind::Datetime if !others => Bounds::within(hits),
            FieldKind::Datetime => Bounds::within(&hits | &self.odd),
            FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Text | FieldKind::Geo => {
                Bounds::within(self.odd_points())
            }
        }
    }

    /// Points that may hold one of the strings, by their words. Another spelling of a UUID has other words.
    fn holders<'t>(&self, words: &Words, list: impl Iterator<Item = (&'t str, Option<u128>)>) -> PointSet {
        let mut holders = postings::Union::default();
        for (text, uuid) in list {
            match words.candidates(text).filter(|_| uuid.is_none()) {
                Some(hits) => holders.add_set(&hits),
                None => return self.indexed.clone(),
            }
        }
        holders.finish()
    }

    /// Strings with the tokens of a pattern, which is made with this index's tokenizer.
    ///
    /// `None` if this is no text index.
    pub fn match_words(&self, pattern: &Pattern, work: &PlanWork) -> Option<Bounds> {
        match &self.values {
            Values::Words(words) => Some(words.matching(pattern, &self.several, &work.tokens)),
            _ => None,
        }
    }

    /// Points that hold a covered value that may be one of the strings; `others` tells whether some of the strings
    /// can be no covered value.
    fn covered_strings<'t>(
        &self,
        list: impl Iterator<Item = (&'t str, Option<u128>)>,
        others: &mut bool,
    ) -> PointSet {
        postings::union(list.filter_map(|(text, uuid)| match (&self.values, uuid) {
            (Values::Texts { texts, .. }, None) => texts.get(text),
            (Values::Texts { uuids, .. } | Values::Uuids(uuids), Some(uuid)) => uuids.get(&uuid),
            (Values::Numbers(column), None) if self.kind() == FieldKind::Datetime => {
                match parse_datetime(text) {
                    Some(micros) => column.get(&micros),
                    None => {
                        *others = true;
                        None
                    }
                }
            }
            _ => {
                *others = true;
                None
            }
        }))
    }

    /// Integers equal to `number`.
    pub fn match_integer(&self, number: i64) -> Bounds {
        self.any_integers(std::iter::once(number))
    }

    /// Integers equal to one of these. At least one.
    pub fn any_integers(&self, list: impl Iterator<Item = i64>) -> Bounds {
        match (&self.values, self.kind()) {
            (Values::Numbers(column), FieldKind::Integer) => {
                Bounds::exact(postings::union(list.filter_map(|number| column.get(&number))))
            }
            // `1` and `1.0` have one key.
            (Values::Numbers(column), FieldKind::Float) => Bounds::within(postings::union(
                list.filter_map(|number| column.get(&float_key(number as f64))),
            )),
            _ => Bounds::within(self.odd_points()),
        }
    }

    /// Booleans equal to `value`.
    pub fn match_bool(&self, value: bool) -> Bounds {
        match (&self.values, self.kind()) {
            (Values::Numbers(column), FieldKind::Bool) => {
                Bounds::exact(postings::union(column.get(&i64::from(value)).into_iter()))
            }
            _ => Bounds::within(self.odd_points()),
        }
    }

    /// Values, not null, that are none of these strings, each with the UUID that it may be.
    pub fn except_strings<'t>(&self, list: impl Iterator<Item = (&'t str, Option<u128>)>) -> Bounds {
        match self.kind() {
            FieldKind::Keyword => {
                let hits = self.covered_strings(list, &mut false);
                Bounds::new(&(&self.indexed - &hits) | &self.odd, &hits & &self.several)
            }
            // A text that is no UUID is none of the covered values.
            FieldKind::Uuid => {
                let hits = self.covered_strings(list, &mut false);
                Bounds::new(&self.indexed - &hits, &(&hits & &self.several) | &self.odd)
            }
            FieldKind::Datetime => Bounds::within(&self.indexed | &self.odd),
            FieldKind::Text => Bounds::new(self.odd_points(), self.indexed.clone()),
            FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Geo => self.all_but_odd(),
        }
    }

    /// Values, not null, that are none of these integers.
    pub fn except_integers(&self, list: impl Iterator<Item = i64>) -> Bounds {
        match self.kind() {
            FieldKind::Integer => {
                let hits = self.any_integers(list).possible();
                Bounds::new(&(&self.indexed - &hits) | &self.odd, &hits & &self.several)
            }
            FieldKind::Float => Bounds::within(&self.indexed | &self.odd),
            FieldKind::Keyword
            | FieldKind::Uuid
            | FieldKind::Datetime
            | FieldKind::Bool
            | FieldKind::Text
            | FieldKind::Geo => self.all_but_odd(),
        }
    }

    /// Strings that begin with `prefix`, byte by byte. Some of `work` is taken; what it does not suffice for stays in
    /// doubt.
    pub fn match_prefix(&self, prefix: &str, work: &PlanWork) -> Bounds {
        match &self.values {
            Values::Texts { texts, .. } => {
                let left = work.prefixed.get();
                let begins =
                    texts.range::<str>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
                let mut begins = begins.take_while(|(text, _)| text.starts_with(prefix));
                let mut read = 0;
                let hits = postings::union(begins.by_ref().take(left).map(|(_, postings)| {
                    read += 1;
                    postings
                }));
                work.prefixed.set(left - read);
                if begins.next().is_some() {
                    return Bounds::new(hits, self.indexed.clone());
                }
                Bounds::exact(hits)
            }
            _ => self.strings(),
        }
    }

    /// Strings of any content: nothing is certain.
    pub fn strings(&self) -> Bounds {
        Bounds::within(match self.kind() {
            FieldKind::Keyword | FieldKind::Text => self.indexed.clone(),
            FieldKind::Uuid | FieldKind::Datetime => &self.indexed | &self.odd,
            FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Geo => self.odd_points(),
        })
    }

    /// Numbers inside an interval, compared as floats.
    pub fn numbers_within(&self, interval: &Interval<f64>) -> Bounds {
        match (&self.values, self.kind()) {
            (Values::Numbers(_), FieldKind::Integer) => {
                let keys =
                    keys_within(|k| interval.above_lower(k as f64), |k| interval.below_upper(k as f64));
                Bounds::new(self.union_of_keys(keys), self.odd_points())
            }
            (Values::Numbers(_), FieldKind::Float) => Bounds::exact(self.union_of_keys(float_keys(interval))),
            _ => Bounds::within(self.odd_points()),
        }
    }

    /// Strings that are date-times inside an interval of microseconds since the epoch.
    pub fn datetimes_within(&self, interval: &Interval<i64>) -> Bounds {
        match self.kind() {
            FieldKind::Datetime => {
                let keys = keys_within(|k| interval.above_lower(k), |k| interval.below_upper(k));
                Bounds::exact(self.union_of_keys(keys))
            }
            FieldKind::Keyword | FieldKind::Text => Bounds::within(self.indexed.clone()),
            // No text is both a UUID and a date-time.
            FieldKind::Uuid | FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Geo => {
                Bounds::within(self.odd_points())
            }
        }
    }

    pub(super) fn kind(&self) -> FieldKind {
        self.schema().kind()
    }

    pub(super) fn odd_points(&self) -> PointSet {
        self.odd.clone()
    }

    /// Every covered value satisfies the condition; the others may.
    fn all_but_odd(&self) -> Bounds {
        Bounds::new(self.indexed.clone(), self.odd_points())
    }

    fn union_of_keys(&self, keys: Option<RangeInclusive<i64>>) -> PointSet {
        match (&self.values, keys) {
            (Values::Numbers(column), Some(keys)) => column.union_within(keys, self.points_count()),
            _ => PointSet::new(),
        }
    }
}

/// The keys of the floats inside an interval.
pub(super) fn float_keys(interval: &Interval<f64>) -> Option<RangeInclusive<i64>> {
    let lower = [interval.gt.map(|bound| float_key(bound) + 1), interval.gte.map(float_key)];
    let upper = [interval.lt.map(|bound| float_key(bound) - 1), interval.lte.map(float_key)];
    let lower = lower.into_iter().flatten().max().unwrap_or(i64::MIN);
    let upper = upper.into_iter().flatten().min().unwrap_or(i64::MAX);
    if lower <= upper { Some(lower..=upper) } else { None }
}

/// The integers between two monotone conditions: `above` turns true and stays so, `below` turns false and stays so.
pub(super) fn keys_within(
    above: impl Fn(i64) -> bool,
    below: impl Fn(i64) -> bool,
) -> Option<RangeInclusive<i64>> {
    let first = first_integer(above)?;
    let last = match first_integer(|key| !below(key)) {
        Some(i64::MIN) => return None,
        Some(beyond) => beyond - 1,
        None => i64::MAX,
    };
    if first <= last { Some(first..=last) } else { None }
}

/// The smallest integer for which a condition holds that turns true once.
fn first_integer(holds: impl Fn(i64) -> bool) -> Option<i64> {
    if !holds(i64::MAX) {
        return None;
    }
    let (mut low, mut high) = (i64::MIN, i64::MAX);
    while low < high {
        // Rounds down without overflow.
        let middle = (low & high) + ((low ^ high) >> 1);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_bounds_are_those_of_the_float_comparison_c7() {
        let keys = |interval: Interval<f64>| {
            keys_within(|k| interval.above_lower(k as f64), |k| interval.below_upper(k as f64))
        };
        let empty = Interval::default();
        assert_eq!(keys(empty), Some(i64::MIN..=i64::MAX));
        assert_eq!(keys(Interval { gt: Some(1.5), lte: Some(4.0), ..empty }), Some(2..=4));
        assert_eq!(keys(Interval { gte: Some(1.0), lt: Some(1.0), ..empty }), None);
        assert_eq!(keys(Interval { lt: Some(-1e300), ..empty }), None);
        assert_eq!(keys(Interval { gt: Some(1e300), ..empty }), None);
        // 2^53 + 1 is 2^53 as a float.
        let edge = 9_007_199_254_740_992i64;
        assert_eq!(keys(Interval { gt: Some(edge as f64), ..empty }).unwrap().start(), &(edge + 2));
        assert_eq!(keys(Interval { lte: Some(edge as f64), ..empty }).unwrap().end(), &(edge + 1));
    }
}
