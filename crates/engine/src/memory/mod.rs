//! The accountant of memory: growth is charged before it happens, and refused when little is left.
//!
//! Writes charge what they are going to take. Five times a second it is measured what the collections hold and what the
//! whole process holds, V8 and the fragments of the heap included. A measurement includes what the writes before it have
//! allocated, so their charges are dropped. `docs/memory.md` has the reasons.

mod cgroups;
mod process;

use crate::error::Error;
use crate::faults::PlantedFault;
use crate::limits::{Limits, ResidencyThresholds, Thresholds};
use crate::storage::Exceeding;
use cgroups::Group;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of the limit that are those of Node.
pub const NODE_BYTES: u64 = 128 << 20;
/// The engine's part of a small limit is at least the limit divided by this.
const LEAST_SHARE: u64 = 4;

/// Shares of the limit in thousandths: where growth is refused, where it is accepted again, where memory is freed, where
/// automatic indexes are dropped, and where building waits.
const REFUSED_AT: u64 = 900;
const RESUMED_AT: u64 = 850;
const SHRUNK_AT: u64 = 750;
const GIVEN_UP_AT: u64 = 700;
const CRITICAL_AT: u64 = 960;

/// Shares of the limit from which on mapped files do not fit into memory beside the process, and below which they do again.
const EXCEEDED_AT: u64 = 950;
const FITTING_AT: u64 = 850;

/// All automatic indexes together take at most the engine's part of the limit divided by this.
const AUTOMATIC_DIVISOR: u64 = 8;

/// The process is measured again after this many bytes of charges.
const STEP_BYTES: u64 = 1 << 20;

/// What memory is accounted against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryLimit {
    /// Nothing: growth is never refused.
    #[default]
    None,
    /// That many bytes for the whole process.
    Bytes(u64),
    /// The least limit of the control groups of the process, else the memory of the machine, which has so many bytes.
    OfSystem {
        /// Bytes of the machine.
        machine: u64,
    },
}

/// What is held of the memory, at the last measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes that the process may hold; 0 for any number.
    pub limit: u64,
    /// Anonymous bytes of the process, and what others hold of a group that limits both.
    pub process: u64,
    /// Bytes of the limit that the engine may hold.
    pub engine_limit: u64,
    /// Bytes of the engine, with what the graphs behind the writes will take.
    pub engine: u64,
    /// Growth that was accepted lately.
    pub charged: u64,
    /// Whether writes that make data grow are refused.
    pub is_refusing: bool,
}

/// The accountant: see the module.
#[derive(Debug)]
pub struct Memory {
    /// `u64::MAX` for none.
    limit: u64,
    engine_limit: u64,
    /// Looked at only if the limit is theirs.
    groups: Vec<Group>,
    process: AtomicU64,
    /// Bytes that others hold of the limit.
    others: AtomicU64,
    engine: AtomicU64,
    /// Charges since the last measurement, and those between that and the one before.
    charged: AtomicU64,
    charged_before: AtomicU64,
    /// Charges since the process was measured.
    unmeasured: AtomicU64,
    /// What requests hold while they run.
    in_flight: AtomicU64,
    /// What automatic indexes hold.
    automatic: AtomicU64,
    /// They are marked to be dropped, and what they hold counts no more.
    is_making_room: AtomicBool,
    refuses: AtomicBool,
    measuring: Mutex<()>,
    /// There where mapped files and the process exceed the limit.
    exceeding: Mutex<Option<Exceeding>>,
}

impl Memory {
    /// An accountant for this process.
    pub fn of(limit: MemoryLimit) -> Memory {
        let groups = match limit {
            MemoryLimit::OfSystem { .. } => cgroups::groups(Path::new("/")),
            _ => Vec::new(),
        };
        let bytes = match limit {
            MemoryLimit::None => u64::MAX,
            MemoryLimit::Bytes(bytes) => bytes.max(1),
            MemoryLimit::OfSystem { machine } => {
                groups.iter().map(|group| group.limit).fold(machine, u64::min).max(1)
            }
        };
        let memory = Memory {
            limit: bytes,
            engine_limit: bytes.saturating_sub(NODE_BYTES).max(bytes / LEAST_SHARE).max(1),
            groups,
            process: AtomicU64::new(0),
            others: AtomicU64::new(0),
            engine: AtomicU64::new(0),
            charged: AtomicU64::new(0),
            charged_before: AtomicU64::new(0),
            unmeasured: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            automatic: AtomicU64::new(0),
            is_making_room: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            measuring: Mutex::new(()),
            exceeding: Mutex::default(),
        };
        memory.measure(0);
        memory
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit != u64::MAX
    }

