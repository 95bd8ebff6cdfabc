//! The list of chunks that rows and columns are made of. A chunk has a power of two of items of equal size.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::HUGE_PAGE_BYTES;
use super::block::Block;
use crate::storage::Map;

/// Size that the first chunk starts with.
const FIRST_CHUNK_BYTES: usize = 4 << 10;

/// A full chunk has the smallest power of two of items that takes at least this size. Then at least two thirds of it are whole
/// huge pages, for items of any size. Pages that are not yet written cost no memory.
pub(super) const FULL_CHUNK_BYTES: usize = 2 * HUGE_PAGE_BYTES;

/// The owner of a chunk's bytes.
enum Backing {
    Memory {
        _kept: Block,
    },
    /// A read-only map; the items in it are as many as a full chunk has.
    Mapped {
        _kept: Map,
    },
    /// The items were released.
    Released,
}

/// One chunk; several lists may share its backing.
#[derive(Clone)]
struct Chunk {
    /// Where the first item starts.
    start: NonNull<u8>,
    /// Bytes from one item to the next; 0 if the items were released or are all the same item.
    stride: usize,
    /// Bytes from `start` that hold items.
    bytes: usize,
    backing: Arc<Backing>,
}

// SAFETY: the pointer is into the backing, which the chunk keeps alive, and which is Send and Sync.
unsafe impl Send for Chunk {}
// SAFETY: as above; a chunk does not access the memory.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn zeroed(bytes: usize, stride: usize) -> Chunk {
        let block = Block::zeroed(bytes);
        Chunk { start: block.start(), stride, bytes, backing: Arc::new(Backing::Memory { _kept: block }) }
    }

    /// Items of a map, `stride` apart, in its bytes `range`. Panics when the map does not have these.
    fn mapped(map: Map, range: Range<usize>, stride: usize) -> Chunk {
        let bytes = map.get(range).expect("a chunk lies inside its map");
        // The bytes of a map keep their address when it is moved, and live as long as any clone of it.
        let (start, bytes) = (NonNull::from(bytes).cast(), bytes.len());
        Chunk { start, stride, bytes, backing: Arc::new(Backing::Mapped { _kept: map }) }
    }

    fn released() -> Chunk {
        Chunk { start: NonNull::dangling(), stride: 0, bytes: 0, backing: Arc::new(Backing::Released) }
    }

    fn is_memory(&self) -> bool {
        matches!(*self.backing, Backing::Memory { .. })
    }
}

/// A list of chunks at one moment. Cloning it is cheap, and a clone keeps its chunks alive.
///
/// The list itself never changes; growing makes a new one. All chunks hold `1 << shift` items, except the first one
/// while it is the only one: that starts at 4 KiB and is replaced by a copy a quarter larger until it is full. A full
/// chunk can be replaced by a read-only map of the same items, or be released.
#[derive(Clone)]
pub(super) struct Chunks {
    chunks: Arc<[Chunk]>,
    item_bytes: usize,
    shift: u32,
}

impl Chunks {
    /// An empty list whose full chunks are the least power of two of items that has `chunk_bytes` or more.
    pub(super) fn of_bytes(item_bytes: usize, chunk_bytes: usize) -> Chunks {
        assert!(item_bytes > 0 && item_bytes <= FULL_CHUNK_BYTES, "items of {item_bytes} bytes");
        let shift = chunk_bytes.div_ceil(item_bytes).next_power_of_two().trailing_zeros();
        Chunks { chunks: Arc::new([]), item_bytes, shift }
    }

    /// Items of a full chunk, a power of two.
    pub(super) fn chunk_items(&self) -> u32 {
        1 << self.shift
    }

    /// Where item `index` lies. Panics when no chunk holds it.
    #[inline(always)]
    pub(super) fn item(&self, index: u32) -> NonNull<u8> {
        let chunk = &self.chunks[(index >> self.shift) as usize];
        let offset = (index & ((1 << self.shift) - 1)) as usize * chunk.stride;
        // The first chunk may be smaller than its share of the index space, and a released one has nothing.
        assert!(offset < chunk.bytes, "item {index} is beyond its chunk");
        // SAFETY: a chunk holds a whole number of items, so the item lies inside it.
        unsafe { chunk.start.add(offset) }
    }

    /// Where item `index` lies, without the checks of its range. Panics when the chunk has been released.
    ///
    /// # Safety
    /// `reserve(index)` has been called on this list, or on the one that it is a clone of, or `push_mapped` has
    /// brought the item; and no `fork` to `index` or fewer items since.
    #[inline(always)]
    pub(super) unsafe fn item_unchecked(&self, index: u32) -> NonNull<u8> {
        // SAFETY: `reserve` or `push_mapped` made the chunk, and only `fork` takes chunks away.
        let chunk = unsafe { self.chunks.get_unchecked((index >> self.shift) as usize) };
        assert!(chunk.stride != 0, "item {index} has been released");
        let offset = (index & ((1 << self.shift) - 1)) as usize * chunk.stride;
        // SAFETY: a chunk that is not released holds its items, whatever keeps them.
        unsafe { chunk.start.add(offset) }
    }

    /// Whether item `index` lies in memory that belongs to the list, so that it can be written.
    pub(super) fn is_memory(&self, index: u32) -> bool {
        self.chunks[(index >> self.shift) as usize].is_memory()
    }

    /// Whether the chunk of item `index` is still there.
    pub(super) fn is_held(&self, index: u32) -> bool {
        self.chunks.get((index >> self.shift) as usize).is_some_and(|chunk| chunk.stride != 0)
    }

