//! What a reader holds of a collection.

use super::Collection;
use crate::field::FieldGraph;
use crate::state::View;
use crate::types::Row;
use std::sync::Arc;

/// A view, and for each field the graph with the first row of its tail.
pub struct Snapshot {
    /// Number of the collection.
    pub id: u64,
    /// The view.
    pub view: Arc<View>,
    /// Graph and first row of the tail, for each field that has a graph.
    pub graphs: Vec<Option<(Arc<FieldGraph>, Row)>>,
}

impl Collection {
    /// A consistent snapshot for a search. From here on the tail that the search scans is kept short.
    pub fn snapshot(&self) -> Snapshot {
        let Snapshot { id, view, graphs } = self.read_snapshot();
        let snapshot = Snapshot { id, view: self.without_expired(view), graphs };
        for (slot, table) in self.indexing.graphs.iter().zip(&*snapshot.view.fields) {
            slot.note_search(table.len());
        }
        snapshot
    }

    /// A consistent snapshot for other purposes than a search.
    pub(super) fn read_snapshot(&self) -> Snapshot {
        // The graphs' boundaries first, the view after them: see `FieldGraph::indexed`.
        let graphs = self.indexing.bounded_graphs();
        Snapshot { id: self.id, view: self.view(), graphs }
    }
}
