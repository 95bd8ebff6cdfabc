//! What a sync of a source (C20) comes to: its entries compared with one state of the collection.

use super::finder::Finder;
use super::resolve::{AccessScope, Resolved, prepared};
use super::source_sync::{SourceSync, SyncContent, SyncEntry, Synced, Texts};
use crate::change::{Change, Revision};
use crate::deadline::{Deadline, Pace};
use crate::embedding::{MAX_TEXTS, MAX_TEXTS_BYTES};
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::filter::{Filter, PointView};
use crate::payload::{JsonPath, Tokenizer};
use crate::scheduling::yield_to_reads;
use crate::state::State;
use crate::types::{OpNumber, PointId, TextInput};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

/// Points that a refusal names; the rest are counted.
const NAMED_IDS: usize = 10;

/// How the stored point of an entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// There is none.
    Absent,
    /// It has another hash.
    Changed(OpNumber),
    /// It has the hash of the entry.
    Unchanged,
    /// It is not in the scope.
    Outside,
}

/// Entries compared with a state.
struct Comparison {
    /// The current revision of the scope.
    revision: Revision,
    /// One for each entry.
    found: Vec<Found>,
    /// Points of the scope without an entry.
    deleted: Vec<(PointId, OpNumber)>,
}

/// What a client has to send content of, and what a sync would do.
pub struct SyncPlan {
    /// Points that are new or changed, in the order of the entries.
    pub needed: Vec<PointId>,
    /// Points that would be left alone.
    pub unchanged: usize,
    /// Points that would be deleted.
    pub deleted: usize,
    /// The current revision of the scope.
    pub revision: Revision,
}

/// Plans a sync on a state, of which the caller may reach some points.
///
/// # Errors
/// `SyncConflict` where ids are stored outside the scope, and those of the deadline.
pub fn plan_sync(
    state: &State,
    sync: &SourceSync,
    within: Option<&Filter>,
    deadline: &Deadline,
) -> Result<SyncPlan, Error> {
    let mut access = AccessScope::new(state, within, deadline);
    let comparison = compare(&mut access, sync, &Finder::Looking(deadline), || ())?;
    comparison.check_scope(sync)?;
    let of_entries = || sync.entries.iter().zip(&comparison.found);
    Ok(SyncPlan {
        needed: of_entries()
            .filter(|(_, found)| is_needed(found))
            .map(|(entry, _)| entry.id.clone())
            .collect(),
        unchanged: of_entries().filter(|(_, found)| **found == Found::Unchanged).count(),
        deleted: comparison.deleted.len(),
        revision: comparison.revision,
    })
}

/// Asks for the vectors of the texts of points that are new or changed in a state.
///
/// # Errors
/// `VectorsWanted`, and those of the limits on texts.
pub fn ask_for_vectors(state: &State, sync: &SourceSync) -> Result<(), Error> {
    let is_needed = |entry: &&SyncEntry| {
        let stored = state.point(&entry.id);
        stored.is_none_or(|(_, point)| !sync.is_unchanged(&entry.id, point.document()))
    };
    wanted(sync.entries.iter().filter(is_needed))
}

/// Resolves a sync as operation `op`.
///
/// # Errors
/// `BadRequest` for content that does not belong into the scope, `PointsForbidden`, `SyncConflict`, `VectorsWanted`, and those
/// of an upsert.
pub(super) fn resolve_sync(
    mut access: AccessScope<'_>,
    sync: SourceSync,
    finder: &Finder<'_>,
    op: OpNumber,
) -> Result<Resolved, Error> {
    let state = access.state;
    sync.models.iter().try_for_each(|models| models.check(&state.config))?;
    check_contents(state, &sync, finder.deadline())?;
    access.check_reach(sync.entries.iter().map(|entry| &entry.id))?;
    let comparison = compare(&mut access, &sync, finder, yield_to_reads)?;
    check_revision(&sync, comparison.revision)?;
    comparison.check_scope(&sync)?;
    let needed = || {
        let of_entries = sync.entries.iter().zip(&comparison.found);
        of_entries.filter(|(_, found)| is_needed(found)).map(|(entry, _)| entry)
    };
    let bare = needed().filter(|entry| entry.content.is_none());
    let bare: Vec<PointId> = bare.map(|entry| entry.id.clone()).collect();
    if !bare.is_empty() {
        let why = "are new or changed, and have no content: plan again";
        return Err(Error::SyncConflict(format!("points: {} {why}", listed(&bare))));
    }
    wanted(needed())?;
    comparison.changes(state, sync, op)
}

impl Comparison {
    /// Refuses entries whose points are stored outside the scope.
    fn check_scope(&self, sync: &SourceSync) -> Result<(), Error> {
        let outside = sync.entries.iter().zip(&self.found).filter(|(_, found)| **found == Found::Outside);
        let outside: Vec<PointId> = outside.map(|(entry, _)| entry.id.clone()).collect();
        if outside.is_empty() {
            return Ok(());
        }
        Err(Error::SyncConflict(format!("points: {} are stored outside the scope", listed(&outside))))
    }

