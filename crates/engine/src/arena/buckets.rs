//! Equal items in memory that grows without ever moving.

use std::ptr::{NonNull, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::HUGE_PAGE_BYTES;
use super::block::Block;

/// Enough for 2³⁰ items even when the first bucket holds a single one.
const BUCKETS: usize = 31;

/// Bytes that the first bucket has at most, or a single item.
const FIRST_BUCKET_BYTES: usize = 4 << 10;

/// Zeroed memory for items of one size, addressed by number and reserved in any order by any number of threads.
///
/// Memory comes in buckets, each twice the size of the one before, allocated whole when an item in it is first
/// reserved and never moved. Large buckets are mapped, so that unwritten pages cost no memory. The owner of the
/// buckets decides which threads may access an item, and when.
pub(super) struct Buckets {
    item_bytes: usize,
    /// log₂ of the items in the first bucket.
    first_shift: u32,
    /// Where each bucket starts, null until it is there.
    starts: [AtomicPtr<u8>; BUCKETS],
    /// The blocks that `starts` points into: they own the memory and know their sizes.
    blocks: [OnceLock<Block>; BUCKETS],
    /// One past the greatest item reserved.
    reserved: AtomicU32,
}

impl Buckets {
    /// Greatest number of items.
    pub(super) const MAX_ITEMS: u32 = 1 << 30;

    /// No items yet, of that size each.
    pub(super) fn new(item_bytes: usize) -> Buckets {
        assert!(item_bytes > 0, "items of no bytes");
        let items = (FIRST_BUCKET_BYTES / item_bytes).max(1);
        Buckets {
            item_bytes,
            first_shift: items.ilog2(),
            starts: [const { AtomicPtr::new(null_mut()) }; BUCKETS],
            blocks: [const { OnceLock::new() }; BUCKETS],
            reserved: AtomicU32::new(0),
        }
    }

    /// The address of an item, or none if its bucket was never allocated. It is valid as long as `self`.
    #[inline(always)]
    pub(super) fn item(&self, item: u32) -> Option<NonNull<u8>> {
        let (bucket, offset) = self.place(item);
        let start = NonNull::new(self.starts.get(bucket)?.load(Ordering::Acquire))?;
        // SAFETY: `reserve` made the bucket large enough for every offset that `place` gives in it.
        Some(unsafe { start.add(offset * self.item_bytes) })
    }

    /// The address of an item, or an invalid address if its bucket was never allocated: for prefetching.
    #[inline(always)]
    pub(super) fn address(&self, item: u32) -> *const u8 {
        let (bucket, offset) = self.place(item);
        let start = self.starts.get(bucket).map_or(null_mut(), |start| start.load(Ordering::Relaxed));
        start.wrapping_add(offset * self.item_bytes)
    }

    /// The place of an item, whose memory is allocated if need be. Panics from [`Buckets::MAX_ITEMS`] on.
    pub(super) fn reserve(&self, item: u32) -> NonNull<u8> {
        // Where a greater one was reserved before, threads that fill items at the same time do not write to the same memory.
        if item < self.reserved()
            && let Some(place) = self.item(item)
        {
            return place;
        }
        assert!(item < Self::MAX_ITEMS, "item {item} is beyond the limit");
        let (bucket, _) = self.place(item);
        let block = self.block(bucket);
        self.starts[bucket].store(block.start().as_ptr(), Ordering::Release);
        self.reserved.fetch_max(item + 1, Ordering::Relaxed);
        self.item(item).expect("its bucket was made above")
    }

    /// Allocates what the items below `end` will need, so that [`Buckets::reserve`] finds it. Without memory it unwinds to
    /// the next `catch` of the allocator.
    pub(super) fn provide(&self, end: u32) {
        if let Some(last) = end.min(Self::MAX_ITEMS).checked_sub(1) {
            let (bucket, _) = self.place(last);
            self.block(bucket);
        }
    }

    fn block(&self, bucket: usize) -> &Block {
        let items = 1usize << (bucket as u32 + self.first_shift);
        self.blocks[bucket].get_or_init(|| Block::zeroed(items * self.item_bytes))
    }

    /// One past the greatest item reserved.
    pub(super) fn reserved(&self) -> u32 {
        self.reserved.load(Ordering::Relaxed)
    }

    /// Bytes of an item.
    pub(super) fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    /// Bytes in memory: all bytes of small buckets, and the huge pages of mapped buckets up to the greatest item reserved.
    pub(super) fn bytes(&self) -> usize {
        let reserved = self.reserved() as usize;
        let (mut first_item, mut total) = (0, 0);
        for (bucket, block) in self.blocks.iter().enumerate() {
            if let Some(block) = block.get() {
                let used = reserved.saturating_sub(first_item) * self.item_bytes;
                total += if block.bytes() < HUGE_PAGE_BYTES {
                    block.bytes()
                } else {
                    used.next_multiple_of(HUGE_PAGE_BYTES).min(block.bytes())
                };
            }
            first_item += 1usize << (bucket as u32 + self.first_shift);
        }
        total
    }

    /// The bucket of an item and its place there: item i is number i + 2^shift in a binary tree of levels.
    #[inline(always)]
    fn place(&self, item: u32) -> (usize, usize) {
        let number = u64::from(item) + (1 << self.first_shift);
        let level = number.ilog2();
        ((level - self.first_shift) as usize, (number - (1 << level)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_in_place_and_do_not_overlap() {
        for item_bytes in [8, 64, 832, 5000, 300_000] {
            let buckets = Buckets::new(item_bytes);
            assert!(buckets.item(0).is_none());
            let count = (6 << 20) / item_bytes as u32 + 3;
            let mut places: Vec<_> = (0..count).map(|item| buckets.reserve(item)).collect();
            assert!((0..count).all(|item| buckets.item(item) == Some(places[item as usize])));
            assert!((0..count).all(|item| buckets.address(item) == places[item as usize].as_ptr()));
            assert!(buckets.item(u32::MAX).is_none());
            places.sort();
            let gaps = places.windows(2).map(|pair| pair[1].as_ptr().addr() - pair[0].as_ptr().addr());
            assert!(gaps.min().is_some_and(|gap| gap >= item_bytes));
        }
    }

    #[test]
    fn bytes_follow_what_is_reserved() {
        let buckets = Buckets::new(832);
        buckets.reserve(0);
        assert!(buckets.bytes() <= 4 << 10, "{}", buckets.bytes());
        for item in 1..100_000 {
            buckets.reserve(item);
        }
        let used = 100_000 * 832;
        assert!((used..used + (4 << 20)).contains(&buckets.bytes()), "{}", buckets.bytes());
    }
}
