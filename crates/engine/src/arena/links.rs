//! Fixed rows of `AtomicU32` that any number of threads read and write while the arena grows.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::block::Block;
use super::{HUGE_PAGE_BYTES, LINE_BYTES};

/// Enough for 2³⁰ rows even when the first bucket holds a single one.
const BUCKETS: usize = 31;

/// Bytes that the first bucket has at most, unless the hint asks for more.
const FIRST_BUCKET_BYTES: usize = 4 << 10;

/// Rows of `width` words each, zero at first, addressed by slot.
///
/// Memory comes in buckets, each twice the size of the one before, allocated whole when a row in it is first reserved
/// and never moved or copied: a reference to a row is valid as long as the arena, and growth cannot lose a concurrent
/// write. Large buckets are mapped, so that unwritten pages cost no memory.
pub struct LinkArena {
    width: usize,
    /// log₂ of the rows in the first bucket.
    first_shift: u32,
    buckets: [OnceLock<Block>; BUCKETS],
    /// One past the greatest row reserved.
    reserved: AtomicU32,
}

impl LinkArena {
    /// Greatest number of rows.
    pub const MAX_ROWS: u32 = 1 << 30;

    /// An empty arena of rows of `width` words that expects about `rows_hint` rows (0 when unknown).
    pub fn new(width: usize, rows_hint: u32) -> LinkArena {
        assert!((1..=4096).contains(&width), "rows of {width} words");
        let small = (FIRST_BUCKET_BYTES / (width * size_of::<u32>())).max(1);
        let rows = small.max(rows_hint.min(Self::MAX_ROWS) as usize).next_power_of_two();
        LinkArena {
            width,
            first_shift: rows.trailing_zeros(),
            buckets: [const { OnceLock::new() }; BUCKETS],
            reserved: AtomicU32::new(0),
        }
    }

    /// The words of a row, or none when it was never reserved. The caller chooses the memory order of its accesses.
    #[inline(always)]
    pub fn row(&self, slot: u32) -> &[AtomicU32] {
        let (bucket, offset) = self.place(slot);
        match self.buckets.get(bucket).and_then(OnceLock::get) {
            Some(block) => self.slice(block, offset),
            None => &[],
        }
    }

    /// The words of a row, whose memory is allocated if need be. Panics from [`LinkArena::MAX_ROWS`] on.
    pub fn reserve(&self, slot: u32) -> &[AtomicU32] {
        assert!(slot < Self::MAX_ROWS, "row {slot} is beyond the limit of a link arena");
        let (bucket, offset) = self.place(slot);
        let block = self.block(bucket);
        // Where a greater one was reserved before, threads that fill rows at the same time do not write to the same memory.
        if slot >= self.reserved.load(Ordering::Relaxed) {
            self.reserved.fetch_max(slot + 1, Ordering::Relaxed);
        }
        self.slice(block, offset)
    }

    /// Allocates what the rows below `end` will need, so that [`LinkArena::reserve`] finds it. Without memory it unwinds to
    /// the next `catch` of the allocator.
    pub fn provide(&self, end: u32) {
        if let Some(last) = end.min(Self::MAX_ROWS).checked_sub(1) {
            let (bucket, _) = self.place(last);
            self.block(bucket);
        }
    }

    fn block(&self, bucket: usize) -> &Block {
        let rows = 1usize << (bucket as u32 + self.first_shift);
        self.buckets[bucket].get_or_init(|| Block::zeroed(rows * self.width * size_of::<u32>()))
    }

    /// Words of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Bytes in memory: all bytes of small buckets, and the huge pages of mapped buckets up to the greatest row reserved.
    pub fn bytes(&self) -> usize {
        let reserved = self.reserved.load(Ordering::Relaxed) as usize;
        let mut first_row = 0;
        let mut total = 0;
        for (bucket, block) in self.buckets.iter().enumerate() {
            let rows = 1usize << (bucket as u32 + self.first_shift);
            if let Some(block) = block.get() {
                let used = reserved.saturating_sub(first_row) * self.width * size_of::<u32>();
                let touched = if block.bytes() < HUGE_PAGE_BYTES { block.bytes() } else { used };
                total += touched.next_multiple_of(HUGE_PAGE_BYTES).min(block.bytes());
            }
            first_row += rows;
        }
        total
    }

    /// The bucket of a row and its place there: row r is number r + 2^shift in a binary tree of levels.
    #[inline(always)]
    fn place(&self, slot: u32) -> (usize, usize) {
        let number = slot as usize + (1 << self.first_shift);
        let level = number.ilog2();
        ((level - self.first_shift) as usize, number - (1 << level))
    }

    #[inline(always)]
    fn slice<'a>(&'a self, block: &'a Block, offset: usize) -> &'a [AtomicU32] {
        let start = block.start().cast::<AtomicU32>();
        // SAFETY: `place` gives an offset below the number of rows in the bucket, and `reserve` sized the block as
        // that many rows of `width` words. The memory is zeroed, aligned to a cache line, only ever accessed as
        // `AtomicU32`, and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(start.add(offset * self.width).as_ptr(), self.width) }
    }
}

// Rows of 16, 32, … words must not straddle cache lines.
const _: () = assert!(LINE_BYTES.is_multiple_of(size_of::<AtomicU32>()));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_zero_at_first_disjoint_and_stay_in_place() {
        for (width, hint) in [(1, 0), (32, 0), (5, 1000), (1024, 0)] {
            let arena = LinkArena::new(width, hint);
            let count = 40_000 / width as u32 + 10;
            let mut places = Vec::new();
            for slot in 0..count {
                let words = arena.reserve(slot);
                assert_eq!(words.len(), width);
                assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
                words.iter().for_each(|word| word.store(slot + 1, Ordering::Relaxed));
                places.push(words.as_ptr());
            }
            for slot in 0..count {
                let words = arena.row(slot);
                assert_eq!(words.as_ptr(), places[slot as usize]);
                assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == slot + 1));
            }
        }
    }

    #[test]
    fn a_row_that_was_never_reserved_is_empty() {
        let arena = LinkArena::new(32, 0);
        assert!(arena.row(0).is_empty());
        assert!(arena.row(u32::MAX).is_empty());
        arena.reserve(5_000_000);
        assert!(arena.row(0).is_empty());
        assert!(arena.bytes() <= 5_000_000 * 128 + HUGE_PAGE_BYTES);
    }

    #[test]
    fn concurrent_growth_loses_no_write() {
        let arena = LinkArena::new(2, 0);
        std::thread::scope(|scope| {
            for thread in 0..2u32 {
                let arena = &arena;
                scope.spawn(move || {
                    for slot in 0..50_000 {
                        arena.reserve(slot)[thread as usize].store(slot + 1, Ordering::Relaxed);
                    }
                });
            }
        });
        for slot in 0..50_000 {
            assert!(arena.row(slot).iter().all(|word| word.load(Ordering::Relaxed) == slot + 1));
        }
    }
}
