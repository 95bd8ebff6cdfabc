//! The maps of this process, in a form that a signal handler can read: atomics, no lock, no allocation.

use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

/// Places of the first bucket; each further one has twice as many as the one before. Buckets are never freed.
const FIRST_PLACES: usize = 1 << 10;
/// Enough for a million maps. Linux allows a process 65,530 unless told otherwise.
const BUCKETS: usize = 10;

/// One registered map. `start` is 0 while the place is free; the length is written before it.
#[derive(Default)]
struct Place {
    start: AtomicUsize,
    len: AtomicUsize,
    is_faulted: AtomicBool,
    /// How the system was told that it is read: one of the constants below. Changed under the lock of the names.
    advice: AtomicU8,
}

/// In any order; the system reads ahead.
const NORMAL: u8 = 0;
/// In random order, as long as the maps do not fit into memory.
const RANDOM: u8 = 1;
/// In random order, until it is unmapped.
const ALWAYS_RANDOM: u8 = 2;

static PLACES: [OnceLock<Box<[Place]>>; BUCKETS] = [const { OnceLock::new() }; BUCKETS];
/// Places that were ever in use: the handler looks no further.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Maps of which a page could not be read, since the process started.
static FAULTS: AtomicU64 = AtomicU64::new(0);
/// Bytes of all maps.
static BYTES: AtomicU64 = AtomicU64::new(0);
/// What the handler does not need.
static NAMES: Mutex<Names> = Mutex::new(Names::new());

struct Names {
    /// Places that were given back.
    free: Vec<usize>,
    /// Disk and path of each map, by its place.
    of_places: BTreeMap<usize, (u64, String)>,
    /// Disk and path of faulted maps that are gone.
    faulted: BTreeSet<(u64, String)>,
}

impl Names {
    const fn new() -> Names {
        Names { free: Vec::new(), of_places: BTreeMap::new(), faulted: BTreeSet::new() }
    }
}

/// The bucket of a place and its index there.
fn bucket_of(place: usize) -> (usize, usize) {
    let number = place + FIRST_PLACES;
    let bucket = (number.ilog2() - FIRST_PLACES.ilog2()) as usize;
    (bucket, number - (FIRST_PLACES << bucket))
}

fn at(place: usize) -> Option<&'static Place> {
    let (bucket, index) = bucket_of(place);
    PLACES.get(bucket)?.get()?.get(index)
}

/// A map in the registry, until it is dropped. The map must be unmapped after that.
pub(super) struct Registration(usize);

impl Registration {
    /// Registers `len` bytes from `start` on, the map of a file of a disk. `None` when the registry is full.
    pub(super) fn of(start: usize, len: usize, disk: u64, path: &str) -> Option<Registration> {
        let mut names = NAMES.lock();
        let place = names.free.pop().unwrap_or_else(|| USED.load(Ordering::Relaxed));
        let (bucket, index) = bucket_of(place);
        let places = PLACES
            .get(bucket)?
            .get_or_init(|| std::iter::repeat_with(Place::default).take(FIRST_PLACES << bucket).collect());
        let entry = &places[index];
        entry.is_faulted.store(false, Ordering::Relaxed);
        entry.advice.store(NORMAL, Ordering::Relaxed);
        entry.len.store(len, Ordering::Relaxed);
        BYTES.fetch_add(len as u64, Ordering::Relaxed);
        entry.start.store(start, Ordering::Release);
        USED.fetch_max(place + 1, Ordering::Release);
        names.of_places.insert(place, (disk, path.to_owned()));
        Some(Registration(place))
    }

