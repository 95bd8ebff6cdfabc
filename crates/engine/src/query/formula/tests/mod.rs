//! What formulas mean, and their errors.

mod grammar;
mod oracle;
mod properties;
mod values;

use super::{Defaults, Formula};
use crate::error::Error;
use crate::filter::PointView;
use crate::json::{Reader, read_payload};
use crate::limits::Limits;
use crate::payload::{JsonPath, Tokenizer};
use crate::types::PointId;
use std::borrow::Cow;

/// A point of a test, with the vector `dense`.
struct Point {
    payload: Vec<u8>,
}

/// The id of every point.
const ID: u64 = 7;

impl Point {
    fn new(payload: &str) -> Point {
        let mut out = Vec::new();
        read_payload(&mut Reader::new(payload.as_bytes()).unwrap(), &mut out).unwrap();
        Point { payload: out }
    }
}

impl PointView for Point {
    fn id(&self) -> Cow<'_, PointId> {
        Cow::Owned(PointId::Num(ID))
    }

    fn has_vector(&self, name: &str) -> bool {
        name == "dense"
    }

    fn document(&self) -> &[u8] {
        &self.payload
    }

    fn tokenizer(&self, _path: &JsonPath) -> Option<&Tokenizer> {
        None
    }
}

/// Parses the value of `query` in a body.
fn parse(query: &str) -> Result<Formula, Error> {
    let body = format!(r#"{{"query":{query}}}"#);
    let mut reader = Reader::new(body.as_bytes())?;
    let (mut formula, mut defaults) = (None, None);
    reader.object(|r, _| {
        r.object(|r, key| {
            match key {
                "formula" => formula = Some(Formula::parse(r, &Limits::default())?),
                _ => defaults = Some(Defaults::parse(r)?),
            }
            Ok(())
        })
    })?;
    reader.finish()?;
    Ok(formula.expect("the query has a formula").with_defaults(defaults.unwrap_or_default()))
}

/// Parses a formula without defaults.
fn formula(expression: &str) -> Result<Formula, Error> {
    parse(&format!(r#"{{"formula":{expression}}}"#))
}
