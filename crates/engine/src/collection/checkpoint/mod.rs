//! Data checkpoints: the state of a view in immutable files, named by a manifest that is written last.
//!
//! A checkpoint costs in proportion to what is new: only row chunks that grew, only chunks of points with a
//! changed point, and only payloads that no file holds yet. Files of which less than half is still in use (most, on a
//! full disk) are copied forward and dropped, as far as there is room. Deaths of rows are not kept: a row lives if its
//! owner points at it.

pub(in crate::collection) mod cause;
pub(in crate::collection) mod extents;
mod graph_file;
pub(in crate::collection) mod inspection;
pub(in crate::collection) mod manifest;
pub(in crate::collection) mod opening;
mod pass;
pub(in crate::collection) mod salvage;
mod scrubbing;
pub(in crate::collection) mod sparse_file;
pub(in crate::collection) mod staging;
mod survey;
pub(in crate::collection) mod unsaved;
mod verification;

use crate::collection::Collection;
use crate::collection::declared_index::DeclaredIndex;
use crate::collection::edited_payloads::EditedPayloads;
use crate::collection::point::{Payload, Point, StoredPayload};
use crate::collection::view::View;
use crate::collection::write::Writer;
use crate::config::Placement;
use crate::field::graph::FieldGraph;
use crate::storage::{ErrorKind, Map, Storage, StorageError, make_dir};
use crate::types::PointOffset;
use crate::wal::LogError;
use extents::{Extent, ExtentWriter, file_name};
use manifest::Manifest;
use pass::{Moved, Pass, WrittenRows};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};
pub use survey::RoomNeeded;
use survey::{Enough, Survey};
use verification::{Unsound, verify_extent};

/// Bytes of a row's owner behind the rows of a chunk.
pub(in crate::collection) const OWNER_BYTES: usize = 4;
/// Share of a file that is dead when it is copied forward. At a half, each byte that is written frees another.
const WORN_SHARE: u64 = 2;
/// The same on a full disk, where room is dearer than writing.
const FULL_DISK_WORN_SHARE: u64 = 8;
/// Graphs are given one part in so many of the free space.
const GRAPH_SHARE: u64 = 2;
/// What is copied so that its place becomes free leaves one part in so many of the free space to the log.
const LOG_SHARE: u64 = 16;
/// In larger collections, a look at every point for what can be freed waits until the disk is full: it takes some 30 ms.
const MOST_SURVEYED: usize = 1 << 20;
/// Points whose payloads are moved to the files under one hold of the writer's seat.
const ADOPT_BATCH: usize = 4096;

/// Why a checkpoint was not made. Nothing is lost: the log still holds what it would have held.
#[derive(Debug)]
pub enum CheckpointError {
    /// The disk refused.
    Storage(StorageError),
    /// What readers see could not be made durable.
    Log(LogError),
    /// A file that was to be copied forward has been damaged since it was opened: says which.
    Damaged(String),
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckpointError::Storage(error) => error.fmt(f),
            CheckpointError::Log(error) => error.fmt(f),
            CheckpointError::Damaged(what) => f.write_str(what),
        }
    }
}

impl From<StorageError> for CheckpointError {
    fn from(error: StorageError) -> Self {
        CheckpointError::Storage(error)
    }
}

/// Whether a checkpoint also writes graphs that have only grown a little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphPolicy {
    /// Only those that grew by 5 % or 100,000 rows, whichever is more.
    WhenGrown,
    /// All that grew at all: at a clean stop.
    Always,
    /// None: while the disk is full. A graph is derived data, and the one before it is good for a start for as long as the
    /// manifest names it.
    Never,
}

/// What is on disk of a collection.
pub(in crate::collection) struct Checkpoints {
    pub dir: String,
    pub manifest: Option<Manifest>,
    /// Manifests whose writing failed half-way, or that are to be replaced: one of them may be what the next start reads.
    doubtful: Vec<Manifest>,
    pub next_file: u32,
    /// The last look at what the next checkpoint has to write.
    survey: Option<Survey>,
    /// The last answer of [`Collection::room_needed`]: at which operation and number of a file.
    needed: Option<((u64, u32), RoomNeeded)>,
    /// What is in the folder is to stay until there is a manifest: it is what a repair that fails begins again with.
    pub keeps_strays: bool,
}

