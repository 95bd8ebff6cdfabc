//! Opening a collection: its checkpoint, then the log after it.

use super::change::{Input, Undecodable};
use super::checkpoint::{Checkpoints, file_path};
use super::config::{CollectionConfig, Placement};
use super::declared_index::DeclaredIndex;
use super::extents::{self, Extent};
use super::field::{FieldArena, FieldTable, stored_places};
use super::graph::FieldGraph;
use super::graph_file::{self, GraphManifest};
use super::head::Head;
use super::manifest::{FieldManifest, Manifest};
use super::point::{NO_ROW, Payload, Point, Rows, StoredPayload};
use super::sparse_field::SparseArena;
use super::unsaved::replay_work;
use super::{Collection, Shared, sparse_file};
use crate::payload::JsonPath;
use crate::storage::{Map, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How to open a collection.
#[derive(Clone, Copy, Debug)]
pub struct OpeningOptions {
    /// Threads that check and load its files.
    pub threads: usize,
    /// As [`Thresholds::row_chunk_bytes`](crate::limits::Thresholds::row_chunk_bytes).
    pub row_chunk_bytes: usize,
}

/// A collection between its checkpoint and the end of the replay.
pub struct Opening {
    id: u64,
    head: Head,
    lsn: u64,
    /// What the records applied after the checkpoint cost.
    replayed_work: usize,
    checkpoints: Checkpoints,
    graphs: Vec<Option<FieldGraph>>,
}

impl Opening {
    /// Loads the checkpoint of a collection, or starts empty with the configuration that the catalog has.
    ///
    /// # Errors
    /// A sentence that says what is damaged. Nothing on disk is touched.
    pub fn load(
        id: u64,
        storage: &dyn Storage,
        config: &Arc<CollectionConfig>,
        options: OpeningOptions,
    ) -> Result<Opening, String> {
        let OpeningOptions { threads, row_chunk_bytes } = options;
        let mut checkpoints = Checkpoints::none(id);
        let Some(mut manifest) = Manifest::load(storage, &checkpoints.dir)? else {
            let graphs = config.fields().iter().map(|_| None).collect();
            return Ok(Opening {
                id,
                head: Head::new(Arc::clone(config), row_chunk_bytes),
                lsn: 0,
                replayed_work: 0,
                checkpoints,
                graphs,
            });
        };
        let config = CollectionConfig::restore(&manifest.config).map_err(|error| error.to_string())?;
        let mut head = Head::new(Arc::new(config), row_chunk_bytes);
        let mut maps = BTreeMap::new();
        let graph_files: BTreeSet<u32> = manifest
            .fields
            .iter()
            .filter_map(|field| field.graph.as_ref().map(GraphManifest::file))
            .collect();
        for number in manifest.files().collect::<BTreeSet<_>>() {
            // A graph is derived data: one that cannot be read is built again.
            if !graph_files.contains(&number) {
                maps.insert(
                    number,
                    extents::open(storage, &file_path(&checkpoints.dir, number), id, number)?,
                );
            }
        }
        if manifest.fields.len() != head.state.config.positions() {
            return Err("the manifest and the configuration disagree on the vector fields".to_string());
        }
        let rows = manifest.fields.iter().flat_map(|field| field.chunks.iter().flatten());
        let extents: Vec<Extent> =
            manifest.point_chunks.iter().chain(&manifest.payloads).chain(rows).copied().collect();
        extents::verify(&extents, |file| &maps[&file], threads)?;
        let config = Arc::clone(&head.state.config);
        for (position, kept) in manifest.fields.iter().enumerate() {
            let placement = config.placement(position);
            match position.checked_sub(head.fields.len()) {
                None => load_rows(&mut head.fields[position], kept, placement, &maps)?,
                Some(sparse) => sparse_file::load(&mut head.sparse[sparse], kept, placement, &maps)?,
            }
        }
        let tables: Vec<FieldTable> = head.fields.iter().map(FieldArena::table).collect();
        let folder = graph_file::Folder { storage, dir: &checkpoints.dir, collection: id };
        let graph = |(field, table): (usize, &FieldTable)| {
            let kept = manifest.fields[field].graph.as_ref()?;
            graph_file::load(&folder, kept, &config, field, table, threads)
        };
        let graphs = || tables.iter().enumerate().map(graph).collect::<Vec<_>>();
        let graphs = if threads <= 1 {
            load_points(&mut head, &manifest, &maps)?;
            graphs()
        } else {
            // Points and graphs have nothing to do with each other.
            std::thread::scope(|scope| {
                let graphs = scope.spawn(graphs);
                load_points(&mut head, &manifest, &maps)?;
                Ok::<_, String>(graphs.join().unwrap_or_else(|_| tables.iter().map(|_| None).collect()))
            })?
        };
        head.op = manifest.op;
        for (kept, graph) in manifest.fields.iter_mut().zip(&graphs) {
            if graph.is_none() {
                // Forgotten, so that the next checkpoint writes the one that is built instead.
                kept.graph = None;
            }
        }
        checkpoints.next_file = manifest.next_file;
        let lsn = manifest.lsn;
        checkpoints.manifest = Some(manifest);
        Ok(Opening { id, head, lsn, replayed_work: 0, checkpoints, graphs })
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
        self.replayed_work += replay_work(body, &changes);
        Ok(())
    }

    /// Log sequence of the last record applied, or of the checkpoint.
    pub fn lsn(&self) -> u64 {
        self.lsn
    }

    /// The collection, ready to serve.
    pub fn finish(self, shared: Arc<Shared>) -> Collection {
        let collection = Collection::from_head(self.id, shared, self.head, self.lsn, self.checkpoints);
        collection.unsaved.add(self.replayed_work);
        for (slot, graph) in collection.graphs.iter().zip(self.graphs) {
            slot.current.store(graph.map(Arc::new));
        }
        collection
    }
}

/// Loads the rows of a field. Those of full chunks stay on their maps, unless they are wanted in memory.
fn load_rows(
    arena: &mut FieldArena,
    kept: &FieldManifest,
    placement: Placement,
    maps: &BTreeMap<u32, Map>,
) -> Result<(), String> {
    let disagree = || "the manifest and the vectors disagree".to_string();
    let (chunk_rows, row_bytes, place_bytes) = (arena.chunk_rows(), arena.row_bytes(), arena.place_bytes());
    if kept.chunks.len() != kept.rows.div_ceil(chunk_rows) as usize {
        return Err(disagree());
    }
    for (at, extent) in kept.chunks.iter().enumerate() {
        let rows = chunk_rows.min(kept.rows - at as u32 * chunk_rows);
        let Some(extent) = extent else {
            // Only full chunks are dropped.
            if rows != chunk_rows {
                return Err(disagree());
            }
            arena.load_dropped();
            continue;
        };
        let map = &maps[&extent.file];
        let bytes = extent.bytes(map)?;
        if bytes.len() != rows as usize * (row_bytes + place_bytes) {
            return Err("a chunk of vectors has the wrong length".to_string());
        }
        let (vectors, places) = bytes.split_at(rows as usize * row_bytes);
        let places = stored_places(places, place_bytes);
        if rows == chunk_rows && placement != Placement::Memory {
            arena.load_mapped(map, extent.offset, places);
            // The check has read all of it; from here on searches decide what is worth its memory.
            map.drop_resident(extent.offset as usize..(extent.offset + extent.len) as usize);
            if placement == Placement::Disk {
                map.expect_random_reads();
            }
        } else {
            arena.load(vectors.chunks_exact(row_bytes).zip(places));
        }
    }
    Ok(())
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
    let positions = head.state.config.positions();
    let mut rows = Rows::none(positions);
    for field in 0..positions {
        let row = u32::from_le_bytes(input.array()?);
        if row != NO_ROW {
            if !head.revive_loaded(field, row, offset) {
                return Err(Undecodable);
            }
            rows.set(field, row);
        }
    }
    if live {
        head.state.ids.insert(id, offset);
        Arc::make_mut(&mut head.state.live).insert(offset);
    }
    head.state.load(Point { id, version, live, payload, rows });
    Ok(())
}

/// Loads points, and declares the field indexes: they are built when the collection serves already.
fn load_points(head: &mut Head, manifest: &Manifest, maps: &BTreeMap<u32, Map>) -> Result<(), String> {
    for extent in &manifest.point_chunks {
        let mut input = Input(extent.bytes(&maps[&extent.file])?);
        while !input.0.is_empty() {
            load_point(head, &mut input, maps)
                .map_err(|Undecodable| "a chunk of points cannot be decoded".to_string())?;
        }
    }
    // Which rows are alive is known only now.
    head.sparse.iter_mut().for_each(SparseArena::index_loaded);
    if head.state.points.len() != manifest.points as usize {
        return Err("the manifest and the points column disagree".to_string());
    }
    load_indexes(head, manifest)
}

fn load_indexes(head: &mut Head, manifest: &Manifest) -> Result<(), String> {
    for (path, schema) in &manifest.indexes {
        let path = std::str::from_utf8(path).ok().and_then(|text| JsonPath::parse(text).ok());
        let path = path.ok_or("the manifest names an index on a malformed path")?;
        let index = DeclaredIndex::restore(path, schema)?;
        Arc::make_mut(&mut head.state.indexes).push(index);
    }
    Ok(())
}