    /// Sizes at which background work starts that suit the limit: what waits in memory and in the log for a checkpoint, and
    /// would be replayed by a start, must fit into the engine's part of it several times.
    pub fn suit(&self, thresholds: Thresholds, limits: Limits) -> (Thresholds, Limits) {
        let part = |of: u64, least: u64| (self.engine_limit / of).max(least);
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let thresholds = Thresholds {
            checkpoint_bytes: thresholds.checkpoint_bytes.min(size(part(8, 4 << 20))),
            log_budget_bytes: thresholds.log_budget_bytes.min(part(4, 8 << 20)),
            log_segment_bytes: thresholds.log_segment_bytes.min(part(8, 4 << 20)),
            residency: ResidencyThresholds {
                budget_bytes: thresholds
                    .residency
                    .budget_bytes
                    .or_else(|| self.is_limited().then_some(self.engine_limit / 2)),
                ..thresholds.residency
            },
            ..thresholds
        };
        let max_unsaved_work = limits.max_unsaved_work.min(size(part(2, 32 << 20)));
        (thresholds, Limits { max_unsaved_work, ..limits })
    }

    /// Bytes that may wait for the log.
    pub fn log_bytes(&self, usual: usize) -> usize {
        usual.min(usize::try_from(self.engine_limit / 8).unwrap_or(usize::MAX))
    }

    /// Charges growth of about that many bytes, unless there is no room for it.
    ///
    /// # Errors
    /// `MemoryLimit` from 90 % of the limit on, until less than 85 % of it is held.
    pub fn admit(&self, bytes: u64) -> Result<(), Error> {
        if !self.is_limited() {
            return Ok(());
        }
        let unmeasured = self.unmeasured.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if unmeasured >= STEP_BYTES && self.measuring.try_lock().is_some_and(|_only| self.measure_process()) {
            self.unmeasured.store(0, Ordering::Relaxed);
        }
        if self.is_refusing_with(bytes) && !PlantedFault::MemoryNotLimited.is_on() {
            return Err(Error::MemoryLimit);
        }
        self.charged.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Charges what a request holds while it runs. It is never refused; it counts until the guard is dropped.
    pub fn hold(self: &Arc<Self>, bytes: u64) -> Held {
        self.in_flight.fetch_add(bytes, Ordering::Relaxed);
        Held { memory: Arc::clone(self), bytes }
    }

    /// Charges what a collection will hold that a start opens, until the guard is dropped.
    ///
    /// # Errors
    /// The bytes that are left for it, where those are too few.
    pub fn hold_opening(self: &Arc<Self>, bytes: u64) -> Result<Held, u64> {
        let room = self.engine_limit.saturating_sub(self.engine.load(Ordering::Relaxed));
        let charge = |held: u64| held.checked_add(bytes).filter(|&all| !self.is_limited() || all <= room);
        self.in_flight
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, charge)
            .map(|_| Held { memory: Arc::clone(self), bytes })
            .map_err(|held| room.saturating_sub(held))
    }

    /// Whether a request that will hold that many bytes while it runs fits below the limit.
    pub fn has_room_for(&self, bytes: u64) -> bool {
        if !self.is_limited() {
            return true;
        }
        let has_room = || self.share(bytes) < CRITICAL_AT;
        has_room() || (self.make_room() && has_room())
    }

    /// Takes note of what automatic indexes hold.
    pub fn note_automatic(&self, bytes: u64) {
        self.automatic.store(bytes, Ordering::Relaxed);
        if bytes == 0 {
            self.is_making_room.store(false, Ordering::Relaxed);
        }
    }

