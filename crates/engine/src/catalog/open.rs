//! Opening a data directory: catalog, checkpoints, replay.

use super::file::{CatalogFile, Found};
use super::loading::Sleepers;
use super::replay::{Replay, Slot, StartDamage};
use super::{Catalog, OpenError, RecordedState, STAGING, summaries};
use crate::checkpoint::{discard_unfinished, is_unfinished};
use crate::collection::{IndexQueue, OpeningOptions, Shared};
use crate::faults::PlantedFault;
use crate::limits::{Limits, Thresholds};
use crate::memory::{Memory, MemoryLimit};
use crate::storage::{OTHER_IS_SOUND, Reserve, Storage, StorageError};
use crate::supervision::Supervisor;
use crate::types::Lsn;
use crate::wal::{GroupCommit, GroupOptions, Log, LogError, LogOptions, LogReport};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Epoch of the log's records. It changes only when a log is succeeded by another one.
const EPOCH: u32 = 1;

/// Which threads do the work of the log and of the collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Threads of their own.
    Threaded,
    /// The calling thread, with randomness from a seed: for simulations.
    Inline {
        /// Seed of the log's random numbers.
        seed: u64,
    },
}

impl Mode {
    /// Threads that open collections. One where the order of the disk's calls must be the same every time.
    pub(super) fn threads(self) -> usize {
        match self {
            Mode::Threaded => std::thread::available_parallelism().map_or(1, usize::from),
            Mode::Inline { .. } => 1,
        }
    }

    fn seed(self) -> Option<u64> {
        match self {
            Mode::Threaded => None,
            Mode::Inline { seed } => Some(seed),
        }
    }
}

/// An opened data directory.
pub struct Opened {
    /// The collections.
    pub catalog: Arc<Catalog>,
    /// What the log reports about itself.
    pub report: LogReport,
    /// The other damage that was found.
    pub damage: StartDamage,
}

/// How a catalog is opened.
#[derive(Clone, Copy, Debug)]
pub struct CatalogOptions {
    /// Limits on requests and collections.
    pub limits: Limits,
    /// Sizes at which work in the background starts.
    pub thresholds: Thresholds,
    /// What memory is accounted against.
    pub memory: MemoryLimit,
    /// Threads of its own, or everything on the calling thread.
    pub mode: Mode,
    /// Whether the collections are replicas of shards.
    pub is_replica: bool,
}

/// Opens the catalog and every collection: checkpoint, then the log after it. A collection that cannot be opened
/// is quarantined; the others serve.
///
/// # Errors
/// When nothing can be served: the disk, the log's format, the catalog's file.
pub fn open(
    storage: Arc<dyn Storage>,
    options: CatalogOptions,
    supervisor: &Arc<Supervisor>,
) -> Result<Opened, OpenError> {
    let memory = Arc::new(Memory::of(options.memory));
    let (thresholds, limits) = memory.suit(options.thresholds, options.limits);
    let options = CatalogOptions { thresholds, limits, ..options };
    let reserve = Arc::new(Reserve::open(Arc::clone(&storage)));
    let open = || open_with(&storage, &reserve, &memory, options, supervisor);
    match open() {
        // The log writes while it is opened, and a full disk must not keep a server from starting.
        Err(OpenError::Log(LogError::Full)) if reserve.release_for_start() => open(),
        outcome => outcome,
    }
}

