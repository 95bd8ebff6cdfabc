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

/// Sizes from which on every allocation of this module is refused, because a test asks for that.
#[cfg(feature = "testing")]
static REFUSED_FROM: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(usize::MAX);

/// From now on the system seems to refuse all allocations of this module and of arenas of so many bytes and more.
#[cfg(feature = "testing")]
pub fn refuse_from(bytes: usize) {
    REFUSED_FROM.store(bytes, std::sync::atomic::Ordering::SeqCst);
}

/// Whether a test asks for the refusal of that many bytes.
#[cfg(feature = "testing")]
pub fn is_refused(bytes: usize) -> bool {
    bytes >= REFUSED_FROM.load(std::sync::atomic::Ordering::SeqCst)
}

/// Whether a test asks for the refusal of that many bytes.
#[cfg(not(feature = "testing"))]
#[inline(always)]
pub const fn is_refused(_: usize) -> bool {
    false
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
    if is_refused(bytes) || buffer.try_reserve_exact(bytes).is_err() {
        refuse(bytes);
    }
    buffer
}

/// An empty list with room for that many values, and no more. Without memory it unwinds to the next [`catch`].
pub fn list<T>(values: usize) -> Vec<T> {
    let mut list = Vec::new();
    let bytes = values.saturating_mul(size_of::<T>());
    if is_refused(bytes) || list.try_reserve_exact(values).is_err() {
        refuse(bytes);
    }
    list
}

/// Appends to a list that may become long. Without memory it unwinds to the next [`catch`].
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) {
    if list.len() == list.capacity() {
        let bytes = list.capacity().saturating_mul(2 * size_of::<T>());
        if is_refused(bytes) || list.try_reserve(1).is_err() {
            refuse(bytes);
        }
    }
    list.push(value);
}

/// What is written behind the bytes that room was made for: numbers, and what stands between two parts.
const SLACK_BYTES: usize = 256;

/// Up to here a buffer may grow by itself, so that it doubles to 64 KiB at most.
const SMALL_BYTES: usize = 32 << 10;

/// Makes room for that many bytes more in a buffer that may become long, and for a few behind them. Without memory it unwinds
/// to the next [`catch`]. Who appends to such a buffer calls this before, so that a long one never grows by itself.
#[inline]
pub fn reserve_or_unwind(buffer: &mut Vec<u8>, bytes: usize) {
    let needed = buffer.len().saturating_add(bytes).saturating_add(SLACK_BYTES);
    if needed > buffer.capacity() {
        grow_or_unwind(buffer, bytes, needed);
    }
}

#[cold]
fn grow_or_unwind(buffer: &mut Vec<u8>, bytes: usize, needed: usize) {
    if needed <= SMALL_BYTES {
        return buffer.reserve(bytes);
    }
    if let Err(refused) = grow(buffer, bytes.saturating_add(SLACK_BYTES)) {
        refuse(refused.bytes);
    }
}

/// As [`reserve_or_unwind`], where an error can be returned.
///
/// # Errors
/// The allocation that was refused.
pub fn try_reserve_in(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), Refused> {
    if buffer.capacity() - buffer.len() >= bytes { Ok(()) } else { grow(buffer, bytes) }
}

/// As [`try_reserve_in`], and no more than that.
///
/// # Errors
/// The allocation that was refused.
pub fn try_reserve_exact_in(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), Refused> {
    let needed = buffer.len().saturating_add(bytes);
    if needed <= buffer.capacity() || !is_refused(needed) && buffer.try_reserve_exact(bytes).is_ok() {
        Ok(())
    } else {
        Err(Refused { bytes: needed })
    }
}

/// A copy of bytes.
///
/// # Errors
/// The allocation that was refused.
pub fn try_copy(bytes: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut copy = Vec::new();
    try_reserve_in(&mut copy, bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

fn grow(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), Refused> {
    let needed = buffer.len().saturating_add(bytes);
    // Doubled where there is memory for that.
    let grown =
        !is_refused(needed) && (buffer.try_reserve(bytes).is_ok() || buffer.try_reserve_exact(bytes).is_ok());
    if grown { Ok(()) } else { Err(Refused { bytes: needed }) }
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
        let mut long = b"begun".to_vec();
        assert!(catch(|| reserve_or_unwind(&mut long, usize::MAX / 4)).is_err());
        assert!(try_reserve_in(&mut long, usize::MAX / 4).is_err());
        reserve_or_unwind(&mut long, 1 << 20);
        assert!(long == b"begun" && long.capacity() > 1 << 20);
        assert_eq!(try_copy(&long).as_deref(), Ok(&b"begun"[..]));
        let other = catch_unwind(|| catch(|| panic!("another")));
        assert!(other.is_err_and(|panic| refusal(&*panic).is_none()));
    }
}