    /// Whether an automatic index of about that many bytes may be built: the first thing for which there is no room.
    pub fn has_room_for_automatic(&self, bytes: u64) -> bool {
        if !self.is_limited() {
            return true;
        }
        let all = self.automatic.load(Ordering::Relaxed).saturating_add(bytes);
        !self.is_making_room()
            && self.share(bytes) < GIVEN_UP_AT
            && all <= self.engine_limit / AUTOMATIC_DIVISOR
    }

    /// Whether all automatic indexes are to be dropped.
    pub fn is_making_room(&self) -> bool {
        self.is_making_room.load(Ordering::Relaxed)
    }

    /// Marks the automatic indexes to be dropped where so much is held that caches will have to shrink soon.
    pub fn make_room_in_time(&self) {
        if self.is_limited() && self.share(0) >= GIVEN_UP_AT {
            self.make_room();
        }
    }

    /// Marks the automatic indexes to be dropped. Whether there are some that were not marked before.
    fn make_room(&self) -> bool {
        self.automatic.load(Ordering::Relaxed) > 0 && !self.is_making_room.swap(true, Ordering::Relaxed)
    }

    /// What will be free as soon as the marked automatic indexes are dropped.
    fn leaving(&self) -> u64 {
        if self.is_making_room() { self.automatic.load(Ordering::Relaxed) } else { 0 }
    }

    /// Whether writes that make data grow are refused.
    pub fn is_refusing(&self) -> bool {
        self.is_limited() && self.is_refusing_with(0)
    }

    /// Whether so much is held that caches are to shrink.
    pub fn is_pressed(&self) -> bool {
        self.is_limited() && self.share(0) >= SHRUNK_AT
    }

    /// Whether so much is held that what is built behind the writes has to wait.
    pub fn is_critical(&self) -> bool {
        self.is_limited() && self.process_share(0) >= CRITICAL_AT
    }

    /// Bytes that one write may still add.
    pub fn room(&self) -> u64 {
        if !self.is_limited() {
            return u64::MAX;
        }
        let charged = self.recently_charged();
        let process = self.process.load(Ordering::Relaxed) + self.others.load(Ordering::Relaxed);
        let automatic = self.automatic.load(Ordering::Relaxed);
        let below = |limit: u64, held: u64| {
            (limit / 1000 * CRITICAL_AT).saturating_sub((held + charged).saturating_sub(automatic))
        };
        below(self.limit, process).min(below(self.engine_limit, self.engine.load(Ordering::Relaxed)))
    }