    /// Takes note that the map is read in random order until it is unmapped.
    pub(super) fn keep_random(&self) {
        let _names = NAMES.lock();
        if let Some(entry) = at(self.0) {
            entry.advice.store(ALWAYS_RANDOM, Ordering::Relaxed);
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut names = NAMES.lock();
        let Some(entry) = at(self.0) else { return };
        entry.start.store(0, Ordering::Release);
        BYTES.fetch_sub(entry.len.load(Ordering::Relaxed) as u64, Ordering::Relaxed);
        let named = names.of_places.remove(&self.0);
        if entry.is_faulted.load(Ordering::Acquire) {
            names.faulted.extend(named);
        }
        names.free.push(self.0);
    }
}

/// Marks the map that an address lies in. Returns its first byte and its length; `None` when the address is in none.
/// Called by the signal handler.
///
/// The thread that reads the address keeps its map alive, so that its place is stable. Another place may change while
/// it is looked at; then its start does.
#[cfg_attr(not(unix), allow(dead_code, reason = "only unix tells a process of such a page by a signal"))]
pub(super) fn mark(address: usize) -> Option<(usize, usize)> {
    (0..USED.load(Ordering::Acquire)).filter_map(at).find_map(|place| {
        let start = place.start.load(Ordering::Acquire);
        let len = place.len.load(Ordering::Acquire);
        let is_here = start != 0 && address.checked_sub(start).is_some_and(|offset| offset < len);
        if !is_here || place.start.load(Ordering::Acquire) != start {
            return None;
        }
        if !place.is_faulted.swap(true, Ordering::SeqCst) {
            FAULTS.fetch_add(1, Ordering::SeqCst);
        }
        Some((start, len))
    })
}

/// Bytes of all maps.
pub fn mapped_bytes() -> u64 {
    BYTES.load(Ordering::Relaxed)
}

/// Calls `advise` with the start and the length of each map for which the system was told something else, and whether it is
/// to be read in random order. `is_random` says that at a time at which no other thread advises: of several calls the last one
/// has the last word. No map is unmapped meanwhile.
pub(super) fn for_each_to_advise(is_random: impl FnOnce() -> bool, advise: impl Fn(usize, usize, bool)) {
    let names = NAMES.lock();
    let is_random = is_random();
    let (from, to) = if is_random { (NORMAL, RANDOM) } else { (RANDOM, NORMAL) };
    for place in names.of_places.keys().filter_map(|place| at(*place)) {
        if place.advice.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            advise(place.start.load(Ordering::Acquire), place.len.load(Ordering::Relaxed), is_random);
        }
    }
}

/// How many maps had a page that could not be read, since the process started: one load while there is none.
pub fn map_faults() -> u64 {
    FAULTS.load(Ordering::SeqCst)
}

/// Files of a disk of which a map had a page that could not be read.
pub(in crate::storage) fn faulted_files(disk: u64) -> Vec<String> {
    let names = NAMES.lock();
    let held = names
        .of_places
        .iter()
        .filter(|(place, _)| at(**place).is_some_and(|place| place.is_faulted.load(Ordering::Acquire)));
    let all: BTreeSet<&(u64, String)> = held.map(|(_, name)| name).chain(&names.faulted).collect();
    all.into_iter().filter(|(of, _)| *of == disk).map(|(_, path)| path.clone()).collect()
}

/// Counts a fault of a map that no engine has, on a disk of its own.
#[cfg(test)]
pub fn fault_elsewhere() {
    // No real map lies there.
    let start = usize::MAX - (128 << 20);
    let _map = Registration::of(start, 4096, u64::MAX - 2, "elsewhere").expect("room");
    mark(start).expect("it was just registered");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_has_a_bucket_of_its_own_index() {
        let mut last = (0, usize::MAX);
        for place in 0..FIRST_PLACES * 8 {
            let (bucket, index) = bucket_of(place);
            assert!(index < FIRST_PLACES << bucket);
            let follows = if bucket == last.0 { last.1.wrapping_add(1) } else { 0 };
            assert_eq!(index, follows, "place {place}");
            last = (bucket, index);
        }
    }

    #[test]
    fn a_map_is_found_by_its_addresses_until_it_is_gone() {
        // No real map lies there, and other tests register real maps at the same time.
        let (start, disk) = (usize::MAX - (64 << 20), u64::MAX);
        let kept: Vec<_> = (0..3 * FIRST_PLACES)
            .map(|at| Registration::of(start + at * 4096, 4096, disk, &format!("f{at}")).expect("room"))
            .collect();
        let before = map_faults();
        assert_eq!(mark(start + 5 * 4096 + 17), Some((start + 5 * 4096, 4096)));
        assert_eq!(mark(start + 5 * 4096), Some((start + 5 * 4096, 4096)));
        assert!(map_faults() > before);
        assert_eq!(mark(start - 1), None);
        assert_eq!(faulted_files(disk), ["f5"]);
        assert!(faulted_files(disk - 1).is_empty());
        drop(kept);
        assert_eq!(mark(start + 7 * 4096), None);
        assert_eq!(faulted_files(disk), ["f5"], "the request that read it may still be running");
        drop(Registration::of(start, 4096, disk, "later").expect("room"));
        assert_eq!(faulted_files(disk), ["f5"], "a place that is used again starts sound");
    }
}
