//! Filters: from the JSON grammar of C7 to a tree, and from the tree to the points that match.
//!
//! [`Filter::matches`] decides one point by its payload and is the meaning of a filter. [`Filter::plan`] narrows the
//! candidates with field indexes; by construction it never decides anything that `matches` would decide otherwise.

mod condition_reader;
mod evaluate;
mod evaluation;
mod failing;
mod index_needs;
mod matching;
mod parse;
mod parse_clause;
mod plan;
mod slice;
#[cfg(test)]
mod tests;
mod text;
mod text_memo;

pub use condition_reader::{ConditionReader, PartialCondition};
pub use evaluate::PointView;
pub use index_needs::{FilterIndexes, Kinds, Unindexed};
pub(crate) use parse_clause::geo_point;
pub use plan::{IndexSet, Plan};

use crate::payload::{CountedValue, GeoShape, Interval, JsonPath};
use crate::types::PointId;
use matching::{Keyword, KeywordList, Match};
use slice::IdSlice;
use std::sync::Arc;

/// A filter: groups of conditions that must all be satisfied. Without conditions it matches every point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// All of these.
    must: Vec<Condition>,
    /// At least one of these, unless there are none.
    should: Vec<Condition>,
    /// None of these.
    must_not: Vec<Condition>,
    /// At least `min_count` of these, unless there are none.
    min_should: Option<MinShould>,
}

/// At least `min_count` (1 or more) of the conditions; with no conditions, no restriction.
#[derive(Clone, Debug, PartialEq)]
struct MinShould {
    conditions: Vec<Condition>,
    min_count: u64,
}

/// One condition of a filter.
#[derive(Clone, Debug, PartialEq)]
enum Condition {
    /// On the values of a path: any clause holds.
    Field { key: JsonPath, clauses: Vec<Clause> },
    /// The point's id is one of these, which are ascending.
    HasId(Box<[PointId]>),
    /// The point has this vector; `""` is the unnamed one.
    HasVector(Box<str>),
    /// The point's id is in this slice of all ids.
    Slice(IdSlice),
    /// Some element, an object, of the array at `key` (which ends in `[]`) satisfies the filter.
    Nested { key: JsonPath, filter: Filter },
    /// A filter inside a filter. It is shared, because the filters of all prefetches may contain the same one.
    Filter(Arc<Filter>),
}

/// One clause of a field condition. All but the last three hold if one of the values does; the elements of an array count
/// as values.
#[derive(Clone, Debug, PartialEq)]
enum Clause {
    Match(Match),
    /// Numbers, compared as floats.
    Range(Interval<f64>),
    /// Strings that are date-times: microseconds since the epoch.
    DatetimeRange(Interval<i64>),
    Geo(GeoShape),
    /// How many values there are.
    ValuesCount(Interval<u64>),
    /// Whether the path is missing, null or `[]`.
    IsEmpty(bool),
    /// Whether the value is null or an array that contains a null.
    IsNull(bool),
}

/// Edges of a polygon that a place is compared with in the time in which a condition reads it (some thirty bytes).
const EDGES_PER_CONDITION: usize = 16;

impl Clause {
    fn work(&self) -> usize {
        match self {
            Clause::Geo(shape) => 1 + shape.cost() / EDGES_PER_CONDITION,
            _ => 1,
        }
    }
}

impl Filter {
    /// A filter that matches what all of these match.
    pub fn all_of(filters: impl IntoIterator<Item = Arc<Filter>>) -> Filter {
        Filter { must: filters.into_iter().map(Condition::Filter).collect(), ..Filter::default() }
    }

    /// A filter that matches the points with a value at `key` that is none of these, and not null. Two spellings of a UUID are
    /// different values here, as they are different groups.
    pub fn holding_others<'v>(key: &JsonPath, values: impl Iterator<Item = CountedValue<'v>>) -> Filter {
        let (mut keywords, mut integers) = (Vec::new(), Vec::new());
        for value in values {
            match value {
                CountedValue::Text(text) => keywords.push(Keyword::as_spelled(text)),
                CountedValue::Integer(integer) => integers.push(integer),
                CountedValue::Bool(_) => {}
            }
        }
        integers.sort_unstable();
        let mut excepted = Vec::new();
        // Without any string or integer: some value that is not null.
        if !keywords.is_empty() || integers.is_empty() {
            excepted.push(Match::ExceptKeyword(KeywordList::new(keywords)));
        }
        if !integers.is_empty() {
            excepted.push(Match::ExceptInteger(integers.into()));
        }
        let condition =
            |is_none| Condition::Field { key: key.clone(), clauses: vec![Clause::Match(is_none)] };
        Filter { must: excepted.into_iter().map(condition).collect(), ..Filter::default() }
    }

    /// What of its matches matches another filter, too. Its own conditions stay where they are.
    pub fn within(mut self, other: Arc<Filter>) -> Filter {
        self.must.push(Condition::Filter(other));
        self
    }

    /// Whether the filter has no conditions, and so matches every point.
    pub fn is_empty(&self) -> bool {
        self.must.is_empty()
            && self.should.is_empty()
            && self.must_not.is_empty()
            && self.min_should.as_ref().is_none_or(|group| group.conditions.is_empty())
    }

    /// Whether it may leave a point out: some condition of it is not an empty filter, however deep.
    pub fn restricts(&self) -> bool {
        let restricts = |condition: &Condition| match condition {
            Condition::Filter(filter) => filter.restricts(),
            _ => true,
        };
        self.must.iter().any(restricts)
            || !self.should.is_empty() && self.should.iter().all(restricts)
            || !self.must_not.is_empty()
            || self.min_should.as_ref().is_some_and(|group| {
                let open = group.conditions.iter().filter(|condition| !restricts(condition)).count() as u64;
                !group.conditions.is_empty() && open < group.min_count
            })
    }

    /// How many conditions there are, at every depth.
    pub fn conditions(&self) -> usize {
        self.sum(|_| 1)
    }

    /// Whether any of them, at any depth, is on the words of a text.
    pub fn has_text_conditions(&self) -> bool {
        self.sum(|clause| usize::from(matches!(clause, Clause::Match(Match::Text(_))))) > self.sum(|_| 0)
    }

    /// The cost of checking a byte of a payload, in conditions. Polygons count by their edges.
    pub fn work(&self) -> usize {
        self.sum(Clause::work)
    }

    /// The sum of `of_clause` of all clauses, plus one for each other condition.
    fn sum(&self, of_clause: fn(&Clause) -> usize) -> usize {
        let min_should = self.min_should.iter().flat_map(|group| &group.conditions);
        let all = self.must.iter().chain(&self.should).chain(&self.must_not).chain(min_should);
        all.map(|condition| match condition {
            Condition::Nested { filter, .. } => 1 + filter.sum(of_clause),
            Condition::Filter(filter) => 1 + filter.sum(of_clause),
            Condition::Field { clauses, .. } => clauses.iter().map(of_clause).sum(),
            Condition::HasId(_) | Condition::HasVector(_) | Condition::Slice(_) => 1,
        })
        .sum()
    }
}
