//! The owner's side: takes connections of attached processes and runs their calls in its engine.
//!
//! Each connection has two threads of its own: one reads its frames, one writes what its socket does not take at once. A
//! process that sends slowly, reads slowly or sends nonsense holds up these two and nothing else.

use super::address::{Address, described};
use super::frame::{self, CallFrame, MAX_HELLO_BYTES, PROTOCOL_VERSION, Peer, Purpose, ToOwner};
use super::outgoing::Outgoing;
use crate::allocator::try_copy;
use crate::deadline::Cancellation;
use crate::engine::{Engine, Request, StrictScope};
use crate::error::Error;
use crate::recent_operations::CallIdentity;
use crate::supervision::{Stop, Supervisor, Task};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Attached processes at a time.
const MAX_CONNECTIONS: usize = 256;
/// Calls of one connection that run at a time; what follows waits in its socket.
const MAX_CALLS: usize = 64;
/// Bytes of calls that run and of answers that are not read, of one connection; what follows waits in its socket.
const MAX_BYTES: usize = 256 << 20;
/// Such bytes of all connections together. A connection of which nothing runs may always have one call.
const MAX_BYTES_OF_ALL: usize = 512 << 20;
/// Time from a connection to its hello.
const HELLO_TIME: Duration = Duration::from_secs(5);
/// How often a connection that has too much under way looks whether that has changed, when nothing wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const READ_BYTES: usize = 64 << 10;

/// Counts calls that run in the engine, of this process and of others.
#[derive(Default)]
pub struct Running {
    calls: Mutex<usize>,
    ended: Condvar,
}

impl Running {
    /// Counts a call until the guard is dropped.
    pub fn begin(self: &Arc<Self>) -> RunningCall {
        *self.calls.lock() += 1;
        RunningCall(Arc::clone(self))
    }

    /// Waits until none runs, at most so long.
    pub fn wait(&self, longest: Duration) {
        let until = Instant::now() + longest;
        let mut calls = self.calls.lock();
        while *calls > 0 && !self.ended.wait_until(&mut calls, until).timed_out() {}
    }
}

/// A call that runs.
pub struct RunningCall(Arc<Running>);

impl Drop for RunningCall {
    fn drop(&mut self) {
        *self.0.calls.lock() -= 1;
        self.0.ended.notify_all();
    }
}

/// Called when a server asks for the folder.
pub type HandOver = Box<dyn Fn() + Send + Sync>;

/// What all connections of a server use.
struct Shared {
    engine: Arc<Engine>,
    me: Peer,
    running: Arc<Running>,
    hand_over: HandOver,
    supervisor: Arc<Supervisor>,
    /// No further call is taken.
    is_closing: AtomicBool,
    connections: Mutex<HashMap<u64, Weak<Connection>>>,
    /// Number of the next connection.
    next: AtomicU64,
    /// Bytes under way of all connections.
    bytes: Mutex<usize>,
}

/// Serves attached processes until it is dropped.
pub struct Server {
    shared: Arc<Shared>,
    /// The socket and the file that names the owner.
    address: Address,
    listener: UnixListener,
    /// Ends the pause of the thread that accepts, after a panic.
    stop: Arc<Stop>,
}

impl Server {
    /// Starts to take connections.
    ///
    /// # Errors
    /// When the system refuses a thread or a handle.
    pub fn start(
        (listener, address): (UnixListener, Address),
        engine: Arc<Engine>,
        purpose: Purpose,
        running: Arc<Running>,
        hand_over: HandOver,
    ) -> std::io::Result<Server> {
        let supervisor = Arc::clone(&engine.catalog().shared().supervisor);
        let me = Peer { version: PROTOCOL_VERSION, pid: std::process::id(), purpose };
        let shared = Arc::new(Shared {
            engine,
            me,
            running,
            hand_over,
            supervisor,
            is_closing: AtomicBool::new(false),
            connections: Mutex::default(),
            next: AtomicU64::new(0),
            bytes: Mutex::default(),
        });
        let accepting = (listener.try_clone()?, Arc::clone(&shared));
        let stop = Arc::<Stop>::default();
        let accept = move || accept(&accepting.0, &accepting.1);
        shared.supervisor.spawn("kith-accept".into(), Task::Accept, &stop, accept)?;
        Ok(Server { shared, address, listener, stop })
    }