impl Checkpoints {
    /// Nothing yet.
    pub fn none(collection: u64) -> Checkpoints {
        Checkpoints {
            dir: directory(collection),
            manifest: None,
            doubtful: Vec::new(),
            next_file: 1,
            survey: None,
            needed: None,
            keeps_strays: false,
        }
    }

    /// Log sequence up to which the checkpoint holds everything.
    pub fn lsn(&self) -> u64 {
        self.manifest.as_ref().map_or(0, |manifest| manifest.lsn)
    }

    /// Removes what no manifest names: leftovers of failed checkpoints, and files that were copied forward.
    fn remove_strays(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        if self.keeps_strays {
            return Ok(());
        }
        let manifests = self.manifest.iter().chain(&self.doubtful);
        let named: BTreeSet<String> = manifests.flat_map(Manifest::files).map(file_name).collect();
        for name in storage.list(&self.dir)? {
            if name.ends_with(".data") && !named.contains(&name) {
                storage.remove(&format!("{}/{name}", self.dir))?;
            }
        }
        Ok(())
    }
}

/// Folder of a collection. Names never become paths.
pub fn directory(collection: u64) -> String {
    format!("collections/{collection:016x}")
}

/// Path of a data or graph file in a collection's folder.
pub(in crate::collection) fn file_path(dir: &str, number: u32) -> String {
    format!("{dir}/{}", file_name(number))
}

impl Collection {
    /// Writes a data checkpoint of the current view, and graphs as the policy says. Cuts nothing itself: the
    /// log's owner asks [`Collection::pinned_lsn`] afterwards.
    ///
    /// # Errors
    /// The disk's; the previous checkpoint then stays in force.
    pub fn checkpoint(&self, graphs: GraphPolicy) -> Result<(), CheckpointError> {
        let made = self.make_checkpoint(graphs);
        self.note_checkpoint(made.as_ref().err().map(ToString::to_string));
        made
    }

    fn make_checkpoint(&self, graphs: GraphPolicy) -> Result<(), CheckpointError> {
        let mut checkpoints = self.checkpoints.lock();
        if self.is_retired() {
            return Ok(());
        }
        let storage = &*self.shared.storage;
        if let Some(last) = checkpoints.doubtful.last() {
            // Where no manifest can be stored, files would come with every try until the disk is full.
            last.store(storage, &checkpoints.dir)?;
        }
        // Before the view: what a graph leaves out up to its boundary, because it was dead in what readers saw, is dead in
        // the view then too, and no power cut brings it back.
        let bounded = self.bounded_graphs();
        let (view, edited, unsaved) = self.settled_view();
        storage.turn("behind the view of a checkpoint");
        let first = checkpoints.manifest.is_none();
        let previous = checkpoints.manifest.clone().unwrap_or_default();
        let fresh_graphs = self.graphs_to_write(bounded, &view, &previous, graphs);
        let is_same = !first && view.op == previous.op && fresh_graphs.is_empty();
        if is_same && (graphs == GraphPolicy::Always || !self.frees_room(&mut checkpoints)) {
            self.unsaved.remove(unsaved);
            return Ok(());
        }
        let number = checkpoints.next_file;
        // Numbers are never used twice, not even after a failure.
        checkpoints.next_file = number + 1 + fresh_graphs.len() as u32;
        let made = if first { make_dir(storage, &checkpoints.dir) } else { Ok(()) };
        let written = made
            .and_then(|()| checkpoints.remove_strays(storage))
            .map_err(CheckpointError::from)
            .and_then(|()| self.write_files(&view, &edited, &checkpoints, &previous, number, fresh_graphs));
        let (manifest, moved, rows) = match written {
            Ok(written) => written,
            Err(error) => {
                // The next one writes what was edited, and has to look again.
                self.writer.lock().head.edited.add(edited);
                // The space goes back at once: on a full disk the log needs it.
                let _ = checkpoints.remove_strays(storage);
                if let CheckpointError::Damaged(why) = &error {
                    self.report_damage(why);
                }
                return Err(error);
            }
        };
        checkpoints.doubtful.push(manifest.clone());
        if let Err(error) = manifest.store(storage, &checkpoints.dir) {
            self.writer.lock().head.edited.add(edited);
            // What is read back is durable: where it is the one before, the new one is nowhere, and its files go.
            let named = |one: &Manifest| (one.op, one.next_file);
            let before = checkpoints.manifest.as_ref().map(named);
            if error.kind() == ErrorKind::Full
                && !checkpoints.keeps_strays
                && Manifest::load(storage, self.id).is_ok_and(|found| found.as_ref().map(named) == before)
            {
                checkpoints.doubtful.pop();
                let _ = checkpoints.remove_strays(storage);
            }
            return Err(error.into());
        }
        checkpoints.doubtful.clear();
        checkpoints.keeps_strays = false;
        checkpoints.manifest = Some(manifest);
        self.checkpointed_lsn.store(view.lsn, Ordering::Release);
        self.has_checkpoint.store(true, Ordering::Release);
        // What was published meanwhile still counts.
        self.unsaved.remove(unsaved);
        self.shared.reserve.forget(unsaved as u64);
        if !moved.is_empty() || !rows.is_empty() {
            let map = storage.map(&file_path(&checkpoints.dir, number))?;
            self.adopt(moved, number, &map);
            storage.turn("between payloads and rows");
            self.seal(rows, &map);
            drop(view);
            storage.turn("between rows and the view");
            self.publish_settled(&self.quiet_writer());
        }
        Ok(checkpoints.remove_strays(storage)?)
    }

