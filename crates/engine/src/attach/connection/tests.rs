//! Calls of one connection that wait for room, over a pair of sockets.

use super::*;
use crate::api::Strictness;
use crate::catalog::Mode;
use crate::engine::{Engine, Operation, Options, Packing};
use crate::storage::SimDisk;
use crate::supervision::Supervisor;
use crate::types::{Lsn, OperationId};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// How long a test waits for what must come.
const LIMIT: Duration = Duration::from_secs(60);

/// A read that an empty engine answers.
fn read(call: u64) -> CallFrame<'static> {
    CallFrame {
        call,
        operation: Operation::ListCollections,
        collection: "",
        target: None,
        wait: true,
        strictness: Strictness::Strict,
        gives_out_texts: false,
        timeout_ms: 60_000,
        answer_budget: None,
        id: None,
        first_sent: None,
        packing: Packing::default(),
        body: b"",
    }
}

/// The other end of a connection, and the thread that reads it at the owner.
struct Attached {
    stream: UnixStream,
    connection: Arc<Connection>,
    reading: JoinHandle<()>,
}

impl Attached {
    fn connect() -> Attached {
        let (ours, stream) = UnixStream::pair().expect("sockets");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let options = Options { mode: Mode::Inline { seed: 1 }, ..Options::default() };
        let engine = Engine::open(Arc::new(SimDisk::new()), options).expect("an empty disk opens");
        let shared = Shared::new(Arc::new(engine), Purpose::Embedded, Arc::default(), Box::new(|| {}));
        let (outgoing, _) = Outgoing::start(&ours, &Arc::<Supervisor>::default()).expect("a thread");
        let connection = Arc::new(Connection::new(Arc::new(shared), outgoing));
        let reader = Arc::clone(&connection);
        let reading = std::thread::spawn(move || reader.read(&mut Incoming::new(&ours)));
        Attached { stream, connection, reading }
    }

    /// As many calls run as may.
    fn fill(&self) {
        let calls = (0..MAX_CALLS as u64).map(|call| (1000 + call, Cancellation::default()));
        self.connection.under_way.lock().calls.extend(calls);
    }

    /// All of these are answered.
    fn empty(&self) {
        self.connection.under_way.lock().calls.clear();
        self.connection.answered.notify_one();
    }

    fn call(&mut self, call: u64) {
        self.send(&frame::call_head(&read(call)));
    }

    fn write(&mut self, call: u64, timeout_ms: u64, first_sent: Option<Lsn>) {
        let id = Some(OperationId::new(u128::from(call)));
        let operation = Operation::UpsertPoints;
        let write = CallFrame { operation, collection: "c", timeout_ms, id, first_sent, ..read(call) };
        self.send(&frame::call_head(&write));
    }

    fn send(&mut self, frame: &[u8]) {
        self.stream.write_all(frame).expect("it is sent");
    }

    /// The number of the next call that is answered, and the code of its failure.
    fn answered(&mut self) -> (u64, Option<&'static str>) {
        let mut bytes = Vec::new();
        assert!(frame::read(&mut self.stream, &mut bytes, MAX_FRAME_BYTES).expect("an answer"));
        match frame::FromOwner::decode(&bytes) {
            Some(frame::FromOwner::Answer { call, .. }) => (call, None),
            Some(frame::FromOwner::Failure { call, error, .. }) => (call, Some(error.code())),
            other => panic!("no answer: {other:?}"),
        }
    }

    /// Ends the connection, and waits until the owner has noticed.
    fn end(self) {
        drop(self.stream);
        self.reading.join().expect("it reads to the end");
    }
}

#[test]
fn a_cancellation_behind_a_call_that_waits_for_room_is_read_c18() {
    let mut attached = Attached::connect();
    attached.fill();
    attached.call(1);
    attached.send(&frame::cancel(1000));
    let running = attached.connection.under_way.lock().calls[&1000].clone();
    let started = Instant::now();
    while !running.is_cancelled() {
        assert!(started.elapsed() < LIMIT, "the cancellation is not read");
        std::thread::sleep(Duration::from_millis(1));
    }
    attached.send(&frame::cancel(1));
    assert_eq!(attached.answered(), (1, Some("cancelled")));
    attached.empty();
    attached.call(1);
    assert_eq!(attached.answered(), (1, None));
    attached.end();
}

#[test]
fn calls_that_wait_for_room_run_in_their_order_c18() {
    let mut attached = Attached::connect();
    attached.fill();
    for call in 1..=3 {
        attached.call(call);
    }
    attached.empty();
    for call in 1..=3 {
        assert_eq!(attached.answered(), (call, None));
    }
    attached.end();
}

#[test]
fn a_connection_that_ends_while_a_call_waits_for_room_is_over_c18() {
    let mut attached = Attached::connect();
    attached.fill();
    attached.call(1);
    attached.end();
}

#[test]
fn bytes_under_way_are_bounded_and_a_connection_without_any_has_a_call_c18() {
    let attached = Attached::connect();
    let connection = &attached.connection;
    let has_room = |own: usize, unsent: usize, bytes: usize| {
        connection.has_room(&UnderWay { bytes: own, ..UnderWay::default() }, unsent, bytes)
    };
    assert!(has_room(MAX_BYTES - 10, 5, 5));
    assert!(!has_room(MAX_BYTES - 10, 5, 6));
    *connection.shared.bytes.lock() = MAX_BYTES_OF_ALL;
    assert!(has_room(0, 0, MAX_BYTES), "nothing of it is under way");
    assert!(!has_room(1, 0, 1));
    attached.end();
}

#[test]
fn the_outcome_of_a_write_that_is_repeated_and_given_up_is_unknown_c1_7() {
    let mut attached = Attached::connect();
    for (call, first_sent, code) in [(1, None, "timeout"), (2, Some(Lsn::NONE), "outcome_unknown")] {
        attached.write(call, 0, first_sent);
        assert_eq!(attached.answered(), (call, Some(code)));
    }
    attached.fill();
    for (call, first_sent, code) in [(3, None, "cancelled"), (4, Some(Lsn::NONE), "outcome_unknown")] {
        attached.write(call, 60_000, first_sent);
        attached.send(&frame::cancel(call));
        assert_eq!(attached.answered(), (call, Some(code)), "it waits for room");
    }
    attached.end();
}
