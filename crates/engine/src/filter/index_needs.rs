//! Which field indexes a filter needs so that none of its conditions reads documents of all points.

use super::matching::Match;
use super::{Clause, Condition, Filter};
use crate::payload::{FieldKind, JsonPath};

/// Kinds of index of which one answers a clause; none where any index does.
pub type Kinds = &'static [FieldKind];

/// A key that no index answers for, and the kinds of which it needs one.
#[derive(Clone, Debug, PartialEq)]
pub struct Unindexed {
    /// The path, as the index would have it.
    pub key: JsonPath,
    /// None where an index of any kind would do.
    pub kinds: Kinds,
}

/// The keys of a filter's conditions on fields, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilterIndexes {
    /// Those that an index answers.
    pub used: Vec<JsonPath>,
    /// Those for which points are read because there is no index, or none of a kind that would answer.
    pub missing: Vec<Unindexed>,
}

impl Clause {
    fn kinds(&self) -> Kinds {
        match self {
            // No value matches, whatever the type: an index of any kind finds as much.
            Clause::Match(Match::AnyKeyword(list)) if list.is_empty() => &[],
            Clause::Match(Match::Keyword(word)) if word.uuid().is_some() => {
                &[FieldKind::Keyword, FieldKind::Uuid]
            }
            Clause::Match(
                Match::Keyword(_)
                | Match::AnyKeyword(_)
                | Match::ExceptKeyword(_)
                | Match::Prefix(_)
                | Match::Substring(_),
            ) => &[FieldKind::Keyword, FieldKind::Uuid],
            Clause::Match(Match::Integer(_) | Match::AnyInteger(_) | Match::ExceptInteger(_)) => {
                &[FieldKind::Integer]
            }
            Clause::Match(Match::Bool(_)) => &[FieldKind::Bool],
            Clause::Match(Match::Text(_)) => &[FieldKind::Text],
            Clause::Range(_) => &[FieldKind::Integer, FieldKind::Float],
            Clause::DatetimeRange(_) => &[FieldKind::Datetime],
            Clause::Geo(_) => &[FieldKind::Geo],
            Clause::ValuesCount(_) | Clause::IsEmpty(_) | Clause::IsNull(_) => &[],
        }
    }

    /// Values that the clause lists.
    fn listed(&self) -> usize {
        match self {
            Clause::Match(Match::AnyKeyword(list) | Match::ExceptKeyword(list)) => list.len(),
            Clause::Match(Match::AnyInteger(list) | Match::ExceptInteger(list)) => list.len(),
            _ => 0,
        }
    }
}

impl Filter {
    /// The keys of its conditions on fields that have an index of a kind that answers them, and those that need one.
    /// `kind_at` says of what kind the index of a path is.
    pub fn indexes(&self, kind_at: &dyn Fn(&JsonPath) -> Option<FieldKind>) -> FilterIndexes {
        let mut indexes = FilterIndexes::default();
        self.indexes_below(None, kind_at, &mut indexes);
        indexes
    }

    fn indexes_below(
        &self,
        outer: Option<&JsonPath>,
        kind_at: &dyn Fn(&JsonPath) -> Option<FieldKind>,
        indexes: &mut FilterIndexes,
    ) {
        let whole = |key: &JsonPath| outer.map_or_else(|| key.clone(), |outer| outer.join(key));
        for condition in self.each() {
            match condition {
                Condition::Field { key, clauses } => {
                    let key = whole(key);
                    let kind = kind_at(&key);
                    let is_answered =
                        |kinds: Kinds| kind.is_some_and(|kind| kinds.is_empty() || kinds.contains(&kind));
                    match clauses.iter().map(Clause::kinds).find(|kinds| !is_answered(kinds)) {
                        None if !indexes.used.contains(&key) => indexes.used.push(key),
                        Some(kinds) if !indexes.missing.iter().any(|one| one.key == key) => {
                            indexes.missing.push(Unindexed { key, kinds });
                        }
                        _ => {}
                    }
                }
                Condition::Nested { key, filter } => {
                    filter.indexes_below(Some(&whole(key)), kind_at, indexes);
                }
                Condition::Filter(filter) => filter.indexes_below(outer, kind_at, indexes),
                Condition::HasId(_) | Condition::HasVector(_) | Condition::Slice(_) => {}
            }
        }
    }

    /// The first key that needs an index and has none of those kinds.
    pub fn unindexed(&self, kind_at: &dyn Fn(&JsonPath) -> Option<FieldKind>) -> Option<Unindexed> {
        self.indexes(kind_at).missing.into_iter().next()
    }

    /// The most values that one condition lists: of `any`, `except` and `has_id`.
    pub fn longest_list(&self) -> usize {
        let of = |condition: &Condition| match condition {
            Condition::Field { clauses, .. } => clauses.iter().map(Clause::listed).max().unwrap_or(0),
            Condition::HasId(ids) => ids.len(),
            Condition::Nested { filter, .. } => filter.longest_list(),
            Condition::Filter(filter) => filter.longest_list(),
            Condition::HasVector(_) | Condition::Slice(_) => 0,
        };
        self.each().map(of).max().unwrap_or(0)
    }

    /// The conditions of all groups.
    fn each(&self) -> impl Iterator<Item = &Condition> {
        let min_should = self.min_should.iter().flat_map(|group| &group.conditions);
        self.must.iter().chain(&self.should).chain(&self.must_not).chain(min_should)
    }
}
