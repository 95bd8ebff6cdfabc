//! What a reader holds: one consistent, immutable state of a collection.

use super::field::FieldTable;
use super::state::State;
use std::sync::Arc;

/// A collection at operation [`View::op`]. Taking one is a reference count; nothing a writer does later shows.
pub struct View {
    /// The last operation in it.
    pub op: u64,
    /// Log sequence of that operation's record; 0 before the first.
    pub lsn: u64,
    /// Points, ids, field indexes.
    pub state: State,
    /// Tables of the vector fields, in the order of the configuration.
    pub fields: Arc<[FieldTable]>,
}

impl View {
    /// Live points.
    pub fn points_count(&self) -> usize {
        self.state.ids.len()
    }
}
