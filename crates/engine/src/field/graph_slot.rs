//! The graph of one field, and the one that is to replace it.

use super::calibration::FieldCalibration;
use super::graph::FieldGraph;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::types::Row;
use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// Components in the tail above which writers help with indexing, of rows that were there when the field was last
/// searched. About 680 rows of 384 components, some 40 µs of scanning on one core: about as much as the walk through the
/// graph, so that a search beside writes costs at most twice as much as one alone.
const SEARCHED_COMPONENTS: u64 = 1 << 18;
/// The limit for all rows of the tail. Those that were written since the last search cost nothing until the next one, which then
/// scans 128 MiB at most: some 8 ms on one core.
const TAIL_COMPONENTS: u64 = 32 << 20;

/// The graph of a field, and the one that is being built to replace it.
#[derive(Default)]
pub struct GraphSlot {
    /// The graph that searches use.
    pub current: ArcSwapOption<FieldGraph>,
    /// The one that is to replace it.
    pub next: ArcSwapOption<FieldGraph>,
    /// The recall of walks through the graph.
    pub calibration: FieldCalibration,
    /// Rows of the field when it was last searched.
    searched: AtomicU32,
    /// The graph is to be built anew.
    rebuild: AtomicBool,
    /// Held while one of the two is put in place or taken away. Never waited for: an indexer that finds it held tries again
    /// in its next round.
    changing: Mutex<()>,
}

impl GraphSlot {
    /// The graph that searches use, with its boundary.
    pub fn bounded(&self) -> Option<(Arc<FieldGraph>, Row)> {
        let graph = self.current.load_full()?;
        let indexed = graph.indexed();
        Some((graph, indexed))
    }

    /// Takes note of a search that sees this many rows.
    pub fn note_search(&self, rows: u32) {
        // Searches all write the same while nothing is written: they need not fight for the word.
        if self.searched.load(Ordering::Relaxed) != rows {
            self.searched.store(rows, Ordering::Relaxed);
        }
    }

    /// Whether the rows from a boundary on are so many that writers should help with indexing. Rows that no search has seen may
    /// wait: a bulk load has the processors to itself, and the graph is built when it pauses.
    pub(crate) fn is_long(&self, rows: u32, dim: u64, indexed: Row) -> bool {
        let searched = self.searched.load(Ordering::Relaxed).min(rows);
        let components = |end: u32| u64::from(end.saturating_sub(indexed.get())) * dim;
        components(searched) > SEARCHED_COMPONENTS || components(rows) > TAIL_COMPONENTS
    }

    /// The graphs whose tails writers keep short: the one that searches use, and one that it was rewritten to, which
    /// would else never catch up with writes that do not pause. One that is built from the start is not among them.
    pub(crate) fn graphs_to_extend(&self) -> [Option<Arc<FieldGraph>>; 2] {
        [self.current.load_full(), self.next.load_full().filter(|next| next.ordered > 0)]
    }

    /// Puts the next graph in the place of the current one, unless another indexer has done so since these were read: a
    /// graph that was itself replaced has nodes for rows that are dropped by now.
    pub(crate) fn promote(&self, current: &FieldGraph, next: Arc<FieldGraph>) {
        let is_next = self.next.load().as_ref().is_some_and(|present| Arc::ptr_eq(present, &next));
        if is_next && std::ptr::eq(current, self.current_address()) {
            self.current.store(Some(next));
            self.next.store(None);
        }
    }

    /// Takes the current graph away, unless it was replaced since it was read, or another thread changes what is in the slot:
    /// then false.
    pub(crate) fn drop_current(&self, current: &FieldGraph) -> bool {
        self.change(|| {
            if std::ptr::eq(current, self.current_address()) {
                self.current.store(None);
                self.next.store(None);
            }
        })
    }

    fn current_address(&self) -> *const FieldGraph {
        self.current.load().as_ref().map_or(std::ptr::null(), Arc::as_ptr)
    }

    /// Puts a graph in place where there is none, unless another thread changes what is in the slot: then false.
    pub(crate) fn begin_first(&self, first: impl FnOnce() -> Option<Arc<FieldGraph>>) -> bool {
        self.change(|| {
            if self.current.load().is_none() {
                self.current.store(first());
            }
        })
    }

