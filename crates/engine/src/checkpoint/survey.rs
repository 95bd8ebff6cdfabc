//! What a checkpoint has to write, and which files it can give back: the figures that decide where a disk has little room.

use super::extents::Extent;
use super::file_path;
use super::manifest::{FieldManifest, Manifest};
use super::pass::{CHUNK_POINTS, is_changed};
use super::sparse_file;
use crate::field::table::FieldTable;
use crate::state::PayloadRef;
use crate::state::View;
use crate::storage::Storage;
use crate::types::{OpNumber, Row, RowRange};
use std::collections::{BTreeMap, BTreeSet};

/// The most bytes of a point in the points column, beside the numbers of its rows.
const POINT_BYTES: usize = 48;
/// Headers, and the manifest of a collection that is not large.
const SMALL_BYTES: u64 = 8 << 10;

/// What a view has that a manifest does not name, and how much of what it names is in use.
pub(crate) struct Survey {
    fingerprint: Fingerprint,
    /// Bytes of what is new.
    pub new_bytes: u64,
    files: Vec<FileUse>,
}

/// What a survey is of: nothing but operations, dropped chunks and checkpoints changes its result.
#[derive(PartialEq, Eq)]
struct Fingerprint {
    op: OpNumber,
    held_chunks: usize,
    next_file: u32,
}

/// What a file has to give back to be copied forward.
pub(crate) struct LeastFreed {
    /// At least this many bytes more than the checkpoint writes for it.
    pub bytes: u64,
    /// More than its length divided by this.
    pub divisor: u64,
}

/// What stays in use of a data file.
struct FileUse {
    file: u32,
    used: u64,
    len: u64,
    /// An upper bound for the chunks of points that are unchanged and have payloads in the file: they are written again
    /// when these payloads move.
    points_bytes: u64,
}

impl Survey {
    /// Surveys every point of a view.
    pub fn of(view: &View, previous: &Manifest, storage: &dyn Storage, dir: &str) -> Survey {
        let kept: BTreeSet<u32> = previous.payloads.iter().map(|extent| extent.file).collect();
        let mut used: BTreeMap<u32, u64> = kept.iter().map(|&file| (file, 0)).collect();
        let mut pointing: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        let mut new_bytes = new_row_bytes(view, previous);
        let mut changed = BTreeSet::new();
        for (offset, point) in view.state.points.iter().enumerate() {
            let chunk = offset / CHUNK_POINTS;
            match point.payload() {
                PayloadRef::Stored { file, len, .. } if kept.contains(&file) => {
                    *used.entry(file).or_default() += u64::from(len);
                    let chunks = pointing.entry(file).or_default();
                    if chunks.last() != Some(&chunk) {
                        chunks.insert(chunk);
                    }
                }
                PayloadRef::Empty => {}
                payload => new_bytes += payload.bytes().len() as u64,
            }
            if changed.last() != Some(&chunk)
                && (offset >= previous.points as usize || is_changed(point, previous, &kept))
            {
                changed.insert(chunk);
            }
        }
        let points = previous.point_chunks.iter().enumerate();
        let points = points.map(|(chunk, extent)| (extent, !changed.contains(&chunk)));
        for (extent, is_used) in points.chain(held_extents(view, previous)) {
            *used.entry(extent.file).or_default() += if is_used { extent.len } else { 0 };
        }
        let in_use = |(file, used): (u32, u64)| {
            let len = storage.map(&file_path(dir, file)).map_or(0, |map| map.len() as u64);
            let mut points = pointing.remove(&file).unwrap_or_default();
            points.retain(|chunk| !changed.contains(chunk));
            let points_bytes = points.iter().map(|&chunk| chunk_bytes(view, chunk)).sum();
            FileUse { file, used, len, points_bytes }
        };
        Survey {
            fingerprint: Fingerprint::of(view, previous),
            new_bytes: new_bytes + changed.iter().map(|&chunk| chunk_bytes(view, chunk)).sum::<u64>(),
            files: used.into_iter().map(in_use).collect(),
        }
    }

    /// Whether a survey of this view would find the same.
    pub fn is_of(&self, view: &View, previous: &Manifest) -> bool {
        self.fingerprint == Fingerprint::of(view, previous)
    }

    /// Files that would give back enough, as many as `room` bytes can take of what is in use in them. Files with the least
    /// in use come first.
    pub fn files_to_compact(&self, least: &LeastFreed, room: u64) -> BTreeSet<u32> {
        let is_due = |file: &&FileUse| {
            let dead = file.len.saturating_sub(file.used);
            // Each checkpoint that is made for room alone leaves more than was free.
            let gain = dead.saturating_sub(file.points_bytes);
            gain >= least.bytes && dead.saturating_mul(least.divisor) > file.len
        };
        let mut due: Vec<&FileUse> = self.files.iter().filter(is_due).collect();
        due.sort_unstable_by_key(|file| file.used);
        let mut copied = 0_u64;
        let fits = |file: &&FileUse| {
            copied = copied.saturating_add(file.used + file.points_bytes);
            copied <= room
        };
        due.into_iter().take_while(fits).map(|file| file.file).collect()
    }
}

