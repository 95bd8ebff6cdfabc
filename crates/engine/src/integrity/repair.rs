//! `kithdb repair`: keeps the intact data of a damaged directory, moves the rest to a salvage folder, and reports
//! losses.
//!
//! Nothing is destroyed: before anything changes, everything that will be replaced gets a second name below
//! `salvage/`. Then the damaged collections get new checkpoints, made of what verifies, and where the log is damaged
//! all collections do, so that a new log can take its place. Each step is durable before the next; a repair that did
//! not come to its end is begun again.

use super::advice::part_name;
use super::check::folders;
use crate::catalog::{
    self, CATALOG_COPY, OpenError, PreviewedCollection, SavedCatalog, SavedEntry, Source, StartPreview,
    UnlistedCollections,
};
use crate::collection::{
    CHANGES, Collection, GraphPolicy, IndexQueue, Losses, Opening, OpeningOptions, Part, Shared, Unopened,
    directory, inspect, link_folder,
};
use crate::field::IndexScratch;
use crate::limits::{Limits, Thresholds};
use crate::memory::{Memory, MemoryLimit};
use crate::storage::{ErrorKind, MemoryDisk, OTHER_IS_SOUND, ReadOnly, Reserve, Storage};
use crate::types::Lsn;
use crate::wal::{self, DamageKind, GroupCommit, GroupOptions, Log, LogOptions, MarkFault, Replayed};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Folder in the data directory for what a repair replaced.
pub const SALVAGE: &str = "salvage";

/// How many collections that no list names are reported one by one.
pub(super) const MAX_REPORTED_UNLISTED: usize = 20;

/// What a repair does, or would do, about one collection.
#[derive(Clone, Debug)]
pub struct RepairedCollection {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// What was wrong with it.
    pub faults: Vec<String>,
    /// What could not be kept.
    pub losses: Losses,
    /// Live points afterwards.
    pub points: u64,
}

impl RepairedCollection {
    /// A damaged collection whose points are not counted yet.
    fn new(id: u64, name: &str, faults: Vec<String>, losses: Losses) -> RepairedCollection {
        RepairedCollection { id, name: name.to_string(), faults, losses, points: 0 }
    }
}

/// What a repair did, or would do.
#[derive(Clone, Debug, Default)]
pub struct RepairReport {
    /// The collections that were damaged.
    pub repaired: Vec<RepairedCollection>,
    /// Whether the log is damaged and a new one takes its place.
    pub replaces_log: bool,
    /// Whether the catalog's file or its copy is damaged and both are written again.
    pub replaces_catalog: bool,
    /// Whether one of the two files of the log's cut mark is damaged and both are written again.
    pub replaces_mark: bool,
    /// What there is to say of the log and the catalog.
    pub notes: Vec<String>,
    /// Folder with what was replaced, relative to the data directory; none when nothing was.
    pub salvage: Option<String>,
}

impl RepairReport {
    /// Whether there is nothing to repair.
    pub fn is_sound(&self) -> bool {
        self.repaired.is_empty() && !self.replaces_log && !self.replaces_catalog && !self.replaces_mark
    }
}

/// Repairs a data directory, or reports what a repair would do. The caller holds its lock. `stamp` names the folder for
/// what is replaced.
///
/// # Errors
/// What a start could not get past but for damage of the catalog and the log; and [`OpenError::Unreadable`] when the
/// device refuses a read of what is there, since only a later attempt can show whether that is damage.
pub fn repair(
    storage: &Arc<dyn Storage>,
    stamp: &str,
    dry_run: bool,
    options: OpeningOptions,
) -> Result<RepairReport, OpenError> {
    let reading = Arc::new(ReadOnly::new(Arc::clone(storage)));
    let planned = Run::planned(Arc::<ReadOnly>::clone(&reading), options);
    if let Some(error) = reading.refused() {
        // Damaged data are lost. Data whose read was refused may be intact, and a repair would drop them too.
        return Err(OpenError::Unreadable(error));
    }
    let (mut run, catalog) = planned?;
    if !dry_run && !run.report.is_sound() {
        run.carry_out(storage, stamp, &catalog)?;
    }
    Ok(run.report)
}

