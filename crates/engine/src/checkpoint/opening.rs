//! Opening a collection: its checkpoint, then the log after it.

use super::cause::{Cause, Unopened};
use super::extents::{self, Extent};
use super::graph_file::{self, GraphManifest, KeptGraph};
use super::manifest::{FieldManifest, Manifest};
use super::point_column::load_points;
use super::verification::verify_all;
use super::{CheckpointFiles, Folder, file_path, sparse_file, unreadable_file};
use crate::allocator::{catch, refusal};
use crate::change;
use crate::config::{CollectionConfig, Placement};
use crate::faults::PlantedFault;
use crate::field::FieldArena;
use crate::field::graph::FieldGraph;
use crate::field::table::stored_places;
use crate::limits::Thresholds;
use crate::payload::JsonPath;
use crate::state::{DeclaredIndex, Head};
use crate::storage::{Map, Storage, map_faults};
use crate::types::{Lsn, OpNumber, OperationId, PointOffset, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const NO_MANIFEST: &str = "the file MANIFEST is missing";
const OTHER_ROWS: &str = "MANIFEST and the vectors in the .data files disagree";

/// How to open a collection.
#[derive(Clone, Copy, Debug)]
pub struct OpeningOptions {
    /// Threads that check and load its files.
    pub threads: usize,
    /// As [`Thresholds::row_chunk_bytes`](crate::limits::Thresholds::row_chunk_bytes).
    pub row_chunk_bytes: usize,
}

impl Default for OpeningOptions {
    /// As a server opens them, on all cores.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        OpeningOptions { threads, row_chunk_bytes: Thresholds::default().row_chunk_bytes }
    }
}

/// A collection between its checkpoint and the end of the replay.
pub struct Opening {
    pub(crate) id: u64,
    pub(crate) head: Head,
    pub(crate) lsn: Lsn,
    /// What the records applied after the checkpoint cost.
    pub(crate) replayed_work: usize,
    pub(crate) files: CheckpointFiles,
    /// Fields whose graph in the checkpoint cannot be used.
    pub(crate) refused_graphs: Vec<String>,
    /// Files of those that are damaged, with a sentence.
    pub(crate) damaged_graphs: Vec<(String, String)>,
    /// There is no manifest, and yet files with data.
    pub(crate) has_orphans: bool,
}

impl Opening {
    /// Loads the checkpoint of a collection, or starts empty with the configuration that the catalog has.
    ///
    /// # Errors
    /// What is damaged, or why it cannot be read. Nothing on disk is touched.
    pub fn load(
        id: u64,
        storage: &dyn Storage,
        config: &Arc<CollectionConfig>,
        options: OpeningOptions,
    ) -> Result<Opening, Unopened> {
        catch(|| Self::load_checkpoint(id, storage, config, options))?
    }

    fn load_checkpoint(
        id: u64,
        storage: &dyn Storage,
        config: &Arc<CollectionConfig>,
        options: OpeningOptions,
    ) -> Result<Opening, Unopened> {
        let OpeningOptions { threads, row_chunk_bytes } = options;
        let files = CheckpointFiles::none(id);
        let Some(manifest) = Manifest::load(storage, id)? else {
            let head = Head::new(Arc::clone(config), row_chunk_bytes);
            let has_orphans = extents::any_in(storage, &files.dir)?;
            return Ok(Opening { has_orphans, ..Opening::of(id, head, Lsn::NONE, files) });
        };
        let folder = Folder { storage, dir: &files.dir, collection: id };
        let config = CollectionConfig::restore(&manifest.config).map_err(|error| error.to_string())?;
        let mut head = Head::new(Arc::new(config), row_chunk_bytes);
        let maps = map_data_files(&folder, &manifest)?;
        if manifest.fields.len() != head.state.config.positions() {
            return Err("MANIFEST and the configuration in it disagree on the vector fields".into());
        }
        let graphs = load_data_and_graphs(&folder, &mut head, &manifest, &maps, threads)?;
        // What is sound and does not fit now must not be taken for damaged, and built again.
        let exhausted = |graph: &Result<_, Unopened>| {
            graph.as_ref().err().filter(|fault| fault.cause == Cause::Exhausted).cloned()
        };
        if let Some(fault) = graphs.iter().find_map(exhausted) {
            return Err(fault);
        }
        if map_faults() > 0
            && let Some(what) = unreadable_file(storage, id)
        {
            return Err(Unopened { what, cause: Cause::Unreadable });
        }
        head.op = manifest.op;
        head.state.operations = manifest.operations.clone();
        Ok(Opening::loaded(id, head, files, manifest, graphs))
    }

