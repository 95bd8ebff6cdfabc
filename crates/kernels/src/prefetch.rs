//! Hints that bring memory closer before it is used. They never fault and never change what a program computes.

const LINE_BYTES: usize = 64;

/// Asks for all cache lines of `items` in the level-1 cache. For a few lines that are used next.
#[inline(always)]
pub fn prefetch_l1<T>(items: &[T]) {
    for_each_line(items.as_ptr().cast(), size_of_val(items), |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch does not access memory architecturally; SSE is part of x86-64.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(line.cast());
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a prefetch does not access memory architecturally.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    });
}

/// Asks for all cache lines of `items` in the level-2 cache. For rows of vectors: their many lines would exhaust the
/// few miss buffers of level 1.
#[inline(always)]
pub fn prefetch_l2<T>(items: &[T]) {
    prefetch_l2_range(items.as_ptr().cast(), size_of_val(items));
}

/// As [`prefetch_l2`], for `bytes` bytes from an address at which there may be nothing at all.
#[inline(always)]
pub fn prefetch_l2_range(start: *const u8, bytes: usize) {
    for_each_line(start, bytes, |line| {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch does not access memory architecturally; SSE is part of x86-64.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T1>(line.cast());
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: a prefetch does not access memory architecturally.
        unsafe {
            std::arch::asm!("prfm pldl2keep, [{0}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = line;
    });
}

#[inline(always)]
fn for_each_line(start: *const u8, bytes: usize, touch: impl Fn(*const u8)) {
    let mut offset = 0;
    while offset < bytes {
        touch(start.wrapping_add(offset));
        offset += LINE_BYTES;
    }
}