    /// Takes no further call, and no further connection.
    pub fn stop_taking(&self) {
        self.shared.is_closing.store(true, Ordering::Release);
        self.stop.request();
        // Linux wakes the thread that accepts; elsewhere a connection does.
        let _ = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        let _ = UnixStream::connect(self.address.socket());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_taking();
        let connections: Vec<_> = self.shared.connections.lock().values().filter_map(Weak::upgrade).collect();
        connections.iter().for_each(|connection| connection.outgoing.cut());
    }
}

/// Takes connections until the server closes.
fn accept(listener: &UnixListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.is_closing.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            Ok((stream, _)) => {
                let number = shared.next.fetch_add(1, Ordering::Relaxed);
                let (serving, ending) = (Arc::clone(shared), Arc::clone(shared));
                let serve = move || serve(stream, &serving, number);
                let end = move || drop(ending.connections.lock().remove(&number));
                // Where the system refuses the thread, the other end finds the connection closed, and tries again.
                let _ = shared.supervisor.spawn_once("kith-attached", Task::Receive, serve, end);
                shared.supervisor.succeeded(Task::Accept);
            }
            // Too many handles, as a rule.
            Err(_) => thread::sleep(LOOK_AGAIN),
        }
    }
}

/// Serves one connection to its end.
fn serve(stream: UnixStream, shared: &Arc<Shared>, number: u64) {
    let started =
        stream.set_read_timeout(Some(HELLO_TIME)).and_then(|()| Outgoing::start(&stream, &shared.supervisor));
    let Ok((outgoing, _)) = started else { return };
    let connection = Arc::new(Connection {
        shared: Arc::clone(shared),
        outgoing,
        under_way: Mutex::default(),
        answered: Condvar::new(),
    });
    let _ending = Ending(Arc::clone(&connection));
    let admitted = {
        let mut connections = shared.connections.lock();
        let admitted = connections.len() < MAX_CONNECTIONS;
        if admitted {
            connections.insert(number, Arc::downgrade(&connection));
        }
        admitted
    };
    if admitted {
        let mut reader = BufReader::with_capacity(READ_BYTES, &stream);
        if connection.greet(&mut reader) && stream.set_read_timeout(None).is_ok() {
            connection.read(&mut reader);
        }
    } else {
        let most =
            format!("{MAX_CONNECTIONS} processes are attached to the folder, which is as many as may be");
        connection.outgoing.send(frame::refusal(&most), None);
    }
}