    /// What was loaded of a checkpoint.
    fn loaded(
        id: u64,
        head: Head,
        mut files: CheckpointFiles,
        mut manifest: Manifest,
        graphs: Vec<Result<Option<FieldGraph>, Unopened>>,
    ) -> Opening {
        let (mut refused_graphs, mut damaged_graphs) = (Vec::new(), Vec::new());
        let names = head.state.config.fields().iter().map(|(name, _)| name);
        for ((kept, graph), name) in manifest.fields.iter_mut().zip(&graphs).zip(names) {
            // Forgotten, so that the next checkpoint writes the one that is built instead.
            if !matches!(graph, Ok(Some(_)))
                && let Some(kept) = kept.graph.take()
            {
                refused_graphs.push(name.to_string());
                let path = file_path(&files.dir, kept.file());
                damaged_graphs.extend(graph.as_ref().err().map(|fault| (path, fault.what.clone())));
            }
        }
        for (rows, graph) in head.fields.iter().zip(graphs) {
            rows.graphs().current.store(graph.ok().flatten().map(Arc::new));
        }
        files.next_file = manifest.next_file;
        let lsn = manifest.lsn;
        files.manifest = Some(manifest);
        Opening { refused_graphs, damaged_graphs, ..Opening::of(id, head, lsn, files) }
    }

    /// What a checkpoint holds, or nothing at all, before the log and without graphs.
    pub(crate) fn of(id: u64, head: Head, lsn: Lsn, files: CheckpointFiles) -> Opening {
        let (refused_graphs, damaged_graphs) = (Vec::new(), Vec::new());
        Opening { id, head, lsn, replayed_work: 0, files, refused_graphs, damaged_graphs, has_orphans: false }
    }

    /// Applies a record of the log, unless the checkpoint has it. `operation` is the identity that came with the call.
    ///
    /// # Errors
    /// A sentence when the record cannot follow what is here.
    pub fn replay(&mut self, lsn: Lsn, operation: Option<OperationId>, body: &[u8]) -> Result<(), String> {
        let (op, changes) =
            change::decode(body).map_err(|_| "a record of the log cannot be decoded".to_string())?;
        if op <= self.head.op {
            return Ok(());
        }
        let previous = change::previous_of(op, &changes);
        if previous != OpNumber::NONE && self.head.op == OpNumber::NONE && self.files.manifest.is_none() {
            return Err(NO_MANIFEST.to_string());
        }
        if previous != self.head.op && !PlantedFault::GapAccepted.is_on() {
            return Err(missing(self.head.op, previous, op));
        }
        for change in &changes {
            self.head.apply(op, change)?;
        }
        self.head.op = op;
        self.head.note(operation, &changes);
        self.head.settle(op);
        self.lsn = lsn;
        self.replayed_work += change::replay_work(body, &changes);
        Ok(())
    }

    /// What is missing, once everything in the log was applied: a sentence that names the file. `created` is the LSN of
    /// the record that created the collection; [`Lsn::NONE`] when the log does not hold it.
    ///
    /// The first checkpoint leaves data without a manifest when it is interrupted, and the log then has all of the
    /// collection. Data alone are those of a manifest that was lost. So is a manifest without any trace: the log holds
    /// the creation of a collection until there is one.
    pub fn missing(&self, created: Lsn) -> Option<String> {
        let is_lost = self.files.manifest.is_none() && self.head.op == OpNumber::NONE;
        let is_lost = is_lost && !PlantedFault::LostManifestIsEmpty.is_on();
        (is_lost && (self.has_orphans || created == Lsn::NONE)).then(|| NO_MANIFEST.to_string())
    }

    /// The last operation that it has.
    pub fn op(&self) -> OpNumber {
        self.head.op
    }

    /// Live points.
    pub fn points_count(&self) -> usize {
        self.head.state.ids.len()
    }

    /// Vector fields whose graph was kept and cannot be used: it is built again.
    pub fn refused_graphs(&self) -> &[String] {
        &self.refused_graphs
    }

    /// Files of graphs that are not what was written, each with a sentence.
    pub fn damaged_graphs(&self) -> &[(String, String)] {
        &self.damaged_graphs
    }

    /// What the parts of the collection say against each other; checksums cannot tell.
    pub fn contradictions(&self) -> Vec<String> {
        let state = &self.head.state;
        let mut found = Vec::new();
        let (ids, live) = (state.ids.len() as u64, state.live.len());
        if ids != live {
            found.push(format!("{live} live points have {ids} different ids"));
        }
        let rows = |position: usize| {
            let with_vector = |offset: &PointOffset| state.at(*offset).row(position).is_some();
            state.live.iter().filter(with_vector).count() as u64
        };
        let dense = self.head.fields.iter().map(|field| field.counts().vectors);
        for (position, alive) in dense.enumerate() {
            let named = rows(position);
            if named != alive {
                let name = &self.head.state.config.fields()[position].0;
                found.push(format!("{alive} vectors of '{name}' are alive and points name {named}"));
            }
        }
        found
    }

