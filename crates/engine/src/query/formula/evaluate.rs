//! Calculating a formula for one point.

use super::parse::seconds;
use super::{Curve, Decay, Defaults, Expression, Formula, Function, Term};
use crate::deadline::Deadline;
use crate::error::Error;
use crate::filter::PointView;
use crate::json::Kind;
use crate::payload::{Document, GeoPoint, JsonPath, Value, parse_datetime};

type Result<T> = std::result::Result<T, Error>;

impl Formula {
    /// The score of a point. `scores` are those that the prefetches gave it, in their order: `None` where it was not
    /// found, which takes the variable's default, or 0.
    ///
    /// # Errors
    /// `BadRequest` that names the term and the point: a payload variable without a value, or with one of the wrong
    /// type; a number that is not finite, here or as `f32`.
    pub fn evaluate(
        &self,
        point: &impl PointView,
        scores: &[Option<f32>],
        deadline: Option<&Deadline>,
    ) -> Result<f32> {
        let document = Document::new(point.document());
        let calculation = Calculation { point, document, scores, defaults: &self.defaults, deadline };
        let value = calculation.term(&self.root)?;
        let score = value as f32;
        if !score.is_finite() {
            return Err(calculation.error(&self.root, format!("the score {value:e} is beyond 32-bit floats")));
        }
        // A negative zero would be less than zero where scores are sorted.
        Ok(score + 0.0)
    }
}

impl Formula {
    /// The terms that add up to the score of a point, each with its place in the request: those of the outermost sum, or
    /// the whole formula.
    ///
    /// # Errors
    /// As [`Formula::evaluate`].
    pub fn addends(
        &self,
        point: &impl PointView,
        scores: &[Option<f32>],
        deadline: Option<&Deadline>,
    ) -> Result<Vec<(&str, f64)>> {
        let document = Document::new(point.document());
        let calculation = Calculation { point, document, scores, defaults: &self.defaults, deadline };
        let terms = match &self.root.expression {
            Expression::Sum(terms) => terms.as_slice(),
            _ => std::slice::from_ref(&self.root),
        };
        terms.iter().map(|term| Ok((&*term.place, calculation.term(term)?))).collect()
    }
}

struct Calculation<'a, P> {
    point: &'a P,
    document: Document<'a>,
    scores: &'a [Option<f32>],
    defaults: &'a Defaults,
    deadline: Option<&'a Deadline>,
}

