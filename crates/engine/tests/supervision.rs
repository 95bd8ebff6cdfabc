//! Every background task panics once: it is counted, the thread is back, and collections serve.

mod common;

use kithdb_engine::MemoryLimit;
use kithdb_engine::catalog::{ResidenceState, lock_directory};
use kithdb_engine::collection::{Collection, View};
use kithdb_engine::engine::{Engine, Options, ScrubOptions, Tuning, put_to_sleep};
use kithdb_engine::error::Error;
use kithdb_engine::limits::Limits;
use kithdb_engine::storage::SimDisk;
use kithdb_engine::supervision::{PlantedPanic, Supervisor, Task};
use serde_json::{Value, json};
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(120);

fn options() -> Options {
    let scrub = ScrubOptions { bytes_per_second: 1 << 30, interval: Duration::from_millis(20) };
    Options { search_threads: 2, scrub: Some(scrub), tuning: Tuning::Fixed, ..Options::default() }.eager()
}

fn open(disk: &SimDisk, options: Options) -> Engine {
    Engine::open(Arc::new(disk.clone()), options).expect("it opens")
}

fn call(engine: &Engine, operation: &str, collection: &str, body: &Value) -> Result<Value, Error> {
    let (send, receive) = mpsc::channel();
    let request = common::request(operation, collection, body);
    engine.execute(request, Box::new(move |result| drop(send.send(result))));
    let envelope = receive.recv_timeout(LIMIT).expect("every request is answered")?;
    Ok(serde_json::from_slice::<Value>(&envelope).expect("envelopes are JSON")["result"].clone())
}

fn ok(engine: &Engine, operation: &str, collection: &str, body: &Value) -> Value {
    call(engine, operation, collection, body).unwrap_or_else(|error| panic!("{operation}: {error}"))
}

fn create(engine: &Engine, name: &str) {
    ok(engine, "create_collection", name, &json!({"vectors": {"size": 2, "distance": "Euclid"}}));
}

