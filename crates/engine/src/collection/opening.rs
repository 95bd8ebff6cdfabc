//! Opening a collection: its checkpoint, then the log after it.

use super::change::{Input, Undecodable};
use super::checkpoint::{Checkpoints, OWNER_BYTES, file_path};
use super::config::CollectionConfig;
use super::extents;
use super::field::FieldArena;
use super::graph::FieldGraph;
use super::head::{Head, built_index};
use super::manifest::{FieldManifest, Manifest};
use super::point::{NO_ROW, Payload, Point, Rows, StoredPayload};
use super::{Collection, Shared};
use crate::index::{BuildScratch, Hnsw};
use crate::payload::JsonPath;
use crate::storage::{Map, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
        let Some(mut manifest) = Manifest::load(storage, &checkpoints.dir)? else {
            let graphs = config.fields().iter().map(|_| None).collect();
            return Ok(Opening {
                id,
                head: Head::new(Arc::clone(config)),
                lsn: 0,
                replayed_bytes: 0,
                checkpoints,
                graphs,
            });
        };
        let config = CollectionConfig::restore(&manifest.config).map_err(|error| error.to_string())?;
        let mut head = Head::new(Arc::new(config));
        let mut maps = BTreeMap::new();
        let graph_files: BTreeSet<u32> =
            manifest.fields.iter().filter_map(|field| field.graph.map(|graph| graph.extent.file)).collect();
        for number in manifest.files().collect::<BTreeSet<_>>() {
            // A graph is derived data: one that cannot be read is built again.
            if !graph_files.contains(&number) {
                maps.insert(
                    number,
                    extents::open(storage, &file_path(&checkpoints.dir, number), id, number)?,
                );
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
            let row_bytes = head.state.config.fields()[field].1.row_bytes();
            load_rows(&mut head.fields[field], row_bytes, kept, &maps)?;
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
        let mut graphs = Vec::with_capacity(manifest.fields.len());
        for (field, kept) in manifest.fields.iter_mut().enumerate() {
            let graph = load_graph(storage, &checkpoints.dir, id, &head, field, kept);
            if graph.is_none() {
                // Forgotten, so that the next checkpoint writes the one that is built instead.
                kept.graph = None;
            }
            graphs.push(graph);
        }
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
    row_bytes: usize,
    kept: &FieldManifest,
    maps: &BTreeMap<u32, Map>,
) -> Result<(), String> {
    for extent in &kept.chunks {
        let bytes = extent.read(&maps[&extent.file])?;
        let rows = bytes.len() / (row_bytes + OWNER_BYTES);
        if rows * (row_bytes + OWNER_BYTES) != bytes.len() {
            return Err("a chunk of vectors has the wrong length".to_string());
        }
        let (vectors, owners) = bytes.split_at(rows * row_bytes);
        for (row, owner) in vectors.chunks_exact(row_bytes).zip(owners.as_chunks::<OWNER_BYTES>().0) {
            arena.load(row, u32::from_le_bytes(*owner));
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
        if row != NO_ROW {
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
    let hnsw = Hnsw::read_from(bytes, graph.indexed.min(kept.rows), params.row_format(), params.size)
        .ok()
        .filter(|hnsw| hnsw.metric() == params.metric)?;
    // A graph that was cut at its boundary may have lost ways; every row stays reachable.
    hnsw.repair(&head.fields[field].table().rows, &mut BuildScratch::new());
    let mut made_with = head.state.config.effective_hnsw(name)?;
    made_with.m = graph.m as usize;
    made_with.ef_construct = graph.ef_construct as usize;
    Some(FieldGraph::loaded(hnsw, &made_with, graph.indexed.min(kept.rows)))
}
