//! Bytes that change after they were synced: reported, never silently wrong, never a panic.

use std::collections::BTreeMap;

use super::*;
use crate::wal::{Damage, DamageKind};

const HEADER: usize = 52;
/// A record of [`filled`] with a one-digit number: header and `record n`.
const RECORD: usize = 68;

fn only_segment(disk: &SimDisk) -> String {
    let names = segments(disk);
    assert_eq!(names.len(), 1);
    format!("log/{}", names[0])
}

/// Six records of one flush each in one segment, as the process that wrote them left it.
fn six() -> (SimDisk, String) {
    let disk = SimDisk::new();
    filled(&disk, 6, 1 << 20);
    let path = only_segment(&disk);
    (disk, path)
}

fn check_bodies(seen: &[Seen]) {
    for record in seen {
        if let Some(body) = &record.body {
            assert_eq!(*body, format!("record {}", record.lsn).into_bytes());
            assert_eq!((record.collection, record.kind), (2 - record.lsn % 2, 5));
        }
    }
}

#[test]
fn a_flip_of_any_bit_is_reported() {
    let (disk, path) = six();
    let len = disk.read(&path).unwrap().len();
    for at in 0..len {
        for bit in 0..8 {
            let copy = disk.duplicate();
            copy.decay(&path, |bytes| bytes[at] ^= 1 << bit).unwrap();
            let (log, report, seen) = open(&copy);
            check_bodies(&seen);
            let place = format!("byte {at} bit {bit}: {report:?}");
            let bad_body = seen.iter().any(|record| record.body.is_none());
            assert!(bad_body || !report.damages.is_empty() || report.torn_bytes > 0, "{place}");
            assert!(log.next_lsn() > lsn(*lsns(&seen).last().unwrap_or(&0)), "{place}");
            if at < HEADER + 5 * RECORD {
                assert_eq!(
                    report.torn_bytes, 0,
                    "only the last group can be mistaken for a torn one; {place}"
                );
            }
            let whole_prefix = (1..=seen.len() as u64).collect::<Vec<_>>();
            assert_eq!(lsns(&seen), whole_prefix, "{place}");
        }
    }
}

#[test]
fn a_file_cut_anywhere_or_zeroed_anywhere_never_panics_and_never_lies() {
    let (disk, path) = six();
    let len = disk.read(&path).unwrap().len();
    for at in 0..len {
        let cut = disk.duplicate();
        cut.decay(&path, |bytes| bytes.truncate(at)).unwrap();
        let (_, _, seen) = open(&cut);
        check_bodies(&seen);
        assert_eq!(seen.len(), at.saturating_sub(HEADER) / RECORD);
        let zeroed = disk.duplicate();
        zeroed.decay(&path, |bytes| bytes[at..(at + 100).min(len)].fill(0)).unwrap();
        check_bodies(&open(&zeroed).2);
    }
}

#[test]
fn a_damaged_body_names_its_collection_and_the_rest_is_replayed() {
    let (disk, path) = six();
    disk.decay(&path, |bytes| bytes[HEADER + 2 * RECORD + 64] ^= 1).unwrap();
    for _ in 0..3 {
        let (_, report, seen) = open(&disk);
        assert_eq!(lsns(&seen), [1, 2, 3, 4, 5, 6]);
        assert_eq!(seen[2], Seen { lsn: 3, collection: 1, kind: 5, body: None });
        assert!(seen.iter().filter(|record| record.body.is_none()).count() == 1);
        assert!(report.damages.is_empty());
    }
}

#[test]
fn a_damaged_header_lists_the_collections_behind_it_and_touches_nothing() {
    let (disk, path) = six();
    disk.decay(&path, |bytes| bytes[HEADER + 2 * RECORD + 20] ^= 1).unwrap();
    let before = disk.read(&path).unwrap();
    let (mut log, report, seen) = open(&disk);
    assert_eq!(lsns(&seen), [1, 2]);
    let damage = Damage {
        kind: DamageKind::RecordHeader,
        segment: lsn(1),
        offset: (HEADER + 2 * RECORD) as u64,
        lost_from: lsn(3),
        lost_to: Some(lsn(3)),
    };
    assert_eq!(report.bad_header, Some(damage));
    assert_eq!(report.behind, BTreeMap::from([(1, lsn(5)), (2, lsn(6))]));
    assert_eq!(disk.read(&path).unwrap(), before);
    assert_eq!(log.append(7, 5, b"record 7".to_vec()), Ok(lsn(7)));
    log.flush().unwrap();
    assert_eq!(disk.read(&path).unwrap(), before, "appends go to a new segment");
}

