//! Verification during a backup: it has to find all damage that a check of the copy would find.

use crate::common::Random;
use crate::files::{damage, files};
use crate::{THRESHOLDS, settled};
use kithdb_engine::collection::OpeningOptions;
use kithdb_engine::integrity::{LogEnd, Severity, UnsoundFile, check, verify_files};
use kithdb_engine::storage::{SimDisk, Storage};
use std::sync::Arc;

const DAMAGES: u64 = 400;

fn unsound(disk: &SimDisk, end: LogEnd) -> Vec<UnsoundFile> {
    verify_files(Arc::new(disk.clone()), THRESHOLDS.row_chunk_bytes, end).expect("folders can be listed")
}

/// Why a server would not serve everything as it was written; `None` if it would.
fn checked(disk: &SimDisk) -> Option<String> {
    let options = OpeningOptions { threads: 1, row_chunk_bytes: THRESHOLDS.row_chunk_bytes };
    match check(Arc::new(disk.clone()), None, options) {
        Err(error) => Some(error.to_string()),
        Ok(report) => {
            let mut findings = report.findings.listed.into_iter();
            let first = findings.find(|finding| finding.severity == Severity::Damage);
            first.map(|finding| format!("{}: {}", finding.file, finding.what))
        }
    }
}

#[test]
fn everything_that_a_check_calls_damage_is_found_without_loading_a_collection() {
    let (disk, _) = settled();
    assert_eq!((checked(&disk), unsound(&disk, LogEnd::PerhapsTorn)), (None, Vec::new()));
    let all = files(&disk);
    for seed in 0..DAMAGES {
        let (disk, mut random) = (disk.duplicate(), Random(seed * 2 + 1));
        let file = &all[(seed % all.len() as u64) as usize];
        let how = damage(&disk, file, &mut random);
        if let Some(found) = checked(&disk) {
            let reported = unsound(&disk, LogEnd::PerhapsTorn);
            assert!(
                reported.iter().any(|file| !file.is_derived),
                "seed {seed}: {} with {how}: {found}, and {reported:?}",
                file.path
            );
        }
    }
}

#[test]
fn missing_files_are_reported() {
    let (disk, _) = settled();
    for file in files(&disk).iter().filter(|file| !file.may_vanish) {
        let disk = disk.duplicate();
        disk.remove(&file.path).expect("it is there");
        disk.kill();
        let (found, reported) = (checked(&disk), unsound(&disk, LogEnd::PerhapsTorn));
        assert_eq!(
            found.is_some(),
            reported.iter().any(|file| !file.is_derived),
            "{}: {found:?} {reported:?}",
            file.path
        );
    }
}

#[test]
fn missing_folders_are_reported() {
    let (disk, _) = settled();
    for name in disk.list("collections").expect("a folder").iter().filter(|name| *name != "CATALOG") {
        let (disk, folder) = (disk.duplicate(), format!("collections/{name}"));
        disk.remove_dir_all(&folder).expect("it is there");
        disk.kill();
        let (found, reported) = (checked(&disk), unsound(&disk, LogEnd::PerhapsTorn));
        assert_eq!(
            found.is_some(),
            reported.iter().any(|file| file.file == folder),
            "{folder}: {found:?} {reported:?}"
        );
    }
}

#[test]
fn the_end_of_a_log_that_was_synced_is_not_taken_for_torn() {
    let (disk, _) = settled();
    let segments = disk.list("log").expect("a log");
    let last = segments.iter().filter(|name| name.ends_with(".log")).max().expect("a segment");
    let path = format!("log/{last}");
    let mut at = disk.read(&path).expect("it is there").len() - 1;
    while disk.read(&path).expect("it is there")[at] == 0 {
        at -= 1;
    }
    disk.decay(&path, |bytes| bytes[at] ^= 1).expect("it is there");
    let reported = unsound(&disk, LogEnd::Synced);
    assert_eq!(reported.iter().map(|file| &file.file).collect::<Vec<_>>(), [&path], "{reported:?}");
}
