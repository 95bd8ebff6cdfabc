//! The meaning of filters, which indexes do not change.

mod automatic;
mod documents;
mod filters;
mod grammar;
mod oracle;
mod oracle_geo;
mod properties;
mod semantics;
mod state;
mod texts;

use super::{Filter, PointView};
use crate::error::Error;
use crate::json::{Reader, read_payload};
use crate::limits::Limits;
use crate::payload::{JsonPath, Tokenizer};
use crate::types::PointId;
use std::borrow::Cow;

/// A point of a test.
struct Point {
    id: PointId,
    vectors: Vec<&'static str>,
    payload: Vec<u8>,
    /// The tokenizers of the text indexes, by their paths.
    tokenizers: Vec<(JsonPath, Tokenizer)>,
}

impl Point {
    fn new(id: u64, payload: &str) -> Point {
        Point { id: PointId::Num(id), vectors: vec![""], payload: normalised(payload), tokenizers: vec![] }
    }
}

impl PointView for Point {
    fn id(&self) -> Cow<'_, PointId> {
        Cow::Borrowed(&self.id)
    }

    fn has_vector(&self, name: &str) -> bool {
        self.vectors.contains(&name)
    }

    fn document(&self) -> &[u8] {
        &self.payload
    }

    fn tokenizer(&self, path: &JsonPath) -> Option<&Tokenizer> {
        self.tokenizers.iter().find(|(indexed, _)| indexed == path).map(|(_, tokenizer)| tokenizer)
    }
}

fn normalised(payload: &str) -> Vec<u8> {
    let mut out = Vec::new();
    read_payload(&mut Reader::new(payload.as_bytes()).unwrap(), &mut out).unwrap();
    out
}

/// Parses the value of `filter` in a body, as an endpoint would.
fn parse_with(filter: &str, limits: &Limits) -> Result<Filter, Error> {
    let body = format!(r#"{{"filter":{filter}}}"#);
    let mut reader = Reader::new(body.as_bytes())?;
    let mut parsed = None;
    reader.object(|r, _| {
        parsed = Some(Filter::parse(r, limits)?);
        Ok(())
    })?;
    reader.finish()?;
    Ok(parsed.expect("the body has a filter"))
}

fn parse(filter: &str) -> Result<Filter, Error> {
    parse_with(filter, &Limits::default())
}
