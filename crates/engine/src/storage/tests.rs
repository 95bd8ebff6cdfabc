//! Behaviour that all disks share, then what only the simulated one can do.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::sim::RandomSource;
use super::*;

/// Runs `check` on a simulated disk, on one in memory, and on a real one.
fn on_all(check: impl Fn(&dyn Storage)) {
    check(&SimDisk::new());
    check(&MemoryDisk::default());
    let dir = tempfile::tempdir().unwrap();
    check(&RealDisk::open(dir.path().join("data")).unwrap());
}

fn write(disk: &dyn Storage, path: &str, bytes: &[u8]) {
    let mut file = disk.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

/// A file whose content and name are durable.
fn durable(disk: &SimDisk, path: &str, bytes: &[u8]) {
    write(disk, path, bytes);
    disk.sync_dir("").unwrap();
}

/// The distinct outcomes of `observe` over many power cuts from the state of `disk`.
fn outcomes<T: Ord>(disk: &SimDisk, observe: impl Fn(&SimDisk) -> T) -> BTreeSet<T> {
    (0..400)
        .map(|seed| {
            let copy = disk.duplicate();
            copy.power_cut(seed);
            observe(&copy)
        })
        .collect()
}

#[test]
fn what_was_appended_is_read_and_mapped() {
    on_all(|disk| {
        disk.create_dir_all("a/b").unwrap();
        let mut file = disk.create("a/b/x").unwrap();
        assert!(file.is_empty());
        file.append(b"hello ").unwrap();
        file.append(b"world").unwrap();
        assert_eq!(file.len(), 11);
        drop(file);
        let mut file = disk.open_append("a/b/x").unwrap();
        assert_eq!(file.len(), 11);
        file.append(b"!").unwrap();
        assert_eq!(disk.read("a/b/x").unwrap(), b"hello world!");
        let map = disk.map("a/b/x").unwrap();
        assert_eq!(&*map.clone(), b"hello world!");
        disk.remove("a/b/x").unwrap();
        assert_eq!(&*map, b"hello world!");
    });
}

#[test]
fn bytes_are_written_in_the_place_of_others_and_behind_them() {
    on_all(|disk| {
        let mut file = disk.create("x").unwrap();
        file.append(b"hello world").unwrap();
        file.write_at(6, b"W").unwrap();
        assert_eq!((disk.read("x").unwrap(), file.len()), (b"hello World".to_vec(), 11));
        file.write_at(9, b"k and more").unwrap();
        file.append(b"!").unwrap();
        assert_eq!((disk.read("x").unwrap(), file.len()), (b"hello Work and more!".to_vec(), 20));
    });
}

#[test]
fn bytes_that_were_written_over_others_are_torn_in_their_place() {
    let disk = SimDisk::new();
    durable(&disk, "x", &[0; 9000]);
    let mut file = disk.open_append("x").unwrap();
    file.write_at(700, &[9; 6000]).unwrap();
    let seen = outcomes(&disk, |d| d.read("x").unwrap());
    assert!(seen.iter().all(|bytes| bytes.len() == 9000 && bytes[..700] == [0; 700]));
    assert!(seen.iter().all(|bytes| bytes[6700..] == [0; 2300]), "nothing else is touched");
    assert!(seen.iter().any(|bytes| bytes[700..6700] == [9; 6000]));
    assert!(seen.iter().any(|bytes| bytes[700..6700] == [0; 6000]));
    assert!(seen.iter().any(|bytes| bytes[700] == 9 && bytes[6699] == 0), "torn");
    file.sync().unwrap();
    disk.power_cut(1);
    assert_eq!(disk.read("x").unwrap()[700..6700], [9; 6000]);
}

#[test]
fn an_empty_file_can_be_mapped() {
    on_all(|disk| {
        disk.create("x").unwrap();
        assert!(disk.map("x").unwrap().is_empty());
    });
}

#[test]
fn names_are_listed_in_order_and_a_missing_directory_is_empty() {
    on_all(|disk| {
        disk.create_dir_all("d/sub").unwrap();
        write(disk, "d/b", b"");
        write(disk, "d/a", b"");
        assert_eq!(disk.list("d").unwrap(), ["a", "b", "sub"]);
        assert!(disk.list("nowhere").unwrap().is_empty());
        assert!(disk.exists("d/sub").unwrap());
        assert!(!disk.exists("d/c").unwrap());
    });
}

#[test]
fn create_refuses_a_taken_name_and_open_a_missing_one() {
    on_all(|disk| {
        write(disk, "x", b"1");
        assert_eq!(disk.create("x").err().unwrap().kind(), ErrorKind::Exists);
        for error in [
            disk.open_append("y").err().unwrap(),
            disk.read("y").unwrap_err(),
            disk.map("y").unwrap_err(),
            disk.remove("y").unwrap_err(),
            disk.rename("y", "z").unwrap_err(),
            disk.truncate("y", 0).unwrap_err(),
            disk.create("no/dir").err().unwrap(),
        ] {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        }
    });
}

#[test]
fn rename_replaces_the_target_and_stays_in_its_directory() {
    on_all(|disk| {
        disk.create_dir_all("d").unwrap();
        write(disk, "new", b"new");
        write(disk, "old", b"old");
        disk.rename("new", "old").unwrap();
        assert_eq!(disk.read("old").unwrap(), b"new");
        assert!(!disk.exists("new").unwrap());
        assert_eq!(disk.rename("old", "d/old").unwrap_err().kind(), ErrorKind::Io);
    });
}

#[test]
fn a_link_is_a_second_name_that_outlives_the_first() {
    on_all(|disk| {
        disk.create_dir_all("a").unwrap();
        write(disk, "x", b"bytes");
        disk.link("x", "a/y").unwrap();
        assert_eq!(disk.link("x", "a/y").unwrap_err().kind(), ErrorKind::Exists);
        assert_eq!(disk.link("none", "a/z").unwrap_err().kind(), ErrorKind::NotFound);
        disk.remove("x").unwrap();
        assert_eq!((disk.read("a/y").unwrap(), disk.exists("x").unwrap()), (b"bytes".to_vec(), false));
        disk.link("a/y", "x").unwrap();
        disk.remove_dir_all("a").unwrap();
        assert_eq!(disk.read("x").unwrap(), b"bytes");
    });
}

#[test]
fn a_link_is_lost_without_a_sync_of_its_folder_and_its_bytes_are_those_of_both_names() {
    for has_links in [true, false] {
        let disk = SimDisk::new();
        if !has_links {
            disk.forbid_links();
        }
        durable(&disk, "x", b"bytes");
        disk.create_dir_all("a").unwrap();
        disk.sync_dir("").unwrap();
        disk.link("x", "a/y").unwrap();
        assert_eq!(outcomes(&disk, |d| d.read("a/y").ok()), BTreeSet::from([None, Some(b"bytes".to_vec())]));
        disk.sync_dir("a").unwrap();
        assert_eq!(outcomes(&disk, |d| d.read("a/y").ok()), BTreeSet::from([Some(b"bytes".to_vec())]));
        disk.decay("x", |bytes| bytes[0] = b'B').unwrap();
        let other: &[u8] = if has_links { b"Bytes" } else { b"bytes" };
        assert_eq!(disk.read("a/y").unwrap(), other);
    }
}

#[test]
fn truncate_shortens_and_never_lengthens() {
    on_all(|disk| {
        write(disk, "x", b"123456");
        disk.truncate("x", 4).unwrap();
        assert_eq!(disk.read("x").unwrap(), b"1234");
        assert!(disk.truncate("x", 5).is_err());
        let mut file = disk.open_append("x").unwrap();
        file.truncate(1).unwrap();
        file.append(b"z").unwrap();
        assert_eq!(disk.read("x").unwrap(), b"1z");
        assert_eq!(file.len(), 2);
    });
}

#[test]
fn removing_a_tree_twice_is_no_error() {
    on_all(|disk| {
        disk.create_dir_all("d/e").unwrap();
        write(disk, "d/e/x", b"1");
        disk.remove_dir_all("d").unwrap();
        disk.remove_dir_all("d").unwrap();
        assert!(!disk.exists("d").unwrap());
        disk.sync_dir("").unwrap();
    });
}

#[test]
fn no_path_leaves_the_data_directory() {
    on_all(|disk| {
        for path in ["..", "../x", "a/../../x", "/etc/passwd", "a//b", "a\\b", ".", "a\0", "c:x"] {
            assert!(disk.read(path).is_err(), "{path:?}");
            assert_eq!(disk.create(path).err().unwrap().kind(), ErrorKind::Io, "{path:?}");
            assert!(disk.create_dir_all(path).is_err(), "{path:?}");
            assert!(disk.remove_dir_all(path).is_err(), "{path:?}");
        }
        assert!(disk.remove_dir_all("").is_err());
    });
}

#[test]
fn one_process_holds_the_directory_and_the_error_names_it() {
    on_all(|disk| {
        let guard = disk.lock().unwrap();
        let error = disk.lock().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked);
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        drop(guard);
        disk.lock().unwrap();
    });
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_data() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("data");
    let disk = RealDisk::open(&root).unwrap();
    disk.create_dir_all("d").unwrap();
    write(&disk, "d/x", b"1");
    let _guard = disk.lock().unwrap();
    for (path, mode) in [("", 0o700), ("d", 0o700), ("d/x", 0o600), ("lock", 0o600)] {
        let permissions = std::fs::metadata(root.join(path)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{path}");
    }
    assert!(disk.free_bytes().unwrap() > 0);
}

#[test]
fn synced_bytes_under_a_synced_name_survive_every_power_cut() {
    let disk = SimDisk::new();
    durable(&disk, "x", b"safe");
    assert_eq!(outcomes(&disk, |d| d.read("x").unwrap()).len(), 1);
}

#[test]
fn an_unsynced_tail_is_lost_kept_or_torn_but_the_synced_part_stays() {
    let disk = SimDisk::new();
    durable(&disk, "x", &[7; 700]);
    let mut file = disk.open_append("x").unwrap();
    file.append(&[9; 6000]).unwrap();
    let seen = outcomes(&disk, |d| d.read("x").unwrap());
    assert!(seen.iter().all(|bytes| bytes[..700] == [7; 700]));
    assert!(seen.iter().any(|bytes| bytes.len() == 700));
    assert!(seen.iter().any(|bytes| bytes.len() == 6700 && bytes[700..] == [9; 6000]));
    assert!(seen.iter().any(|bytes| bytes.len() == 4096), "torn at a page");
    assert!(seen.iter().any(|bytes| bytes.len() % 512 == 0 && bytes.len() % 4096 != 0), "torn at a sector");
    assert!(seen.iter().any(|bytes| bytes.len() % 512 != 0 && bytes.len() < 6700), "torn at a byte");
    let later_without_earlier = |bytes: &Vec<u8>| bytes.len() == 6700 && bytes[700] != 9 && bytes[6699] == 9;
    assert!(seen.iter().any(later_without_earlier), "sectors out of order");
}

#[test]
fn an_unsynced_truncation_happens_or_not() {
    let disk = SimDisk::new();
    durable(&disk, "x", b"123456");
    disk.truncate("x", 2).unwrap();
    let seen = outcomes(&disk, |d| d.read("x").unwrap().len());
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [2, 6]);
}