#[test]
fn collections_that_were_not_behind_the_damage_go_on_through_restarts() {
    let (disk, path) = six();
    disk.decay(&path, |bytes| bytes[HEADER + 3 * RECORD + 20] ^= 1).unwrap();
    for n in 7..12 {
        let (mut log, report, seen) = open(&disk);
        assert_eq!(report.behind, BTreeMap::from([(1, lsn(5)), (2, lsn(6))]), "the same at every start");
        let expected: Vec<u64> = (1..=3).chain(7..n).collect();
        assert_eq!(lsns(&seen), expected);
        log.append(2 - n % 2, 5, format!("record {n}")).unwrap();
        log.flush().unwrap();
    }
    // Once everything is checkpointed and cut, the damage is history.
    let (mut log, _, _) = open_with(&disk, options(1 << 20), 11).unwrap();
    log.cut(lsn(12)).unwrap();
    drop(log);
    let (_, report, seen) = open_with(&disk, options(1 << 20), 11).unwrap();
    assert_eq!((report, seen), (LogReport::default(), vec![]));
}

#[test]
fn damage_below_the_applied_records_loses_nothing() {
    let (disk, path) = six();
    disk.decay(&path, |bytes| bytes[HEADER + RECORD + 20] ^= 1).unwrap();
    let (_, report, seen) = open_with(&disk, options(1 << 20), 2).unwrap();
    assert_eq!(lsns(&seen), [3, 4, 5, 6]);
    assert_eq!((report.damages.len(), report.bad_header, report.behind.len()), (1, None, 0));
}

#[test]
fn a_record_that_lost_its_end_does_not_swallow_what_is_written_after_it() {
    let (disk, _) = six();
    // The last record is copied to a segment whose header says that it is durable: its loss is damage, not a torn tail.
    drop(open(&disk));
    let last = segments(&disk).pop().expect("a segment");
    disk.decay(&format!("log/{last}"), |bytes| bytes.truncate(bytes.len() - 4)).unwrap();
    let (mut log, _, _) = open(&disk);
    let lsn = log.append(2, 5, "after the damage").unwrap();
    log.flush().unwrap();
    drop(log);
    let (_, _, seen) = open(&disk);
    let found = seen.iter().find(|record| record.lsn == lsn.get()).expect("it was acknowledged");
    assert_eq!(found.body.as_deref(), Some(&b"after the damage"[..]));
}

#[test]
fn a_log_that_was_lost_goes_on_behind_what_checkpoints_have() {
    let disk = SimDisk::new();
    let applied = || LogOptions { highest_applied: lsn(9), ..options(1 << 20) };
    let (mut log, report, _) = open_with(&disk, applied(), 0).unwrap();
    let missing = report.bad_header.expect("checkpoints tell that there was a log");
    assert_eq!((missing.kind, missing.lost_from, missing.lost_to), (DamageKind::Missing, lsn(1), None));
    assert_eq!(log.append(1, 5, "record 11").unwrap(), lsn(11));
    log.flush().unwrap();
    drop(log);
    let (_, report, seen) = open_with(&disk, applied(), 0).unwrap();
    assert_eq!(lsns(&seen), [11]);
    assert!(report.behind.is_empty() && report.damages[0].kind == DamageKind::Gap);
}

