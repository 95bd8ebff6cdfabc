//! For queries on a snapshot that look no vector up in another collection.

use kithdb_engine::collection::Snapshot;
use kithdb_engine::error::Error;
use kithdb_engine::query::Lookup;
use std::sync::Arc;

/// A catalog without collections.
pub struct Nowhere;

impl Lookup for Nowhere {
    fn collection(&self, name: &str) -> Result<Arc<Snapshot>, Error> {
        Err(Error::CollectionNotFound(name.into()))
    }
}
