//! Groups of a collection between append and answer.

use crate::collection::Collection;
use crate::sync::{Condvar, Mutex};
use std::sync::Arc;

/// Counts the groups that are appended to the log and not yet synced or failed.
pub(super) struct InFlight {
    groups: Mutex<usize>,
    ended: Condvar,
}

impl InFlight {
    /// No group.
    pub fn none() -> InFlight {
        InFlight { groups: Mutex::new(0), ended: Condvar::new() }
    }

    /// Whether there is a group.
    pub fn any(&self) -> bool {
        *self.groups.lock() > 0
    }

    /// Waits until there is none.
    pub fn wait_for_none(&self) {
        let mut groups = self.groups.lock();
        while *groups > 0 {
            self.ended.wait(&mut groups);
        }
    }
}

/// One group in flight. It ends when this is dropped, after a panic too.
pub(super) struct InFlightGuard(Arc<Collection>);

impl InFlightGuard {
    /// The group starts.
    pub fn start(collection: &Arc<Collection>) -> InFlightGuard {
        *collection.writer.in_flight.groups.lock() += 1;
        InFlightGuard(Arc::clone(collection))
    }

    /// The collection of the group.
    pub fn collection(&self) -> &Arc<Collection> {
        &self.0
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let in_flight = &self.0.writer.in_flight;
        *in_flight.groups.lock() -= 1;
        in_flight.ended.notify_all();
    }
}
