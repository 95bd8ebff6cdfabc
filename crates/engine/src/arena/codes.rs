//! Rows of bytes that are written once, by any thread, and read by all without locks.

use std::sync::atomic::{AtomicU64, Ordering};

use kithdb_kernels::{CODE_LINE_BYTES, Hint, prefetch_range};

use super::buckets::Buckets;

/// The bit of a tag that says that its row is written.
const WRITTEN: u64 = 1;

/// The tag of a row that is being written.
const WRITING: u64 = 2;

/// Bytes of a tag.
const TAG_BYTES: usize = size_of::<AtomicU64>();

/// Fixed rows of bytes, each with a tag of 64 bits, addressed by slot. A row is written once and never changes.
///
/// A row starts on a cache line and fills whole lines. Its tag is in the last eight bytes of the last line if the payload leaves
/// them free, and in a separate column otherwise.
///
/// # Why readers need no lock
/// The tag is the row's state: 0 at first, [`WRITING`] while its one writer fills it, and then the tag that was given,
/// whose lowest bit is set. The writer sets it by compare-and-swap, so that there is only one, and publishes with
/// release order; a reader looks at the bytes only after it has seen the lowest bit with acquire order.
pub struct CodeArena {
    rows: Buckets,
    /// Tags, if rows have no space for them.
    tags: Option<Buckets>,
    payload_bytes: usize,
}

impl CodeArena {
    /// Greatest number of rows.
    pub const MAX_ROWS: u32 = Buckets::MAX_ITEMS;

    /// An empty arena of rows with a payload of that size.
    pub fn new(payload_bytes: usize) -> CodeArena {
        assert!(payload_bytes > 0, "rows of no bytes");
        let row_bytes = payload_bytes.next_multiple_of(CODE_LINE_BYTES);
        let inside = row_bytes - payload_bytes >= TAG_BYTES;
        let tags = (!inside).then(|| Buckets::new(TAG_BYTES));
        CodeArena { rows: Buckets::new(row_bytes), tags, payload_bytes }
    }

    /// Bytes of a row: the payload, padded to whole cache lines.
    pub fn row_bytes(&self) -> usize {
        self.rows.item_bytes()
    }

    /// Allocates what the rows below `end` will need, so that no write of one allocates. Without memory it unwinds to the
    /// next `catch` of the allocator.
    pub fn provide(&self, end: u32) {
        self.rows.provide(end);
        self.tags.iter().for_each(|tags| tags.provide(end));
    }

    /// Reserves the rows below `end`. Without memory it unwinds to the next `catch` of the allocator.
    pub fn reserve(&self, end: u32) {
        if let Some(last) = end.checked_sub(1) {
            self.rows.reserve(last);
            self.tags.iter().for_each(|tags| {
                tags.reserve(last);
            });
        }
    }

    /// Writes the row at `slot` with a tag whose lowest bit is taken as set. Panics when the row is written already or just
    /// being written, from [`CodeArena::MAX_ROWS`] on, or when the payload has another size than the arena's.
    pub fn write(&self, slot: u32, payload: &[u8], tag: u64) {
        assert_eq!(payload.len(), self.payload_bytes, "a row of a wrong size");
        let place = self.rows.reserve(slot);
        if let Some(tags) = &self.tags {
            tags.reserve(slot);
        }
        let state = self.tag(slot).expect("reserved above");
        let exchanged = state.compare_exchange(0, WRITING, Ordering::Relaxed, Ordering::Relaxed);
        assert!(exchanged.is_ok(), "row {slot} is written already");
        // SAFETY: the place has `row_bytes` bytes, of which the payload is the first and the tag none. The exchange makes
        // this thread the only writer ever, and readers stay away from the bytes until the tag is published below.
        unsafe { place.as_ptr().copy_from_nonoverlapping(payload.as_ptr(), payload.len()) }
        state.store(tag | WRITTEN, Ordering::Release);
    }

    /// A row and its tag, or none when it was never written. The row has [`CodeArena::row_bytes`] bytes; what follows
    /// the payload is zeros and possibly the tag.
    #[inline(always)]
    pub fn row(&self, slot: u32) -> Option<(&[u8], u64)> {
        let place = self.rows.item(slot)?;
        let tag = self.tag(slot)?.load(Ordering::Acquire);
        if tag & WRITTEN == 0 {
            return None;
        }
        // SAFETY: the place has that many bytes, zeroed at first and written before the tag was published, which the
        // acquiring load has seen; nobody writes to them again. They live as long as `self`.
        Some((unsafe { std::slice::from_raw_parts(place.as_ptr(), self.row_bytes()) }, tag))
    }

    /// The payload of a row and its tag, or none when it was never written.
    pub fn payload(&self, slot: u32) -> Option<(&[u8], u64)> {
        self.row(slot).map(|(bytes, tag)| (&bytes[..self.payload_bytes], tag))
    }

