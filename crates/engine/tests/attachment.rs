//! Panics in the threads between the processes of a folder: each is counted, its connection ends or its thread is taken up
//! again, and calls are answered as if nothing had happened.
#![cfg(unix)]

use kithdb_engine::attach::SharedFolder;
use kithdb_engine::engine::{Engine, Operation, Options, Request, Tuning};
use kithdb_engine::error::Error;
use kithdb_engine::supervision::{PlantedPanic, Supervisor, Task};
use kithdb_engine::{Membership, OpenEngine, Purpose};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(60);

/// A process of a folder, and the supervisor of its threads.
struct Process {
    folder: SharedFolder,
    supervisor: Arc<Supervisor>,
}

impl Process {
    /// Opens the folder. The threads of it panic as `planted` says.
    fn open(path: &Path, planted: &[PlantedPanic]) -> Process {
        let supervisor = Arc::<Supervisor>::default();
        planted.iter().for_each(|one| supervisor.plant(*one));
        let options = Options { search_threads: 1, tuning: Tuning::Fixed, ..Options::default() };
        let open: OpenEngine =
            Box::new(move |storage, lock, supervisor| Engine::open_held(storage, lock, options, supervisor));
        let membership =
            Membership { purpose: Purpose::Embedded, exclusive: false, read_only: false, timeout: LIMIT };
        let folder = SharedFolder::open_watched(path, membership, open, Arc::clone(&supervisor));
        Process { folder: folder.expect("the folder opens"), supervisor }
    }

    fn call(&self, operation: &str, body: &Value) -> Result<Value, Error> {
        let operation = Operation::parse(operation).expect("a known operation");
        let (send, receive) = mpsc::channel();
        let request = Request::new(operation, "c", body.to_string().into_bytes());
        self.folder.execute(request, Box::new(move |result| drop(send.send(result))));
        let envelope = receive.recv_timeout(LIMIT).expect("every call is answered")?;
        Ok(serde_json::from_slice::<Value>(&envelope).expect("envelopes are JSON")["result"].clone())
    }

    fn ok(&self, operation: &str, body: &Value) -> Value {
        self.call(operation, body).unwrap_or_else(|error| panic!("{operation}: {error}"))
    }

    fn panics(&self, task: Task) -> u64 {
        self.supervisor.counts()[task as usize]
    }
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
    assert!(attached.folder.role().starts_with("attached"), "{}", attached.folder.role());
    attached.ok("create_collection", &json!({"vectors": {"size": 1, "distance": "Dot"}}));
    (owner, attached)
}

fn upsert(process: &Process, id: u64) {
    process.ok("upsert_points", &json!({"points": [{"id": id, "vector": [1]}]}));
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