struct Run {
    reading: Arc<dyn Storage>,
    options: OpeningOptions,
    source: Source,
    /// There may be folders of collections that no list names: the next start removes them.
    has_unlisted: bool,
    report: RepairReport,
    /// The collections that get new checkpoints.
    openings: BTreeMap<u64, Opening>,
    /// The first LSN that neither a record of the log nor a checkpoint has.
    end: Lsn,
}

impl Run {
    /// Plans the repair and changes nothing.
    fn planned(reading: Arc<dyn Storage>, options: OpeningOptions) -> Result<(Run, SavedCatalog), OpenError> {
        let (source, preview) = match catalog::preview_start(&reading, Source::File, None, options) {
            Err(OpenError::CatalogLost(_)) => {
                (Source::Folders, catalog::preview_start(&reading, Source::Folders, None, options)?)
            }
            preview => (Source::File, preview?),
        };
        let (report, openings) = (RepairReport::default(), BTreeMap::new());
        let mut run =
            Run { reading, options, source, has_unlisted: false, report, openings, end: Lsn::FIRST };
        let catalog = run.plan(preview)?;
        Ok((run, catalog))
    }

    /// Finds what is damaged, and loads what verifies of it.
    fn plan(&mut self, preview: StartPreview) -> Result<SavedCatalog, OpenError> {
        self.plan_log(&preview);
        let catalog = self.plan_catalog(&preview)?;
        let mut found: BTreeMap<u64, PreviewedCollection> =
            preview.collections.into_iter().map(|found| (found.id, found)).collect();
        let mut repaired = BTreeMap::new();
        for entry in catalog.entries() {
            let outcome = found.remove(&entry.0).map(|found| found.outcome);
            repaired
                .extend(self.plan_collection(&catalog, entry, outcome)?.map(|repaired| (entry.0, repaired)));
        }
        self.replay(&catalog, &mut repaired)?;
        for (id, repaired) in &mut repaired {
            repaired.points = self.openings.get(id).map_or(0, |opening| opening.points_count() as u64);
        }
        self.report.repaired = repaired.into_values().collect();
        Ok(catalog)
    }

    /// Whether the log, and the mark of how far it was cut, are replaced.
    fn plan_log(&mut self, preview: &StartPreview) {
        let StartPreview { report, damaged, fault, .. } = preview;
        self.report.replaces_log = !report.damages.is_empty() || !damaged.is_empty() || fault.is_some();
        for damage in report.damages.iter().filter(|damage| damage.loses_above(Lsn::NONE)) {
            let whose = match damage.kind {
                DamageKind::CutMark => "",
                _ => "; whose they were is unknown",
            };
            self.report.notes.push(format!("{}: {damage}{whose}", damage.file()));
        }
        self.report.notes.extend(fault.clone());
        if let Some(MarkFault { path, what, has_other: true }) = &report.mark_fault {
            self.report.replaces_mark = true;
            self.report.notes.push(format!("{path} {what}; {OTHER_IS_SOUND}"));
        }
    }

    /// The list of collections, and whether it is written again.
    fn plan_catalog(&mut self, preview: &StartPreview) -> Result<SavedCatalog, OpenError> {
        let StartPreview { catalog_fault, fault, .. } = preview;
        self.report.replaces_catalog = catalog_fault.is_some() || self.source == Source::Folders;
        self.has_unlisted = self.source == Source::Folders || fault.is_some();
        let catalog = catalog::salvage_catalog(&*self.reading, self.source, self.has_unlisted)?;
        if let Some((path, what)) = catalog_fault {
            self.report.notes.push(format!("{path}: {what}; {OTHER_IS_SOUND}"));
        }
        if self.has_unlisted {
            self.report_folders(&catalog)?;
        }
        Ok(catalog)
    }

