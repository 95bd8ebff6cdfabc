//! The log against a model, against crashes at every call, and against decay of its files.

mod ahead;
mod crashes;
mod cut;
mod decay;
mod group;

use std::sync::Arc;

use super::{Log, LogError, LogOptions, LogReport, Replayed};
use crate::storage::{SimDisk, Storage};
use crate::types::Lsn;

fn lsn(number: u64) -> Lsn {
    Lsn::new(number)
}

/// An owned record of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    lsn: u64,
    collection: u64,
    kind: u8,
    /// `None` for a damaged body.
    body: Option<Vec<u8>>,
}

fn options(segment_bytes: u64) -> LogOptions {
    LogOptions { segment_bytes, entropy: Some(7), ..LogOptions::default() }
}

fn open_with(
    disk: &SimDisk,
    options: LogOptions,
    from: u64,
) -> Result<(Log, LogReport, Vec<Seen>), LogError> {
    let mut seen = Vec::new();
    let mut visit = |replayed: Replayed<'_>| {
        seen.push(match replayed {
            Replayed::Record { lsn, collection, kind, body, .. } => {
                Seen { lsn: lsn.get(), collection, kind, body: Some(body.to_vec()) }
            }
            Replayed::BadBody { lsn, collection, kind } => {
                Seen { lsn: lsn.get(), collection, kind, body: None }
            }
        });
    };
    let (log, report) = Log::open(Arc::new(disk.clone()), 3, options, Lsn::new(from), &mut visit)?;
    Ok((log, report, seen))
}

fn open(disk: &SimDisk) -> (Log, LogReport, Vec<Seen>) {
    open_with(disk, options(1 << 20), 0).unwrap()
}

/// A log with one record a flush, bodies `record 1`, `record 2`, …, of collections 1, 2, 1, 2, …
fn filled(disk: &SimDisk, records: u64, segment_bytes: u64) {
    let (mut log, _, _) = open_with(disk, options(segment_bytes), 0).unwrap();
    for n in 1..=records {
        log.append(2 - n % 2, 5, format!("record {n}")).unwrap();
        log.flush().unwrap();
    }
    log.give_back_zeros().unwrap();
}

fn lsns(seen: &[Seen]) -> Vec<u64> {
    seen.iter().map(|record| record.lsn).collect()
}

fn segments(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list("log").unwrap();
    names.retain(|name| name.ends_with(".log"));
    names
}

#[test]
fn what_was_appended_is_replayed_in_order_with_its_bytes() {
    let disk = SimDisk::new();
    let (mut log, report, seen) = open(&disk);
    assert_eq!((report, seen), (LogReport::default(), vec![]));
    assert_eq!(log.append(9, 4, b"one".to_vec()), Ok(lsn(1)));
    assert_eq!(log.append(8, 5, Vec::new()), Ok(lsn(2)));
    assert_eq!(log.flush(), Ok(lsn(2)));
    assert_eq!(log.append(9, 4, vec![1; 100_000]), Ok(lsn(3)));
    assert_eq!(log.flush(), Ok(lsn(3)));
    let (log, report, seen) = open(&disk);
    let record =
        |lsn, collection, kind, body: &[u8]| Seen { lsn, collection, kind, body: Some(body.to_vec()) };
    assert_eq!(seen, [record(1, 9, 4, b"one"), record(2, 8, 5, b""), record(3, 9, 4, &[1; 100_000])]);
    assert_eq!(report, LogReport { visited: 3, ..LogReport::default() });
    assert_eq!(log.next_lsn(), lsn(4));
}

#[test]
fn records_up_to_from_are_not_visited() {
    let disk = SimDisk::new();
    filled(&disk, 20, 300);
    let (log, report, seen) = open_with(&disk, options(300), 13).unwrap();
    assert_eq!(lsns(&seen), (14..=20).collect::<Vec<_>>());
    assert!(report.damages.is_empty());
    assert_eq!(log.next_lsn(), lsn(21));
}