impl Fingerprint {
    fn of(view: &View, previous: &Manifest) -> Fingerprint {
        let held_chunks = held_extents(view, previous).count();
        Fingerprint { op: view.op, held_chunks, next_file: previous.next_file }
    }
}

/// What checkpoints need at most, without a survey of the points: graphs and files that are copied forward left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoomNeeded {
    /// Bytes that the next one writes.
    pub waiting: u64,
    /// Bytes that it writes besides when the collection grows, or a vacuum moves the rows of a chunk.
    pub growth: u64,
}

impl RoomNeeded {
    /// The space that a checkpoint of a view needs.
    pub(crate) fn of(view: &View, previous: &Manifest) -> RoomNeeded {
        let points = (view.state.points.len() as u64 + 1) * point_bytes(view);
        let rows = new_row_bytes(view, previous);
        RoomNeeded {
            waiting: view.state.payload_bytes + points + rows + SMALL_BYTES,
            growth: unfinished_bytes(view, previous) + moved_bytes(view),
        }
    }
}

/// Whether rows of that many bytes may be moved to the end of their fields with `free` bytes free: the next checkpoint has
/// to write them beside all that is new, and the one after it points once more, before what shares files with them is gone.
pub(crate) fn has_room_to_move(view: &View, previous: &Manifest, bytes: u64, free: u64) -> bool {
    let points = view.state.points.len() as u64 * point_bytes(view);
    let needed = RoomNeeded::of(view, previous).waiting + points + unfinished_bytes(view, previous);
    needed.saturating_add(bytes) <= free
}

/// The most bytes of rows that a vacuum moves to empty a chunk.
fn moved_bytes(view: &View) -> u64 {
    let full = view.fields.iter().filter(|table| table.len() >= table.rows.chunk_rows());
    let half = |table: &FieldTable| (table.rows.chunk_rows() / 2) as usize * table.rows.row_bytes();
    full.map(half).max().unwrap_or(0) as u64
}

/// Bytes of the rows that a checkpoint writes.
fn new_row_bytes(view: &View, previous: &Manifest) -> u64 {
    let grown = |position: usize, len: u32, chunk_rows: u32| {
        let kept = kept_rows(previous, position);
        if len > kept { rows_between(kept / chunk_rows * chunk_rows, len) } else { rows_between(len, len) }
    };
    bytes_of_rows(view, grown)
}

/// Bytes of the chunks that are not full and have not grown: one row more, and they are written again.
fn unfinished_bytes(view: &View, previous: &Manifest) -> u64 {
    let unfinished = |position: usize, len: u32, chunk_rows: u32| {
        let is_grown = len > kept_rows(previous, position);
        rows_between(if is_grown { len } else { len / chunk_rows * chunk_rows }, len)
    };
    bytes_of_rows(view, unfinished)
}

fn rows_between(start: u32, end: u32) -> RowRange {
    RowRange::new(Row::new(start), Row::new(end))
}

fn kept_rows(previous: &Manifest, position: usize) -> u32 {
    previous.fields.get(position).map_or(0, |field: &FieldManifest| field.rows)
}

/// Bytes in a checkpoint of some rows of each field: chosen by its position, its rows and those of a chunk.
fn bytes_of_rows(view: &View, chosen: impl Fn(usize, u32, u32) -> RowRange) -> u64 {
    let dense = view.fields.iter().enumerate().map(|(position, table)| {
        let row_bytes = (table.rows.row_bytes() + table.place_bytes()) as u64;
        // Hardly a row is dropped before it was written.
        chosen(position, table.len(), table.rows.chunk_rows()).len() as u64 * row_bytes
    });
    let sparse = (view.fields.len()..).zip(&*view.sparse).map(|(position, table)| {
        let rows = chosen(position, table.len(), table.rows.chunk_rows());
        let bytes = |row| (table.rows.row(row).len() + sparse_file::ROW_BYTES) as u64;
        rows.iter().filter(|&row| table.rows.holds(row)).map(bytes).sum::<u64>()
    });
    dense.chain(sparse).sum()
}

/// The most bytes of a point.
fn point_bytes(view: &View) -> u64 {
    (POINT_BYTES + size_of::<u32>() * (view.fields.len() + view.sparse.len())) as u64
}

/// The most bytes of a chunk of points.
fn chunk_bytes(view: &View, chunk: usize) -> u64 {
    let points = view.state.points.len() - chunk * CHUNK_POINTS;
    points.min(CHUNK_POINTS) as u64 * point_bytes(view)
}

/// Extents of the row chunks that are still held, and whether the chunk has not grown since.
fn held_extents<'a>(view: &'a View, previous: &'a Manifest) -> impl Iterator<Item = (&'a Extent, bool)> {
    previous.fields.iter().enumerate().flat_map(move |(position, field)| {
        let chunk_rows = view.chunk_rows(position);
        let is_used = move |chunk: usize| {
            let full = (chunk as u64 + 1) * u64::from(chunk_rows);
            full <= u64::from(field.rows) || view.rows(position) == field.rows
        };
        let chunks = field.chunks.iter().enumerate();
        let held = chunks.filter(move |(chunk, _)| view.holds_chunk(position, *chunk as u32));
        held.filter_map(move |(chunk, extent)| Some((extent.as_ref()?, is_used(chunk))))
    })
}
