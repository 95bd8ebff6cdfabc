//! Processes of a folder: what each of them does where a thread of it panics, where the owner ends, and where the folder is
//! reached by another path or was copied. A panic is counted, and calls are answered as if nothing had happened.
#![cfg(unix)]

use kithdb_engine::attach::SharedFolder;
use kithdb_engine::catalog::lock_directory;
use kithdb_engine::engine::{Engine, Operation, Options, Request, Tuning};
use kithdb_engine::error::Error;
use kithdb_engine::storage::RealDisk;
use kithdb_engine::supervision::{PlantedPanic, Supervisor, Task};
use kithdb_engine::{CallIdentity, Limits, Membership, OpenEngine, OpenError, OperationId, Purpose};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(60);

/// A process of a folder, and the supervisor of its threads.
struct Process {
    folder: SharedFolder,
    supervisor: Arc<Supervisor>,
}

fn options() -> Options {
    Options { search_threads: 1, tuning: Tuning::Fixed, ..Options::default() }
}

/// Opens an engine, after so many failures.
fn opening(options: Options, failures: usize) -> OpenEngine {
    let left = AtomicUsize::new(failures);
    Box::new(move |storage, lock, supervisor| {
        let fails = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if fails.is_ok() {
            return Err(OpenError::Threads(std::io::Error::other("a test refuses it")));
        }
        Engine::open_held(storage, lock, options, supervisor)
    })
}

impl Process {
    /// Opens the folder. The threads of it panic as `planted` says.
    fn open(path: &Path, planted: &[PlantedPanic]) -> Process {
        let supervisor = Arc::<Supervisor>::default();
        planted.iter().for_each(|one| supervisor.plant(*one));
        Process::open_by(path, opening(options(), 0), supervisor)
    }

    fn open_by(path: &Path, open: OpenEngine, supervisor: Arc<Supervisor>) -> Process {
        let membership =
            Membership { purpose: Purpose::Embedded, exclusive: false, read_only: false, timeout: LIMIT };
        let folder = SharedFolder::open_watched(path, membership, open, Arc::clone(&supervisor));
        Process { folder: folder.expect("the folder opens"), supervisor }
    }

    fn execute(&self, request: Request) -> Result<Value, Error> {
        let (send, receive) = mpsc::channel();
        self.folder.execute(request, Box::new(move |result| drop(send.send(result))));
        let envelope = receive.recv_timeout(LIMIT).expect("every call is answered")?;
        Ok(result(&envelope))
    }

    fn ok(&self, operation: &str, body: &Value) -> Value {
        self.execute(request(operation, body)).unwrap_or_else(|error| panic!("{operation}: {error}"))
    }

    fn panics(&self, task: Task) -> u64 {
        self.supervisor.counts()[task as usize]
    }

    fn is_attached(&self) -> bool {
        self.folder.role().starts_with("attached")
    }
}

fn request(operation: &str, body: &Value) -> Request {
    let operation = Operation::parse(operation).expect("a known operation");
    Request::new(operation, "c", body.to_string().into_bytes())
}

