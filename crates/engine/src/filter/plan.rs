//! Narrowing the candidates of a filter with field indexes.

use super::matching::{KeywordList, Match};
use super::{Clause, Condition, Filter, MinShould};
use crate::payload::{Bounds, FieldIndex, Interval, JsonPath, PlanWork};
use crate::point_set::PointSet;
use crate::types::{PointId, PointOffset};

/// Work on one `min_should`, in combinations of sets. A group that needs more is not planned.
const MAX_THRESHOLD_STEPS: u64 = 4_096;

/// The indexes that a plan may use. All are of the same state of the collection as the live points of the plan.
pub trait IndexSet {
    /// The index of exactly this path.
    fn index(&self, path: &JsonPath) -> Option<&FieldIndex>;
    /// The offset of the point of an id.
    fn offset_of(&self, id: &PointId) -> Option<PointOffset>;
    /// The live points that have a vector of that name; `None` if this is not known.
    fn with_vector(&self, name: &str) -> Option<PointSet>;
}

/// The candidates of a filter.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Every point that may match; `None` for all live points.
    pub candidates: Option<PointSet>,
    /// Whether the candidates are exactly the points that match. Otherwise each has to pass [`Filter::matches`].
    pub exact: bool,
    /// Candidates that are known to match. Empty if none is known, or if the plan is exact.
    pub certain: PointSet,
}

impl Plan {
    /// The number of candidates among `live` live points.
    pub fn cardinality(&self, live: u64) -> u64 {
        self.candidates.as_ref().map_or(live, PointSet::len)
    }

    /// Whether a candidate matches. `look` evaluates the filter, and is called only if the plan does not decide.
    ///
    /// # Errors
    /// Those of `look`.
    pub fn admits<E>(&self, offset: PointOffset, look: impl FnOnce() -> Result<bool, E>) -> Result<bool, E> {
        if self.exact || self.certain.contains(offset) { Ok(true) } else { look() }
    }
}

impl Filter {
    /// Plans the filter over the live points: the candidates always hold every point that matches.
    pub fn plan(&self, indexes: &impl IndexSet, live: &PointSet) -> Plan {
        if self.is_empty() {
            return Plan { candidates: None, exact: true, certain: PointSet::new() };
        }
        let work = PlanWork::default();
        match (Planner { indexes, live, scope: None, work: &work }).filter(self) {
            None => Plan { candidates: None, exact: false, certain: PointSet::new() },
            Some(bounds) => {
                let exact = bounds.is_exact();
                let certain = if exact { PointSet::new() } else { bounds.certain() & live };
                Plan { candidates: Some(&bounds.possible() & live), exact, certain }
            }
        }
    }
}

/// Turns conditions into bounds; `None` where no index helps.
struct Planner<'a, I> {
    indexes: &'a I,
    live: &'a PointSet,
    /// Inside a nested condition: the path of the elements. Inner keys are relative to it.
    scope: Option<JsonPath>,
    /// The work budget of all conditions together.
    work: &'a PlanWork,
}

