//! Reading formulas.

use super::variable::Variable;
use super::{Curve, Decay, Defaults, Expression, Formula, Function, Power, Quotient, Term};
use crate::error::Error;
use crate::filter::{ConditionReader, PartialCondition, geo_point};
use crate::json::{Kind, Reader};
use crate::limits::{Limits, MAX_FORMULA_DEPTH, MAX_FORMULA_TERMS};
use crate::payload::{JsonPath, parse_datetime};

type Result<T> = std::result::Result<T, Error>;

const DEFAULT_SCALE: f64 = 1.0;
const DEFAULT_MIDPOINT: f64 = 0.5;

impl Formula {
    /// Reads the expression of a formula. Its defaults stand beside it: see [`Formula::with_defaults`].
    ///
    /// # Errors
    /// `BadRequest` that names the place: not of the grammar, too large or too deep; `FilterParse` for a condition
    /// that cannot be parsed.
    pub fn parse(reader: &mut Reader<'_>, limits: &Limits) -> Result<Formula> {
        let mut parser = Parser { reader: ConditionReader::new(limits), terms: 0, conditions: 0, depth: 0 };
        let root = parser.term(reader)?;
        let work = parser.terms + parser.conditions;
        Ok(Formula { root, defaults: Defaults::default(), work })
    }
}

struct Parser<'l> {
    reader: ConditionReader<'l>,
    /// Terms read so far.
    terms: usize,
    /// Conditions in them, at every depth.
    conditions: usize,
    /// Terms around the place.
    depth: usize,
}

