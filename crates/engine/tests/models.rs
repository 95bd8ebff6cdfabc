//! What several threads do to a log and a collection at once, under a scheduler that tries orders: the engine's own
//! code, with shuttle's locks, atomics and threads in it.
//!
//! ```text
//! cargo test -p kithdb-engine --features shuttle --test models
//! ```
//!
//! `KITHDB_SCHEDULES` sets how many orders each model tries (1,000, and `npm run test:long` many more; less where one
//! takes long).

use kithdb_engine::api;
use kithdb_engine::collection::{Collection, IndexQueue, Shared, View, Write, WriteCall, WriteRequest};
use kithdb_engine::config::CollectionConfig;
use kithdb_engine::deadline::Deadline;
use kithdb_engine::error::Error;
use kithdb_engine::field::IndexScratch;
use kithdb_engine::limits::{Limits, Thresholds};
use kithdb_engine::memory::{Memory, MemoryLimit};
use kithdb_engine::scheduling::run_queue::{Parker, RunQueue};
use kithdb_engine::storage::{Fault, Reserve, SimDisk};
use kithdb_engine::types::{Lsn, OpNumber, PointId};
use kithdb_engine::wal::{
    Appender, Durability, GroupCommit, GroupOptions, Log, LogError, LogOptions, Replayed,
};
use shuttle::scheduler::RandomScheduler;
use shuttle::sync::mpsc;
use shuttle::{Config, Runner, thread};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Orders of a normal run.
const SCHEDULES: u64 = 1_000;

/// Tries random orders, `share` times less of them where one takes long. The model gets the number of the try.
fn try_orders(share: u64, model: impl Fn(u64) + Send + Sync + 'static) {
    let schedules =
        std::env::var("KITHDB_SCHEDULES").map_or(SCHEDULES, |text| text.parse().expect("a number"));
    let tried = AtomicU64::new(0);
    let run = move || model(tried.fetch_add(1, Ordering::Relaxed));
    let scheduler = RandomScheduler::new((schedules / share).max(1) as usize);
    let mut config = Config::new();
    // The engine's frames are those of a thread, not of a coroutine.
    config.stack_size = 2 << 20;
    Runner::new(scheduler, config).run(run);
}

/// A log on a disk, and the collections and first bytes of its records in their order.
fn open_log(disk: &SimDisk) -> (Log, Vec<(Lsn, Vec<u8>)>) {
    let mut seen = Vec::new();
    let mut visit = |item: Replayed<'_>| match item {
        Replayed::Record { lsn, body, .. } => seen.push((lsn, body.to_vec())),
        Replayed::BadBody { lsn, .. } => panic!("record {lsn} is damaged"),
    };
    let options = LogOptions { segment_bytes: 600, entropy: Some(1), ..LogOptions::default() };
    let (log, _) = Log::open(Arc::new(disk.clone()), 1, options, Lsn::NONE, &mut visit).expect("it opens");
    (log, seen)
}

fn threaded(disk: &SimDisk) -> GroupCommit {
    GroupCommit::threaded(open_log(disk).0, &GroupOptions::default()).expect("a thread")
}

/// What the writers of a log were notified of: name of the group, and the LSN of its last record.
type Outcomes = Arc<Mutex<Vec<(String, Result<Lsn, LogError>)>>>;

/// Appends a group of two records and is notified of its end. A writer's second group is written in its own thread when
/// no other thread is writing.
fn append(log: &GroupCommit, outcomes: &Outcomes, collection: u64, name: &str) {
    let outcomes = Arc::clone(outcomes);
    let group = name.to_string();
    let durability = [Durability::Always, Durability::Os][(collection % 2) as usize];
    let body = name.as_bytes();
    let done = move |result| outcomes.lock().expect("no thread panics").push((group, result));
    if name.ends_with("second") {
        let twice = |log: &mut Appender<'_>| {
            (0..2).try_for_each(|_| log.append(collection, 1, None, body.into()).map(drop))
        };
        // The completion is called with a refusal too.
        if let Ok(((), pending)) = log.append(twice, durability, Box::new(done)) {
            pending.finish();
        }
    } else {
        log.append_group(&[(collection, 1, body), (collection, 1, body)], durability, Box::new(done));
    }
}

