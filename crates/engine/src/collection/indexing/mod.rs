//! Work on the graphs of a collection: taking in the tails, building anew after a change of configuration.

mod building;
pub(in crate::collection) mod queue;
mod rewriting;
pub(in crate::collection) mod waiters;

use crate::collection::{Collection, View};
use crate::config::Indexing;
use crate::field::IndexScratch;
use crate::field::graph::FieldGraph;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// Components in the tail above which writers help with indexing, of rows that were there when the field was last
/// searched. About 680 rows of 384 components, some 40 µs of scanning on one core: about as much as the walk through the
/// graph, so that a search beside writes costs at most twice as much as one alone.
const SEARCHED_COMPONENTS: u64 = 1 << 18;
/// The same for all rows. Those that were written since the last search cost nothing until the next one, which then
/// scans 128 MiB at most: some 8 ms on one core.
const TAIL_COMPONENTS: u64 = 32 << 20;

/// The graph of a field, and the one that is being built to replace it.
#[derive(Default)]
pub(in crate::collection) struct GraphSlot {
    pub current: ArcSwapOption<FieldGraph>,
    pub next: ArcSwapOption<FieldGraph>,
    /// Rows of the field when it was last searched.
    searched: AtomicU32,
    /// Held while one of the two is put in place or taken away. Never waited for: who holds it comes back.
    changing: Mutex<()>,
}

/// The background threads at work on one collection.
#[derive(Default)]
pub(in crate::collection) struct Indexers {
    working: AtomicUsize,
    /// One found all places taken: whoever leaves next queues the collection again.
    turned_away: AtomicBool,
}

/// A place among the background threads of a collection, until it is dropped.
pub struct IndexTurn<'a>(&'a Arc<Collection>);

impl Drop for IndexTurn<'_> {
    fn drop(&mut self) {
        let indexers = &self.0.indexers;
        indexers.working.fetch_sub(1, Ordering::SeqCst);
        if indexers.turned_away.swap(false, Ordering::SeqCst) {
            self.0.shared.indexer.push(self.0);
        }
    }
}

