//! Resolving the filters of a request beside the writer, in time slices.
//!
//! What a filter matches is found on a view, and the updates before it are applied to a private copy. Points are
//! independent of each other: what a point looks like to a filter depends on the point and on the updates alone. So what
//! was found holds for every point that no other write has changed since, and only the others have to be looked at again,
//! first beside the writer ([`Resolution::catch_up`]) and for the last few under its lock.

use super::applying::{Applying, Used};
use super::finder::{Changed, Finder, Matched};
use super::source_sync::SourceSync;
use super::work::{conditions, look_work};
use super::{Update, Updates};
use crate::change::Change;
use crate::deadline::{Deadline, Pace};
use crate::error::Error;
use crate::filter::{Filter, Plan};
use crate::point_set::PointSet;
use crate::scheduling::yield_to_reads;
use crate::state::{Head, State, View};
use crate::types::{PointId, PointOffset};
use std::sync::Arc;
use std::time::Instant;

/// Work between two looks at the clock: some hundred microseconds.
const CLOCK_WORK: u64 = 1 << 16;

/// The time that a step may take.
pub struct TimeSlice {
    ends: Option<Instant>,
    unchecked: u64,
}

impl TimeSlice {
    /// Ends at a time.
    pub fn until(ends: Instant) -> TimeSlice {
        TimeSlice { ends: Some(ends), unchecked: 0 }
    }

    /// Never ends.
    pub fn endless() -> TimeSlice {
        TimeSlice { ends: None, unchecked: 0 }
    }

    fn is_over(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    fn is_over_after(&mut self, work: u64) -> bool {
        self.unchecked += work;
        if self.unchecked < CLOCK_WORK {
            return false;
        }
        self.unchecked = 0;
        self.is_over()
    }
}

/// What the filters of a request match.
pub struct Resolution {
    /// The state in which they do.
    base: Arc<View>,
    /// One for each update as far as they are resolved; those without a filter have nothing.
    matched: Vec<Matched>,
    /// What is being done, until that is finished.
    pass: Option<Pass>,
    /// What all of it cost.
    work: u64,
}

/// The updates in order, on all points or on some.
struct Pass {
    view: Arc<View>,
    /// Only points that were changed since an earlier view.
    changed: Option<Changed>,
    /// The view after the updates so far.
    preview: Head,
    matched: Vec<Matched>,
    search: Option<Search>,
    used: Used,
    /// Bytes of payloads that edits wrote.
    written: u64,
}

/// The evaluation of one filter.
struct Search {
    plan: Plan,
    candidates: PointSet,
    next: Option<PointOffset>,
    matching: Vec<PointOffset>,
    /// Matching points that already are as a sync wants them.
    unchanged: Vec<PointOffset>,
}

impl Resolution {
    /// Begins on a view.
    pub fn new(view: Arc<View>) -> Resolution {
        let pass = Some(Pass::new(Arc::clone(&view), None));
        Resolution { base: view, matched: Vec::new(), pass, work: 0 }
    }

    /// Goes on until the time slice is over. Returns whether every filter is resolved.
    ///
    /// # Errors
    /// The errors of the updates and of the deadline, and `BadRequest` when the filters cost more than a request may.
    pub fn go_on(&mut self, updates: Updates<'_>, slice: &mut TimeSlice) -> Result<bool, Error> {
        updates.deadline.check()?;
        let Some(pass) = &mut self.pass else { return Ok(true) };
        if !pass.go_on(updates, slice, &mut self.work)? {
            return Ok(false);
        }
        let Some(Pass { view, changed, matched, .. }) = self.pass.take() else { return Ok(true) };
        match changed {
            None => self.matched = matched,
            Some(changed) => {
                let again = self.matched.iter_mut().zip(matched);
                again.for_each(|(of_all, again)| of_all.replace(&changed, again));
            }
        }
        self.base = view;
        Ok(true)
    }

    /// Work to look again at the points that differ in a later view; none when everything has to be resolved again.
    pub fn behind(&self, view: &View, updates: &[Update]) -> Option<u64> {
        let conditions = conditions(updates);
        let changed = view.state.changed_after(self.base.op);
        is_valid_in(&self.base.state, &view.state)
            .then(|| changed.map(|offset| look_work(&view.state, offset, conditions)).sum())
    }

