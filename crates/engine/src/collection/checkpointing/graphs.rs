//! Which graphs a checkpoint writes.

use super::FreshGraph;
use crate::checkpoint::Manifest;
use crate::collection::Collection;
use crate::faults::PlantedFault;
use crate::field::FieldGraph;
use crate::state::View;
use crate::types::Row;
use std::sync::Arc;

/// Graphs may take the free space divided by this.
const GRAPH_ROOM_DIVISOR: u64 = 2;

/// Whether a checkpoint also writes graphs that have only grown a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphPolicy {
    /// Only those that grew by 5 % or 100,000 rows, whichever is more.
    WhenGrown,
    /// All that grew at all: at a clean stop.
    Always,
    /// None: while the disk is full. A graph is derived data, and the one before it is good for a start for as long as the
    /// manifest names it.
    Never,
}

impl Collection {
    /// Whether a graph is whole, and the checkpoint has none of its field, or one that it was rewritten from: that one has
    /// the dead nodes still, and its file the room that they take.
    pub fn has_unwritten_graph(&self) -> bool {
        // A checkpoint that is being written is asked again when it is done.
        let Some(checkpoints) = self.checkpointer.try_lock() else { return false };
        let view = self.view();
        let previous = checkpoints.files.previous_of(&view.state.config);
        view.fields.iter().enumerate().any(|(field, table)| {
            let whole = |graph: &FieldGraph| graph.indexed() > Row::FIRST && graph.indexed() >= table.end();
            let is_due = |graph: &Arc<FieldGraph>| {
                written_rows(&previous, field, graph) == Row::FIRST
                    && whole(graph)
                    && self.room_for_graphs() >= graph.file_bytes()
            };
            table.graphs.current.load().as_ref().is_some_and(is_due)
        })
    }

    /// Bytes that the graphs of a checkpoint may have.
    fn room_for_graphs(&self) -> u64 {
        self.shared.reserve.little_free().map_or(u64::MAX, |free| free / GRAPH_ROOM_DIVISOR)
    }

    /// Graphs that the policy wants written and that have room.
    pub(super) fn graphs_to_write(
        &self,
        bounded: Vec<Option<(Arc<FieldGraph>, Row)>>,
        view: &View,
        previous: &Manifest,
        policy: GraphPolicy,
    ) -> Vec<FreshGraph> {
        let mut wanted = Vec::new();
        // At a clean stop nothing else needs the room. A graph that does not fit after all is left out then.
        let mut room = if policy == GraphPolicy::Always { u64::MAX } else { self.room_for_graphs() };
        for (field, bounded) in bounded.into_iter().enumerate() {
            let Some((graph, indexed)) = bounded else { continue };
            let written = written_rows(previous, field, &graph);
            let step = match policy {
                GraphPolicy::Never => continue,
                GraphPolicy::Always => 1,
                // The first graph is written as soon as it is whole: without it a restart builds it again.
                GraphPolicy::WhenGrown if written == Row::FIRST && indexed == view.fields[field].end() => 1,
                GraphPolicy::WhenGrown => self.shared.thresholds.graph_step_rows.max(indexed.get() / 20),
            };
            if indexed.get() >= written.get().saturating_add(step) && graph.file_bytes() <= room {
                room -= graph.file_bytes();
                let covers_all = PlantedFault::GraphCoversOtherRows.is_on();
                wanted.push((field, graph, if covers_all { view.fields[field].end() } else { indexed }));
            }
        }
        wanted
    }
}

/// Up to which row a checkpoint has this graph of a field; the first where it has none, or the one that this was rewritten
/// from.
fn written_rows(manifest: &Manifest, field: usize, graph: &FieldGraph) -> Row {
    let kept = manifest.fields.get(field).and_then(|kept| kept.graph.as_ref());
    kept.filter(|kept| graph.is_in(kept.file())).map_or(Row::FIRST, |kept| kept.indexed)
}