/// Ends a connection with its reader, after a panic too.
struct Ending(Arc<Connection>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A connection at the owner.
struct Connection {
    shared: Arc<Shared>,
    outgoing: Arc<Outgoing>,
    under_way: Mutex<UnderWay>,
    answered: Condvar,
}

/// The last of its reader and its calls ends it: the other end then knows that what is not answered never will be.
impl Drop for Connection {
    fn drop(&mut self) {
        self.outgoing.cut();
    }
}

/// What of a connection is under way.
#[derive(Default)]
struct UnderWay {
    calls: HashMap<u64, Cancellation>,
    bytes: usize,
}

impl Connection {
    /// Answers the hello; false where the connection ends with that.
    fn greet(&self, reader: &mut BufReader<&UnixStream>) -> bool {
        let mut bytes = Vec::new();
        let Ok(true) = frame::read(reader, &mut bytes, MAX_HELLO_BYTES) else { return false };
        let Some(ToOwner::Hello(peer)) = ToOwner::decode(&bytes) else { return false };
        self.outgoing.send(frame::welcome(self.shared.me, self.shared.engine.log_position()), None);
        peer.version == PROTOCOL_VERSION
    }

    /// Reads frames until the connection ends or sends bytes that are no frame.
    fn read(self: &Arc<Self>, reader: &mut BufReader<&UnixStream>) {
        let mut bytes = Vec::new();
        while self.wait_for_room() {
            let Ok(true) = frame::read(reader, &mut bytes, frame::longest()) else { return };
            if self.shared.supervisor.catch(Task::Receive, None, || self.take(&bytes)) != Ok(true) {
                return;
            }
        }
    }

    /// Does what a frame asks for; false for one that ends the connection.
    fn take(self: &Arc<Self>, frame: &[u8]) -> bool {
        match ToOwner::decode(frame) {
            Some(ToOwner::Call(call)) => self.run(&call),
            Some(ToOwner::Cancel(call)) => {
                if let Some(cancellation) = self.under_way.lock().calls.get(&call) {
                    cancellation.cancel();
                }
                true
            }
            Some(ToOwner::HandOver) if self.shared.me.purpose == Purpose::Embedded => {
                (self.shared.hand_over)();
                true
            }
            Some(ToOwner::HandOver) => {
                let me = self.shared.me;
                let why = format!("{} serves this folder", described(me.pid, me.purpose));
                self.outgoing.send(frame::refusal(&why), None);
                true
            }
            Some(ToOwner::Hello(_)) | None => false,
        }
    }

    /// Waits until another call may be read; false when the server takes none any more.
    fn wait_for_room(&self) -> bool {
        loop {
            if self.shared.is_closing.load(Ordering::Acquire) {
                return false;
            }
            let unsent = self.outgoing.unsent_bytes();
            let mut under_way = self.under_way.lock();
            let own = under_way.bytes + unsent;
            let has_room = under_way.calls.len() < MAX_CALLS && own < MAX_BYTES;
            if has_room && (own == 0 || *self.shared.bytes.lock() < MAX_BYTES_OF_ALL) {
                return true;
            }
            self.answered.wait_for(&mut under_way, LOOK_AGAIN);
        }
    }

    /// Runs a call in the engine; false for one whose number is taken.
    fn run(self: &Arc<Self>, sent: &CallFrame<'_>) -> bool {
        let (call, bytes) = (sent.call, sent.body.len());
        let cancellation = Cancellation::default();
        let body = try_copy(sent.body);
        {
            let mut under_way = self.under_way.lock();
            if under_way.calls.insert(call, cancellation.clone()).is_some() {
                return false;
            }
            under_way.bytes += bytes;
            *self.shared.bytes.lock() += bytes;
        }
        let running = self.shared.running.begin();
        let underway = Underway { connection: Arc::clone(self), call, bytes, is_answered: false };
        let Ok(body) = body else {
            underway.answer(Err(Error::MemoryLimit));
            return true;
        };
        let identity = sent.id.map(|id| CallIdentity { id, first_sent: sent.first_sent });
        let request = Request {
            operation: sent.operation,
            collection: sent.collection.to_string(),
            target: sent.target.map(str::to_string),
            wait: sent.wait,
            strictness: sent.strictness,
            gives_out_texts: sent.gives_out_texts,
            access: None,
            caller: Box::default(),
            timeout: Some(Duration::from_millis(sent.timeout_ms)),
            packing: sent.packing,
            body: Box::new(body),
            start: Instant::now(),
            identity,
            position: None,
            dry_run: false,
            strict_scope: StrictScope::default(),
            answer_budget: sent.answer_budget.map(|room| usize::try_from(room).unwrap_or(usize::MAX)),
            profile: None,
            cancellation,
        };
        let reply = Box::new(move |result| {
            underway.answer(result);
            drop(running);
        });
        self.shared.engine.execute(request, reply);
        true
    }

    /// Sends the answer to a call. One that the engine gave up because the folder changes hands is not answered: it is sent
    /// again, to the next owner.
    fn answer(&self, call: u64, bytes: usize, result: Result<Vec<u8>, Error>) {
        let position = self.shared.engine.log_position();
        let frame = match &result {
            Ok(envelope) => Some(frame::answer(call, position, envelope)),
            Err(Error::ShuttingDown) => None,
            Err(error) => Some(frame::failure(call, position, error)),
        };
        if let Some(frame) = frame {
            self.outgoing.send(frame, None);
        }
        let mut under_way = self.under_way.lock();
        under_way.calls.remove(&call);
        under_way.bytes -= bytes;
        *self.shared.bytes.lock() -= bytes;
        drop(under_way);
        self.answered.notify_one();
    }

    /// Gives up calls whose answers will not be read.
    fn end(&self) {
        if !self.shared.is_closing.load(Ordering::Acquire) {
            self.outgoing.cut();
            self.under_way.lock().calls.values().for_each(Cancellation::cancel);
        }
    }
}

/// A call that runs. Dropped without an answer, because its holder panicked, it answers with that.
struct Underway {
    connection: Arc<Connection>,
    call: u64,
    bytes: usize,
    is_answered: bool,
}

impl Underway {
    fn answer(mut self, result: Result<Vec<u8>, Error>) {
        self.is_answered = true;
        self.connection.answer(self.call, self.bytes, result);
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if !self.is_answered {
            self.connection.answer(self.call, self.bytes, Err(Error::Panic));
        }
    }
}
