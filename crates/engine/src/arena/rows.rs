//! Rows of `f32`, all of one length, appended by one writer.

use std::sync::atomic::{AtomicU32, Ordering};

use super::LINE_BYTES;
use super::chunks::Chunks;

/// The rows that one writer appends. Readers get them as [`RowTable`]s.
///
/// # Invariants
/// 1. A row below the length of any table that was handed out is never written again. [`RowArena::truncate`] below
///    such a length moves the surviving rows of the affected chunk to fresh memory first, so that an old table still
///    reads what it always read.
/// 2. Rows above every handed-out length belong to the writer alone: it may drop and overwrite them in place.
pub struct RowArena {
    chunks: Chunks,
    dim: usize,
    len: u32,
    /// Greatest length of a table over the present memory (invariant 1).
    frozen: AtomicU32,
}

impl RowArena {
    /// An empty arena for rows of `dim` components, 1 to 65,536.
    pub fn new(dim: usize) -> RowArena {
        assert!((1..=65_536).contains(&dim), "rows of {dim} components");
        let stride_bytes = (dim * size_of::<f32>()).next_multiple_of(LINE_BYTES);
        RowArena { chunks: Chunks::new(stride_bytes), dim, len: 0, frozen: AtomicU32::new(0) }
    }

    /// Appends a row and returns its number. Panics when its length is not that of the arena, or after 2³² − 1 rows.
    pub fn push(&mut self, row: &[f32]) -> u32 {
        assert_eq!(row.len(), self.dim, "row of a wrong length");
        let number = self.len;
        let len = number.checked_add(1).expect("row numbers are u32");
        self.chunks.reserve(number);
        let place = self.chunks.item(number).cast::<f32>();
        // SAFETY: the item is `dim` floats long or longer. No table reads it: all their lengths are at most `frozen`,
        // and `frozen <= len` (kept by `truncate`). `&mut self` excludes other writers.
        unsafe { place.as_ptr().copy_from_nonoverlapping(row.as_ptr(), row.len()) }
        self.len = len;
        number
    }

    /// Drops the rows from `len` on, as after a commit that failed. Tables that hold them stay as they are.
    /// Panics when there are fewer rows.
    pub fn truncate(&mut self, len: u32) {
        assert!(len <= self.len, "cannot keep {len} of {} rows", self.len);
        if len < *self.frozen.get_mut() {
            self.chunks.fork(len);
            *self.frozen.get_mut() = len;
        }
        self.len = len;
    }

    /// The rows as they are now. Costs two words and a reference count.
    pub fn table(&self) -> RowTable {
        self.frozen.fetch_max(self.len, Ordering::Relaxed);
        RowTable { chunks: self.chunks.clone(), dim: self.dim, len: self.len }
    }

    /// The components of a row that is there.
    pub fn row(&self, row: u32) -> &[f32] {
        assert!(row < self.len, "row {row} of {}", self.len);
        // SAFETY: rows below `len` are initialised, `dim` floats long, and written only through `&mut self`.
        unsafe { std::slice::from_raw_parts(self.chunks.item(row).cast::<f32>().as_ptr(), self.dim) }
    }

    /// Number of rows.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held for rows, those reserved for the next ones included.
    pub fn bytes(&self) -> usize {
        self.chunks.bytes()
    }
}

/// The rows of a [`RowArena`] at one moment. Immutable, cheap to clone, readable from any thread.
#[derive(Clone)]
pub struct RowTable {
    chunks: Chunks,
    dim: usize,
    len: u32,
}

