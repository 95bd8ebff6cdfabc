//! What commands do to a data directory, `kithdb repair` and the staging of `kithdb backup`, meets power cuts and
//! failing calls: a second run finishes what the first began, and nothing is lost that the first would have kept.

use crate::common::{Random, TestEngine};
use crate::model::{Level, Model};
use crate::run::THRESHOLDS;
use crate::scenario::{Kind, NAME, Prepared, prepared};
use crate::session::Session;
use crate::verify;
use kithdb_engine::catalog::STAGING;
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::integrity::{RepairReport, check, repair};
use kithdb_engine::storage::{Fault, SimDisk, Storage};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const OPTIONS: OpeningOptions = OpeningOptions { threads: 1, row_chunk_bytes: THRESHOLDS.row_chunk_bytes };
/// Each file is divided into this many parts, and damaged in each of them.
const PLACES: usize = 3;
/// Every n-th call fails, starting from another call for each damage.
const STRIDE: u64 = 5;
/// A repair treats unreadable data as damage, so reads do not fail here.
const WRITES_FAIL: [Fault; 3] = [Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails];

fn run_repair(disk: &SimDisk, stamp: &str) -> Result<RepairReport, String> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    repair(&storage, stamp, false, OPTIONS).map_err(|error| error.to_string())
}

/// Paths of all files in a folder and below it.
fn files(disk: &SimDisk, dir: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in disk.list(dir).expect("a folder") {
        let path = format!("{dir}/{name}");
        if disk.read(&path).is_ok() {
            found.push(path);
        } else {
            found.extend(files(disk, &path));
        }
    }
    found
}

/// The digests of what is served; no collection is quarantined.
fn served(disk: &SimDisk) -> BTreeMap<String, u128> {
    let engine = TestEngine::with(disk.clone(), 1, THRESHOLDS).expect("a repaired directory opens");
    assert!(engine.engine().status().faults.is_empty(), "{:?}", engine.engine().status().faults);
    verify::digests(&engine.client())
}

/// A disk at rest with a checkpoint and a log of several segments behind it.
fn at_rest() -> SimDisk {
    let Prepared { mut engine, model, .. } = prepared(Level::Always);
    let client = engine.client();
    let mut session = Session::new(1, model);
    for (at, kind) in [Kind::Upsert, Kind::Edit, Kind::Upsert, Kind::Edit].into_iter().enumerate() {
        kind.run(&mut session, &client, 20 + at as u64);
    }
    engine.kill();
    engine.disk.clone()
}

#[test]
fn a_repair_that_was_cut_short_is_finished_by_the_next_one() {
    let disk = at_rest();
    let damaged: Vec<String> = ["log", "collections"].iter().flat_map(|dir| files(&disk, dir)).collect();
    let mut replaced_logs = 0;
    for (number, path) in damaged.iter().enumerate() {
        for place in 0..PLACES {
            let how = format!("{path}, part {place}");
            let hit = disk.duplicate();
            let harm = |bytes: &mut Vec<u8>| {
                let at = (2 * place + 1) * bytes.len() / (2 * PLACES);
                bytes[at] ^= 1;
            };
            hit.decay(path, harm).expect("the file is there");
            let straight = hit.duplicate();
            let before = straight.calls();
            let report = run_repair(&straight, "first").unwrap_or_else(|why| panic!("{how}: {why}"));
            let calls = straight.calls() - before;
            if report.is_sound() {
                continue;
            }
            replaced_logs += usize::from(report.replaces_log);
            let expected = served(&straight);
            let first = 1 + (number * PLACES + place) as u64 % STRIDE;
            for n in (first..=calls).step_by(STRIDE as usize) {
                for failing in [false, true] {
                    let left = hit.duplicate();
                    if failing {
                        left.fail_nth(n, WRITES_FAIL[n as usize % WRITES_FAIL.len()]);
                    } else {
                        left.crash_after(n);
                    }
                    let _ = run_repair(&left, "first");
                    left.power_cut(n);
                    run_repair(&left, "second").unwrap_or_else(|why| panic!("{how}, after {n} calls: {why}"));
                    assert_eq!(
                        served(&left),
                        expected,
                        "{how}, after {n} of {calls} calls, failing {failing}"
                    );
                    let again = check(Arc::new(left.clone()), None, OPTIONS).expect("it can be checked");
                    assert!(again.is_clean(), "{how}, after {n} calls: {:?}", again.findings);
                }
            }
        }
    }
    assert!(replaced_logs > 0, "some of it must have been in the log");
}

