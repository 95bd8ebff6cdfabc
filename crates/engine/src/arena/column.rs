//! One `u64` a row that its writer may change after readers have seen it, such as the operation at which the row died.

use std::sync::atomic::{AtomicU64, Ordering};

use super::chunks::Chunks;

/// A column of `u64` with one writer. Readers hold [`ColumnTable`]s.
///
/// # What readers see
/// A store to a row is visible, with release order, in every table that shares the memory of the row. While the column is
/// small (below 2 MiB), growth copies it, and a later store is visible only in tables taken after that copy. So the meaning
/// of a value must not depend on whether a reader sees the stores after its table was taken. Numbers of operations have this
/// property: a death that is stored after a view was taken is of a later operation than the view, for which the row is alive.
pub struct AtomicColumn64 {
    chunks: Chunks,
    len: u32,
}

impl Default for AtomicColumn64 {
    fn default() -> Self {
        Self::new()
    }
}

impl AtomicColumn64 {
    /// An empty column.
    pub fn new() -> AtomicColumn64 {
        AtomicColumn64 { chunks: Chunks::new(size_of::<AtomicU64>()), len: 0 }
    }

    /// Appends a value and returns its slot. Panics after 2³² − 1 rows.
    pub fn push(&mut self, value: u64) -> u32 {
        let slot = self.len;
        let len = slot.checked_add(1).expect("row numbers are u32");
        self.chunks.reserve(slot);
        cell(&self.chunks, slot).store(value, Ordering::Release);
        self.len = len;
        slot
    }

    /// Changes the value of a row. Panics when there is no such row. Takes `&mut self` because growth, which copies the
    /// values, could lose a store of another thread.
    pub fn store(&mut self, slot: u32, value: u64) {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        cell(&self.chunks, slot).store(value, Ordering::Release);
    }

    /// The value of a row. Panics when there is no such row.
    pub fn load(&self, slot: u32) -> u64 {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        cell(&self.chunks, slot).load(Ordering::Acquire)
    }

    /// Drops the rows from `len` on, as after a commit that failed. A table that holds such rows may see the values of new
    /// rows in their places. Panics when there are fewer rows.
    pub fn truncate(&mut self, len: u32) {
        assert!(len <= self.len, "cannot keep {len} of {} rows", self.len);
        self.len = len;
    }

    /// Rows of a full chunk, which [`AtomicColumn64::clear`] clears.
    pub fn chunk_rows(&self) -> u32 {
        self.chunks.chunk_items()
    }

    /// Makes the values of a full chunk 0 in tables that are taken from now on, and frees their memory. Nothing may be stored to
    /// these rows afterwards. Panics when the chunk is not full.
    pub fn clear(&mut self, chunk: u32) {
        assert!(chunk < self.len / self.chunk_rows(), "chunk {chunk} of {} rows is not full", self.len);
        self.chunks.clear(chunk);
    }

    /// A handle for readers on the rows there are now. Costs a word and a reference count.
    pub fn table(&self) -> ColumnTable {
        ColumnTable { chunks: self.chunks.clone(), len: self.len }
    }

    /// Number of rows.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held, those reserved for further rows included.
    pub fn bytes(&self) -> usize {
        self.chunks.memory_bytes(self.len)
    }
}

/// A reader's handle on an [`AtomicColumn64`], whose documentation says which stores it sees.
#[derive(Clone)]
pub struct ColumnTable {
    chunks: Chunks,
    len: u32,
}

impl ColumnTable {
    /// Bytes held, those reserved for further rows included.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes(self.len)
    }

    /// The value of a row. Panics when there is no such row.
    #[inline(always)]
    pub fn load(&self, slot: u32) -> u64 {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        cell(&self.chunks, slot).load(Ordering::Acquire)
    }

    /// Number of rows.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[inline(always)]
fn cell(chunks: &Chunks, slot: u32) -> &AtomicU64 {
    // SAFETY: items are eight bytes, aligned to eight, zeroed when made, and accessed as `AtomicU64` only (growth
    // copies under `&mut` of the column, when there are no stores). The borrow of `chunks` keeps the memory alive.
    unsafe { chunks.item(slot).cast::<AtomicU64>().as_ref() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_back_and_change_in_place_in_every_chunk() {
        let mut column = AtomicColumn64::new();
        for slot in 0..1_200_000u64 {
            assert_eq!(u64::from(column.push(slot * 3)), slot);
        }
        let table = column.table();
        for slot in [0, 1, 511, 600_000, 1_199_999] {
            assert_eq!(table.load(slot), u64::from(slot) * 3);
            column.store(slot, 7);
            assert_eq!((column.load(slot), table.load(slot)), (7, 7));
        }
        assert_eq!(table.len(), 1_200_000);
    }

    #[test]
    fn an_old_table_reads_its_rows_after_the_column_has_moved() {
        let mut column = AtomicColumn64::new();
        column.push(1);
        let table = column.table();
        for _ in 0..10_000 {
            column.push(2);
        }
        column.store(0, 9);
        assert_eq!(column.load(0), 9);
        assert!([1, 9].contains(&table.load(0)));
        assert!(std::panic::catch_unwind(|| table.load(1)).is_err());
    }

    #[test]
    fn truncated_rows_are_appended_again() {
        let mut column = AtomicColumn64::new();
        for value in 0..100 {
            column.push(value);
        }
        column.truncate(40);
        assert_eq!(column.push(1000), 40);
        assert_eq!((column.load(39), column.load(40), column.len()), (39, 1000, 41));
    }
}