impl Collection {
    /// A place among the background threads of this collection, unless its configuration allows no more of them.
    /// The collection then comes back to the queue by itself.
    pub fn start_indexing(self: &Arc<Self>) -> Option<IndexTurn<'_>> {
        let most = self.view.load().state.config.max_indexers();
        let enter = || {
            let enter = |working| (working < most).then_some(working + 1);
            self.indexers.working.fetch_update(Ordering::SeqCst, Ordering::SeqCst, enter).is_ok()
        };
        if enter() {
            return Some(IndexTurn(self));
        }
        // With no threads allowed there is nothing to come back for, until a change of configuration.
        if most == 0 {
            return None;
        }
        self.indexers.turned_away.store(true, Ordering::SeqCst);
        // Whoever left before the mark was set has not seen it.
        enter().then(|| IndexTurn(self))
    }

    /// Live vectors that are in a graph, or in a field too small to need one.
    pub fn indexed_vectors(&self) -> u64 {
        let snapshot = self.look();
        let view = &snapshot.view;
        let count = |field: usize| {
            let table = &view.fields[field];
            match &snapshot.graphs[field] {
                Some((_, indexed)) => {
                    let begins = |&row: &u32| table.begins(row).is_some() && table.alive(row, view.op);
                    table.vectors() - (*indexed..table.len()).filter(begins).count() as u64
                }
                None if self.wants_graph(view, field) => 0,
                None => table.vectors(),
            }
        };
        // Of sparse fields every row is found exactly and at once.
        let sparse = view.sparse.iter().map(|table| table.live());
        (0..view.fields.len()).map(count).chain(sparse).sum()
    }

    /// Whether every row that should be in a graph is in one, and no graph and no field index is being built.
    pub fn is_settled(&self) -> bool {
        if !self.has_all_indexes() {
            return false;
        }
        let snapshot = self.look();
        let view = &snapshot.view;
        (0..view.fields.len()).all(|field| {
            if !self.wants_graph(view, field) {
                return true;
            }
            let slot = &self.graphs[field];
            snapshot.graphs[field].as_ref().is_some_and(|(graph, indexed)| {
                *indexed >= view.fields[field].len()
                    && slot.next.load().is_none()
                    && !slot.changing.is_locked()
                    && view.state.config.recipe(field).is_some_and(|wanted| graph.fits(&wanted))
            })
        })
    }

    /// Whether an indexer would find rows to take in.
    pub fn has_rows_to_index(&self) -> bool {
        let view = self.view();
        (0..view.fields.len()).any(|field| {
            let len = view.fields[field].len();
            let slot = &self.graphs[field];
            self.wants_graph(&view, field)
                && (slot.current.load().as_ref().is_none_or(|graph| graph.claimed() < len)
                    || slot.next.load().as_ref().is_some_and(|graph| graph.claimed() < len))
        })
    }

    /// Does a little of what the graphs need. Answers whether there is more to do.
    pub fn index_some(&self, scratch: &mut IndexScratch) -> bool {
        let view = self.view();
        self.shared.storage.turn("taking in a tail");
        (0..view.fields.len()).fold(false, |more, field| self.index_field(&view, field, scratch) | more)
    }

    /// Moves some rows of the tails into the graphs that writers help with. Answers whether there is more to do.
    pub(in crate::collection) fn index_tails(&self, scratch: &mut IndexScratch) -> bool {
        (0..self.graphs.len()).fold(false, |more, field| {
            let tended = self.graphs[field].tended();
            // Younger than the graphs, see `index_field`.
            let view = self.view();
            let index = |graph: &FieldGraph, scratch: &mut IndexScratch| {
                graph.index_some(&view.fields[field], view.op, scratch)
            };
            let wanted = self.wants_graph(&view, field);
            more | (wanted && tended.iter().flatten().any(|graph| index(graph, scratch)))
        })
    }

    fn index_field(&self, view: &View, field: usize, scratch: &mut IndexScratch) -> bool {
        let slot = &self.graphs[field];
        let config = &view.state.config;
        if config.indexing(field) == Indexing::Never {
            slot.current.store(None);
            slot.next.store(None);
        }
        if !self.wants_graph(view, field) {
            return false;
        }
        let table = &view.fields[field];
        let Some(wanted) = config.recipe(field) else { return false };
        let metric = config.fields()[field].1.metric;
        let fresh = || Some(Arc::new(FieldGraph::new(wanted, metric, table, view.op, self.id)));
        let (current, next) = (slot.current.load_full(), slot.next.load_full());
        let Some(current) = current else {
            return slot.change(|| {
                if slot.current.load().is_none() {
                    slot.current.store(fresh());
                }
            });
        };
        // Younger than both graphs: rows that were dropped before these were there are dead in it. In an older view they
        // may be alive, and a graph would get nodes for rows that nobody can read any more.
        let view = self.view();
        let table = &view.fields[field];
        if next.is_none() && self.is_worn(&view, field, &current) {
            // Others see to the tail meanwhile; under writes that never pause there is no better moment.
            return self.rewrite(&view, field, &current, &fresh, scratch);
        }
        let next = match next {
            Some(next) if next.fits(&wanted) => Some(next),
            Some(unfit) if current.fits(&wanted) => {
                return slot.replace_next(&current, Some(&unfit), || None);
            }
            unfit if !current.fits(&wanted) => return slot.replace_next(&current, unfit.as_ref(), fresh),
            _ => None,
        };
        // Searches scan what the graph that they use does not have: it comes first as soon as that takes long.
        let urgent = next.is_none() || slot.is_long(table.len(), table.dim as u64, current.indexed());
        if urgent && current.index_some(table, view.op, scratch) {
            return true;
        }
        let Some(next) = next else {
            if current.needs_code_check(table) {
                let replacement = || if current.suits(table, view.op) { None } else { fresh() };
                return slot.begin_next(&current, replacement);
            }
            return self.is_out_of_order(&current) && self.rewrite(&view, field, &current, &fresh, scratch);
        };
        if next.index_some(table, view.op, scratch) || current.index_some(table, view.op, scratch) {
            return true;
        }
        // Another indexer may still be at the last rows; it comes here after them.
        next.indexed() >= current.indexed() && slot.change(|| slot.promote(&current, next))
    }

    /// Begins the graph that takes the place of the current one: the same written anew, or a `fresh` one where its codes
    /// no longer suit the vectors, since links were chosen by them.
    fn rewrite(
        &self,
        view: &View,
        field: usize,
        current: &FieldGraph,
        fresh: &impl Fn() -> Option<Arc<FieldGraph>>,
        scratch: &mut IndexScratch,
    ) -> bool {
        let slot = &self.graphs[field];
        slot.begin_next(current, || {
            let suits = current.suits(&view.fields[field], view.op);
            if suits { self.rewritten(view, field, current, scratch) } else { fresh() }
        }) && slot.next.load().is_some()
    }

    /// Whether the tails are so long that writers should help to index them.
    pub(in crate::collection) fn tail_is_long(&self) -> bool {
        let view = self.view();
        (0..view.fields.len()).any(|field| {
            let slot = &self.graphs[field];
            let table = &view.fields[field];
            let is_long = |graph: &FieldGraph| slot.is_long(table.len(), table.dim as u64, graph.indexed());
            slot.tended().iter().flatten().any(|graph| is_long(graph)) && self.wants_graph(&view, field)
        })
    }

    /// Whether the field's rows belong into a graph: it has one, or has outgrown the exact scan.
    fn wants_graph(&self, view: &View, field: usize) -> bool {
        match view.state.config.indexing(field) {
            Indexing::Never | Indexing::Paused => false,
            Indexing::Above { bytes } => {
                let size = view.state.config.fields()[field].1.size as u64;
                // A field that has a graph keeps it when it shrinks.
                view.fields[field].live() * size * 4 > bytes || self.graphs[field].current.load().is_some()
            }
        }
    }
}

