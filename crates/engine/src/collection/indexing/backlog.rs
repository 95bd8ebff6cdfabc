//! What is still to be indexed.

use super::wants_graph;
use crate::collection::Collection;
use crate::field::FieldGraph;
use crate::state::DeclaredIndex;

/// What is in no index yet, by the kind of index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexBacklog {
    /// Rows of dense fields that are not in the graph yet, or not in the one that is to replace it; dead ones included.
    /// Fields too small for a graph have none.
    pub dense: u64,
    /// Rows of sparse fields that are in no block of the inverted index yet: less than a block for each field.
    pub sparse: u64,
    /// Points that the builders of field indexes have not read yet, for each index.
    pub field: u64,
}

impl IndexBacklog {
    /// Kind by kind.
    pub fn add(&mut self, other: &IndexBacklog) {
        self.dense += other.dense;
        self.sparse += other.sparse;
        self.field += other.field;
    }
}

impl Collection {
    /// What of the collection is in no index yet. It costs the same for any number of points.
    pub fn index_backlog(&self) -> IndexBacklog {
        let view = self.view();
        let dense = |field: usize| {
            let table = &view.fields[field];
            let behind = |graph: &FieldGraph| {
                // The graph is younger than the view.
                u64::from(table.len().saturating_sub(graph.indexed().get()))
            };
            let slot = &table.graphs;
            let replacement = slot.next.load().as_ref().map_or(0, |next| behind(next));
            let current = slot.current.load().as_ref().map_or(table.live(), |current| behind(current));
            current.max(replacement)
        };
        let live = view.state.live.len();
        let drafts = view.state.indexes.iter().filter_map(DeclaredIndex::draft);
        IndexBacklog {
            dense: (0..view.fields.len()).filter(|&field| wants_graph(&view, field)).map(dense).sum(),
            sparse: view.sparse.iter().map(|table| table.tail().len() as u64).sum(),
            field: drafts.map(|draft| live.saturating_sub(draft.read())).sum(),
        }
    }
}