    /// LSN of the last record applied, or of the checkpoint.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }
}

/// What is missing between the last operation of a state, and the record of operation `op`, which comes behind `previous`.
fn missing(last: OpNumber, previous: OpNumber, op: OpNumber) -> String {
    match change::missing_before(last, previous, op) {
        Some(missing) => format!("operation {missing} is missing from the log"),
        None => format!(
            "the record of operation {op} in the log comes behind operation {previous}, and operation {last} is there"
        ),
    }
}

/// Maps the data files that a manifest names. Graph files are left out: a graph is derived data, and one that cannot be
/// read is built again.
fn map_data_files(folder: &Folder<'_>, manifest: &Manifest) -> Result<BTreeMap<u32, Map>, Unopened> {
    let graphs = manifest.fields.iter().filter_map(|field| field.graph.as_ref().map(GraphManifest::file));
    let graph_files: BTreeSet<u32> = graphs.collect();
    let numbers: BTreeSet<u32> = manifest.files().filter(|number| !graph_files.contains(number)).collect();
    let open = |number: u32| {
        let path = file_path(folder.dir, number);
        let writer = manifest.writer_of(number, folder.collection);
        Ok((number, extents::open(folder.storage, &path, writer, number)?))
    };
    numbers.into_iter().map(open).collect()
}

/// Compares points, payloads and rows with their checksums.
fn verify_data(folder: &Folder<'_>, manifest: &Manifest, threads: usize) -> Result<(), Unopened> {
    let rows = manifest.fields.iter().flat_map(|field| field.chunks.iter().flatten());
    let extents: Vec<Extent> =
        manifest.point_chunks.iter().chain(&manifest.payloads).chain(rows).copied().collect();
    verify_all(folder.storage, folder.dir, &extents, threads).map_err(|(extent, why)| why.unopened(&extent))
}

/// Loads the rows of all fields. They are alive once their points are loaded.
pub(super) fn load_fields(
    head: &mut Head,
    manifest: &Manifest,
    maps: &BTreeMap<u32, Map>,
) -> Result<(), String> {
    let config = Arc::clone(&head.state.config);
    for (position, kept) in manifest.fields.iter().enumerate() {
        let placement = config.placement(position);
        match position.checked_sub(head.fields.len()) {
            None => load_rows(&mut head.fields[position], kept, placement, maps)?,
            Some(sparse) => sparse_file::load(&mut head.sparse[sparse], kept, placement, maps)?,
        }
    }
    Ok(())
}

/// Loads what the data files have into the head, once it was compared with its checksums, and beside that the graph of each
/// field: `None` where there is none that can be used, an error where its file is damaged.
fn load_data_and_graphs(
    folder: &Folder<'_>,
    head: &mut Head,
    manifest: &Manifest,
    maps: &BTreeMap<u32, Map>,
    threads: usize,
) -> Result<Vec<Result<Option<FieldGraph>, Unopened>>, Unopened> {
    let config = Arc::clone(&head.state.config);
    let dense = head.fields.len();
    for (kept, rows) in manifest.fields.iter().zip(&head.fields) {
        if kept.chunks_of(rows.chunk_rows()).is_none() {
            return Err(OTHER_ROWS.into());
        }
    }
    let read_one = |field: usize| match &manifest.fields[field] {
        FieldManifest { graph: None, .. } => Ok(None),
        FieldManifest { graph: Some(kept), rows, .. } => {
            let writer = manifest.writer_of(kept.file(), folder.collection);
            let written_by = Folder { collection: writer, ..*folder };
            graph_file::read(&written_by, kept, &config, (field, Row::new(*rows)), threads)
        }
    };
    let read_all = || (0..dense).map(|field| with_graph(threads, || read_one(field))).collect::<Vec<_>>();
    let load = |head: &mut Head| -> Result<(), Unopened> {
        verify_data(folder, manifest, threads)?;
        load_fields(head, manifest, maps)?;
        load_points(head, manifest, maps)?;
        Ok(load_indexes(head, manifest)?)
    };
    let graphs = if threads <= 1 {
        load(head)?;
        read_all()
    } else {
        std::thread::scope(|scope| -> Result<_, Unopened> {
            let reading = std::thread::Builder::new().spawn_scoped(scope, read_all);
            load(head)?;
            // A system that has no memory for a thread may have some for the graphs.
            Ok(reading.map_or_else(|_| read_all(), |reading| reading.join().expect("panics are caught")))
        })?
    };
    // Only now is it known which rows are alive.
    let complete = |(rows, kept): (&FieldArena, Result<Option<KeptGraph>, Unopened>)| {
        let Some(kept) = kept? else { return Ok(None) };
        with_graph(threads, || Ok(kept.complete(&rows.table())))
    };
    Ok(head.fields.iter().zip(graphs).map(complete).collect())
}