    /// The changes, and what they come to.
    fn changes(self, state: &State, sync: SourceSync, op: OpNumber) -> Result<Resolved, Error> {
        let mut synced = Synced { revision: self.revision, ..Synced::default() };
        let mut changes = Vec::new();
        for (entry, found) in Arc::unwrap_or_clone(sync.entries).into_list().into_iter().zip(self.found) {
            match found {
                Found::Unchanged | Found::Outside => {
                    synced.unchanged += 1;
                    continue;
                }
                Found::Absent => synced.added += 1,
                Found::Changed(version) => {
                    synced.updated += 1;
                    synced.revision.remove(&entry.id, version);
                }
            }
            let (id, Some(content)) = (entry.id, entry.content) else { continue };
            let SyncContent { vectors, payload, place, .. } = *content;
            let vectors = prepared(&state.config, vectors, || format!("points[{place}].vector"))?;
            synced.revision.add(&id, op);
            changes.push(Change::Put { id, vectors, payload });
            yield_to_reads();
        }
        synced.deleted = self.deleted.len() as u32;
        self.deleted.iter().for_each(|(id, version)| synced.revision.remove(id, *version));
        if !self.deleted.is_empty() {
            changes.push(Change::Delete(self.deleted.into_iter().map(|(id, _)| id).collect()));
        }
        Ok(Resolved { changes, skipped: Some(synced.note()) })
    }
}

/// Whether a point is new or changed.
fn is_needed(found: &Found) -> bool {
    matches!(found, Found::Absent | Found::Changed(_))
}

/// Compares the entries with the points of the scope. `pause` is called between two points.
fn compare(
    access: &mut AccessScope<'_>,
    sync: &SourceSync,
    finder: &Finder<'_>,
    pause: fn(),
) -> Result<Comparison, Error> {
    let state = access.state;
    let mut comparison = Comparison {
        revision: Revision::default(),
        found: vec![Found::Absent; sync.entries.len()],
        deleted: Vec::new(),
    };
    let reaches_all = PlantedFault::SyncDeletesOutsideScope.is_on();
    let everything = Filter::default();
    let filter = if reaches_all { &everything } else { sync.reached() };
    for (offset, is_unchanged) in finder.compared(state, filter, sync, pause)? {
        let point = state.at(offset);
        comparison.revision.add(&point.id(), point.version());
        match sync.entries.of(&point.id()) {
            None => comparison.deleted.push((point.id().into_owned(), point.version())),
            Some((place, _)) if is_unchanged => comparison.found[place] = Found::Unchanged,
            Some((place, _)) => comparison.found[place] = Found::Changed(point.version()),
        }
        pause();
    }
    for (entry, found) in sync.entries.iter().zip(&mut comparison.found) {
        if *found == Found::Absent && access.point(&entry.id)?.is_some() {
            *found = Found::Outside;
        }
    }
    Ok(comparison)
}

/// Compares the revision that is asked for.
fn check_revision(sync: &SourceSync, present: Revision) -> Result<(), Error> {
    match sync.if_revision {
        Some(wanted) if wanted != present && !PlantedFault::SyncRevisionNotCompared.is_on() => {
            Err(Error::SyncConflict(format!("if_revision: the scope has revision {present}, not {wanted}")))
        }
        _ => Ok(()),
    }
}

/// Refuses content that the scope does not match: the next sync would not find it.
fn check_contents(state: &State, sync: &SourceSync, deadline: &Deadline) -> Result<(), Error> {
    let mut pace = Pace::new(deadline, sync.scope.work());
    let mut outside = Vec::new();
    for entry in sync.entries.iter() {
        let Some(content) = &entry.content else { continue };
        pace.step(content.payload.len())?;
        if !sync.scope.matches(&Incoming { id: &entry.id, content, state }) {
            outside.push(entry.id.clone());
        }
    }
    if outside.is_empty() {
        return Ok(());
    }
    Err(Error::bad(format!("points: {} do not match the scope", listed(&outside))))
}

/// A point that is to be written, as filters see it.
struct Incoming<'a> {
    id: &'a PointId,
    content: &'a SyncContent,
    state: &'a State,
}

impl PointView for Incoming<'_> {
    fn id(&self) -> Cow<'_, PointId> {
        Cow::Borrowed(self.id)
    }

    fn has_vector(&self, name: &str) -> bool {
        self.content.vectors.iter().any(|(known, _)| **known == *name)
    }

    fn document(&self) -> &[u8] {
        &self.content.payload
    }

    fn tokenizer(&self, path: &JsonPath) -> Option<&Tokenizer> {
        self.state.tokenizer(path)
    }
}

/// Asks for the vectors of entries that have texts.
fn wanted<'a>(entries: impl Iterator<Item = &'a SyncEntry>) -> Result<(), Error> {
    let (mut inputs, mut gone): (Vec<TextInput>, Vec<PointId>) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.content.as_ref().map(|content| &content.texts) {
            Some(Texts::Wanted(texts)) => inputs.extend(texts.iter().cloned()),
            Some(Texts::Gone) => gone.push(entry.id.clone()),
            Some(Texts::None) | None => {}
        }
    }
    if !gone.is_empty() {
        let why = "were changed while their parts were staged, which had texts of them: send all again";
        return Err(Error::SyncConflict(format!("points: {} {why}", listed(&gone))));
    }
    let bytes: usize = inputs.iter().map(|input| input.text.len()).sum();
    if inputs.len() > MAX_TEXTS || bytes > MAX_TEXTS_BYTES {
        let most = format!("{MAX_TEXTS} texts of {MAX_TEXTS_BYTES} bytes in all");
        return Err(Error::bad(format!(
            "points: {} texts of {bytes} bytes in all need a vector, where a request may have {most}: send the source in parts (sync_id)",
            inputs.len()
        )));
    }
    if inputs.is_empty() { Ok(()) } else { Err(Error::VectorsWanted(inputs)) }
}

/// Some ids for a message.
fn listed(ids: &[PointId]) -> String {
    let mut text = String::new();
    for (at, id) in ids.iter().take(NAMED_IDS).enumerate() {
        let _ = write!(text, "{}{id}", if at > 0 { ", " } else { "" });
    }
    if ids.len() > NAMED_IDS {
        let _ = write!(text, " and {} others", ids.len() - NAMED_IDS);
    }
    text
}
