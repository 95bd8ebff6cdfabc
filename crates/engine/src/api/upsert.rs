//! The body of an upsert (C5.1): a list of points, or columns.

use super::body::{self, Budget, Result, field_error};
use super::id::read_id;
use super::vector::VectorReader;
use crate::collection::update::{NamedVectors, PointInput, Update, UpdateMode};
use crate::config::fields::{choice, insert_named};
use crate::config::{NamedModels, VectorModels};
use crate::filter::Filter;
use crate::json::{Kind, Reader, TwoNames, read_payload};
use crate::limits::Limits;
use crate::scheduling::yield_to_reads;
use crate::types::PointId;
use crate::vectors::VectorValue;

const MODES: [(&str, UpdateMode); 3] = [
    ("upsert", UpdateMode::Upsert),
    ("insert_only", UpdateMode::InsertOnly),
    ("update_only", UpdateMode::UpdateOnly),
];

/// Reads an upsert.
pub(super) fn read(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Update> {
    let (mut points, mut batch, mut mode, mut update_filter) = (None, None, None, None);
    let mut named = None;
    reader.object(|r, key| {
        match key {
            "points" => points = r.optional(|r| read_points(r, budget))?,
            "batch" => batch = r.optional(|r| read_columns(r, budget))?,
            "model" => named = r.optional(|r| NamedModels::read(r, budget.limits.max_named_vectors))?,
            "update_mode" => mode = r.optional(|r| choice(r, &MODES))?,
            "update_filter" => update_filter = r.optional(|r| Filter::parse(r, budget.limits))?,
            "shard_key" => body::shard_key(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let (field, (points, models)) = match (points, batch) {
        (Some(points), None) => ("points", points),
        (None, Some(points)) => ("batch", points),
        (None, None) => return Err(reader.missing("points")),
        (Some(_), Some(_)) => {
            return Err(field_error(reader, "batch", "points and batch exclude each other"));
        }
    };
    if points.is_empty() {
        return Err(field_error(reader, field, "must hold at least one point"));
    }
    let models = models.naming(&named.unwrap_or_default());
    Ok(Update::Upsert { points, mode: mode.unwrap_or(UpdateMode::Upsert), update_filter, models })
}

/// Points, and the models of their vectors.
type Points = (Vec<PointInput>, VectorModels);

fn read_points(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Points> {
    let mut read = PointReader::new(budget.limits);
    let points = budget.list(reader, |r| read.point(r))?;
    Ok((points, read.forms.into_models()))
}

/// Reads an upsert whose body has a point in each line (C5.14).
pub(super) fn read_lines(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Update> {
    let mut read = PointReader::new(budget.limits);
    let mut points = Vec::new();
    reader.lines("points", |r, _| {
        budget.take("points")?;
        points.push(read.point(r)?);
        Ok(())
    })?;
    if points.is_empty() {
        return Err(field_error(reader, "points", "must hold at least one point"));
    }
    let models = read.forms.into_models().naming(&NamedModels::default());
    Ok(Update::Upsert { points, mode: UpdateMode::Upsert, update_filter: None, models })
}

/// Reads points.
struct PointReader<'l> {
    limits: &'l Limits,
    forms: VectorReader,
    scratch: Vec<u8>,
}

impl<'l> PointReader<'l> {
    fn new(limits: &'l Limits) -> PointReader<'l> {
        PointReader { limits, forms: VectorReader::of_documents(), scratch: Vec::new() }
    }

    fn point(&mut self, reader: &mut Reader<'_>) -> Result<PointInput> {
        let PointReader { limits, forms, scratch } = self;
        let (mut id, mut payload, mut if_version) = (None, None, None);
        let mut vectors = TwoNames::default();
        reader.object(|r, key| {
            match key {
                "id" => id = r.optional(read_id)?,
                "vector" | "vectors" => {
                    vectors.put(key == "vectors", r.optional(|r| forms.of_point(r, limits))?);
                }
                "payload" => payload = r.optional(|r| object_bytes_by(r, scratch))?,
                "if_version" => if_version = r.optional(Reader::u64)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        yield_to_reads();
        Ok(PointInput {
            id: id.ok_or_else(|| reader.missing("id"))?,
            vectors: vectors.take().ok_or_else(|| reader.missing("vector"))?,
            payload: payload.unwrap_or_else(empty_object),
            if_version,
        })
    }
}

/// The vectors of a columnar upsert.
enum VectorColumns {
    /// One unnamed vector for each point.
    Unnamed(Vec<VectorValue>),
    /// Lists by name.
    Named(Vec<(Box<str>, Vec<VectorValue>)>),
}

fn read_columns(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Points> {
    let (mut ids, mut vectors, mut payloads) = (None, None, None);
    reader.object(|r, key| {
        match key {
            "ids" => ids = r.optional(|r| budget.list(r, read_id))?,
            "vectors" => vectors = r.optional(|r| read_vector_columns(r, budget.limits))?,
            "payloads" => {
                payloads = r.optional(|r| column(r, budget.limits, |r| r.optional(object_bytes)))?;
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let ids = ids.ok_or_else(|| reader.missing("ids"))?;
    let (vectors, models) = vectors.ok_or_else(|| reader.missing("vectors"))?;
    check_length(reader, "vectors", &ids, &vectors)?;
    if let Some(payloads) = payloads.as_ref().filter(|payloads| payloads.len() != ids.len()) {
        let why = format!("number of ids and payloads must be equal ({} != {})", ids.len(), payloads.len());
        return Err(field_error(reader, "payloads", why));
    }
    let mut payloads = payloads.unwrap_or_default().into_iter();
    let with_vectors = ids.into_iter().zip(by_point(vectors));
    let points = with_vectors
        .map(|(id, vectors)| PointInput {
            id,
            vectors,
            payload: payloads.next().flatten().unwrap_or_else(empty_object),
            if_version: None,
        })
        .collect();
    Ok((points, models))
}

fn read_vector_columns(reader: &mut Reader<'_>, limits: &Limits) -> Result<(VectorColumns, VectorModels)> {
    let mut forms = VectorReader::of_documents();
    if reader.peek()? != Kind::Object {
        let vectors = column(reader, limits, |r| noted(&mut forms, r, ""))?;
        return Ok((VectorColumns::Unnamed(vectors), forms.into_models()));
    }
    let place = reader.path();
    let mut columns: Vec<(Box<str>, Vec<VectorValue>)> = Vec::new();
    reader.object(|r, name| {
        if r.take_null()? {
            return Ok(());
        }
        let vectors = column(r, limits, |r| noted(&mut forms, r, name))?;
        insert_named(&mut columns, name, vectors, limits, &place)
    })?;
    Ok((VectorColumns::Named(columns), forms.into_models()))
}

fn noted(forms: &mut VectorReader, reader: &mut Reader<'_>, field: &str) -> Result<VectorValue> {
    let vector = forms.value(reader)?;
    forms.note(reader, field);
    Ok(vector)
}

/// Reads a list with one element for each point.
fn column<T>(
    reader: &mut Reader<'_>,
    limits: &Limits,
    read: impl FnMut(&mut Reader<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    body::list(
        reader,
        limits.max_points_per_request,
        "points or ids a request (max_points_per_request)",
        read,
    )
}

fn check_length(reader: &Reader<'_>, field: &str, ids: &[PointId], vectors: &VectorColumns) -> Result<()> {
    let differs = |len: usize| {
        (len != ids.len())
            .then(|| format!("number of ids and vectors must be equal ({} != {len})", ids.len()))
    };
    let wrong = match vectors {
        VectorColumns::Unnamed(list) => differs(list.len()).map(|why| (field.to_string(), why)),
        VectorColumns::Named(columns) => columns
            .iter()
            .find_map(|(name, list)| differs(list.len()).map(|why| (format!("{field}.{name}"), why))),
    };
    match wrong {
        Some((place, why)) => Err(field_error(reader, &place, why)),
        None => Ok(()),
    }
}

/// The vectors of one point after the other, from columns; an infinite iterator if there are no columns.
fn by_point(columns: VectorColumns) -> Box<dyn Iterator<Item = NamedVectors>> {
    match columns {
        VectorColumns::Unnamed(list) => {
            Box::new(list.into_iter().map(|vector| vec![(Box::from(""), vector)]))
        }
        VectorColumns::Named(columns) => {
            let mut columns: Vec<_> =
                columns.into_iter().map(|(name, list)| (name, list.into_iter())).collect();
            Box::new(std::iter::repeat_with(move || {
                columns
                    .iter_mut()
                    .filter_map(|(name, list)| list.next().map(|vector| (name.clone(), vector)))
                    .collect()
            }))
        }
    }
}

/// Reads a payload into its normal form.
pub(super) fn object_bytes(reader: &mut Reader<'_>) -> Result<Box<[u8]>> {
    object_bytes_by(reader, &mut Vec::new())
}

/// As [`object_bytes`], with a buffer that is reused for many payloads.
pub(super) fn object_bytes_by(reader: &mut Reader<'_>, scratch: &mut Vec<u8>) -> Result<Box<[u8]>> {
    scratch.clear();
    read_payload(reader, scratch)?;
    Ok(Box::from(&scratch[..]))
}

fn empty_object() -> Box<[u8]> {
    Box::from(&b"{}"[..])
}
