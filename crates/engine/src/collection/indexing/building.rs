//! Building field indexes beside the writer: declared and automatic ones.
//!
//! A builder reads a view, then what was changed meanwhile, and takes the writer lock for the rest: the changes of the last
//! moments. Searches and writes go on as if the index was not declared.

use crate::collection::Collection;
use crate::faults::PlantedFault;
use crate::payload::FieldIndex;
use crate::point_set::PointSet;
use crate::scheduling::yield_to_reads;
use crate::state::{AutoIndex, DeclaredIndex, IndexDraft, State, View};
use std::sync::Arc;

/// Points between two checks of whether the index is still wanted.
const STEP_POINTS: usize = 256;
/// Changed points that are few enough to be taken in while the writer waits: well below a millisecond.
const LAST_POINTS: usize = 256;
/// Rounds of taking in what was changed. Each is as long as the one before took, so that they are soon short; writers
/// that change points faster than they can be indexed wait after the last one.
const MAX_ROUNDS: usize = 16;

impl Collection {
    /// A declared index to build, which no other thread builds from here on.
    pub fn take_draft(&self) -> Option<IndexDraft> {
        let view = self.view.load();
        view.state.indexes.iter().filter_map(DeclaredIndex::draft).find(|draft| draft.take()).cloned()
    }

    /// Builds an index whose draft was taken and puts it into use, unless it is dropped meanwhile, or the engine stops.
    pub fn build_index(&self, draft: &IndexDraft) {
        if let Some((index, view)) = self.drafted(draft) {
            self.shared.storage.yield_point("putting a field index into use");
            self.put_into_use(draft, index, &view);
        } else if draft.is_automatic() {
            if !self.shared.indexer.is_closed() && !self.is_retired() {
                self.give_up_auto_index(draft);
            }
        } else {
            // For want of memory another thread builds it when there is room. One that was dropped is in no view, so nobody
            // finds it.
            draft.release_if(!self.shared.indexer.is_closed() && !self.is_retired());
        }
        self.settle_waiting();
    }

    /// Builds every declared index that no thread is building.
    pub fn build_indexes(&self) {
        while !self.shared.memory.is_critical()
            && let Some(draft) = self.take_draft()
        {
            self.build_index(&draft);
        }
    }

    /// Whether every declared index is built.
    pub(in crate::collection) fn has_all_indexes(&self) -> bool {
        self.view.load().state.indexes.iter().all(|index| index.built().is_some())
    }

    /// The index over a view that is as recent as can be without the writer lock.
    fn drafted(&self, draft: &IndexDraft) -> Option<(FieldIndex, Arc<View>)> {
        let mut view = self.view();
        self.shared.storage.yield_point("reading for a field index");
        let mut index = draft.blank();
        for (at, offset) in view.state.reading(view.state.live.iter()).enumerate() {
            if at % STEP_POINTS == 0 {
                draft.report(index.points_count(), at as u64);
                self.check_draft(draft)?;
            }
            index.insert(offset, view.state.at(offset).document());
            if draft.is_automatic() {
                // Nobody waits for it.
                yield_to_reads();
            }
        }
        for _ in 0..MAX_ROUNDS {
            let now = self.check_draft(draft)?;
            let (_, current) = place_of(draft, &now.state)?;
            let changed = catch_up(&mut index, &view, &now.state, current.touched());
            draft.report(index.points_count(), now.state.live.len());
            view = now;
            if changed <= LAST_POINTS {
                break;
            }
        }
        Some((index, view))
    }

    /// The view of this moment, as long as the draft is to be gone on with.
    fn check_draft(&self, draft: &IndexDraft) -> Option<Arc<View>> {
        self.shared.storage.yield_point("building a field index");
        self.settle_waiting();
        let view = self.view();
        let is_wanted = place_of(draft, &view.state).is_some();
        let memory = &self.shared.memory;
        let has_room =
            if draft.is_automatic() { memory.has_room_for_automatic(0) } else { !memory.is_critical() };
        let goes_on = !self.shared.indexer.is_closed() && !self.is_retired() && has_room;
        (is_wanted && goes_on).then_some(view)
    }

    /// Puts an index over an older view into the place of its draft.
    fn put_into_use(&self, draft: &IndexDraft, mut index: FieldIndex, view: &View) {
        let mut head = self.quiet_head();
        let state = &mut head.state;
        let Some((place, current)) = place_of(draft, state) else { return };
        if !PlantedFault::IndexWithoutCatchUp.is_on() {
            catch_up(&mut index, view, state, current.touched());
        }
        match place {
            Place::Declared(at) => {
                // The automatic one of the path has gone on until now.
                Arc::make_mut(&mut state.auto_indexes).retain(|auto| auto.path() != index.path());
                Arc::make_mut(&mut state.indexes)[at] = DeclaredIndex::Built(index);
            }
            Place::Automatic(at) => {
                let auto = state.auto_indexes[at].with(index);
                Arc::make_mut(&mut state.auto_indexes)[at] = auto;
                state.scan_costs.reset();
            }
        }
        // The head is what readers see, but for the index.
        self.publish_settled(&head);
        drop(head);
        self.measure_auto_indexes();
    }
}