#[test]
fn a_synced_file_may_lose_its_name_until_the_directory_is_synced() {
    let disk = SimDisk::new();
    write(&disk, "x", b"content");
    let seen = outcomes(&disk, |d| d.read("x").ok());
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [None, Some(b"content".to_vec())]);
    disk.sync_dir("").unwrap();
    assert_eq!(outcomes(&disk, |d| d.exists("x").unwrap()).into_iter().collect::<Vec<_>>(), [true]);
}

#[test]
fn an_unsynced_rename_leaves_the_old_file_or_the_new_one() {
    let disk = SimDisk::new();
    durable(&disk, "manifest", b"old");
    durable(&disk, "manifest.tmp", b"new");
    disk.rename("manifest.tmp", "manifest").unwrap();
    let seen = outcomes(&disk, |d| (d.read("manifest").unwrap(), d.exists("manifest.tmp").unwrap()));
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [(b"new".to_vec(), false), (b"old".to_vec(), true)]);
}

#[test]
fn unsynced_removals_come_back_one_by_one() {
    let disk = SimDisk::new();
    durable(&disk, "a", b"");
    durable(&disk, "b", b"");
    disk.remove("a").unwrap();
    disk.remove("b").unwrap();
    assert_eq!(outcomes(&disk, |d| d.list("").unwrap()).len(), 4);
}

