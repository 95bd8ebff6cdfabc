//! The allocator of the C library: what values take of its memory, giving free memory back to the system, and what
//! happens when the system refuses memory.
//!
//! A large allocation that the system refuses is an error of one request, or of one collection at a start. It unwinds from
//! where the memory was needed to a [`catch`], as a panic would, but is no fault of the engine: nothing is poisoned.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

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

/// The system refuses that many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The size of the allocation.
    pub bytes: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system refuses {} bytes of memory", self.bytes)
    }
}

/// Unwinds to the next [`catch`].
pub fn refuse(bytes: usize) -> ! {
    resume_unwind(Box::new(Refused { bytes }))
}

/// Runs work that may find no memory. What it changed may be half changed then. Other panics go on.
///
/// # Errors
/// The allocation that was refused.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Refused> {
    catch_unwind(AssertUnwindSafe(work)).or_else(|panic| match refusal(&*panic) {
        Some(refused) => Err(refused),
        None => resume_unwind(panic),
    })
}

/// The allocation that was refused, if that is what a panic carries.
pub fn refusal(panic: &(dyn Any + Send)) -> Option<Refused> {
    panic.downcast_ref::<Refused>().copied()
}

/// An empty buffer with room for that many bytes. Without memory it unwinds to the next [`catch`].
pub fn buffer(bytes: usize) -> Vec<u8> {
    let mut buffer = Vec::new();
    if buffer.try_reserve_exact(bytes).is_err() {
        refuse(bytes);
    }
    buffer
}

/// Gives free pages back to the system, those between pages in use too, where the C library can.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes the allocator's own locks and touches nothing but memory that is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_refused_is_an_error_and_other_panics_are_none() {
        assert_eq!(catch(|| buffer(usize::MAX / 4).len()), Err(Refused { bytes: usize::MAX / 4 }));
        assert_eq!(catch(|| buffer(1 << 20).capacity()), Ok(1 << 20));
        let other = catch_unwind(|| catch(|| panic!("another")));
        assert!(other.is_err_and(|panic| refusal(&*panic).is_none()));
    }
}
