//! Lookups: bounds on the points that satisfy a condition.
//!
//! A point satisfies a condition if one of its values does; the elements of an array count as values. A covered value is
//! decided by its key where that suffices. Other values make their point doubtful.

use super::bounds::Bounds;
use super::keys::float_key;
use super::postings;
use super::schema::FieldKind;
use super::words::Words;
use super::work::PlanWork;
use super::{FieldIndex, Values};
use crate::payload::datetime::parse_datetime;
use crate::payload::interval::Interval;
use crate::payload::text::Pattern;
use crate::point_set::PointSet;
use crate::types::PointId;
use std::ops::RangeInclusive;

/// Bytes of a string that are searched in about the time that another value takes.
const BYTES_OF_A_VALUE: usize = 64;

impl FieldIndex {
    /// Strings equal to `text`. If it is a UUID, `uuid` is its value, and all spellings of that UUID count.
    pub fn match_string(&self, text: &str, uuid: Option<u128>) -> Bounds {
        self.any_strings(std::iter::once((text, uuid)))
    }

    /// Strings equal to one of these, each with its UUID if it is one. The list is not empty.
    pub fn any_strings<'t>(&self, list: impl Iterator<Item = (&'t str, Option<u128>)>) -> Bounds {
        if let Values::Words(words) = &self.values {
            return Bounds::within(self.holders(words, list));
        }
        let mut others = false;
        let hits = self.covered_strings(list, &mut others);
        match self.kind() {
            FieldKind::Keyword => Bounds::exact(hits),
            FieldKind::Uuid if !others => Bounds::exact(hits),
            FieldKind::Uuid => Bounds::new(hits, self.uncovered_points()),
            // Equal strings are the same date-time, but one date-time has several spellings.
            FieldKind::Datetime if !others => Bounds::within(hits),
            FieldKind::Datetime => Bounds::within(&hits | &self.uncovered),
            FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Text | FieldKind::Geo => {
                Bounds::within(self.uncovered_points())
            }
        }
    }

    /// Points that may hold one of the strings, by their words. All indexed points if one is a UUID, because its spellings have
    /// different words.
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

    /// Strings with the tokens of a pattern, which this index's tokenizer made. `None` if this is no text index.
    pub fn match_words(&self, pattern: &Pattern, work: &PlanWork) -> Option<Bounds> {
        match &self.values {
            Values::Words(words) => Some(words.matching(pattern, &self.multivalued, &work.tokens)),
            _ => None,
        }
    }

    /// Points that hold a covered value that may be one of the strings. `others` is set if one of the strings cannot be a
    /// covered value.
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

    /// Integers equal to one of these. The list is not empty.
    pub fn any_integers(&self, list: impl Iterator<Item = i64>) -> Bounds {
        match (&self.values, self.kind()) {
            (Values::Numbers(column), FieldKind::Integer) => {
                Bounds::exact(postings::union(list.filter_map(|number| column.get(&number))))
            }
            // `1` and `1.0` have one key.
            (Values::Numbers(column), FieldKind::Float) => Bounds::within(postings::union(
                list.filter_map(|number| column.get(&float_key(number as f64))),
            )),
            _ => Bounds::within(self.uncovered_points()),
        }
    }

    /// Booleans equal to `value`.
    pub fn match_bool(&self, value: bool) -> Bounds {
        match (&self.values, self.kind()) {
            (Values::Numbers(column), FieldKind::Bool) => {
                Bounds::exact(postings::union(column.get(&i64::from(value)).into_iter()))
            }
            _ => Bounds::within(self.uncovered_points()),
        }
    }

    /// Values, not null, that are none of these strings, each with its UUID if it is one.
    pub fn except_strings<'t>(&self, list: impl Iterator<Item = (&'t str, Option<u128>)>) -> Bounds {
        match self.kind() {
            FieldKind::Keyword => {
                let hits = self.covered_strings(list, &mut false);
                Bounds::new(&(&self.indexed - &hits) | &self.uncovered, &hits & &self.multivalued)
            }
            // A text that is no UUID is none of the covered values. One that is, and is given without it, is meant as it is
            // spelled, which the index does not know.
            FieldKind::Uuid => {
                let all: Vec<_> = list.collect();
                let spelled = all.iter().filter(|(_, uuid)| uuid.is_none());
                let spelled = spelled.filter_map(|(text, _)| Some((*text, Some(PointId::parse_uuid(text)?))));
                let same = self.covered_strings(spelled, &mut false);
                let hits = self.covered_strings(all.iter().copied(), &mut false);
                let doubtful = &(&hits & &self.multivalued) | &same;
                Bounds::new(&(&self.indexed - &hits) - &same, &doubtful | &self.uncovered)
            }
            FieldKind::Datetime => Bounds::within(&self.indexed | &self.uncovered),
            FieldKind::Text => Bounds::new(self.uncovered_points(), self.indexed.clone()),
            FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Geo => self.all_but_odd(),
        }
    }

    /// Values, not null, that are none of these integers.
    pub fn except_integers(&self, list: impl Iterator<Item = i64>) -> Bounds {
        match self.kind() {
            FieldKind::Integer => {
                let hits = self.any_integers(list).possible();
                Bounds::new(&(&self.indexed - &hits) | &self.uncovered, &hits & &self.multivalued)
            }
            FieldKind::Float => Bounds::within(&self.indexed | &self.uncovered),
            FieldKind::Keyword
            | FieldKind::Uuid
            | FieldKind::Datetime
            | FieldKind::Bool
            | FieldKind::Text
            | FieldKind::Geo => self.all_but_odd(),
        }
    }

    /// Strings that begin with the bytes of `prefix`. The work done is subtracted from `work`. If it does not suffice, all other
    /// indexed points are doubtful.
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

    /// Strings that contain the bytes of `part`. Every string of the index is read, as far as `work` suffices; those behind
    /// are doubtful.
    pub fn match_substring(&self, part: &str, work: &PlanWork) -> Bounds {
        match &self.values {
            Values::Texts { texts, .. } => {
                let (mut left, mut is_cut) = (work.prefixed.get(), false);
                let all = texts.range::<str>((std::ops::Bound::Unbounded, std::ops::Bound::Unbounded));
                let within = all.take_while(|(text, _)| {
                    // A long string takes as long as many short ones.
                    let rest = left.checked_sub(1 + text.len() / BYTES_OF_A_VALUE);
                    is_cut = rest.is_none();
                    left = rest.unwrap_or(0);
                    !is_cut
                });
                let hits = within.filter(|(text, _)| text.contains(part)).map(|(_, postings)| postings);
                let hits = postings::union(hits);
                work.prefixed.set(left);
                if is_cut { Bounds::new(hits, self.indexed.clone()) } else { Bounds::exact(hits) }
            }
            _ => self.strings(),
        }
    }

    /// Points that may hold a string. None is certain.
    pub fn strings(&self) -> Bounds {
        Bounds::within(match self.kind() {
            FieldKind::Keyword | FieldKind::Text => self.indexed.clone(),
            FieldKind::Uuid | FieldKind::Datetime => &self.indexed | &self.uncovered,
            FieldKind::Integer | FieldKind::Float | FieldKind::Bool | FieldKind::Geo => {
                self.uncovered_points()
            }
        })
    }

    /// Numbers inside an interval, compared as floats.
    pub fn numbers_within(&self, interval: &Interval<f64>) -> Bounds {
        match (&self.values, self.kind()) {
            (Values::Numbers(_), FieldKind::Integer) => {
                let keys =
                    keys_within(|k| interval.above_lower(k as f64), |k| interval.below_upper(k as f64));
                Bounds::new(self.union_of_keys(keys), self.uncovered_points())
            }
            (Values::Numbers(_), FieldKind::Float) => Bounds::exact(self.union_of_keys(float_keys(interval))),
            _ => Bounds::within(self.uncovered_points()),
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
                Bounds::within(self.uncovered_points())
            }
        }
    }

    pub(super) fn kind(&self) -> FieldKind {
        self.schema().kind()
    }

    pub(super) fn uncovered_points(&self) -> PointSet {
        self.uncovered.clone()
    }

    /// Bounds for a condition that every covered value satisfies and other values may satisfy.
    fn all_but_odd(&self) -> Bounds {
        Bounds::new(self.indexed.clone(), self.uncovered_points())
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

/// The integers that satisfy two monotone conditions: `above` is true from some integer on, `below` up to some integer.
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

/// The smallest integer for which a monotone condition holds, by bisection.
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