    /// Loads a collection if it gets a new checkpoint, and returns what is wrong with it if anything is. `outcome` is
    /// what a start would find.
    fn plan_collection(
        &mut self,
        catalog: &SavedCatalog,
        (id, name, config): &SavedEntry,
        outcome: Option<Result<Opening, Unopened>>,
    ) -> Result<Option<RepairedCollection>, OpenError> {
        let inspection = inspect(&*self.reading, *id, self.options.row_chunk_bytes, &mut |_| true);
        inspection.refuse_other_formats().map_err(OpenError::Catalog)?;
        let faults = inspection.faults.iter();
        let mut faults: Vec<String> = faults
            .map(|fault| format!("{}: {}: {}", fault.path, part_name(&fault.part), fault.what))
            .collect();
        match outcome {
            // What is sound must not be salvaged.
            Some(Err(Unopened { what, cause })) if cause.is_unknown() => {
                Err(OpenError::Catalog(format!("the collection {name}: {what}")))
            }
            Some(Ok(opening)) => {
                let refused = opening.refused_graphs().iter();
                faults.extend(refused.map(|field| format!("the graph of '{field}' cannot be used")));
                let is_damaged = !faults.is_empty();
                if self.report.replaces_log || is_damaged {
                    self.openings.insert(*id, opening);
                }
                Ok(is_damaged.then(|| RepairedCollection::new(*id, name, faults, Losses::default())))
            }
            outcome => {
                if catalog.is_nameless(*id) {
                    faults.push("the record of its creation is lost, and its name with it".to_string());
                }
                faults.extend(outcome.and_then(Result::err).map(|fault| fault.what));
                let (opening, losses) = Opening::salvage(*id, &*self.reading, config, self.options);
                self.openings.insert(*id, opening);
                Ok(Some(RepairedCollection::new(*id, name, faults, losses)))
            }
        }
    }

    /// Reports what is done with folders of collections that no list names.
    fn report_folders(&mut self, catalog: &SavedCatalog) -> Result<(), OpenError> {
        let notes = &mut self.report.notes;
        let is_lost = self.source == Source::Folders;
        if is_lost {
            notes.push(
                "the file CATALOG and its copy are lost: a new one lists what the folders and the log tell of, \
                 and aliases that only they had are gone"
                    .to_string(),
            );
        }
        for (id, name, _) in catalog.entries().iter().filter(|(id, ..)| is_lost || catalog.is_nameless(*id)) {
            notes.push(format!("the collection in {} is called {name}", directory(*id)));
        }
        for id in folders(&*self.reading)? {
            let is_listed = catalog.entries().iter().any(|(known, ..)| *known == id);
            if !is_listed && !catalog.is_deleted(id) {
                inspect(&*self.reading, id, self.options.row_chunk_bytes, &mut |_| true)
                    .refuse_other_formats()
                    .map_err(OpenError::Catalog)?;
                let folder = directory(id);
                notes.push(format!("{folder} is set aside: nothing tells what the vectors in it are"));
            }
        }
        Ok(())
    }