    /// Takes note of what the engine holds, measures the process and its groups, and forgets the charges that are old
    /// enough to be in the measurements.
    pub fn measure(&self, engine_bytes: u64) {
        if !self.is_limited() {
            return;
        }
        let _only = self.measuring.lock();
        self.engine.store(engine_bytes, Ordering::Relaxed);
        self.measure_process();
        let own = self.process.load(Ordering::Relaxed);
        // The group that leaves least room decides: what others hold of it is as good as a lower limit.
        let taken = self.groups.iter().filter_map(|group| {
            let others = group.held()?.saturating_sub(own);
            Some(self.limit.saturating_sub(group.limit.saturating_sub(others)))
        });
        self.others.store(taken.max().unwrap_or(0), Ordering::Relaxed);
        self.charged_before.store(self.charged.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        self.unmeasured.store(0, Ordering::Relaxed);
        self.is_refusing_with(0);
    }

    /// Takes note of how many bytes of files are mapped: where they do not fit into memory, single pages of them are read.
    pub fn note_maps(&self, bytes: u64) {
        if !self.is_limited() {
            return;
        }
        let share = self.process_share(bytes);
        let mut exceeding = self.exceeding.lock();
        match &*exceeding {
            Some(_) if share < FITTING_AT => *exceeding = None,
            None if share >= EXCEEDED_AT => *exceeding = Some(Exceeding::begin()),
            _ => {}
        }
    }

    /// What is held.
    pub fn in_use(&self) -> MemoryUse {
        if !self.is_limited() {
            return MemoryUse::default();
        }
        MemoryUse {
            limit: self.limit,
            process: self.process.load(Ordering::Relaxed) + self.others.load(Ordering::Relaxed),
            engine_limit: self.engine_limit,
            engine: self.engine.load(Ordering::Relaxed),
            charged: self.recently_charged(),
            is_refusing: self.is_refusing(),
        }
    }

    fn measure_process(&self) -> bool {
        let measured = process::anonymous_bytes();
        self.process.store(measured.unwrap_or(0), Ordering::Relaxed);
        measured.is_some()
    }

    fn recently_charged(&self) -> u64 {
        [&self.charged, &self.charged_before, &self.in_flight]
            .iter()
            .map(|bytes| bytes.load(Ordering::Relaxed))
            .sum()
    }

    /// Decides, with hysteresis.
    fn is_refusing_with(&self, more: u64) -> bool {
        let mut share = self.share(more);
        // Automatic indexes go before a write is refused (C23).
        if share >= REFUSED_AT && self.make_room() {
            share = self.share(more);
        }
        if share >= REFUSED_AT {
            self.refuses.store(true, Ordering::Relaxed);
        } else if share < RESUMED_AT {
            self.refuses.store(false, Ordering::Relaxed);
        }
        self.refuses.load(Ordering::Relaxed)
    }

    /// What would be held with `more` bytes, in thousandths of the limit of the process or of the engine, whichever is more.
    fn share(&self, more: u64) -> u64 {
        let engine =
            self.engine.load(Ordering::Relaxed).saturating_sub(self.leaving()) + self.recently_charged();
        self.process_share(more).max(thousandths(engine.saturating_add(more), self.engine_limit))
    }

    fn process_share(&self, more: u64) -> u64 {
        let process = self.process.load(Ordering::Relaxed) + self.others.load(Ordering::Relaxed);
        let process = process.saturating_sub(self.leaving());
        thousandths((process + self.recently_charged()).saturating_add(more), self.limit)
    }
}

fn thousandths(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 1000 / u128::from(whole)).unwrap_or(u64::MAX)
}

/// What a request holds, until it is dropped.
#[derive(Debug)]
pub struct Held {
    memory: Arc<Memory>,
    bytes: u64,
}

