//! Requests that are under way, so that they can be cancelled.

use crate::completions::lock;
use kithdb_engine::Cancellation;
use std::collections::HashMap;
use std::sync::Mutex;

/// The requests that the engine has not answered, by the numbers of their calls.
#[derive(Default)]
pub struct Calls {
    under_way: Mutex<HashMap<u32, Cancellation>>,
}

impl Calls {
    /// Notes a request; returns what it is cancelled by.
    pub fn begin(&self, id: u32) -> Cancellation {
        let cancellation = Cancellation::default();
        lock(&self.under_way).insert(id, cancellation.clone());
        cancellation
    }

    /// Removes an answered request.
    pub fn end(&self, id: u32) {
        lock(&self.under_way).remove(&id);
    }

    /// Cancels a request, if it is still under way.
    pub fn cancel(&self, id: u32) {
        if let Some(cancellation) = lock(&self.under_way).get(&id) {
            cancellation.cancel();
        }
    }
}
