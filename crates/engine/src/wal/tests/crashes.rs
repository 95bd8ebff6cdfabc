//! Power cuts, kills and failing calls: after every recovery the log is a contiguous prefix of what was appended, at
//! least as long as what was acknowledged, with the exact bytes.

use super::*;
use crate::storage::sim::RandomSource;
use crate::storage::{Call, Fault};

/// What the log may and must hold.
#[derive(Default)]
struct Oracle {
    /// Body of every LSN from 1, acknowledged or in flight.
    sent: Vec<Vec<u8>>,
    /// LSNs up to here must be there.
    acknowledged: u64,
    /// LSNs up to here are covered by a checkpoint.
    applied: u64,
}

impl Oracle {
    fn append(&mut self, log: &mut Log, body: Vec<u8>) {
        if let Ok(lsn) = log.append(body.len() as u64, 1, body.clone()) {
            assert_eq!(lsn.get(), self.sent.len() as u64 + 1, "LSNs are contiguous");
            self.sent.push(body);
        }
    }

    /// Takes note of how a write or flush ended.
    fn settle(&mut self, outcome: Result<Lsn, LogError>, log: &Log, is_sync: bool) {
        match outcome {
            Ok(last) if is_sync => self.acknowledged = last.get(),
            Ok(_) | Err(LogError::Poisoned(_)) => {}
            // Reported as failed: these must never be seen again.
            Err(_) => self.sent.truncate(log.next_lsn().get() as usize - 1),
        }
    }

    fn check(&mut self, seen: &[Seen], report: &LogReport, log: &Log) {
        assert!(report.damages.is_empty(), "a crash is not damage: {report:?}");
        // What is covered by a checkpoint may be seen or not.
        let seen = &seen[seen.partition_point(|record| record.lsn <= self.applied)..];
        let last = self.applied + seen.len() as u64;
        assert_eq!(lsns(seen), (self.applied + 1..=last).collect::<Vec<_>>(), "contiguous");
        assert!(last >= self.acknowledged, "lost {}..={}", last + 1, self.acknowledged);
        for record in seen {
            let expected = &self.sent[record.lsn as usize - 1];
            assert_eq!(record.body.as_ref(), Some(expected), "LSN {}", record.lsn);
            assert_eq!(record.collection, expected.len() as u64);
        }
        assert_eq!(log.next_lsn(), lsn(last + 1));
        // What recovery has shown is durable.
        self.acknowledged = last;
        self.sent.truncate(last as usize);
    }

    fn reopen(&mut self, disk: &SimDisk, segment_bytes: u64) -> Option<Log> {
        let from = if disk.calls().is_multiple_of(2) { self.applied } else { 0 };
        let (log, report, seen) = open_with(disk, options(segment_bytes), from).ok()?;
        self.check(&seen, &report, &log);
        Some(log)
    }
}

fn random_fault(random: &mut RandomSource) -> Fault {
    [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails][random.below(4)]
}

/// One life of a log under everything at once.
fn run(seed: u64) {
    let mut random = RandomSource::new(seed);
    let disk = SimDisk::new();
    let segment_bytes = [200, 1000, 20_000][random.below(3)];
    let faults = random.chance(70);
    let mut oracle = Oracle::default();
    let mut log = oracle.reopen(&disk, segment_bytes).unwrap();
    for _ in 0..60 {
        match random.below(14) {
            0..=5 => {
                let len = [0, 3, 40, 600, 5000][random.below(5)];
                let body = (0..len).map(|_| random.next_u64() as u8).collect();
                oracle.append(&mut log, body);
            }
            6..=8 => {
                let outcome = log.flush();
                oracle.settle(outcome, &log, true);
            }
            9 => {
                let outcome = log.write();
                oracle.settle(outcome, &log, false);
            }
            10 if oracle.acknowledged > oracle.applied => {
                oracle.applied += random.below((oracle.acknowledged - oracle.applied) as usize + 1) as u64;
                // A cut that fails half way leaves segments that the next one takes.
                let _ = log.cut(lsn(oracle.applied + 1));
            }
            11 if faults => disk.fail_nth(1 + random.below(6) as u64, random_fault(&mut random)),
            12 | 13 if random.chance(60) => {
                if faults && random.chance(30) {
                    disk.crash_after(random.below(8) as u64);
                    let outcome = log.flush();
                    oracle.settle(outcome, &log, true);
                }
                drop(log);
                log = loop {
                    if random.chance(70) {
                        disk.power_cut(random.next_u64());
                    } else {
                        disk.kill();
                    }
                    if faults && random.chance(30) {
                        disk.fail_nth(1 + random.below(12) as u64, random_fault(&mut random));
                    }
                    if let Some(log) = oracle.reopen(&disk, segment_bytes) {
                        break log;
                    }
                };
                disk.clear_faults();
            }
            _ => {}
        }
    }
    disk.power_cut(random.next_u64());
    oracle.reopen(&disk, segment_bytes).expect("the log opens after the last cut");
}