fn put(engine: &Engine, name: &str, ids: std::ops::Range<u64>) -> Result<Value, Error> {
    let points: Vec<Value> =
        ids.map(|id| json!({"id": id, "vector": [id, 1], "payload": {"k": id}})).collect();
    call(engine, "upsert_points", name, &json!({"points": points}))
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LIMIT, "{what} does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

fn panics(engine: &Engine, task: Task) -> u64 {
    engine.catalog().shared().supervisor.counts()[task as usize]
}

/// Whether no task is marked as one that panicked the last time.
fn is_recovered(engine: &Engine) -> bool {
    let catalog = engine.catalog();
    catalog.shared().supervisor.faults().is_empty()
        && catalog.collections().iter().all(|collection| collection.task_failure().is_none())
}

/// Something of everything that the background does.
fn use_everything(engine: &Engine, task: Task, round: u64) {
    let from = 1000 + round * 40;
    let _ = put(engine, "c", from..from + 40);
    let doomed: Vec<u64> = (from..from + 30).collect();
    let _ = call(engine, "delete_points", "c", &json!({"points": doomed}));
    // Which collection a panic stops must not depend on one that comes and goes.
    if !task.changes_collection() {
        let vectors = json!({"vectors": {"size": 2, "distance": "Dot"}});
        if call(engine, "create_collection", "gone", &vectors).is_ok() {
            let _ = put(engine, "gone", 0..3);
        }
        let _ = call(engine, "delete_collection", "gone", &Value::Null);
    }
    let searches: Vec<Value> = (0..16)
        .map(|k| json!({"vector": [k, 1], "limit": 3, "filter": {"must_not": [{"has_id": [k]}]}}))
        .collect();
    let _ = call(engine, "search_batch", "c", &json!({"searches": searches}));
    let _ = call(engine, "set_payload", "c", &by_filter());
    engine.when_reported(Duration::ZERO, Box::new(|| {}));
}

/// An update of the points that a filter matches.
fn by_filter() -> Value {
    json!({"payload": {"seen": 1}, "filter": {"must": [{"key": "k", "match": {"value": 3}}]}})
}

fn is_stopped(engine: &Engine, name: &str) -> bool {
    let entries = engine.catalog().entries();
    let found = entries.iter().find(|entry| entry.name == name).and_then(|entry| entry.collection());
    found.expect("it is served").fault().is_some()
}

fn cores() -> u32 {
    thread::available_parallelism().map_or(1, |cores| cores.get() as u32)
}

/// The threads of the heavy lane: those that resolve, and the one that applies.
fn lane_threads() -> u32 {
    (cores() / 2).max(1) + 1
}

/// Lets a task panic and asserts what every task must do then.
fn panic_in(task: Task) {
    let disk = SimDisk::new();
    // The threads of one kind all begin with the task of their kind.
    let light = Limits::default().light_filter_work;
    let at_start = match task {
        Task::Index => cores(),
        Task::HeavyLane => lane_threads(),
        Task::Scrub
        | Task::Tuning
        | Task::Deadlines
        | Task::Memory
        | Task::Request
        | Task::Housekeeping
        | Task::Report => 1,
        _ => 0,
    };
    let planted = (at_start > 0).then_some(PlantedPanic { task, times: at_start });
    let tuning = if task == Task::Tuning { Tuning::Measured } else { Tuning::Fixed };
    // Without a limit nothing is measured.
    let memory = if task == Task::Memory { MemoryLimit::Bytes(1 << 40) } else { MemoryLimit::None };
    // Every update by a filter is a heavy one.
    let light = if task == Task::HeavyLane { 0 } else { light };
    let limits = Limits { light_filter_work: light, ..Limits::default() };
    let engine = open(&disk, Options { panics_in: planted, tuning, memory, limits, ..options() });
    create(&engine, "c");
    create(&engine, "other");
    put(&engine, "c", 0..10).expect("it is written");
    if at_start == 0 {
        engine.catalog().shared().supervisor.plant(PlantedPanic { task, times: 1 });
    }
    let mut round = 0;
    until("the panic", || {
        use_everything(&engine, task, round);
        round += 1;
        panics(&engine, task) == u64::from(at_start.max(1))
    });
    let events = engine.catalog().shared().supervisor.events();
    assert!(events.iter().any(|event| event.task == task && event.what.contains("by a test")));
    // A collection that may be half changed takes no writes; everything else is as before.
    let poisoned = engine.catalog().collections().iter().filter(|one| one.fault().is_some()).count();
    let may_poison = task.changes_collection() && at_start == 0;
    assert_eq!(poisoned, usize::from(may_poison), "{}", task.name());
    if !may_poison {
        until("a round without a panic", || {
            use_everything(&engine, task, round);
            round += 1;
            is_recovered(&engine)
        });
        put(&engine, "c", 10..11).expect("writes go on");
        ok(&engine, "create_field_index", "c", &json!({"field_name": "k", "field_schema": "integer"}));
    }
    let passes = engine.scrub_report().passes;
    until("a pass of the scrub", || engine.scrub_report().passes > passes);
    assert_eq!(ok(&engine, "retrieve_points", "c", &json!({"ids": [3]}))[0]["id"], json!(3));
    let free = if may_poison && is_stopped(&engine, "other") { "c" } else { "other" };
    put(&engine, free, 0..1).expect("the other collection takes writes");
    let (send, receive) = mpsc::channel();
    engine.when_reported(
        Duration::ZERO,
        Box::new(move || {
            let _ = send.send(());
        }),
    );
    receive.recv_timeout(LIMIT).expect("the reports go on");
    let report = engine.report();
    assert!(report.panics.contains(&(task, u64::from(at_start.max(1)))), "{:?}", report.panics);
    let restarted = report.restarts.iter().find(|(of, _)| *of == task).expect("each task").1;
    assert!(restarted <= panics(&engine, task), "{restarted}");
    if matches!(task, Task::Scrub | Task::Report | Task::Tuning) {
        assert_eq!(restarted, 1, "its thread was taken up again");
    }
    engine.close();
}

#[test]
fn a_panic_in_any_background_task_is_survived_and_counted() {
    // The log's writer is another matter: see below. The last four are of several processes: see `attachment.rs`.
    let others = [Task::LogWriter, Task::Folder, Task::Accept, Task::Receive, Task::Send];
    let tasks: Vec<Task> = Task::ALL.into_iter().filter(|task| !others.contains(task)).collect();
    for some in tasks.chunks(5) {
        thread::scope(|scope| {
            for &task in some {
                let thread = thread::Builder::new().name(task.name().to_string());
                thread.spawn_scoped(scope, move || panic_in(task)).expect("a thread");
            }
        });
    }
}

#[test]
fn a_panic_at_the_end_of_a_turn_ends_no_thread_of_the_heavy_lane() {
    let limits = Limits { light_filter_work: 0, ..Limits::default() };
    let engine = open(&SimDisk::new(), Options { limits, ..options() });
    create(&engine, "c");
    put(&engine, "c", 0..10).expect("it is written");
    let times = 20;
    let supervisor = &engine.catalog().shared().supervisor;
    // A thread that has not begun would panic before its first turn, and rest longer from panic to panic.
    until("the threads of the lane", || supervisor.reached(Task::HeavyLane) == u64::from(lane_threads()));
    supervisor.plant(PlantedPanic { task: Task::HeavyLane, times });
    for _ in 0..times + 1 {
        ok(&engine, "set_payload", "c", &by_filter());
    }
    until("the panics", || panics(&engine, Task::HeavyLane) == u64::from(times));
    assert_eq!(supervisor.restarts()[Task::HeavyLane as usize], 0);
    engine.close();
}

#[test]
fn a_failed_task_is_shown_in_the_collections_info_until_the_task_has_succeeded() {
    let engine = open(&SimDisk::new(), options());
    create(&engine, "c");
    create(&engine, "other");
    // Three for each collection: it rests for 1, 2 and 4 s.
    engine.catalog().shared().supervisor.plant(PlantedPanic { task: Task::Waiters, times: 6 });
    let info = |name: &str| ok(&engine, "collection_info", name, &Value::Null);
    let said =
        json!({"error": "background work on this collection failed inside the engine and is tried again"});
    until("the failed task", || info("c")["optimizer_status"] == said);
    assert_eq!(info("c")["status"], json!("yellow"));
    assert!(engine.health_issues().iter().any(|issue| issue.kind.name() == "background"));
    until("a success", || info("c")["optimizer_status"] == json!("ok"));
    put(&engine, "c", 0..1).expect("writes go on");
}

/// Waits until the calibration holds the collection, as it does while it measures.
fn until_calibrated(collection: &Weak<Collection>) {
    let mut rounds_in_a_row = 0;
    until("a measurement", || {
        // Beside the catalog's entry. Others hold it for moments only.
        rounds_in_a_row = if collection.strong_count() > 1 { rounds_in_a_row + 1 } else { 0 };
        rounds_in_a_row == 20
    });
}

/// An engine whose calibration takes minutes for a query: its pauses are five thousand times as long as its work. With
/// collections that have graphs.
fn calibrating(names: &[&str]) -> Engine {
    let engine = open(&SimDisk::new(), Options { calibration_share: 1e-4, ..options() });
    for name in names {
        let vectors = json!({"size": 32, "distance": "Euclid"});
        let hnsw = json!({"full_scan_threshold": 10});
        ok(&engine, "create_collection", name, &json!({"vectors": vectors, "hnsw_config": hnsw}));
        let vector = |id: u64| (0..32).map(|at| (id * 31 + at * 7) % 101).collect::<Vec<_>>();
        let points: Vec<Value> = (0..5_000).map(|id| json!({"id": id, "vector": vector(id)})).collect();
        ok(&engine, "upsert_points", name, &json!({"points": points}));
        until("the graph", || ok(&engine, "collection_info", name, &Value::Null)["status"] == json!("green"));
    }
    engine
}

#[test]
fn calibration_stops_when_its_collection_is_deleted_and_keeps_nothing_of_it_c14() {
    let engine = calibrating(&["a", "b"]);
    let kept: Vec<(Weak<Collection>, Weak<View>)> = engine
        .catalog()
        .collections()
        .iter()
        .map(|collection| (Arc::downgrade(collection), Arc::downgrade(&collection.view())))
        .collect();
    until_calibrated(&kept[0].0);
    // First the one that waits for its turn in the round, then the one that is measured.
    for (name, (collection, view)) in ["b", "a"].into_iter().zip(kept.iter().rev()) {
        ok(&engine, "delete_collection", name, &Value::Null);
        until("its memory is free", || collection.strong_count() == 0 && view.strong_count() == 0);
    }
    assert_eq!(panics(&engine, Task::Calibration), 0);
    engine.close();
}

#[test]
fn a_collection_that_is_calibrated_goes_to_sleep_and_is_calibrated_when_it_is_used_again_c14_c24() {
    let engine = calibrating(&["a"]);
    let catalog = engine.catalog();
    let [entry] = &catalog.entries()[..] else { panic!("one collection") };
    let collection = || entry.collection().map(|collection| Arc::downgrade(&collection));
    until_calibrated(&collection().expect("it is awake"));
    until("its sleep", || put_to_sleep(catalog, entry));
    assert_eq!(entry.residence_state(), Some(ResidenceState::Asleep));
    ok(&engine, "retrieve_points", "a", &json!({"ids": [3]}));
    until_calibrated(&collection().expect("it is awake again"));
    engine.close();
}

#[test]
fn without_a_share_of_the_processors_nothing_is_calibrated_c14() {
    let engine = open(&SimDisk::new(), Options { calibration_share: 0.0, ..options() });
    engine.catalog().shared().supervisor.plant(PlantedPanic { task: Task::Calibration, times: 1 });
    create(&engine, "c");
    put(&engine, "c", 0..10).expect("it is written");
    thread::sleep(Duration::from_millis(50));
    assert_eq!(panics(&engine, Task::Calibration), 0, "there is no thread for it");
}

#[test]
fn a_panic_in_the_logs_writer_fails_what_waits_and_a_restart_has_everything_acknowledged() {
    let disk = SimDisk::new();
    let engine = open(&disk, options());
    create(&engine, "c");
    put(&engine, "c", 0..10).expect("it is written");
    engine.catalog().shared().supervisor.plant(PlantedPanic { task: Task::LogWriter, times: 1 });
    thread::scope(|scope| {
        for writer in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                let failed = (0..1_000)
                    .find_map(|n| put(engine, "c", 100 + writer * 10 + n..101 + writer * 10 + n).err());
                assert_eq!(failed.expect("no writer waits for ever").code(), "internal");
            });
        }
    });
    assert_eq!(panics(&engine, Task::LogWriter), 1);
    assert!(
        put(&engine, "c", 50..51).is_err() && call(&engine, "delete_collection", "c", &Value::Null).is_err()
    );
    assert_eq!(ok(&engine, "collection_info", "c", &Value::Null)["status"], json!("red"));
    assert_eq!(ok(&engine, "retrieve_points", "c", &json!({"ids": [9]}))[0]["id"], json!(9));
    assert!(engine.health_issues().iter().any(|issue| issue.kind.name() == "log"));
    engine.close();
    drop(engine);
    let engine = open(&disk, options());
    put(&engine, "c", 50..51).expect("it takes writes again");
    assert_eq!(
        ok(&engine, "retrieve_points", "c", &json!({"ids": [0, 9, 50]})).as_array().map(Vec::len),
        Some(3)
    );
}

