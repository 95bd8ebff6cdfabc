//! Chunks of sparse rows: written by a checkpoint, loaded when a collection is opened.
//!
//! A chunk is the length of each row in bytes, the owner of each row, and the rows; see `docs/formats.md`.

use super::manifest::FieldManifest;
use super::pass::{Pass, WrittenRows};
use crate::config::Placement;
use crate::field::sparse_table::{SparseArena, SparseTable};
use crate::storage::{Map, StorageError};
use crate::types::{PointOffset, Row, RowRange};
use std::collections::BTreeMap;

/// Bytes of a row's owner.
const OWNER_BYTES: usize = 4;
/// Bytes of a row's length.
const LENGTH_BYTES: usize = 4;
/// Bytes of a row in a chunk beside its own.
pub(super) const ROW_BYTES: usize = LENGTH_BYTES + OWNER_BYTES;

impl Pass<'_> {
    /// Writes the chunks of sparse rows that have grown.
    pub fn sparse_fields(&mut self) -> Result<Vec<FieldManifest>, StorageError> {
        let tables = &*self.view.sparse;
        (self.view.fields.len()..)
            .zip(tables)
            .map(|(position, table)| self.sparse_field(position, table))
            .collect()
    }

    fn sparse_field(&mut self, position: usize, table: &SparseTable) -> Result<FieldManifest, StorageError> {
        let chunk_rows = table.rows.chunk_rows();
        let kept = self.previous.fields.get(position).cloned().unwrap_or_default();
        let mut chunks = Vec::new();
        for chunk in 0..table.len().div_ceil(chunk_rows) {
            let range = RowRange::of_chunk(chunk, chunk_rows).before(Row::new(table.len()));
            if !table.rows.holds(range.start) {
                chunks.push(None);
                continue;
            }
            let old = kept.chunks.get(chunk as usize).copied().flatten();
            let old =
                old.filter(|extent| range.end.get() <= kept.rows && !self.compacted.contains(&extent.file));
            if let Some(extent) = old {
                chunks.push(Some(extent));
                continue;
            }
            let extent = self.writer.append(&encoded(table, range))?;
            if range.len() == chunk_rows as usize {
                let offset = extent.offset + rows_at(chunk_rows) as u64;
                self.rows.push(WrittenRows { field: position, chunk, offset });
            }
            chunks.push(Some(extent));
        }
        Ok(FieldManifest { rows: table.len(), chunks, graph: None })
    }
}

fn encoded(table: &SparseTable, rows: RowRange) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = |row| u32::try_from(table.rows.row(row).len()).expect("elements of a vector are limited");
    rows.iter().for_each(|row| bytes.extend_from_slice(&length(row).to_le_bytes()));
    rows.iter().for_each(|row| bytes.extend_from_slice(&table.owner(row).get().to_le_bytes()));
    rows.iter().for_each(|row| bytes.extend_from_slice(table.rows.row(row)));
    bytes
}

/// Where the rows of a full chunk begin in its extent.
fn rows_at(chunk_rows: u32) -> usize {
    chunk_rows as usize * ROW_BYTES
}

/// Loads the rows of a field. Those of full chunks stay on their maps, unless they are wanted in memory.
///
/// # Errors
/// A sentence that says what does not fit.
pub(crate) fn load(
    arena: &mut SparseArena,
    kept: &FieldManifest,
    placement: Placement,
    maps: &BTreeMap<u32, Map>,
) -> Result<(), String> {
    let chunk_rows = arena.chunk_rows();
    let chunks = kept.chunks_of(chunk_rows).ok_or("the manifest and the sparse vectors disagree")?;
    for (rows, extent) in chunks {
        let Some(extent) = extent else {
            arena.load_dropped();
            continue;
        };
        let map = &maps[&extent.file];
        let (lengths, owners, bytes) = parts(extent.bytes(map)?, rows as usize, arena)
            .ok_or("a chunk of sparse vectors has the wrong length")?;
        if rows == chunk_rows && placement != Placement::Memory {
            arena.load_mapped(&lengths, map, extent.offset as usize + rows_at(rows), owners);
            if placement == Placement::Disk {
                map.expect_random_reads();
            }
        } else {
            let mut rest = bytes;
            let cut = lengths.iter().map(|length| {
                let (row, after) = rest.split_at(*length as usize);
                rest = after;
                row
            });
            arena.load(cut.zip(owners));
        }
    }
    Ok(())
}

/// Lengths, owners and rows of a chunk; `None` when the chunk does not have `rows` rows of the field's format.
fn parts<'a>(
    chunk: &'a [u8],
    rows: usize,
    arena: &SparseArena,
) -> Option<(Vec<u32>, impl Iterator<Item = PointOffset> + use<'a>, &'a [u8])> {
    let (lengths, rest) = chunk.split_at_checked(rows * LENGTH_BYTES)?;
    let (owners, bytes) = rest.split_at_checked(rows * OWNER_BYTES)?;
    let words = |bytes: &'a [u8]| bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word));
    let lengths: Vec<u32> = words(lengths).collect();
    let sum: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let fits = |length: &u32| arena.format().len(*length as usize).is_some();
    (sum == bytes.len() as u64 && lengths.iter().all(fits))
        .then(|| (lengths, words(owners).map(PointOffset::new), bytes))
}