/// What some work with a graph gives: an error where memory is refused, and nothing where it panics, because a graph can be built
/// again. With one thread, as in simulations, a panic goes on.
fn with_graph<T>(
    threads: usize,
    work: impl FnOnce() -> Result<Option<T>, Unopened>,
) -> Result<Option<T>, Unopened> {
    if threads <= 1 {
        return work();
    }
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| match refusal(&*panic) {
        Some(refused) => Err(refused.into()),
        None => Ok(None),
    })
}

/// Loads the rows of a field. Those of full chunks stay on their maps, unless they are wanted in memory.
fn load_rows(
    arena: &mut FieldArena,
    kept: &FieldManifest,
    placement: Placement,
    maps: &BTreeMap<u32, Map>,
) -> Result<(), String> {
    let (chunk_rows, row_bytes, place_bytes) = (arena.chunk_rows(), arena.row_bytes(), arena.place_bytes());
    let chunks = kept.chunks_of(chunk_rows).ok_or(OTHER_ROWS)?;
    for (rows, extent) in chunks {
        let Some(extent) = extent else {
            arena.load_dropped();
            continue;
        };
        let map = &maps[&extent.file];
        let bytes = extent.bytes(map)?;
        if bytes.len() != rows as usize * (row_bytes + place_bytes) {
            return Err("a chunk of vectors in the .data files has the wrong length".to_string());
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

/// Declares the field indexes. They are built once the collection serves requests.
pub(super) fn load_indexes(head: &mut Head, manifest: &Manifest) -> Result<(), String> {
    for (path, schema) in &manifest.indexes {
        let path = std::str::from_utf8(path).ok().and_then(|text| JsonPath::parse(text).ok());
        let path = path.ok_or("MANIFEST names an index on a malformed path")?;
        let index = DeclaredIndex::restore(path, schema)?;
        Arc::make_mut(&mut head.state.indexes).push(index);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::Change;
    use crate::config::tests::config_of;
    use crate::storage::MemoryDisk;

    #[test]
    fn a_record_behind_one_that_is_missing_is_not_applied() {
        let config = config_of(r#"{"vectors":{"size":1,"distance":"Dot"}}"#);
        let loaded = Opening::load(1, &MemoryDisk::default(), &config, OpeningOptions::default());
        let mut opening = loaded.unwrap_or_else(|fault| panic!("{}", fault.what));
        let mut replay = |op: u64| {
            let mut body = Vec::new();
            change::encode(OpNumber::new(op), &[Change::Delete(Vec::new())], &mut body);
            opening.replay(Lsn::new(op), None, &body)
        };
        assert_eq!(replay(1), Ok(()));
        assert_eq!(replay(3), Err("operation 2 is missing from the log".to_string()));
        assert_eq!(opening.op(), OpNumber::FIRST);
    }

    #[test]
    fn a_record_that_leaves_numbers_out_is_applied_behind_the_operation_that_it_names() {
        let config = config_of(r#"{"vectors":{"size":1,"distance":"Dot"}}"#);
        let opening = || {
            let loaded = Opening::load(1, &MemoryDisk::default(), &config, OpeningOptions::default());
            loaded.unwrap_or_else(|fault| panic!("{}", fault.what))
        };
        let replay = |opening: &mut Opening, after: Option<u64>, op: u64| {
            let after = after.map(|previous| Change::After(OpNumber::new(previous)));
            let mut body = Vec::new();
            change::encode(OpNumber::new(op), after.as_slice(), &mut body);
            opening.replay(Lsn::new(op), None, &body)
        };
        let mut first = opening();
        assert_eq!(replay(&mut first, Some(0), 100), Ok(()));
        assert_eq!(replay(&mut first, None, 101), Ok(()));
        assert_eq!(replay(&mut first, Some(101), 300), Ok(()));
        assert_eq!(replay(&mut first, Some(101), 300), Ok(()), "it has that already");
        assert_eq!(replay(&mut first, None, 400), Err("operation 301 is missing from the log".to_string()));
        let behind = replay(&mut first, Some(400), 500);
        assert_eq!(behind, Err("operation 400 is missing from the log".to_string()));
        let before = replay(&mut first, Some(101), 500).unwrap_err();
        assert_eq!(
            before,
            "the record of operation 500 in the log comes behind operation 101, and operation 300 is there"
        );
        assert_eq!(first.op(), OpNumber::new(300));
        assert_eq!(replay(&mut opening(), Some(7), 100), Err(NO_MANIFEST.to_string()));
    }
}
