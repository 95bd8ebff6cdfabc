//! Formulas: a score computed from the scores of the prefetches and from the payload (C6.3).
//!
//! A formula is a tree of terms. It is calculated in `f64` and answered as `f32`. The grammar and the decay functions
//! are those of Qdrant's score boosting; distances on the globe are haversine distances on a sphere.

mod evaluate;
mod index_needs;
mod parse;
#[cfg(test)]
mod tests;
mod variable;

pub use variable::Defaults;

use crate::filter::Filter;
use crate::payload::{GeoPoint, JsonPath};

/// A formula with the defaults of its variables.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    root: Term,
    defaults: Defaults,
    work: usize,
}

/// A part of a formula that has a value.
#[derive(Clone, Debug, PartialEq)]
struct Term {
    /// Where it stands in the request, for errors that come up when it is calculated.
    place: Box<str>,
    expression: Expression,
}

/// What a term calculates.
#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Constant(f64),
    /// The score in the prefetch of that number.
    Score(usize),
    /// The number at a path of the payload.
    Number(JsonPath),
    /// 1 where the filter matches, else 0.
    Condition(Box<Filter>),
    Sum(Vec<Term>),
    /// A factor of 0 ends it: those that follow are not evaluated.
    Product(Vec<Term>),
    Function(Function, Box<Term>),
    Quotient(Box<Quotient>),
    Power(Box<Power>),
    /// Metres from a place to the one at a path of the payload.
    Distance {
        origin: GeoPoint,
        to: JsonPath,
    },
    /// The date-time at a path of the payload, in seconds since the epoch.
    Datetime(JsonPath),
    Decay(Box<Decay>),
}

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Neg,
    Abs,
    Sqrt,
    Exp,
    Ln,
    Log10,
}

impl Function {
    const ALL: [(&'static str, Function); 6] = [
        ("neg", Function::Neg),
        ("abs", Function::Abs),
        ("sqrt", Function::Sqrt),
        ("exp", Function::Exp),
        ("ln", Function::Ln),
        ("log10", Function::Log10),
    ];

    /// The function of that name in a request.
    fn named(name: &str) -> Option<Function> {
        Function::ALL.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    fn name(self) -> &'static str {
        Function::ALL[self as usize].0
    }
}

/// `left / right`; 0 if `left` is, whatever `right` is.
#[derive(Clone, Debug, PartialEq)]
struct Quotient {
    left: Term,
    right: Term,
    /// Stands for the quotient if `right` is 0.
    by_zero_default: Option<f64>,
}

/// `base` to the power of `exponent`.
#[derive(Clone, Debug, PartialEq)]
struct Power {
    base: Term,
    exponent: Term,
}

/// A value that falls from 1 at `target` to `midpoint` at a distance of `scale` from it.
#[derive(Clone, Debug, PartialEq)]
struct Decay {
    curve: Curve,
    x: Term,
    /// 0 unless given.
    target: Option<Term>,
    /// Above 0.
    scale: f64,
    /// From 0 to 1; strictly between them except for the line.
    midpoint: f64,
}

/// The form of a [`Decay`], with d the distance from the target in scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    /// max(0, 1 − (1 − midpoint) · d)
    Line,
    /// midpoint^d
    Exponential,
    /// midpoint^(d²)
    Gauss,
}

impl Formula {
    /// The same formula with other defaults.
    pub fn with_defaults(self, defaults: Defaults) -> Formula {
        Formula { defaults, ..self }
    }

    /// Terms and conditions that a point is checked with: the work that it is.
    pub fn work(&self) -> usize {
        self.work
    }
}
