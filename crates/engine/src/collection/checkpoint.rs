//! Data checkpoints: the state of a view in immutable files, named by a manifest that is written last.
//!
//! A checkpoint costs in proportion to what is new: only row chunks that grew, only chunks of points with a
//! changed point, and only payloads that no file holds yet. Files of which less than half is still in use are
//! copied forward and dropped. Deaths of rows are not kept: a row lives if its owner points at it.

use super::change::{Input, Undecodable, put_id};
use super::config::CollectionConfig;
use super::extents::{self, Extent, ExtentWriter};
use super::field::FieldArena;
use super::graph::FieldGraph;
use super::head::{Head, built_index};
use super::manifest::{FieldManifest, GraphManifest, Manifest};
use super::point::{Payload, Point, Rows, StoredPayload};
use super::view::View;
use super::{Collection, Shared};
use crate::index::Hnsw;
use crate::payload::JsonPath;
use crate::storage::{Map, Storage, StorageError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Points in a chunk of the points column.
const CHUNK_POINTS: usize = 2048;
/// Bytes of vectors in a chunk of rows; a chunk has at least one row.
const CHUNK_ROW_BYTES: usize = 1 << 20;
/// Payloads are gathered into extents of about this size.
const PAYLOAD_EXTENT_BYTES: usize = 1 << 20;
/// Points whose payloads are moved to the files under one hold of the writer's seat.
const ADOPT_BATCH: usize = 4096;

/// Why a checkpoint was not made. Nothing is lost: the log still holds what it would have held.
#[derive(Debug)]
pub enum CheckpointError {
    /// The disk refused.
    Storage(StorageError),
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
    dir: String,
    manifest: Option<Manifest>,
    next_file: u32,
    /// The collection was deleted: nothing is written any more.
    retired: bool,
}

impl Checkpoints {
    /// Nothing yet.
    pub fn none(collection: u64) -> Checkpoints {
        Checkpoints { dir: directory(collection), manifest: None, next_file: 1, retired: false }
    }

    /// Log sequence up to which the checkpoint holds everything.
    pub fn lsn(&self) -> u64 {
        self.manifest.as_ref().map_or(0, |manifest| manifest.lsn)
    }
}

/// Folder of a collection. Names never become paths.
pub fn directory(collection: u64) -> String {
    format!("collections/{collection:016x}")
}

fn file_path(dir: &str, number: u32) -> String {
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
        if checkpoints.retired {
            return Ok(());
        }
        let view = self.view();
        let storage = &*self.shared.storage;
        let previous = checkpoints.manifest.clone().unwrap_or_default();
        let fresh_graphs = self.graphs_to_write(&view, &previous, graphs);
        let first = checkpoints.manifest.is_none();
        if !first && view.op == previous.op && fresh_graphs.is_empty() {
            return Ok(());
        }
        let dir = checkpoints.dir.clone();
        storage.create_dir_all(&dir)?;
        remove_strays(storage, &dir, checkpoints.manifest.as_ref())?;
        let number = checkpoints.next_file;
        // Numbers are never used twice, not even after a failure.
        checkpoints.next_file = number + 1 + fresh_graphs.len() as u32;
        let mut pass = Pass {
            view: &view,
            previous: &previous,
            worn: worn_files(&view, &previous, storage, &dir),
            writer: ExtentWriter::create(storage, &file_path(&dir, number), self.id, number)?,
            payloads: Vec::new(),
            moved: Vec::new(),
        };
        let point_chunks = pass.points()?;
        let mut fields = pass.fields()?;
        let Pass { writer, mut payloads, moved, .. } = pass;
        payloads.sort_unstable_by_key(|extent| (extent.file, extent.offset));
        writer.finish()?;
        for (at, (field, graph, indexed)) in fresh_graphs.into_iter().enumerate() {
            let number = number + 1 + at as u32;
            fields[field].graph = Some(write_graph(storage, &dir, self.id, number, &graph, indexed)?);
        }
        storage.sync_dir(&dir)?;
        let manifest = Manifest {
            op: view.op,
            lsn: view.lsn,
            next_file: checkpoints.next_file,
            config: view.state.config.to_json(),
            indexes: view
                .state
                .indexes
                .iter()
                .map(|index| {
                    let mut schema = Vec::new();
                    index.schema().write_json(&mut schema);
                    (index.path().to_string().into_bytes(), schema)
                })
                .collect(),
            points: view.state.points.len() as u32,
            point_chunks,
            payloads,
            fields,
        };
        manifest.store(storage, &dir)?;
        self.checkpointed_lsn.store(view.lsn, Ordering::Release);
        self.unsaved_bytes.store(0, Ordering::Relaxed);
        remove_strays(storage, &dir, Some(&manifest))?;
        checkpoints.manifest = Some(manifest);
        drop(checkpoints);
        if !moved.is_empty() {
            let map = storage.map(&file_path(&dir, number))?;
            self.adopt(moved, number, &map);
        }
        Ok(())
    }

    /// Removes the files of a deleted collection, for good.
    ///
    /// # Errors
    /// The disk's; the next start removes what is left.
    pub fn remove_files(&self) -> Result<(), StorageError> {
        let mut checkpoints = self.checkpoints.lock();
        checkpoints.retired = true;
        self.shared.storage.remove_dir_all(&checkpoints.dir)
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
                .and_then(|kept| kept.graph)
                .filter(|kept| kept.m as usize == graph.m && kept.ef_construct as usize == graph.ef_construct)
                .map_or(0, |kept| kept.indexed);
            let step = match policy {
                GraphPolicy::Always => 1,
                GraphPolicy::WhenGrown => self.shared.thresholds.graph_step_rows.max(indexed / 20),
            };
            if indexed >= written.saturating_add(step) {
                wanted.push((field, graph, indexed));
            }
        }
        wanted
    }

    /// Lets the head's payloads point at the file, which frees their memory when the last view goes.
    fn adopt(&self, moved: Vec<Moved>, file: u32, map: &Map) {
        for batch in moved.chunks(ADOPT_BATCH) {
            let mut writer = self.writer.lock();
            for Moved { offset, from, extent_offset, len } in batch {
                let points = &mut writer.head.state.points;
                let Some(point) = points.get(*offset as usize) else { continue };
                if same_payload(&point.payload, from) {
                    let stored = StoredPayload { file, map: map.clone(), offset: *extent_offset, len: *len };
                    let point = Point { payload: Payload::Stored(stored), ..point.clone() };
                    points.set(*offset as usize, point);
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
    /// Files that are copied forward because less than half of them is in use.
    worn: BTreeSet<u32>,
    writer: ExtentWriter,
    payloads: Vec<Extent>,
    moved: Vec<Moved>,
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
                changed |= point.version > self.previous.op;
                let write = match &point.payload {
                    Payload::Empty => false,
                    Payload::Memory(_) => true,
                    Payload::Stored(stored) => self.worn.contains(&stored.file),
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
            let (_, params) = &self.view.state.config.fields()[field];
            let chunk_rows = rows_in_chunk(params.size);
            let kept = self.previous.fields.get(field).cloned().unwrap_or_default();
            let mut chunks = Vec::new();
            for chunk in 0..table.len().div_ceil(chunk_rows) {
                let range = chunk * chunk_rows..table.len().min((chunk + 1) * chunk_rows);
                let old = kept.chunks.get(chunk as usize);
                let old = old.filter(|extent| range.end <= kept.rows && !self.worn.contains(&extent.file));
                chunks.push(match old {
                    Some(extent) => *extent,
                    None => {
                        let mut bytes = Vec::with_capacity(range.len() * (params.size * 4 + 8));
                        for row in range.clone() {
                            table.rows.row(row).iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
                        }
                        range.for_each(|row| bytes.extend_from_slice(&table.owner_word(row).to_le_bytes()));
                        self.writer.append(&bytes)?
                    }
                });
            }
            fields.push(FieldManifest { rows: table.len(), chunks, graph: kept.graph });
        }
        Ok(fields)
    }
}

fn rows_in_chunk(size: usize) -> u32 {
    (CHUNK_ROW_BYTES / (size * 4)).max(1) as u32
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
        (_, Some(StoredPlace { file, offset, len })) | (Payload::Stored(StoredPayload { file, offset, len, .. }), _) => {
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
    let rows = previous.fields.iter().flat_map(|field| &field.chunks);
    for extent in previous.point_chunks.iter().chain(rows) {
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

fn write_graph(
    storage: &dyn Storage,
    dir: &str,
    collection: u64,
    number: u32,
    graph: &FieldGraph,
    indexed: u32,
) -> Result<GraphManifest, StorageError> {
    let mut bytes = Vec::new();
    graph.hnsw.write_to(&mut bytes, indexed);
    let mut writer = ExtentWriter::create(storage, &file_path(dir, number), collection, number)?;
    let extent = writer.append(&bytes)?;
    writer.finish()?;
    Ok(GraphManifest { m: graph.m as u32, ef_construct: graph.ef_construct as u32, indexed, extent })
}

/// Removes what the manifest does not name: leftovers of failed checkpoints, and files that were copied forward.
fn remove_strays(storage: &dyn Storage, dir: &str, manifest: Option<&Manifest>) -> Result<(), StorageError> {
    let named: BTreeSet<String> =
        manifest.into_iter().flat_map(Manifest::files).map(|number| format!("{number:08x}.data")).collect();
    for name in storage.list(dir)? {
        if name.ends_with(".data") && !named.contains(&name) {
            storage.remove(&format!("{dir}/{name}"))?;
        }
    }
    Ok(())
}

/// A collection between its checkpoint and the end of the replay.
pub struct Opening {
    id: u64,
    head: Head,
    lsn: u64,
    /// Bytes of the records applied after the checkpoint.
    replayed_bytes: usize,
    checkpoints: Checkpoints,
    graphs: Vec<Option<FieldGraph>>,
}

impl Opening {
    /// Loads the checkpoint of a collection, or starts empty with the configuration that the catalog has.
    ///
    /// # Errors
    /// A sentence that says what is damaged. Nothing on disk is touched.
    pub fn load(id: u64, storage: &dyn Storage, config: &Arc<CollectionConfig>) -> Result<Opening, String> {
        let mut checkpoints = Checkpoints::none(id);
        let Some(manifest) = Manifest::load(storage, &checkpoints.dir)? else {
            let graphs = config.fields().iter().map(|_| None).collect();
            return Ok(Opening { id, head: Head::new(Arc::clone(config)), lsn: 0, replayed_bytes: 0, checkpoints, graphs });
        };
        let config = CollectionConfig::restore(&manifest.config).map_err(|error| error.to_string())?;
        let mut head = Head::new(Arc::new(config));
        let mut maps = BTreeMap::new();
        let graph_files: BTreeSet<u32> =
            manifest.fields.iter().filter_map(|field| field.graph.map(|graph| graph.extent.file)).collect();
        for number in manifest.files().collect::<BTreeSet<_>>() {
            // A graph is derived data: one that cannot be read is built again.
            if !graph_files.contains(&number) {
                maps.insert(number, extents::open(storage, &file_path(&checkpoints.dir, number), id, number)?);
            }
        }
        let undecodable = |_: Undecodable| "a chunk of points cannot be decoded".to_string();
        for extent in &manifest.payloads {
            extent.read(&maps[&extent.file])?;
        }
        if manifest.fields.len() != head.fields.len() {
            return Err("the manifest and the configuration disagree on the vector fields".to_string());
        }
        for (field, kept) in manifest.fields.iter().enumerate() {
            let size = head.state.config.fields()[field].1.size;
            load_rows(&mut head.fields[field], size, kept, &maps)?;
        }
        for extent in &manifest.point_chunks {
            let mut input = Input(extent.read(&maps[&extent.file])?);
            while !input.0.is_empty() {
                load_point(&mut head, &mut input, &maps).map_err(undecodable)?;
            }
        }
        if head.state.points.len() != manifest.points as usize {
            return Err("the manifest and the points column disagree".to_string());
        }
        load_indexes(&mut head, &manifest)?;
        head.op = manifest.op;
        let graphs = manifest
            .fields
            .iter()
            .enumerate()
            .map(|(field, kept)| load_graph(storage, &checkpoints.dir, id, &head, field, kept))
            .collect();
        checkpoints.next_file = manifest.next_file;
        let lsn = manifest.lsn;
        checkpoints.manifest = Some(manifest);
        Ok(Opening { id, head, lsn, replayed_bytes: 0, checkpoints, graphs })
    }

    /// Applies a record of the log, unless the checkpoint has it.
    ///
    /// # Errors
    /// A sentence when the record cannot follow what is here.
    pub fn replay(&mut self, lsn: u64, body: &[u8]) -> Result<(), String> {
        let (op, changes) =
            super::change::decode(body).map_err(|_| "a log record cannot be decoded".to_string())?;
        if op <= self.head.op {
            return Ok(());
        }
        if op != self.head.op + 1 {
            return Err(format!("operation {} is missing from the log", self.head.op + 1));
        }
        for change in &changes {
            self.head.apply(op, change)?;
        }
        self.head.op = op;
        self.head.settle(op);
        self.lsn = lsn;
        self.replayed_bytes += body.len();
        Ok(())
    }

    /// Log sequence of the last record applied, or of the checkpoint.
    pub fn lsn(&self) -> u64 {
        self.lsn
    }

    /// The collection, ready to serve.
    pub fn finish(self, shared: Arc<Shared>) -> Collection {
        let collection = Collection::from_head(self.id, shared, self.head, self.lsn, self.checkpoints);
        collection.unsaved_bytes.store(self.replayed_bytes, Ordering::Relaxed);
        for (slot, graph) in collection.graphs.iter().zip(self.graphs) {
            slot.current.store(graph.map(Arc::new));
        }
        collection
    }
}

fn load_rows(
    arena: &mut FieldArena,
    size: usize,
    kept: &FieldManifest,
    maps: &BTreeMap<u32, Map>,
) -> Result<(), String> {
    let mut components = Vec::with_capacity(size);
    for extent in &kept.chunks {
        let bytes = extent.read(&maps[&extent.file])?;
        let rows = bytes.len() / (size * 4 + 8);
        if rows * (size * 4 + 8) != bytes.len() {
            return Err("a chunk of vectors has the wrong length".to_string());
        }
        let (vectors, owners) = bytes.split_at(rows * size * 4);
        for (vector, owner) in vectors.chunks_exact(size * 4).zip(owners.as_chunks::<8>().0) {
            components.clear();
            components.extend(vector.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            arena.load(&components, u64::from_le_bytes(*owner));
        }
    }
    if arena.len() == kept.rows { Ok(()) } else { Err("the manifest and the vectors disagree".to_string()) }
}

fn load_point(head: &mut Head, input: &mut Input<'_>, maps: &BTreeMap<u32, Map>) -> Result<(), Undecodable> {
    let live = input.byte()? == 1;
    let id = input.id()?;
    let version = u64::from_le_bytes(input.array()?);
    let payload = match input.byte()? {
        0 => Payload::Empty,
        _ => {
            let file = u32::from_le_bytes(input.array()?);
            let offset = u64::from_le_bytes(input.array()?);
            let len = u32::from_le_bytes(input.array()?);
            let map = maps.get(&file).ok_or(Undecodable)?;
            let end = offset.checked_add(u64::from(len)).ok_or(Undecodable)?;
            if end > map.len() as u64 {
                return Err(Undecodable);
            }
            Payload::Stored(StoredPayload { file, map: map.clone(), offset, len })
        }
    };
    let offset = head.state.points.len() as u32;
    let mut rows = Rows::none(head.fields.len());
    for (field, arena) in head.fields.iter_mut().enumerate() {
        let row = u32::from_le_bytes(input.array()?);
        if row != super::point::NO_ROW {
            if row >= arena.len() {
                return Err(Undecodable);
            }
            arena.revive(row);
            rows.set(field, row);
        }
    }
    if live {
        head.state.ids.insert(id, offset);
        Arc::make_mut(&mut head.state.live).insert(offset);
    }
    head.state.points.push_back(Point { id, version, live, payload, rows });
    Ok(())
}

fn load_indexes(head: &mut Head, manifest: &Manifest) -> Result<(), String> {
    for (path, schema) in &manifest.indexes {
        let path = std::str::from_utf8(path).ok().and_then(|text| JsonPath::parse(text).ok());
        let path = path.ok_or("the manifest names an index on a malformed path")?;
        let index = built_index(&head.state, &path, schema)?;
        Arc::make_mut(&mut head.state.indexes).push(index);
    }
    Ok(())
}

/// The graph that a checkpoint kept, or `None`: it is derived data and is built again in the background.
fn load_graph(
    storage: &dyn Storage,
    dir: &str,
    id: u64,
    head: &Head,
    field: usize,
    kept: &FieldManifest,
) -> Option<FieldGraph> {
    let graph = kept.graph?;
    let (name, params) = &head.state.config.fields()[field];
    let number = graph.extent.file;
    let map = extents::open(storage, &file_path(dir, number), id, number).ok()?;
    let bytes = graph.extent.read(&map).ok()?;
    let hnsw = Hnsw::read_from(bytes, graph.indexed.min(kept.rows)).ok().filter(|hnsw| hnsw.metric() == params.metric)?;
    let mut made_with = head.state.config.effective_hnsw(name)?;
    made_with.m = graph.m as usize;
    made_with.ef_construct = graph.ef_construct as usize;
    Some(FieldGraph::loaded(hnsw, &made_with, graph.indexed.min(kept.rows)))
}
