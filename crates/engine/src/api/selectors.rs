//! Selectors: what a read shows (`with_payload`, `with_vector`), and what an update changes (`points`, `filter`).

use super::body::{self, Budget, Result, field_error};
use super::id::{read_id, textual_id};
use crate::collection::update::{Selection, Versions};
use crate::filter::Filter;
use crate::json::{Kind, Reader, TwoNames};
use crate::limits::Limits;
use crate::payload::PayloadSelector;
use crate::query::request::{Selectors, VectorSelector};
use crate::types::{IdKind, PointId};
use std::collections::{HashMap, HashSet};

/// The selector fields of a read request.
#[derive(Default)]
pub(super) struct SelectorFields {
    payload: Option<PayloadSelector>,
    vector: TwoNames<VectorSelector>,
}

impl SelectorFields {
    /// Reads the value of a field if it is one of these. False if not.
    pub(super) fn field(&mut self, reader: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool> {
        match key {
            "with_payload" => self.payload = reader.optional(PayloadSelector::parse)?,
            "with_vector" | "with_vectors" => {
                let named = reader.optional(|r| vector_selector(r, limits))?;
                self.vector.put(key == "with_vectors", named);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The selectors, with defaults for absent ones.
    pub(super) fn or(self, payload: PayloadSelector) -> Selectors {
        Selectors {
            payload: self.payload.unwrap_or(payload),
            vector: self.vector.take().unwrap_or(VectorSelector::None),
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
    /// Whether there may be `if_version`.
    takes_versions: bool,
    versions: Option<Versions>,
}

impl SelectionFields {
    /// For an update of payload, which may say the versions that points must have.
    pub(super) fn with_versions() -> SelectionFields {
        SelectionFields { takes_versions: true, ..SelectionFields::default() }
    }

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
            "if_version" if self.takes_versions => {
                self.versions = reader.optional(|r| read_versions(r, budget.limits))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The selection: the ids, also where a filter is given too. Versions with a filter are refused. `reader` is just
    /// behind the object.
    pub(super) fn finish(self, reader: &Reader<'_>) -> Result<Selection> {
        if self.versions.is_some() && self.filter.is_some() {
            return Err(field_error(reader, "if_version", "goes with points, and not with a filter"));
        }
        match (self.ids, self.filter) {
            (Some(ids), _) => {
                let versions = self.versions.unwrap_or_default();
                check_named(reader, &ids, &versions)?;
                Ok(Selection::Ids(ids, versions))
            }
            (None, Some(filter)) => Ok(Selection::Filter(filter)),
            (None, None) => {
                Err(reader.error("Either list of point ids or filter must be provided (points, filter)"))
            }
        }
    }
}

/// Reads a version for all points, or an object from id to version.
fn read_versions(reader: &mut Reader<'_>, limits: &Limits) -> Result<Versions> {
    match reader.peek()? {
        Kind::Number => reader.u64().map(Versions::All),
        Kind::Object => {
            let (mut versions, max) = (HashMap::new(), limits.max_points_per_request);
            reader.object(|r, key| {
                let Some(id) = textual_id(key, r.ids.kind) else {
                    let valid = match r.ids.kind {
                        IdKind::Default => "an unsigned integer or a UUID",
                        IdKind::String => {
                            "an unsigned integer, or a string, in JSON quotes if it is of digits"
                        }
                    };
                    return Err(r.error(format!("the key is not a valid point ID: {valid}")));
                };
                versions.insert(id, r.u64()?);
                if versions.len() > max {
                    return Err(
                        r.error(format!("at most {max} points or ids a request (max_points_per_request)"))
                    );
                }
                Ok(())
            })?;
            Ok(Versions::Each(versions))
        }
        other => {
            Err(reader.error(format!("expected an integer or an object of integers, got {}", other.word())))
        }
    }
}

/// Each id that has a version must be among the points: one that is not may be misspelt.
fn check_named(reader: &Reader<'_>, ids: &[PointId], versions: &Versions) -> Result<()> {
    let Versions::Each(versions) = versions else { return Ok(()) };
    let named: HashSet<&PointId> = ids.iter().collect();
    match versions.keys().filter(|id| !named.contains(id)).min() {
        None => Ok(()),
        Some(id) => Err(field_error(reader, &format!("if_version.{id}"), "is not among the points")),
    }
}