#[test]
fn everything_below_an_unsynced_directory_can_vanish() {
    let disk = SimDisk::new();
    disk.create_dir_all("d").unwrap();
    write(&disk, "d/x", b"1");
    disk.sync_dir("d").unwrap();
    assert_eq!(outcomes(&disk, |d| d.exists("d/x").unwrap()).len(), 2);
    disk.sync_dir("").unwrap();
    assert_eq!(outcomes(&disk, |d| d.exists("d/x").unwrap()).into_iter().collect::<Vec<_>>(), [true]);
}

#[test]
fn after_a_cut_old_handles_are_dead_and_the_disk_works() {
    let disk = SimDisk::new();
    durable(&disk, "x", b"1");
    let mut file = disk.open_append("x").unwrap();
    let _guard = disk.lock().unwrap();
    disk.power_cut(1);
    assert!(file.append(b"2").is_err());
    assert!(file.sync().is_err());
    disk.lock().unwrap();
    disk.open_append("x").unwrap().append(b"3").unwrap();
    assert_eq!(disk.read("x").unwrap(), b"13");
}

#[test]
fn a_killed_process_loses_no_byte() {
    let disk = SimDisk::new();
    let mut file = disk.create("x").unwrap();
    file.append(b"unsynced").unwrap();
    disk.kill();
    assert!(file.append(b"2").is_err());
    assert_eq!(disk.read("x").unwrap(), b"unsynced");
}

