//! Disk space that is reserved for the time when the disk is full.
//!
//! Deletions must work on a full disk: a deletion is a record of the log too, and its space becomes free only when
//! checkpoints were written. So a file of arbitrary bytes is kept beside the data, and is removed when a write finds
//! the disk full. From then on requests that make the data grow are refused, so that the freed space serves deletions
//! and checkpoints, until there is room to create the file again. A second, shorter file is kept for a start (after
//! damage the log copies its last records when it is opened), or for a checkpoint that would free the log and fits only
//! with the space of this file.
//!
//! Growth is refused before the disk is full: the records that wait in the log must fit into a checkpoint, since
//! only checkpoints free space.

use super::{ErrorKind, Result, Storage, StorageFile};
use crate::faults::PlantedFault;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const PATH: &str = "reserve";
const START_PATH: &str = "reserve.start";
/// Greatest length of the file: enough for a checkpoint of one collection's changes since its last checkpoint.
const MAX_BYTES: u64 = 64 << 20;
/// A log shorter than this needs no reserve: an empty server stays small.
const MIN_LOG_BYTES: u64 = 64 << 10;
/// With less than this free, the disk may be full before the next check, so the length of the log does not matter.
const LITTLE_FREE: u64 = 1 << 30;
/// A log of this length holds data.
const DATA_BYTES: u64 = 4 << 10;
/// Least length of a file that is shortened: with it a deletion and its checkpoint fit on a full disk. Where little is free
/// the file is lengthened again.
const SHORTENED_BYTES: u64 = 4 << 20;
/// Files are shortened where they are this many times as long as they have to be, so that a log that grows and shrinks does
/// not write them each time.
const SHORTENED_DIVISOR: u64 = 4;
/// The file for a start has the length of the other one divided by this.
const START_DIVISOR: u64 = 4;
/// At most the free space divided by this is taken.
const FREE_DIVISOR: u64 = 8;
const PIECE_BYTES: u64 = 256 << 10;

/// The reserved space. The files hold no data: any length and any content of them are valid.
pub struct Reserve {
    storage: Arc<dyn Storage>,
    held: Mutex<Held>,
    /// The disk was full, and the file has not been created again yet.
    spent: AtomicBool,
    /// The length of the file when it was removed.
    wanted: AtomicU64,
    /// Little space was free at the last measurement, so every byte counts.
    tight: AtomicBool,
    /// Work that waited for checkpoints at the last measurement.
    unsaved: AtomicU64,
    /// Bytes that these checkpoints need.
    needed: AtomicU64,
}

/// Bytes of the two files.
struct Held {
    usual: u64,
    start: u64,
}

impl Reserve {
    /// Takes over the files of the last server on this directory.
    pub fn open(storage: Arc<dyn Storage>) -> Reserve {
        // A file that cannot be opened counts as absent, and is created again.
        let len = |path| storage.open_append(path).map_or(0, |file| file.len());
        let held = Held { usual: len(PATH), start: len(START_PATH) };
        // The second file exists without the first only after the disk was full.
        let spent = held.usual == 0 && held.start > 0;
        let wanted = if spent { held.start * START_DIVISOR } else { 0 };
        Reserve {
            storage,
            held: Mutex::new(held),
            spent: AtomicBool::new(spent),
            wanted: AtomicU64::new(wanted),
            tight: AtomicBool::new(false),
            unsaved: AtomicU64::new(0),
            needed: AtomicU64::new(0),
        }
    }

    /// Gives the space back because the disk is full. Returns whether there was any.
    pub fn release(&self) -> bool {
        let mut held = self.held.lock();
        self.spent.store(true, Ordering::Release);
        let kept = PlantedFault::ReserveNotReleased.is_on();
        let released = if kept { 0 } else { self.remove(PATH, &mut held.usual) };
        if released > 0 {
            self.wanted.store(released, Ordering::Release);
        }
        released > 0
    }

    /// Removes both files, when nothing else works: the log cannot be opened, or no checkpoint fits. Returns whether
    /// there was any.
    pub fn release_for_start(&self) -> bool {
        let released = self.release();
        self.remove(START_PATH, &mut self.held.lock().start) > 0 || released
    }