impl Parser<'_> {
    fn term(&mut self, r: &mut Reader<'_>) -> Result<Term> {
        self.terms += 1;
        if self.terms > MAX_FORMULA_TERMS {
            return Err(r.error(format!("more than {MAX_FORMULA_TERMS} terms in a formula")));
        }
        self.depth += 1;
        if self.depth > MAX_FORMULA_DEPTH {
            return Err(r.error(format!("formula is nested deeper than {MAX_FORMULA_DEPTH} levels")));
        }
        let place = r.path().into();
        let expression = match r.peek()? {
            Kind::Number => Expression::Constant(r.f64()?),
            Kind::String => {
                let name = r.string()?;
                match Variable::parse(&name, r)? {
                    Variable::Score(prefetch) => Expression::Score(prefetch),
                    Variable::Payload(path) => Expression::Number(path),
                }
            }
            Kind::Object => self.object(r)?,
            other => {
                return Err(r.error(format!(
                    "expected an expression: a number, a variable, a condition or an operation, got {}",
                    other.word()
                )));
            }
        };
        self.depth -= 1;
        Ok(Term { place, expression })
    }

    /// An operation or a condition.
    fn object(&mut self, r: &mut Reader<'_>) -> Result<Expression> {
        let mut operations: Vec<(String, Expression)> = Vec::new();
        let mut condition = PartialCondition::default();
        r.object(|r, key| {
            // A repeated key takes the last value.
            operations.retain(|(known, _)| known != key);
            let is_null = r.peek()? == Kind::Null;
            if self.reader.field(r, key, &mut condition)? {
                return Ok(());
            }
            if is_null {
                return r.skip();
            }
            match self.operation(r, key)? {
                Some(operation) => operations.push((key.to_string(), operation)),
                None => r.unknown()?,
            }
            Ok(())
        })?;
        let mut kinds: Vec<&str> = operations.iter().map(|(key, _)| key.as_str()).collect();
        if condition.is_given() {
            kinds.push("a condition");
        }
        if let [first, second, ..] = kinds.as_slice() {
            return Err(r.error(format!("an expression is of one kind, got both {first} and {second}")));
        }
        match operations.pop() {
            Some((_, operation)) => Ok(operation),
            None => {
                let filter = condition.finish(r)?;
                self.conditions += filter.work();
                Ok(Expression::Condition(Box::new(filter)))
            }
        }
    }

    /// Reads the value of `key` if that is an operation.
    fn operation(&mut self, r: &mut Reader<'_>, key: &str) -> Result<Option<Expression>> {
        if let Some(function) = Function::named(key) {
            return Ok(Some(Expression::Function(function, Box::new(self.term(r)?))));
        }
        Ok(Some(match key {
            "sum" => Expression::Sum(self.list(r)?),
            "mult" => Expression::Product(self.list(r)?),
            "div" => self.quotient(r)?,
            "pow" => self.power(r)?,
            "geo_distance" => distance(r)?,
            "datetime" => datetime(r)?,
            "datetime_key" => Expression::Datetime(JsonPath::read(r)?),
            "lin_decay" => self.decay(Curve::Line, r)?,
            "exp_decay" => self.decay(Curve::Exponential, r)?,
            "gauss_decay" => self.decay(Curve::Gauss, r)?,
            _ => return Ok(None),
        }))
    }

    fn list(&mut self, r: &mut Reader<'_>) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        r.array(|r, _| {
            terms.push(self.term(r)?);
            Ok(())
        })?;
        Ok(terms)
    }

    fn quotient(&mut self, r: &mut Reader<'_>) -> Result<Expression> {
        let (mut left, mut right, mut by_zero_default) = (None, None, None);
        r.object(|r, name| {
            match name {
                "left" => left = r.optional(|r| self.term(r))?,
                "right" => right = r.optional(|r| self.term(r))?,
                "by_zero_default" => by_zero_default = r.optional(Reader::f64)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let left = left.ok_or_else(|| r.missing("left"))?;
        let right = right.ok_or_else(|| r.missing("right"))?;
        Ok(Expression::Quotient(Box::new(Quotient { left, right, by_zero_default })))
    }

    fn power(&mut self, r: &mut Reader<'_>) -> Result<Expression> {
        let (mut base, mut exponent) = (None, None);
        r.object(|r, name| {
            match name {
                "base" => base = r.optional(|r| self.term(r))?,
                "exponent" => exponent = r.optional(|r| self.term(r))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let base = base.ok_or_else(|| r.missing("base"))?;
        let exponent = exponent.ok_or_else(|| r.missing("exponent"))?;
        Ok(Expression::Power(Box::new(Power { base, exponent })))
    }

    fn decay(&mut self, curve: Curve, r: &mut Reader<'_>) -> Result<Expression> {
        let (mut x, mut target, mut scale, mut midpoint) = (None, None, None, None);
        r.object(|r, name| {
            match name {
                "x" => x = r.optional(|r| self.term(r))?,
                "target" => target = r.optional(|r| self.term(r))?,
                "scale" => scale = r.optional(decay_scale)?,
                "midpoint" => midpoint = r.optional(|r| decay_midpoint(curve, r))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let x = x.ok_or_else(|| r.missing("x"))?;
        let scale = scale.unwrap_or(DEFAULT_SCALE);
        let midpoint = midpoint.unwrap_or(DEFAULT_MIDPOINT);
        Ok(Expression::Decay(Box::new(Decay { curve, x, target, scale, midpoint })))
    }
}

fn decay_scale(r: &mut Reader<'_>) -> Result<f64> {
    let scale = r.f64()?;
    if scale > 0.0 {
        Ok(scale)
    } else {
        Err(r.error(format!("value {scale} invalid, must be larger than 0")))
    }
}

fn decay_midpoint(curve: Curve, r: &mut Reader<'_>) -> Result<f64> {
    let midpoint = r.f64()?;
    match curve {
        Curve::Line if (0.0..=1.0).contains(&midpoint) => Ok(midpoint),
        Curve::Line => Err(r.error(format!("value {midpoint} invalid, must be from 0 to 1"))),
        // The logarithm of 0 has no value, and that of 1 leaves nothing of the decay.
        Curve::Exponential | Curve::Gauss if midpoint > 0.0 && midpoint < 1.0 => Ok(midpoint),
        Curve::Exponential | Curve::Gauss => {
            Err(r.error(format!("value {midpoint} invalid, must be larger than 0 and smaller than 1")))
        }
    }
}

fn distance(r: &mut Reader<'_>) -> Result<Expression> {
    let (mut origin, mut to) = (None, None);
    r.object(|r, name| {
        match name {
            "origin" => origin = r.optional(geo_point)?,
            "to" => to = r.optional(JsonPath::read)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let origin = origin.ok_or_else(|| r.missing("origin"))?;
    let to = to.ok_or_else(|| r.missing("to"))?;
    Ok(Expression::Distance { origin, to })
}

fn datetime(r: &mut Reader<'_>) -> Result<Expression> {
    let text = r.string()?;
    match parse_datetime(&text) {
        Some(micros) => Ok(Expression::Constant(seconds(micros))),
        None => {
            let shown: String = text.chars().take(60).collect();
            Err(r.error(format!(
                "'{shown}' does not match accepted datetime format (RFC3339). Example: 2014-01-01T00:00:00Z"
            )))
        }
    }
}

/// Seconds since the epoch, of microseconds.
pub(super) fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}
