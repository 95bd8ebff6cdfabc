//! Which groups points are in (C12), kept for the fields that points were grouped by lately.
//!
//! Reading the value of one point takes a look into its document, some hundred nanoseconds; a grouped query needs it of
//! every point that it meets, and the other way round all points of a value. So the first grouped query over a field
//! notes the groups of all points in a [`KeyColumn`], and later ones read the documents of the points that have changed
//! since. No answer depends on what is kept: a query that finds nothing kept reads documents.

mod building;
mod column;
mod id;
#[cfg(test)]
mod tests;

pub use column::{KeyColumn, Keys};
pub use id::{GroupId, groups_of};

use crate::deadline::Deadline;
use crate::error::Error;
use crate::payload::JsonPath;
use crate::state::View;
use arc_swap::ArcSwap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Fields of a collection that are kept at most. A further one takes the place of the oldest.
const MAX_FIELDS: usize = 4;
/// Versions of a field that are kept, for readers of older views.
const MAX_VERSIONS: usize = 4;

/// The groups of a collection's points, by field. Readers take no lock.
#[derive(Default)]
pub struct GroupKeys {
    /// The newest field first.
    fields: ArcSwap<Vec<Field>>,
    /// A query is reading all documents for a field.
    is_building: AtomicBool,
}

#[derive(Clone)]
struct Field {
    path: JsonPath,
    /// The newest first; none where the column would be too large.
    versions: Vec<Arc<KeyColumn>>,
}

impl GroupKeys {
    /// The groups of the points of a view. None where the field has too many or too long values to be kept, where another
    /// query is about to note them, and where the view is older than what is kept.
    ///
    /// # Errors
    /// `Timeout`.
    pub fn of(
        &self,
        view: &View,
        path: &JsonPath,
        deadline: &Deadline,
    ) -> Result<Option<Arc<KeyColumn>>, Error> {
        let fields = self.fields.load();
        let Some(field) = fields.iter().find(|field| field.path == *path) else {
            return self.build(view, path, deadline);
        };
        let Some(base) = field.versions.iter().find(|version| version.op() <= view.op) else {
            return Ok(None);
        };
        if base.op() == view.op {
            return Ok(Some(Arc::clone(base)));
        }
        let column = base.refreshed(view, path, deadline)?.map(Arc::new);
        self.keep(path, column.as_ref());
        Ok(column)
    }

    fn build(
        &self,
        view: &View,
        path: &JsonPath,
        deadline: &Deadline,
    ) -> Result<Option<Arc<KeyColumn>>, Error> {
        if self.is_building.swap(true, Ordering::Acquire) {
            return Ok(None);
        }
        let _building = Building(&self.is_building);
        let column = KeyColumn::of_all(view, path, deadline)?.map(Arc::new);
        self.keep(path, column.as_ref());
        Ok(column)
    }

    /// Keeps a version of a field, or that it is too large.
    fn keep(&self, path: &JsonPath, column: Option<&Arc<KeyColumn>>) {
        self.fields.rcu(|fields| {
            let mut fields = Vec::clone(fields);
            let at = fields.iter().position(|field| field.path == *path).unwrap_or_else(|| {
                fields.insert(0, Field { path: path.clone(), versions: Vec::new() });
                fields.truncate(MAX_FIELDS);
                0
            });
            let versions = &mut fields[at].versions;
            match column {
                None => versions.clear(),
                Some(column) => {
                    if versions.iter().all(|version| version.op() != column.op()) {
                        versions.push(Arc::clone(column));
                        versions.sort_by_key(|version| std::cmp::Reverse(version.op()));
                        versions.truncate(MAX_VERSIONS);
                    }
                }
            }
            fields
        });
    }

    /// Bytes of what is kept. What versions share is counted once.
    pub fn memory_bytes(&self) -> u64 {
        let fields = self.fields.load();
        fields.iter().filter_map(|field| field.versions.first()).map(|newest| newest.memory_bytes()).sum()
    }
}

/// Held by the query that reads all documents, until it ends.
struct Building<'a>(&'a AtomicBool);

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
