//! Deciding one point by its payload: what a filter means.

use super::evaluation::Evaluation;
use super::matching::Match;
use super::{Clause, Condition, Filter};
use crate::deadline::{Deadline, Pace, WORK_PER_CHECK};
use crate::error::Error;
use crate::payload::{Document, GeoPoint, GeoShape, JsonPath, Tokenizer, Value, parse_datetime};
use crate::types::PointId;
use std::borrow::Cow;

/// A point as filters see it.
pub trait PointView {
    /// The point's id.
    fn id(&self) -> Cow<'_, PointId>;
    /// Whether the point has the vector of that name; `""` is the unnamed one.
    fn has_vector(&self, name: &str) -> bool;
    /// The payload, as normalised JSON.
    fn document(&self) -> &[u8];
    /// The tokenizer of the text index of exactly this path, if there is one.
    fn tokenizer(&self, path: &JsonPath) -> Option<&Tokenizer>;
}

/// What a filter is evaluated on: a point or, inside a nested condition, an object in its payload.
pub(super) struct Subject<'a, P> {
    point: &'a P,
    document: Document<'a>,
    /// The nested conditions around the object; `None` for the point itself.
    scope: Option<&'a Scope<'a>>,
    evaluation: &'a Evaluation<'a>,
}

pub(super) struct Scope<'a> {
    key: &'a JsonPath,
    outer: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn absolute(&self, key: &JsonPath) -> JsonPath {
        let path = self.key.join(key);
        match self.outer {
            Some(outer) => outer.absolute(&path),
            None => path,
        }
    }
}

impl<'a, P: PointView> Subject<'a, P> {
    /// A point.
    pub(super) fn of_point(point: &'a P, evaluation: &'a Evaluation<'a>) -> Subject<'a, P> {
        Subject { point, document: Document::new(point.document()), scope: None, evaluation }
    }
}

impl<P: PointView> Subject<'_, P> {
    fn tokenizer(&self, key: &JsonPath) -> Option<&Tokenizer> {
        match self.scope {
            None => self.point.tokenizer(key),
            Some(scope) => self.point.tokenizer(&scope.absolute(key)),
        }
    }
}

impl Filter {
    /// Whether a point matches (C7).
    pub fn matches(&self, point: &impl PointView) -> bool {
        self.holds(&Subject::of_point(point, &Evaluation::default()))
    }

    /// Whether a point matches, which in a long document takes so long that the deadline is checked between conditions. `work`
    /// is [`Filter::work`], which is the same for all points.
    ///
    /// # Errors
    /// Those of [`Deadline::check`].
    pub fn matches_until(
        &self,
        point: &impl PointView,
        work: usize,
        deadline: Option<&Deadline>,
    ) -> Result<bool, Error> {
        let evaluation = Evaluation::default();
        let subject = Subject::of_point(point, &evaluation);
        let is_long = subject.document.size().saturating_mul(work) as u64 >= WORK_PER_CHECK;
        let Some(deadline) = deadline.filter(|_| is_long) else { return Ok(self.holds(&subject)) };
        let evaluation = Evaluation::until(deadline);
        let matches = self.holds(&Subject { evaluation: &evaluation, ..subject });
        evaluation.finish().map(|()| matches)
    }

    /// The same for one point of a loop, whose pace has the work of this filter and counts the point.
    ///
    /// # Errors
    /// As of [`Filter::matches_until`].
    pub fn matches_at(&self, point: &impl PointView, pace: &mut Pace<'_>) -> Result<bool, Error> {
        pace.step(point.document().len())?;
        self.matches_until(point, pace.conditions(), pace.deadline())
    }

    pub(super) fn holds<P: PointView>(&self, subject: &Subject<'_, P>) -> bool {
        let holds = |condition: &Condition| condition.holds(subject);
        self.must.iter().all(holds)
            && (self.should.is_empty() || self.should.iter().any(holds))
            && !self.must_not.iter().any(holds)
            && self.min_should.as_ref().is_none_or(|group| {
                let held = group.conditions.iter().filter(|condition| holds(condition));
                group.conditions.is_empty() || reaches(held, group.min_count)
            })
    }
}

