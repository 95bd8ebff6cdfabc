//! What a reader holds of a collection.

use super::Collection;
use crate::field::{FieldGraph, FieldTable};
use crate::group_keys::GroupKeys;
use crate::scheduling::lane;
use crate::state::View;
use crate::sync::atomic::Ordering;
use crate::types::Row;
use std::sync::Arc;

/// A view, and for each field the graph with the first row of its tail.
pub struct Snapshot {
    /// Number of the collection.
    pub id: u64,
    /// The view.
    pub view: Arc<View>,
    /// Graph and first row of the tail, for each field that has a graph.
    pub graphs: Vec<Option<BoundedGraph>>,
    /// What is kept of the groups of its points.
    pub group_keys: Arc<GroupKeys>,
}

/// A graph, and the first row of the tail.
pub(super) type BoundedGraph = (Arc<FieldGraph>, Row);

impl Collection {
    /// A consistent snapshot for a search. From here on the tail that the search scans is kept short.
    pub fn snapshot(&self) -> Snapshot {
        lane::when_answered(&self.searches, |searches| {
            searches.fetch_add(1, Ordering::Relaxed);
        });
        let snapshot = self.read_snapshot();
        let snapshot = Snapshot { view: self.without_expired(snapshot.view), ..snapshot };
        for table in snapshot.view.fields.iter() {
            table.graphs.note_search(table.len());
        }
        snapshot
    }

    /// A consistent snapshot for other purposes than a search.
    pub fn read_snapshot(&self) -> Snapshot {
        // The graphs' boundaries first, the view after them: see `FieldGraph::indexed`.
        let graphs = BoundedGraphs::of(&self.view.load());
        let view = self.view();
        let group_keys = Arc::clone(&self.group_keys);
        Snapshot { id: self.id, graphs: graphs.in_fields_of(&view), view, group_keys }
    }
}

/// The graphs of a view with the boundaries that they had before a younger one was taken.
pub(super) struct BoundedGraphs {
    fields: Arc<[FieldTable]>,
    /// The graph of each of these fields, if it has one.
    graphs: Vec<Option<BoundedGraph>>,
}

impl BoundedGraphs {
    /// The bounded graphs of a view.
    pub fn of(view: &View) -> BoundedGraphs {
        let graphs = view.fields.iter().map(|table| table.graphs.bounded()).collect();
        BoundedGraphs { fields: Arc::clone(&view.fields), graphs }
    }

    /// The graph of each field of the same view or of a younger one, in which there may be other fields.
    pub fn in_fields_of(mut self, view: &View) -> Vec<Option<BoundedGraph>> {
        let is_same = |(old, new): (&FieldTable, &FieldTable)| Arc::ptr_eq(&old.graphs, &new.graphs);
        if self.fields.len() == view.fields.len() && self.fields.iter().zip(&*view.fields).all(is_same) {
            return self.graphs;
        }
        let graph = |new: &FieldTable| {
            let at = self.fields.iter().position(|old| is_same((old, new)))?;
            self.graphs[at].take()
        };
        view.fields.iter().map(graph).collect()
    }
}
