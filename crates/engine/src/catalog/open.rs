//! Opening a data directory: catalog, checkpoints, replay.

use super::entry::{Entry, EntryState};
use super::file::{self, CatalogFile, Found, NoCatalog, SavedEntry};
use super::rehearsal::DamagedRecord;
use super::{CATALOG, CREATE, Catalog, DROP, Ledger, STAGING};
use crate::collection::{
    CHANGES, Cause, Collection, IndexQueue, Opening, OpeningOptions, Shared, Unopened, is_manifest_damaged,
};
use crate::config::CollectionConfig;
use crate::limits::{Limits, Thresholds};
use crate::storage::{LockGuard, OTHER_IS_SOUND, Reserve, Storage, StorageError};
use crate::types::Lsn;
use crate::wal::{DamageKind, GroupCommit, GroupOptions, Log, LogError, LogOptions, LogReport, Replayed};
use arc_swap::ArcSwap;
use imbl::OrdMap;
use parking_lot::{Mutex, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Epoch of the log's records. It changes only when a log is succeeded by another one.
const EPOCH: u32 = 1;

/// Why a data directory cannot be opened at all.
#[derive(Debug)]
pub enum OpenError {
    /// The disk, or another process that holds the directory.
    Storage(StorageError),
    /// The log.
    Log(LogError),
    /// The catalog: what is wrong with it.
    Catalog(String),
    /// The catalog's file and its copy are both of no use: why the file is not.
    CatalogLost(String),
    /// The device, or the system, refuses to read what a repair has to judge.
    Unreadable(StorageError),
    /// The system refuses a thread.
    Threads(std::io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Storage(error) => error.fmt(f),
            OpenError::Log(error) => error.fmt(f),
            OpenError::Catalog(error) => f.write_str(error),
            OpenError::CatalogLost(error) => write!(
                f,
                "{error}, and its copy in the folder collections is of no use either: nobody knows the names of the \
                 collections. Nothing was changed; restore a backup, or let `kithdb repair` find the collections and \
                 give them names of their numbers"
            ),
            OpenError::Unreadable(error) if error.kind().remedy().is_some() => {
                write!(f, "a file cannot be read, and nothing was changed: {error}")
            }
            OpenError::Unreadable(error) => write!(
                f,
                "the disk does not give a file: {error}. What it refuses now it may give another time, so nothing of it \
                 is taken for lost, and nothing was changed. The disk or the way to it fails: copy the data directory to \
                 one that works (ddrescue puts zeros in the place of what cannot be read), and repair the copy"
            ),
            OpenError::Threads(error) => write!(f, "the system refuses a thread: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<NoCatalog> for OpenError {
    fn from(error: NoCatalog) -> Self {
        match error {
            NoCatalog::Lost(why) => OpenError::CatalogLost(why),
            NoCatalog::Refused(why) | NoCatalog::Unread(why) => OpenError::Catalog(why),
        }
    }
}

impl From<StorageError> for OpenError {
    fn from(error: StorageError) -> Self {
        OpenError::Storage(error)
    }
}

/// Who does the work of the log and of the collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Threads of their own.
    Threaded,
    /// The caller, one step after the other, with randomness from a seed: for simulations.
    Inline {
        /// Of the log's random parts.
        seed: u64,
    },
}

impl Mode {
    /// Threads that open collections. One where the order of the disk's calls must be the same every time.
    fn threads(self) -> usize {
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
    /// What the log said of itself.
    pub report: LogReport,
    /// What else was not as it was written.
    pub damage: StartDamage,
}

/// What a start found not to be as it was written, beside what the log says of itself.
#[derive(Debug, Default)]
pub struct StartDamage {
    /// The catalog's file or its copy: what is wrong with it, and what was done.
    pub catalog: Option<(&'static str, String)>,
    /// Records of the log with damaged bodies under intact headers.
    pub records: Vec<DamagedRecord>,
    /// Graphs: the name of the collection, the file, and what is wrong with it.
    pub graphs: Vec<(String, String, String)>,
    /// Numbers of collections whose manifest is damaged: their faults say more.
    pub manifests: BTreeSet<u64>,
    /// Numbers of collections with damaged data files: their faults say more.
    pub data: BTreeSet<u64>,
}

/// A collection while the log is replayed.
pub(super) struct Slot {
    pub(super) name: String,
    config: Arc<CollectionConfig>,
    /// LSN of the record that created it; 0 when the log does not hold it any more.
    created: Lsn,
    pub(super) opening: Result<Opening, Unopened>,
}

/// File that stands in a data directory while a backup is restored into it.
pub const UNFINISHED_RESTORE: &str = "RESTORING";

/// Claims a data directory for this process, whether to serve it or to look at it.
///
/// # Errors
/// The disk's, another process that holds the directory, and a restore that did not come to its end.
pub fn claim(storage: &dyn Storage) -> Result<LockGuard, OpenError> {
    held(storage.lock()?, storage)
}

/// The same for whoever only reads it, and makes nothing in it.
///
/// # Errors
/// As [`claim`].
pub fn claim_to_read(storage: &dyn Storage) -> Result<LockGuard, OpenError> {
    held(storage.lock_to_read()?, storage)
}

fn held(lock: LockGuard, storage: &dyn Storage) -> Result<LockGuard, OpenError> {
    if storage.exists(UNFINISHED_RESTORE)? {
        return Err(OpenError::Catalog(
            "a restore into this data directory did not come to its end: empty it and restore again"
                .to_string(),
        ));
    }
    Ok(lock)
}

/// Opens the catalog and every collection: checkpoint, then the log after it. A collection that cannot be opened
/// is quarantined; the others serve.
///
/// # Errors
/// When nothing can be served: the disk, the log's format, the catalog's file.
pub fn open(
    storage: Arc<dyn Storage>,
    limits: Limits,
    thresholds: Thresholds,
    mode: Mode,
) -> Result<Opened, OpenError> {
    let reserve = Arc::new(Reserve::open(Arc::clone(&storage)));
    let open = || open_with(&storage, &reserve, limits, thresholds, mode);
    match open() {
        // The log has to write before it can be relied on, and a disk that is full must not keep a server from starting.
        Err(OpenError::Log(LogError::Full)) if reserve.release_for_start() => open(),
        outcome => outcome,
    }
}

fn open_with(
    storage: &Arc<dyn Storage>,
    reserve: &Arc<Reserve>,
    limits: Limits,
    thresholds: Thresholds,
    mode: Mode,
) -> Result<Opened, OpenError> {
    let Found { file: saved, stale, fault: catalog_fault } = CatalogFile::load(&**storage)?;
    let stale = stale.map(|dir| (dir, saved.clone()));
    let mut replay = Replay::load(
        Arc::clone(storage),
        saved,
        OpeningOptions { threads: mode.threads(), row_chunk_bytes: thresholds.row_chunk_bytes },
    );
    let options = LogOptions {
        segment_bytes: thresholds.log_segment_bytes,
        highest_applied: replay.highest_applied(),
        entropy: mode.seed(),
    };
    let (log, report) =
        Log::open(Arc::clone(storage), EPOCH, options, Lsn::NONE, &mut |item| replay.visit(item))
            .map_err(OpenError::Log)?;
    let log = log.with_reserve(Arc::clone(reserve));
    replay.lose_catalog(&report);
    replay.lose(&report);
    replay.complete();
    if let Some(fault) = replay.fault {
        return Err(OpenError::Catalog(format!(
            "{fault}. Nothing was changed; `kithdb check` says more. Restore a backup, or let `kithdb repair` say what \
             can be kept"
        )));
    }
    if let Some(unknown) = unknown_folder(&**storage, replay.next_id)? {
        return Err(OpenError::Catalog(unknown));
    }
    // What cannot be removed now is tried again at the next start.
    let _ = remove_leftovers(&**storage, &replay.slots, replay.next_id);
    let _ = storage.remove_dir_all(STAGING);
    let log = match mode {
        Mode::Threaded => GroupCommit::threaded(log, &GroupOptions::default()).map_err(OpenError::Threads)?,
        Mode::Inline { .. } => GroupCommit::inline(log, &GroupOptions::default()),
    };
    let shared = Arc::new(Shared {
        storage: Arc::clone(storage),
        log,
        indexer: IndexQueue::default(),
        limits,
        thresholds,
        reserve: Arc::clone(reserve),
        unsaved_work: Arc::default(),
        waiting_writes: Arc::default(),
    });
    let mut damage = replay.damage;
    let entries = replay.slots.into_iter().map(|(id, Slot { name, config, created, opening })| {
        if let Ok(opening) = &opening {
            let told = opening.damaged_graphs().iter();
            damage.graphs.extend(told.map(|(file, what)| (name.clone(), file.clone(), what.clone())));
        }
        let state = match opening {
            Ok(opening) => {
                EntryState::Active(Arc::new(Collection::open(opening, Arc::clone(&shared), created)))
            }
            // The log keeps everything from the start: what can be saved of the collection is still in it.
            Err(fault) => EntryState::quarantined(&fault, Some(Lsn::NONE)),
        };
        (name.clone(), Arc::new(Entry::new(id, name, config, state)))
    });
    let entries: OrdMap<String, Arc<Entry>> = entries.collect();
    let (next_id, last_lsn, saved_lsn) = (replay.next_id, replay.last_lsn, replay.saved_lsn);
    // What cannot be written now is written with the next checkpoint.
    let is_stale = stale.is_some_and(|(dir, saved)| saved.store_in(&**storage, dir).is_err());
    damage.catalog = catalog_fault.map(|(path, what)| {
        let done = if is_stale { "it is written with the next checkpoint" } else { "it is written again" };
        (path, format!("{what}; {OTHER_IS_SOUND}; {done}"))
    });
    let ledger = Ledger { next_id, last_lsn, saved_lsn, is_stale, fault: None };
    let catalog = Catalog {
        shared,
        entries: ArcSwap::from_pointee(entries),
        ledger: Mutex::new(ledger),
        detached: Mutex::default(),
        cut_fault: Mutex::default(),
        cuts: RwLock::default(),
    };
    Ok(Opened { catalog: Arc::new(catalog), report, damage })
}

pub(super) struct Replay {
    storage: Arc<dyn Storage>,
    options: OpeningOptions,
    /// The one collection that is looked at; all of them when absent.
    pub(super) only: Option<String>,
    pub(super) slots: BTreeMap<u64, Slot>,
    pub(super) next_id: u64,
    saved_lsn: Lsn,
    pub(super) last_lsn: Lsn,
    /// The highest number of a collection with a record.
    highest_id: u64,
    /// What makes the whole directory unusable.
    pub(super) fault: Option<String>,
    /// What was not as it was written.
    pub(super) damage: StartDamage,
}

impl Replay {
    pub(super) fn load(storage: Arc<dyn Storage>, saved: CatalogFile, options: OpeningOptions) -> Replay {
        let openings = load_checkpoints(&*storage, &saved.entries, options);
        let mut damage = StartDamage::default();
        for ((id, ..), opening) in saved.entries.iter().zip(&openings) {
            damage.blame(&*storage, *id, opening);
        }
        let slots = saved
            .entries
            .into_iter()
            .zip(openings)
            .map(|((id, name, config), opening)| (id, Slot { name, config, created: Lsn::NONE, opening }))
            .collect();
        Replay {
            storage,
            options,
            only: None,
            slots,
            next_id: saved.next_id,
            saved_lsn: saved.lsn,
            last_lsn: saved.lsn,
            highest_id: 0,
            fault: None,
            damage,
        }
    }

    /// The highest LSN that any checkpoint has.
    pub(super) fn highest_applied(&self) -> Lsn {
        let openings = self.slots.values().filter_map(|slot| slot.opening.as_ref().ok());
        openings.map(Opening::lsn).max().unwrap_or_default().max(self.saved_lsn)
    }

    pub(super) fn visit(&mut self, item: Replayed<'_>) {
        if let Replayed::BadBody { lsn, collection, .. } = item {
            self.damage.records.push(DamagedRecord { lsn, collection });
        }
        match item {
            Replayed::Record { lsn, collection: CATALOG, kind, body, .. } => {
                if lsn > self.saved_lsn {
                    self.last_lsn = lsn;
                    if self.catalog_record(lsn, kind, body).is_none() {
                        self.fault =
                            Some("the log holds a catalog record that cannot be decoded".to_string());
                    }
                } else if kind == CREATE
                    && let Some(((id, ..), _)) = file::decode_entry(body)
                    && let Some(slot) = self.slots.get_mut(&id)
                {
                    slot.created = lsn;
                }
            }
            Replayed::Record { lsn, collection, kind: CHANGES, body, .. } => {
                // A record of a collection that is not here belongs to one that was deleted, or was never heard of.
                self.highest_id = self.highest_id.max(collection);
                if let Some(Slot { opening, .. }) = self.slots.get_mut(&collection)
                    && let Ok(open) = opening
                    && let Err(fault) = open.replay(lsn, body)
                {
                    *opening = Err(fault.into());
                }
            }
            Replayed::Record { collection, .. } => {
                let what = "the log holds a record of an unknown kind: use the release that wrote it, or a later one";
                self.quarantine(collection, Unopened { what: what.to_string(), cause: Cause::OtherFormat });
            }
            Replayed::BadBody { lsn, collection: CATALOG, .. } => {
                if lsn > self.saved_lsn {
                    self.fault = Some("a record of the catalog in the log is damaged".to_string());
                }
            }
            Replayed::BadBody { lsn, collection, .. } => self.lose_behind(collection, lsn),
        }
    }

    fn catalog_record(&mut self, lsn: Lsn, kind: u8, body: &[u8]) -> Option<()> {
        match kind {
            CREATE => {
                let ((id, name, config), rest) = file::decode_entry(body)?;
                if !rest.is_empty() {
                    return None;
                }
                if self.only.as_ref().is_none_or(|only| *only == name) {
                    let opening = Opening::load(id, &*self.storage, &config, self.options);
                    self.damage.blame(&*self.storage, id, &opening);
                    self.slots.insert(id, Slot { name, config, created: lsn, opening });
                }
                self.next_id = self.next_id.max(id + 1);
            }
            DROP => {
                let id = u64::from_le_bytes(body.try_into().ok()?);
                self.slots.remove(&id);
                self.damage.acquit(id);
            }
            _ => return None,
        }
        Some(())
    }

    /// Takes note of records of the catalog that the log has lost, so that collections may be missing from the list.
    pub(super) fn lose_catalog(&mut self, report: &LogReport) {
        let highest_id = report.behind.keys().copied().max().unwrap_or(0).max(self.highest_id);
        let is_behind = report.behind.get(&CATALOG).is_some_and(|&highest| highest > self.saved_lsn);
        let fault = match report.catalog_before.filter(|lsn| *lsn > self.saved_lsn) {
            Some(lsn) => {
                let gap = report.damages.iter().find(|damage| damage.kind == DamageKind::Gap);
                let why = gap.map_or_else(String::new, |gap| format!(". {}: {gap}", gap.file()));
                format!(
                    "record {lsn} of the log is lost, which created or deleted a collection, so nobody knows all \
                     collections{why}"
                )
            }
            None if is_behind || highest_id >= self.next_id => {
                "records of the catalog in the log are damaged".to_string()
            }
            None => return,
        };
        self.fault.get_or_insert(fault);
    }

    /// Takes note of what else the log has lost.
    ///
    /// Whose records stood where nothing can be read is unknown: every collection that has no later record and no
    /// later checkpoint may have lost its last changes, and is quarantined rather than served as it was before them.
    pub(super) fn lose(&mut self, report: &LogReport) {
        let lost = report.damages.iter().filter(|damage| damage.loses_above(Lsn::NONE));
        let lost = lost.max_by_key(|damage| damage.lost_to.unwrap_or(Lsn::MAX));
        let Some(damage) = lost else { return };
        let lost_to = damage.lost_to.unwrap_or(Lsn::MAX);
        for slot in self.slots.values_mut().filter(|slot| slot.created < lost_to) {
            if slot.opening.as_ref().is_ok_and(|opening| opening.lsn() < lost_to) {
                slot.opening = Err(may_be_its_own(damage.kind).into());
            }
        }
        for (&collection, &highest) in &report.behind {
            self.lose_behind(collection, highest);
        }
    }

    /// Records of a collection up to `highest` cannot be read: unless its checkpoint has them, it is quarantined.
    fn lose_behind(&mut self, collection: u64, highest: Lsn) {
        let lost = self.slots.get(&collection).and_then(|slot| slot.opening.as_ref().ok());
        if lost.is_some_and(|opening| opening.lsn() < highest) {
            self.quarantine(collection, "records of this collection in the log are damaged".into());
        }
    }

    /// Takes note of collections of which a part is missing, once everything in the log was applied.
    pub(super) fn complete(&mut self) {
        for (&id, slot) in &mut self.slots {
            let fault = slot.opening.as_ref().ok().and_then(|opening| opening.missing(slot.created));
            if let Some(fault) = fault {
                slot.opening = Err(fault.into());
                self.damage.manifests.insert(id);
            }
        }
    }

    fn quarantine(&mut self, collection: u64, fault: Unopened) {
        if let Some(slot) = self.slots.get_mut(&collection) {
            slot.opening = Err(fault);
        }
    }
}

impl StartDamage {
    /// Takes note of the file that keeps a collection from being opened.
    fn blame(&mut self, storage: &dyn Storage, id: u64, opening: &Result<Opening, Unopened>) {
        if opening.as_ref().is_err_and(|fault| fault.cause.is_failure()) {
            let kind = if is_manifest_damaged(storage, id) { &mut self.manifests } else { &mut self.data };
            kind.insert(id);
        }
    }

    /// A deletion may have removed some files of a collection before a crash.
    fn acquit(&mut self, id: u64) {
        self.manifests.remove(&id);
        self.data.remove(&id);
    }
}

/// What is wrong with a collection whose records may be among those that were lost.
fn may_be_its_own(kind: DamageKind) -> &'static str {
    match kind {
        DamageKind::Gap | DamageKind::Missing => {
            "segments of the log are missing whose records may be this collection's"
        }
        DamageKind::CutMark => {
            "the mark of how far the log was cut is damaged, and so is its copy: whether segments of the log \
             with records of this collection are missing nobody can tell"
        }
        DamageKind::RecordHeader | DamageKind::SegmentHeader => {
            "records of the log are damaged that may be this collection's"
        }
    }
}

/// The checkpoints of all collections in their order, several at a time.
fn load_checkpoints(
    storage: &dyn Storage,
    entries: &[SavedEntry],
    options: OpeningOptions,
) -> Vec<Result<Opening, Unopened>> {
    let load = |(id, _, config): &SavedEntry| Opening::load(*id, storage, config, options);
    let threads = options.threads;
    if threads <= 1 || entries.len() <= 1 {
        return entries.iter().map(load).collect();
    }
    let next = AtomicUsize::new(0);
    let loaded: Mutex<Vec<(usize, Result<Opening, Unopened>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.min(entries.len()) {
            scope.spawn(|| {
                while let Some((at, entry)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    entries.get(at).map(|entry| (at, entry))
                } {
                    let opening = load(entry);
                    loaded.lock().push((at, opening));
                }
            });
        }
    });
    let mut loaded = loaded.into_inner();
    loaded.sort_unstable_by_key(|(at, _)| *at);
    loaded.into_iter().map(|(_, opening)| opening).collect()
}

/// Says which folder of a collection the catalog has never heard of, if there is one that holds something: a creation is
/// durable before the folder is made, so the catalog was lost, and new collections would find the data of old ones.
pub(super) fn unknown_folder(storage: &dyn Storage, next_id: u64) -> Result<Option<String>, StorageError> {
    for name in storage.list("collections")? {
        let folder = format!("collections/{name}");
        if u64::from_str_radix(&name, 16).is_ok_and(|id| id >= next_id) && !storage.list(&folder)?.is_empty()
        {
            return Ok(Some(format!(
                "the file CATALOG and the log do not know the folder {folder}. If somebody has put it there, move it \
                 out of the data directory; if not, the list of collections is older than the data"
            )));
        }
    }
    Ok(None)
}

/// Removes the folders of collections that were deleted before their files were.
fn remove_leftovers(
    storage: &dyn Storage,
    slots: &BTreeMap<u64, Slot>,
    next_id: u64,
) -> Result<(), StorageError> {
    for name in storage.list("collections")? {
        let deleted = u64::from_str_radix(&name, 16).is_ok_and(|id| id < next_id && !slots.contains_key(&id));
        if deleted {
            storage.remove_dir_all(&format!("collections/{name}"))?;
        }
    }
    Ok(())
}
