//! Rows of bytes of any length, appended by one writer.

use crate::storage::Map;
use crate::types::Row;
use imbl::Vector;
use std::sync::Arc;

/// Rows, numbered from 0. A clone costs a few reference counts and never changes: readers hold clones, and a writer restores
/// one.
///
/// The rows of a full chunk are contiguous, in memory or in a read-only map. Each row after the last full chunk has memory of
/// its own.
#[derive(Clone)]
pub struct SparseRows {
    chunk_rows: u32,
    full: Arc<Vec<Chunk>>,
    /// Rows of the chunk that is not full.
    last: Vector<Arc<[u8]>>,
}

/// A full chunk of rows.
#[derive(Clone)]
enum Chunk {
    Held {
        /// Where each row ends.
        ends: Arc<[u64]>,
        bytes: Bytes,
    },
    /// All of its rows are dead.
    Released,
}

#[derive(Clone)]
enum Bytes {
    Memory(Arc<[u8]>),
    Mapped { map: Map, offset: usize, len: usize },
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Bytes::Memory(bytes) => bytes,
            Bytes::Mapped { map, offset, len } => &map[*offset..*offset + *len],
        }
    }
}

impl SparseRows {
    /// No rows. A full chunk has `chunk_rows` of them.
    pub fn new(chunk_rows: u32) -> SparseRows {
        SparseRows { chunk_rows, full: Arc::default(), last: Vector::new() }
    }

    /// Appends a row and returns its number.
    pub fn push(&mut self, row: &[u8]) -> Row {
        let number = self.len();
        self.last.push_back(row.into());
        if self.last.len() == self.chunk_rows as usize {
            let mut bytes = Vec::with_capacity(self.last.iter().map(|row| row.len()).sum());
            let ends = self
                .last
                .iter()
                .map(|row| {
                    bytes.extend_from_slice(row);
                    bytes.len() as u64
                })
                .collect();
            Arc::make_mut(&mut self.full).push(Chunk::Held { ends, bytes: Bytes::Memory(bytes.into()) });
            self.last = Vector::new();
        }
        Row::new(number)
    }

    /// Appends a full chunk whose rows a map holds without gaps from byte `offset` on. The rows so far must fill their chunks,
    /// and the map must be long enough.
    pub fn push_mapped(&mut self, lengths: &[u32], map: &Map, offset: usize) {
        assert!(
            self.last.is_empty() && lengths.len() == self.chunk_rows as usize,
            "a chunk is full or the last"
        );
        let mut len = 0;
        let ends = lengths
            .iter()
            .map(|length| {
                len += u64::from(*length);
                len
            })
            .collect();
        let bytes = Bytes::Mapped { map: map.clone(), offset, len: len as usize };
        Arc::make_mut(&mut self.full).push(Chunk::Held { ends, bytes });
    }

    /// Appends a full chunk that was released. The rows so far must fill their chunks.
    pub fn push_released(&mut self) {
        assert!(self.last.is_empty(), "a chunk is full or the last");
        Arc::make_mut(&mut self.full).push(Chunk::Released);
    }

    /// Replaces the memory of a full chunk by a map that holds the same rows without gaps from byte `offset` on.
    pub fn seal(&mut self, chunk: u32, map: &Map, offset: usize) {
        if let Some(Chunk::Held { bytes, .. }) = Arc::make_mut(&mut self.full).get_mut(chunk as usize) {
            let mapped = Bytes::Mapped { map: map.clone(), offset, len: bytes.get().len() };
            debug_assert!(bytes.get() == mapped.get(), "the map does not hold the rows of chunk {chunk}");
            *bytes = mapped;
        }
    }

    /// Drops a full chunk, all of whose rows are dead: reading one of them panics from now on. Clones keep them.
    pub fn release(&mut self, chunk: u32) {
        Arc::make_mut(&mut self.full)[chunk as usize] = Chunk::Released;
    }

