//! Group commit: order, durability, failures, limits, and many threads on a real disk.

use std::sync::mpsc;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::*;
use crate::storage::{Fault, RealDisk};
use crate::supervision::{PlantedPanic, Task};
use crate::wal::{Completion, Durability, GroupCommit, GroupOptions};

type Outcomes = Arc<Mutex<Vec<Result<Lsn, LogError>>>>;

fn inline(disk: &SimDisk) -> GroupCommit {
    GroupCommit::inline(open(disk).0, &GroupOptions::default())
}

fn note(outcomes: &Outcomes) -> Completion {
    let outcomes = Arc::clone(outcomes);
    Box::new(move |outcome| outcomes.lock().push(outcome))
}

fn append(log: &GroupCommit, collection: u64, durability: Durability) -> Result<Lsn, LogError> {
    let outcomes = Outcomes::default();
    log.append_group(&[(collection, 1, b"body")], durability, note(&outcomes));
    let mut outcomes = outcomes.lock();
    assert_eq!(outcomes.len(), 1, "notified exactly once, before the call returns");
    outcomes.remove(0)
}

#[test]
fn a_group_gets_successive_lsns_and_its_completion_the_last() {
    let disk = SimDisk::new();
    let log = inline(&disk);
    let outcomes = Outcomes::default();
    log.append_group(&[(1, 1, b"a"), (1, 2, b"b"), (2, 1, b"c")], Durability::Always, note(&outcomes));
    assert_eq!(*outcomes.lock(), [Ok(lsn(3))]);
    assert_eq!(append(&log, 1, Durability::Always), Ok(lsn(4)));
    assert_eq!((log.next_lsn(), log.durable_lsn()), (lsn(5), lsn(4)));
    drop(log);
    assert_eq!(lsns(&open(&disk).2), [1, 2, 3, 4]);
}

#[test]
fn a_writer_sees_its_lsn_before_it_encodes() {
    let disk = SimDisk::new();
    let log = inline(&disk);
    append(&log, 1, Durability::Always).unwrap();
    let outcomes = Outcomes::default();
    let fill = |log: &mut crate::wal::Appender<'_>| {
        let lsn = log.next_lsn();
        log.append(1, 1, None, format!("I am {lsn}").into_bytes())
    };
    assert_eq!(log.append(fill, Durability::Always, note(&outcomes)).map(|(lsn, _)| lsn), Ok(lsn(2)));
    drop(log);
    assert_eq!(open(&disk).2[1].body.as_deref(), Some(&b"I am 2"[..]));
}

#[test]
fn a_writer_that_gives_up_uses_no_lsn() {
    let log = inline(&SimDisk::new());
    let outcomes = Outcomes::default();
    let fill = |log: &mut crate::wal::Appender<'_>| -> Result<(), LogError> {
        log.append(1, 1, None, vec![1])?;
        Err(LogError::Overloaded)
    };
    let refused = log.append(fill, Durability::Always, note(&outcomes)).map(drop);
    assert_eq!(refused, Err(LogError::Overloaded));
    assert_eq!(*outcomes.lock(), [Err(LogError::Overloaded)]);
    assert_eq!(append(&log, 1, Durability::Always), Ok(lsn(1)));
}

#[test]
fn only_always_waits_for_the_disk_and_it_syncs_what_came_before() {
    let disk = SimDisk::new();
    let log = inline(&disk);
    assert_eq!(append(&log, 1, Durability::Os), Ok(lsn(1)));
    assert_eq!(append(&log, 1, Durability::Interval), Ok(lsn(2)));
    assert_eq!(log.durable_lsn(), lsn(0));
    let killed = disk.duplicate();
    assert_eq!(lsns(&open(&killed).2), [1, 2], "the end of the process loses nothing");
    assert_eq!(append(&log, 1, Durability::Always), Ok(lsn(3)));
    assert_eq!(log.durable_lsn(), lsn(3));
    assert_eq!(append(&log, 1, Durability::Os), Ok(lsn(4)));
    assert_eq!(log.sync(), Ok(lsn(4)));
    assert_eq!(log.durable_lsn(), lsn(4));
}