impl<I: IndexSet> Planner<'_, I> {
    fn filter(&self, filter: &Filter) -> Option<Bounds> {
        let must = filter.must.iter().map(|condition| self.condition(condition));
        let should = (!filter.should.is_empty()).then(|| self.any_of(&filter.should));
        // The bounds of a negation inside a nested condition are unknown: another element may satisfy the negated condition.
        let must_not = (!filter.must_not.is_empty()).then(|| match self.scope {
            Some(_) => None,
            None => self.any_of(&filter.must_not).map(|bounds| bounds.not(self.live)),
        });
        let at_least = filter.min_should.as_ref().filter(|group| !group.conditions.is_empty());
        let at_least = at_least.map(|group| self.at_least(group));
        let mut all: Option<Bounds> = None;
        let mut unknown = false;
        let mut groups = 0;
        for bounds in must.chain(should).chain(must_not).chain(at_least) {
            groups += 1;
            match (bounds, all.take()) {
                (None, earlier) => {
                    unknown = true;
                    all = earlier;
                }
                (Some(bounds), None) => all = Some(bounds),
                (Some(bounds), Some(earlier)) => all = Some(earlier.and(bounds)),
            }
        }
        match all {
            None if groups == 0 => Some(Bounds::exact(self.live.clone())),
            Some(bounds) if unknown => Some(bounds.and_unknown()),
            all => all,
        }
    }

    /// Points that satisfy any of the conditions.
    fn any_of(&self, conditions: &[Condition]) -> Option<Bounds> {
        let mut any = Bounds::default();
        let mut unknown = false;
        for condition in conditions {
            match self.condition(condition) {
                Some(bounds) => any = any.or(bounds),
                None => unknown = true,
            }
        }
        if !unknown {
            return Some(any);
        }
        self.or_unknown(any)
    }

    /// The bounds after adding an alternative of which nothing is known.
    fn or_unknown(&self, bounds: Bounds) -> Option<Bounds> {
        if bounds.certain().is_empty() {
            None
        } else {
            Some(Bounds::new(bounds.certain().clone(), self.live.clone()))
        }
    }

    fn at_least(&self, group: &MinShould) -> Option<Bounds> {
        let total = group.conditions.len() as u64;
        if group.min_count > total {
            return Some(Bounds::default());
        }
        if group.min_count == 1 {
            return self.any_of(&group.conditions);
        }
        if total * group.min_count > MAX_THRESHOLD_STEPS {
            return None;
        }
        // `reached[n]`: points that satisfy at least n + 1 of the conditions so far.
        let mut reached = vec![Bounds::default(); group.min_count as usize];
        for condition in &group.conditions {
            let bounds = self.condition(condition).unwrap_or_else(|| Bounds::within(self.live.clone()));
            for level in (1..reached.len()).rev() {
                let one_more = reached[level - 1].clone().and(bounds.clone());
                reached[level] = std::mem::take(&mut reached[level]).or(one_more);
            }
            reached[0] = std::mem::take(&mut reached[0]).or(bounds);
        }
        reached.pop()
    }

    fn condition(&self, condition: &Condition) -> Option<Bounds> {
        match condition {
            Condition::Field { key, clauses } => self.field(key, clauses),
            // These never hold for an object inside a payload.
            Condition::HasId(_) | Condition::HasVector(_) | Condition::Slice(_) if self.scope.is_some() => {
                Some(Bounds::default())
            }
            Condition::HasId(ids) => {
                let offsets = ids.iter().filter_map(|id| self.indexes.offset_of(id));
                Some(Bounds::exact(offsets.collect()))
            }
            // Which points a slice has only their ids say.
            Condition::Slice(_) => None,
            Condition::HasVector(name) => self.indexes.with_vector(name).map(Bounds::exact),
            Condition::Nested { key, filter } => {
                let scope = Some(self.absolute(key));
                let inner = Planner { scope, ..*self }.filter(filter)?;
                // Different elements may satisfy different conditions, so no point is certain.
                Some(Bounds::within(inner.possible()))
            }
            Condition::Filter(filter) => self.filter(filter),
        }
    }

    fn absolute(&self, key: &JsonPath) -> JsonPath {
        match &self.scope {
            Some(scope) => scope.join(key),
            None => key.clone(),
        }
    }

    fn field(&self, key: &JsonPath, clauses: &[Clause]) -> Option<Bounds> {
        let index = self.indexes.index(&self.absolute(key))?;
        let mut any = Bounds::default();
        let mut unknown = false;
        for clause in clauses {
            // A value that one element lacks may be in another.
            let is_absence = match clause {
                Clause::IsEmpty(wanted) => *wanted,
                Clause::IsNull(wanted) => !*wanted,
                Clause::ValuesCount(interval) => interval.contains(0),
                _ => false,
            };
            let bounds = if is_absence && self.scope.is_some() { None } else { self.clause(index, clause) };
            match bounds {
                Some(bounds) => any = any.or(bounds),
                None => unknown = true,
            }
        }
        if unknown { self.or_unknown(any) } else { Some(any) }
    }

    fn clause(&self, index: &FieldIndex, clause: &Clause) -> Option<Bounds> {
        Some(match clause {
            Clause::Match(wanted) => matching(index, wanted, self.work),
            Clause::Range(interval) => index.numbers_within(interval),
            Clause::DatetimeRange(interval) => index.datetimes_within(interval),
            Clause::Geo(shape) => index.places_within(shape, &self.work.places),
            Clause::ValuesCount(interval) if interval.contains(0) => return None,
            Clause::ValuesCount(interval) if is_one_or_more(interval) => {
                Bounds::exact(index.filled().clone())
            }
            Clause::ValuesCount(_) => Bounds::within(index.filled().clone()),
            Clause::IsEmpty(true) => Bounds::exact(self.live - index.filled()),
            Clause::IsEmpty(false) => Bounds::exact(index.filled().clone()),
            Clause::IsNull(true) => Bounds::exact(index.null().clone()),
            Clause::IsNull(false) => Bounds::exact(self.live - index.null()),
        })
    }
}

/// Whether the interval is that of all numbers but zero.
fn is_one_or_more(interval: &Interval<u64>) -> bool {
    interval.lt.is_none() && interval.lte.is_none() && interval.contains(1)
}

fn matching(index: &FieldIndex, wanted: &Match, work: &PlanWork) -> Bounds {
    match wanted {
        Match::Keyword(keyword) => index.match_string(keyword.text(), keyword.uuid()),
        Match::Integer(number) => index.match_integer(*number),
        Match::Bool(value) => index.match_bool(*value),
        Match::AnyKeyword(list) if list.is_empty() => Bounds::default(),
        Match::AnyKeyword(list) => index.any_strings(strings(list)),
        Match::AnyInteger(list) => index.any_integers(list.iter().copied()),
        Match::ExceptKeyword(list) => index.except_strings(strings(list)),
        Match::ExceptInteger(list) => index.except_integers(list.iter().copied()),
        Match::Prefix(prefix) => index.match_prefix(prefix, work),
        Match::Substring(part) => index.match_substring(part, work),
        Match::Text(query) => {
            index.match_words(&query.pattern(index.tokenizer()), work).unwrap_or_else(|| index.strings())
        }
    }
}

fn strings(list: &KeywordList) -> impl Iterator<Item = (&str, Option<u128>)> {
    list.iter().map(|keyword| (keyword.text(), keyword.uuid()))
}