#[test]
fn random_lives_lose_nothing_acknowledged_and_keep_nothing_failed() {
    for seed in 0..4000 {
        if let Err(panic) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Appends, flushes, rotates, cuts and reopens; stops at the first error.
fn small_program(disk: &SimDisk, oracle: &mut Oracle) -> Result<(), LogError> {
    for life in 0..2 {
        let (mut log, report, seen) = open_with(disk, options(250), oracle.applied)?;
        oracle.check(&seen, &report, &log);
        for n in 0..4_u8 {
            oracle.append(&mut log, vec![n; 60]);
            oracle.append(&mut log, vec![life; usize::from(n)]);
            let outcome = log.flush();
            oracle.settle(outcome.clone(), &log, true);
            outcome?;
        }
        oracle.applied = oracle.acknowledged - 3;
        log.cut(lsn(oracle.applied + 1))?;
    }
    Ok(())
}

#[test]
fn records_that_recovery_did_not_find_never_come_back() {
    for seed in 0..300 {
        let disk = SimDisk::new();
        let (mut log, _, _) = open(&disk);
        log.append(1, 1, vec![1; 200]).unwrap();
        log.append(1, 1, vec![2; 200]).unwrap();
        // The append fails half way, the truncation is done, its sync fails.
        disk.fail_nth(1, Fault::ShortWrite);
        disk.fail_nth(3, Fault::Eio);
        assert!(matches!(log.flush(), Err(LogError::Poisoned(_))));
        disk.kill();
        let (_, _, seen) = open(&disk);
        disk.power_cut(seed);
        assert_eq!(open(&disk).2, seen, "seed {seed}");
    }
}

#[test]
fn a_segment_whose_name_was_not_synced_is_not_used() {
    for n in 1..12 {
        let disk = SimDisk::new();
        filled(&disk, 2, 1 << 20);
        disk.kill();
        disk.fail_nth(n, Fault::FsyncFails);
        let _ = open_with(&disk, options(1 << 20), 0);
        disk.kill();
        let (mut log, _, _) = open(&disk);
        log.append(1, 5, b"record 3".to_vec()).unwrap();
        log.flush().unwrap();
        for seed in 0..50 {
            let copy = disk.duplicate();
            copy.power_cut(seed);
            assert_eq!(lsns(&open(&copy).2), [1, 2, 3]);
        }
    }
}

#[test]
fn a_crash_after_any_call_leaves_a_prefix() {
    let whole = SimDisk::new();
    small_program(&whole, &mut Oracle::default()).unwrap();
    for calls in 0..whole.calls() {
        for seed in 0..60 {
            let disk = SimDisk::new();
            let mut oracle = Oracle::default();
            disk.crash_after(calls);
            small_program(&disk, &mut oracle).unwrap_err();
            if seed == 0 {
                disk.kill();
            } else {
                disk.power_cut(seed);
            }
            oracle.reopen(&disk, 250).unwrap();
        }
    }
}

#[test]
fn a_crash_during_recovery_can_be_recovered_from() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open(&disk);
    log.append(1, 1, b"acknowledged".to_vec()).unwrap();
    log.flush().unwrap();
    log.append(1, 1, vec![1; 3000]).unwrap();
    log.append(1, 1, vec![2; 3000]).unwrap();
    log.write().unwrap();
    for seed in 0..200 {
        for calls in 0..14 {
            let disk = disk.duplicate();
            disk.power_cut(seed);
            disk.crash_after(calls);
            let _ = open_with(&disk, options(300), 0);
            disk.power_cut(seed + 1);
            let (_, report, seen) = open(&disk);
            assert!(report.damages.is_empty());
            assert!(!seen.is_empty() && seen.len() <= 3);
            assert_eq!(seen[0].body.as_deref(), Some(&b"acknowledged"[..]));
        }
    }
}

#[test]
fn a_failure_of_any_call_is_reported_and_survived() {
    let whole = SimDisk::new();
    small_program(&whole, &mut Oracle::default()).unwrap();
    for fault in [Fault::Eio, Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails] {
        for n in 1..=whole.calls() {
            for seed in 0..8 {
                let disk = SimDisk::new();
                let mut oracle = Oracle::default();
                disk.fail_nth(n, fault);
                let _ = small_program(&disk, &mut oracle);
                disk.clear_faults();
                // Without a power cut first: recovery must not trust pages that only the cache holds.
                disk.kill();
                drop(oracle.reopen(&disk, 250).unwrap());
                disk.power_cut(seed);
                oracle.reopen(&disk, 250).unwrap();
            }
        }
    }
}

#[test]
fn a_full_disk_takes_the_group_back_and_the_log_goes_on() {
    for fault in [Fault::Enospc, Fault::ShortWrite] {
        let disk = SimDisk::new();
        filled(&disk, 2, 1 << 20);
        let (mut log, _, _) = open(&disk);
        assert_eq!(log.append(1, 1, vec![1; 2000]), Ok(lsn(3)));
        assert_eq!(log.append(1, 1, vec![2; 2000]), Ok(lsn(4)));
        disk.fail_nth(1, fault);
        assert_eq!(log.flush(), Err(LogError::Full));
        assert_eq!(log.append(1, 1, b"third".to_vec()), Ok(lsn(3)), "the LSN is given out again");
        assert_eq!(log.flush(), Ok(lsn(3)));
        let (_, _, seen) = open(&disk);
        assert_eq!(lsns(&seen), [1, 2, 3]);
        assert_eq!(seen[2].body.as_deref(), Some(&b"third"[..]));
    }
}

#[test]
fn a_failed_sync_closes_the_log_until_it_is_opened_again() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open(&disk);
    log.append(1, 1, b"x".to_vec()).unwrap();
    disk.fail_nth(1, Fault::FsyncFails);
    assert!(matches!(log.flush(), Err(LogError::Poisoned(_))));
    let calls = disk.calls();
    assert!(matches!(log.append(1, 1, b"y".to_vec()), Err(LogError::Poisoned(_))));
    assert!(matches!(log.flush(), Err(LogError::Poisoned(_))));
    assert_eq!(disk.calls(), calls, "nothing is retried");
    // The record is in the cache only. Once recovery has shown it, it must survive.
    drop(log);
    assert_eq!(lsns(&open(&disk).2), [1]);
    for seed in 0..100 {
        let copy = disk.duplicate();
        copy.power_cut(seed);
        assert_eq!(lsns(&open(&copy).2), [1]);
    }
}

