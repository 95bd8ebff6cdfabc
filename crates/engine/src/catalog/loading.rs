//! The checkpoints that a start loads, and the collections that it leaves asleep (C24).

use super::file::SavedEntry;
use super::residence::Residence;
use super::sleeping::{Sleeping, Summary};
use crate::checkpoint::Manifest;
use crate::collection::{Cause, Collection, Opening, OpeningOptions, Shared, Unopened};
use crate::config::CollectionConfig;
use crate::limits::ResidencyThresholds;
use crate::memory::{Held, Memory};
use crate::scheduling::in_pieces;
use crate::storage::Storage;
use crate::types::{Lsn, OperationId};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a point takes of the memory at least, also where it is deleted or has no vector: its version, an integer id and its
/// block.
const LEAST_POINT_BYTES: u64 = 20;

const MIB: u64 = 1 << 20;

/// What a start opens collections with.
#[derive(Clone, Copy)]
pub(super) struct Loading<'a> {
    pub storage: &'a dyn Storage,
    pub options: OpeningOptions,
    pub memory: &'a Arc<Memory>,
}

/// Collections that a start may leave asleep, by number.
#[derive(Default)]
pub(super) struct Sleepers(HashMap<u64, Summary>);

impl Sleepers {
    /// All that have a summary, without those that were written last and fit into half of the budget. Where there are many,
    /// small ones are among them whenever they were written.
    pub fn choose(
        mut summaries: HashMap<u64, Summary>,
        entries: &[SavedEntry],
        residency: &ResidencyThresholds,
    ) -> Sleepers {
        if residency.idle.is_none() && residency.budget_bytes.is_none() {
            return Sleepers::default();
        }
        let mut last: Vec<u64> =
            entries.iter().map(|(id, ..)| *id).filter(|id| summaries.contains_key(id)).collect();
        last.sort_unstable_by_key(|id| Reverse((summaries[id].lsn, *id)));
        let is_many = entries.len() > residency.opened_at_start;
        last.retain(|id| !is_many || summaries[id].disk_bytes >= residency.large_bytes);
        let mut room = residency.budget_bytes.map_or(u64::MAX, |budget| budget / 2);
        for id in last.into_iter().take(residency.opened_at_start) {
            let bytes = summaries[&id].resident_bytes;
            if bytes <= room {
                room -= bytes;
                summaries.remove(&id);
            }
        }
        Sleepers(summaries)
    }

    fn load(
        &self,
        id: u64,
        config: &Arc<CollectionConfig>,
        loading: Loading<'_>,
    ) -> Result<Loaded, Unopened> {
        match self.0.get(&id).and_then(|summary| Sleeping::at_start(loading.storage, id, config, summary)) {
            Some(sleeping) => Ok(Loaded::Asleep(Box::new(sleeping))),
            None => Loaded::open(id, config, loading),
        }
    }
}

/// A collection during a start.
pub(super) enum Loaded {
    /// Its checkpoint is loaded.
    Opening(Box<Opening>, OpenedAs),
    /// It is left asleep, as long as the log has nothing for it.
    Asleep(Box<Sleeping>),
}

/// How a collection was opened.
pub(super) struct OpenedAs {
    /// How long that took.
    took: Duration,
    /// What it holds in memory, until it is measured.
    _held: Option<Held>,
}

impl Loaded {
    /// Loads the checkpoint of a collection.
    ///
    /// # Errors
    /// As [`Opening::load`]; where the memory limit leaves no room for it.
    pub fn open(id: u64, config: &Arc<CollectionConfig>, loading: Loading<'_>) -> Result<Loaded, Unopened> {
        let started = Instant::now();
        let held = loading.hold(id)?;
        let opening = Opening::load(id, loading.storage, config, loading.options)?;
        Ok(Loaded::Opening(Box::new(opening), OpenedAs { took: started.elapsed(), _held: held }))
    }

    /// LSN of the last record that it has.
    pub fn lsn(&self) -> Lsn {
        match self {
            Loaded::Opening(opening, _) => opening.lsn(),
            Loaded::Asleep(sleeping) => sleeping.summary.lsn,
        }
    }

    /// Applies a record of the log, if it is behind the checkpoint. False where it must be opened for that.
    ///
    /// # Errors
    /// As [`Opening::replay`].
    pub fn replay(
        &mut self,
        lsn: Lsn,
        operation: Option<OperationId>,
        body: &[u8],
    ) -> Result<bool, Unopened> {
        match self {
            Loaded::Opening(opening, _) => opening.replay(lsn, operation, body).map(|()| true)?,
            Loaded::Asleep(sleeping) => return Ok(lsn <= sleeping.summary.lsn),
        };
        Ok(true)
    }

