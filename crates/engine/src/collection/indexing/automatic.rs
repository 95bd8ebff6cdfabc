//! Automatic field indexes (C23): which are begun, and when they go. They are built like declared ones, and the writer keeps
//! them current; docs/automatic-indexes.md has the reasons.

use super::choice::choose;
use crate::collection::Collection;
use crate::config::FieldIndexes;
use crate::state::{AutoIndex, Head, IndexDraft};
use crate::sync::MutexGuard;
use std::sync::Arc;
use std::time::Duration;

/// Automatic indexes of one collection.
const MAX_INDEXES: usize = 16;
/// One that no filter has used for so long is dropped.
const IDLE: Duration = Duration::from_secs(3600);

impl Collection {
    /// How many automatic indexes are built.
    pub fn auto_indexes(&self) -> u64 {
        self.view.load().state.auto_indexes.iter().filter(|auto| auto.built().is_some()).count() as u64
    }

    /// Whether filters have cost more than an index that could be made.
    pub fn wants_auto_index(&self) -> bool {
        self.view.load().state.scan_costs.is_due()
    }

    /// The draft of an automatic index that is worth its cost, which no other thread builds; none while another is being
    /// built, and where memory has no room for it.
    pub fn begin_auto_index(&self) -> Option<IndexDraft> {
        let view = self.view();
        let state = &view.state;
        let memory = &self.shared.memory;
        let is_taken = |auto: &AutoIndex| auto.built().is_none();
        if !state.scan_costs.is_due()
            || state.auto_indexes.len() >= MAX_INDEXES
            || state.auto_indexes.iter().any(is_taken)
            || !memory.has_room_for_automatic(0)
        {
            return None;
        }
        let (path, kinds) = state.scan_costs.take_due(state.live.len())?;
        let choice = choose(state, &path, kinds)?;
        if !memory.has_room_for_automatic(choice.bytes) {
            return None;
        }
        let auto = AutoIndex::new(path, choice.kind);
        let draft = auto.index().draft().filter(|draft| draft.take())?.clone();
        let mut head = self.quiet_head();
        // What has come since the view was taken.
        let state = &mut head.state;
        if state.has_declared(auto.path())
            || state.auto_index(auto.path()).is_some()
            || state.config.field_indexes == FieldIndexes::Manual
        {
            return None;
        }
        Arc::make_mut(&mut state.auto_indexes).push(auto);
        self.publish_settled(&head);
        Some(draft)
    }

    /// Builds automatic indexes as long as there is one worth it.
    pub fn build_auto_indexes(&self) {
        while let Some(draft) = self.begin_auto_index() {
            self.build_index(&draft);
        }
    }

    /// Drops the automatic indexes that were not used for long, lets what was counted age, and queues the collection where
    /// an index is worth its cost.
    pub fn maintain_auto_indexes(self: &Arc<Self>) {
        self.drop_idle(IDLE);
        self.view.load().state.scan_costs.age();
        if self.wants_auto_index() {
            self.shared.indexer.push(self);
        }
    }

    /// Drops the automatic indexes that were not used for so long.
    fn drop_idle(&self, idle: Duration) {
        let stays = |auto: &AutoIndex| auto.built().is_none() || auto.idle() < idle;
        if !self.view.load().state.auto_indexes.iter().all(stays) {
            self.retain_auto_indexes(self.quiet_head(), stays);
        }
    }

    /// Drops all automatic indexes where memory is needed for something else. One that is being built is given up.
    pub fn drop_auto_indexes_if_told(&self) {
        if !self.shared.memory.is_making_room() {
            return;
        }
        if !self.view.load().state.auto_indexes.is_empty() {
            self.retain_auto_indexes(self.quiet_head(), |_| false);
        } else if self.automatic_bytes() > 0 {
            // The writer has dropped them.
            self.measure_auto_indexes();
        }
    }

    /// Drops the draft of one that was not built.
    pub(super) fn give_up_auto_index(&self, draft: &IndexDraft) {
        let is_other = |auto: &AutoIndex| draft.among(std::iter::once(auto.index())).is_none();
        self.retain_auto_indexes(self.quiet_head(), is_other);
    }

    fn retain_auto_indexes(&self, mut head: MutexGuard<'_, Head>, stays: impl Fn(&AutoIndex) -> bool) {
        Arc::make_mut(&mut head.state.auto_indexes).retain(stays);
        self.publish_settled(&head);
        drop(head);
        self.measure_auto_indexes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::GraphPolicy;
    use crate::collection::indexing::tests::{call, open};
    use crate::limits::Thresholds;
    use std::time::Instant;

    const COUNT: &str = r#"{"filter":{"must":{"key":"k","match":{"value":1}}}}"#;

    #[test]
    fn an_automatic_index_that_is_not_used_is_dropped_c23() {
        let engine = open(Thresholds::default());
        call(&engine, "create_collection", r#"{"vectors":{"size":1,"distance":"Dot"}}"#);
        let points: Vec<String> =
            (0..20).map(|id| format!(r#"{{"id":{id},"vector":[1],"payload":{{"k":{id}}}}}"#)).collect();
        call(&engine, "upsert_points", &format!(r#"{{"points":[{}]}}"#, points.join(",")));
        let collection = Arc::clone(&engine.catalog().collections()[0]);
        (0..4).for_each(|_| call(&engine, "count", COUNT));
        engine.work_in_background(GraphPolicy::Never);
        assert_eq!(collection.auto_indexes(), 1);
        let pause = Duration::from_millis(20);
        std::thread::sleep(pause);
        collection.drop_idle(Duration::from_secs(60));
        assert_eq!(collection.auto_indexes(), 1, "it was used lately");
        let idle = |collection: &Collection| collection.view().state.auto_indexes[0].idle();
        assert!(idle(&collection) >= pause);
        let asked = Instant::now();
        call(&engine, "count", COUNT);
        let idle = idle(&collection);
        assert!(idle <= asked.elapsed() + Duration::from_millis(1), "a filter has used it");
        std::thread::sleep(pause);
        collection.drop_idle(pause);
        assert_eq!(collection.auto_indexes(), 0);
    }
}
