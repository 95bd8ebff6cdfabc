//! Searches that must walk a graph, and the proof that they did.

use super::Client;
use kithdb_engine::query::{Plan, Tally, forced};

/// The plans of this thread's searches are chosen again when this is dropped, after a panic too.
struct Chosen;

impl Drop for Chosen {
    fn drop(&mut self) {
        forced::set(None);
    }
}

impl Client {
    /// What searches did since the engine was opened.
    pub fn searches(&self) -> Tally {
        self.0.status().searches
    }

    /// Whether a field of a collection that is served has a graph with nodes.
    pub fn has_graph(&self, collection: &str, field: &str) -> bool {
        let Ok(entry) = self.0.catalog().enter(collection) else { return false };
        let Ok(collection) = entry.collection() else { return false };
        let snapshot = collection.snapshot();
        let slot = snapshot.view.state.config.field_index(field).and_then(|at| snapshot.graphs.get(at));
        slot.is_some_and(|slot| slot.as_ref().is_some_and(|(graph, _)| !graph.hnsw.is_empty()))
    }

    /// Runs searches of fields with graphs, in collections so large that the planner lets each walk; exact ones may be
    /// among them.
    pub fn walked<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.searches();
        let result = work();
        let after = self.searches();
        let walks = |tally: &Tally| tally.wide_walks + tally.two_hop_walks;
        assert_eq!(after.scans, before.scans, "searches that began with a scan");
        assert!(walks(&after) > walks(&before), "no search began with a walk: {after:?}");
        assert!(after.hops > before.hops, "no walk expanded a node: {after:?}");
        result
    }

    /// The same in collections so small that the planner would rather scan: their searches walk all the same. Then all
    /// that a search finds, it finds through the graph or its tail.
    pub fn walking<T>(&self, work: impl FnOnce() -> T) -> T {
        let _chosen = Chosen;
        forced::set(Some(Plan::Wide));
        self.walked(work)
    }
}