    /// Bytes of both files.
    pub fn bytes(&self) -> u64 {
        let held = self.held.lock();
        held.usual + held.start
    }

    /// Bytes that are kept for a start.
    pub fn held_for_start(&self) -> u64 {
        self.held.lock().start
    }

    /// Returns how many bytes became free.
    fn remove(&self, path: &str, held: &mut u64) -> u64 {
        if *held == 0 {
            return 0;
        }
        match self.storage.remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => 0,
            _ => std::mem::take(held),
        }
    }

    /// Whether data may grow. It may not after the disk was full, until twice the reserve is free; nor when a
    /// checkpoint of the `unsaved` bytes that wait for one would not fit.
    pub fn admits_growth(&self, unsaved: u64) -> bool {
        self.fits(unsaved) && (!self.is_spent() || self.has_room_again())
    }

    /// Measures the free space. Returns whether the next checkpoints may not fit: the disk was full, or has less than a
    /// gigabyte.
    pub fn measure_free(&self) -> bool {
        let is_tight = self.is_spent() || self.storage.free_bytes().is_some_and(|free| free < LITTLE_FREE);
        self.tight.store(is_tight, Ordering::Release);
        is_tight
    }

    /// Whether little was free at the last [`measure_free`](Self::measure_free).
    pub fn is_tight(&self) -> bool {
        self.is_spent() || self.tight.load(Ordering::Acquire)
    }

    /// Records how many bytes the next checkpoints need, and the work that waits for them.
    pub fn measure(&self, unsaved: u64, needed: u64) {
        self.unsaved.store(unsaved, Ordering::Release);
        self.needed.store(needed, Ordering::Release);
    }

    /// Subtracts work that a checkpoint has taken over, or that was discarded.
    pub fn forget(&self, work: u64) {
        let less = |unsaved: u64| Some(unsaved.saturating_sub(work));
        let _ = self.unsaved.fetch_update(Ordering::AcqRel, Ordering::Acquire, less);
    }

    /// Whether the pending checkpoints fit beside the reserve, which is kept for making room afterwards. Work that came
    /// since the last [`measure`](Self::measure) is assumed to need as many bytes again as it took in the log.
    pub fn fits(&self, unsaved: u64) -> bool {
        let grown = unsaved.saturating_sub(self.unsaved.load(Ordering::Acquire));
        if !self.is_tight() && grown < LITTLE_FREE / 4 {
            return true;
        }
        let missing = if self.is_spent() { self.wanted.load(Ordering::Acquire) } else { 0 };
        let needed = self.needed.load(Ordering::Acquire).saturating_add(grown).saturating_add(missing);
        self.storage.free_bytes().is_none_or(|free| free > needed)
    }

    /// Whether the disk was full, and the reserve has not been made again since.
    pub fn is_spent(&self) -> bool {
        self.spent.load(Ordering::Acquire)
    }

    /// The least number of bytes for which a checkpoint is made only to free them; none where enough is free.
    pub fn worth_freeing(&self) -> Option<u64> {
        if self.is_spent() {
            return Some(MIN_LOG_BYTES);
        }
        Some(MIN_LOG_BYTES.max(self.little_free()? / FREE_DIVISOR))
    }

    /// The free bytes, if little is free.
    pub fn little_free(&self) -> Option<u64> {
        self.is_tight().then(|| self.storage.free_bytes()).flatten()
    }

    fn has_room_again(&self) -> bool {
        let wanted = self.wanted.load(Ordering::Acquire);
        let never = PlantedFault::WritesDoNotResume.is_on();
        !never && self.storage.free_bytes().is_none_or(|free| free >= 2 * wanted)
    }

    /// [`keep`](Self::keep), before there are data, because the next writes may fill a small disk at once.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    pub fn keep_for_data(&self, log_bytes: u64) -> Result<()> {
        self.keep(log_bytes.max(DATA_BYTES))
    }

    /// Creates or lengthens the file. It is as long as the log, within its bounds, because a checkpoint may have to
    /// write that much. Where little is free it is as long as its bounds allow. It is lengthened when it should be
    /// twice as long.
    ///
    /// # Errors
    /// The error of the disk. Nothing depends on it: the next call tries again.
    pub fn keep(&self, log_bytes: u64) -> Result<()> {
        if self.is_spent() && !self.has_room_again() {
            return Ok(());
        }
        let mut held = self.held.lock();
        let free = self.storage.free_bytes().unwrap_or(u64::MAX);
        let has_data = log_bytes >= DATA_BYTES || held.usual > 0;
        let enough = if free < LITTLE_FREE && has_data { MAX_BYTES } else { log_bytes };
        let wanted = enough.min(MAX_BYTES).min(free.saturating_add(held.usual) / FREE_DIVISOR);
        // Not shorter than before, however little else is free: a disk that fills repeatedly must not shrink it each
        // time.
        let wanted = if self.is_spent() { wanted.max(self.wanted.load(Ordering::Acquire)) } else { wanted };
        if wanted >= MIN_LOG_BYTES {
            self.lengthen(START_PATH, &mut held.start, wanted / START_DIVISOR)?;
            self.lengthen(PATH, &mut held.usual, wanted)?;
        }
        self.spent.store(false, Ordering::Release);
        Ok(())
    }

    /// Shortens the files where they are far longer than a log of this length needs, and enough of the disk is free.
    ///
    /// # Errors
    /// The error of the disk. Nothing depends on it: any length is valid, and the next call tries again.
    pub fn shorten(&self, log_bytes: u64) -> Result<()> {
        let has_room = self.storage.free_bytes().is_some_and(|free| free >= LITTLE_FREE);
        let mut held = self.held.lock();
        let wanted = log_bytes.max(SHORTENED_BYTES);
        if self.is_tight() || !has_room || held.usual < SHORTENED_DIVISOR * wanted {
            return Ok(());
        }
        self.storage.truncate(PATH, wanted)?;
        held.usual = wanted;
        self.storage.truncate(START_PATH, wanted / START_DIVISOR)?;
        held.start = wanted / START_DIVISOR;
        Ok(())
    }

    fn lengthen(&self, path: &str, held: &mut u64, wanted: u64) -> Result<()> {
        if wanted < held.saturating_mul(2) {
            return Ok(());
        }
        let mut file = match self.storage.open_append(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.storage.create(path)?,
            opened => opened?,
        };
        let filled = fill(&mut *file, wanted);
        *held = file.len();
        filled
    }
}