#[test]
fn interval_is_synced_without_further_writes() {
    let disk = SimDisk::new();
    let options = GroupOptions { sync_interval: Duration::from_millis(20), ..GroupOptions::default() };
    let log = GroupCommit::threaded(open(&disk).0, &options).unwrap();
    let (sender, receiver) = mpsc::channel();
    let done = Box::new(move |outcome| sender.send(outcome).unwrap());
    log.append_group(&[(1, 1, b"body")], Durability::Interval, done);
    assert_eq!(receiver.recv().unwrap(), Ok(lsn(1)));
    let started = Instant::now();
    while log.durable_lsn() < lsn(1) {
        assert!(started.elapsed() < Duration::from_secs(60), "the sync does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn closing_syncs_everything_and_refuses_more() {
    let disk = SimDisk::new();
    let log = inline(&disk);
    append(&log, 1, Durability::Os).unwrap();
    assert_eq!(log.durable_lsn(), lsn(0));
    log.close().unwrap();
    assert_eq!(log.durable_lsn(), lsn(1));
    assert_eq!(append(&log, 1, Durability::Always), Err(LogError::Closed));
    log.close().unwrap();
    disk.power_cut(3);
    assert_eq!(lsns(&open(&disk).2), [1]);
}

#[test]
fn after_a_failure_a_collection_is_refused_until_it_says_resume() {
    let disk = SimDisk::new();
    let log = inline(&disk);
    append(&log, 1, Durability::Always).unwrap();
    disk.fail_nth(1, Fault::Enospc);
    assert_eq!(append(&log, 1, Durability::Always), Err(LogError::Full));
    assert_eq!(append(&log, 1, Durability::Always), Err(LogError::Superseded));
    assert_eq!(append(&log, 2, Durability::Always), Ok(lsn(2)), "others go on, the LSN is used again");
    log.resume(1);
    assert_eq!(append(&log, 1, Durability::Always), Ok(lsn(3)));
}

#[test]
fn a_failed_sync_refuses_everything() {
    let disk = SimDisk::new();
    let log = inline(&disk);
    disk.fail_nth(1, Fault::FsyncFails);
    assert!(matches!(append(&log, 1, Durability::Always), Err(LogError::Poisoned(_))));
    log.resume(1);
    assert!(matches!(append(&log, 1, Durability::Always), Err(LogError::Poisoned(_))));
    assert!(matches!(append(&log, 2, Durability::Os), Err(LogError::Poisoned(_))));
    assert!(log.close().is_err());
}

#[test]
fn a_completion_that_panics_does_not_stop_the_log() {
    let log = GroupCommit::threaded(open(&SimDisk::new()).0, &GroupOptions::default()).unwrap();
    log.append_group(&[(1, 1, b"x")], Durability::Always, Box::new(|_| panic!("on purpose")));
    assert_eq!(log.sync(), Ok(lsn(1)));
}

/// A log thread that is stuck in its first completion until the barrier is passed.
fn stuck(disk: &SimDisk, options: &GroupOptions) -> (GroupCommit, Arc<Barrier>) {
    let log = GroupCommit::threaded(open(disk).0, options).unwrap();
    let (entered, gate) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inner_entered, inner_gate) = (Arc::clone(&entered), Arc::clone(&gate));
    let done = Box::new(move |_| {
        inner_entered.wait();
        inner_gate.wait();
    });
    log.append_group(&[(1, 1, b"first")], Durability::Always, done);
    entered.wait();
    (log, gate)
}

#[test]
fn what_waits_is_bounded() {
    let (log, gate) = stuck(&SimDisk::new(), &GroupOptions { waiting_bytes: 100, ..GroupOptions::default() });
    let outcomes = Outcomes::default();
    log.append_group(&[(1, 1, &[0; 500])], Durability::Always, note(&outcomes));
    assert!(outcomes.lock().is_empty(), "a long group is taken when nothing else waits");
    log.append_group(&[(1, 1, &[0; 10])], Durability::Always, note(&outcomes));
    assert_eq!(*outcomes.lock(), [Err(LogError::Overloaded)]);
    gate.wait();
    assert_eq!(log.sync(), Ok(lsn(2)));
    log.append_group(&[(1, 1, &[0; 10])], Durability::Always, note(&outcomes));
    assert_eq!(log.sync(), Ok(lsn(3)));
    assert_eq!(*outcomes.lock(), [Err(LogError::Overloaded), Ok(lsn(2)), Ok(lsn(3))]);
}

#[test]
fn groups_that_arrive_during_a_sync_share_the_next_one() {
    let disk = SimDisk::new();
    let (log, gate) = stuck(&disk, &GroupOptions::default());
    let outcomes = Outcomes::default();
    for _ in 0..50 {
        log.append_group(&[(1, 1, b"x")], Durability::Always, note(&outcomes));
    }
    let calls = disk.calls();
    gate.wait();
    assert_eq!(log.sync(), Ok(lsn(51)));
    assert!(disk.calls() - calls <= 4, "at most two appends and two syncs for 51 groups");
    assert_eq!(*outcomes.lock(), (2..=51).map(lsn).map(Ok).collect::<Vec<_>>(), "notified in order");
}

#[test]
fn a_record_that_need_not_wait_is_answered_although_the_sync_beside_it_fails() {
    let disk = SimDisk::new();
    let (log, gate) = stuck(&disk, &GroupOptions::default());
    let levels =
        [(1, Durability::Os), (2, Durability::Always), (2, Durability::Interval), (3, Durability::Os)];
    let outcomes: Vec<Outcomes> = levels.iter().map(|_| Outcomes::default()).collect();
    for ((collection, durability), outcomes) in levels.into_iter().zip(&outcomes) {
        log.append_group(&[(collection, 1, b"x")], durability, note(outcomes));
    }
    // The first call is the append, the second the sync.
    disk.fail_nth(1, Fault::FsyncFails);
    gate.wait();
    assert!(log.close().is_err());
    let notified: Vec<bool> = outcomes.iter().map(|outcomes| outcomes.lock()[0].is_ok()).collect();
    assert_eq!(
        notified,
        [true, false, false, true],
        "what follows a waiting record of its collection waits with it"
    );
    assert_eq!(lsns(&open(&disk).2), [1, 2, 3, 4, 5], "the end of the process loses nothing");
}

#[test]
fn a_failure_takes_the_groups_behind_it_along() {
    let disk = SimDisk::new();
    let (log, gate) = stuck(&disk, &GroupOptions::default());
    let outcomes = Outcomes::default();
    disk.fail_nth(1, Fault::ShortWrite);
    for collection in [1, 2] {
        log.append_group(&[(collection, 1, b"lost")], Durability::Always, note(&outcomes));
    }
    gate.wait();
    while outcomes.lock().len() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(*outcomes.lock(), [Err(LogError::Full), Err(LogError::Full)]);
    log.resume(1);
    log.append_group(&[(1, 1, b"kept")], Durability::Always, note(&outcomes));
    log.append_group(&[(2, 1, b"lost")], Durability::Always, note(&outcomes));
    assert_eq!(log.sync(), Ok(lsn(2)));
    log.close().unwrap();
    let (_, _, seen) = open(&disk);
    assert_eq!(lsns(&seen), [1, 2]);
    assert_eq!(seen[1].body.as_deref(), Some(&b"kept"[..]));
}

#[test]
fn many_threads_on_a_real_disk_keep_the_order_of_their_collection() {
    const THREADS: u64 = 8;
    const GROUPS: u64 = 120;
    let dir = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Storage> = Arc::new(RealDisk::open(dir.path()).unwrap());
    let options = LogOptions { segment_bytes: 20_000, ..LogOptions::default() };
    let open = |visit: &mut dyn FnMut(Replayed<'_>)| {
        Log::open(Arc::clone(&disk), 1, options.clone(), Lsn::NONE, visit).unwrap().0
    };
    let log = GroupCommit::threaded(open(&mut |_| {}), &GroupOptions::default()).unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for collection in 0..THREADS {
            let (log, sender) = (&log, sender.clone());
            scope.spawn(move || {
                for n in 0..GROUPS {
                    let sender = sender.clone();
                    let body = n.to_le_bytes();
                    let durability =
                        [Durability::Always, Durability::Interval, Durability::Os][n as usize % 3];
                    let done = Box::new(move |outcome: Result<Lsn, LogError>| {
                        sender.send((outcome.unwrap(), collection, n)).unwrap();
                    });
                    log.append_group(&[(collection, 1, &body)], durability, done);
                }
            });
        }
    });
    log.close().unwrap();
    drop(sender);
    let mut notified: Vec<(Lsn, u64, u64)> = receiver.iter().collect();
    for collection in 0..THREADS {
        // Those that need not wait for a sync are notified before other collections' that do.
        let mine = notified.iter().filter(|record| record.1 == collection);
        assert!(mine.is_sorted(), "completions of collection {collection} come in the order of their LSNs");
    }
    notified.sort_unstable();
    let mut replayed = Vec::new();
    let mut visit = |found: Replayed<'_>| match found {
        Replayed::Record { lsn, collection, body, .. } => {
            replayed.push((lsn, collection, u64::from_le_bytes(body.try_into().unwrap())));
        }
        Replayed::BadBody { .. } => panic!("a sound log has no bad body"),
    };
    open(&mut visit);
    assert_eq!(replayed, notified);
    for collection in 0..THREADS {
        let mine = replayed.iter().filter(|record| record.1 == collection).map(|record| record.2);
        assert!(mine.eq(0..GROUPS), "collection {collection} is in its own order");
    }
}