fn result(envelope: &[u8]) -> Value {
    serde_json::from_slice::<Value>(envelope).expect("envelopes are JSON")["result"].clone()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LIMIT, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn once(task: Task) -> PlantedPanic {
    PlantedPanic { task, times: 1 }
}

/// An owner of the folder and a process that is attached to it, whose threads panic as soon as they begin.
fn pair(path: &Path, of_owner: &[PlantedPanic], of_attached: &[PlantedPanic]) -> (Process, Process) {
    let owner = Process::open(path, of_owner);
    assert_eq!(owner.folder.role(), "owner");
    let attached = Process::open(path, of_attached);
    assert!(attached.is_attached(), "{}", attached.folder.role());
    create(&attached);
    (owner, attached)
}

fn create(process: &Process) {
    process.ok("create_collection", &json!({"vectors": {"size": 1, "distance": "Dot"}}));
}

fn point(id: u64) -> Value {
    json!({"points": [{"id": id, "vector": [1]}]})
}

fn upsert(process: &Process, id: u64) {
    process.ok("upsert_points", &point(id));
}

fn count(process: &Process) -> Value {
    process.ok("count", &json!({}))["count"].clone()
}

#[test]
fn a_panic_while_a_connection_begins_ends_it_and_the_next_one_serves_c18() {
    let (send, accept) = (once(Task::Send), once(Task::Accept));
    let cases: [(&[PlantedPanic], &[PlantedPanic]); 3] = [(&[], &[send]), (&[send], &[]), (&[accept], &[])];
    for (of_owner, of_attached) in cases {
        let dir = tempfile::tempdir().expect("a folder");
        let (owner, attached) = pair(dir.path(), of_owner, of_attached);
        // The thread of a connection may begin long after the first frames were sent.
        for (process, planted) in [(&owner, of_owner), (&attached, of_attached)] {
            let counted = || process.supervisor.counts().iter().sum::<u64>();
            until("the panic", || counted() == planted.len() as u64);
        }
        upsert(&attached, 1);
        assert_eq!(owner.ok("count", &json!({})), json!({"count": 1}));
    }
}

#[test]
fn a_panic_of_a_thread_that_receives_loses_no_call_c18() {
    let dir = tempfile::tempdir().expect("a folder");
    let (owner, attached) = pair(dir.path(), &[], &[]);
    for (round, process) in (1..).zip([&attached, &owner, &attached]) {
        let before = process.panics(Task::Receive);
        process.supervisor.plant(once(Task::Receive));
        upsert(&attached, round);
        assert_eq!(attached.ok("count", &json!({})), json!({"count": round}));
        assert_eq!(process.panics(Task::Receive), before + 1);
    }
    let events = attached.supervisor.events();
    assert!(events.iter().all(|event| event.task == Task::Receive && event.what.contains("by a test")));
}

#[test]
fn the_threads_that_follow_owners_and_give_up_calls_are_taken_up_again_after_a_panic_c18() {
    let dir = tempfile::tempdir().expect("a folder");
    let both = PlantedPanic { task: Task::Folder, times: 2 };
    let (owner, attached) = pair(dir.path(), &[both], &[both]);
    upsert(&attached, 1);
    until("the next run of both", || attached.supervisor.restarts()[Task::Folder as usize] == 2);
    drop(owner);
    assert_eq!(attached.ok("count", &json!({})), json!({"count": 1}));
    assert_eq!(attached.folder.role(), "owner");
    assert_eq!(attached.panics(Task::Folder), 2);
    until("a success", || attached.supervisor.faults().is_empty());
}

#[test]
fn a_copy_of_a_folder_with_a_long_path_is_another_folder_c18() {
    let dir = tempfile::tempdir().expect("a folder");
    let (folder, copy) = (dir.path().join("x".repeat(120)), dir.path().join("y".repeat(120)));
    let owner = Process::open(&folder, &[]);
    create(&owner);
    fs::create_dir(&copy).expect("a folder");
    fs::copy(folder.join("attach"), copy.join("attach")).expect("a copy");
    let other = Process::open(&copy, &[]);
    assert_eq!(other.folder.role(), "owner");
    create(&other);
    upsert(&other, 1);
    assert_eq!((count(&owner), count(&other)), (json!(0), json!(1)));
}

#[test]
fn a_folder_is_attached_to_by_a_short_path_and_by_a_long_one_c18() {
    let dir = tempfile::tempdir().expect("a folder");
    let long = "x".repeat(120);
    for (folder, link) in [(&*long, "link"), ("folder", &*"l".repeat(120))] {
        let (folder, link) = (dir.path().join(folder), dir.path().join(link));
        fs::create_dir(&folder).expect("a folder");
        symlink(&folder, &link).expect("a link");
        for (first, second) in [(&link, &folder), (&folder, &link)] {
            let owner = Process::open(first, &[]);
            let other = Process::open(second, &[]);
            assert_eq!(owner.folder.role(), "owner");
            assert!(other.is_attached(), "{}", other.folder.role());
        }
    }
}

#[test]
fn an_owner_that_could_not_listen_tries_again_c18() {
    let dir = tempfile::tempdir().expect("a folder");
    let socket = dir.path().join("attach.sock");
    fs::create_dir(&socket).expect("a folder in its place");
    let owner = Process::open(dir.path(), &[]);
    create(&owner);
    assert!(!dir.path().join("attach").exists());
    fs::remove_dir(&socket).expect("its place is free");
    until("the address", || dir.path().join("attach").exists());
    let other = Process::open(dir.path(), &[]);
    assert!(other.is_attached(), "{}", other.folder.role());
    upsert(&other, 1);
    assert_eq!(count(&owner), json!(1));
    drop(owner);
    assert_eq!(count(&other), json!(1));
}

#[test]
fn a_name_that_fits_no_frame_fails_alike_in_all_processes_and_other_calls_are_answered_c18() {
    let dir = tempfile::tempdir().expect("a folder");
    let (owner, attached) = pair(dir.path(), &[], &[]);
    let long = "x".repeat((64 << 10) + 1);
    let why = Error::bad("a name of 65537 bytes, where 65536 are the most");
    for process in [&owner, &attached] {
        let of_collection = Request { collection: long.clone(), ..request("count", &json!({})) };
        let of_target = Request { target: Some(long.clone()), ..request("get_point", &json!({})) };
        for request in [of_collection, of_target] {
            assert_eq!(process.execute(request), Err(why.clone()));
        }
        assert_eq!(count(process), json!(0));
    }
    let longest = Request { collection: "x".repeat(64 << 10), ..request("count", &json!({})) };
    assert_eq!(attached.execute(longest).map_err(|error| error.code()), Err("collection_not_found"));
}

#[test]
fn the_last_point_of_an_answer_counts_in_all_processes_c2_7() {
    let dir = tempfile::tempdir().expect("a folder");
    let limits = Limits { max_answer_bytes: 1000, ..Limits::default() };
    let open = || opening(Options { limits, ..options() }, 0);
    let owner = Process::open_by(dir.path(), open(), Arc::default());
    let attached = Process::open_by(dir.path(), open(), Arc::default());
    create(&owner);
    let payload = json!({"text": "x".repeat(800)});
    let points: Vec<Value> = (1..=2).map(|id| json!({"id": id, "vector": [1], "payload": payload})).collect();
    owner.ok("upsert_points", &json!({"points": points}));
    for process in [&owner, &attached] {
        let retrieve = |ids: &[u64]| {
            let found = process.execute(request("retrieve_points", &json!({"ids": ids})));
            found.map(|found| found.as_array().map(Vec::len)).map_err(|error| error.code())
        };
        assert_eq!(retrieve(&[1]), Ok(Some(1)));
        assert_eq!(retrieve(&[1, 2]), Err("bad_request"));
    }
}

/// The next frame that comes, without its length; none where the connection is over.
fn read_frame(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut frame = vec![0; u32::from_le_bytes(length) as usize];
    stream.read_exact(&mut frame).ok()?;
    Some(frame)
}

/// Greets all that connect until one sends a call: its connection, and the call.
fn first_call(listener: &UnixListener) -> (UnixStream, Vec<u8>) {
    loop {
        let (mut stream, _) = listener.accept().expect("a connection");
        let Some(hello) = read_frame(&mut stream) else { continue };
        // The greeting is as the hello, and has the position of the log.
        let welcome = [&[26, 0, 0, 0, 11][..], &hello[1..], &[0; 8]].concat();
        // Where the greeting comes late, the other end has given up, and connects again.
        if stream.write_all(&welcome).is_ok()
            && let Some(call) = read_frame(&mut stream)
        {
            return (stream, call);
        }
    }
}

/// The operation id of a call, which is a write with nothing else before its names.
fn operation_id(call: &[u8]) -> OperationId {
    let flags = u16::from_le_bytes([call[10], call[11]]);
    assert_eq!((call[0], flags & 0b1_1100), (2, 0b100), "kind, and what the flags announce");
    OperationId::new(u128::from_le_bytes(call[20..36].try_into().expect("16 bytes")))
}

/// An owner of the folder, which has a collection, that applies the upsert of `body` and is killed before it answers.
fn killed_before_its_answer(path: &Path, body: Value) -> JoinHandle<Value> {
    create(&Process::open(path, &[]));
    // While it has the lock, nobody else becomes the owner.
    let disk = RealDisk::open(path).expect("a folder");
    let mut lock = None;
    until("the lock", || {
        lock = lock_directory(&disk).ok();
        lock.is_some()
    });
    let lock = lock.expect("it has come");
    let listener = UnixListener::bind(path.join("attach.sock")).expect("a socket");
    let address = format!("kithdb attach 1\n{}\nattach.sock\n", std::process::id());
    fs::write(path.join("attach"), address).expect("a file");
    let path = path.to_path_buf();
    std::thread::spawn(move || {
        // The connection ends when the lock is released.
        let (_stream, call) = first_call(&listener);
        fs::remove_file(path.join("attach")).expect("a file");
        let engine = Engine::open_held(Arc::new(disk), lock, options(), &Arc::default()).expect("it opens");
        let identity = Some(CallIdentity { id: operation_id(&call), first_sent: None });
        let (send, receive) = mpsc::channel();
        let request = Request { identity, ..request("upsert_points", &body) };
        engine.execute(request, Box::new(move |result| drop(send.send(result))));
        let envelope = receive.recv_timeout(LIMIT).expect("an answer").expect("it is applied");
        engine.close();
        result(&envelope)
    })
}

#[test]
fn a_write_that_was_sent_waits_for_a_process_that_can_open_the_folder_c1_7() {
    let dir = tempfile::tempdir().expect("a folder");
    let killed = killed_before_its_answer(dir.path(), point(1));
    let process = Process::open_by(dir.path(), opening(options(), 1), Arc::default());
    assert!(process.is_attached(), "{}", process.folder.role());
    let answer = process.ok("upsert_points", &point(1));
    assert_eq!(answer, killed.join().expect("it is applied"), "it is applied once");
    assert_eq!((process.folder.role(), count(&process)), ("owner".to_string(), json!(1)));
}

#[test]
fn the_outcome_of_a_write_that_was_sent_is_unknown_where_nobody_can_open_the_folder_c1_7() {
    let dir = tempfile::tempdir().expect("a folder");
    let killed = killed_before_its_answer(dir.path(), point(1));
    let process = Process::open_by(dir.path(), opening(options(), usize::MAX), Arc::default());
    let upsert = Request { timeout: Some(Duration::from_secs(2)), ..request("upsert_points", &point(1)) };
    assert_eq!(process.execute(upsert), Err(Error::OutcomeUnknown));
    killed.join().expect("it is applied");
    let refused = process.execute(request("count", &json!({})));
    assert_eq!(refused.map_err(|error| error.code()), Err("internal"));
}
