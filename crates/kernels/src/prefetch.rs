//! Hints that bring memory closer before it is used. They never fault and never change what a program computes.

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// The cache that memory is prefetched into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hint {
    /// Level 1, and with it the lower levels. It has few miss buffers: for a few lines that are used next.
    L1,
    /// Level 2. For rows of vectors, whose many lines would exhaust the miss buffers of level 1.
    L2,
    /// The last level.
    L3,
    /// No prefetches: the CPU's own prefetcher is enough.
    None,
}

impl Hint {
    /// All hints.
    pub const ALL: [Hint; 4] = [Hint::L1, Hint::L2, Hint::L3, Hint::None];
}

/// Prefetches all cache lines of `items` into the level-1 cache.
#[inline(always)]
pub fn prefetch_l1<T>(items: &[T]) {
    lines::<1>(items.as_ptr().cast(), size_of_val(items));
}

/// Prefetches all cache lines of `items` into the level-2 cache.
#[inline(always)]
pub fn prefetch_l2<T>(items: &[T]) {
    lines::<2>(items.as_ptr().cast(), size_of_val(items));
}

/// Prefetches `bytes` bytes from an address, which need not be mapped. The hint is checked once, not for each line.
#[inline(always)]
pub fn prefetch_range(hint: Hint, start: *const u8, bytes: usize) {
    match hint {
        Hint::L1 => lines::<1>(start, bytes),
        Hint::L2 => lines::<2>(start, bytes),
        Hint::L3 => lines::<3>(start, bytes),
        Hint::None => {}
    }
}

#[inline(always)]
fn lines<const LEVEL: u8>(start: *const u8, bytes: usize) {
    let mut offset = 0;
    while offset < bytes {
        line::<LEVEL>(start.wrapping_add(offset));
        offset += LINE_BYTES;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn line<const LEVEL: u8>(line: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _MM_HINT_T2, _mm_prefetch};
    // SAFETY: a prefetch does not access memory architecturally; SSE is part of x86-64.
    unsafe {
        match LEVEL {
            1 => _mm_prefetch::<_MM_HINT_T0>(line.cast()),
            2 => _mm_prefetch::<_MM_HINT_T1>(line.cast()),
            _ => _mm_prefetch::<_MM_HINT_T2>(line.cast()),
        }
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn line<const LEVEL: u8>(line: *const u8) {
    use std::arch::asm;
    // SAFETY: a prefetch does not access memory architecturally.
    unsafe {
        match LEVEL {
            1 => asm!("prfm pldl1keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly)),
            2 => asm!("prfm pldl2keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly)),
            _ => asm!("prfm pldl3keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly)),
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn line<const LEVEL: u8>(_line: *const u8) {}
