//! How the system reads the pages of maps that are not in memory.
//!
//! For a page that is read it usually reads its neighbours too, up to the read-ahead of the device: 128 KiB, often
//! megabytes. Where the files fit into memory that fills it quickly. Where they do not, the neighbours of a row displace
//! pages that other searches need. There the system is told to read single pages, and a reader that is about to read several
//! rows requests all of them at once.

use super::registry;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are asked for by one call: the read-ahead that most devices have.
const PIECE_BYTES: usize = 128 << 10;
/// More pages than these are asked for without a look.
#[cfg(unix)]
const FEW_PAGES: usize = 16;

/// How many memory limits the maps exceed, each that of an engine in this process.
static EXCEEDED: AtomicUsize = AtomicUsize::new(0);

/// Whether all maps fit into memory.
#[inline(always)]
pub fn maps_fit() -> bool {
    EXCEEDED.load(Ordering::Relaxed) == 0
}

/// Says that the maps do not fit into memory, until it is dropped.
#[derive(Debug)]
pub struct Exceeding(());

impl Exceeding {
    /// Tells the system to read single pages of all maps, those included that are made later.
    pub fn begin() -> Exceeding {
        EXCEEDED.fetch_add(1, Ordering::Relaxed);
        advise_maps();
        Exceeding(())
    }
}

impl Drop for Exceeding {
    fn drop(&mut self) {
        if EXCEEDED.fetch_sub(1, Ordering::Relaxed) == 1 {
            advise_maps();
        }
    }
}

/// Tells the system to read single pages of maps that it was not told of, if the maps do not fit into memory.
pub(super) fn advise_new_maps() {
    if !maps_fit() {
        advise_maps();
    }
}

/// Tells the system how all maps are read now.
fn advise_maps() {
    let advice = |is_random| if is_random { Advice::Random } else { Advice::Normal };
    registry::for_each_to_advise(
        || !maps_fit(),
        |start, len, is_random| advise(start, len, advice(is_random)),
    );
}

/// Tells the system to read single pages of a map.
pub(super) fn expect_random(map: &[u8]) {
    advise(map.as_ptr().addr(), map.len(), Advice::Random);
}

/// Asks the system to read the pages of some addresses of a map, without waiting for them.
pub fn will_need(addresses: Range<usize>) {
    if !addresses.is_empty() && !are_resident(&addresses) {
        // Of a longer range the system would read the beginning only.
        let pieces = addresses.clone().step_by(PIECE_BYTES);
        pieces.for_each(|from| advise(from, PIECE_BYTES.min(addresses.end - from), Advice::WillNeed));
    }
}

/// Whether a few pages are in memory already. Asking for them costs several microseconds, this a tenth of it.
#[cfg(unix)]
fn are_resident(addresses: &Range<usize>) -> bool {
    let page = super::signal::page_bytes();
    let from = addresses.start / page * page;
    let mut pages = [0u8; FEW_PAGES];
    let count = (addresses.end - from).div_ceil(page);
    if count > FEW_PAGES {
        return false;
    }
    let start = std::ptr::without_provenance_mut(from);
    // SAFETY: the system writes a byte for each of the pages, of which the list has as many or more.
    let asked = unsafe { libc::mincore(start, addresses.end - from, pages.as_mut_ptr().cast()) };
    asked == 0 && pages[..count].iter().all(|page| page & 1 == 1)
}

#[cfg(not(unix))]
fn are_resident(_addresses: &Range<usize>) -> bool {
    true
}

#[derive(Clone, Copy)]
enum Advice {
    Normal,
    Random,
    WillNeed,
}

/// Advises the system on the pages of a range. One that ignores it only reads more, or later, than it might.
#[cfg(unix)]
fn advise(start: usize, len: usize, advice: Advice) {
    let advice = match advice {
        Advice::Normal => libc::MADV_NORMAL,
        Advice::Random => libc::MADV_RANDOM,
        Advice::WillNeed => libc::MADV_WILLNEED,
    };
    let page = super::signal::page_bytes();
    let from = start / page * page;
    // SAFETY: none of the three changes what is mapped or what it holds, whatever the range.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(from), start + len - from, advice) };
}

#[cfg(not(unix))]
fn advise(_start: usize, _len: usize, _advice: Advice) {}