/// Appends up to `wanted` bytes that no file system can compress.
fn fill(file: &mut dyn StorageFile, wanted: u64) -> Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let piece: Vec<u8> = (0..PIECE_BYTES / 8).flat_map(|_| next()).collect();
    while file.len() < wanted {
        let len = PIECE_BYTES.min(wanted - file.len()) as usize;
        file.append(&piece[..len])?;
    }
    file.sync()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Fault, SimDisk};

    fn disk(capacity: u64) -> SimDisk {
        let disk = SimDisk::new();
        disk.set_capacity(Some(capacity));
        disk
    }

    fn held(disk: &SimDisk) -> usize {
        disk.read(PATH).map_or(0, |bytes| bytes.len())
    }

    #[test]
    fn it_is_as_long_as_the_log_and_grows_by_doubling_within_its_bounds() {
        let disk = disk(1 << 31);
        let reserve = Reserve::open(Arc::new(disk.clone()));
        let mut lengths = Vec::new();
        for log in [0, MIN_LOG_BYTES - 1, 100_000, 199_999, 200_000, 1 << 30] {
            reserve.keep(log).expect("there is room");
            lengths.push(held(&disk));
        }
        assert_eq!(lengths, [0, 0, 100_000, 100_000, 200_000, 64 << 20]);
        let small = SimDisk::new();
        small.set_capacity(Some(4 << 20));
        Reserve::open(Arc::new(small.clone())).keep(1 << 30).expect("there is room");
        assert_eq!(held(&small), (4 << 20) / FREE_DIVISOR as usize);
        assert_eq!(small.read(START_PATH).map_or(0, |bytes| bytes.len()), held(&small) / 4);
    }

    #[test]
    fn once_released_growth_waits_for_twice_the_room() {
        let disk = disk(8 << 20);
        let reserve = Reserve::open(Arc::new(disk.clone()));
        reserve.keep(400_000).expect("there is room");
        disk.create("data").expect("a file").append(&vec![0; (8 << 20) - 1_400_000]).expect("there is room");
        assert!(reserve.admits_growth(0));
        assert!(reserve.release());
        assert_eq!(held(&disk), 0);
        assert!(!reserve.admits_growth(0));
        assert!(!reserve.release(), "there is nothing left");
        reserve.keep(400_000).expect("nothing is tried");
        assert!(reserve.is_spent() && held(&disk) == 0);
        let again = Reserve::open(Arc::new(disk.clone()));
        assert!(!again.admits_growth(0), "the disk is as full as it was");
        assert!(again.release_for_start(), "the part for a start was left alone");
        assert!(!again.release_for_start());
        disk.remove("data").expect("a file");
        assert!(reserve.admits_growth(0));
        reserve.keep(0).expect("there is room");
        assert!(!reserve.is_spent());
        assert_eq!(held(&disk), 1 << 20, "as long as before, whatever the log is now");
    }

    #[test]
    fn a_disk_that_fails_meanwhile_costs_only_the_reserve() {
        for call in 1..6 {
            for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails] {
                let disk = disk(1 << 31);
                let reserve = Reserve::open(Arc::new(disk.clone()));
                disk.fail_nth(call, fault);
                let _ = reserve.keep(1 << 20);
                disk.clear_faults();
                reserve.keep(1 << 20).expect("the disk works again");
                let again = Reserve::open(Arc::new(disk.clone()));
                assert!(again.release() && held(&disk) == 0);
            }
        }
    }

    #[test]
    fn it_is_shortened_where_the_log_got_far_shorter_and_lengthened_again_where_little_is_free() {
        let disk = disk(1 << 34);
        let reserve = Reserve::open(Arc::new(disk.clone()));
        reserve.keep(64 << 20).expect("there is room");
        reserve.shorten(17 << 20).expect("a sound disk");
        assert_eq!(held(&disk), 64 << 20, "not for less than a quarter");
        reserve.shorten(52).expect("a sound disk");
        assert_eq!(held(&disk), SHORTENED_BYTES as usize);
        assert_eq!(disk.read(START_PATH).map_or(0, |bytes| bytes.len()), held(&disk) / 4);
        let again = Reserve::open(Arc::new(disk.clone()));
        disk.set_capacity(Some(900 << 20));
        again.shorten(52).expect("nothing is done");
        again.keep(52).expect("there is room");
        assert_eq!(held(&disk), 64 << 20, "it holds data, so it is made for a disk that may be full soon");
        again.shorten(52).expect("nothing is done");
        assert_eq!(held(&disk), 64 << 20);
    }

    #[test]
    fn growth_is_refused_while_the_pending_checkpoint_still_fits() {
        let disk = disk(4 << 20);
        let reserve = Reserve::open(Arc::new(disk.clone()));
        assert!(reserve.admits_growth(1 << 20), "the free space was not measured yet");
        assert!(reserve.measure_free(), "less than a gigabyte is free");
        let mut log = disk.create("log").expect("a file");
        log.append(&vec![0; 1 << 20]).expect("there is room");
        reserve.measure(1 << 20, 1 << 20);
        assert!(reserve.admits_growth(2 << 20) && !reserve.admits_growth(3 << 20));
        log.append(&vec![0; 1 << 20]).expect("there is room");
        assert!(!reserve.fits(2 << 20), "a byte of the log takes one of the room and needs one more");
        reserve.forget(1 << 20);
        assert!(!reserve.fits(1 << 20), "the log is not cut yet");
        reserve.measure(0, 1 << 20);
        assert!(reserve.fits(0) && reserve.fits((1 << 20) - 1) && !reserve.fits(1 << 20));
        reserve.measure(0, 3 << 20);
        assert!(!reserve.fits(0), "what is new may be more than what waits");
        disk.remove("log").expect("a file");
        assert!(reserve.fits(0), "room that another process makes counts at once");
    }

    #[test]
    fn growth_is_never_refused_on_a_disk_with_room() {
        let disk = disk(1 << 40);
        let reserve = Reserve::open(Arc::new(disk));
        assert!(!reserve.measure_free() && reserve.worth_freeing().is_none());
        reserve.measure(0, u64::MAX);
        assert!(reserve.admits_growth(1 << 20));
    }
}
