//! A disk in memory that can lose power: deterministic, so that one seed is one run.
//!
//! The model (of POSIX, harsher than most file systems):
//! - appends and truncations since the last successful sync of a file may arrive, not arrive, or arrive in part, torn
//!   at 1, 512 or 4,096 bytes, later sectors without earlier ones, zeros or garbage in between;
//! - names created, renamed or removed since the last `sync_dir` of their directory survive or vanish one by one, also
//!   when the file itself was synced; both names of a rename go together;
//! - a failed sync of a file leaves bytes that read back well until the power goes, whatever is synced later, or until
//!   the kernel evicts their pages ([`SimDisk::drop_caches`]): then they are read as the disk has them, which may be
//!   what the file held there before, zeros, or garbage. This is the one *stale read* that a sound disk can give to a
//!   machine that has not lost power;
//! - a failed sync of a directory leaves its names as they were, and a later one may succeed: file systems for which
//!   that is not so take no writes any more, which is [`SimDisk::fail_from`].
//!
//! A disk that lies about syncs, or gives back other bytes than were synced, is not simulated here but by
//! [`SimDisk::decay`]: the engine cannot prevent that, it must notice it.

mod fault;
mod file;
mod handle;
mod random_source;
mod storage;
mod tree;

use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;

use self::fault::{Plan, Verdict};
use self::tree::SimTree;
use super::{ErrorKind, Result, StorageError};

pub use self::fault::{Call, Fault};
pub use self::random_source::RandomSource;

/// A simulated disk. Clones are handles to the same disk.
#[derive(Clone)]
pub struct SimDisk {
    machine: Arc<Machine>,
}

/// Runs something else between two steps of the caller: see [`SimDisk::interleave`].
pub type OtherWork = Arc<dyn Fn(&str) + Send + Sync>;

struct Machine {
    state: Mutex<SimState>,
    other_work: Mutex<Option<OtherWork>>,
}

impl Machine {
    fn new(state: SimState) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(state), other_work: Mutex::new(None) })
    }

    /// Runs the other work before the caller's step at `place`.
    fn yield_point(&self, place: &str) {
        let other = self.other_work.lock().clone();
        if let Some(other) = other {
            other(place);
        }
    }
}