    /// Bytes that the next checkpoint writes, graphs and files that are copied forward left out.
    pub fn bytes_to_write(&self) -> u64 {
        self.surveyed(&mut self.checkpoints.lock()).new_bytes
    }

    /// What the next checkpoint needs at most, without a look at the points.
    pub fn room_needed(&self) -> RoomNeeded {
        let mut checkpoints = self.checkpoints.lock();
        let view = self.view();
        let now = (view.op, checkpoints.next_file);
        let previous = last(&checkpoints.manifest);
        // Of thousands of collections hardly any was written since the last look.
        let known = checkpoints.needed.filter(|(then, _)| *then == now);
        let needed = known.map_or_else(|| RoomNeeded::of(&view, previous), |(_, needed)| needed);
        checkpoints.needed = Some((now, needed));
        needed
    }

    /// Whether a checkpoint is worth making for the room alone that it gives back, on a disk that has little.
    pub fn has_room_to_free(&self) -> bool {
        // A checkpoint that is being written is asked again when it is done.
        let Some(mut checkpoints) = self.checkpoints.try_lock() else { return false };
        checkpoints.manifest.is_some() && self.frees_room(&mut checkpoints)
    }

    fn frees_room(&self, checkpoints: &mut Checkpoints) -> bool {
        let reserve = &self.shared.reserve;
        let Some(bytes) = reserve.worth_freeing() else { return false };
        if !reserve.is_spent() && self.view().state.points.len() > MOST_SURVEYED {
            return false;
        }
        !self.worn(self.surveyed(checkpoints), bytes).is_empty()
    }

