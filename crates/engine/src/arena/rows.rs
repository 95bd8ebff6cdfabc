//! Rows of bytes, all of one length, appended by one writer.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::LINE_BYTES;
use super::chunks::{Chunks, FULL_CHUNK_BYTES};
use crate::storage::{Map, maps_fit, will_need};

/// The rows that one writer appends. Readers get them as [`RowTable`]s.
///
/// In memory every row starts on a cache line. A full chunk ([`RowArena::chunk_rows`] rows) can be replaced by a read-only map
/// that has the same rows without gaps, or be dropped when it will not be read again.
///
/// # Invariants
/// 1. A row below the length of any table that was handed out is never written again. [`RowArena::truncate`] below
///    such a length moves the surviving rows of the affected chunk to new memory first, so that older tables do not change.
/// 2. Rows above every handed-out length belong to the writer alone: it may drop and overwrite them in place. They lie
///    in memory: [`RowArena::seal`] and [`RowArena::release`] count as handing out.
pub struct RowArena {
    chunks: Chunks,
    row_bytes: usize,
    len: u32,
    /// Greatest length of a table over the present memory (invariant 1).
    frozen: AtomicU32,
}

impl RowArena {
    /// Greatest length of a row: 65,536 components of four bytes, and four bytes more.
    pub const MAX_ROW_BYTES: usize = 65_536 * 4 + 4;

    /// Bytes of a full chunk, rounded up to a power of two of rows.
    pub const CHUNK_BYTES: usize = FULL_CHUNK_BYTES;

    /// An empty arena for rows of that many bytes, 1 to [`RowArena::MAX_ROW_BYTES`].
    pub fn new(row_bytes: usize) -> RowArena {
        Self::with_chunk_bytes(row_bytes, Self::CHUNK_BYTES)
    }

    /// As [`RowArena::new`], with full chunks of the least power of two of rows that take `chunk_bytes` in memory.
    pub fn with_chunk_bytes(row_bytes: usize, chunk_bytes: usize) -> RowArena {
        assert!((1..=Self::MAX_ROW_BYTES).contains(&row_bytes), "rows of {row_bytes} bytes");
        let chunks = Chunks::of_bytes(row_bytes.next_multiple_of(LINE_BYTES), chunk_bytes);
        RowArena { chunks, row_bytes, len: 0, frozen: AtomicU32::new(0) }
    }

    /// Appends a row and returns its slot. Panics when its length is not that of the arena, or after 2³² − 1 rows.
    pub fn push(&mut self, row: &[u8]) -> u32 {
        assert_eq!(row.len(), self.row_bytes, "row of a wrong length");
        let slot = self.len;
        let len = slot.checked_add(1).expect("row numbers are u32");
        self.chunks.reserve(slot);
        assert!(self.chunks.is_memory(slot), "row {slot} would be written to a map");
        let place = self.chunks.item(slot);
        // SAFETY: the item is in memory of ours and `row_bytes` long or longer. No table reads it: all their lengths
        // are at most `frozen`, and `frozen <= len` (kept by `truncate`). `&mut self` excludes other writers.
        unsafe { place.as_ptr().copy_from_nonoverlapping(row.as_ptr(), row.len()) }
        self.len = len;
        slot
    }

    /// Drops the rows from `len` on, as after a commit that failed. Tables that hold them stay as they are.
    /// Panics when there are fewer rows, or when rows of the last chunk that are to stay have been released.
    pub fn truncate(&mut self, len: u32) {
        assert!(len <= self.len, "cannot keep {len} of {} rows", self.len);
        if len < *self.frozen.get_mut() {
            self.chunks.fork(len);
            *self.frozen.get_mut() = len;
        }
        self.len = len;
    }

    /// Replaces a full chunk by a map that holds the same rows without gaps from byte `offset` on. Tables that were
    /// handed out keep the memory until they are dropped; those taken from now on read the map.
    ///
    /// Panics when the chunk is not full or has been released, or when the map is too short for it.
    pub fn seal(&mut self, chunk: u32, map: Map, offset: u64) {
        let rows = self.full_chunk(chunk);
        assert!(self.chunks.is_held(rows.start), "chunk {chunk} has been released");
        let (before, from) = (self.chunks.clone(), rows.start);
        self.chunks.seal(chunk, map, offset, self.row_bytes);
        *self.frozen.get_mut() = rows.end.max(*self.frozen.get_mut());
        debug_assert!(
            rows.clone().all(|slot| {
                // SAFETY: both lists hold the rows of a full chunk, which are initialised and not written any more.
                unsafe { row_of(&before, slot, self.row_bytes) == row_of(&self.chunks, slot, self.row_bytes) }
            }),
            "the map does not hold the rows from {from} on"
        );
    }

    /// Appends a full chunk of rows that a map holds without gaps from byte `offset` on, without reading them.
    /// Panics when the rows so far do not fill their chunks, when the map is too short, or after 2³² − 1 rows.
    pub fn push_mapped(&mut self, map: Map, offset: u64) {
        let rows = self.chunk_rows();
        assert!(self.len.is_multiple_of(rows), "a chunk cannot start at row {}", self.len);
        let len = self.len.checked_add(rows).expect("row numbers are u32");
        // Memory that was reserved for rows that were then dropped again would stand in the way.
        self.chunks.fork(self.len);
        self.chunks.push_mapped(map, offset, self.row_bytes);
        self.len = len;
        *self.frozen.get_mut() = len;
    }

    /// Appends a full chunk of rows that were released before. Panics when the rows so far do not fill their chunks, or
    /// after 2³² − 1 rows.
    pub fn push_released(&mut self) {
        let rows = self.chunk_rows();
        assert!(self.len.is_multiple_of(rows), "a chunk cannot start at row {}", self.len);
        let len = self.len.checked_add(rows).expect("row numbers are u32");
        self.chunks.fork(self.len);
        self.chunks.push_released();
        self.len = len;
        *self.frozen.get_mut() = len;
    }