impl GraphSlot {
    /// A search begins that sees so many rows.
    pub(in crate::collection) fn note_search(&self, rows: u32) {
        // Searches all write the same while nothing is written: they need not fight for the word.
        if self.searched.load(Ordering::Relaxed) != rows {
            self.searched.store(rows, Ordering::Relaxed);
        }
    }

    /// Whether so many rows stand behind a boundary that writers should help. Where nobody searches, what is written
    /// may wait: a bulk load has the processors to itself, and the graph is built when it pauses.
    fn is_long(&self, rows: u32, dim: u64, indexed: u32) -> bool {
        let searched = self.searched.load(Ordering::Relaxed).min(rows);
        let components = |end: u32| u64::from(end.saturating_sub(indexed)) * dim;
        components(searched) > SEARCHED_COMPONENTS || components(rows) > TAIL_COMPONENTS
    }

    /// The graphs whose tails writers keep short: the one that searches use, and one that it was rewritten to, which
    /// would else never catch up with writes that do not pause. One that is built from the start is not among them.
    fn tended(&self) -> [Option<Arc<FieldGraph>>; 2] {
        [self.current.load_full(), self.next.load_full().filter(|next| next.ordered > 0)]
    }

    /// Puts the next graph in the place of the current one, unless others have done so since these were looked at: a graph
    /// that they have replaced in its turn has nodes for rows that are dropped by now.
    fn promote(&self, current: &FieldGraph, next: Arc<FieldGraph>) {
        let is_next = self.next.load().as_ref().is_some_and(|present| Arc::ptr_eq(present, &next));
        if is_next && std::ptr::eq(current, self.current_address()) {
            self.current.store(Some(next));
            self.next.store(None);
        }
    }

    fn current_address(&self) -> *const FieldGraph {
        self.current.load().as_ref().map_or(std::ptr::null(), Arc::as_ptr)
    }

    /// Puts what is to take the place of the current graph beside it, if there is anything, unless somebody else changes
    /// what is in the slot: then false.
    fn begin_next(&self, current: &FieldGraph, next: impl FnOnce() -> Option<Arc<FieldGraph>>) -> bool {
        self.replace_next(current, None, next)
    }

    /// The same in the place of one that was found beside the current graph.
    fn replace_next(
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

    /// Changes what is in the slot, unless somebody else does so. Answers whether it was done.
    fn change(&self, step: impl FnOnce()) -> bool {
        let Some(_held) = self.changing.try_lock() else { return false };
        step();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Recipe;
    use crate::index::{Hnsw, HnswParams};
    use crate::types::Metric;

    const DIM: u64 = 1024;

    fn graph() -> Arc<FieldGraph> {
        let recipe = Recipe { m: 2, ef_construct: 4, codes: None };
        let hnsw = Hnsw::new(HnswParams { m: 2, ef_construct: 4, seed: 0 });
        Arc::new(FieldGraph::with(hnsw, recipe, Metric::Manhattan, None, 0))
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
        let is_long = |indexed| slot.is_long(all + 2, DIM, indexed);
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