impl Held {
    /// Adds bytes that the request holds, too.
    ///
    /// # Errors
    /// `MemoryLimit` where there is no room for them.
    pub fn grow(&mut self, bytes: u64) -> Result<(), Error> {
        if !self.memory.has_room_for(bytes) {
            return Err(Error::MemoryLimit);
        }
        self.memory.in_flight.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.in_flight.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    /// So much that the process of the tests does not count beside it.
    const LIMIT: u64 = 1 << 50;

    #[test]
    fn growth_is_refused_at_nine_tenths_and_taken_up_again_below_85_hundredths() {
        let memory = Memory::of(MemoryLimit::Bytes(LIMIT));
        let engine = LIMIT - NODE_BYTES;
        memory.measure(engine / 1000 * 890);
        assert_eq!(memory.admit(MIB), Ok(()));
        assert_eq!(memory.admit(engine / 50), Err(Error::MemoryLimit));
        assert!(memory.is_refusing());
        memory.measure(engine / 1000 * 860);
        assert_eq!(memory.admit(1), Err(Error::MemoryLimit), "between the two it stays as it was");
        memory.measure(engine / 1000 * 840);
        memory.measure(engine / 1000 * 840);
        assert_eq!(memory.admit(1), Ok(()));
    }

    #[test]
    fn a_collection_is_opened_as_long_as_there_is_room_for_all() {
        let memory = Arc::new(Memory::of(MemoryLimit::Bytes(LIMIT)));
        let engine = LIMIT - NODE_BYTES;
        let first = memory.hold_opening(engine / 2).expect("room");
        assert_eq!(memory.hold_opening(engine / 2 + 1).unwrap_err(), engine - engine / 2);
        let second = memory.hold_opening(engine / 2).expect("room");
        drop((first, second));
        assert!(memory.hold_opening(engine).is_ok());
        assert!(Arc::new(Memory::of(MemoryLimit::None)).hold_opening(1 << 60).is_ok());
    }

    #[test]
    fn files_fit_into_memory_until_they_exceed_it_and_again_below_85_hundredths() {
        let memory = Memory::of(MemoryLimit::Bytes(LIMIT));
        let does_fit_with = |thousandths: u64| {
            memory.note_maps(LIMIT / 1000 * thousandths);
            memory.exceeding.lock().is_none()
        };
        assert_eq!([940, 960, 860, 840, 940].map(does_fit_with), [true, false, false, true, true]);
    }

    #[test]
    fn a_charge_counts_until_a_measurement_after_the_next_has_it() {
        let memory = Arc::new(Memory::of(MemoryLimit::Bytes(LIMIT)));
        assert_eq!(memory.admit(5 * MIB), Ok(()));
        memory.measure(0);
        assert_eq!(memory.in_use().charged, 5 * MIB, "it may not have been written yet");
        memory.measure(0);
        assert_eq!(memory.in_use().charged, 0);
        let held = memory.hold(7 * MIB);
        memory.measure(0);
        memory.measure(0);
        assert_eq!(memory.in_use().charged, 7 * MIB);
        drop(held);
        assert_eq!(memory.in_use().charged, 0);
    }

    #[test]
    fn automatic_indexes_go_before_a_write_is_refused_and_before_caches_shrink_c23() {
        let memory = Memory::of(MemoryLimit::Bytes(LIMIT));
        let engine = LIMIT - NODE_BYTES;
        let automatic = engine / 10;
        memory.note_automatic(automatic);
        memory.measure(engine / 1000 * 600);
        memory.make_room_in_time();
        assert!(!memory.is_making_room() && memory.has_room_for_automatic(MIB));
        assert!(!memory.has_room_for_automatic(engine / 8 - automatic + 1), "an eighth is theirs");
        memory.measure(engine / 1000 * 720);
        assert!(!memory.has_room_for_automatic(0) && !memory.is_pressed());
        memory.make_room_in_time();
        assert!(memory.is_making_room(), "caches have not begun to shrink");
        // They have gone, and another one was made.
        memory.note_automatic(0);
        assert!(!memory.is_making_room());
        memory.note_automatic(automatic);
        memory.measure(engine / 1000 * 890);
        assert_eq!(
            memory.admit(engine / 50),
            Ok(()),
            "they are marked to be dropped, and the write is accepted"
        );
        assert!(memory.is_making_room());
        assert_eq!(
            memory.admit(engine / 10),
            Err(Error::MemoryLimit),
            "without them there is no room either"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_process_counts_as_a_whole() {
        let memory = Memory::of(MemoryLimit::Bytes(1));
        assert!(memory.in_use().process > 0 && memory.is_refusing() && memory.is_critical());
        assert_eq!(memory.room(), 0);
    }

    #[test]
    fn without_a_limit_nothing_is_refused() {
        let memory = Memory::of(MemoryLimit::None);
        memory.measure(u64::MAX);
        assert_eq!(memory.admit(u64::MAX), Ok(()));
        assert!(!memory.is_refusing() && !memory.is_pressed() && !memory.is_critical());
        assert_eq!((memory.in_use(), memory.room()), (MemoryUse::default(), u64::MAX));
    }

    #[test]
    fn what_waits_for_checkpoints_suits_the_limit() {
        let usual = (Thresholds::default(), Limits::default());
        let (thresholds, limits) = Memory::of(MemoryLimit::Bytes(256 * MIB)).suit(usual.0, usual.1);
        assert_eq!(thresholds.checkpoint_bytes as u64, 16 * MIB);
        assert_eq!((thresholds.log_budget_bytes, limits.max_unsaved_work as u64), (32 * MIB, 64 * MIB));
        let (thresholds, limits) = Memory::of(MemoryLimit::Bytes(8 << 30)).suit(usual.0, usual.1);
        assert_eq!(thresholds.checkpoint_bytes, usual.0.checkpoint_bytes);
        assert_eq!(limits.max_unsaved_work, usual.1.max_unsaved_work);
    }
}