fn open_with(
    storage: &Arc<dyn Storage>,
    reserve: &Arc<Reserve>,
    memory: &Arc<Memory>,
    options: CatalogOptions,
    supervisor: &Arc<Supervisor>,
) -> Result<Opened, OpenError> {
    let CatalogOptions { limits, thresholds, mode, is_replica, .. } = options;
    let Found { file: saved, stale, fault: catalog_fault } = CatalogFile::load(&**storage)?;
    let stale = stale.map(|dir| (dir, saved.clone()));
    let auth_generation = saved.auth_generation;
    let opening = OpeningOptions { threads: mode.threads(), row_chunk_bytes: thresholds.row_chunk_bytes };
    let sleepers = Sleepers::choose(summaries::load(&**storage), &saved.entries, &thresholds.residency);
    let mut replay = Replay::load(Arc::clone(storage), saved, opening, Arc::clone(memory), &sleepers);
    let options = LogOptions {
        segment_bytes: thresholds.log_segment_bytes,
        highest_applied: replay.highest_applied(),
        entropy: mode.seed(),
    };
    let (log, report) =
        Log::open(Arc::clone(storage), EPOCH, options, Lsn::NONE, &mut |item| replay.visit(item))
            .map_err(OpenError::Log)?;
    replay.lose_catalog(&report);
    replay.lose(&report);
    replay.complete();
    refuse_incomplete(&**storage, &replay)?;
    // What cannot be removed now is tried again at the next start.
    replay.next_id = remove_leftovers(&**storage, &replay.slots, replay.next_id);
    let _ = storage.remove_dir_all(STAGING);
    let log = group_commit(log.with_reserve(Arc::clone(reserve)), memory, supervisor, mode)?;
    let shared = Arc::new(Shared {
        storage: Arc::clone(storage),
        log,
        indexer: IndexQueue::default(),
        limits,
        thresholds,
        memory: Arc::clone(memory),
        reserve: Arc::clone(reserve),
        unsaved_work: Arc::default(),
        waiting_writes: Arc::default(),
        clock: Default::default(),
        is_replica,
        expired_points: Default::default(),
        checkpoints: Default::default(),
        wakes: Default::default(),
        supervisor: Arc::clone(supervisor),
    });
    let (next_id, last_lsn, saved_lsn) = (replay.next_id, replay.last_lsn, replay.saved_lsn);
    let (operations, aliases) = (std::mem::take(&mut replay.operations), replay.named_aliases());
    let (entries, mut damage) = replay.into_entries(&shared);
    // What cannot be written now is written with the next checkpoint.
    let is_stale = stale.is_some_and(|(dir, saved)| saved.store_in(&**storage, dir).is_err());
    damage.catalog = catalog_fault.map(|(path, what)| {
        let done = if is_stale { "it is written with the next checkpoint" } else { "it is written again" };
        (path, format!("{what}; {OTHER_IS_SOUND}; {done}"))
    });
    let recorded =
        RecordedState { next_id, last_lsn, saved_lsn, operations, auth_generation, is_stale, fault: None };
    Ok(Opened { catalog: Arc::new(Catalog::new(shared, entries, aliases, recorded, mode)), report, damage })
}

/// Group commit over a log that is open.
fn group_commit(
    log: Log,
    memory: &Memory,
    supervisor: &Arc<Supervisor>,
    mode: Mode,
) -> Result<GroupCommit, OpenError> {
    let usual = GroupOptions::default();
    let waiting_bytes = memory.log_bytes(usual.waiting_bytes);
    let options = GroupOptions { waiting_bytes, supervisor: Arc::clone(supervisor), ..usual };
    match mode {
        Mode::Threaded => GroupCommit::threaded(log, &options).map_err(OpenError::Threads),
        Mode::Inline { .. } => Ok(GroupCommit::inline(log, &options)),
    }
}

/// Refuses a directory if the list of its collections is incomplete.
fn refuse_incomplete(storage: &dyn Storage, replay: &Replay) -> Result<(), OpenError> {
    if let Some(fault) = &replay.fault {
        return Err(OpenError::Catalog(format!(
            "{fault}. Nothing was changed; `kithdb check` says more. Restore a backup, or let `kithdb repair` say what \
             can be kept"
        )));
    }
    match unknown_folder(storage, replay.next_id)? {
        Some(unknown) => Err(OpenError::Catalog(unknown)),
        None => Ok(()),
    }
}

/// A sentence about a folder of a collection that is not empty and that the catalog does not know, if there is one. A
/// creation is durable before its folder is made, so the catalog was lost, and a new collection could get the number,
/// and with it the data, of an old one.
pub(super) fn unknown_folder(storage: &dyn Storage, next_id: u64) -> Result<Option<String>, StorageError> {
    for name in storage.list("collections")? {
        let folder = format!("collections/{name}");
        let Some(id) = u64::from_str_radix(&name, 16).ok().filter(|id| *id >= next_id) else { continue };
        if !storage.list(&folder)?.is_empty() && !is_unfinished(storage, id)? {
            return Ok(Some(format!(
                "the file CATALOG and the log do not know the folder {folder}. If somebody has put it there, move it \
                 out of the data directory; if not, the list of collections is older than the data"
            )));
        }
    }
    Ok(None)
}

/// Removes the folders of collections that were deleted before their files were, and of copies that no record of the log
/// names. Returns the number of the next collection, above those that cannot be removed.
fn remove_leftovers(storage: &dyn Storage, slots: &BTreeMap<u64, Slot>, next_id: u64) -> u64 {
    let mut next = next_id;
    for name in storage.list("collections").unwrap_or_default() {
        let Ok(id) = u64::from_str_radix(&name, 16) else { continue };
        if slots.contains_key(&id) || PlantedFault::LeftoverFolderStays.is_on() {
            continue;
        }
        let removed = match is_unfinished(storage, id) {
            Ok(true) => discard_unfinished(storage, id),
            _ if id < next_id => storage.remove_dir_all(&format!("collections/{name}")),
            _ => Ok(()),
        };
        if removed.is_err() {
            next = next.max(id.saturating_add(1));
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_are_opened_on_every_core_and_in_a_simulation_one_after_the_other() {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!([Mode::Threaded.threads(), Mode::Inline { seed: 7 }.threads()], [cores, 1]);
    }
}