    /// Begins to look again at the points that differ in a later view.
    pub fn catch_up(&mut self, view: Arc<View>) {
        let is_valid = is_valid_in(&self.base.state, &view.state);
        let changed = is_valid.then(|| Changed::between(&self.base.state, self.base.op, &view.state));
        self.pass = Some(Pass::new(view, changed));
    }

    /// What differs in a later state of the writer; `None` when everything has to be resolved again.
    pub fn changed(&self, state: &State) -> Option<Changed> {
        is_valid_in(&self.base.state, state).then(|| Changed::between(&self.base.state, self.base.op, state))
    }

    /// How to find what the filter of an update matches in a later state, in which `changed` is different.
    pub fn finder<'a>(&'a self, at: usize, changed: &'a Changed, deadline: &'a Deadline) -> Finder<'a> {
        match self.matched.get(at) {
            Some(matched) => Finder::Found { base: &self.base.state, matched, changed, deadline },
            // An update behind the last one with a filter.
            None => Finder::Looking(deadline),
        }
    }

    /// Points that the filters match, each as often as it is matched.
    pub fn points(&self) -> u64 {
        self.matched.iter().map(Matched::points).sum()
    }

    /// At least the bytes of payloads that it holds beside those of the collection.
    pub fn held_bytes(&self) -> u64 {
        self.pass.as_ref().map_or(0, |pass| pass.written.min(pass.preview.state.payload_bytes))
    }
}

/// Whether what was found of points that did not change holds in a later state.
fn is_valid_in(before: &State, after: &State) -> bool {
    // Which vectors a point has depends on the fields, whether it is due on the key, and its version on neither.
    before.config.fields_changed() == after.config.fields_changed()
        && before.config.expire_at_key == after.config.expire_at_key
        && same_words(before, after)
}

/// Whether texts have the same words in both states: the conditions on them depend on the field's text index.
fn same_words(before: &State, after: &State) -> bool {
    let texts = |state: &State| {
        let texts = state.indexes.iter().filter(|index| index.tokenizer().is_some());
        texts.map(|index| (index.path().clone(), index.tokenizer().cloned())).collect::<Vec<_>>()
    };
    Arc::ptr_eq(&before.indexes, &after.indexes) || texts(before) == texts(after)
}

impl Pass {
    fn new(view: Arc<View>, changed: Option<Changed>) -> Pass {
        Pass {
            preview: Head::preview(&view),
            view,
            changed,
            matched: Vec::new(),
            search: None,
            used: Used::default(),
            written: 0,
        }
    }

    fn go_on(&mut self, updates: Updates<'_>, slice: &mut TimeSlice, work: &mut u64) -> Result<bool, Error> {
        // What comes behind the last filter decides nothing.
        let filters =
            updates.list.iter().rposition(|update| update.filter().is_some()).map_or(0, |at| at + 1);
        while self.matched.len() < filters {
            let update = &updates.list[self.matched.len()];
            let matched = match update.filter() {
                None => Matched::default(),
                Some(filter) => {
                    let search = self.search.get_or_insert_with(|| {
                        Search::new(&self.preview.state, update, filter, self.changed.as_ref())
                    });
                    if !search.go_on(&self.preview.state, (filter, update.sync()), updates, slice, work)? {
                        return Ok(false);
                    }
                    let found = std::mem::take(&mut search.matching);
                    let unchanged = std::mem::take(&mut search.unchanged);
                    self.search = None;
                    Matched::new(&self.view.state, &self.preview.state, &found).with_unchanged(&unchanged)
                }
            };
            self.matched.push(matched);
            if self.matched.len() < filters {
                self.apply(update, updates)?;
            }
            if slice.is_over() {
                return Ok(self.matched.len() == filters);
            }
        }
        Ok(true)
    }

