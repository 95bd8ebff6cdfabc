//! Selectors: what a read shows (`with_payload`, `with_vector`), and what an update changes (`points`, `filter`).

use super::body::{self, Budget, Result};
use super::id::read_id;
use crate::collection::update::Selection;
use crate::filter::Filter;
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::payload::PayloadSelector;
use crate::query::request::{Selectors, VectorSelector};
use crate::types::PointId;

/// The selector fields of a read request.
#[derive(Default)]
pub(super) struct SelectorFields {
    payload: Option<PayloadSelector>,
    vector: Option<VectorSelector>,
}

impl SelectorFields {
    /// Reads the value of a field if it is one of these. False if not.
    pub(super) fn field(&mut self, reader: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool> {
        match key {
            "with_payload" => self.payload = reader.optional(PayloadSelector::parse)?,
            "with_vector" | "with_vectors" => {
                self.vector = reader.optional(|r| vector_selector(r, limits))?
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The selectors, with defaults for absent ones.
    pub(super) fn or(self, payload: PayloadSelector) -> Selectors {
        Selectors {
            payload: self.payload.unwrap_or(payload),
            vector: self.vector.unwrap_or(VectorSelector::None),
        }
    }
}

fn vector_selector(reader: &mut Reader<'_>, limits: &Limits) -> Result<VectorSelector> {
    match reader.peek()? {
        Kind::Bool => Ok(if reader.bool()? { VectorSelector::All } else { VectorSelector::None }),
        Kind::Array => {
            let what = "vector names (max_named_vectors)";
            let names = body::list(reader, limits.max_named_vectors, what, |r| {
                r.string().map(|name| Box::from(&*name))
            })?;
            Ok(VectorSelector::Named(names))
        }
        other => {
            Err(reader.error(format!("expected a boolean or a list of vector names, got {}", other.word())))
        }
    }
}

/// The fields that select the points of an update.
#[derive(Default)]
pub(super) struct SelectionFields {
    ids: Option<Vec<PointId>>,
    filter: Option<Filter>,
}

impl SelectionFields {
    /// Reads the value of a field if it is one of these. False if not.
    pub(super) fn field(
        &mut self,
        reader: &mut Reader<'_>,
        key: &str,
        budget: &mut Budget<'_>,
    ) -> Result<bool> {
        match key {
            "points" => self.ids = reader.optional(|r| budget.list(r, read_id))?,
            "filter" => self.filter = reader.optional(|r| Filter::parse(r, budget.limits))?,
            "shard_key" => body::shard_key(reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The selection. If both are given, the ids count. `reader` is just behind the object.
    pub(super) fn finish(self, reader: &Reader<'_>) -> Result<Selection> {
        match (self.ids, self.filter) {
            (Some(ids), _) => Ok(Selection::Ids(ids)),
            (None, Some(filter)) => Ok(Selection::Filter(filter)),
            (None, None) => {
                Err(reader.error("Either list of point ids or filter must be provided (points, filter)"))
            }
        }
    }
}