#[test]
fn a_lone_writer_syncs_inline_and_is_notified_in_its_own_thread() {
    let disk = SimDisk::new();
    let log = GroupCommit::threaded(open(&disk).0, &GroupOptions::default()).unwrap();
    for number in 1..=20 {
        let (sender, receiver) = mpsc::channel();
        let done = Box::new(move |outcome| sender.send((outcome, std::thread::current().id())).unwrap());
        log.append(|log| log.append(1, 1, None, vec![1; 40]), Durability::Always, done).unwrap().1.finish();
        let notified = receiver.try_recv().expect("notified before the call returns");
        assert_eq!(notified, (Ok(lsn(number)), std::thread::current().id()));
        assert_eq!(log.durable_lsn(), lsn(number));
    }
}

#[test]
fn a_long_group_is_left_to_the_thread_of_the_log() {
    let log = GroupCommit::threaded(open(&SimDisk::new()).0, &GroupOptions::default()).unwrap();
    let (sender, receiver) = mpsc::channel();
    let done = Box::new(move |outcome| sender.send((outcome, std::thread::current().id())).unwrap());
    log.append(|log| log.append(1, 1, None, vec![1; 1 << 20]), Durability::Always, done).unwrap().1.finish();
    let (outcome, thread) = receiver.recv().unwrap();
    assert_eq!(outcome, Ok(lsn(1)));
    assert_ne!(thread, std::thread::current().id());
}

