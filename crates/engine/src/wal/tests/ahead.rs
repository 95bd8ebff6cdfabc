//! Zeros behind the records of the segment that grows: neither records nor a torn tail, and never a reason to fail.

use super::*;
use crate::storage::{Call, Fault};

const SEGMENT_BYTES: u64 = 1 << 16;

fn open_small(disk: &SimDisk) -> (Log, LogReport, Vec<Seen>) {
    open_with(disk, options(SEGMENT_BYTES), 0).unwrap()
}

fn flush(log: &mut Log, body: &[u8]) -> Result<Lsn, LogError> {
    log.append(1, 1, body)?;
    log.flush()
}

/// The bytes of the last segment.
fn last_segment(disk: &SimDisk) -> Vec<u8> {
    let names = segments(disk);
    disk.read(&format!("log/{}", names.last().unwrap())).unwrap()
}

fn zeros(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|byte| **byte == 0).count()
}

#[test]
fn records_take_the_place_of_zeros_and_the_file_grows_in_steps() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open_small(&disk);
    let mut lengths = std::collections::BTreeSet::new();
    for _ in 0..100 {
        flush(&mut log, &[1; 40]).unwrap();
        let bytes = last_segment(&disk);
        lengths.insert(bytes.len());
        let reported = log.segments().last().unwrap().1;
        assert_eq!(bytes.len() - zeros(&bytes), reported as usize, "what is reported are the records");
    }
    assert!(lengths.len() < 10, "{lengths:?}");
    let killed = disk.duplicate();
    let (_, report, seen) = open_small(&killed);
    assert_eq!((report.torn_bytes, report.damages.len(), seen.len()), (0, 0, 100));
}

#[test]
fn a_start_goes_on_where_the_zeros_begin() {
    let disk = SimDisk::new();
    filled(&disk, 3, SEGMENT_BYTES);
    // The records are copied to a segment that says that they are durable.
    drop(open_small(&disk));
    let path = format!("log/{}", segments(&disk).pop().unwrap());
    disk.decay(&path, |bytes| bytes.extend_from_slice(&[0; 3000])).unwrap();
    let (mut log, report, seen) = open_small(&disk);
    assert_eq!((report.torn_bytes, report.damages.len(), seen.len()), (0, 0, 3));
    assert_eq!(zeros(&last_segment(&disk)), 0, "they are cut off");
    assert_eq!(flush(&mut log, b"fourth"), Ok(lsn(4)));
    assert_eq!(disk.read(&path).unwrap(), last_segment(&disk), "in the same segment");
    assert!(zeros(&last_segment(&disk)) > 1000);
    disk.power_cut(1);
    assert_eq!(lsns(&open_small(&disk).2), [1, 2, 3, 4]);
}

#[test]
fn a_complete_segment_and_a_closed_log_are_as_long_as_their_records() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open_small(&disk);
    for _ in 0..2000 {
        flush(&mut log, &[1; 40]).unwrap();
    }
    let lengths = log.segments();
    for (path, bytes) in &lengths[..lengths.len() - 1] {
        assert_eq!(disk.read(path).unwrap().len() as u64, *bytes, "{path}");
    }
    assert!(lengths.len() > 2 && zeros(&last_segment(&disk)) > 0);
    log.give_back_zeros().unwrap();
    assert_eq!((zeros(&last_segment(&disk)), disk.unsynced()), (0, 0));
}

#[test]
fn a_disk_without_room_for_zeros_takes_records() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open_small(&disk);
    // The second append of a flush is that of the zeros.
    disk.fail_nth_of(Call::Append, 2, Fault::ShortWrite);
    assert_eq!(flush(&mut log, b"first"), Ok(lsn(1)));
    assert_eq!(zeros(&last_segment(&disk)), 0, "what was written of them is given back");
    disk.set_capacity(Some(last_segment(&disk).len() as u64 + 200));
    assert_eq!(flush(&mut log, b"second"), Ok(lsn(2)));
    assert_eq!(zeros(&last_segment(&disk)), 0, "nothing is taken from a disk that is nearly full");
    disk.power_cut(1);
    assert_eq!(lsns(&open_small(&disk).2), [1, 2]);
}

#[test]
fn records_without_a_sync_and_long_records_write_no_zeros() {
    let disk = SimDisk::new();
    let (mut log, _, _) = open(&disk);
    flush(&mut log, &[1; 40 << 10]).unwrap();
    assert_eq!(zeros(&last_segment(&disk)), 0);
    log.append(1, 1, *b"one").unwrap();
    log.write().unwrap();
    let ahead = zeros(&last_segment(&disk));
    log.append(1, 1, vec![1; ahead]).unwrap();
    log.write().unwrap();
    log.append(1, 1, *b"three").unwrap();
    log.write().unwrap();
    assert_eq!(zeros(&last_segment(&disk)), 0);
}

#[test]
fn a_record_that_is_torn_within_the_zeros_swallows_none_of_the_next() {
    for cut in 0..200 {
        let disk = SimDisk::new();
        let (mut log, _, _) = open_small(&disk);
        flush(&mut log, b"acknowledged").unwrap();
        log.append(1, 1, vec![7; 900]).unwrap();
        log.write().unwrap();
        disk.power_cut(cut);
        let (mut log, report, seen) = open_small(&disk);
        assert!(report.damages.is_empty(), "{report:?}");
        assert!(seen.len() == 1 || seen[1].body == Some(vec![7; 900]), "seed {cut}");
        let next = flush(&mut log, b"next").unwrap();
        assert_eq!(next, lsn(seen.len() as u64 + 1));
        disk.power_cut(cut);
        let (_, report, seen) = open_small(&disk);
        assert_eq!((lsn(seen.len() as u64), report.torn_bytes), (next, 0), "seed {cut}");
        assert_eq!(seen.last().unwrap().body.as_deref(), Some(&b"next"[..]));
    }
}
