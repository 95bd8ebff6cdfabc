//! From a typed update to resolved changes, against the writer's head.

use super::comparing::resolve_sync;
use super::finder::Finder;
use super::{NamedVectors, PointInput, Selection, Update, UpdateMode, VectorsInput};
use crate::change::{Change, FieldVector, PayloadEdit, Skipped};
use crate::config::CollectionConfig;
use crate::deadline::{Deadline, Pace};
use crate::error::{Error, VersionConflict};
use crate::faults::PlantedFault;
use crate::field::table as field;
use crate::filter::Filter;
use crate::state::{PointRef, State};
use crate::types::{OpNumber, PointId, PointOffset};
use crate::vectors::{MultiVector, SparseFormat, VectorKind, VectorValue};
use std::collections::HashSet;

/// Resolves one update: names become fields, filters become ids, vectors are rounded and normalised.
///
/// `place` is the path of the update in the body, empty or ending in a dot, for messages. `finder` finds what its filter
/// matches. `op` is the operation that it is a part of.
///
/// # Errors
/// `VectorNotFound`, `DimensionMismatch`, `PointNotFound`, `VersionConflict` and `BadRequest`, before anything is changed.
pub fn resolve(
    state: &State,
    update: Update,
    place: &str,
    finder: &Finder<'_>,
    within: Option<&Filter>,
    op: OpNumber,
) -> Result<Resolved, Error> {
    let mut access = AccessScope::new(state, within, finder.deadline());
    let mut edit = |edit, selection| {
        let ids = existing(&mut access, selection, finder, place)?;
        Ok(Resolved::one(Change::EditPayload { edit, ids }))
    };
    match update {
        Update::Upsert { points, mode, update_filter, models } => {
            models.check(&state.config)?;
            upsert(access, points, mode, Guard::new(state, update_filter.as_ref(), finder), place)
        }
        Update::Delete(selection) => {
            let ids = match selection {
                Selection::Ids(ids, _) => access.seen(ids)?,
                Selection::Filter(filter) => finder.matching(state, &filter)?,
            };
            Ok(Resolved::one(Change::Delete(ids)))
        }
        Update::UpdateVectors { points, update_filter, models } => {
            models.check(&state.config)?;
            let guard = Guard::new(state, update_filter.as_ref(), finder);
            update_vectors(access, points, guard, place)
        }
        Update::DeleteVectors { names, selection } => {
            let fields =
                names.iter().map(|name| field_named(&state.config, name)).collect::<Result<_, _>>()?;
            let ids = existing(&mut access, selection, finder, place)?;
            Ok(Resolved::one(Change::DropVectors { fields, ids }))
        }
        Update::SetPayload { payload, key, selection } => {
            edit(PayloadEdit::Merge { patch: payload, at: key }, selection)
        }
        Update::OverwritePayload { payload, key, selection } => {
            edit(PayloadEdit::Overwrite { payload, at: key }, selection)
        }
        Update::DeletePayload { keys, selection } => edit(PayloadEdit::Remove(keys), selection),
        Update::ClearPayload(selection) => edit(PayloadEdit::Clear, selection),
        Update::Sync(sync) => resolve_sync(access, *sync, finder, op),
    }
}

/// What an update comes to.
pub struct Resolved {
    /// What is to be logged and applied.
    pub changes: Vec<Change>,
    /// What it left alone, if anything; its place in the request is that of the first update.
    pub skipped: Option<Skipped>,
}

impl Resolved {
    fn one(change: Change) -> Resolved {
        Resolved { changes: vec![change], skipped: None }
    }

    fn new(changes: Vec<Change>, skipped: Skipped) -> Resolved {
        let is_listed = skipped.count > 0 && !PlantedFault::SkippedNotListed.is_on();
        Resolved { changes, skipped: is_listed.then_some(skipped) }
    }
}

/// Which points a caller may reach. The others are absent for it.
pub(super) struct AccessScope<'a> {
    pub(super) state: &'a State,
    within: Option<&'a Filter>,
    pace: Pace<'a>,
}

impl<'a> AccessScope<'a> {
    pub(super) fn new(
        state: &'a State,
        within: Option<&'a Filter>,
        deadline: &'a Deadline,
    ) -> AccessScope<'a> {
        AccessScope { state, within, pace: Pace::new(deadline, within.map_or(0, Filter::work)) }
    }

    /// The point of that id, with its offset, if the caller may reach it.
    pub(super) fn point(&mut self, id: &PointId) -> Result<Option<(PointOffset, PointRef<'a>)>, Error> {
        let Some((offset, point)) = self.state.point(id) else { return Ok(None) };
        let Some(within) = self.within else { return Ok(Some((offset, point))) };
        let is_shown = within.matches_at(&self.state.subject(offset), &mut self.pace)?;
        Ok(is_shown.then_some((offset, point)))
    }

    /// These points without those that exist and that the caller may not reach.
    fn seen(&mut self, mut ids: Vec<PointId>) -> Result<Vec<PointId>, Error> {
        if self.within.is_some() {
            let mut kept = Vec::with_capacity(ids.len());
            for id in ids {
                if self.point(&id)?.is_some() {
                    kept.push(id);
                }
            }
            ids = kept;
        }
        Ok(ids)
    }

    /// Refuses points that exist where the caller may not reach.
    pub(super) fn check_reach<'i>(&mut self, ids: impl Iterator<Item = &'i PointId>) -> Result<(), Error> {
        if self.within.is_none() {
            return Ok(());
        }
        let mut outside = Vec::new();
        for id in ids {
            if self.state.point(id).is_some() && self.point(id)?.is_none() {
                outside.push(id.clone());
            }
        }
        if outside.is_empty() { Ok(()) } else { Err(forbidden(outside)) }
    }
}

