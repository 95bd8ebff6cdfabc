//! From a typed update to resolved changes, against the writer's head.

use super::finder::Finder;
use super::{NamedVectors, PointInput, Selection, Update, UpdateMode};
use crate::change::{Change, FieldVector, PayloadEdit};
use crate::config::CollectionConfig;
use crate::deadline::Pace;
use crate::error::Error;
use crate::field::table as field;
use crate::filter::Filter;
use crate::state::State;
use crate::types::{PointId, PointOffset};
use crate::vectors::{MultiVector, SparseFormat, VectorKind, VectorValue};
use std::collections::HashMap;

/// Resolves one update: names become fields, filters become ids, vectors are rounded and normalised.
///
/// `place` is the path of the update in the body, empty or ending in a dot, for messages. `finder` finds what its filter
/// matches.
///
/// # Errors
/// `VectorNotFound`, `DimensionMismatch`, `PointNotFound` and `BadRequest`, before anything is changed.
pub fn resolve(
    state: &State,
    update: Update,
    place: &str,
    finder: &Finder<'_>,
) -> Result<Vec<Change>, Error> {
    match update {
        Update::Upsert { points, mode, update_filter, models } => {
            models.check(&state.config)?;
            upsert(state, points, mode, Guard::new(state, update_filter.as_ref(), finder), place)
        }
        Update::Delete(selection) => {
            let ids = match selection {
                Selection::Ids(ids) => ids,
                Selection::Filter(filter) => finder.matching(state, &filter)?,
            };
            Ok(vec![Change::Delete(ids)])
        }
        Update::UpdateVectors { points, update_filter, models } => {
            models.check(&state.config)?;
            let guard = Guard::new(state, update_filter.as_ref(), finder);
            update_vectors(state, points, guard, place)
        }
        Update::DeleteVectors { names, selection } => {
            let fields =
                names.iter().map(|name| field_named(&state.config, name)).collect::<Result<_, _>>()?;
            Ok(vec![Change::DropVectors { fields, ids: existing(state, selection, finder)? }])
        }
        Update::SetPayload { payload, key, selection } => {
            let edit = PayloadEdit::Merge { patch: payload, at: key };
            Ok(vec![Change::EditPayload { edit, ids: existing(state, selection, finder)? }])
        }
        Update::OverwritePayload { payload, key, selection } => {
            let edit = PayloadEdit::Overwrite { payload, at: key };
            Ok(vec![Change::EditPayload { edit, ids: existing(state, selection, finder)? }])
        }
        Update::DeletePayload { keys, selection } => Ok(vec![Change::EditPayload {
            edit: PayloadEdit::Remove(keys),
            ids: existing(state, selection, finder)?,
        }]),
        Update::ClearPayload(selection) => Ok(vec![Change::EditPayload {
            edit: PayloadEdit::Clear,
            ids: existing(state, selection, finder)?,
        }]),
    }
}

/// An `update_filter`: which existing points an update may change.
struct Guard<'a> {
    state: &'a State,
    filter: Option<&'a Filter>,
    finder: &'a Finder<'a>,
    pace: Pace<'a>,
}

impl<'a> Guard<'a> {
    fn new(state: &'a State, filter: Option<&'a Filter>, finder: &'a Finder<'a>) -> Guard<'a> {
        let pace = Pace::new(finder.deadline(), filter.map_or(0, Filter::work));
        Guard { state, filter, finder, pace }
    }

    fn lets_through(&mut self, offset: PointOffset) -> Result<bool, Error> {
        let Some(filter) = self.filter else { return Ok(true) };
        let point = self.state.at(offset);
        if let Some(known) = self.finder.known(point.id) {
            return Ok(known);
        }
        self.pace.step(point.payload.bytes().len())?;
        Ok(filter.matches(&self.state.subject(offset)))
    }
}

fn upsert(
    state: &State,
    points: Vec<PointInput>,
    mode: UpdateMode,
    mut guard: Guard<'_>,
    place: &str,
) -> Result<Vec<Change>, Error> {
    // The last of a repeated id wins; every point is checked all the same.
    let mut last: HashMap<PointId, usize> = HashMap::with_capacity(points.len());
    for (at, point) in points.iter().enumerate() {
        last.insert(point.id, at);
    }
    let mut changes = Vec::with_capacity(last.len());
    for (at, PointInput { id, vectors, payload }) in points.into_iter().enumerate() {
        let vectors = prepared(&state.config, vectors, || format!("{place}points[{at}].vector"))?;
        if last[&id] != at {
            continue;
        }
        let skipped = match state.point(id) {
            Some(_) if mode == UpdateMode::InsertOnly => true,
            Some((offset, _)) => !guard.lets_through(offset)?,
            None => mode == UpdateMode::UpdateOnly,
        };
        if !skipped {
            changes.push(Change::Put { id, vectors, payload });
        }
    }
    Ok(changes)
}

