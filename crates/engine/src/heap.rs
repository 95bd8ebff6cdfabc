//! The memory that values take on the heap, the allocator's overhead included.

/// Bytes of the counters before the value of an `Arc`.
const COUNTERS: usize = 16;
/// Bytes that the allocator keeps before each block.
const BLOCK_HEADER: usize = 8;
/// The allocator rounds blocks up to a multiple of this.
const BLOCK_ALIGNMENT: usize = 16;

/// The bytes of a block in which `asked` bytes are allocated.
pub fn bytes(asked: usize) -> u64 {
    if asked == 0 { 0 } else { (BLOCK_HEADER + asked).next_multiple_of(BLOCK_ALIGNMENT) as u64 }
}

/// The bytes of the block of an `Arc` around a value of `value` bytes.
pub fn shared_bytes(value: usize) -> u64 {
    bytes(COUNTERS + value)
}
