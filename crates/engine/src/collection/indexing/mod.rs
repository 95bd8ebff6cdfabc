//! Work on the graphs and field indexes of a collection behind the writes: taking in the tails of the graphs, rewriting
//! graphs, building declared field indexes.

mod automatic;
mod backlog;
mod building;
mod choice;
mod permit;
mod queue;
mod rewriting;
#[cfg(test)]
pub(super) mod tests;
mod waiters;

pub use backlog::IndexBacklog;
pub use permit::IndexPermit;
pub use queue::IndexQueue;
pub use waiters::BuiltReply;

use crate::collection::Collection;
use crate::config::Indexing;
use crate::error::Error;
use crate::field::{FieldGraph, GraphSlot, IndexScratch};
use crate::state::View;
use crate::sync::atomic::AtomicBool;
use crate::types::{Row, RowRange};
use permit::Indexers;
use std::sync::Arc;
use waiters::IndexWaiters;

/// The threads that work on the graphs of a collection, and the requests that wait for a field index.
#[derive(Default)]
pub(super) struct IndexWork {
    indexers: Indexers,
    pub waiters: IndexWaiters,
    /// The collection is in the [`IndexQueue`].
    is_queued: AtomicBool,
}

impl Collection {
    /// Live vectors that are in a graph, or in a field too small to need one. Of a field whose indexing is paused they are
    /// those in its graph alone.
    pub fn indexed_vectors(&self) -> u64 {
        let snapshot = self.read_snapshot();
        let view = &snapshot.view;
        let count = |field: usize| {
            let table = &view.fields[field];
            match &snapshot.graphs[field] {
                Some((_, indexed)) => {
                    let begins = |&row: &Row| table.begins(row).is_some() && table.alive(row, view.op);
                    table.vectors()
                        - RowRange::new(*indexed, table.end()).iter().filter(begins).count() as u64
                }
                None if wants_graph(view, field) => 0,
                None if view.state.config.indexing(field) == Indexing::Paused => 0,
                None => table.vectors(),
            }
        };
        // Searches of sparse fields are exact.
        let sparse = view.sparse.iter().map(|table| table.live());
        // Shadows are shown to nobody.
        let declared = 0..view.state.config.declared_fields().len();
        declared.map(count).chain(sparse).sum()
    }

    /// Whether every row that should be in a graph is in one, and no graph and no field index is being built.
    pub fn is_settled(&self) -> bool {
        if !self.has_all_indexes() {
            return false;
        }
        let snapshot = self.read_snapshot();
        let view = &snapshot.view;
        (0..view.fields.len()).all(|field| {
            if !wants_graph(view, field) {
                return true;
            }
            let slot = &view.fields[field].graphs;
            snapshot.graphs[field].as_ref().is_some_and(|(graph, indexed)| {
                *indexed >= view.fields[field].end()
                    && slot.next.load().is_none()
                    && !slot.is_changing()
                    && !slot.is_rebuild_requested()
                    && view.state.config.graph_params(field).is_some_and(|wanted| graph.fits(&wanted))
            })
        })
    }

    /// Lets every graph be built anew, beside the one that searches use until then.
    ///
    /// # Errors
    /// `MemoryLimit` where there is no room for a second graph.
    pub fn rebuild_graphs(self: &Arc<Self>) -> Result<(), Error> {
        let view = self.view();
        let wanted = |field: &usize| wants_graph(&view, *field);
        let slots = || (0..view.fields.len()).filter(wanted).map(|field| &*view.fields[field].graphs);
        let bytes = slots().filter_map(|slot| slot.current.load_full()).map(|graph| graph.file_bytes()).sum();
        if !self.shared.memory.has_room_for(bytes) {
            return Err(Error::MemoryLimit);
        }
        // A field without a graph gets its first one anyway.
        slots().filter(|slot| slot.current.load().is_some()).for_each(GraphSlot::request_rebuild);
        self.shared.indexer.push(self);
        Ok(())
    }

    /// Whether there are rows that no indexer has claimed.
    pub fn has_rows_to_index(&self) -> bool {
        let view = self.view();
        (0..view.fields.len()).any(|field| {
            let end = view.fields[field].end();
            let slot = &view.fields[field].graphs;
            wants_graph(&view, field)
                && (slot.current.load().as_ref().is_none_or(|graph| graph.claimed() < end)
                    || slot.next.load().as_ref().is_some_and(|graph| graph.claimed() < end))
        })
    }

    /// Does one step of indexing. Returns whether there is more to do.
    pub fn index_some(&self, scratch: &mut IndexScratch) -> bool {
        let view = self.view();
        self.shared.storage.yield_point("taking in a tail");
        (0..view.fields.len()).fold(false, |more, field| self.index_field(&view, field, scratch) | more)
    }

    /// Moves some rows of the tails into the graphs that writers help with. Returns whether there is more to do.
    pub(in crate::collection) fn index_tails(&self, scratch: &mut IndexScratch) -> bool {
        self.view().fields.iter().fold(false, |more, table| {
            let graphs_to_extend = table.graphs.graphs_to_extend();
            // Younger than the graphs, see `index_field`.
            let Some((view, field)) = self.view_of(&table.graphs) else { return more };
            let index = |graph: &FieldGraph, scratch: &mut IndexScratch| {
                graph.index_some(&view.fields[field], view.op, scratch)
            };
            let wanted = wants_graph(&view, field);
            more | (wanted && graphs_to_extend.iter().flatten().any(|graph| index(graph, scratch)))
        })
    }

