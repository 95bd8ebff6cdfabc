//! Random programs over the whole engine on a disk that loses power, fills up and fails; after every recovery the
//! engine must show what it acknowledged, nothing that it refused, and requests of unknown fate whole or not at all.
//!
//! `KITHDB_SEEDS` sets how many programs run, `KITHDB_FIRST_SEED` which is the first.

#[path = "../common/mod.rs"]
mod common;
mod directed;
mod model;
mod program;
mod run;
mod verify;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Programs of a normal run.
const SEEDS: u64 = 2_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_refused_appears_c1_7_c11_3() {
    let first = setting("KITHDB_FIRST_SEED").unwrap_or(0);
    let seeds = setting("KITHDB_SEEDS").unwrap_or(SEEDS);
    let mut failed = Vec::new();
    for seed in first..first + seeds {
        if catch_unwind(AssertUnwindSafe(|| run::run(seed))).is_err() {
            eprintln!(
                "seed {seed} failed; again: KITHDB_FIRST_SEED={seed} KITHDB_SEEDS=1 cargo test -p kithdb-engine --test power_cut nothing_"
            );
            failed.push(seed);
            if failed.len() == 5 {
                break;
            }
        }
    }
    assert!(failed.is_empty(), "failed seeds: {failed:?}");
}