#[test]
fn a_close_that_leaves_a_thread_behind_releases_the_directory_when_that_has_ended() {
    let disk = SimDisk::new();
    let engine = open(&disk, Options { tuning: Tuning::Fixed, ..Options::default() });
    create(&engine, "c");
    put(&engine, "c", 0..5).expect("it is written");
    let (release, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    disk.interleave(Some(Arc::new(move |place: &str| {
        if place == "behind the view of a checkpoint" {
            let _ = gate.lock().expect("no panic").recv();
        }
    })));
    engine.close_within(Duration::from_secs(1));
    let reopened = || Engine::open(Arc::new(disk.clone()), options());
    assert!(reopened().is_err(), "the thread may still write");
    // The engine itself stays, as it does in a program that does not collect its garbage.
    drop(release);
    until("the end of the thread", || reopened().is_ok());
    drop(engine);
}

#[test]
fn closing_ends_at_its_time_and_what_is_not_checkpointed_is_in_the_log_c11_3() {
    let disk = SimDisk::new();
    let quiet = Options { search_threads: 2, tuning: Tuning::Fixed, ..Options::default() };
    let engine = open(&disk, quiet);
    for number in 0..40 {
        create(&engine, &format!("c{number}"));
        put(&engine, &format!("c{number}"), 0..number + 1).expect("it is written");
    }
    // Each checkpoint stands still for longer than the close may take.
    let (release, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    disk.interleave(Some(Arc::new(move |place: &str| {
        if place == "behind the view of a checkpoint" {
            let _ = gate.lock().expect("no panic").recv();
        }
    })));
    let started = Instant::now();
    engine.close_within(Duration::from_secs(1));
    assert!(started.elapsed() < LIMIT, "it waits for its checkpoints");
    // What is on the disk when the process ends now.
    let left = disk.duplicate();
    disk.interleave(None);
    drop((engine, release));
    let engine = open(&left, quiet);
    for number in 0..40u64 {
        assert_eq!(ok(&engine, "count", &format!("c{number}"), &json!({})), json!({"count": number + 1}));
    }
}

/// A thread that went on without the lock of the directory would work on the files of the next engine.
#[test]
fn an_engine_that_does_not_get_a_thread_ends_those_that_it_has_before_the_directory_is_free() {
    let disk = SimDisk::new();
    let engine = open(&disk, options());
    create(&engine, "c");
    put(&engine, "c", 0..10).expect("it is written");
    drop(engine);
    let refused = [
        "kith-scrub",
        "kith-index-0",
        "kith-checkpoint",
        "kith-deadline",
        "kith-memory",
        "kith-catalog-0",
        "kith-recall",
        "kith-report",
    ];
    for name in refused {
        let storage: Arc<SimDisk> = Arc::new(disk.clone());
        let supervisor = Arc::<Supervisor>::default();
        let memory = MemoryLimit::Bytes(1 << 40);
        let options = Options { refuses_thread: Some(name), memory, calibration_share: 0.01, ..options() };
        let lock = lock_directory(&*storage).expect("it is free");
        let opened = Engine::open_held(storage, lock, options, &supervisor);
        assert!(opened.is_err(), "{name} is a thread of an engine");
        // Each thread has a share of it.
        until(name, || Arc::strong_count(&supervisor) == 1);
        let engine = open(&disk, self::options());
        assert_eq!(ok(&engine, "count", "c", &json!({})), json!({"count": 10}), "{name}");
    }
}