    /// As [`Opening::missing`].
    pub fn missing(&self, created: Lsn) -> Option<String> {
        match self {
            Loaded::Opening(opening, _) => opening.missing(created),
            // Its manifest was read.
            Loaded::Asleep(_) => None,
        }
    }

    /// As [`Opening::damaged_graphs`].
    pub fn damaged_graphs(&self) -> &[(String, String)] {
        match self {
            Loaded::Opening(opening, _) => opening.damaged_graphs(),
            Loaded::Asleep(_) => &[],
        }
    }

    /// What was loaded, where nothing is left asleep.
    ///
    /// # Errors
    /// A sentence, where it is.
    pub fn into_opening(self) -> Result<Opening, Unopened> {
        match self {
            Loaded::Opening(opening, _) => Ok(*opening),
            Loaded::Asleep(_) => Err("the collection was left asleep".into()),
        }
    }

    /// The collection, ready to serve. `created` as for [`Opening::missing`].
    pub fn into_residence(self, shared: &Arc<Shared>, created: Lsn) -> Residence {
        match self {
            Loaded::Opening(opening, OpenedAs { took, .. }) => {
                let collection = Collection::open(*opening, Arc::clone(shared), created);
                Residence::awake(Arc::new(collection), Some(took))
            }
            Loaded::Asleep(sleeping) => Residence::asleep(*sleeping),
        }
    }
}

impl Loading<'_> {
    /// Charges what a collection will hold. With less memory than that the start would not fail but hardly proceed: the system
    /// takes pages of the program away and reads them again.
    fn hold(&self, id: u64) -> Result<Option<Held>, Unopened> {
        if !self.memory.is_limited() {
            return Ok(None);
        }
        // What is wrong with the manifest is said by the opening.
        let Ok(Some(manifest)) = Manifest::load_stored(self.storage, id) else { return Ok(None) };
        let bytes = manifest.memory_bytes(LEAST_POINT_BYTES);
        self.memory.hold_opening(bytes).map(Some).map_err(|left| {
            let what = format!(
                "it takes {} MiB of memory at least, and the limit leaves {}",
                bytes.div_ceil(MIB),
                left / MIB
            );
            Unopened { what, cause: Cause::Exhausted }
        })
    }
}

/// The checkpoints of all collections in their order, several at a time.
pub(super) fn load_checkpoints(
    loading: Loading<'_>,
    entries: &[SavedEntry],
    sleepers: &Sleepers,
) -> Vec<Result<Loaded, Unopened>> {
    let load = |(id, _, config): &SavedEntry| sleepers.load(*id, config, loading);
    load_each(loading.options.threads, entries.len(), |at| load(&entries[at]))
}

/// Loads so many things on several threads. What finds no memory is loaded once more when all others are: one of them may have
/// held memory and failed.
fn load_each<T: Send>(
    threads: usize,
    count: usize,
    load: impl Fn(usize) -> Result<T, Unopened> + Sync,
) -> Vec<Result<T, Unopened>> {
    // Each result is one of a collection: none ends the work.
    let Ok(mut loaded) = in_pieces(threads, count, |at| Ok::<_, Infallible>(load(at)));
    for (at, result) in loaded.iter_mut().enumerate() {
        if result.as_ref().is_err_and(|why| why.cause == Cause::Exhausted) {
            *result = load(at);
        }
    }
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_found_no_memory_is_loaded_again_when_the_others_are() {
        let calls = [const { AtomicUsize::new(0) }; 4];
        let unopened = |cause| Unopened { what: String::new(), cause };
        let loaded = load_each(2, calls.len(), |at| match (at, calls[at].fetch_add(1, Ordering::Relaxed)) {
            (0, _) => Err(unopened(Cause::Damaged)),
            (1, 0) | (3, _) => Err(unopened(Cause::Exhausted)),
            _ => Ok(at),
        });
        assert_eq!(calls.map(AtomicUsize::into_inner), [1, 2, 1, 2]);
        let causes: Vec<Result<usize, Cause>> =
            loaded.into_iter().map(|loaded| loaded.map_err(|why| why.cause)).collect();
        assert_eq!(causes, [Err(Cause::Damaged), Ok(1), Ok(2), Err(Cause::Exhausted)]);
    }
}
