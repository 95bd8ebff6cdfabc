//! Which points the filter of an update matches: by looking at them, or as was found before.

use super::source_sync::SourceSync;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::filter::Filter;
use crate::point_set::PointSet;
use crate::scheduling::yield_to_reads;
use crate::state::{ScanMeter, State};
use crate::types::{OpNumber, PointId, PointOffset};
use std::collections::BTreeSet;

/// Points that a filter of a request matched, before an earlier state of the collection is dropped.
#[derive(Default)]
pub struct Matched {
    /// By their offsets in the state that the request was resolved on.
    present: PointSet,
    /// Points that this state does not have: earlier updates of the same request add them.
    added: BTreeSet<PointId>,
    /// Present points that already are as the sync wants them (C20).
    unchanged: PointSet,
}

impl Matched {
    /// Points at ascending offsets of `state`, which is `base` after earlier updates of the request.
    pub fn new(base: &State, state: &State, offsets: &[PointOffset]) -> Matched {
        let is_present = |offset: &PointOffset| {
            let before = base.points.get(*offset).filter(|point| point.is_live());
            before.is_some_and(|point| point.id() == state.at(*offset).id())
        };
        let (present, added): (Vec<_>, Vec<_>) = offsets.iter().copied().partition(is_present);
        let added = added.into_iter().map(|offset| state.at(offset).id().into_owned()).collect();
        Matched { present: PointSet::from_sorted(&present), added, unchanged: PointSet::new() }
    }

    /// Sets which points, at ascending offsets, already are as a sync wants them.
    pub fn with_unchanged(self, offsets: &[PointOffset]) -> Matched {
        Matched { unchanged: PointSet::from_sorted(offsets), ..self }
    }

    /// Replaces the result for points that were examined again in a later state: `again` has those that match there.
    pub fn replace(&mut self, changed: &Changed, again: Matched) {
        self.present = &(&self.present - &changed.offsets) | &again.present;
        self.unchanged = &(&self.unchanged - &changed.offsets) | &again.unchanged;
        self.added.retain(|id| !changed.ids.contains(id));
        self.added.extend(again.added);
    }

    /// How many.
    pub fn points(&self) -> u64 {
        self.present.len() + self.added.len() as u64
    }

    fn contains(&self, base: &State, id: &PointId) -> bool {
        base.indexed_offset(id).is_some_and(|offset| self.present.contains(offset)) || self.added.contains(id)
    }
}

/// The points that differ between two states.
#[derive(Default)]
pub struct Changed {
    offsets: PointSet,
    ids: BTreeSet<PointId>,
}

impl Changed {
    /// What changed between the state `before`, at operation `op`, and a later one.
    pub fn between(before: &State, op: OpNumber, after: &State) -> Changed {
        let offsets: Vec<PointOffset> = after.changed_after(op).collect();
        // An offset may have another point than before.
        let of = |state: &State, offset: PointOffset| {
            state.points.get(offset).filter(|point| point.is_live()).map(|point| point.id().into_owned())
        };
        let ids = offsets.iter().flat_map(|offset| [of(before, *offset), of(after, *offset)]);
        Changed { ids: ids.flatten().collect(), offsets: PointSet::from_sorted(&offsets) }
    }

    /// These, and points of a state at some offsets.
    pub fn and(mut self, state: &State, offsets: &PointSet) -> Changed {
        if !offsets.is_empty() {
            self.ids.extend(offsets.iter().map(|offset| state.at(offset).id().into_owned()));
            self.offsets = &self.offsets | offsets;
        }
        self
    }

    /// Their ids.
    pub fn ids(&self) -> &BTreeSet<PointId> {
        &self.ids
    }
}

/// How to find what the filter of an update matches.
pub enum Finder<'a> {
    /// By a look at each candidate.
    Looking(&'a Deadline),
    /// As was found in `base`. Points that were changed since are looked at.
    Found {
        /// The state of the resolution.
        base: &'a State,
        /// What the filter matches in it.
        matched: &'a Matched,
        /// What is different now.
        changed: &'a Changed,
        /// The deadline of the request.
        deadline: &'a Deadline,
    },
}