    /// Replaces a full chunk by a map of the same items, `stride` bytes apart, from its byte `offset` on. Clones of
    /// the list keep what they hold. Panics when the map is too short or there is no such chunk.
    pub(super) fn seal(&mut self, chunk: u32, map: Map, offset: u64, stride: usize) {
        let sealed = self.mapped(map, offset, stride);
        self.replace(chunk, sealed);
    }

    /// Appends a full chunk of mapped items. All chunks so far must be full.
    pub(super) fn push_mapped(&mut self, map: Map, offset: u64, stride: usize) {
        let chunk = self.mapped(map, offset, stride);
        self.append(chunk);
    }

    /// Appends a full chunk of released items. All chunks so far must be full.
    pub(super) fn push_released(&mut self) {
        self.append(Chunk::released());
    }

    /// Releases the items of a full chunk. Clones of the list keep them.
    pub(super) fn release(&mut self, chunk: u32) {
        self.replace(chunk, Chunk::released());
    }

    /// Replaces all items of a full chunk by a single one, which is zero and must not be written. Clones of the list keep theirs.
    pub(super) fn clear(&mut self, chunk: u32) {
        self.replace(chunk, Chunk::zeroed(self.item_bytes, 0));
    }

    fn mapped(&self, map: Map, offset: u64, stride: usize) -> Chunk {
        let offset = usize::try_from(offset).expect("a map lies in the address space");
        let end = offset.checked_add(stride << self.shift).expect("a chunk lies inside its map");
        Chunk::mapped(map, offset..end, stride)
    }

    fn replace(&mut self, at: u32, chunk: Chunk) {
        let mut chunks = self.chunks.to_vec();
        chunks[at as usize] = chunk;
        self.chunks = chunks.into();
    }

    /// Reserves memory for item `index`, which is the one after those in use. Items are copied only while there is a single
    /// chunk; clones keep the old copy. The items must not be written meanwhile.
    pub(super) fn reserve(&mut self, index: u32) {
        let chunk = (index >> self.shift) as usize;
        assert!(chunk <= self.chunks.len(), "item {index} leaves a gap");
        if chunk > 0 {
            if chunk == self.chunks.len() {
                self.append(Chunk::zeroed(self.item_bytes << self.shift, self.item_bytes));
            }
            return;
        }
        let used = index as usize * self.item_bytes;
        let held = match self.chunks.first() {
            // Sealed or released as a whole: no item of the chunk is to come.
            Some(first) if !first.is_memory() => return,
            first => first.map_or(0, |first| first.bytes),
        };
        if used < held {
            return;
        }
        let first = self.copy_of_first(used, self.next_first_bytes(held));
        self.chunks = Arc::new([first]);
    }

    /// Keeps the first `len` items. Those in a chunk with later items are copied to memory that no clone shares, so that later
    /// items can be written. Panics when these have been released.
    pub(super) fn fork(&mut self, len: u32) {
        let keep = (len >> self.shift) as usize;
        let rest = (len & ((1 << self.shift) - 1)) as usize;
        let mut chunks = self.chunks[..keep.min(self.chunks.len())].to_vec();
        if rest > 0 {
            let old = &self.chunks[keep];
            assert!(old.stride != 0, "the items to keep have been released");
            let bytes = if old.is_memory() { old.bytes } else { self.item_bytes << self.shift };
            let new = Chunk::zeroed(bytes, self.item_bytes);
            let item_bytes = old.stride.min(self.item_bytes);
            for item in 0..rest {
                // SAFETY: the items below `len` are in use, so they lie in the old chunk, are initialised, and nobody
                // writes to them now; the new block has room for as many and nobody else knows it. Both strides are
                // at least the bytes that are copied.
                unsafe {
                    let to = new.start.add(item * new.stride);
                    to.copy_from_nonoverlapping(old.start.add(item * old.stride), item_bytes);
                }
            }
            chunks.push(new);
        }
        self.chunks = chunks.into();
    }

    /// Bytes of memory for `len` items and those reserved, without the pages of mapped blocks that were never written.
    pub(super) fn memory_bytes(&self, len: u32) -> usize {
        let of = |(at, chunk): (usize, &Chunk)| {
            let used = (u64::from(len)).saturating_sub((at as u64) << self.shift) as usize * self.item_bytes;
            // Blocks below the size of a huge page are touched as a whole when they are zeroed.
            let touched = used.next_multiple_of(HUGE_PAGE_BYTES).min(chunk.bytes);
            let bytes = if chunk.bytes < HUGE_PAGE_BYTES { chunk.bytes } else { touched };
            if chunk.is_memory() { bytes } else { 0 }
        };
        self.chunks.iter().enumerate().map(of).sum()
    }

    /// Bytes of maps.
    pub(super) fn mapped_bytes(&self) -> usize {
        let mapped = |chunk: &&Chunk| matches!(*chunk.backing, Backing::Mapped { .. });
        self.chunks.iter().filter(mapped).map(|chunk| chunk.bytes).sum()
    }

    fn next_first_bytes(&self, held: usize) -> usize {
        let full = self.item_bytes << self.shift;
        // By a quarter: what is not used stays small, and an item is copied four times on average.
        let next = (held + held / 4).next_multiple_of(FIRST_CHUNK_BYTES).max(FIRST_CHUNK_BYTES);
        // Above the size of a huge page memory is mapped and untouched pages are free: no further copies.
        if next >= HUGE_PAGE_BYTES { full } else { next.next_multiple_of(self.item_bytes).min(full) }
    }

    fn copy_of_first(&self, used: usize, bytes: usize) -> Chunk {
        let new = Chunk::zeroed(bytes, self.item_bytes);
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