    /// Puts what is to take the place of the current graph beside it, if there is anything, unless another thread changes
    /// what is in the slot: then false.
    pub(crate) fn begin_next(
        &self,
        current: &FieldGraph,
        next: impl FnOnce() -> Option<Arc<FieldGraph>>,
    ) -> bool {
        self.replace_next(current, None, next)
    }

    /// Replaces the next graph that was found beside the current one.
    pub(crate) fn replace_next(
        &self,
        current: &FieldGraph,
        old: Option<&Arc<FieldGraph>>,
        next: impl FnOnce() -> Option<Arc<FieldGraph>>,
    ) -> bool {
        self.change(|| {
            // Another indexer may have been here before.
            let is_old = self.next.load().as_ref().map(Arc::as_ptr) == old.map(Arc::as_ptr);
            if is_old && std::ptr::eq(current, self.current_address()) {
                self.next.store(next());
            }
        })
    }

    /// Asks for a graph that is built anew from all rows.
    pub fn request_rebuild(&self) {
        self.rebuild.store(true, Ordering::SeqCst);
    }

    /// Whether that has not begun.
    pub fn is_rebuild_requested(&self) -> bool {
        self.rebuild.load(Ordering::SeqCst)
    }

    /// Puts a graph beside the current one that is built anew, in the place of another one.
    pub fn begin_rebuild(
        &self,
        current: &FieldGraph,
        old: Option<&Arc<FieldGraph>>,
        fresh: impl FnOnce() -> Option<Arc<FieldGraph>>,
    ) -> bool {
        self.replace_next(current, old, || {
            self.rebuild.store(false, Ordering::SeqCst);
            fresh()
        })
    }

    /// Whether the graphs in the slot are being changed.
    pub(crate) fn is_changing(&self) -> bool {
        self.changing.is_locked()
    }

    /// Changes what is in the slot, unless another thread does so. Returns whether it was done.
    pub(crate) fn change(&self, step: impl FnOnce()) -> bool {
        let Some(_held) = self.changing.try_lock() else { return false };
        step();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GraphParams;
    use crate::index::{Hnsw, HnswParams};
    use crate::types::Metric;

    const DIM: u64 = 1024;

    fn graph() -> Arc<FieldGraph> {
        let graph_params = GraphParams { m: 2, ef_construct: 4, codes: None };
        let hnsw = Hnsw::new(HnswParams { m: 2, ef_construct: 4, seed: 0 });
        Arc::new(FieldGraph::with(hnsw, graph_params, Metric::Manhattan, None, Row::FIRST))
    }

    #[test]
    fn a_graph_that_was_replaced_since_is_not_put_back() {
        let (old, new, newer) = (graph(), graph(), graph());
        let slot = GraphSlot::default();
        slot.current.store(Some(Arc::clone(&old)));
        slot.next.store(Some(Arc::clone(&new)));
        // Two indexers find that the new graph has caught up; one is held up on the way.
        slot.promote(&old, Arc::clone(&new));
        assert!(std::ptr::eq(slot.current_address(), &*new) && slot.next.load().is_none());
        // Meanwhile it is rewritten, and that takes its place.
        slot.next.store(Some(Arc::clone(&newer)));
        slot.promote(&old, Arc::clone(&new));
        assert!(std::ptr::eq(slot.current_address(), &*new) && slot.next.load().is_some());
        slot.promote(&new, Arc::clone(&newer));
        slot.promote(&old, new);
        assert!(std::ptr::eq(slot.current_address(), &*newer) && slot.next.load().is_none());
    }

    #[test]
    fn what_was_written_since_the_last_search_may_wait_up_to_a_bound() {
        let rows = |components: u64| (components / DIM) as u32;
        let (searched, all) = (rows(SEARCHED_COMPONENTS), rows(TAIL_COMPONENTS));
        let slot = GraphSlot::default();
        let is_long = |indexed| slot.is_long(all + 2, DIM, Row::new(indexed));
        assert!(!is_long(2), "nobody has searched");
        assert!(is_long(1), "but the first search must not take for ever");
        slot.note_search(2 + searched);
        assert!(!is_long(2), "the search saw a short tail");
        slot.note_search(3 + searched);
        assert!(is_long(2));
        assert!(!is_long(3), "the indexers have caught up with what it saw");
        slot.note_search(all + 2);
        assert!(is_long(all + 1 - searched));
        assert!(!is_long(all + 2 - searched));
    }
}