/// The staged files as a backup would have them: at the places that they are restored to.
fn restored(disk: &SimDisk) -> SimDisk {
    let copy = SimDisk::new();
    for path in files(disk, STAGING) {
        let target = path.strip_prefix(STAGING).expect("it is below").trim_start_matches('/');
        if let Some((dir, _)) = target.rsplit_once('/') {
            copy.create_dir_all(dir).expect("a folder");
        }
        let mut file = copy.create(target).expect("a new file");
        file.append(&disk.read(&path).expect("a file")).expect("there is room");
    }
    copy
}

#[test]
fn a_backup_that_is_staged_under_writes_has_every_write_that_was_acknowledged_before() {
    for seed in 0..60 {
        let level = Level::ALL[seed as usize % 3];
        let Prepared { engine, model, .. } = prepared(level);
        let client = engine.client();
        let session = Arc::new(Mutex::new((Session::new(seed, model.clone()), vec![model])));
        let percent = 10 + 20 * (seed % 4);
        let acting = (Arc::clone(&session), client.clone());
        engine.disk.interleave(Some(Arc::new(move |place: &str| {
            // The log's and the catalog's locks are held at their own files.
            if !place.starts_with("collections/") {
                return;
            }
            let Ok(mut held) = acting.0.try_lock() else { return };
            let (session, states) = &mut *held;
            if session.random.chance(percent) {
                // What makes a collection waits for the staging that this work is interleaved with.
                session.is_interleaved = true;
                session.random_request(&acting.1);
                session.is_interleaved = false;
                states.push(session.model.clone());
            }
        })));
        engine.engine().stage().expect("the disk is sound");
        engine.disk.interleave(None);
        let held = session.lock().unwrap();
        let (_, states) = &*held;
        let copy = TestEngine::with(restored(&engine.disk), seed, THRESHOLDS).expect("a backup opens");
        // The log is linked last: nothing that was acknowledged until then is missing.
        verify::one_of(&copy.client(), &states.iter().rev().collect::<Vec<&Model>>());
        verify::answers_agree(&copy.client(), shown_by(&copy, states), &mut Random(seed));
    }
}

/// The last of some states that an engine shows.
fn shown_by<'m>(engine: &TestEngine, states: &'m [Model]) -> &'m Model {
    let newest_first: Vec<&Model> = states.iter().rev().collect();
    newest_first[verify::one_of(&engine.client(), &newest_first)]
}

#[test]
fn a_crash_while_a_backup_is_staged_harms_nothing_and_is_cleared_away() {
    let Prepared { engine, model, .. } = prepared(Level::Always);
    for n in 0.. {
        let mut copy = engine.duplicate();
        copy.open().expect("the prepared disk opens");
        let before = copy.disk.calls();
        copy.disk.crash_after(n);
        let staged = copy.engine().stage();
        let was_cut = copy.disk.calls() - before > n;
        copy.cut(n);
        copy.open().expect("what is left opens");
        verify::one_of(&copy.client(), &[&model]);
        assert!(
            copy.disk.list(STAGING).expect("a folder").is_empty(),
            "what was staged goes, after {n} calls"
        );
        let mut session = Session::new(n, model.clone());
        Kind::Edit.run(&mut session, &copy.client(), n);
        copy.engine().stage().expect("the disk works again");
        assert!(files(&copy.disk, STAGING).iter().any(|path| path.contains("/log/")), "{NAME} is staged");
        if !was_cut {
            staged.expect("nothing failed");
            break;
        }
    }
}