    /// The view of this moment, and the position in it of the field that has these graphs; none if the field was removed.
    fn view_of(&self, graphs: &Arc<GraphSlot>) -> Option<(Arc<View>, usize)> {
        let view = self.view();
        let field = view.fields.iter().position(|table| Arc::ptr_eq(&table.graphs, graphs))?;
        Some((view, field))
    }

    fn index_field(&self, view: &View, field: usize, scratch: &mut IndexScratch) -> bool {
        let slot = &view.fields[field].graphs;
        let config = &view.state.config;
        if config.indexing(field) == Indexing::Never {
            slot.current.store(None);
            slot.next.store(None);
        }
        if !wants_graph(view, field) {
            return false;
        }
        let table = &view.fields[field];
        let Some(wanted) = config.graph_params(field) else { return false };
        let metric = config.fields()[field].1.metric;
        let fresh = || Some(Arc::new(FieldGraph::new(wanted, metric, table, view.op, self.id)));
        let (current, next) = (slot.current.load_full(), slot.next.load_full());
        let Some(current) = current else { return slot.begin_first(fresh) };
        // Younger than both graphs: rows that were dropped before these were there are dead in it. In an older view they
        // may be alive, and a graph would get nodes for rows that can no longer be read.
        let Some((view, field)) = self.view_of(slot) else { return false };
        let table = &view.fields[field];
        if slot.is_rebuild_requested() {
            return slot.begin_rebuild(&current, next.as_ref(), fresh);
        }
        // Other indexers take in the tail meanwhile; under writes that never pause there is no better moment.
        let is_due = next.is_none() && self.is_due_for_rebuild(&view, field, &current);
        if is_due && self.rewrite(&view, field, &current, &fresh, scratch) {
            return true;
        }
        let has_room = || self.shared.memory.has_room_for(current.file_bytes());
        let next = match next {
            Some(next) if next.fits(&wanted) => Some(next),
            Some(unfit) if current.fits(&wanted) || !has_room() => {
                return slot.replace_next(&current, Some(&unfit), || None);
            }
            unfit if !current.fits(&wanted) && has_room() => {
                return slot.replace_next(&current, unfit.as_ref(), fresh);
            }
            _ => None,
        };
        // Searches scan the tail of the current graph, so that graph comes first when its tail is long.
        let urgent = next.is_none() || slot.is_long(table.len(), table.dim as u64, current.indexed());
        if urgent && current.index_some(table, view.op, scratch) {
            return true;
        }
        let Some(next) = next else {
            if current.needs_code_check(table) && has_room() {
                let replacement = || if current.suits(table, view.op) { None } else { fresh() };
                return slot.begin_next(&current, replacement);
            }
            return self.is_out_of_order(&current) && self.rewrite(&view, field, &current, &fresh, scratch);
        };
        if next.index_some(table, view.op, scratch) || current.index_some(table, view.op, scratch) {
            return true;
        }
        // Another indexer may still be inserting the last rows. It calls this afterwards.
        next.indexed() >= current.indexed() && slot.change(|| slot.promote(&current, next))
    }

    /// Begins the graph that is to replace the current one: a rewritten one, or a `fresh` one if the codes no longer suit the
    /// vectors, because links were chosen by the codes.
    fn rewrite(
        &self,
        view: &View,
        field: usize,
        current: &FieldGraph,
        fresh: &impl Fn() -> Option<Arc<FieldGraph>>,
        scratch: &mut IndexScratch,
    ) -> bool {
        let slot = &view.fields[field].graphs;
        if !self.shared.memory.has_room_for(current.file_bytes()) {
            return self.give_up(view, field, current);
        }
        slot.begin_next(current, || {
            let suits = current.suits(&view.fields[field], view.op);
            if suits { self.rewritten(view, field, current, scratch) } else { fresh() }
        }) && slot.next.load().is_some()
    }

    /// Where there is no memory for a graph and the one that is to replace it, and growth is refused, drops one that is due
    /// for a rebuild: searches are exact until it is built again, and what the dead nodes took is free. Any other stays.
    fn give_up(&self, view: &View, field: usize, current: &FieldGraph) -> bool {
        let is_worth_it = self.shared.memory.is_refusing() && self.is_due_for_rebuild(view, field, current);
        is_worth_it && view.fields[field].graphs.drop_current(current)
    }

    /// Writers help index when the unindexed tail is long: whether one is.
    pub(in crate::collection) fn tail_is_long(&self) -> bool {
        let view = self.view();
        (0..view.fields.len()).any(|field| {
            let table = &view.fields[field];
            let slot = &table.graphs;
            let is_long = |graph: &FieldGraph| slot.is_long(table.len(), table.dim as u64, graph.indexed());
            slot.graphs_to_extend().iter().flatten().any(|graph| is_long(graph)) && wants_graph(&view, field)
        })
    }
}

/// Whether the field is to have a graph: it has one already, or is too large for exact scans.
fn wants_graph(view: &View, field: usize) -> bool {
    match view.state.config.indexing(field) {
        Indexing::Never | Indexing::Paused => false,
        Indexing::Above { bytes } => {
            let size = view.state.config.fields()[field].1.size as u64;
            let table = &view.fields[field];
            // A field that has a graph keeps it when it shrinks.
            table.live() * size * 4 > bytes || table.graphs.current.load().is_some()
        }
    }
}