#[test]
fn equal_seeds_leave_equal_disks() {
    let run = |seed| {
        let disk = SimDisk::new();
        let mut random = RandomSource::new(99);
        for name in ["a", "b", "c", "d"] {
            let mut file = disk.create(name).unwrap();
            file.append(&vec![random.next_u64() as u8; 3000]).unwrap();
        }
        disk.power_cut(seed);
        disk.list("").unwrap().into_iter().map(|name| disk.read(&name).unwrap()).collect::<Vec<_>>()
    };
    for seed in 0..50 {
        assert_eq!(run(seed), run(seed));
    }
}

#[test]
fn the_nth_call_fails_in_the_way_asked_for() {
    let disk = SimDisk::new();
    let mut file = disk.create("x").unwrap();
    disk.fail_nth(2, Fault::Eio);
    file.append(b"1").unwrap();
    assert_eq!(file.append(b"2").unwrap_err().kind(), ErrorKind::Io);
    file.append(b"3").unwrap();
    disk.fail_nth(1, Fault::Enospc);
    file.sync().unwrap();
    assert_eq!(file.append(b"4").unwrap_err().kind(), ErrorKind::Full);
    disk.fail_nth(1, Fault::ShortWrite);
    assert_eq!(file.append(b"5678").unwrap_err().kind(), ErrorKind::Full);
    assert_eq!(disk.read("x").unwrap(), b"1356");
    assert_eq!(file.len(), 4);
}

#[test]
fn a_failed_sync_loses_bytes_that_a_later_sync_cannot_save() {
    let disk = SimDisk::new();
    durable(&disk, "x", b"");
    let mut file = disk.open_append("x").unwrap();
    file.append(b"doubtful").unwrap();
    disk.fail_nth(1, Fault::FsyncFails);
    assert!(file.sync().is_err());
    file.append(b" and safe").unwrap();
    file.sync().unwrap();
    assert_eq!(disk.read("x").unwrap(), b"doubtful and safe");
    let seen = outcomes(&disk, |d| d.read("x").unwrap());
    assert!(seen.iter().any(|bytes| bytes == b"doubtful and safe"));
    assert!(seen.iter().any(|bytes| !bytes.starts_with(b"doubtful")));
    assert!(seen.iter().all(|bytes| bytes.ends_with(b" and safe")));
}

#[test]
fn after_the_crash_point_nothing_has_effect() {
    let disk = SimDisk::new();
    let mut file = disk.create("x").unwrap();
    let before = disk.calls();
    disk.crash_after(1);
    file.append(b"1").unwrap();
    assert!(file.append(b"2").is_err());
    assert!(disk.create("y").is_err());
    assert!(disk.read("x").is_err());
    assert_eq!(disk.calls(), before + 4);
    disk.kill();
    assert_eq!(disk.read("x").unwrap(), b"1");
}