#[test]
fn segments_rotate_and_are_cut_from_the_oldest() {
    let disk = SimDisk::new();
    filled(&disk, 20, 300);
    let (mut log, _, _) = open_with(&disk, options(300), 0).unwrap();
    let before = (segments(&disk).len(), log.size_bytes());
    assert!(before.0 >= 5);
    log.cut(lsn(11)).unwrap();
    assert!(segments(&disk).len() < before.0 && log.size_bytes() < before.1);
    assert!(log.oldest_lsn() <= lsn(11));
    let (mut log, report, seen) = open_with(&disk, options(300), 10).unwrap();
    assert_eq!(lsns(&seen), (11..=20).collect::<Vec<_>>());
    assert!(report.damages.is_empty());
    log.cut(Lsn::MAX).unwrap();
    assert_eq!(segments(&disk).len(), 1, "the segment that grows stays");
}

#[test]
fn opening_again_and_again_adds_no_segments() {
    let disk = SimDisk::new();
    filled(&disk, 3, 1 << 20);
    open(&disk);
    let after_one = segments(&disk);
    for _ in 0..5 {
        assert_eq!(lsns(&open(&disk).2), [1, 2, 3]);
    }
    assert_eq!(segments(&disk), after_one);
}

#[test]
fn bytes_of_another_segment_are_not_records() {
    let disk = SimDisk::new();
    filled(&disk, 3, 1 << 20);
    let recycled = disk.read(&format!("log/{}", segments(&disk)[0])).unwrap()[52..].to_vec();
    let other = SimDisk::new();
    let (mut log, _, _) =
        open_with(&other, LogOptions { entropy: Some(8), ..LogOptions::default() }, 0).unwrap();
    log.append(1, 1, b"mine".to_vec()).unwrap();
    log.flush().unwrap();
    log.give_back_zeros().unwrap();
    let path = format!("log/{}", segments(&other)[0]);
    other.decay(&path, |bytes| bytes.extend_from_slice(&recycled)).unwrap();
    let (_, report, seen) = open(&other);
    assert_eq!(lsns(&seen), [1]);
    assert_eq!(report.torn_bytes, recycled.len() as u64);
    assert_eq!(report.torn_records, 0);
}

#[test]
fn an_lsn_that_a_checkpoint_holds_is_never_given_out_again() {
    let disk = SimDisk::new();
    let applied = LogOptions { highest_applied: lsn(40), ..options(1 << 20) };
    let (mut log, _, _) = open_with(&disk, applied.clone(), 30).unwrap();
    // One further: what was behind them, and is lost, is a gap from now on.
    assert_eq!(log.append(1, 1, b"x".to_vec()), Ok(lsn(42)));
    log.flush().unwrap();
    filled(&SimDisk::new(), 1, 300);
    let (log, report, seen) = open_with(&disk, applied, 40).unwrap();
    assert_eq!((lsns(&seen), report.damages.len(), log.next_lsn()), (vec![42], 1, lsn(43)));
}

#[test]
fn a_log_of_a_later_format_is_refused_and_left_alone() {
    let disk = SimDisk::new();
    filled(&disk, 2, 1 << 20);
    let path = format!("log/{}", segments(&disk)[0]);
    disk.decay(&path, |bytes| {
        bytes[8] = 9;
        let checksum = crc32c::crc32c(&bytes[..48]);
        bytes[48..52].copy_from_slice(&checksum.to_le_bytes());
    })
    .unwrap();
    let before = disk.read(&path).unwrap();
    assert_eq!(
        open_with(&disk, options(300), 0).err(),
        Some(LogError::Unsupported { file: path.clone(), version: 9 })
    );
    assert_eq!(disk.read(&path).unwrap(), before);
}

#[test]
fn a_body_that_is_too_long_is_refused_at_once() {
    let (mut log, _, _) = open(&SimDisk::new());
    let bytes = super::MAX_BODY_BYTES + 1;
    assert_eq!(log.append(1, 1, vec![0; bytes]), Err(LogError::TooLarge { bytes }));
    assert_eq!(log.next_lsn(), lsn(1));
}