/// Appends six groups from three threads, two from each, and waits for the threads.
fn append_from_three_threads(log: &Arc<GroupCommit>, outcomes: &Outcomes) {
    let writers: Vec<_> = (1..=3)
        .map(|collection| {
            let (log, outcomes) = (Arc::clone(log), Arc::clone(outcomes));
            thread::spawn(move || {
                append(&log, &outcomes, collection, &format!("{collection} first"));
                append(&log, &outcomes, collection, &format!("{collection} second"));
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
}

/// Every group was notified of once, is whole where it succeeded, and absent where it failed.
fn is_as_notified(disk: &SimDisk, outcomes: &Outcomes, groups: usize) {
    let outcomes = outcomes.lock().expect("no thread panics");
    assert_eq!(outcomes.len(), groups, "every writer is notified once: {outcomes:?}");
    let (_, seen) = open_log(disk);
    for (name, result) in &*outcomes {
        let places: Vec<Lsn> =
            seen.iter().filter(|(_, body)| body == name.as_bytes()).map(|(lsn, _)| *lsn).collect();
        match result {
            Ok(last) => assert_eq!(places, [last.previous(), *last], "{name} is whole where it succeeded"),
            Err(LogError::Poisoned(_)) => assert!(places.is_empty() || places.len() == 2, "{name} is torn"),
            Err(error) => assert_eq!(places, [], "{name} failed with {error}, and is there"),
        }
    }
}

#[test]
fn writers_that_share_a_sync_are_notified_of_what_is_true() {
    try_orders(1, |_| {
        let disk = SimDisk::new();
        let (log, outcomes) = (Arc::new(threaded(&disk)), Outcomes::default());
        append_from_three_threads(&log, &outcomes);
        log.close().expect("the last sync succeeds");
        disk.power_cut(1);
        is_as_notified(&disk, &outcomes, 6);
        assert!(outcomes.lock().expect("no thread panics").iter().all(|(_, result)| result.is_ok()));
    });
}

#[test]
fn a_failure_reaches_every_writer_that_was_built_on_it() {
    try_orders(1, |number| {
        let disk = SimDisk::new();
        let (log, outcomes) = (Arc::new(threaded(&disk)), Outcomes::default());
        let faults = [Fault::Enospc, Fault::ShortWrite, Fault::FsyncFails, Fault::Eio];
        disk.fail_nth(1 + number / 4 % 9, faults[(number % 4) as usize]);
        append_from_three_threads(&log, &outcomes);
        let _ = log.close();
        disk.kill();
        is_as_notified(&disk, &outcomes, 6);
    });
}

#[test]
fn a_log_that_closes_answers_every_writer() {
    try_orders(1, |_| {
        let disk = SimDisk::new();
        let (log, outcomes) = (Arc::new(threaded(&disk)), Outcomes::default());
        let writers: Vec<_> = (1..=2)
            .map(|collection| {
                let (log, outcomes) = (Arc::clone(&log), Arc::clone(&outcomes));
                thread::spawn(move || {
                    for name in ["first", "second", "third"] {
                        append(&log, &outcomes, collection, &format!("{collection} {name}"));
                    }
                })
            })
            .collect();
        let closers: Vec<_> = (0..2)
            .map(|_| {
                let log = Arc::clone(&log);
                thread::spawn(move || log.close().expect("the last sync succeeds"))
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        closers.into_iter().for_each(|closer| closer.join().expect("no panic"));
        disk.power_cut(1);
        is_as_notified(&disk, &outcomes, 6);
        let outcomes = outcomes.lock().expect("no thread panics");
        assert!(
            outcomes.iter().all(|(_, result)| matches!(result, Ok(_) | Err(LogError::Closed))),
            "{outcomes:?}"
        );
    });
}

/// A collection of one vector field over a log with a thread.
struct Server {
    disk: SimDisk,
    shared: Arc<Shared>,
    collection: Arc<Collection>,
    size: usize,
}

impl Server {
    fn new(size: usize, row_chunk_bytes: usize) -> Arc<Server> {
        let disk = SimDisk::new();
        let shared = Arc::new(Shared {
            storage: Arc::new(disk.clone()),
            log: threaded(&disk),
            indexer: IndexQueue::default(),
            limits: Limits::default(),
            thresholds: Thresholds { row_chunk_bytes, vacuum_rows: 4, ..Thresholds::default() },
            memory: Arc::new(Memory::of(MemoryLimit::None)),
            reserve: Arc::new(Reserve::open(Arc::new(disk.clone()))),
            unsaved_work: Arc::default(),
            waiting_writes: Arc::default(),
            clock: Default::default(),
            expired_points: Default::default(),
            checkpoints: Default::default(),
            wakes: Default::default(),
            supervisor: Arc::default(),
            is_replica: false,
        });
        let body = format!(
            r#"{{"vectors":{{"size":{size},"distance":"Euclid"}},"hnsw_config":{{"m":4,"ef_construct":8,"full_scan_threshold":10}}}}"#
        );
        let config = CollectionConfig::restore(
            &api::create_collection(body.as_bytes(), &Limits::default()).expect("a configuration").to_json(),
        );
        let config = Arc::new(config.expect("a configuration"));
        let collection = Arc::new(Collection::create(1, Arc::clone(&shared), config, Lsn::FIRST));
        Arc::new(Server { disk, shared, collection, size })
    }

    /// Upserts points that all carry a number, in one request.
    fn upsert(&self, ids: std::ops::Range<u64>, number: u64) -> Result<OpNumber, Error> {
        let rest = ",0".repeat(self.size - 2);
        let points: Vec<String> = ids
            .map(|id| {
                format!(r#"{{"id":{id},"vector":[{number},{id}{rest}],"payload":{{"number":{number}}}}}"#)
            })
            .collect();
        let body = format!(r#"{{"points":[{}]}}"#, points.join(","));
        let update = api::upsert(body.as_bytes(), &Limits::default()).expect("an update");
        let (send, receive) = mpsc::channel();
        let write = Write::Points { updates: vec![update], batch: None, within: None };
        let deadline = Deadline::new(Instant::now(), Duration::from_secs(3600), "Upsert");
        let call = WriteCall::plain(deadline, body.len(), Box::new(move |result| drop(send.send(result))));
        if let Some(leader) = self.collection.enqueue(WriteRequest { write, call }) {
            leader.run();
        }
        receive.recv().expect("every writer is answered").map(|done| done.operation_id)
    }

    fn close(&self) {
        self.shared.indexer.close();
        let _ = self.shared.log.close();
    }
}

/// The number that a point of a view carries; its vector and its payload agree.
fn number(view: &View, id: u64) -> Option<u64> {
    let (_, point) = view.state.point(&PointId::Num(id))?;
    let row = point.row(0).expect("a vector");
    let table = &view.fields[0];
    assert!(table.alive(row, view.op), "the row of point {id} is dead in its own view");
    let mut vector = Vec::new();
    table.vector(row, &mut vector);
    assert_eq!(vector[1], id as f32, "another point's vector");
    let payload = format!(r#"{{"number":{}}}"#, vector[0]);
    assert_eq!(String::from_utf8_lossy(point.document()), payload, "half an update");
    Some(vector[0] as u64)
}

#[test]
fn readers_see_whole_requests_in_their_order_and_writers_their_own() {
    try_orders(4, |tried| {
        let server = Server::new(2, 1 << 10);
        if tried % 3 == 0 {
            server.disk.fail_nth(3 + tried / 3 % 6, Fault::Enospc);
        }
        let refused = Arc::new(Mutex::new(BTreeSet::new()));
        let writers: Vec<_> = (0..2u64)
            .map(|writer| {
                let (server, refused) = (Arc::clone(&server), Arc::clone(&refused));
                thread::spawn(move || {
                    for round in 1..=3 {
                        let value = writer * 10 + round;
                        match server.upsert(writer * 5..writer * 5 + 3, value) {
                            Ok(op) => {
                                let view = server.collection.view();
                                assert!(view.op >= op, "a write was answered before it is visible");
                                assert_eq!(number(&view, writer * 5), Some(value));
                            }
                            Err(_) => drop(refused.lock().expect("no thread panics").insert(value)),
                        }
                    }
                })
            })
            .collect();
        let reader = {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                let (mut op, mut seen) = (OpNumber::NONE, BTreeSet::new());
                for _ in 0..6 {
                    let view = server.collection.view();
                    assert!(view.op >= op, "a later view is older");
                    op = view.op;
                    for writer in 0..2 {
                        let numbers: BTreeSet<_> = (0..3).map(|at| number(&view, writer * 5 + at)).collect();
                        assert_eq!(numbers.len(), 1, "half a request");
                        seen.extend(numbers.into_iter().flatten());
                    }
                    thread::yield_now();
                }
                seen
            })
        };
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        let seen = reader.join().expect("no panic");
        let refused = refused.lock().expect("no thread panics");
        assert!(seen.is_disjoint(&refused), "a refused write was seen");
        server.close();
    });
}

/// A record is in the log before any view has it. A cut in between must not treat the collection as one without
/// records.
#[test]
fn the_log_is_not_cut_under_a_write_that_no_view_has_yet() {
    try_orders(4, |_| {
        let server = Server::new(2, 1 << 10);
        let keeper = {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                for _ in 0..4 {
                    // As the catalog does it for all collections.
                    let log = &server.shared.log;
                    let bound = log.next_lsn();
                    let pinned = server.collection.pinned_lsn().unwrap_or(bound);
                    log.rotate().expect("a sound disk");
                    log.cut(bound.min(pinned)).expect("a sound disk");
                    thread::yield_now();
                }
            })
        };
        for number in 1..4 {
            server.upsert(0..2, number).expect("a write");
        }
        keeper.join().expect("no panic");
        server.close();
        server.disk.kill();
        let (_, seen) = open_log(&server.disk);
        assert_eq!(seen.len(), 3, "no checkpoint has any of it");
    });
}

#[test]
fn every_row_is_in_the_graph_or_in_the_tail_while_indexers_take_it_in() {
    try_orders(40, |_| {
        let server = Server::new(20, 4 << 20);
        server.upsert(0..150, 1).expect("a write");
        let indexers: Vec<_> = (0..2)
            .map(|_| {
                let server = Arc::clone(&server);
                thread::spawn(move || {
                    let mut scratch = IndexScratch::default();
                    while let Some(collection) = server.shared.indexer.pop() {
                        let Some(permit) = collection.start_indexing() else { continue };
                        if collection.index_some(&mut scratch) {
                            server.shared.indexer.push(&collection);
                        }
                        drop(permit);
                    }
                })
            })
            .collect();
        server.shared.indexer.push(&server.collection);
        let writer = {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                for number in 2..5 {
                    server.upsert(10..30, number).expect("a write");
                }
            })
        };
        for _ in 0..8 {
            let snapshot = server.collection.snapshot();
            for id in 0..150 {
                assert!(number(&snapshot.view, id).is_some(), "point {id} is gone");
                let (_, point) = snapshot.view.state.point(&PointId::Num(id)).expect("it is there");
                let row = point.row(0).expect("a vector");
                if let Some((graph, indexed)) = &snapshot.graphs[0]
                    && row < *indexed
                {
                    assert!(graph.node_of(row).is_some(), "{row:?} is neither in the graph nor in the tail");
                }
            }
            thread::yield_now();
        }
        writer.join().expect("no panic");
        server.close();
        indexers.into_iter().for_each(|indexer| indexer.join().expect("no panic"));
    });
}

#[test]
fn readers_are_correct_while_rows_are_moved_and_chunks_dropped() {
    try_orders(20, |_| {
        // Sixteen rows a chunk.
        let server = Server::new(2, 1 << 10);
        server.upsert(0..40, 1).expect("a write");
        server.upsert(2..14, 2).expect("a write");
        let vacuum = {
            let server = Arc::clone(&server);
            thread::spawn(move || while server.collection.vacuum_rows() {})
        };
        let writer = {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                for number in 3..6 {
                    server.upsert(number * 4..number * 4 + 12, number).expect("a write");
                }
            })
        };
        for _ in 0..6 {
            let view = server.collection.view();
            thread::yield_now();
            // The view is read after the rows of it have been moved and their chunks dropped.
            assert!((0..40).all(|id| number(&view, id).is_some()), "a point is gone");
        }
        vacuum.join().expect("no panic");
        writer.join().expect("no panic");
        while server.collection.vacuum_rows() {}
        let view = server.collection.view();
        assert!((0..40).all(|id| number(&view, id).is_some()), "a point is gone");
        server.close();
    });
}

#[test]
fn heavy_reads_take_turns_and_none_waits_for_ever() {
    try_orders(1, |number| {
        let permits = 1 + number as usize % 2;
        let run_queue = Arc::new(RunQueue::default());
        let running = Arc::new(AtomicU64::new(0));
        let work = |reader: u64| {
            let (run_queue, running) = (Arc::clone(&run_queue), Arc::clone(&running));
            thread::spawn(move || {
                let parker = Arc::new(Parker::default());
                let (permits, going_on) = (move || permits, || false);
                assert!(run_queue.enter(&parker, Duration::ZERO, &permits, &going_on));
                for turn in 0..3 {
                    let others = running.fetch_add(1, Ordering::Relaxed);
                    assert!(others < permits() as u64, "more run than may");
                    thread::yield_now();
                    running.fetch_sub(1, Ordering::Relaxed);
                    let attained = Duration::from_millis(reader * turn);
                    assert!(run_queue.pause(&parker, attained, &permits, &going_on));
                }
                run_queue.leave(permits());
            })
        };
        let readers: Vec<_> = (1..4).map(work).collect();
        readers.into_iter().for_each(|reader| reader.join().expect("no panic"));
    });
}
