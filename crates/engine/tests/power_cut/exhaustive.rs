//! Every program of a few operations, with a crash after every call of the last one, and every choice of what was not
//! synced: after it the disk opens and shows what it must.
//!
//! The crashes during earlier operations are those of the shorter programs. (Most bugs of file systems need no more
//! than three operations and a crash right after a sync: Mohan and others, OSDI 2018.)

use crate::common::{Random, TestEngine, setting};
use crate::model::{Level, Model};
use crate::run::THRESHOLDS;
use crate::scenario::{Kind, Prepared, prepared};
use crate::session::Session;
use crate::{commit, on_every_core};
use kithdb_engine::storage::SimDisk;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Changes without a sync of which every choice is tried; of more, as many choices as these have.
const CHANGES: usize = 10;
/// Operations of the longest programs of a normal run, and of one that leaves nothing out: of that the longest are of the
/// first kinds alone.
const LENGTHS: [usize; 2] = [3, 4];
/// The longest programs of a normal run, of all that there are; `KITHDB_PROGRAMS` sets another number, and
/// `KITHDB_FIRST_PROGRAM` which comes first.
const LONGEST_PROGRAMS: u64 = 16;
/// A normal run takes one in this many of the programs of two operations.
const OF_TWO_ONE_IN: u64 = 4;
/// A normal run takes one in this many of those that begin unsynced; these have the most choices.
const UNSYNCED_ONE_IN: u64 = 16;
/// A normal run takes one in this many of the programs with a kind that is not among the first.
const LATER_ONE_IN: u64 = 8;
/// Numbers of successive samples differ by this: it is odd and the number of programs a power of two, so none repeats.
const SAMPLE_STEP: u64 = 389;
/// How often in a row the recovery crashes too, likewise.
const CRASHES: [usize; 2] = [1, 2];

/// Counts of a run, and the states that were checked: bytes on the disk, and what they may show.
#[derive(Default)]
struct Seen {
    states: Mutex<HashSet<(u64, u64)>>,
    crashes: AtomicU64,
    opened: AtomicU64,
}

/// The kinds of which programs of a length are made.
fn kinds(length: usize) -> &'static [Kind] {
    if length > LENGTHS[0] { &Kind::ALL[..Kind::FIRST] } else { &Kind::ALL }
}

/// The operations of program `number`: its digits in the base of the kinds, as many as there are.
fn program(mut number: u64, length: usize) -> Vec<Kind> {
    let kinds = kinds(length);
    let digits = (0..length).map(|_| {
        let kind = kinds[number as usize % kinds.len()];
        number /= kinds.len() as u64;
        kind
    });
    let mut program: Vec<Kind> = digits.collect();
    program.reverse();
    program
}

/// Runs a program, then checks every state that a crash during its last operation may leave.
fn crash_everywhere(start: &Prepared, program: &[Kind], recoveries: usize, seen: &Seen) {
    let mut engine = start.engine.duplicate();
    engine.open().expect("the start opens");
    let client = engine.client();
    let mut session = start.session(1);
    let Some((last, earlier)) = program.split_last() else { return };
    for (at, kind) in earlier.iter().enumerate() {
        kind.run(&mut session, &client, 1 + at as u64);
    }
    let mut possible = session.possible();
    let snapshots = snapshots_during(&engine.disk, || last.run(&mut session, &client, program.len() as u64));
    if possible.last() != Some(&session.model) {
        possible.push(session.model.clone());
    }
    let during = Outcome::new(possible);
    for (call, snapshot) in snapshots.iter().enumerate() {
        seen.lose_every_choice(snapshot, &during, recoveries, &|| {
            format!("{program:?}, a crash before call {call} of the last")
        });
    }
    seen.lose_every_choice(&engine.disk, &Outcome::new(session.possible()), recoveries, &|| {
        format!("{program:?}, a crash after it")
    });
}

/// The disk before each call that `act` makes.
fn snapshots_during(disk: &SimDisk, act: impl FnOnce()) -> Vec<SimDisk> {
    let snapshots: Arc<Mutex<Vec<SimDisk>>> = Arc::default();
    let (handle, taken) = (disk.clone(), Arc::clone(&snapshots));
    disk.interleave(Some(Arc::new(move |_: &str| taken.lock().unwrap().push(handle.duplicate()))));
    act();
    disk.interleave(None);
    std::mem::take(&mut *snapshots.lock().unwrap())
}

/// What a disk may show.
struct Outcome {
    states: Vec<Model>,
    /// One number for all of them.
    number: u64,
}

