//! A catalog for queries that look up no vector in another collection.

use kithdb_engine::collection::Snapshot;
use kithdb_engine::error::Error;
use kithdb_engine::query::Lookup;
use std::sync::Arc;

/// A catalog without collections.
pub struct EmptyCatalog;

impl Lookup for EmptyCatalog {
    fn collection(&self, name: &str) -> Result<Arc<Snapshot>, Error> {
        Err(Error::CollectionNotFound(name.into()))
    }
}
