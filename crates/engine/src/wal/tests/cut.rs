//! Cutting the log, and distinguishing what was cut from what is lost.

use super::*;
use crate::storage::Fault;
use crate::wal::{CATALOG, DamageKind};

#[test]
fn what_was_cut_is_no_gap_and_what_is_missing_besides_is() {
    let disk = SimDisk::new();
    filled(&disk, 20, 300);
    open_with(&disk, options(300), 0).unwrap().0.cut(lsn(11)).unwrap();
    let (log, report, seen) = open_with(&disk, options(300), 0).unwrap();
    assert!(report.damages.is_empty());
    assert_eq!(lsns(&seen), (log.oldest_lsn().get()..=20).collect::<Vec<_>>());
    drop(log);
    let oldest = segments(&disk).remove(0);
    disk.remove(&format!("log/{oldest}")).unwrap();
    for damaged in [None, Some("log/cut"), Some("catalog/cut")] {
        let copy = disk.duplicate();
        if let Some(path) = damaged {
            copy.decay(path, |bytes| bytes[13] ^= 1).unwrap();
        }
        let (_, report, _) = open_with(&copy, options(300), 0).unwrap();
        assert_eq!(report.bad_header.map(|damage| damage.kind), Some(DamageKind::Gap), "{damaged:?}");
    }
}

/// A log that was cut, what it shows, and the LSN that it begins with.
fn cut() -> (SimDisk, Vec<Seen>, u64) {
    let disk = SimDisk::new();
    filled(&disk, 20, 300);
    let (mut log, _, _) = open_with(&disk, options(300), 0).unwrap();
    log.cut(lsn(11)).unwrap();
    drop(log);
    let (log, _, seen) = open_with(&disk, options(300), 0).unwrap();
    (disk, seen, log.oldest_lsn().get())
}

#[test]
fn either_file_of_the_cut_mark_stands_in_for_the_other_and_both_are_written_again() {
    let (disk, seen, _) = cut();
    for (path, how) in
        [("log/cut", "damaged"), ("catalog/cut", "damaged"), ("log/cut", "gone"), ("catalog/cut", "gone")]
    {
        let copy = disk.duplicate();
        if how == "gone" {
            copy.remove(path).unwrap();
        } else {
            copy.decay(path, |bytes| bytes[13] ^= 1).unwrap();
        }
        let (_, report, again) = open_with(&copy, options(300), 0).unwrap();
        assert_eq!((again, report.damages.len()), (seen.clone(), 0), "{path} {how}");
        let fault = report.mark_fault.map(|fault| (fault.path, fault.has_other));
        // A release before this one had no copy.
        let is_reported = (path, how) != ("catalog/cut", "gone");
        assert_eq!(fault, is_reported.then_some((path, true)));
        assert_eq!(copy.read(path).unwrap(), disk.read(path).unwrap(), "{path} {how}");
    }
}

#[test]
fn without_the_cut_mark_and_its_copy_missing_segments_are_not_taken_for_cut() {
    let (disk, seen, oldest) = cut();
    disk.decay("log/cut", |bytes| bytes[13] ^= 1).unwrap();
    disk.remove("catalog/cut").unwrap();
    for _ in 0..2 {
        let (mut log, report, again) = open_with(&disk, options(300), 0).unwrap();
        assert_eq!(again, seen, "what is there is shown all the same");
        let damage = &report.damages[0];
        assert_eq!(
            (damage.kind, damage.lost_from, damage.lost_to),
            (DamageKind::CutMark, lsn(1), Some(lsn(oldest - 1)))
        );
        assert_eq!((report.bad_header, report.mark_fault.map(|fault| fault.has_other)), (None, Some(false)));
        assert!(log.repair_mark().is_none(), "whether it is whole this log does not know");
    }
    let (mut log, _, _) = open_with(&disk, options(300), 0).unwrap();
    log.cut(lsn(20)).unwrap();
    drop(log);
    assert!(open_with(&disk, options(300), 0).unwrap().1.damages.is_empty());
}