#[test]
fn a_log_opens_on_a_disk_that_has_no_room_and_what_it_shows_is_durable() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open(&disk);
    for n in 1..=3 {
        log.append(1, 1, vec![n; 700]).unwrap();
        log.flush().unwrap();
    }
    log.append(1, 1, vec![4; 9000]).unwrap();
    disk.fail_nth_of(Call::Sync, 1, Fault::FsyncFails);
    assert!(matches!(log.flush(), Err(LogError::Poisoned(_))));
    drop(log);
    disk.kill();
    disk.set_capacity(Some(0));
    for _ in 0..2 {
        let (log, report, seen) = open(&disk);
        assert_eq!((lsns(&seen), report.damages.len(), log.next_lsn()), (vec![1, 2, 3, 4], 0, lsn(5)));
        assert_eq!(segments(&disk).len(), 1);
    }
    for seed in 0..100 {
        let copy = disk.duplicate();
        copy.power_cut(seed);
        assert_eq!(lsns(&open(&copy).2), [1, 2, 3, 4]);
    }
    disk.set_capacity(None);
    let (mut log, _, _) = open(&disk);
    assert_eq!(log.append(1, 1, vec![5; 700]), Ok(lsn(5)));
    log.flush().unwrap();
    assert_eq!(lsns(&open(&disk).2), [1, 2, 3, 4, 5]);
}