/// Checks the versions that points must have, 0 for absent ones (C25). Each is compared with the state before the update.
fn check_versions<'i>(
    access: &mut AccessScope<'_>,
    expected: impl Iterator<Item = (&'i PointId, u64)>,
    place: &str,
) -> Result<(), Error> {
    let mut seen = HashSet::new();
    let mut conflicts = Vec::new();
    for (id, expected) in expected {
        let found = access.point(id)?.map_or(0, |(_, point)| point.version().get());
        if found != expected && seen.insert(id) && !PlantedFault::VersionsNotCompared.is_on() {
            conflicts.push(VersionConflict { id: id.clone(), expected, found });
        }
    }
    match (conflicts.is_empty(), place.trim_end_matches('.')) {
        (true, _) => Ok(()),
        (false, "") => Err(Error::VersionConflict(conflicts)),
        (false, place) => Err(Error::VersionConflict(conflicts).within(place.to_string())),
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
        if let Some(known) = self.finder.known(&self.state.at(offset).id()) {
            return Ok(known);
        }
        filter.matches_at(&self.state.subject(offset), &mut self.pace)
    }
}

fn upsert(
    mut access: AccessScope<'_>,
    points: Vec<PointInput>,
    mode: UpdateMode,
    mut guard: Guard<'_>,
    place: &str,
) -> Result<Resolved, Error> {
    let state = access.state;
    access.check_reach(points.iter().map(|point| &point.id))?;
    check_versions(
        &mut access,
        points.iter().filter_map(|point| Some((&point.id, point.if_version?))),
        place,
    )?;
    // The last of a repeated id wins; every point is checked all the same.
    let last = last_of_their_ids(&points);
    let mut changes = Vec::with_capacity(points.len());
    let mut skipped = Skipped::default();
    for ((at, point), is_last) in points.into_iter().enumerate().zip(last) {
        let PointInput { id, vectors, payload, .. } = point;
        let vectors = prepared(&state.config, vectors, || format!("{place}points[{at}].vector"))?;
        if !is_last {
            continue;
        }
        let is_skipped = match state.point(&id) {
            Some(_) if mode == UpdateMode::InsertOnly => true,
            Some((offset, _)) => !guard.lets_through(offset)?,
            None => mode == UpdateMode::UpdateOnly,
        };
        if is_skipped {
            skipped.add(id);
        } else {
            changes.push(Change::Put { id, vectors, payload });
        }
    }
    Ok(Resolved::new(changes, skipped))
}

/// For each point whether no later one has its id.
fn last_of_their_ids(points: &[PointInput]) -> Vec<bool> {
    let mut seen = HashSet::with_capacity(points.len());
    let mut last: Vec<bool> = points.iter().rev().map(|point| seen.insert(&point.id)).collect();
    last.reverse();
    last
}

fn update_vectors(
    mut access: AccessScope<'_>,
    points: Vec<VectorsInput>,
    mut guard: Guard<'_>,
    place: &str,
) -> Result<Resolved, Error> {
    let state = access.state;
    check_versions(
        &mut access,
        points.iter().filter_map(|point| Some((&point.id, point.if_version?))),
        place,
    )?;
    let mut absent = Vec::new();
    let mut changes = Vec::with_capacity(points.len());
    let (mut skipped, mut seen) = (Skipped::default(), HashSet::new());
    for (at, VectorsInput { id, vectors, .. }) in points.into_iter().enumerate() {
        let vectors = prepared(&state.config, vectors, || format!("{place}points[{at}].vector"))?;
        match access.point(&id)? {
            None => absent.push(id),
            Some((offset, _)) => {
                if guard.lets_through(offset)? {
                    changes.push(Change::SetVectors { id, vectors });
                } else if seen.insert(id.clone()) {
                    skipped.add(id);
                }
            }
        }
    }
    if absent.is_empty() { Ok(Resolved::new(changes, skipped)) } else { Err(not_found(absent)) }
}

/// Ids that exist; all those named must (C5), in the version that is expected.
fn existing(
    access: &mut AccessScope<'_>,
    selection: Selection,
    finder: &Finder<'_>,
    place: &str,
) -> Result<Vec<PointId>, Error> {
    match selection {
        Selection::Filter(filter) => finder.matching(access.state, &filter),
        Selection::Ids(ids, versions) => {
            check_versions(access, ids.iter().filter_map(|id| Some((id, versions.of(id)?))), place)?;
            let mut absent = Vec::new();
            for id in &ids {
                if access.point(id)?.is_none() {
                    absent.push(id.clone());
                }
            }
            if absent.is_empty() { Ok(ids) } else { Err(not_found(absent)) }
        }
    }
}

/// The error for ids that the caller may not write, each once, in the order of the request.
pub fn forbidden(outside: Vec<PointId>) -> Error {
    let mut seen = HashSet::new();
    Error::PointsForbidden(outside.into_iter().filter(|id| seen.insert(id.clone())).collect())
}

/// The error for absent ids, each once, in the order of the request.
pub fn not_found(absent: Vec<PointId>) -> Error {
    let mut seen = HashSet::new();
    Error::PointNotFound(absent.into_iter().filter(|id| seen.insert(id.clone())).collect())
}

fn field_named(config: &CollectionConfig, name: &str) -> Result<u16, Error> {
    let field = config.declared_position(name)?;
    Ok(u16::try_from(field).expect("named vectors are limited far below 2^16"))
}

pub(super) fn prepared(
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
