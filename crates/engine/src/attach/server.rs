//! The owner's side: takes connections of attached processes and runs their calls in its engine.
//!
//! Each connection has two threads of its own: one reads its frames, one writes what its socket does not take at once. A
//! process that sends slowly, reads slowly or sends nonsense holds up these two and nothing else.

use super::address::Address;
use super::connection::Connection;
use super::frame::{self, PROTOCOL_VERSION, Peer, Purpose};
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use crate::engine::Engine;
use crate::supervision::{Stop, Supervisor, Task};
use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Attached processes at a time.
const MAX_CONNECTIONS: usize = 256;
/// Time from a connection to its hello.
const HELLO_TIME: Duration = Duration::from_secs(5);
/// Pause after a connection that the system refuses.
const AFTER_REFUSAL: Duration = Duration::from_millis(20);

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
pub struct Shared {
    pub engine: Arc<Engine>,
    /// This process.
    pub me: Peer,
    pub running: Arc<Running>,
    pub hand_over: HandOver,
    pub supervisor: Arc<Supervisor>,
    /// No further call is taken.
    pub is_closing: AtomicBool,
    /// Bytes under way of all connections.
    pub bytes: Mutex<usize>,
    connections: Mutex<HashMap<u64, Weak<Connection>>>,
    /// Number of the next connection.
    next: AtomicU64,
}

impl Shared {
    /// A server without connections; the supervisor is that of the engine.
    pub fn new(engine: Arc<Engine>, purpose: Purpose, running: Arc<Running>, hand_over: HandOver) -> Shared {
        Shared {
            supervisor: Arc::clone(&engine.catalog().shared().supervisor),
            engine,
            me: Peer { version: PROTOCOL_VERSION, pid: std::process::id(), purpose },
            running,
            hand_over,
            is_closing: AtomicBool::new(false),
            bytes: Mutex::default(),
            connections: Mutex::default(),
            next: AtomicU64::new(0),
        }
    }
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
        let shared = Arc::new(Shared::new(engine, purpose, running, hand_over));
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
        connections.iter().for_each(|connection| connection.outgoing().cut());
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
            Err(_) => thread::sleep(AFTER_REFUSAL),
        }
    }
}

/// Serves one connection to its end.
fn serve(stream: UnixStream, shared: &Arc<Shared>, number: u64) {
    let started =
        stream.set_read_timeout(Some(HELLO_TIME)).and_then(|()| Outgoing::start(&stream, &shared.supervisor));
    let Ok((outgoing, _)) = started else { return };
    let connection = Arc::new(Connection::new(Arc::clone(shared), outgoing));
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
        let mut incoming = Incoming::new(&stream);
        if connection.greet(&mut incoming) && stream.set_read_timeout(None).is_ok() {
            connection.read(&mut incoming);
        }
    } else {
        let most =
            format!("{MAX_CONNECTIONS} processes are attached to the folder, which is as many as may be");
        connection.outgoing().send(frame::refusal(&most), None);
    }
}

/// Ends a connection with its reader, after a panic too.
struct Ending(Arc<Connection>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}
