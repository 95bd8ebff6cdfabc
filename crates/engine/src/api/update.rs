//! The bodies of the other updates (C5.4–C5.11).

use super::body::{self, Budget, Result, field_error};
use super::id::read_id;
use super::selectors::SelectionFields;
use super::upsert::{self, object_bytes};
use super::vector::VectorReader;
use crate::collection::update::{Selection, Update, VectorsInput};
use crate::config::{NamedModels, VectorModels};
use crate::filter::Filter;
use crate::json::{Reader, TwoNames};
use crate::limits::MAX_PATHS;
use crate::payload::JsonPath;

/// An operation of `points/batch`.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Upsert,
    Delete,
    UpdateVectors,
    DeleteVectors,
    SetPayload,
    OverwritePayload,
    DeletePayload,
    ClearPayload,
}

const OPERATIONS: [(&str, Operation); 8] = [
    ("upsert", Operation::Upsert),
    ("delete", Operation::Delete),
    ("set_payload", Operation::SetPayload),
    ("overwrite_payload", Operation::OverwritePayload),
    ("delete_payload", Operation::DeletePayload),
    ("clear_payload", Operation::ClearPayload),
    ("update_vectors", Operation::UpdateVectors),
    ("delete_vectors", Operation::DeleteVectors),
];

impl Operation {
    /// Reads the body of that operation's endpoint.
    pub(super) fn read(self, reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Update> {
        match self {
            Operation::Upsert => upsert::read(reader, budget),
            Operation::Delete => {
                read_selection(reader, SelectionFields::default(), budget).map(Update::Delete)
            }
            Operation::UpdateVectors => read_update_vectors(reader, budget),
            Operation::DeleteVectors => read_delete_vectors(reader, budget),
            Operation::SetPayload => {
                let (payload, key, selection) = read_payload_change(reader, budget)?;
                Ok(Update::SetPayload { payload, key, selection })
            }
            Operation::OverwritePayload => {
                let (payload, key, selection) = read_payload_change(reader, budget)?;
                Ok(Update::OverwritePayload { payload, key, selection })
            }
            Operation::DeletePayload => read_delete_payload(reader, budget),
            Operation::ClearPayload => {
                read_selection(reader, SelectionFields::with_versions(), budget).map(Update::ClearPayload)
            }
        }
    }
}

/// Reads `{operations: [{<operation>: <body>}]}`.
pub(super) fn read_batch(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Vec<Update>> {
    let mut operations = None;
    reader.object(|r, key| {
        match key {
            "operations" => operations = r.optional(|r| read_operations(r, budget))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let operations = operations.ok_or_else(|| reader.missing("operations"))?;
    if operations.is_empty() {
        return Err(field_error(reader, "operations", "must hold at least one operation"));
    }
    Ok(operations)
}

fn read_operations(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Vec<Update>> {
    let max = budget.limits.max_points_per_request;
    body::list(reader, max, "operations a request (max_points_per_request)", |r| {
        let mut update = None;
        r.object(|r, key| {
            let Some((_, operation)) = OPERATIONS.iter().find(|(known, _)| *known == key) else {
                return r.unknown();
            };
            let found = r.optional(|r| operation.read(r, budget))?;
            match (&update, found) {
                (Some((earlier, _)), Some(_)) if *earlier != key => {
                    return Err(r.error(format!("expected one operation, got {earlier} and {key}")));
                }
                (Some((earlier, _)), None) if *earlier != key => {}
                (_, found) => update = found.map(|found| (key.to_string(), found)),
            }
            Ok(())
        })?;
        let known: Vec<&str> = OPERATIONS.iter().map(|(known, _)| *known).collect();
        let (_, update) = update.ok_or_else(|| r.error(format!("expected one of {}", known.join(", "))))?;
        Ok(update)
    })
}

fn read_selection(
    reader: &mut Reader<'_>,
    mut selection: SelectionFields,
    budget: &mut Budget<'_>,
) -> Result<Selection> {
    reader.object(|r, key| if selection.field(r, key, budget)? { Ok(()) } else { r.unknown() })?;
    selection.finish(reader)
}

fn read_update_vectors(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Update> {
    let (mut update_filter, mut named) = (None, None);
    let mut points = TwoNames::default();
    reader.object(|r, key| {
        match key {
            "model" => named = r.optional(|r| NamedModels::read(r, budget.limits.max_named_vectors))?,
            "points" | "vectors" => {
                points.put(key == "vectors", r.optional(|r| read_point_vectors(r, budget))?);
            }
            "update_filter" => update_filter = r.optional(|r| Filter::parse(r, budget.limits))?,
            "shard_key" => body::shard_key(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let (points, models) = points.take().ok_or_else(|| reader.missing("points"))?;
    if points.is_empty() {
        return Err(field_error(reader, "points", "must specify points to update"));
    }
    let models = models.naming(&named.unwrap_or_default());
    Ok(Update::UpdateVectors { points, update_filter, models })
}

fn read_point_vectors(
    reader: &mut Reader<'_>,
    budget: &mut Budget<'_>,
) -> Result<(Vec<VectorsInput>, VectorModels)> {
    let limits = budget.limits;
    let mut forms = VectorReader::of_documents();
    let points = budget.list(reader, |r| {
        let (mut id, mut if_version) = (None, None);
        let mut vectors = TwoNames::default();
        r.object(|r, key| {
            match key {
                "id" => id = r.optional(read_id)?,
                "vector" | "vectors" => {
                    vectors.put(key == "vectors", r.optional(|r| forms.of_point(r, limits))?);
                }
                "if_version" => if_version = r.optional(Reader::u64)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let id = id.ok_or_else(|| r.missing("id"))?;
        let vectors = vectors.take().ok_or_else(|| r.missing("vector"))?;
        if vectors.is_empty() {
            return Err(field_error(r, "vector", "must specify vectors to update for point"));
        }
        Ok(VectorsInput { id, vectors, if_version })
    })?;
    Ok((points, forms.into_models()))
}

fn read_delete_vectors(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Update> {
    let mut names: TwoNames<Vec<Box<str>>> = TwoNames::default();
    let mut selection = SelectionFields::default();
    let max_names = budget.limits.max_named_vectors;
    reader.object(|r, key| {
        if selection.field(r, key, budget)? {
            return Ok(());
        }
        match key {
            "vector" | "vectors" => {
                let listed = r.optional(|r| {
                    let name = |r: &mut Reader<'_>| r.string().map(|name| Box::from(&*name));
                    body::list(r, max_names, "vector names (max_named_vectors)", name)
                })?;
                names.put(key == "vectors", listed);
                Ok(())
            }
            _ => r.unknown(),
        }
    })?;
    let names = names.take().ok_or_else(|| reader.missing("vector"))?;
    if names.is_empty() {
        return Err(field_error(reader, "vector", "must specify vector names to delete"));
    }
    Ok(Update::DeleteVectors { names, selection: selection.finish(reader)? })
}

type PayloadChange = (Box<[u8]>, Option<JsonPath>, Selection);

fn read_payload_change(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<PayloadChange> {
    let (mut payload, mut place) = (None, None);
    let mut selection = SelectionFields::with_versions();
    reader.object(|r, key| {
        if selection.field(r, key, budget)? {
            return Ok(());
        }
        match key {
            "payload" => payload = r.optional(object_bytes)?,
            "key" => place = r.optional(JsonPath::read)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let payload = payload.ok_or_else(|| reader.missing("payload"))?;
    Ok((payload, place, selection.finish(reader)?))
}

fn read_delete_payload(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Update> {
    let mut keys = None;
    let mut selection = SelectionFields::with_versions();
    reader.object(|r, key| {
        if selection.field(r, key, budget)? {
            return Ok(());
        }
        match key {
            "keys" => keys = r.optional(|r| body::list(r, MAX_PATHS, "paths a request", JsonPath::read))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let keys = keys.ok_or_else(|| reader.missing("keys"))?;
    Ok(Update::DeletePayload { keys, selection: selection.finish(reader)? })
}