impl Outcome {
    fn new(states: Vec<Model>) -> Outcome {
        let mut hasher = DefaultHasher::new();
        format!("{states:?}").hash(&mut hasher);
        Outcome { states, number: hasher.finish() }
    }
}

impl Seen {
    /// Cuts the power with every choice of what arrived, opens each distinct outcome, and does the same with every
    /// crash of that recovery, as many times in a row as `recoveries` says.
    fn lose_every_choice(
        &self,
        disk: &SimDisk,
        may_show: &Outcome,
        recoveries: usize,
        what: &dyn Fn() -> String,
    ) {
        let changes = disk.unsynced();
        let mut random = Random(may_show.number);
        for choice in 0..1u64 << changes.min(CHANGES) {
            let arrived = if changes <= CHANGES { choice } else { random.next() };
            let left = disk.duplicate();
            let mut at = 0;
            left.power_cut_keeping(|| {
                at += 1;
                arrived >> ((at - 1) % 64) & 1 == 1
            });
            self.crashes.fetch_add(1, Ordering::Relaxed);
            if self.states.lock().unwrap().insert((left.fingerprint(), may_show.number)) {
                self.opened.fetch_add(1, Ordering::Relaxed);
                let what = || format!("{}, {arrived:b} of {changes} changes arrived", what());
                self.open(&left, may_show, recoveries, &what);
            }
        }
    }

    fn open(&self, left: &SimDisk, may_show: &Outcome, recoveries: usize, what: &dyn Fn() -> String) {
        let mut opened = Err(String::new());
        let snapshots = snapshots_during(left, || opened = TestEngine::with(left.clone(), 1, THRESHOLDS));
        let engine = opened.unwrap_or_else(|error| panic!("{}: {error}", what()));
        let mut session = Session::after_cut(may_show.number, may_show.states.clone());
        let client = engine.client();
        let shown = catch_unwind(AssertUnwindSafe(|| {
            session.settle(&client);
            session.answers_agree(&client);
        }));
        assert!(shown.is_ok(), "{}", what());
        if recoveries > 0 {
            for (call, snapshot) in snapshots.iter().enumerate() {
                let what = || format!("{}, then a crash before call {call} of the recovery", what());
                self.lose_every_choice(snapshot, may_show, recoveries - 1, &what);
            }
        }
    }
}

/// Whether a normal run has the program `number` of two operations.
fn is_in_normal_run(program: &[Kind], number: u64, is_unsynced: bool) -> bool {
    let is_later = program.iter().any(|kind| !Kind::ALL[..Kind::FIRST].contains(kind));
    let one_in =
        if is_unsynced { UNSYNCED_ONE_IN } else { OF_TWO_ONE_IN } * if is_later { LATER_ONE_IN } else { 1 };
    // Not of one operation all, and of another none.
    let kinds = Kind::ALL.len() as u64;
    (number / kinds + 3 * (number % kinds)).is_multiple_of(one_in)
}

#[test]
fn no_crash_during_a_short_program_loses_anything_c1_7_c11_3() {
    let all = usize::from(setting("KITHDB_EXHAUSTIVE").is_some());
    let starts = [Prepared::empty(), prepared(Level::Always), prepared(Level::Os)];
    let seen = Seen::default();
    for length in 1..=LENGTHS[all] {
        // Without syncs there are more choices of what survives. A normal run omits the longest programs for them.
        let starts = if all == 0 && length == LENGTHS[0] { &starts[..2] } else { &starts[..] };
        let programs = (kinds(length).len() as u64).pow(length as u32) * starts.len() as u64;
        let is_sample = all == 0 && length == LENGTHS[0];
        let count = if is_sample { setting("KITHDB_PROGRAMS").unwrap_or(LONGEST_PROGRAMS) } else { programs };
        let first = setting("KITHDB_FIRST_PROGRAM").unwrap_or(0) % programs;
        let has_all = all == 1 || setting("KITHDB_PROGRAMS").is_some();
        let failed = on_every_core(0..count.min(programs), |at| {
            let number = if is_sample { (first + at) * SAMPLE_STEP % programs } else { at };
            let (number, start) = (number / starts.len() as u64, number as usize % starts.len());
            let program = program(number, length);
            if length == 2 && !has_all && !is_in_normal_run(&program, number, start == 2) {
                return;
            }
            crash_everywhere(&starts[start], &program, CRASHES[all], &seen);
        });
        println!(
            "programs of up to {length}: {} crashes, {} distinct states opened",
            seen.crashes.load(Ordering::Relaxed),
            seen.opened.load(Ordering::Relaxed)
        );
        assert!(failed.is_empty(), "failed{}", commit());
    }
}