impl<'a> Finder<'a> {
    /// The deadline of the request.
    pub fn deadline(&self) -> &'a Deadline {
        match self {
            Finder::Looking(deadline) | Finder::Found { deadline, .. } => deadline,
        }
    }

    /// Whether a point matches, if that is known without a look.
    pub fn known(&self, id: &PointId) -> Option<bool> {
        match self {
            Finder::Looking(_) => None,
            Finder::Found { changed, .. } if changed.ids.contains(id) => None,
            Finder::Found { base, matched, .. } => Some(matched.contains(base, id)),
        }
    }

    /// The live points of a state that match.
    ///
    /// # Errors
    /// The errors of the deadline.
    pub fn matching(&self, state: &State, filter: &Filter) -> Result<Vec<PointId>, Error> {
        match self {
            Finder::Looking(deadline) => {
                let mut ids = Vec::new();
                let pace = Pace::new(deadline, filter.work());
                look_at_all(state, filter, pace, yield_to_reads, |offset| {
                    ids.push(state.at(offset).id().into_owned());
                })?;
                Ok(ids)
            }
            Finder::Found { base, matched, changed, deadline } => {
                let unchanged = &matched.present - &changed.offsets;
                let mut ids: Vec<PointId> =
                    unchanged.iter().map(|offset| base.at(offset).id().into_owned()).collect();
                ids.extend(matched.added.difference(&changed.ids).cloned());
                let pace = Pace::new(deadline, filter.work());
                look_at_changed(state, filter, pace, changed, |offset| {
                    ids.push(state.at(offset).id().into_owned())
                })?;
                Ok(ids)
            }
        }
    }

    /// The live points of a state that match the filter of a sync, and whether each is as the sync wants it. `pause` is called
    /// between two points.
    ///
    /// # Errors
    /// The errors of the deadline.
    pub fn compared(
        &self,
        state: &State,
        filter: &Filter,
        sync: &SourceSync,
        pause: fn(),
    ) -> Result<Vec<(PointOffset, bool)>, Error> {
        let is_unchanged = |offset: PointOffset| {
            let point = state.at(offset);
            sync.is_unchanged(&point.id(), point.document())
        };
        // It looks for the hash of what matches, too.
        let conditions = filter.work() + 1;
        let mut found = Vec::new();
        match self {
            Finder::Looking(deadline) => {
                look_at_all(state, filter, Pace::new(deadline, conditions), pause, |offset| {
                    found.push((offset, is_unchanged(offset)));
                })?;
            }
            Finder::Found { matched, changed, deadline, .. } => {
                look_at_changed(state, filter, Pace::new(deadline, conditions), changed, |offset| {
                    found.push((offset, is_unchanged(offset)));
                })?;
                let as_before = &matched.present - &changed.offsets;
                found.extend(as_before.iter().map(|at| (at, matched.unchanged.contains(at))));
            }
        }
        Ok(found)
    }
}

/// Calls `each` with the live points that match, in the order of their offsets, and `pause` between two points.
fn look_at_all(
    state: &State,
    filter: &Filter,
    mut pace: Pace<'_>,
    pause: fn(),
    mut each: impl FnMut(PointOffset),
) -> Result<(), Error> {
    let plan = state.plan(filter);
    let meter = ScanMeter::new(state, filter);
    for offset in state.reading(plan.candidates.as_ref().unwrap_or(&state.live).iter()) {
        pace.step(state.at(offset).document().len())?;
        let look = || {
            meter.count();
            filter.matches_until(&state.subject(offset), pace.conditions(), pace.deadline())
        };
        if plan.admits(offset, look)? {
            each(offset);
        }
        pause();
    }
    Ok(())
}

/// Calls `each` with those of the changed points that match, in the order of their ids.
fn look_at_changed(
    state: &State,
    filter: &Filter,
    mut pace: Pace<'_>,
    changed: &Changed,
    mut each: impl FnMut(PointOffset),
) -> Result<(), Error> {
    for id in &changed.ids {
        let Some(offset) = state.offset(id) else { continue };
        if filter.matches_at(&state.subject(offset), &mut pace)? {
            each(offset);
        }
    }
    Ok(())
}