/// Where a state has a draft.
enum Place {
    /// Among the indexes that clients declared.
    Declared(usize),
    /// Among those that the engine makes by itself.
    Automatic(usize),
}

/// Where a state has a draft, and the draft as it has it; none where it is no draft there any more.
fn place_of<'s>(draft: &IndexDraft, state: &'s State) -> Option<(Place, &'s IndexDraft)> {
    if draft.is_automatic() {
        let (at, current) = draft.among(state.auto_indexes.iter().map(AutoIndex::index))?;
        Some((Place::Automatic(at), current))
    } else {
        let (at, current) = draft.among(state.indexes.iter())?;
        Some((Place::Declared(at), current))
    }
}

/// Brings an index over a view to a later state, of which `touched` has at least the points that are different.
/// Returns how many were.
fn catch_up(index: &mut FieldIndex, before: &View, after: &State, touched: &PointSet) -> usize {
    let mut changed = 0;
    for offset in touched {
        let point = after.at(offset);
        if point.version() <= before.op {
            continue;
        }
        changed += 1;
        let old = before.state.points.get(offset).filter(|old| old.is_live());
        let new = Some(point).filter(|new| new.is_live());
        index.replace(offset, old.map(|old| old.document()), new.map(|new| new.document()));
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Change, PayloadEdit};
    use crate::config::tests::config_of;
    use crate::payload::{FieldKind, FieldSchema, JsonPath};
    use crate::state::Head;
    use crate::types::{Lsn, PointId};
    use proptest::prelude::*;

    fn head() -> Head {
        Head::new(config_of(r#"{"vectors":{"size":1,"distance":"Dot"}}"#), 1 << 12)
    }

    fn change() -> impl Strategy<Value = Change> {
        let id = || (0u64..12).prop_map(PointId::Num);
        let payload =
            || (0u8..4).prop_map(|n| format!("{{\"k\":[{n},\"x\"]}}").into_bytes().into_boxed_slice());
        prop_oneof![
            3 => (id(), payload()).prop_map(|(id, payload)| Change::Put { id, vectors: vec![], payload }),
            1 => id().prop_map(|id| Change::Delete(vec![id])),
            1 => (id(), payload()).prop_map(|(id, patch)| Change::EditPayload {
                edit: PayloadEdit::Merge { patch, at: None },
                ids: vec![id],
            }),
            1 => id().prop_map(|id| Change::EditPayload { edit: PayloadEdit::Clear, ids: vec![id] }),
        ]
    }

    fn apply(head: &mut Head, changes: &[Change]) {
        for change in changes {
            head.op = head.op.next();
            head.apply(head.op, change).unwrap();
        }
    }

    proptest! {
        #[test]
        fn an_index_over_an_old_view_catches_up_with_any_changes(
            rounds in prop::collection::vec(prop::collection::vec(change(), 0..12), 2..5),
            undone in prop::collection::vec(change(), 0..6),
        ) {
            let (path, schema) = (JsonPath::parse("k").unwrap(), FieldSchema::new(FieldKind::Integer));
            let mut head = head();
            apply(&mut head, &rounds[0]);
            Arc::make_mut(&mut head.state.indexes).push(DeclaredIndex::new(path.clone(), schema.clone()));
            let draft = head.state.indexes[0].draft().unwrap().clone();
            let mut view = head.view(Lsn::NONE);
            let mut index = draft.blank();
            for offset in view.state.live.iter() {
                index.insert(offset, view.state.at(offset).document());
            }
            for changes in &rounds[1..] {
                // What is rolled back has left no trace.
                let savepoint = head.savepoint();
                for change in &undone {
                    head.apply(head.op.next(), change).unwrap();
                }
                head.roll_back(savepoint);
                apply(&mut head, changes);
                let now = head.view(Lsn::NONE);
                let (_, current) = draft.among(now.state.indexes.iter()).unwrap();
                catch_up(&mut index, &view, &now.state, current.touched());
                view = now;
            }
            let mut fresh = FieldIndex::new(path, schema);
            for offset in view.state.live.iter() {
                fresh.insert(offset, view.state.at(offset).document());
            }
            for number in 0..4 {
                prop_assert_eq!(index.match_integer(number), fresh.match_integer(number));
            }
            prop_assert_eq!(index.points_count(), fresh.points_count());
            prop_assert_eq!((index.uncovered(), index.filled()), (fresh.uncovered(), fresh.filled()));
        }
    }
}
