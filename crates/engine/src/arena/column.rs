//! One integer a row that its writer may change after readers have seen it, such as the operation at which the row died.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::HUGE_PAGE_BYTES;
use super::chunks::Chunks;

/// A column of `u32`.
pub type AtomicColumn32 = AtomicColumn<AtomicU32>;
/// A column of `u64`.
pub type AtomicColumn64 = AtomicColumn<AtomicU64>;
/// A reader's handle on an [`AtomicColumn32`].
pub type ColumnTable32 = ColumnTable<AtomicU32>;
/// A reader's handle on an [`AtomicColumn64`].
pub type ColumnTable64 = ColumnTable<AtomicU64>;

/// A full chunk of a column is a huge page: with larger ones, a column would keep the rows of more chunks that were dropped.
const CHUNK_BYTES: usize = HUGE_PAGE_BYTES;

/// An atomic integer of a column: `AtomicU32` or `AtomicU64`, and nothing else, because zeroed memory is read as one.
pub trait AtomicWord: sealed::Sealed {
    /// Its value.
    type Value;
    /// Reads with acquire order.
    fn read(&self) -> Self::Value;
    /// Writes with release order.
    fn write(&self, value: Self::Value);
}

mod sealed {
    /// What no other module can implement.
    pub trait Sealed {}
}

macro_rules! atomic_words {
    ($($atomic:ty: $value:ty),*) => {$(
        impl sealed::Sealed for $atomic {}

        impl AtomicWord for $atomic {
            type Value = $value;

            #[inline(always)]
            fn read(&self) -> $value {
                self.load(Ordering::Acquire)
            }

            #[inline(always)]
            fn write(&self, value: $value) {
                self.store(value, Ordering::Release);
            }
        }
    )*};
}

atomic_words!(AtomicU32: u32, AtomicU64: u64);

/// A column of integers with one writer. Readers hold [`ColumnTable`]s.
///
/// # What readers see
/// A store to a row is visible, with release order, in every table that shares the memory of the row. While the column is
/// small (below 2 MiB), growth copies it, and a later store is visible only in tables taken after that copy. So the meaning
/// of a value must not depend on whether a reader sees the stores after its table was taken. Numbers of operations have this
/// property: a death that is stored after a view was taken is of a later operation than the view, for which the row is alive.
pub struct AtomicColumn<W> {
    chunks: Chunks,
    len: u32,
    word: PhantomData<W>,
}

impl<W: AtomicWord> Default for AtomicColumn<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: AtomicWord> AtomicColumn<W> {
    /// An empty column.
    pub fn new() -> AtomicColumn<W> {
        AtomicColumn { chunks: Chunks::of_bytes(size_of::<W>(), CHUNK_BYTES), len: 0, word: PhantomData }
    }

    /// Appends a value and returns its slot. Panics after 2³² − 1 rows.
    pub fn push(&mut self, value: W::Value) -> u32 {
        let slot = self.len;
        let len = slot.checked_add(1).expect("row numbers are u32");
        self.chunks.reserve(slot);
        cell::<W>(&self.chunks, slot).write(value);
        self.len = len;
        slot
    }

    /// Changes the value of a row. Panics when there is no such row. Takes `&mut self` because growth, which copies the
    /// values, could lose a store of another thread.
    pub fn store(&mut self, slot: u32, value: W::Value) {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        cell::<W>(&self.chunks, slot).write(value);
    }

    /// The value of a row. Panics when there is no such row.
    pub fn load(&self, slot: u32) -> W::Value {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        cell::<W>(&self.chunks, slot).read()
    }

    /// Drops the rows from `len` on, as after a commit that failed. A table that holds such rows may see the values of new
    /// rows in their places. Panics when there are fewer rows.
    pub fn truncate(&mut self, len: u32) {
        assert!(len <= self.len, "cannot keep {len} of {} rows", self.len);
        self.len = len;
    }

    /// Rows of a full chunk, which [`AtomicColumn::clear`] clears.
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
    pub fn table(&self) -> ColumnTable<W> {
        ColumnTable { chunks: self.chunks.clone(), len: self.len, word: PhantomData }
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

/// A reader's handle on an [`AtomicColumn`], whose documentation says which stores it sees.
pub struct ColumnTable<W> {
    chunks: Chunks,
    len: u32,
    word: PhantomData<W>,
}

impl<W> Clone for ColumnTable<W> {
    fn clone(&self) -> Self {
        ColumnTable { chunks: self.chunks.clone(), len: self.len, word: PhantomData }
    }
}

impl<W: AtomicWord> ColumnTable<W> {
    /// Bytes held, those reserved for further rows included.
    pub fn memory_bytes(&self) -> usize {
        self.chunks.memory_bytes(self.len)
    }

    /// The value of a row. Panics when there is no such row.
    #[inline(always)]
    pub fn load(&self, slot: u32) -> W::Value {
        assert!(slot < self.len, "row {slot} of {}", self.len);
        cell::<W>(&self.chunks, slot).read()
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
fn cell<W: AtomicWord>(chunks: &Chunks, slot: u32) -> &W {
    // SAFETY: items have the size and alignment of `W`, which is an atomic integer since the trait is sealed, are zeroed when made, and are accessed as `W` only
    // (growth copies under `&mut` of the column, when there are no stores). The borrow of `chunks` keeps the memory alive.
    unsafe { chunks.item(slot).cast::<W>().as_ref() }
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
    fn narrow_values_take_half_the_memory() {
        let (mut narrow, mut wide) = (AtomicColumn32::new(), AtomicColumn64::new());
        for slot in 0..1_200_000u32 {
            assert_eq!((narrow.push(!slot), wide.push(0)), (slot, slot));
        }
        let table = narrow.table();
        for slot in [0, 1, 511, 600_000, 1_199_999] {
            assert_eq!(table.load(slot), !slot);
            narrow.store(slot, 7);
            assert_eq!((narrow.load(slot), table.load(slot)), (7, 7));
        }
        assert_eq!(narrow.bytes(), (1_200_000 * 4usize).next_multiple_of(HUGE_PAGE_BYTES));
        assert_eq!(wide.bytes(), (1_200_000 * 8usize).next_multiple_of(HUGE_PAGE_BYTES));
    }

    #[test]
    fn a_small_column_reserves_at_most_a_third_more_than_it_has_beyond_its_first_pages() {
        let mut column = AtomicColumn64::new();
        for slot in 0..200_000usize {
            column.push(0);
            let used = (slot + 1) * size_of::<u64>();
            assert!(column.bytes() <= used * 4 / 3 + (12 << 10), "{} of {used}", column.bytes());
        }
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