fn update_vectors(
    state: &State,
    points: Vec<(PointId, NamedVectors)>,
    mut guard: Guard<'_>,
    place: &str,
) -> Result<Vec<Change>, Error> {
    let mut absent = Vec::new();
    let mut changes = Vec::with_capacity(points.len());
    for (at, (id, vectors)) in points.into_iter().enumerate() {
        let vectors = prepared(&state.config, vectors, || format!("{place}points[{at}].vector"))?;
        match state.point(id) {
            None => absent.push(id),
            Some((offset, _)) => {
                if guard.lets_through(offset)? {
                    changes.push(Change::SetVectors { id, vectors });
                }
            }
        }
    }
    if absent.is_empty() { Ok(changes) } else { Err(not_found(absent)) }
}

/// Ids that exist; all those named must (C5).
fn existing(state: &State, selection: Selection, finder: &Finder<'_>) -> Result<Vec<PointId>, Error> {
    match selection {
        Selection::Filter(filter) => finder.matching(state, &filter),
        Selection::Ids(ids) => {
            let absent: Vec<PointId> = ids.iter().copied().filter(|id| !state.ids.contains_key(id)).collect();
            if absent.is_empty() { Ok(ids) } else { Err(not_found(absent)) }
        }
    }
}

/// The error for absent ids, each once, in the order of the request.
pub fn not_found(absent: Vec<PointId>) -> Error {
    let mut seen = std::collections::HashSet::new();
    Error::PointNotFound(absent.into_iter().filter(|id| seen.insert(*id)).collect())
}

fn field_named(config: &CollectionConfig, name: &str) -> Result<u16, Error> {
    let field = config.declared_position(name)?;
    Ok(u16::try_from(field).expect("named vectors are limited far below 2^16"))
}

fn prepared(
    config: &CollectionConfig,
    vectors: NamedVectors,
    place: impl Fn() -> String,
) -> Result<Vec<FieldVector>, Error> {
    vectors
        .into_iter()
        .map(|(name, vector)| {
            let field = field_named(config, &name)?;
            let vector = prepared_vector(config, usize::from(field), vector, || {
                let dot = if name.is_empty() { "" } else { "." };
                format!("{}{dot}{name}", place())
            })?;
            Ok((field, vector))
        })
        .collect()
}

/// The vector as the field at a position keeps it: normalised, rounded. A dense vector is a multi-vector of one row.
fn prepared_vector(
    config: &CollectionConfig,
    position: usize,
    vector: VectorValue,
    place: impl Fn() -> String,
) -> Result<VectorValue, Error> {
    let wanted = config.kind_at(position);
    match (wanted, vector) {
        (VectorKind::Dense, VectorValue::Dense(mut components)) => {
            let (name, params) = &config.fields()[position];
            if components.len() != params.size {
                let (expected, got) = (params.size, components.len());
                return Err(Error::DimensionMismatch { name: name.to_string(), expected, got });
            }
            field::prepare(params, &mut components)
                .map_err(|why| Error::bad(format!("{}: {why}", place())))?;
            Ok(VectorValue::Dense(components))
        }
        (VectorKind::Multi, VectorValue::Dense(components)) => {
            let dim = components.len();
            prepared_rows(config, position, MultiVector { dim, components }, place)
        }
        (VectorKind::Multi, VectorValue::Multi(rows)) => prepared_rows(config, position, rows, place),
        (VectorKind::Sparse, VectorValue::Sparse(mut vector)) => {
            let (_, params) = &config.sparse_fields()[position - config.fields().len()];
            SparseFormat::of(params.datatype())
                .prepare(&mut vector)
                .map_err(|why| Error::bad(format!("{}.values: {why}", place())))?;
            Ok(VectorValue::Sparse(vector))
        }
        (wanted, vector) => {
            let (wanted, got) = (wanted.words(), vector.kind().words());
            Err(Error::bad(format!("{}: expected {wanted}, got {got}", place())))
        }
    }
}

/// The rows of a multi-vector as the field keeps them.
fn prepared_rows(
    config: &CollectionConfig,
    position: usize,
    mut vector: MultiVector,
    place: impl Fn() -> String,
) -> Result<VectorValue, Error> {
    let (name, params) = &config.fields()[position];
    if vector.dim != params.size {
        let (expected, got) = (params.size, vector.dim);
        return Err(Error::DimensionMismatch { name: name.to_string(), expected, got });
    }
    for (at, row) in vector.components.chunks_exact_mut(params.size).enumerate() {
        field::prepare(params, row).map_err(|why| Error::bad(format!("{}[{at}]: {why}", place())))?;
    }
    Ok(VectorValue::Multi(vector))
}