#[test]
fn writers_that_sync_inline_are_notified_in_the_order_of_their_lsns() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(RealDisk::open(dir.path()).unwrap());
    let (log, _) = Log::open(disk, 1, LogOptions::default(), Lsn::NONE, &mut |_| {}).unwrap();
    let log = Arc::new(GroupCommit::threaded(log, &GroupOptions::default()).unwrap());
    let outcomes = Outcomes::default();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let body = |log: &mut crate::wal::Appender<'_>| log.append(1, 1, None, vec![1; 20]);
                    log.append(body, Durability::Always, note(&outcomes)).unwrap().1.finish();
                }
            });
        }
    });
    log.close().unwrap();
    assert_eq!(*outcomes.lock(), (1..=400).map(lsn).map(Ok).collect::<Vec<_>>());
}

/// Everything that waits is notified of a panic in the writer, on whichever thread it happens, and what comes later is
/// refused.
#[test]
fn a_panic_of_the_writer_fails_everything_that_waits() {
    let disk = SimDisk::new();
    let options = GroupOptions::default();
    let (log, gate) = stuck(&disk, &options);
    let outcomes = Outcomes::default();
    for collection in 0..20 {
        log.append_group(&[(collection, 1, b"x")], Durability::Always, note(&outcomes));
    }
    options.supervisor.plant(PlantedPanic { task: Task::LogWriter, times: 1 });
    gate.wait();
    assert!(matches!(log.sync(), Err(LogError::Poisoned(_))));
    // One thread at a time notifies, and those before the sync come first.
    assert_eq!(outcomes.lock().len(), 20);
    assert!(outcomes.lock().iter().all(|outcome| matches!(outcome, Err(LogError::Poisoned(_)))));
    assert!(matches!(log.fault(), Some(LogError::Poisoned(_))));
    assert!(matches!(append(&log, 1, Durability::Always), Err(LogError::Poisoned(_))));
    assert!(log.close().is_err());
    assert_eq!(options.supervisor.counts()[Task::LogWriter as usize], 1);
    assert_eq!(lsns(&open(&disk).2), [1], "what was acknowledged before is there");
}

#[test]
fn a_panic_of_a_writer_that_writes_by_itself_is_its_error() {
    let options = GroupOptions::default();
    let log = GroupCommit::inline(open(&SimDisk::new()).0, &options);
    append(&log, 1, Durability::Always).unwrap();
    options.supervisor.plant(PlantedPanic { task: Task::LogWriter, times: 1 });
    assert!(matches!(append(&log, 1, Durability::Always), Err(LogError::Poisoned(_))));
    assert!(matches!(append(&log, 2, Durability::Always), Err(LogError::Poisoned(_))));
}
