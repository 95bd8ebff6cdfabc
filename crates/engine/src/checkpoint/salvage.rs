//! What is left of a damaged collection: a checkpoint without the pieces that do not verify.
//!
//! A point is kept whole or not at all: one whose payload or one of whose vectors is lost goes with it, and its id is
//! reported. Graphs are not kept, since they may name rows that are lost; they are built again.

use super::extents::{self, Extent};
use super::manifest::Manifest;
use super::opening::{Opening, OpeningOptions, load_fields, load_indexes};
use super::pass::CHUNK_POINTS;
use super::point_column::ChunkPoint;
use super::verification::verify_extent;
use super::{CheckpointFiles, directory, file_path};
use crate::change::{self, Change, Input};
use crate::config::CollectionConfig;
use crate::field::sparse_table::SparseArena;
use crate::limits::MAX_REPORTED_IDS;
use crate::state::{Head, Payload, Point, Rows};
use crate::storage::{Map, Storage};
use crate::types::{Lsn, OpNumber, OperationId, PointId, PointOffset};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// What could not be kept of a collection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Points whose payload or vectors are lost.
    points: BTreeSet<PointId>,
    /// Places in the points column whose ids are unknown too; some may have been empty.
    pub unknown_points: u64,
    /// Numbers of operations whose records are lost.
    pub operations: Vec<Range<OpNumber>>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

impl Losses {
    /// Whether nothing is lost.
    pub fn is_empty(&self) -> bool {
        *self == Losses::default()
    }

    /// Points whose payload or vectors are lost, the first [`MAX_REPORTED_IDS`] of them.
    pub fn ids(&self) -> impl Iterator<Item = PointId> {
        self.points.iter().take(MAX_REPORTED_IDS).cloned()
    }

    /// How many points that is.
    pub fn points(&self) -> u64 {
        self.points.len() as u64
    }

    /// Takes note of a change of the log: what it puts, or was to remove, is not lost.
    fn note_change(&mut self, change: &Change) {
        let ids = match change {
            Change::Put { id, .. } => std::slice::from_ref(id),
            Change::Delete(ids) => ids,
            _ => return,
        };
        for id in ids {
            self.points.remove(id);
        }
    }
}

impl Opening {
    /// Loads what verifies of a collection's checkpoint. `config` is what the catalog has, for a collection whose
    /// manifest cannot be read. Its next checkpoint writes everything anew, into files of its own.
    pub fn salvage(
        id: u64,
        storage: &dyn Storage,
        config: &Arc<CollectionConfig>,
        options: OpeningOptions,
    ) -> (Opening, Losses) {
        let mut losses = Losses::default();
        let manifest = Manifest::salvage(storage, id).unwrap_or_else(|bad| {
            losses.notes.push(format!("{bad}: nothing of the checkpoint can be found without its own"));
            None
        });
        let loaded =
            manifest.map(|manifest| (manifest.lsn, load(id, storage, manifest, options, &mut losses)));
        let (lsn, head) = match loaded {
            Some((lsn, Ok(head))) => (lsn, head),
            loaded => {
                if let Some((_, Err(why))) = loaded {
                    losses.notes.push(format!("{why}: nothing of the checkpoint can be kept"));
                }
                (Lsn::NONE, Head::new(Arc::clone(config), options.row_chunk_bytes))
            }
        };
        let mut files = CheckpointFiles::none(id);
        files.next_file = next_file(storage, id);
        // A repair that is cut short must leave its successor what this one has found.
        files.keeps_orphans = true;
        (Opening::of(id, head, lsn, files), losses)
    }

    /// Applies a record whatever is missing before it, and takes note of what is.
    pub fn replay_anyway(
        &mut self,
        lsn: Lsn,
        operation: Option<OperationId>,
        body: &[u8],
        losses: &mut Losses,
    ) {
        let Ok((op, changes)) = change::decode(body) else {
            losses.notes.push(format!("record {lsn} of the log cannot be decoded"));
            return;
        };
        if op <= self.head.op {
            return;
        }
        let previous = change::previous_of(op, &changes);
        if previous > self.head.op {
            losses.operations.push(self.head.op.next()..previous.next());
        }
        for change in &changes {
            if !self.head.fits(change) {
                // The fields that it is about were added by a record that is lost.
                losses
                    .notes
                    .push(format!("a change of operation {op} is of other vector fields than are known"));
                continue;
            }
            losses.note_change(change);
            if let Err(why) = self.head.apply(op, change) {
                losses.notes.push(format!("a change of operation {op} cannot be applied: {why}"));
            }
        }
        self.head.op = op;
        self.head.note(operation, &changes);
        self.head.settle(op);
        self.lsn = lsn;
    }

    /// Takes note of operations whose records are lost behind the last that was applied.
    pub fn lose_last(&self, records: u64, losses: &mut Losses) {
        if records > 0 {
            let first = self.head.op.next();
            losses.operations.push(first..first.plus(records));
        }
    }
}