impl<P: PointView> Calculation<'_, P> {
    fn term(&self, term: &Term) -> Result<f64> {
        match &term.expression {
            Expression::Constant(number) => Ok(*number),
            Expression::Score(prefetch) => Ok(match self.scores.get(*prefetch) {
                Some(Some(score)) => f64::from(*score),
                _ => self.defaults.score(*prefetch),
            }),
            Expression::Number(path) => self.value(term, path, "a number", |value| value.as_f64()),
            Expression::Condition(filter) => {
                Ok(if filter.matches_until(self.point, filter.work(), self.deadline)? { 1.0 } else { 0.0 })
            }
            Expression::Sum(terms) => {
                let sum = terms.iter().try_fold(0.0, |sum, one| Ok(sum + self.term(one)?))?;
                self.finite(term, sum, || "the sum".into())
            }
            Expression::Product(factors) => {
                let mut product = 1.0;
                for factor in factors {
                    let factor = self.term(factor)?;
                    if factor == 0.0 {
                        return Ok(0.0);
                    }
                    product *= factor;
                }
                self.finite(term, product, || "the product".into())
            }
            Expression::Function(function, of) => {
                let x = self.term(of)?;
                self.finite(term, function.of(x), || format!("{}({x})", function.name()))
            }
            Expression::Quotient(quotient) => {
                let left = self.term(&quotient.left)?;
                if left == 0.0 {
                    return Ok(0.0);
                }
                let right = self.term(&quotient.right)?;
                match quotient.by_zero_default {
                    Some(default) if right == 0.0 => Ok(default),
                    _ => self.finite(term, left / right, || format!("{left}/{right}")),
                }
            }
            Expression::Power(power) => {
                let (base, exponent) = (self.term(&power.base)?, self.term(&power.exponent)?);
                self.finite(term, base.powf(exponent), || format!("{base}^{exponent}"))
            }
            Expression::Distance { origin, to } => {
                let place = self.value(term, to, "a geo point", place)?;
                Ok(origin.distance_m(place))
            }
            Expression::Datetime(path) => self.value(term, path, "a date-time", instant).map(seconds),
            Expression::Decay(decay) => {
                let x = self.term(&decay.x)?;
                let target = decay.target.as_ref().map_or(Ok(0.0), |target| self.term(target))?;
                self.finite(term, decay.at(x - target), || format!("the decay at {x} from {target}"))
            }
        }
    }

    /// The one value at a path, or its default, as `read` takes it. An array of one counts as its element; null and
    /// an empty array are no value.
    fn value<T>(
        &self,
        term: &Term,
        path: &JsonPath,
        wanted: &str,
        read: impl Fn(Value<'_>) -> Option<T>,
    ) -> Result<T> {
        let mut values = Values::None;
        self.document.any_at(path, |value| values.add(value));
        let is_stored = !values.is_none();
        if !is_stored {
            values = Values::None;
            self.defaults.value(path).map(|default| values.add(default));
        }
        let found = match values {
            Values::One(value) => match read(value) {
                Some(read) => return Ok(read),
                None => kind(value).word(),
            },
            Values::Several => "several values",
            Values::None => {
                let id = self.point.id();
                let why = format!("no value for {path} in the payload of point {id} nor in the defaults");
                return Err(Error::bad(format!("{}: {why}", term.place)));
            }
        };
        let source = if is_stored { "the payload" } else { "the defaults" };
        Err(self.error(term, format!("expected {wanted} for {path} in {source}, got {found}")))
    }

    fn finite(&self, term: &Term, value: f64, what: impl FnOnce() -> String) -> Result<f64> {
        if value.is_finite() {
            return Ok(value);
        }
        Err(self.error(term, format!("{} is not a finite number", what())))
    }

    fn error(&self, term: &Term, why: String) -> Error {
        Error::bad(format!("{}: {why} (point {})", term.place, self.point.id()))
    }
}

/// The values that a path leads to, as far as a formula can use them.
enum Values<'v> {
    None,
    One(Value<'v>),
    Several,
}

impl<'v> Values<'v> {
    /// Adds a value, or the elements of an array; answers whether there are several by now.
    fn add(&mut self, value: Value<'v>) -> bool {
        value.any(|element| {
            *self = if let Values::None = self { Values::One(element) } else { Values::Several };
            matches!(self, Values::Several)
        })
    }

    fn is_none(&self) -> bool {
        matches!(self, Values::None | Values::One(Value::Null))
    }
}

impl Function {
    fn of(self, x: f64) -> f64 {
        match self {
            Function::Neg => -x,
            Function::Abs => x.abs(),
            Function::Sqrt => x.sqrt(),
            Function::Exp => x.exp(),
            Function::Ln => x.ln(),
            Function::Log10 => x.log10(),
        }
    }
}

impl Decay {
    /// The value at a distance from the target, in the units of the scale.
    fn at(&self, distance: f64) -> f64 {
        let scales = (distance / self.scale).abs();
        match self.curve {
            // A line that does not fall: nothing times a distance beyond all numbers would be no number.
            Curve::Line if self.midpoint == 1.0 => 1.0,
            Curve::Line => (1.0 - (1.0 - self.midpoint) * scales).max(0.0),
            Curve::Exponential => (self.midpoint.ln() * scales).exp(),
            Curve::Gauss => (self.midpoint.ln() * scales * scales).exp(),
        }
    }
}

/// The place that a value stands for.
fn place(value: Value<'_>) -> Option<GeoPoint> {
    match value {
        Value::Object(object) => GeoPoint::of(object).filter(|place| place.is_on_globe()),
        _ => None,
    }
}

/// The date-time that a value stands for, in microseconds since the epoch.
fn instant(value: Value<'_>) -> Option<i64> {
    match value {
        Value::String(text) => parse_datetime(&text.decode()),
        _ => None,
    }
}

fn kind(value: Value<'_>) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Bool,
        Value::Number(_) => Kind::Number,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::Array,
        Value::Object(_) => Kind::Object,
    }
}