    /// Applies every record of the log that can be read to the collections that need it, and says of which it cannot
    /// because the collection is unknown.
    fn replay(
        &mut self,
        catalog: &SavedCatalog,
        repaired: &mut BTreeMap<u64, RepairedCollection>,
    ) -> Result<(), OpenError> {
        let mut unlisted = UnlistedCollections::of(catalog);
        let openings = &mut self.openings;
        // LSNs of records that cannot be read, by collection.
        let mut unread: BTreeMap<u64, Vec<Lsn>> = BTreeMap::new();
        let end = wal::salvage(&*self.reading, &mut |item| {
            unlisted.see(&item);
            if let Replayed::BadBody { lsn, collection, kind: CHANGES } = item {
                unread.entry(collection).or_default().push(lsn);
            }
            // Any other is of a collection that was deleted, or that has the record already.
            if let Replayed::Record { lsn, operation, collection, body, .. } = item
                && let Some(opening) = openings.get_mut(&collection)
                && let Some(repaired) = repaired.get_mut(&collection)
            {
                opening.replay_anyway(lsn, operation, body, &mut repaired.losses);
            }
        });
        for (id, lsns) in unread {
            if let (Some(opening), Some(repaired)) = (openings.get(&id), repaired.get_mut(&id)) {
                let last = lsns.iter().filter(|lsn| **lsn > opening.lsn()).count();
                opening.lose_last(last as u64, &mut repaired.losses);
            }
        }
        let unlisted = unlisted.records;
        // The end of the log may be lost. The new log begins after what the checkpoints have: a start would take
        // records between them for lost.
        let saved = openings.values().map(Opening::lsn).max().unwrap_or_default().max(catalog.lsn());
        self.end = end.map_err(OpenError::Log)?.max(saved.next());
        self.report.notes.extend(unlisted.iter().take(MAX_REPORTED_UNLISTED).map(|(id, records)| {
            format!(
                "operations of the collection with the number {id} cannot be kept: {records}. Its creation, or its \
                 deletion, is lost with the log, and with it what its vectors are"
            )
        }));
        if unlisted.len() > MAX_REPORTED_UNLISTED {
            self.report
                .notes
                .push(format!("… and those of {} more collections", unlisted.len() - MAX_REPORTED_UNLISTED));
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        storage: &Arc<dyn Storage>,
        stamp: &str,
        catalog: &SavedCatalog,
    ) -> Result<(), OpenError> {
        let folder = format!("{SALVAGE}/{stamp}");
        self.link_into_salvage(&**storage, &folder)?;
        self.report.salvage = Some(folder.clone());
        let shared = Arc::new(shared_over(Arc::clone(storage), self.options.row_chunk_bytes)?);
        let mut scratch = IndexScratch::default();
        for (id, opening) in std::mem::take(&mut self.openings) {
            let name =
                catalog.entries().iter().find(|(known, ..)| *known == id).map_or("", |(_, name, _)| name);
            let collection = Collection::open(opening, Arc::clone(&shared), Lsn::NONE);
            collection.build_indexes();
            while collection.index_some(&mut scratch) {}
            collection.checkpoint(GraphPolicy::Always).map_err(|error| {
                OpenError::Catalog(format!(
                    "the repair of collection {name} failed: {error}. Nothing is lost: what was there is in \
                         {folder} too. Repair again when that is repaired"
                ))
            })?;
            // If only a graph was damaged, and the configuration no longer asks for one, no checkpoint was due.
            collection.write_again(&Part::Manifest)?;
        }
        if self.report.replaces_catalog || self.report.replaces_log {
            catalog.store(&**storage, self.end.previous())?;
        }
        if self.report.replaces_mark {
            wal::repair_mark(&**storage).map_err(OpenError::Log)?;
        }
        if self.report.replaces_log {
            // The mark is written first: records below it count as cut from here on.
            wal::start_behind(&**storage, self.end.previous()).map_err(OpenError::Log)?;
            wal::remove_segments(&**storage).map_err(OpenError::Log)?;
        }
        Ok(())
    }

    /// Gives everything that will be replaced a second name.
    fn link_into_salvage(&self, storage: &dyn Storage, folder: &str) -> Result<(), OpenError> {
        for dir in ["catalog", "collections", "log"] {
            storage.create_dir_all(&format!("{folder}/{dir}"))?;
        }
        // A folder that no catalog lists is removed by the next start.
        let ids = if self.has_unlisted { folders(storage)? } else { self.openings.keys().copied().collect() };
        for id in ids {
            link_folder(storage, id, folder)?;
            match storage.sync_dir(&format!("{folder}/{}", directory(id))) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        for dir in ["catalog", "log"] {
            for name in storage.list(dir)? {
                storage.link(&format!("{dir}/{name}"), &format!("{folder}/{dir}/{name}"))?;
            }
        }
        if storage.exists(CATALOG_COPY)? {
            storage.link(CATALOG_COPY, &format!("{folder}/{CATALOG_COPY}"))?;
        }
        for dir in ["catalog", "collections", "log"] {
            storage.sync_dir(&format!("{folder}/{dir}"))?;
        }
        storage.sync_dir(folder)?;
        storage.sync_dir(SALVAGE)?;
        Ok(storage.sync_dir("")?)
    }
}

/// What collections need to write checkpoints. Their log is one in memory: nothing is written to it.
fn shared_over(storage: Arc<dyn Storage>, row_chunk_bytes: usize) -> Result<Shared, OpenError> {
    let options = LogOptions { entropy: Some(0), ..LogOptions::default() };
    let (log, _) = Log::open(Arc::new(MemoryDisk::default()), 1, options, Lsn::NONE, &mut |_| ())
        .map_err(OpenError::Log)?;
    Ok(Shared {
        memory: Arc::new(Memory::of(MemoryLimit::None)),
        reserve: Arc::new(Reserve::open(Arc::clone(&storage))),
        unsaved_work: Arc::default(),
        waiting_writes: Arc::default(),
        clock: Default::default(),
        is_replica: false,
        expired_points: Default::default(),
        wakes: Default::default(),
        checkpoints: Default::default(),
        supervisor: Arc::default(),
        storage,
        log: GroupCommit::inline(log, &GroupOptions::default()),
        indexer: IndexQueue::default(),
        limits: Limits::default(),
        thresholds: Thresholds { row_chunk_bytes, ..Thresholds::default() },
    })
}