/// Above every file that is in the folder: numbers are not used twice.
fn next_file(storage: &dyn Storage, id: u64) -> u32 {
    let names = storage.list(&directory(id)).unwrap_or_default();
    let number = |name: &String| u32::from_str_radix(name.strip_suffix(".data")?, 16).ok();
    names.iter().filter_map(number).max().map_or(1, |highest| highest.saturating_add(1))
}

/// Loads what verifies. Rows of a chunk that does not are missing, and so are the points that name them.
fn load(
    id: u64,
    storage: &dyn Storage,
    mut manifest: Manifest,
    options: OpeningOptions,
    losses: &mut Losses,
) -> Result<Head, String> {
    let config = CollectionConfig::restore(&manifest.config).map_err(|error| error.to_string())?;
    let mut head = Head::new(Arc::new(config), options.row_chunk_bytes);
    if manifest.fields.len() != head.state.config.positions() {
        return Err("the manifest and the configuration disagree on the vector fields".to_string());
    }
    let dir = directory(id);
    let mut maps = BTreeMap::new();
    for number in manifest.files().collect::<BTreeSet<u32>>() {
        if let Ok(map) =
            extents::open(storage, &file_path(&dir, number), manifest.writer_of(number, id), number)
        {
            maps.insert(number, map);
        }
    }
    let is_sound = |extent: &Extent| {
        maps.contains_key(&extent.file) && verify_extent(storage, &dir, extent, &mut |_| true).is_ok()
    };
    keep_sound_rows(&mut manifest, &head, &is_sound);
    load_fields(&mut head, &manifest, &maps)?;
    let lost_payloads: Vec<Extent> =
        manifest.payloads.iter().filter(|extent| !is_sound(extent)).copied().collect();
    for (at, extent) in manifest.point_chunks.iter().enumerate() {
        let points = CHUNK_POINTS.min((manifest.points as usize).saturating_sub(at * CHUNK_POINTS));
        if is_sound(extent) {
            load_chunk(&mut head, extent, &maps, &lost_payloads, losses)?;
        } else {
            losses.unknown_points += points as u64;
            (0..points).for_each(|_| load_tombstone(&mut head, PointId::Num(0), OpNumber::NONE));
        }
    }
    head.sparse.iter_mut().for_each(SparseArena::index_loaded);
    load_indexes(&mut head, &manifest)?;
    head.op = manifest.op;
    head.state.operations = manifest.operations.clone();
    Ok(head)
}

/// Leaves only chunks of rows that are sound in a manifest, and no graph.
fn keep_sound_rows(manifest: &mut Manifest, head: &Head, is_sound: &impl Fn(&Extent) -> bool) {
    let dense = head.fields.iter().map(|field| field.chunk_rows());
    let chunk_rows = dense.chain(head.sparse.iter().map(|field| field.chunk_rows()));
    for (field, chunk_rows) in manifest.fields.iter_mut().zip(chunk_rows) {
        field.graph = None;
        for chunk in &mut field.chunks {
            *chunk = chunk.filter(is_sound);
        }
        // A chunk that is not full cannot be a hole: the rows end before it.
        let full = (field.rows / chunk_rows) as usize;
        if field.chunks.get(full).is_some_and(Option::is_none) {
            field.chunks.truncate(full);
            field.rows = full as u32 * chunk_rows;
        }
    }
}

/// Loads the points of a chunk that are whole.
fn load_chunk(
    head: &mut Head,
    extent: &Extent,
    maps: &BTreeMap<u32, Map>,
    lost_payloads: &[Extent],
    losses: &mut Losses,
) -> Result<(), String> {
    let mut input = Input(extent.bytes(&maps[&extent.file])?);
    let positions = head.state.config.positions();
    while !input.0.is_empty() {
        let point = ChunkPoint::decode(&mut input, positions)
            .map_err(|_| "a chunk of points cannot be decoded".to_string())?;
        let offset = PointOffset::new(head.state.points.len() as u32);
        let has_payload = point.payload.is_none_or(|(file, at, len)| {
            let end = at.saturating_add(u64::from(len));
            let overlaps = |lost: &Extent| {
                lost.file == file && at < lost.offset.saturating_add(lost.len) && lost.offset < end
            };
            maps.get(&file).is_some_and(|map| end <= map.len() as u64) && !lost_payloads.iter().any(overlaps)
        });
        let has_row =
            |position| point.rows.row(position).is_none_or(|row| head.holds_loaded(position, row, offset));
        let has_rows = (0..positions).all(has_row);
        let is_taken = point.live && head.state.indexed_offset(&point.id).is_some();
        let (id, version, live) = (point.id.clone(), point.version, point.live);
        if !(has_payload && has_rows) || is_taken || point.load(head, maps).is_err() {
            if live {
                losses.points.insert(id.clone());
            }
            load_tombstone(head, id, version);
        }
    }
    Ok(())
}

/// Leaves a tombstone, so that the offsets of the points behind it stay.
fn load_tombstone(head: &mut Head, id: PointId, version: OpNumber) {
    let rows = Rows::none(head.state.config.positions());
    head.state.load(Point { id, version, live: false, payload: Payload::Empty, rows });
}
