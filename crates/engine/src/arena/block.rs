//! A block of zeroed memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::{HUGE_PAGE_BYTES, LINE_BYTES};
use crate::allocator::{is_refused, refuse};

/// A block of zeroed memory that is never moved, aligned to a cache line.
///
/// From 2 MiB on it is mapped by the operating system, aligned to huge pages and marked for them (without effect where they
/// are off). Pages that were never touched then cost no memory.
///
/// A block does not access its memory. Its owners do, through [`Block::start`], and state the rules for that.
pub(super) struct Block {
    start: NonNull<u8>,
    bytes: usize,
    mapped: bool,
}

// SAFETY: a block only owns its memory; nothing in it belongs to a thread.
unsafe impl Send for Block {}
// SAFETY: as above; no method accesses the memory.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates `bytes` zeroed bytes. Without memory it unwinds to the next
    /// `catch` of the allocator.
    pub(super) fn zeroed(bytes: usize) -> Block {
        assert!(bytes > 0 && bytes <= isize::MAX as usize / 2, "a block of {bytes} bytes");
        if is_refused(bytes) {
            refuse(bytes);
        }
        if bytes >= HUGE_PAGE_BYTES && cfg!(unix) {
            let start = map(bytes).unwrap_or_else(|| refuse(bytes));
            return Block { start, bytes, mapped: true };
        }
        // SAFETY: the layout has a size above zero.
        let start = unsafe { alloc_zeroed(layout(bytes)) };
        let start = NonNull::new(start).unwrap_or_else(|| refuse(bytes));
        Block { start, bytes, mapped: false }
    }

    /// First byte; the block keeps `bytes()` from there valid for as long as it lives.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.mapped {
            unmap(self.start, self.bytes);
        } else {
            // SAFETY: allocated in `zeroed` with the same layout, and freed only here.
            unsafe { dealloc(self.start.as_ptr(), layout(self.bytes)) }
        }
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, LINE_BYTES).expect("the size was checked, the alignment is a power of two")
}

#[cfg(unix)]
fn map(bytes: usize) -> Option<NonNull<u8>> {
    let bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES);
    let reserve = bytes + HUGE_PAGE_BYTES;
    // SAFETY: a new anonymous mapping touches no existing memory.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            reserve,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return None;
    }
    let base = base.cast::<u8>();
    // Give back what lies before the first huge page border and after the last one.
    let head = base.align_offset(HUGE_PAGE_BYTES);
    let tail = HUGE_PAGE_BYTES - head;
    // SAFETY: head + bytes + tail == reserve, so all three parts lie inside the mapping just made; head and tail are
    // page multiples, are unmapped once, and are never used.
    let start = unsafe {
        let start = base.add(head);
        if head > 0 {
            libc::munmap(base.cast(), head);
        }
        if tail > 0 {
            libc::munmap(start.add(bytes).cast(), tail);
        }
        start
    };
    #[cfg(target_os = "linux")]
    // SAFETY: the range is ours; the advice does not change what the memory holds, and its failure is of no matter.
    unsafe {
        libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE);
    }
    NonNull::new(start)
}

#[cfg(unix)]
fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: `map` made exactly this range, and its only owner is being dropped.
    unsafe {
        libc::munmap(start.as_ptr().cast(), bytes.next_multiple_of(HUGE_PAGE_BYTES));
    }
}

#[cfg(not(unix))]
fn map(_bytes: usize) -> Option<NonNull<u8>> {
    unreachable!("blocks are mapped on unix only")
}

#[cfg(not(unix))]
fn unmap(_start: NonNull<u8>, _bytes: usize) {
    unreachable!("blocks are mapped on unix only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_size_are_zeroed_and_aligned() {
        for bytes in [1, 4096, HUGE_PAGE_BYTES - 1, HUGE_PAGE_BYTES, HUGE_PAGE_BYTES + 1, 3 * HUGE_PAGE_BYTES]
        {
            let block = Block::zeroed(bytes);
            let border = if bytes >= HUGE_PAGE_BYTES && cfg!(unix) { HUGE_PAGE_BYTES } else { LINE_BYTES };
            assert_eq!(block.start().as_ptr().align_offset(border), 0);
            // SAFETY: the block is alive, zeroed, and not written to by anyone.
            let content = unsafe { std::slice::from_raw_parts(block.start().as_ptr(), block.bytes()) };
            assert!(content.iter().all(|&byte| byte == 0));
        }
    }
}