    /// Drops a full chunk, all of whose rows are dead: reading one of them panics from now on. Tables that were handed
    /// out keep them. Panics when the chunk is not full.
    pub fn release(&mut self, chunk: u32) {
        let rows = self.full_chunk(chunk);
        self.chunks.release(chunk);
        *self.frozen.get_mut() = rows.end.max(*self.frozen.get_mut());
    }

    /// Whether a row is there and has not been released.
    pub fn holds(&self, slot: u32) -> bool {
        slot < self.len && self.chunks.is_held(slot)
    }

    /// Rows of a full chunk, a power of two: it follows from the length of a row alone.
    pub fn chunk_rows(&self) -> u32 {
        self.chunks.chunk_items()
    }

    /// The rows as they are now. Costs two words and a reference count.
    pub fn table(&self) -> RowTable {
        self.frozen.fetch_max(self.len, Ordering::Relaxed);
        RowTable { chunks: self.chunks.clone(), row_bytes: self.row_bytes, len: self.len }
    }

    /// A row that is there. Panics when it is not, or has been released.
    pub fn row(&self, slot: u32) -> &[u8] {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        // SAFETY: rows below `len` are initialised, `row_bytes` long, and written only through `&mut self`.
        unsafe { row_of(&self.chunks, slot, self.row_bytes) }
    }

    /// Number of rows, those released included.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Bytes of memory held for rows, those reserved for the next ones included; maps are not.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes(self.len)
    }

    /// Bytes of rows that are read from maps.
    pub fn mapped_bytes(&self) -> usize {
        self.chunks.mapped_bytes()
    }

    fn full_chunk(&self, chunk: u32) -> std::ops::Range<u32> {
        let rows = self.chunk_rows();
        assert!(chunk < self.len / rows, "chunk {chunk} of {} rows is not full", self.len);
        chunk * rows..(chunk + 1) * rows
    }
}

/// The rows of a [`RowArena`] at one moment. Immutable, cheap to clone, readable from any thread.
#[derive(Clone)]
pub struct RowTable {
    chunks: Chunks,
    row_bytes: usize,
    len: u32,
}

impl RowTable {
    /// A row, `row_bytes` long. Panics when there is no such row, or when it has been released.
    #[inline(always)]
    pub fn row(&self, slot: u32) -> &[u8] {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        // SAFETY: `push` has reserved and written every row below `len` of the arena, or `push_mapped` has brought it,
        // and nobody writes to it again while a table holds it (invariant 1). Hand-over of the table to this thread
        // orders those writes before.
        unsafe { row_of(&self.chunks, slot, self.row_bytes) }
    }

    /// Whether a row is there and has not been released.
    pub fn holds(&self, slot: u32) -> bool {
        slot < self.len && self.chunks.is_held(slot)
    }

    /// Asks the system to read rows that are about to be read, where maps do not fit into memory: all at once, and not one
    /// after the other as they are read.
    #[inline(always)]
    pub fn expect(&self, slots: impl Iterator<Item = u32>) {
        if !maps_fit() {
            self.request(slots);
        }
    }

    #[cold]
    fn request(&self, slots: impl Iterator<Item = u32>) {
        slots.filter(|&slot| self.is_mapped(slot)).for_each(|slot| will_need(self.addresses(slot, slot)));
    }

    /// As [`RowTable::expect`], for a run of rows that are read in their order, all of which are there and not released.
    #[inline(always)]
    pub fn expect_run(&self, slots: Range<u32>) {
        if !maps_fit() {
            self.request_run(slots);
        }
    }

    #[cold]
    fn request_run(&self, slots: Range<u32>) {
        let (mut from, rows) = (slots.start, self.chunk_rows());
        while from < slots.end {
            // Rows of a map lie without gaps as far as their chunk.
            let to = slots.end.min((from / rows * rows).saturating_add(rows));
            if self.is_mapped(from) {
                will_need(self.addresses(from, to - 1));
            }
            from = to;
        }
    }

    /// From the first byte of a row to the last of another one in the same chunk.
    fn addresses(&self, first: u32, last: u32) -> Range<usize> {
        self.row(first).as_ptr_range().start.addr()..self.row(last).as_ptr_range().end.addr()
    }

    fn is_mapped(&self, slot: u32) -> bool {
        self.holds(slot) && !self.chunks.is_memory(slot)
    }

    /// Whether a row lies in memory: neither in a map nor released.
    pub fn is_memory(&self, slot: u32) -> bool {
        slot < self.len && self.chunks.is_memory(slot)
    }

    /// Number of rows, those released included.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Rows of a full chunk; see [`RowArena::chunk_rows`].
    pub fn chunk_rows(&self) -> u32 {
        self.chunks.chunk_items()
    }

    /// Bytes of memory held for rows, those reserved for the next ones included; maps are not.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes(self.len)
    }

    /// Bytes of rows that are read from maps.
    pub fn mapped_bytes(&self) -> usize {
        self.chunks.mapped_bytes()
    }
}

/// The bytes of a row. Panics when it has been released.
///
/// # Safety
/// The list holds the row, all of it is initialised, and nobody writes to it while the answer lives.
#[inline(always)]
unsafe fn row_of(chunks: &Chunks, slot: u32, row_bytes: usize) -> &[u8] {
    // SAFETY: the caller's; items are `row_bytes` long or longer, and the borrow of the list keeps them alive.
    unsafe { std::slice::from_raw_parts(chunks.item_unchecked(slot).as_ptr(), row_bytes) }
}

#[cfg(test)]
mod tests;