#[derive(Clone)]
struct SimState {
    tree: SimTree,
    plan: Plan,
    /// Counts power cuts; handles and locks of an earlier boot are dead.
    boot: u64,
    locked: bool,
    capacity_bytes: Option<u64>,
    /// Whether a file may have several names. If not, a link is a copy.
    has_links: bool,
}

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimDisk {
    /// An empty disk.
    pub fn new() -> Self {
        let state = SimState {
            tree: SimTree::new(),
            plan: Plan::default(),
            boot: 0,
            locked: false,
            capacity_bytes: None,
            has_links: true,
        };
        Self { machine: Machine::new(state) }
    }

    /// Cuts the power and switches the machine on again: what was not synced survives as `seed` decides, open files and
    /// locks are dead, planned faults are forgotten, and the disk can be used.
    pub fn power_cut(&self, seed: u64) {
        let mut state = self.machine.state.lock();
        state.tree.lose_power(&mut RandomSource::new(seed));
        state.reboot();
    }

    /// Ends the process but not the machine: open files and locks are dead, planned faults are forgotten, and every
    /// byte that reached the operating system is there, synced or not.
    pub fn kill(&self) {
        self.machine.state.lock().reboot();
    }

    /// Makes the `n`-th call from now (1 is the next), or the first after it that the fault can apply to, fail.
    pub fn fail_nth(&self, n: u64, fault: Fault) {
        self.machine.state.lock().plan.fail_nth(n, fault);
    }

    /// Lets `n` more calls pass; every later one fails without effect, as if the machine were off, until
    /// [`power_cut`](Self::power_cut) or [`kill`](Self::kill).
    pub fn crash_after(&self, n: u64) {
        self.machine.state.lock().plan.crash_after(n);
    }

    /// Forgets planned faults and crashes.
    pub fn clear_faults(&self) {
        self.machine.state.lock().plan.clear();
    }

    /// Makes the `n`-th call of one kind from now fail; the fault must be one that can apply to it.
    pub fn fail_nth_of(&self, call: Call, n: u64, fault: Fault) {
        self.machine.state.lock().plan.fail_nth_of(call, n, fault);
    }

    /// Makes every call from the `n`-th on fail that the fault can apply to: a disk that died, or stays full.
    pub fn fail_from(&self, n: u64, fault: Fault) {
        self.machine.state.lock().plan.fail_from(n, fault);
    }

    /// Whether a planned fault has not happened yet, or goes on happening.
    pub fn has_faults(&self) -> bool {
        self.machine.state.lock().plan.has_faults()
    }

    /// The kernel evicts clean pages. From here on, bytes whose sync failed are read from the disk, which may hold
    /// older bytes or garbage in their place. Nothing else changes.
    pub fn drop_caches(&self, seed: u64) {
        self.machine.state.lock().tree.drop_caches(&mut RandomSource::new(seed));
    }

    /// How many changes of names and files no sync has covered.
    pub fn unsynced(&self) -> usize {
        self.machine.state.lock().tree.unsynced()
    }

    /// Like [`power_cut`](Self::power_cut), but exactly those [`unsynced`](Self::unsynced) changes reach the disk,
    /// complete, for which `arrived` returns true. It is called once for each change, names first. (A change of a name
    /// is lost if an earlier change of that name is.)
    pub fn power_cut_keeping(&self, arrived: impl FnMut() -> bool) {
        let mut state = self.machine.state.lock();
        state.tree.lose_power_keeping(arrived);
        state.reboot();
    }

    /// One number for all names and bytes that a program could read now.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.machine.state.lock().tree.hash_into(&mut hasher);
        hasher.finish()
    }

    /// Calls `work` before every call, with its path, and at every [`Storage::yield_point`], with its place. It runs between
    /// two steps of the caller, on the same thread, and must not take locks that the caller holds.
    pub fn interleave(&self, work: Option<OtherWork>) {
        *self.machine.other_work.lock() = work;
    }

    /// How many calls of one kind were made, failed ones included.
    pub fn calls_of(&self, call: Call) -> u64 {
        self.machine.state.lock().plan.calls_of(call)
    }

    /// How many calls were made, failed ones included.
    pub fn calls(&self) -> u64 {
        self.machine.state.lock().plan.calls()
    }

    /// Limits the bytes in all files together; appends beyond it write what fits and fail as full.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.machine.state.lock().capacity_bytes = bytes;
    }

    /// From here on a file has one name, as on a file system without links.
    pub fn forbid_links(&self) {
        self.machine.state.lock().has_links = false;
    }

    /// A disk of its own in exactly this state (open files stay with this one), to try several cuts from one point.
    pub fn duplicate(&self) -> Self {
        let mut state = self.machine.state.lock().clone();
        state.boot += 1;
        state.locked = false;
        Self { machine: Machine::new(state) }
    }

    /// Changes the bytes of a file durably, without a call that is counted: decay of the medium.
    pub fn decay(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut state = self.machine.state.lock();
        let file = state.tree.file("decay", path)?;
        state.tree.content_mut("decay", path, file)?.rewrite(change);
        Ok(())
    }

    fn enter(&self, call: Call, operation: &'static str, path: &str) -> Result<Entered<'_>> {
        enter(&self.machine, call, operation, path)
    }
}

/// The state of the machine, and a fault that the call itself must simulate.
struct Entered<'a> {
    state: parking_lot::MutexGuard<'a, SimState>,
    fault: Option<Fault>,
}

/// Counts the call, and fails it if a fault is due. Only short writes and failed syncs, which have effects, are
/// left to the call.
fn enter<'a>(machine: &'a Machine, call: Call, operation: &'static str, path: &str) -> Result<Entered<'a>> {
    machine.yield_point(path);
    let mut state = machine.state.lock();
    let fault = match state.plan.decide(call) {
        Verdict::Pass => None,
        Verdict::Off => {
            return Err(StorageError::new(ErrorKind::Io, operation, path, "the simulated machine is off"));
        }
        Verdict::Fail(Fault::Eio) => {
            return Err(StorageError::new(ErrorKind::Io, operation, path, "simulated input/output error"));
        }
        Verdict::Fail(Fault::Enospc) => {
            return Err(StorageError::new(ErrorKind::Full, operation, path, "simulated full disk"));
        }
        Verdict::Fail(Fault::Exhausted) => {
            return Err(StorageError::new(ErrorKind::Exhausted, operation, path, "simulated lack of memory"));
        }
        Verdict::Fail(fault) => Some(fault),
    };
    Ok(Entered { state, fault })
}

fn failed_sync(operation: &'static str, path: &str) -> StorageError {
    StorageError::new(ErrorKind::Io, operation, path, "simulated failure of a sync")
}

impl SimState {
    fn reboot(&mut self) {
        self.plan.clear();
        self.boot += 1;
        self.locked = false;
    }
}