    /// What the next checkpoint has to write, as of now.
    fn surveyed<'a>(&self, checkpoints: &'a mut Checkpoints) -> &'a Survey {
        let view = self.view();
        let previous = last(&checkpoints.manifest);
        let known = checkpoints.survey.take().filter(|survey| survey.is_of(&view, previous));
        let look = || Survey::of(&view, previous, &*self.shared.storage, &checkpoints.dir);
        let survey = known.unwrap_or_else(look);
        checkpoints.survey.insert(survey)
    }

    /// Whether the vacuum has waited for a checkpoint since this was asked last.
    pub fn vacuum_waited(&self) -> bool {
        self.vacuum_waits.swap(false, Ordering::Relaxed)
    }

    /// Files that a checkpoint copies forward: those that give so many bytes back, as far as there is room for copies.
    fn worn(&self, survey: &Survey, bytes: u64) -> BTreeSet<u32> {
        let reserve = &self.shared.reserve;
        let share = if reserve.is_spent() { FULL_DISK_WORN_SHARE } else { WORN_SHARE };
        let free = reserve.little_free();
        let room = free.map_or(u64::MAX, |free| beside_log(free.saturating_sub(survey.new_bytes)));
        survey.worn(&Enough { bytes, share }, room)
    }

    /// Whether rows of so many bytes may be moved to the end of their fields.
    pub(in crate::collection) fn has_room_to_move(&self, bytes: u64) -> bool {
        let Some(free) = self.shared.reserve.little_free() else { return true };
        let checkpoints = self.checkpoints.lock();
        let previous = last(&checkpoints.manifest);
        survey::has_room_to_move(&self.view(), previous, bytes, beside_log(free))
    }

    /// Removes the files that no checkpoint names, which the next checkpoint does otherwise.
    ///
    /// # Errors
    /// The disk's.
    pub fn remove_strays(&self) -> Result<(), StorageError> {
        self.checkpoints.lock().remove_strays(&*self.shared.storage)
    }

    /// The current view, with every payload where the head says it is, and where those came from that were edited since
    /// the checkpoint before, and the work that waits in the log for all that is in the view.
    ///
    /// A checkpoint moves payloads in the head only ([`Collection::adopt`]). Views that were made before have them
    /// where they were; a checkpoint of one of those would lose track of which files are in use.
    fn settled_view(&self) -> (Arc<View>, EditedPayloads, usize) {
        let mut writer = self.quiet_writer();
        let edited = std::mem::take(&mut writer.head.edited);
        self.publish_settled(&writer);
        (self.view(), edited, self.unsaved.get())
    }

    /// Lets readers see the head with nothing in flight.
    fn publish_settled(&self, writer: &Writer) {
        let lsn = self.view().lsn;
        self.view.store(Arc::new(writer.head.view(lsn)));
    }

    /// Writes and syncs data and graphs of a view; answers the manifest that names them, and the payloads moved.
    fn write_files(
        &self,
        view: &View,
        edited: &EditedPayloads,
        checkpoints: &Checkpoints,
        previous: &Manifest,
        number: u32,
        fresh_graphs: Vec<(usize, Arc<FieldGraph>, u32)>,
    ) -> Result<(Manifest, Vec<Moved>, Vec<WrittenRows>), CheckpointError> {
        let storage = &*self.shared.storage;
        let dir = &checkpoints.dir;
        // Only records that did not wait for a sync can be behind.
        let is_ahead_of_log = || self.shared.log.durable_sequence() < view.lsn;
        if is_ahead_of_log() && checkpoints.manifest.is_none() {
            // Data without a manifest and without records are taken for those of a manifest that was lost.
            self.shared.log.sync().map_err(CheckpointError::Log)?;
        }
        let has_old_data = checkpoints.manifest.is_some() && view.op == previous.op;
        // Without graphs it is made for the room that it gives back.
        let (mut manifest, moved, rows) = if has_old_data && !fresh_graphs.is_empty() {
            (previous.clone(), Vec::new(), Vec::new())
        } else {
            self.write_data(view, edited, previous, dir, number)?
        };
        manifest.next_file = checkpoints.next_file;
        let folder = graph_file::Folder { storage, dir, collection: self.id };
        for (at, (field, graph, indexed)) in fresh_graphs.into_iter().enumerate() {
            let number = number + 1 + at as u32;
            manifest.fields[field].graph = Some(graph_file::write(&folder, number, &graph, indexed)?);
        }
        storage.sync_dir(dir)?;
        if is_ahead_of_log() {
            // Neither data nor graph may be ahead of the log: a graph leaves out rows that died in what readers see.
            self.shared.log.sync().map_err(CheckpointError::Log)?;
        }
        Ok((manifest, moved, rows))
    }

    /// Writes and syncs what is new of a view; the manifest still has the graphs of the one before.
    fn write_data(
        &self,
        view: &View,
        edited: &EditedPayloads,
        previous: &Manifest,
        dir: &str,
        number: u32,
    ) -> Result<(Manifest, Vec<Moved>, Vec<WrittenRows>), CheckpointError> {
        let storage = &*self.shared.storage;
        let survey = Survey::of(view, previous, storage, dir);
        let worn = self.worn(&survey, self.shared.reserve.worth_freeing().unwrap_or(0));
        self.verify_copied(previous, &worn, edited)?;
        let mut pass = Pass {
            view,
            previous,
            kept: previous.payloads.iter().map(|extent| extent.file).collect(),
            worn,
            writer: ExtentWriter::create(storage, &file_path(dir, number), self.id, number)?,
            payloads: Vec::new(),
            moved: Vec::new(),
            rows: Vec::new(),
        };
        let point_chunks = pass.points()?;
        let mut fields = pass.fields()?;
        fields.extend(pass.sparse_fields()?);
        pass.writer.finish()?;
        pass.payloads.sort_unstable_by_key(|extent| (extent.file, extent.offset));
        let described = |index: &DeclaredIndex| {
            let mut schema = Vec::new();
            index.schema().write_json(&mut schema);
            (index.path().to_string().into_bytes(), schema)
        };
        let manifest = Manifest {
            collection: Some(self.id),
            op: view.op,
            lsn: view.lsn,
            next_file: number + 1,
            config: view.state.config.to_json(),
            indexes: view.state.indexes.iter().map(described).collect(),
            points: view.state.points.len() as u32,
            point_chunks,
            payloads: pass.payloads,
            fields,
        };
        Ok((manifest, pass.moved, pass.rows))
    }

    /// Checks once more what is about to be written anew: files of which what is in use is copied forward, and the
    /// payloads that were edited since. Under a new checksum, what has decayed since it was opened would pass for sound
    /// for ever.
    fn verify_copied(
        &self,
        previous: &Manifest,
        worn: &BTreeSet<u32>,
        edited: &EditedPayloads,
    ) -> Result<(), CheckpointError> {
        let rows = previous.fields.iter().flat_map(|field| field.chunks.iter().flatten());
        let of_worn = previous.point_chunks.iter().chain(&previous.payloads).chain(rows);
        let of_worn = of_worn.filter(|extent| worn.contains(&extent.file));
        let of_edited =
            previous.payloads.iter().filter(|extent| !worn.contains(&extent.file) && edited.touches(extent));
        of_worn.chain(of_edited).try_for_each(|extent| self.verify_extent(extent))
    }

    /// Compares an extent in the collection's folder with its checksum.
    pub(in crate::collection) fn verify_extent(&self, extent: &Extent) -> Result<(), CheckpointError> {
        match verify_extent(&*self.shared.storage, &directory(self.id), extent, &mut |_| true) {
            // A disk that fails now may answer the next time; a file that is gone is gone.
            Err(Unsound::Unreadable(error)) if error.kind() != ErrorKind::NotFound => Err(error.into()),
            Err(why) => Err(CheckpointError::Damaged(why.sentence(extent))),
            Ok(()) => Ok(()),
        }
    }

    /// Removes the files of a deleted collection, for good.
    ///
    /// # Errors
    /// The disk's; the next start removes what is left.
    pub fn remove_files(&self) -> Result<(), StorageError> {
        self.retired.store(true, Ordering::Relaxed);
        let checkpoints = self.checkpoints.lock();
        self.unsaved.remove(usize::MAX);
        self.shared.storage.remove_dir_all(&checkpoints.dir)
    }

    /// Whether a graph is whole and no checkpoint has any of its field yet.
    pub fn has_unwritten_graph(&self) -> bool {
        // A checkpoint that is being written is asked again when it is done.
        let Some(checkpoints) = self.checkpoints.try_lock() else { return false };
        let view = self.view();
        self.graphs.iter().enumerate().any(|(field, slot)| {
            let written =
                checkpoints.manifest.as_ref().and_then(|manifest| manifest.fields.get(field)?.graph.as_ref());
            let whole =
                |graph: &FieldGraph| graph.indexed() > 0 && graph.indexed() >= view.fields[field].len();
            let is_due =
                |graph: &Arc<FieldGraph>| whole(graph) && self.room_for_graphs() >= graph.file_bytes();
            written.is_none() && slot.current.load().as_ref().is_some_and(is_due)
        })
    }

    /// Bytes that the graphs of a checkpoint may have.
    fn room_for_graphs(&self) -> u64 {
        self.shared.reserve.little_free().map_or(u64::MAX, |free| free / GRAPH_SHARE)
    }

    /// Graphs that the policy wants written and that have room: field, graph, rows in it.
    fn graphs_to_write(
        &self,
        bounded: Vec<Option<(Arc<FieldGraph>, u32)>>,
        view: &View,
        previous: &Manifest,
        policy: GraphPolicy,
    ) -> Vec<(usize, Arc<FieldGraph>, u32)> {
        let mut wanted = Vec::new();
        // At a clean stop nobody else needs the room, and a graph that does not fit after all is left out then.
        let mut room = if policy == GraphPolicy::Always { u64::MAX } else { self.room_for_graphs() };
        for (field, bounded) in bounded.into_iter().enumerate() {
            let Some((graph, indexed)) = bounded else { continue };
            let written = previous
                .fields
                .get(field)
                .and_then(|kept| kept.graph.as_ref())
                .filter(|kept| graph.is_in(kept.file()))
                .map_or(0, |kept| kept.indexed);
            let step = match policy {
                GraphPolicy::Never => continue,
                GraphPolicy::Always => 1,
                // The first graph is written as soon as it is whole: without it a restart builds it again.
                GraphPolicy::WhenGrown if written == 0 && indexed == view.fields[field].len() => 1,
                GraphPolicy::WhenGrown => self.shared.thresholds.graph_step_rows.max(indexed / 20),
            };
            if indexed >= written.saturating_add(step) && graph.file_bytes() <= room {
                room -= graph.file_bytes();
                wanted.push((field, graph, indexed));
            }
        }
        wanted
    }

    /// Lets readers take full chunks of rows from the file, which frees their memory when the last view goes. Those
    /// that were on the map of a file that is copied forward leave it.
    fn seal(&self, rows: Vec<WrittenRows>, map: &Map) {
        let mut writer = self.writer.lock();
        let config = Arc::clone(&writer.head.state.config);
        for WrittenRows { field, chunk, offset } in rows {
            let placement = config.placement(field);
            // Whatever was dropped or taken back while the file was written is not there to be sealed.
            if placement != Placement::Memory
                && writer.head.seal(field, chunk, map, offset)
                && placement == Placement::Disk
            {
                map.expect_random_reads();
            }
        }
    }

    /// Lets the head's payloads point at the file, which frees their memory when the last view goes.
    fn adopt(&self, moved: Vec<Moved>, file: u32, map: &Map) {
        for batch in moved.chunks(ADOPT_BATCH) {
            self.shared.storage.turn("moving payloads");
            let mut writer = self.writer.lock();
            for Moved { offset, from, extent_offset, len } in batch {
                let state = &mut writer.head.state;
                let Some(point) = state.points.get(*offset as usize) else { continue };
                if same_payload(&point.payload, from) {
                    let stored = StoredPayload { file, map: map.clone(), offset: *extent_offset, len: *len };
                    let point = Point { payload: Payload::Stored(stored), ..point.clone() };
                    state.set(PointOffset::new(*offset), point);
                }
            }
        }
    }
}

/// What the last checkpoint has: nothing before the first one.
fn last(manifest: &Option<Manifest>) -> &Manifest {
    static NONE: LazyLock<Manifest> = LazyLock::new(Manifest::default);
    manifest.as_ref().unwrap_or(&NONE)
}

/// Of what is free, all but the part of the log.
fn beside_log(free: u64) -> u64 {
    free - free / LOG_SHARE
}

fn same_payload(now: &Payload, then: &Payload) -> bool {
    match (now, then) {
        (Payload::Memory(now), Payload::Memory(then)) => Arc::ptr_eq(now, then),
        (Payload::Stored(now), Payload::Stored(then)) => now.file == then.file && now.offset == then.offset,
        _ => false,
    }
}
