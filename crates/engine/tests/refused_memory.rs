//! A start with too little address space: what does not fit is not opened now, and never taken for damaged.
#![cfg(target_os = "linux")]

mod common;

use common::Client;
use kithdb_engine::catalog::Mode;
use kithdb_engine::engine::{Engine, Options};
use kithdb_engine::storage::RealDisk;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Names the data directory to the child.
const CHILD_DIR: &str = "KITHDB_TEST_CHILD_DIR";
/// Limits of the address space in KiB: from too little for anything to enough for all.
const LIMITS_KIB: std::ops::Range<u64> = 60_000..460_000;
const STEP_KIB: usize = 25_000;

fn open(dir: &Path) -> Result<Engine, String> {
    let options = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
    let disk = RealDisk::open(dir).map_err(|error| error.to_string())?;
    Engine::open(Arc::new(disk), options).map_err(|error| error.to_string())
}

/// The part of the test that runs in a process with a limit; alone it does nothing.
#[test]
fn child_opens_the_directory_and_says_what_it_found() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    match open(Path::new(&dir)) {
        Ok(engine) => {
            let status = engine.status();
            for (name, fault) in &status.faults {
                println!("FAULT {name}: {fault}");
            }
            println!("OPENED {} of {}", status.collections - status.faults.len(), status.collections);
            // A clean stop would write, which is not what is tested.
            std::process::exit(0);
        }
        Err(error) => println!("REFUSED {error}"),
    }
}

fn output_under(limit_kib: u64, dir: &Path) -> String {
    let exe = std::env::current_exe().expect("a test has a binary");
    let output = Command::new("sh")
        .args(["-c", "ulimit -v $0; exec \"$@\"", &limit_kib.to_string()])
        .arg(exe)
        .args(["child_opens_the_directory_and_says_what_it_found", "--exact", "--nocapture"])
        .env(CHILD_DIR, dir)
        .output()
        .expect("a shell");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_start_without_address_space_is_refused_or_leaves_collections_closed_and_none_damaged() {
    let dir = tempfile::tempdir().expect("a folder");
    let client = Client(Arc::new(open(dir.path()).expect("an empty folder")));
    let config = json!({"vectors": {"size": 1024, "distance": "Dot"}});
    for (name, count) in [("large", 24_000u64), ("small", 10)] {
        client.ok("create_collection", name, config.clone());
        for from in (0..count).step_by(2_000) {
            let vector = |id: u64| (0..1024u64).map(|at| (id + at) % 7).collect::<Vec<_>>();
            let point = |id| json!({"id": id, "vector": vector(id)});
            let points: Vec<Value> = (from..count.min(from + 2_000)).map(point).collect();
            client.ok("upsert_points", name, json!({"points": points}));
        }
    }
    client.0.close();
    drop(client);
    let (mut not_now, mut whole) = (0, 0);
    for limit_kib in LIMITS_KIB.step_by(STEP_KIB) {
        let output = output_under(limit_kib, dir.path());
        assert!(!output.contains("repair") && !output.contains("is damaged"), "{limit_kib} KiB: {output}");
        let faults = || output.lines().filter(|line| line.contains("FAULT "));
        assert!(faults().all(|line| line.contains("cannot be opened now")), "{limit_kib} KiB: {output}");
        not_now += usize::from(faults().any(|line| line.contains("large") && line.contains("ulimit -v")));
        whole += usize::from(output.contains("OPENED 2 of 2"));
    }
    assert!(not_now > 0 && whole > 0, "{not_now} starts without it, {whole} whole");
    let client = Client(Arc::new(open(dir.path()).expect("a data directory")));
    assert_eq!(client.ok("count", "large", json!({})), json!({"count": 24_000}));
    client.0.close();
}