impl RowTable {
    /// A row, `dim` components. Panics when there is no such row.
    #[inline(always)]
    pub fn row(&self, row: u32) -> &[f32] {
        assert!(row < self.len, "row {row} of {}", self.len);
        // SAFETY: `push` has reserved and written every row below `len` of the arena, and nobody writes to it again
        // while a table holds it (invariant 1). Hand-over of the table to this thread orders those writes before.
        unsafe {
            let start = self.chunks.item_unchecked(row).cast::<f32>();
            std::slice::from_raw_parts(start.as_ptr(), self.dim)
        }
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

    /// Components of a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Bytes held for rows, those reserved for the next ones included.
    pub fn bytes(&self) -> usize {
        self.chunks.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(dim: usize, number: u32) -> Vec<f32> {
        (0..dim).map(|i| number as f32 * 0.5 + i as f32).collect()
    }

    #[test]
    fn rows_read_back_across_chunks_and_start_on_cache_lines() {
        for dim in [1, 3, 16, 17, 384, 784, 65_536] {
            let count = (9 << 20) / (dim as u32 * 4).max(64) + 3;
            let mut arena = RowArena::new(dim);
            for number in 0..count {
                assert_eq!(arena.push(&row(dim, number)), number);
            }
            let table = arena.table();
            assert_eq!(table.len(), count);
            for number in (0..count).step_by(97).chain([count - 1]) {
                assert_eq!(table.row(number), row(dim, number), "dim {dim}");
                assert_eq!(table.row(number).as_ptr().align_offset(LINE_BYTES), 0);
            }
        }
    }

    #[test]
    fn ten_rows_cost_kilobytes() {
        let mut arena = RowArena::new(384);
        for number in 0..10 {
            arena.push(&row(384, number));
        }
        assert!(arena.bytes() <= 32 << 10, "{} bytes", arena.bytes());
    }

    #[test]
    fn a_table_keeps_its_rows_while_the_arena_grows_and_is_dropped() {
        let mut arena = RowArena::new(8);
        let mut tables = Vec::new();
        for number in 0..5000 {
            if number % 251 == 0 {
                tables.push(arena.table());
            }
            arena.push(&row(8, number));
        }
        drop(arena);
        for table in tables {
            assert!((0..table.len()).all(|number| table.row(number) == row(8, number)));
        }
    }

    #[test]
    fn truncating_below_a_table_leaves_the_table_as_it_was() {
        let mut arena = RowArena::new(300);
        let count = 10_000;
        for number in 0..count {
            arena.push(&row(300, number));
        }
        let before = arena.table();
        for len in [9_999, 4096, 4095, 5, 0] {
            arena.truncate(len);
            assert_eq!(arena.push(&row(300, 77_777)), len);
            let after = arena.table();
            assert!((0..len).step_by(61).all(|number| after.row(number) == row(300, number)));
            assert_eq!(after.row(len), row(300, 77_777));
            assert!((0..count).step_by(61).chain([len]).all(|number| before.row(number) == row(300, number)));
        }
    }

    #[test]
    fn truncating_unread_rows_reuses_their_places() {
        let mut arena = RowArena::new(4);
        arena.push(&row(4, 0));
        let table = arena.table();
        arena.push(&row(4, 1));
        arena.truncate(1);
        arena.push(&row(4, 2));
        assert_eq!(arena.table().row(0).as_ptr(), table.row(0).as_ptr());
        assert_eq!(arena.table().row(1), row(4, 2));
    }

    #[test]
    fn reading_beyond_a_table_panics() {
        let mut arena = RowArena::new(4);
        let empty = arena.table();
        arena.push(&row(4, 0));
        assert!(std::panic::catch_unwind(|| empty.row(0).len()).is_err());
        let table = arena.table();
        assert!(std::panic::catch_unwind(|| table.row(1).len()).is_err());
    }

    #[test]
    fn readers_see_whole_rows_while_the_writer_appends() {
        let (sender, receiver) = std::sync::mpsc::sync_channel::<RowTable>(4);
        let reader = std::thread::spawn(move || {
            for table in receiver {
                let last = table.len() - 1;
                assert_eq!(table.row(last), row(64, last));
                assert_eq!(table.row(last / 2), row(64, last / 2));
            }
        });
        let mut arena = RowArena::new(64);
        for number in 0..20_000 {
            arena.push(&row(64, number));
            if number % 16 == 0 {
                sender.send(arena.table()).expect("the reader lives");
            }
        }
        drop(sender);
        reader.join().expect("the reader saw whole rows");
    }
}