/// Whether there are at least `count` items. Takes no more items than that.
pub(super) fn reaches<T>(items: impl Iterator<Item = T>, count: u64) -> bool {
    match usize::try_from(count) {
        Ok(0) => true,
        Ok(count) => items.take(count).count() == count,
        Err(_) => false,
    }
}

impl Condition {
    pub(super) fn holds<P: PointView>(&self, subject: &Subject<'_, P>) -> bool {
        let Subject { point, document, scope, evaluation } = *subject;
        if !evaluation.may_go_on(document) {
            return false;
        }
        match self {
            Condition::Field { key, clauses } => clauses.iter().any(|clause| clause.holds(key, subject)),
            // These never hold for an object inside a payload.
            Condition::HasId(_) | Condition::HasVector(_) | Condition::Slice(_) if scope.is_some() => false,
            Condition::HasId(ids) => ids.binary_search(&point.id()).is_ok(),
            Condition::HasVector(name) => point.has_vector(name),
            Condition::Slice(slice) => slice.contains(&point.id()),
            Condition::Nested { key, filter } => {
                let inner = Some(&Scope { key, outer: scope });
                document.any_at(key, |element| match element {
                    Value::Object(object) => {
                        let document = object.document();
                        filter.holds(&Subject { point, document, scope: inner, evaluation })
                    }
                    _ => false,
                })
            }
            Condition::Filter(filter) => filter.holds(subject),
        }
    }
}

impl Clause {
    fn holds<P: PointView>(&self, key: &JsonPath, subject: &Subject<'_, P>) -> bool {
        let document = subject.document;
        match self {
            Clause::Match(wanted) => {
                let tokenizer = match wanted {
                    Match::Text(_) => subject.tokenizer(key),
                    _ => None,
                };
                any_value(document, key, |value| wanted.holds(value, tokenizer, &subject.evaluation.texts))
            }
            Clause::Range(interval) => any_value(document, key, |value| {
                value.as_f64().is_some_and(|number| interval.contains(number))
            }),
            Clause::DatetimeRange(interval) => any_value(document, key, |value| match value {
                Value::String(text) => {
                    parse_datetime(&text.decode()).is_some_and(|micros| interval.contains(micros))
                }
                _ => false,
            }),
            Clause::Geo(shape) => any_value(document, key, |value| in_shape(shape, value)),
            Clause::ValuesCount(interval) => {
                let mut any = false;
                let holds = document.any_at(key, |value| {
                    any = true;
                    interval.contains(values_count(value))
                });
                holds || (!any && interval.contains(0))
            }
            Clause::IsEmpty(wanted) => {
                let filled = document.any_at(key, |value| match value {
                    Value::Null => false,
                    Value::Array(array) => array.raw_elements().next().is_some(),
                    _ => true,
                });
                filled != *wanted
            }
            Clause::IsNull(wanted) => {
                let null = document.any_at(key, |value| value.any(|value| matches!(value, Value::Null)));
                null == *wanted
            }
        }
    }
}

/// Whether one of the values at a path satisfies `test`; the elements of an array count as values.
fn any_value<'d>(document: Document<'d>, key: &JsonPath, mut test: impl FnMut(Value<'d>) -> bool) -> bool {
    document.any_at(key, |value| value.any(&mut test))
}

fn in_shape(shape: &GeoShape, value: Value<'_>) -> bool {
    match value {
        Value::Object(object) => GeoPoint::of(object).is_some_and(|place| shape.contains(place)),
        _ => false,
    }
}

fn values_count(value: Value<'_>) -> u64 {
    match value {
        Value::Null => 0,
        Value::Array(array) => array.raw_elements().count() as u64,
        _ => 1,
    }
}
