//! Segments of the log.

use crate::storage::{SimDisk, Storage};
use crate::types::Lsn;
use crate::wal::{self, Log, LogError, LogOptions, Replayed};
use std::sync::Arc;

/// LSN, collection, kind and body of what a log shows.
type Shown = Vec<(Lsn, u64, u8, Option<Vec<u8>>)>;

/// Segments of the log one after the other, behind a byte: bit 0, make the checksums right; bit 1, the last 24 bytes
/// are the cut mark; bits 2 and 3, how many segments, less one. Each begins with its length in two bytes.
///
/// A damaged log opens or reports why it cannot, and shows the same records when it is opened again. Records that are
/// written after that are kept. Where a start finds no damage, the scrub finds none either.
pub fn log(bytes: &[u8]) {
    let Some((&flags, mut rest)) = bytes.split_first() else { return };
    let disk = SimDisk::new();
    let put = |path: &str, bytes: &[u8]| {
        let write = || {
            disk.create_dir_all("log")?;
            disk.sync_dir("")?;
            let mut file = disk.create(path)?;
            file.append(bytes)?;
            file.sync()?;
            disk.sync_dir("log")
        };
        // Two segments of one name: the first stays.
        let _ = write();
    };
    let seal = flags & 1 != 0;
    if flags & 2 != 0
        && let Some((before, mark)) = rest.split_last_chunk::<24>()
    {
        let mut mark = mark.to_vec();
        if seal {
            wal::fuzzing::seal_mark(&mut mark);
        }
        put("log/cut", &mark);
        rest = before;
    }
    for _ in 0..=flags >> 2 & 3 {
        let Some((len, after)) = rest.split_first_chunk() else { break };
        let (segment, after) = after.split_at(usize::from(u16::from_le_bytes(*len)).min(after.len()));
        rest = after;
        let mut segment = segment.to_vec();
        if seal {
            wal::fuzzing::seal_segment(&mut segment);
        }
        put(&wal::fuzzing::path_of(&segment), &segment);
    }
    let Ok((_, first, is_sound)) = open(&disk) else { return };
    disk.kill();
    let (mut log, second, _) = open(&disk).expect("a log that was opened opens again");
    assert_eq!(second, first, "a log shows something else when it is opened again");
    if log.next_lsn().get() > u64::MAX / 4 {
        // The LSNs of the next records would be out of range; no real log gets so long.
        return;
    }
    let lsn = log.append(3, 1, *b"new").expect("an open log takes records");
    log.flush().expect("an open log takes records");
    drop(log);
    disk.power_cut(u64::from(flags));
    let (_, third, _) = open(&disk).expect("a log that was written opens again");
    let expected: Shown = first.into_iter().chain([(lsn, 3, 1, Some(b"new".to_vec()))]).collect();
    assert_eq!(third, expected, "what was acknowledged is not all that is shown");
    let names = disk.list("log").expect("the disk works");
    let paths: Vec<String> = names.iter().map(|name| format!("log/{name}")).collect();
    let faults = wal::verify_closed(&disk, &paths, &mut |_| true).faults;
    // A start does not read records below the cut.
    assert!(faults.is_empty() || !is_sound || flags & 2 != 0, "only the scrub finds {faults:?}");
}

/// The log, the records that it shows, and whether it is sound.
fn open(disk: &SimDisk) -> Result<(Log, Shown, bool), LogError> {
    let mut shown = Shown::new();
    let mut visit = |item: Replayed<'_>| match item {
        Replayed::Record { lsn, collection, kind, body, .. } => {
            shown.push((lsn, collection, kind, Some(body.to_vec())));
        }
        Replayed::BadBody { lsn, collection, kind } => shown.push((lsn, collection, kind, None)),
    };
    let options = LogOptions { segment_bytes: 4096, highest_applied: Lsn::NONE, entropy: Some(1) };
    let (log, report) = Log::open(Arc::new(disk.clone()), 1, options, Lsn::NONE, &mut visit)?;
    let is_sound = report.damages.is_empty() && shown.iter().all(|(.., body)| body.is_some());
    Ok((log, shown, is_sound))
}
