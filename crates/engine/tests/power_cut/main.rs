//! Random programs over the whole engine on a disk that loses power, fills up and fails; after every recovery the
//! engine must show what it acknowledged, nothing that it refused, and requests of unknown fate whole or not at all.
//!
//! `KITHDB_SEEDS` sets how many programs run (500; `npm run test:long` has many more), `KITHDB_FIRST_SEED` which is the
//! first.
//! `KITHDB_EXHAUSTIVE=1` lets every call of the scenario of `nth_call` fail however long it gets, and `exhaustive` go
//! on to programs of four operations whose recovery crashes twice.

mod aliases;
mod body;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod configuring;
mod content;
mod directed;
mod exhaustive;
mod expiry;
mod interleaving;
mod model;
mod nth_call;
mod parts;
mod program;
mod run;
mod scenario;
mod session;
mod snapshots;
mod syncing;
mod verify;
mod versions;

use common::setting;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Programs of a normal run.
const SEEDS: u64 = 500;
/// A long run prints its progress after this many programs.
const REPORT_AFTER: u64 = 20_000;
/// Failures after which a run ends.
const MAX_FAILURES: usize = 5;

/// What is tested, for the report of a failure; empty where it is unknown.
fn commit() -> String {
    let git = std::process::Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR"), "rev-parse", "--short", "HEAD"])
        .output();
    let said = git.ok().filter(|output| output.status.success()).map(|output| output.stdout);
    said.map_or(String::new(), |name| format!(" at commit {}", String::from_utf8_lossy(&name).trim()))
}

/// Runs `each` for the numbers of a range on every core, until several of them have failed. Returns those.
fn on_every_core(numbers: std::ops::Range<u64>, each: impl Fn(u64) + Sync) -> Vec<u64> {
    let next = AtomicU64::new(numbers.start);
    let enough = AtomicBool::new(false);
    let failed = Mutex::new(Vec::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= numbers.end || enough.load(Ordering::Relaxed) {
                        return;
                    }
                    if catch_unwind(AssertUnwindSafe(|| each(number))).is_err() {
                        let mut failed = failed.lock().unwrap();
                        failed.push(number);
                        enough.store(failed.len() >= MAX_FAILURES, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap()
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_refused_appears_c1_7_c11_3() {
    let first = setting("KITHDB_FIRST_SEED").unwrap_or(0);
    let seeds = setting("KITHDB_SEEDS").unwrap_or(SEEDS);
    let failed = on_every_core(first..first + seeds, |seed| {
        run::run(seed);
        let done = seed - first + 1;
        if done.is_multiple_of(REPORT_AFTER) && done < seeds {
            eprintln!("{done} of {seeds} programs");
        }
    });
    for seed in &failed {
        eprintln!(
            "seed {seed} failed{}; again: KITHDB_FIRST_SEED={seed} KITHDB_SEEDS=1 cargo test -p kithdb-engine --test power_cut nothing_",
            commit()
        );
    }
    assert!(failed.is_empty(), "failed seeds: {failed:?}");
    let walks = verify::WALKS.load(Ordering::Relaxed);
    assert!(seeds < SEEDS || walks >= seeds, "{seeds} programs, and only {walks} searches that walk a graph");
    let removed = expiry::REMOVED.load(Ordering::Relaxed);
    assert!(
        seeds < SEEDS || removed >= seeds,
        "{seeds} programs, and only {removed} points came to their end"
    );
    for (what, count) in [
        ("recoveries of snapshots", &snapshots::RECOVERED),
        ("syncs applied in parts", &parts::APPLIED),
        ("parts of syncs refused after a start", &parts::REFUSED),
        ("writes on condition of versions", &versions::MET),
        ("field indexes made without a declaration", &verify::AUTOMATIC),
        ("collections that fell asleep", &interleaving::SLEPT),
    ] {
        let count = count.load(Ordering::Relaxed);
        println!("{count} {what}");
        assert!(seeds < SEEDS || count >= seeds / 8, "{seeds} programs, and only {count} {what}");
    }
    println!("{removed} points removed after their time had come");
}

#[test]
fn one_seed_is_one_run() {
    for seed in 0..20 {
        assert_eq!(run::run(seed), run::run(seed), "seed {seed}");
    }
}