#[test]
fn a_full_disk_takes_writes_again_when_room_is_made() {
    let disk = SimDisk::new();
    write(&disk, "big", &[0; 90]);
    disk.set_capacity(Some(100));
    let mut file = disk.create("x").unwrap();
    assert_eq!(file.append(&[1; 20]).unwrap_err().kind(), ErrorKind::Full);
    assert_eq!(file.len(), 10);
    assert_eq!(disk.free_bytes(), Some(0));
    disk.remove("big").unwrap();
    file.append(&[1; 20]).unwrap();
}

#[test]
fn a_fault_of_one_kind_of_call_spares_the_others() {
    let disk = SimDisk::new();
    disk.fail_nth_of(Call::Sync, 2, Fault::Eio);
    write(&disk, "x", b"1");
    let mut file = disk.open_append("x").unwrap();
    file.append(b"2").unwrap();
    assert!(file.sync().is_err());
    file.sync().unwrap();
    assert_eq!((disk.calls_of(Call::Sync), disk.calls_of(Call::Append)), (3, 2));
    assert!(!disk.has_faults());
}

#[test]
fn a_lasting_fault_lasts_until_it_is_cleared() {
    let disk = SimDisk::new();
    let mut file = disk.create("x").unwrap();
    disk.fail_from(2, Fault::Enospc);
    file.append(b"1").unwrap();
    for _ in 0..3 {
        assert_eq!(file.append(b"2").unwrap_err().kind(), ErrorKind::Full);
        file.sync().unwrap();
    }
    disk.clear_faults();
    file.append(b"2").unwrap();
    assert_eq!(disk.read("x").unwrap(), b"12");
}

#[test]
fn bytes_whose_sync_failed_may_be_read_as_something_else_once_their_pages_are_gone() {
    let disk = SimDisk::new();
    durable(&disk, "x", b"old-old-old");
    let mut file = disk.open_append("x").unwrap();
    file.truncate(4).unwrap();
    file.append(b"new-new").unwrap();
    disk.fail_nth(1, Fault::FsyncFails);
    assert!(file.sync().is_err());
    file.sync().unwrap();
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let copy = disk.duplicate();
        assert_eq!(copy.read("x").unwrap(), b"old-new-new");
        copy.drop_caches(seed);
        let bytes = copy.read("x").unwrap();
        assert_eq!(bytes[..4], *b"old-");
        copy.power_cut(seed);
        assert_eq!(copy.read("x").unwrap(), bytes, "what was read from the disk is what the disk has");
        seen.insert(bytes);
    }
    for bytes in [&b"old-new-new"[..], b"old-old-old", b"old-\0\0\0\0\0\0\0"] {
        assert!(seen.contains(bytes), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_power_cut_can_keep_any_choice_of_what_was_not_synced() {
    let disk = SimDisk::new();
    durable(&disk, "x", b"abc");
    let mut file = disk.open_append("x").unwrap();
    file.append(b"d").unwrap();
    file.append(b"e").unwrap();
    write(&disk, "y", b"1");
    assert_eq!(disk.unsynced(), 3, "a name and two appends");
    let mut seen = BTreeSet::new();
    for mask in 0..8u32 {
        let copy = disk.duplicate();
        let mut at = 0;
        copy.power_cut_keeping(|| {
            at += 1;
            mask >> (at - 1) & 1 == 1
        });
        assert_eq!((at, copy.unsynced()), (3, 0));
        seen.insert((copy.read("y").ok(), copy.read("x").unwrap()));
    }
    assert_eq!(seen.len(), 8);
    assert!(seen.contains(&(None, b"abc\0e".to_vec())), "the second append without the first");
}

#[test]
fn a_turn_runs_before_each_call_and_may_use_the_disk() {
    let disk = SimDisk::new();
    let seen = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let (log, handle) = (Arc::clone(&seen), disk.clone());
    disk.interleave(Some(Arc::new(move |place: &str| {
        let exists = place != "x" || handle.fingerprint() != SimDisk::new().fingerprint();
        log.lock().push((place.to_owned(), exists));
    })));
    write(&disk, "x", b"1");
    disk.yield_point("between");
    disk.interleave(None);
    disk.read("x").unwrap();
    let place = |name: &str, exists| (name.to_owned(), exists);
    let expected = [place("x", false), place("x", true), place("x", true), place("between", true)];
    assert_eq!(*seen.lock(), expected);
}