    /// Asks for the first `bytes` of a row, at most [`CodeArena::row_bytes`], and its tag.
    #[inline(always)]
    pub fn prefetch(&self, hint: Hint, slot: u32, bytes: usize) {
        prefetch_range(hint, self.rows.address(slot), bytes);
        match &self.tags {
            Some(tags) => prefetch_range(hint, tags.address(slot), TAG_BYTES),
            // It is in the last line, and read before anything else.
            None if bytes < self.row_bytes() => {
                let behind = self.row_bytes() - TAG_BYTES;
                prefetch_range(hint, self.rows.address(slot).wrapping_add(behind), TAG_BYTES);
            }
            None => {}
        }
    }

    /// One past the greatest row that was reserved, written or is being written.
    pub fn len(&self) -> u32 {
        self.rows.reserved()
    }

    /// Whether no row was ever reserved or written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.rows.bytes() + self.tags.as_ref().map_or(0, Buckets::bytes)
    }

    #[inline(always)]
    fn tag(&self, slot: u32) -> Option<&AtomicU64> {
        let place = match &self.tags {
            Some(tags) => tags.item(slot)?,
            // SAFETY: a row ends `row_bytes` after its start.
            None => unsafe { self.rows.item(slot)?.add(self.row_bytes() - TAG_BYTES) },
        };
        // SAFETY: eight zeroed bytes, aligned to eight: both places are at multiples of eight from the start of a
        // block. They are accessed as `AtomicU64` only, but for reads of a row that is written for good. They live
        // as long as `self`.
        Some(unsafe { place.cast::<AtomicU64>().as_ref() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inside the last line, just fitting there, and beside it.
    const SIZES: [usize; 6] = [1, 48, 56, 57, 64, 768];

    fn payload(bytes: usize, slot: u32) -> Vec<u8> {
        (0..bytes).map(|i| (slot as usize * 31 + i * 7) as u8).collect()
    }

    #[test]
    fn rows_read_back_with_their_tags_on_whole_lines() {
        for bytes in SIZES {
            let arena = CodeArena::new(bytes);
            assert!(arena.is_empty() && arena.row(0).is_none());
            for slot in (0..20_000).rev() {
                arena.write(slot, &payload(bytes, slot), u64::from(slot) << 20 | WRITTEN);
                Hint::ALL.iter().for_each(|&hint| arena.prefetch(hint, slot, arena.row_bytes()));
            }
            for slot in 0..20_000 {
                let (line, tag) = arena.row(slot).expect("written");
                assert_eq!(line.len() % CODE_LINE_BYTES + line.as_ptr().align_offset(CODE_LINE_BYTES), 0);
                assert_eq!(tag, u64::from(slot) << 20 | WRITTEN);
                assert_eq!(arena.payload(slot), Some((&payload(bytes, slot)[..], tag)));
            }
            Hint::ALL.iter().for_each(|&hint| arena.prefetch(hint, u32::MAX, arena.row_bytes()));
            assert!(arena.row(1 << 29).is_none() && arena.row(u32::MAX).is_none());
        }
    }

    #[test]
    fn a_row_that_was_skipped_is_absent() {
        for bytes in SIZES {
            let arena = CodeArena::new(bytes);
            arena.write(2, &payload(bytes, 2), 0);
            assert!(arena.row(0).is_none() && arena.row(1).is_none() && arena.row(3).is_none());
            assert_eq!(arena.row(2).map(|(_, tag)| tag), Some(WRITTEN));
            assert_eq!(arena.len(), 3);
        }
    }

    #[test]
    fn a_row_is_written_once() {
        let arena = CodeArena::new(64);
        arena.write(0, &payload(64, 0), 0);
        let again = std::panic::AssertUnwindSafe(|| arena.write(0, &payload(64, 1), 0));
        assert!(std::panic::catch_unwind(again).is_err());
        assert_eq!(arena.payload(0), Some((&payload(64, 0)[..], WRITTEN)));
    }

    #[test]
    fn readers_see_whole_rows_while_others_are_written() {
        for bytes in [48, 64] {
            let arena = CodeArena::new(bytes);
            std::thread::scope(|scope| {
                for thread in 0..2u32 {
                    let arena = &arena;
                    scope.spawn(move || {
                        for slot in (thread..30_000).step_by(2) {
                            arena.write(slot, &payload(bytes, slot), u64::from(slot) << 1);
                        }
                    });
                }
                for _ in 0..20 {
                    for slot in 0..30_000 {
                        if let Some((bytes_read, tag)) = arena.payload(slot) {
                            assert_eq!(
                                (bytes_read, tag),
                                (&payload(bytes, slot)[..], u64::from(slot) << 1 | 1)
                            );
                        }
                    }
                }
            });
        }
    }
}