#[test]
fn what_a_checkpoint_has_applied_was_no_torn_group() {
    // The last group: nothing in the log proves that it was durable.
    for (applied, is_damage) in [(0, false), (5, false), (6, true)] {
        let options = || LogOptions { highest_applied: lsn(applied), ..options(1 << 20) };
        // The header of the last record; all of it; its body.
        for damage in [0, 1, 2] {
            let (disk, path) = six();
            let at = disk.read(&path).unwrap().windows(8).rposition(|bytes| bytes == b"record 6").unwrap();
            let change = |bytes: &mut Vec<u8>| match damage {
                0 => bytes[at - 20] ^= 1,
                1 => bytes.truncate(at + 8 - RECORD),
                _ => bytes[at] ^= 1,
            };
            disk.decay(&path, change).unwrap();
            let how = format!("{applied} applied, damage {damage}");
            for start in 0..3 {
                let (mut log, report, seen) = open_with(&disk, options(), 0).unwrap();
                assert_eq!(lsns(&seen)[..5], [1, 2, 3, 4, 5], "{how}");
                if damage == 2 {
                    let unread = seen.iter().filter(|record| record.body.is_none()).count();
                    assert_eq!(
                        (unread, report.bad_header.is_some()),
                        (usize::from(is_damage), false),
                        "{how}"
                    );
                } else {
                    let lost = report.bad_header.as_ref();
                    assert_eq!(
                        lost.map(|lost| lost.lost_from),
                        is_damage.then_some(lsn(6)),
                        "{how}: {report:?}"
                    );
                    // It is unknown how many records there were, so the damage may extend beyond what was applied.
                    assert!(
                        lost.is_none_or(|lost| lost.lost_to.is_none_or(|to| to > lsn(applied))),
                        "{how}: {report:?}"
                    );
                }
                assert_eq!(
                    report.torn_bytes > 0,
                    !is_damage && damage != 1 && start == 0,
                    "{how}: {report:?}"
                );
                let lsn = log.append(1, 5, format!("record {}", log.next_lsn())).unwrap();
                assert!(lsn.get() > applied, "{how}");
                log.flush().unwrap();
            }
        }
    }
}

#[test]
fn a_missing_segment_is_a_gap() {
    let disk = SimDisk::new();
    filled(&disk, 9, 200);
    let names = segments(&disk);
    disk.remove(&format!("log/{}", names[2])).unwrap();
    let (_, report, seen) = open_with(&disk, options(200), 0).unwrap();
    let gap = report.bad_header.unwrap();
    assert_eq!((gap.kind, gap.lost_from), (DamageKind::Gap, lsn(seen.len() as u64 + 1)));
    assert!(!report.behind.is_empty());
    check_bodies(&seen);
}

#[test]
fn a_destroyed_segment_never_gives_its_lsns_out_again() {
    let (disk, path) = six();
    disk.decay(&path, |bytes| bytes[..HEADER + RECORD].fill(0xAA)).unwrap();
    let (log, report, seen) = open(&disk);
    assert!(seen.is_empty());
    assert!(report.bad_header.is_some());
    assert!(log.next_lsn() > lsn(6));
}

#[test]
fn a_damaged_segment_header_does_not_lose_the_records() {
    let (disk, path) = six();
    disk.decay(&path, |bytes| bytes[33] ^= 1).unwrap();
    let (mut log, report, seen) = open(&disk);
    assert_eq!(lsns(&seen), [1, 2, 3, 4, 5, 6]);
    assert_eq!(report.damages.len(), 1);
    assert_eq!(report.damages[0].kind, DamageKind::SegmentHeader);
    assert_eq!(report.bad_header, None);
    log.append(1, 5, b"record 7".to_vec()).unwrap();
    log.flush().unwrap();
    let (_, _, seen) = open(&disk);
    assert_eq!(lsns(&seen), [1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn a_record_without_a_body_at_the_end_of_the_file_is_found_behind_damage() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open(&disk);
    for body in ["first", "second", ""] {
        log.append(1, 5, body).unwrap();
        log.flush().unwrap();
    }
    log.give_back_zeros().unwrap();
    drop(log);
    let header_of_the_second = HEADER + 60 + "first".len();
    disk.decay(&only_segment(&disk), |bytes| bytes[header_of_the_second + 20] ^= 1).unwrap();
    let (_, report, seen) = open(&disk);
    assert_eq!(lsns(&seen), [1]);
    let damage = report.bad_header.expect("the header of a record that was durable");
    assert_eq!((damage.lost_from, damage.lost_to), (lsn(2), Some(lsn(2))));
    assert_eq!(report.behind, BTreeMap::from([(1, lsn(3))]));
}
