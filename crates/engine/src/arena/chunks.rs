//! The chunk list that rows and columns share: equal items, a power of two of them a chunk.

use std::ptr::NonNull;
use std::sync::Arc;

use super::HUGE_PAGE_BYTES;
use super::block::Block;

/// Size that the first chunk starts with.
const FIRST_CHUNK_BYTES: usize = 4 << 10;

/// A full chunk is the smallest power of two of items that has at least this size: then two thirds or more of it are
/// whole huge pages, whatever the size of an item. What is not yet written costs no memory.
const FULL_CHUNK_BYTES: usize = 2 * HUGE_PAGE_BYTES;

/// One chunk; several lists may share its block.
#[derive(Clone)]
struct Chunk {
    /// `block.start()`, here to save readers a step.
    start: NonNull<u8>,
    block: Arc<Block>,
}

// SAFETY: the pointer is into the block, which the chunk keeps alive, and which is Send and Sync.
unsafe impl Send for Chunk {}
// SAFETY: as above; a chunk does not access the memory.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn zeroed(bytes: usize) -> Chunk {
        let block = Arc::new(Block::zeroed(bytes));
        Chunk { start: block.start(), block }
    }
}

/// A list of chunks at one moment. Cloning it is cheap, and a clone keeps its chunks alive.
///
/// The list itself never changes; growing makes a new one. All chunks hold `1 << shift` items, but for the first one
/// while it is the only one: it starts at 4 KiB and is replaced by a copy twice as large until it is full.
#[derive(Clone)]
pub(super) struct Chunks {
    chunks: Arc<[Chunk]>,
    item_bytes: usize,
    shift: u32,
}

impl Chunks {
    /// An empty list of items of that size.
    pub(super) fn new(item_bytes: usize) -> Chunks {
        assert!(item_bytes > 0 && item_bytes <= FULL_CHUNK_BYTES, "items of {item_bytes} bytes");
        let shift = FULL_CHUNK_BYTES.div_ceil(item_bytes).next_power_of_two().trailing_zeros();
        Chunks { chunks: Arc::new([]), item_bytes, shift }
    }

    /// Where item `index` lies. Panics when no chunk holds it.
    #[inline(always)]
    pub(super) fn item(&self, index: u32) -> NonNull<u8> {
        let chunk = &self.chunks[(index >> self.shift) as usize];
        let offset = (index & ((1 << self.shift) - 1)) as usize * self.item_bytes;
        // Only the first chunk may be smaller than its share of the index space.
        assert!(offset < chunk.block.bytes(), "item {index} is beyond its chunk");
        // SAFETY: a block holds a whole number of items, so the item lies inside it.
        unsafe { chunk.start.add(offset) }
    }

    /// Where item `index` lies, without the checks.
    ///
    /// # Safety
    /// `reserve(index)` has been called on this list, or on the one that it is a clone of, and no `fork` to `index` or
    /// fewer items since.
    #[inline(always)]
    pub(super) unsafe fn item_unchecked(&self, index: u32) -> NonNull<u8> {
        let offset = (index & ((1 << self.shift) - 1)) as usize * self.item_bytes;
        // SAFETY: `reserve` made a chunk that holds the item, and only `fork` takes chunks away.
        unsafe { self.chunks.get_unchecked((index >> self.shift) as usize).start.add(offset) }
    }

    /// Makes room for item `index`, one past the items in use. Moves items only while there is a single chunk, and
    /// then leaves the old copy to the clones that hold it. Nobody may write to the items meanwhile.
    pub(super) fn reserve(&mut self, index: u32) {
        let chunk = (index >> self.shift) as usize;
        assert!(chunk <= self.chunks.len(), "item {index} leaves a gap");
        if chunk > 0 {
            if chunk == self.chunks.len() {
                self.append(Chunk::zeroed(self.item_bytes << self.shift));
            }
            return;
        }
        let used = index as usize * self.item_bytes;
        let held = self.chunks.first().map_or(0, |first| first.block.bytes());
        if used < held {
            return;
        }
        let first = self.copy_of_first(used, self.next_first_bytes(held));
        self.chunks = Arc::new([first]);
    }

    /// Keeps the first `len` items and gives them memory that no clone shares, where items behind them would have to
    /// be written over.
    pub(super) fn fork(&mut self, len: u32) {
        let keep = (len >> self.shift) as usize;
        let rest = (len & ((1 << self.shift) - 1)) as usize * self.item_bytes;
        let mut chunks = self.chunks[..keep.min(self.chunks.len())].to_vec();
        if rest > 0 {
            let old = &self.chunks[keep];
            let new = Chunk::zeroed(old.block.bytes());
            // SAFETY: the items below `len` are in use, so they lie in the old block, are initialised, and nobody
            // writes to them now; the new block is as large and nobody else knows it.
            unsafe { new.start.copy_from_nonoverlapping(old.start, rest) }
            chunks.push(new);
        }
        self.chunks = chunks.into();
    }

    /// Bytes of address space held. Of the last chunk, the part that was never written costs no memory.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.block.bytes()).sum()
    }

    fn next_first_bytes(&self, held: usize) -> usize {
        let full = self.item_bytes << self.shift;
        let next = (held * 2).max(FIRST_CHUNK_BYTES);
        // Above the size of a huge page memory is mapped and untouched pages are free: no further copies.
        if next >= HUGE_PAGE_BYTES { full } else { next.next_multiple_of(self.item_bytes).min(full) }
    }

    fn copy_of_first(&self, used: usize, bytes: usize) -> Chunk {
        let new = Chunk::zeroed(bytes);
        if let Some(old) = self.chunks.first() {
            // SAFETY: `used` bytes lie inside the old block, are initialised, and nobody writes to them now; the new
            // block is larger and nobody else knows it.
            unsafe { new.start.copy_from_nonoverlapping(old.start, used) }
        }
        new
    }

    fn append(&mut self, chunk: Chunk) {
        self.chunks = self.chunks.iter().cloned().chain([chunk]).collect();
    }
}