    /// A row. Panics when there is none, or when it has been released.
    pub fn row(&self, row: Row) -> &[u8] {
        let (chunk, at) = ((row.get() / self.chunk_rows) as usize, (row.get() % self.chunk_rows) as usize);
        match self.full.get(chunk) {
            Some(Chunk::Held { ends, bytes }) => {
                let from = at.checked_sub(1).map_or(0, |before| ends[before]);
                &bytes.get()[from as usize..ends[at] as usize]
            }
            Some(Chunk::Released) => panic!("{row:?} has been released"),
            None => &self.last[row.index() - self.full.len() * self.chunk_rows as usize],
        }
    }

    /// Whether a row is there and has not been released.
    pub fn holds(&self, row: Row) -> bool {
        let chunk = self.full.get((row.get() / self.chunk_rows) as usize);
        row.get() < self.len() && !matches!(chunk, Some(Chunk::Released))
    }

    /// Rows, those released included.
    pub fn len(&self) -> u32 {
        let full = self.full.len() as u64 * u64::from(self.chunk_rows);
        u32::try_from(full + self.last.len() as u64).expect("row numbers are u32")
    }

    /// Rows that have not been released.
    pub fn held(&self) -> u32 {
        let released = self.full.iter().filter(|chunk| matches!(chunk, Chunk::Released)).count();
        self.len() - released as u32 * self.chunk_rows
    }

    /// Rows of a full chunk.
    pub fn chunk_rows(&self) -> u32 {
        self.chunk_rows
    }

    /// Full chunks, those released included.
    pub fn full_chunks(&self) -> u32 {
        self.full.len() as u32
    }

    /// Bytes of memory, maps left out.
    pub fn memory_bytes(&self) -> usize {
        let held = self.full.iter().map(|chunk| match chunk {
            Chunk::Held { ends, bytes } => {
                let rows = if let Bytes::Memory(bytes) = bytes { bytes.len() } else { 0 };
                size_of_val(&**ends) + rows
            }
            Chunk::Released => 0,
        });
        held.chain(self.last.iter().map(|row| size_of::<Arc<[u8]>>() + row.len())).sum()
    }

    /// Bytes of rows that are read from maps.
    pub fn mapped_bytes(&self) -> usize {
        let mapped = self.full.iter().map(|chunk| match chunk {
            Chunk::Held { bytes: Bytes::Mapped { len, .. }, .. } => *len,
            _ => 0,
        });
        mapped.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32) -> Vec<u8> {
        vec![number as u8; number as usize % 7]
    }

    fn check(rows: &SparseRows, len: u32) {
        assert_eq!(rows.len(), len);
        assert!((0..len).all(|number| rows.row(Row::new(number)) == row(number)));
    }

    #[test]
    fn a_clone_stays_as_it_was_and_can_be_gone_back_to() {
        let mut rows = SparseRows::new(4);
        let mut clones = Vec::new();
        for number in 0..30 {
            clones.push(rows.clone());
            assert_eq!(rows.push(&row(number)), Row::new(number));
        }
        check(&rows, 30);
        for (len, clone) in (0..).zip(&clones) {
            check(clone, len);
        }
        let mut rows = clones.swap_remove(9);
        assert_eq!(rows.push(&row(9)), Row::new(9));
        check(&rows, 10);
    }

    #[test]
    fn full_chunks_are_read_from_a_map_or_dropped() {
        let mut rows = SparseRows::new(4);
        for number in 0..10 {
            rows.push(&row(number));
        }
        let before = rows.clone();
        let chunk: Vec<u8> = [9, 9].into_iter().chain((4..8).flat_map(row)).collect();
        let map = Map::of_bytes(chunk);
        rows.seal(1, &map, 2);
        check(&rows, 10);
        assert_eq!(rows.mapped_bytes(), 4 + 5 + 6);
        rows.release(0);
        assert_eq!(
            [0, 3, 4, 9, 10].map(|number| rows.holds(Row::new(number))),
            [false, false, true, true, false]
        );
        check(&before, 10);
        let mut opened = SparseRows::new(4);
        opened.push_released();
        opened.push_mapped(&[4, 5, 6, 0], &map, 2);
        for number in 8..10 {
            opened.push(&row(number));
        }
        assert!((4..10).all(|number| opened.row(Row::new(number)) == row(number)));
        assert!(!opened.holds(Row::new(2)));
    }
}
