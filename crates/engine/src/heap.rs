//! What values take in memory, as the allocator has them.

/// Counters before the value of an `Arc`.
const COUNTERS: usize = 16;
/// What the allocator keeps before a piece of memory, and what lengths it deals in.
const PIECE_HEADER: usize = 8;
const PIECE_GRAIN: usize = 16;

/// Bytes of so many that are asked for at once.
pub fn bytes(asked: usize) -> u64 {
    if asked == 0 { 0 } else { (PIECE_HEADER + asked).next_multiple_of(PIECE_GRAIN) as u64 }
}

/// Bytes of a value behind an `Arc`.
pub fn shared_bytes(value: usize) -> u64 {
    bytes(COUNTERS + value)
}