#[test]
fn a_cut_that_ends_between_its_two_marks_is_as_good_as_none_or_done() {
    let (disk, _, _) = cut();
    for call in 0.. {
        let copy = disk.duplicate();
        let (mut log, _, _) = open_with(&copy, options(300), 0).unwrap();
        copy.crash_after(call);
        let outcome = log.cut(lsn(17));
        drop(log);
        copy.power_cut(call);
        let (log, report, seen) = open_with(&copy, options(300), 0).unwrap();
        assert!(report.damages.is_empty() && report.mark_fault.is_none(), "call {call}: {report:?}");
        assert!(log.oldest_lsn() <= lsn(17) && lsns(&seen).ends_with(&[17, 18, 19, 20]), "call {call}");
        if outcome.is_ok() {
            assert!(call > 8, "{call} calls are few");
            return;
        }
    }
}

#[test]
fn a_log_that_is_open_writes_a_damaged_mark_again() {
    let (disk, _, oldest) = cut();
    let (mut log, _, _) = open_with(&disk, options(300), 0).unwrap();
    assert!(log.repair_mark().is_none());
    let sound = disk.read("log/cut").unwrap();
    for path in ["log/cut", "catalog/cut"] {
        disk.decay(path, |bytes| bytes.truncate(5)).unwrap();
    }
    let (fault, repaired) = log.repair_mark().unwrap();
    assert_eq!((fault.what.as_str(), repaired), ("is damaged", Ok(())));
    assert_eq!([disk.read("log/cut").unwrap(), disk.read("catalog/cut").unwrap()], [sound.clone(), sound]);
    assert_eq!(open_with(&disk, options(300), 0).unwrap().0.oldest_lsn(), lsn(oldest));
}

/// A log of short segments: records of collections 1 and 2, and between them one of the catalog, with that LSN.
fn with_catalog_record() -> (SimDisk, Lsn) {
    let disk = SimDisk::new();
    let (mut log, _, _) = open_with(&disk, options(300), 0).unwrap();
    let mut catalog = Lsn::NONE;
    for n in 1..=20_u64 {
        let collection = if n == 6 { CATALOG } else { 1 + n % 2 };
        let lsn = log.append(collection, 5, format!("record {n}")).unwrap();
        if collection == CATALOG {
            catalog = lsn;
        }
        log.flush().unwrap();
    }
    (disk, catalog)
}

#[test]
fn the_loss_of_a_record_of_the_catalog_is_known_to_every_later_segment() {
    let (disk, catalog) = with_catalog_record();
    let names = segments(&disk);
    let first = |name: &String| lsn(u64::from_str_radix(&name[..16], 16).unwrap());
    let holds = names.iter().rposition(|name| first(name) <= catalog).unwrap();
    assert!(holds > 0 && holds + 3 < names.len(), "{names:?}");
    assert_eq!(open_with(&disk, options(300), 0).unwrap().1.catalog_before, None);
    // Its segment and all before it are gone; so is the mark, if there was one.
    for end in holds + 1..names.len() {
        let copy = disk.duplicate();
        names[..end].iter().for_each(|name| copy.remove(&format!("log/{name}")).unwrap());
        for _ in 0..2 {
            let (_, report, _) = open_with(&copy, options(300), 0).unwrap();
            assert_eq!(report.catalog_before, Some(catalog), "{end} segments are gone");
        }
    }
    // A gap in its place.
    let copy = disk.duplicate();
    copy.decay(&format!("log/{}", names[holds]), |bytes| bytes[52..].fill(0xAA)).unwrap();
    assert_eq!(open_with(&copy, options(300), 0).unwrap().1.catalog_before, Some(catalog));
}

#[test]
fn a_record_of_the_catalog_that_failed_is_named_by_no_segment() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open_with(&disk, options(300), 0).unwrap();
    log.append(1, 5, *b"one").unwrap();
    log.flush().unwrap();
    log.append(CATALOG, 5, *b"two").unwrap();
    disk.fail_nth(1, Fault::Enospc);
    assert_eq!(log.flush(), Err(LogError::Full));
    for n in 0..20 {
        log.append(1, 5, format!("record {n}")).unwrap();
        log.flush().unwrap();
    }
    drop(log);
    assert!(segments(&disk).len() > 2);
    assert_eq!(open_with(&disk, options(300), 0).unwrap().1.catalog_before, None);
}