    /// Applies an update to the preview, for the filters behind it.
    fn apply(&mut self, update: &Update, updates: Updates<'_>) -> Result<(), Error> {
        let at = self.matched.len() - 1;
        let part = match &self.changed {
            None => update.clone(),
            Some(changed) => update.within(changed.ids()),
        };
        let nothing = Changed::default();
        let finder = Finder::Found {
            base: &self.view.state,
            matched: &self.matched[at],
            changed: &nothing,
            deadline: updates.deadline,
        };
        let Updates { batch, within, now, numbering, limits, deadline, .. } = updates;
        // Whether memory has room is asked when the write is applied.
        let room = (limits, u64::MAX);
        let mut applying =
            Applying::resume(&self.view.state, (batch, within), room, deadline, self.used).at_time(now);
        let op = numbering.number_after(self.view.op);
        let changes = applying.apply(&mut self.preview, op, at, part, &finder)?.changes;
        self.used = applying.used();
        let bytes = |id: &PointId| {
            self.preview.state.point(id).map_or(0, |(_, point)| point.payload().memory_bytes())
        };
        self.written += changes.iter().flat_map(Change::edited).map(bytes).sum::<u64>();
        Ok(())
    }
}

impl Search {
    /// The points that a filter has to decide, of those that were changed or of all.
    fn new(state: &State, update: &Update, filter: &Filter, changed: Option<&Changed>) -> Search {
        let offsets = |ids: &mut dyn Iterator<Item = &PointId>| {
            let mut offsets: Vec<PointOffset> = ids.filter_map(|id| state.indexed_offset(id)).collect();
            offsets.sort_unstable();
            offsets.dedup();
            PointSet::from_sorted(&offsets)
        };
        let undecided = Plan { candidates: None, exact: false, certain: PointSet::new() };
        let (plan, candidates) = match (update.decided(), changed) {
            (None, None) => {
                let plan = state.plan(filter);
                let candidates = plan.candidates.clone().unwrap_or_else(|| state.live.clone());
                if !plan.exact {
                    state.note_scan(filter, candidates.len());
                }
                (plan, candidates)
            }
            (None, Some(changed)) => (undecided, offsets(&mut changed.ids().iter())),
            (Some(named), changed) => {
                let is_changed = |id: &&PointId| changed.is_none_or(|changed| changed.ids().contains(*id));
                (undecided, offsets(&mut named.into_iter().filter(is_changed)))
            }
        };
        let (matching, unchanged) = (Vec::new(), Vec::new());
        Search { plan, next: candidates.min(), candidates, matching, unchanged }
    }

    fn go_on(
        &mut self,
        state: &State,
        (filter, sync): (&Filter, Option<&SourceSync>),
        updates: Updates<'_>,
        slice: &mut TimeSlice,
        work: &mut u64,
    ) -> Result<bool, Error> {
        if self.plan.exact && sync.is_none() {
            self.matching = self.candidates.iter().collect();
            return Ok(true);
        }
        let most = updates.limits.max_filter_work;
        // A sync also looks for the hash of what matches.
        let conditions = filter.work() + usize::from(sync.is_some());
        let mut pace = Pace::new(updates.deadline, conditions);
        while let Some(offset) = self.next {
            pace.step(state.at(offset).document().len())?;
            let of_point = look_work(state, offset, conditions as u64);
            *work += of_point;
            if *work > most {
                return Err(Error::bad(format!(
                    "the filters of the request take more work than it may cost: bytes of payload times conditions, \
                     over all points, come to more than {most} (max_filter_work): create a field index for their keys, \
                     or send fewer of them at a time"
                )));
            }
            let look = || filter.matches_until(&state.subject(offset), conditions, Some(updates.deadline));
            if self.plan.admits(offset, look)? {
                self.matching.push(offset);
                let point = state.at(offset);
                if sync.is_some_and(|sync| sync.is_unchanged(&point.id(), point.document())) {
                    self.unchanged.push(offset);
                }
            }
            yield_to_reads();
            let behind = offset.get().checked_add(1).map(PointOffset::new);
            self.next = behind.and_then(|behind| self.candidates.at_or_after(behind));
            if slice.is_over_after(of_point) {
                return Ok(self.next.is_none());
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
