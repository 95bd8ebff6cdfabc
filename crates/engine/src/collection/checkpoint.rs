//! Data checkpoints: the state of a view in immutable files, named by a manifest that is written last.
//!
//! A checkpoint costs in proportion to what is new: only row chunks that grew, only chunks of points with a
//! changed point, and only payloads that no file holds yet. Files of which less than half is still in use are
//! copied forward and dropped. Deaths of rows are not kept: a row lives if its owner points at it.

use super::Collection;
use super::change::put_id;
use super::config::Placement;
use super::extents::{Extent, ExtentWriter};
use super::graph::FieldGraph;
use super::graph_file;
use super::manifest::{FieldManifest, Manifest, make_dir};
use super::point::{Payload, Point, Rows, StoredPayload};
use super::view::View;
use crate::payload::FieldIndex;
use crate::storage::{Map, Storage, StorageError};
use crate::wal::{Durability, LogError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Points in a chunk of the points column.
const CHUNK_POINTS: usize = 2048;
/// Bytes of a row's owner behind the rows of a chunk.
pub(super) const OWNER_BYTES: usize = 4;
/// Payloads are gathered into extents of about this size.
const PAYLOAD_EXTENT_BYTES: usize = 1 << 20;
/// Points whose payloads are moved to the files under one hold of the writer's seat.
const ADOPT_BATCH: usize = 4096;

/// Why a checkpoint was not made. Nothing is lost: the log still holds what it would have held.
#[derive(Debug)]
pub enum CheckpointError {
    /// The disk refused.
    Storage(StorageError),
    /// What readers see could not be made durable.
    Log(LogError),
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
}

/// What is on disk of a collection.
pub(super) struct Checkpoints {
    pub dir: String,
    pub manifest: Option<Manifest>,
    /// Manifests whose writing failed half-way: one of them may be what the next start reads.
    doubtful: Vec<Manifest>,
    pub next_file: u32,
}

impl Checkpoints {
    /// Nothing yet.
    pub fn none(collection: u64) -> Checkpoints {
        Checkpoints { dir: directory(collection), manifest: None, doubtful: Vec::new(), next_file: 1 }
    }

    /// Log sequence up to which the checkpoint holds everything.
    pub fn lsn(&self) -> u64 {
        self.manifest.as_ref().map_or(0, |manifest| manifest.lsn)
    }

    /// Removes what no manifest names: leftovers of failed checkpoints, and files that were copied forward.
    fn remove_strays(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        let manifests = self.manifest.iter().chain(&self.doubtful);
        let named: BTreeSet<String> =
            manifests.flat_map(Manifest::files).map(|number| format!("{number:08x}.data")).collect();
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
pub(super) fn file_path(dir: &str, number: u32) -> String {
    format!("{dir}/{number:08x}.data")
}

/// A payload that the checkpoint has written: the point's offset, the payload as it was, its place.
struct Moved {
    offset: u32,
    from: Payload,
    extent_offset: u64,
    len: u32,
}

impl Collection {
    /// Writes a data checkpoint of the current view, and graphs as the policy says. Cuts nothing itself: the
    /// log's owner asks [`Collection::pinned_lsn`] afterwards.
    ///
    /// # Errors
    /// The disk's; the previous checkpoint then stays in force.
    pub fn checkpoint(&self, graphs: GraphPolicy) -> Result<(), CheckpointError> {
        let mut checkpoints = self.checkpoints.lock();
        if self.is_retired() {
            return Ok(());
        }
        let unsaved = self.unsaved_bytes.load(Ordering::Relaxed);
        let view = self.settled_view();
        let storage = &*self.shared.storage;
        let first = checkpoints.manifest.is_none();
        let previous = checkpoints.manifest.clone().unwrap_or_default();
        let fresh_graphs = self.graphs_to_write(&view, &previous, graphs);
        if !first && view.op == previous.op && fresh_graphs.is_empty() {
            return Ok(());
        }
        if first {
            make_dir(storage, &checkpoints.dir)?;
        }
        checkpoints.remove_strays(storage)?;
        let number = checkpoints.next_file;
        // Numbers are never used twice, not even after a failure.
        checkpoints.next_file = number + 1 + fresh_graphs.len() as u32;
        let (manifest, moved, rows) =
            match self.write_files(&view, &checkpoints, &previous, number, fresh_graphs) {
                Ok(written) => written,
                Err(error) => {
                    // The space goes back at once: on a full disk the log needs it.
                    let _ = checkpoints.remove_strays(storage);
                    return Err(error);
                }
            };
        checkpoints.doubtful.push(manifest.clone());
        manifest.store(storage, &checkpoints.dir)?;
        checkpoints.doubtful.clear();
        checkpoints.manifest = Some(manifest);
        self.checkpointed_lsn.store(view.lsn, Ordering::Release);
        // What was published meanwhile still counts.
        let _ = self
            .unsaved_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| Some(bytes.saturating_sub(unsaved)));
        if !moved.is_empty() || !rows.is_empty() {
            let map = storage.map(&file_path(&checkpoints.dir, number))?;
            self.adopt(moved, number, &map);
            self.seal(rows, &map);
            drop(view);
            self.settled_view();
        }
        Ok(checkpoints.remove_strays(storage)?)
    }

    /// The current view, with every payload where the head says it is.
    ///
    /// A checkpoint moves payloads in the head only ([`Collection::adopt`]). Views that were made before have them
    /// where they were; a checkpoint of one of those would lose track of which files are in use.
    fn settled_view(&self) -> Arc<View> {
        let writer = self.quiet_writer();
        let lsn = self.view().lsn;
        self.view.store(Arc::new(writer.head.view(lsn)));
        self.view()
    }

    /// Writes and syncs data and graphs of a view; answers the manifest that names them, and the payloads moved.
    fn write_files(
        &self,
        view: &View,
        checkpoints: &Checkpoints,
        previous: &Manifest,
        number: u32,
        fresh_graphs: Vec<(usize, Arc<FieldGraph>, u32)>,
    ) -> Result<(Manifest, Vec<Moved>, Vec<WrittenRows>), CheckpointError> {
        let storage = &*self.shared.storage;
        let dir = &checkpoints.dir;
        let (mut manifest, moved, rows) = if checkpoints.manifest.is_some() && view.op == previous.op {
            (previous.clone(), Vec::new(), Vec::new())
        } else {
            self.write_data(view, previous, dir, number)?
        };
        manifest.next_file = checkpoints.next_file;
        for (at, (field, graph, indexed)) in fresh_graphs.into_iter().enumerate() {
            let number = number + 1 + at as u32;
            manifest.fields[field].graph =
                Some(graph_file::write(storage, dir, self.id, number, &graph, indexed)?);
        }
        storage.sync_dir(dir)?;
        if view.state.config.wal.durability != Durability::Always {
            // Neither data nor graph may be ahead of the log: a graph leaves out rows that died in what readers see.
            self.shared.log.sync().map_err(CheckpointError::Log)?;
        }
        Ok((manifest, moved, rows))
    }

    /// Writes and syncs what is new of a view; the manifest still has the graphs of the one before.
    fn write_data(
        &self,
        view: &View,
        previous: &Manifest,
        dir: &str,
        number: u32,
    ) -> Result<(Manifest, Vec<Moved>, Vec<WrittenRows>), StorageError> {
        let storage = &*self.shared.storage;
        let mut pass = Pass {
            view,
            previous,
            kept: previous.payloads.iter().map(|extent| extent.file).collect(),
            worn: worn_files(view, previous, storage, dir),
            writer: ExtentWriter::create(storage, &file_path(dir, number), self.id, number)?,
            payloads: Vec::new(),
            moved: Vec::new(),
            rows: Vec::new(),
        };
        let point_chunks = pass.points()?;
        let fields = pass.fields()?;
        pass.writer.finish()?;
        pass.payloads.sort_unstable_by_key(|extent| (extent.file, extent.offset));
        let described = |index: &FieldIndex| {
            let mut schema = Vec::new();
            index.schema().write_json(&mut schema);
            (index.path().to_string().into_bytes(), schema)
        };
        let manifest = Manifest {
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

    /// Removes the files of a deleted collection, for good.
    ///
    /// # Errors
    /// The disk's; the next start removes what is left.
    pub fn remove_files(&self) -> Result<(), StorageError> {
        self.retired.store(true, Ordering::Relaxed);
        let checkpoints = self.checkpoints.lock();
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
            written.is_none() && slot.current.load().as_ref().is_some_and(|graph| whole(graph))
        })
    }

    /// Graphs that the policy wants written: field, graph, rows in it.
    fn graphs_to_write(
        &self,
        view: &View,
        previous: &Manifest,
        policy: GraphPolicy,
    ) -> Vec<(usize, Arc<FieldGraph>, u32)> {
        let mut wanted = Vec::new();
        for (field, slot) in self.graphs.iter().enumerate() {
            let Some(graph) = slot.current.load_full() else { continue };
            let indexed = graph.indexed().min(view.fields[field].len());
            let written = previous
                .fields
                .get(field)
                .and_then(|kept| kept.graph.as_ref())
                .filter(|kept| graph.fits(&kept.recipe) && kept.ordered == graph.ordered)
                .map_or(0, |kept| kept.indexed);
            let step = match policy {
                GraphPolicy::Always => 1,
                // The first graph is written as soon as it is whole: without it a restart builds it again.
                GraphPolicy::WhenGrown if written == 0 && indexed == view.fields[field].len() => 1,
                GraphPolicy::WhenGrown => self.shared.thresholds.graph_step_rows.max(indexed / 20),
            };
            if indexed >= written.saturating_add(step) {
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
            let arena = &mut writer.head.fields[field];
            // Whatever was dropped or taken back while the file was written is not there to be sealed.
            if placement != Placement::Memory && arena.holds_chunk(chunk) {
                arena.seal(chunk, map, offset);
                if placement == Placement::Disk {
                    map.expect_random_reads();
                }
            }
        }
    }

    /// Lets the head's payloads point at the file, which frees their memory when the last view goes.
    fn adopt(&self, moved: Vec<Moved>, file: u32, map: &Map) {
        for batch in moved.chunks(ADOPT_BATCH) {
            let mut writer = self.writer.lock();
            for Moved { offset, from, extent_offset, len } in batch {
                let state = &mut writer.head.state;
                let Some(point) = state.points.get(*offset as usize) else { continue };
                if same_payload(&point.payload, from) {
                    let stored = StoredPayload { file, map: map.clone(), offset: *extent_offset, len: *len };
                    let point = Point { payload: Payload::Stored(stored), ..point.clone() };
                    state.set(*offset, point);
                }
            }
        }
    }
}

fn same_payload(now: &Payload, then: &Payload) -> bool {
    match (now, then) {
        (Payload::Memory(now), Payload::Memory(then)) => Arc::ptr_eq(now, then),
        (Payload::Stored(now), Payload::Stored(then)) => now.file == then.file && now.offset == then.offset,
        _ => false,
    }
}

/// One pass over a view, writing what is new.
struct Pass<'a> {
    view: &'a View,
    previous: &'a Manifest,
    /// Files whose payloads the manifest before names. A payload in another one must be written again.
    kept: BTreeSet<u32>,
    /// Files that are copied forward because less than half of them is in use.
    worn: BTreeSet<u32>,
    writer: ExtentWriter,
    payloads: Vec<Extent>,
    moved: Vec<Moved>,
    rows: Vec<WrittenRows>,
}

/// A full chunk of rows that the checkpoint has written.
struct WrittenRows {
    field: usize,
    chunk: u32,
    offset: u64,
}

impl Pass<'_> {
    /// Writes payloads, then the chunks of points that changed; answers all chunks.
    fn points(&mut self) -> Result<Vec<Extent>, StorageError> {
        let points = &self.view.state.points;
        let chunks = points.len().div_ceil(CHUNK_POINTS);
        let mut dirty = Vec::new();
        let mut gathered = Vec::new();
        let mut waiting: Vec<(u32, Payload, usize, u32)> = Vec::new();
        let mut places: BTreeMap<u32, StoredPlace> = BTreeMap::new();
        let mut used: BTreeSet<u32> = BTreeSet::new();
        for chunk in 0..chunks {
            let range = chunk * CHUNK_POINTS..points.len().min((chunk + 1) * CHUNK_POINTS);
            let kept = self.previous.point_chunks.get(chunk);
            let complete = range.end as u64 <= u64::from(self.previous.points);
            let mut changed = kept.is_none_or(|extent| self.worn.contains(&extent.file)) || !complete;
            for offset in range {
                let point = &points[offset];
                changed |= point.version > self.previous.op || self.has_new_rows(point);
                let write = match &point.payload {
                    Payload::Empty => false,
                    Payload::Memory(_) => true,
                    Payload::Stored(stored) => {
                        self.worn.contains(&stored.file) || !self.kept.contains(&stored.file)
                    }
                };
                if write {
                    changed = true;
                    let bytes = point.payload.bytes();
                    waiting.push((offset as u32, point.payload.clone(), gathered.len(), bytes.len() as u32));
                    gathered.extend_from_slice(bytes);
                    if gathered.len() >= PAYLOAD_EXTENT_BYTES {
                        self.flush_payloads(&mut gathered, &mut waiting, &mut places)?;
                    }
                } else if let Payload::Stored(stored) = &point.payload {
                    used.insert(stored.file);
                }
            }
            if changed {
                dirty.push(chunk);
            }
        }
        self.flush_payloads(&mut gathered, &mut waiting, &mut places)?;
        self.payloads.extend(self.previous.payloads.iter().filter(|extent| used.contains(&extent.file)));
        let mut extents: Vec<Option<Extent>> = self.previous.point_chunks.iter().copied().map(Some).collect();
        extents.resize(chunks, None);
        for chunk in dirty {
            let range = chunk * CHUNK_POINTS..points.len().min((chunk + 1) * CHUNK_POINTS);
            let mut bytes = Vec::new();
            for offset in range {
                encode_point(&points[offset], places.get(&(offset as u32)), &mut bytes);
            }
            extents[chunk] = Some(self.writer.append(&bytes)?);
        }
        Ok(extents.into_iter().flatten().collect())
    }

    /// Whether a row of the point came after the checkpoint before. A row that was moved leaves the version alone.
    fn has_new_rows(&self, point: &Point) -> bool {
        let is_new = |(field, kept): (usize, &FieldManifest)| {
            point.rows.row(field).is_some_and(|row| row >= kept.rows)
        };
        self.previous.fields.iter().enumerate().any(is_new)
    }

    fn flush_payloads(
        &mut self,
        gathered: &mut Vec<u8>,
        waiting: &mut Vec<(u32, Payload, usize, u32)>,
        places: &mut BTreeMap<u32, StoredPlace>,
    ) -> Result<(), StorageError> {
        if gathered.is_empty() {
            return Ok(());
        }
        let extent = self.writer.append(gathered)?;
        for (offset, from, at, len) in waiting.drain(..) {
            let extent_offset = extent.offset + at as u64;
            places.insert(offset, StoredPlace { file: extent.file, offset: extent_offset, len });
            self.moved.push(Moved { offset, from, extent_offset, len });
        }
        self.payloads.push(extent);
        gathered.clear();
        Ok(())
    }

    /// Writes the chunks of rows that grew; graphs stay as they were.
    fn fields(&mut self) -> Result<Vec<FieldManifest>, StorageError> {
        let mut fields = Vec::new();
        for (field, table) in self.view.fields.iter().enumerate() {
            // As in memory, so that a full chunk on disk can take the place of the one there.
            let chunk_rows = table.rows.chunk_rows();
            let kept = self.previous.fields.get(field).cloned().unwrap_or_default();
            let mut chunks = Vec::new();
            for chunk in 0..table.len().div_ceil(chunk_rows) {
                let range = chunk * chunk_rows..table.len().min((chunk + 1) * chunk_rows);
                if !table.rows.holds(range.start) {
                    chunks.push(None);
                    continue;
                }
                let old = kept.chunks.get(chunk as usize).copied().flatten();
                let old = old.filter(|extent| range.end <= kept.rows && !self.worn.contains(&extent.file));
                chunks.push(Some(match old {
                    Some(extent) => extent,
                    None => {
                        let mut bytes =
                            Vec::with_capacity(range.len() * (table.rows.row_bytes() + OWNER_BYTES));
                        range.clone().for_each(|row| bytes.extend_from_slice(table.rows.row(row)));
                        range
                            .clone()
                            .for_each(|row| bytes.extend_from_slice(&table.owner(row).to_le_bytes()));
                        let extent = self.writer.append(&bytes)?;
                        if range.len() == chunk_rows as usize {
                            self.rows.push(WrittenRows { field, chunk, offset: extent.offset });
                        }
                        extent
                    }
                }));
            }
            fields.push(FieldManifest { rows: table.len(), chunks, graph: kept.graph });
        }
        Ok(fields)
    }
}

/// Where a payload stands in a data file.
struct StoredPlace {
    file: u32,
    offset: u64,
    len: u32,
}

fn encode_point(point: &Point, place: Option<&StoredPlace>, out: &mut Vec<u8>) {
    out.push(u8::from(point.live));
    put_id(out, point.id);
    out.extend_from_slice(&point.version.to_le_bytes());
    match (&point.payload, place) {
        (_, Some(StoredPlace { file, offset, len }))
        | (Payload::Stored(StoredPayload { file, offset, len, .. }), _) => {
            out.push(1);
            out.extend_from_slice(&file.to_le_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
            out.extend_from_slice(&len.to_le_bytes());
        }
        (Payload::Empty, None) => out.push(0),
        (Payload::Memory(_), None) => unreachable!("every payload in memory was given a place"),
    }
    match &point.rows {
        Rows::One(row) => out.extend_from_slice(&row.to_le_bytes()),
        Rows::Many(rows) => rows.iter().for_each(|row| out.extend_from_slice(&row.to_le_bytes())),
    }
}

/// Data files of which less than half is still named or pointed at.
fn worn_files(view: &View, previous: &Manifest, storage: &dyn Storage, dir: &str) -> BTreeSet<u32> {
    let mut used: BTreeMap<u32, u64> = BTreeMap::new();
    // A chunk that was dropped since is no use of its file any more.
    let rows = previous.fields.iter().zip(view.fields.iter()).flat_map(|(field, table)| {
        let held = |chunk: usize| table.rows.holds(chunk as u32 * table.rows.chunk_rows());
        field
            .chunks
            .iter()
            .enumerate()
            .filter(move |(chunk, _)| held(*chunk))
            .filter_map(|(_, extent)| *extent)
    });
    for extent in previous.point_chunks.iter().copied().chain(rows) {
        *used.entry(extent.file).or_default() += extent.len;
    }
    for extent in &previous.payloads {
        used.entry(extent.file).or_default();
    }
    for point in &view.state.points {
        if let Payload::Stored(stored) = &point.payload {
            *used.entry(stored.file).or_default() += u64::from(stored.len);
        }
    }
    let worn = |(file, used): (u32, u64)| {
        let len = storage.map(&file_path(dir, file)).map_or(0, |map| map.len() as u64);
        (used * 2 < len).then_some(file)
    };
    used.into_iter().filter_map(worn).collect()
}
