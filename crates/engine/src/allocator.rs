//! The allocator of the C library: what values take of its memory, and giving free memory back to the system.

/// Counters before the value of an `Arc`.
const COUNTERS: usize = 16;
/// Bytes that the allocator keeps before each allocation, and of which the allocation's length is a multiple.
const HEADER_BYTES: usize = 8;
const GRAIN_BYTES: usize = 16;

/// Bytes that one allocation of `asked` bytes takes.
pub fn bytes(asked: usize) -> u64 {
    if asked == 0 { 0 } else { (HEADER_BYTES + asked).next_multiple_of(GRAIN_BYTES) as u64 }
}

/// Bytes of a value behind an `Arc`.
pub fn shared_bytes(value: usize) -> u64 {
    bytes(COUNTERS + value)
}

/// Gives free pages back to the system, those between pages in use too, where the C library can.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes the allocator's own locks and touches nothing but memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}
