//! The engine of a folder, in this process or in another.

use super::address::described;
use super::attachment::{Attachment, Receiver};
use super::calls::{Call, Calls};
use super::frame::{self, MAX_BODY_BYTES, Purpose};
use super::membership::{Membership, NotOpened, OpenEngine};
use super::server::{Running, Server};
use super::takeover::{FolderEntry, InFolder, Owned};
use crate::engine::{Engine, Reply, Request};
use crate::error::Error;
use crate::storage::LockGuard;
use crate::supervision::{Stop, Supervisor, Task};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often calls are looked through whose time may be over.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Time between two attempts to open a folder that cannot be opened.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// An owner that hands the folder over finishes what runs within this time, and gives up the rest, which is repeated.
const FINISHING: Duration = Duration::from_secs(7);
/// After that it writes checkpoints for about so long.
const CLOSING: Duration = Duration::from_secs(2);

/// A folder that several processes use: one of them, the owner, has the engine. A call is made in the same way whichever
/// process that is, and goes on when another one becomes the owner.
pub struct SharedFolder {
    inner: Arc<Inner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Ends the pause of a thread after a panic.
    stop: Arc<Stop>,
}

struct Inner {
    entry: FolderEntry,
    state: Mutex<State>,
    /// Notified when the state has changed, for the thread that follows owners.
    changed: Condvar,
    waiting: Condvar,
}

struct State {
    role: Role,
    /// Number of the connection to the owner; what comes from an earlier one is ignored.
    connection: u64,
    calls: Calls,
    wants_hand_over: bool,
    is_closing: bool,
}

/// What this process is.
enum Role {
    /// Neither: there is no owner at the moment, or none that was found yet.
    Between,
    Owner(Arc<Owner>),
    Attached(Attachment),
    /// The folder cannot be opened: why, and when to try again.
    Failed(String, Instant),
}

/// The engine of this process, and its server for others.
struct Owner {
    engine: Arc<Engine>,
    server: Option<Server>,
    running: Arc<Running>,
    /// Released last.
    _lock: LockGuard,
}

impl SharedFolder {
    /// Opens a folder, which is created when it is missing: as its owner, or attached to it.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub fn open(path: &Path, membership: Membership, open: OpenEngine) -> Result<SharedFolder, NotOpened> {
        SharedFolder::open_watched(path, membership, open, Arc::default())
    }

    /// As [`SharedFolder::open`], with the supervisor of all threads of the folder, those of the engine included.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub fn open_watched(
        path: &Path,
        membership: Membership,
        open: OpenEngine,
        supervisor: Arc<Supervisor>,
    ) -> Result<SharedFolder, NotOpened> {
        let entry = FolderEntry { path: path.to_path_buf(), membership, open, supervisor };
        let got = entry.enter(Some(Instant::now() + membership.timeout), &|| false)?;
        let state = State {
            role: Role::Between,
            connection: 0,
            calls: Calls::default(),
            wants_hand_over: false,
            is_closing: false,
        };
        let inner = Arc::new(Inner {
            entry,
            state: Mutex::new(state),
            changed: Condvar::new(),
            waiting: Condvar::new(),
        });
        let folder =
            SharedFolder { inner: Arc::clone(&inner), threads: Mutex::default(), stop: Arc::default() };
        inner.become_member(got)?;
        // A server and an exclusive owner stay what they are.
        if inner.may_change() {
            let moving = Arc::clone(&inner);
            folder.spawn("kith-folder", move || moving.follow_owners())?;
            folder.spawn("kith-deadline", move || inner.give_up_overdue())?;
        }
        Ok(folder)
    }

    fn spawn(&self, name: &str, work: impl FnMut() + Send + 'static) -> io::Result<()> {
        let supervisor = &self.inner.entry.supervisor;
        self.threads.lock().push(supervisor.spawn(name.into(), Task::Folder, &self.stop, work)?);
        Ok(())
    }

    /// Answers a short read on the calling thread, where this process is the owner: as [`Engine::answer_here`].
    pub fn answer_here(&self, request: &Request) -> Option<Vec<u8>> {
        self.engine()?.answer_here(request)
    }

    /// Executes a request; the reply is called exactly once, on a thread of the engine, of this folder or on the caller's.
    pub fn execute(&self, request: Request, reply: Reply) {
        let inner = &self.inner;
        let bytes = (*request.body).as_ref().len();
        if bytes > MAX_BODY_BYTES {
            let why = format!("a call of {bytes} bytes, where {MAX_BODY_BYTES} are the most");
            return reply(Err(Error::BadRequest(why)));
        }
        if inner.entry.membership.read_only && request.operation.is_write() {
            return reply(Err(Error::BadRequest("the folder is open for reading only (readOnly)".into())));
        }
        if !inner.may_change() {
            return match self.engine() {
                Some(engine) => engine.execute(request, reply),
                None => reply(Err(Error::ShuttingDown)),
            };
        }
        // A frame has no room for them. Only a server has callers with limits, or is a node of a cluster, and it keeps the
        // folder that it has.
        if request.access.is_some() || request.position.is_some() || request.dry_run {
            return reply(Err(Error::Internal(
                "limits of a caller, positions and dry runs cannot be sent to another process".into(),
            )));
        }
        inner.submit(Call::new(request), reply);
    }

    /// The engine, while this process has it.
    pub fn engine(&self) -> Option<Arc<Engine>> {
        match &self.inner.state.lock().role {
            Role::Owner(owner) => Some(Arc::clone(&owner.engine)),
            _ => None,
        }
    }

    /// What this process is at the moment, in words: `owner`, `attached to process 7`, `waiting for an owner`.
    pub fn role(&self) -> String {
        match &self.inner.state.lock().role {
            Role::Owner(_) => "owner".to_string(),
            Role::Attached(to) => format!("attached to {}", described(to.owner.pid, to.owner.purpose)),
            Role::Between | Role::Failed(..) => "waiting for an owner".to_string(),
        }
    }

    /// Gives up the requests of this process that run and are not written, if it has the engine.
    pub fn give_up_requests(&self) {
        if let Some(engine) = self.engine() {
            engine.give_up_requests();
        }
    }

    /// Leaves the folder, in about that time: cancels what runs, and lets another process be the owner. A second call does
    /// nothing.
    pub fn close_within(&self, time: Duration) {
        let (role, calls) = {
            let mut state = self.inner.state.lock();
            state.is_closing = true;
            let role = std::mem::replace(&mut state.role, Role::Between);
            (role, state.calls.take_all())
        };
        self.stop.request();
        self.inner.changed.notify_all();
        self.inner.waiting.notify_all();
        calls.for_each(|(_, reply)| reply(Err(Error::ShuttingDown)));
        if let Role::Owner(owner) = role {
            owner.close_within(time);
        }
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // It caught its panics.
            let _ = thread.join();
        }
    }
}

impl Drop for SharedFolder {
    fn drop(&mut self) {
        self.close_within(CLOSING);
    }
}

impl Owner {
    /// Takes no more calls of others, closes the engine, and releases the folder with the last reference.
    fn close_within(&self, time: Duration) {
        if let Some(server) = &self.server {
            server.stop_taking();
        }
        self.engine.close_within(time);
    }
}

impl Inner {
    /// Whether another process may become the owner while this one has the folder open.
    fn may_change(&self) -> bool {
        let Membership { purpose, exclusive, .. } = self.entry.membership;
        purpose == Purpose::Embedded && !exclusive
    }

    /// Executes a call here, sends it to the owner, or keeps it until there is one.
    fn submit(self: &Arc<Self>, call: Call, reply: Reply) {
        let mut state = self.state.lock();
        let owner = match &state.role {
            _ if state.is_closing => return unlocked(state, reply, Error::ShuttingDown),
            Role::Failed(why, _) => {
                let error = Error::Internal(why.clone());
                return unlocked(state, reply, error);
            }
            Role::Owner(owner) => Some(Arc::clone(owner)),
            Role::Between | Role::Attached(_) => None,
        };
        if let Some(owner) = owner {
            drop(state);
            return self.run_here(&owner, call, reply);
        }
        let was_empty = state.calls.is_empty();
        match state.calls.add(call, reply) {
            Ok(number) => state.send(number),
            Err(reply) => {
                let error = Error::Overloaded("too many calls wait for the owner of the folder".into());
                return unlocked(state, reply, error);
            }
        }
        if was_empty {
            self.waiting.notify_all();
        }
    }

    /// Executes a call in the engine of this process. One that is given up because the folder is handed over goes to the
    /// next owner: nothing of it has happened.
    fn run_here(self: &Arc<Self>, owner: &Arc<Owner>, call: Call, reply: Reply) {
        let running = owner.running.begin();
        let inner = Arc::clone(self);
        let request = call.request();
        owner.engine.execute(
            request,
            Box::new(move |result| {
                drop(running);
                match result {
                    Err(Error::ShuttingDown) if !inner.is_closing() => inner.submit_later(call, reply),
                    result => reply(result),
                }
            }),
        );
    }

    /// Keeps a call for the next owner. This process may still seem to be the owner.
    fn submit_later(self: &Arc<Self>, call: Call, reply: Reply) {
        let mut state = self.state.lock();
        if state.is_closing {
            return unlocked(state, reply, Error::ShuttingDown);
        }
        match state.calls.add(call, reply) {
            Ok(number) => state.send(number),
            Err(reply) => return unlocked(state, reply, Error::ShuttingDown),
        }
        drop(state);
        self.waiting.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.state.lock().is_closing
    }

    /// Becomes attached or the owner, and sends or executes the calls that wait.
    fn become_member(self: &Arc<Self>, got: InFolder) -> Result<(), NotOpened> {
        match got {
            InFolder::Attached(attachment, reader) => {
                let mut state = self.state.lock();
                state.connection += 1;
                let receiver = Connection { inner: Arc::downgrade(self), number: state.connection };
                attachment.receive(reader, receiver, &self.entry.supervisor)?;
                if !state.is_closing {
                    state.role = Role::Attached(attachment);
                    state.send_all();
                }
            }
            InFolder::Owned(owned) => {
                // Before others can ask for it.
                self.state.lock().wants_hand_over = false;
                let owner = Arc::new(self.serve(owned)?);
                let calls = {
                    let mut state = self.state.lock();
                    if state.is_closing {
                        drop(state);
                        owner.close_within(CLOSING);
                        return Ok(());
                    }
                    state.role = Role::Owner(Arc::clone(&owner));
                    state.calls.take_all()
                };
                for (call, reply) in calls {
                    self.run_here(&owner, call, reply);
                }
            }
        }
        Ok(())
    }

    /// Serves other processes.
    fn serve(self: &Arc<Self>, owned: Owned) -> io::Result<Owner> {
        let Owned { engine, listening, lock } = owned;
        let running = Arc::<Running>::default();
        let inner = Arc::downgrade(self);
        let hand_over = Box::new(move || {
            if let Some(inner) = inner.upgrade() {
                inner.state.lock().wants_hand_over = true;
                inner.changed.notify_all();
            }
        });
        let purpose = self.entry.membership.purpose;
        let serve = |listening| {
            Server::start(listening, Arc::clone(&engine), purpose, Arc::clone(&running), hand_over)
        };
        let server = listening.map(serve).transpose()?;
        Ok(Owner { engine, server, running, _lock: lock })
    }

    /// Finds the next owner, or becomes it, whenever there is none; hands the folder over when it is asked for.
    fn follow_owners(self: &Arc<Self>) {
        while let Some(handed_over) = self.wait_for_change() {
            if let Some(owner) = handed_over {
                owner.hand_over();
            }
            let entered = self.entry.enter(None, &|| self.is_closing());
            if let Err(error) = entered.and_then(|got| self.become_member(got)) {
                self.failed(&error);
            }
            self.entry.supervisor.succeeded(Task::Folder);
        }
    }

    /// Waits until there is no owner, or a server asks for the folder, which is then no longer used; nothing when this
    /// process leaves.
    fn wait_for_change(&self) -> Option<Option<Arc<Owner>>> {
        let mut state = self.state.lock();
        loop {
            if state.is_closing {
                return None;
            }
            match &state.role {
                Role::Between => return Some(None),
                Role::Failed(_, again) => {
                    let again = *again;
                    if Instant::now() >= again {
                        return Some(None);
                    }
                    self.changed.wait_until(&mut state, again);
                }
                Role::Owner(_) if state.wants_hand_over => {
                    state.wants_hand_over = false;
                    let Role::Owner(owner) = std::mem::replace(&mut state.role, Role::Between) else {
                        continue;
                    };
                    return Some(Some(owner));
                }
                Role::Owner(_) | Role::Attached(_) => self.changed.wait(&mut state),
            }
        }
    }

    /// The folder could not be entered. While another process has it, calls wait until their time is over.
    fn failed(&self, error: &NotOpened) {
        let mut state = self.state.lock();
        if state.is_closing {
            return;
        }
        let why = format!("the folder cannot be opened: {error}");
        state.role = Role::Failed(why.clone(), Instant::now() + TRY_AGAIN);
        if error.may_pass() {
            state.role = Role::Between;
            drop(state);
            thread::sleep(LOOK_AGAIN);
            return;
        }
        let calls = state.calls.take_all();
        drop(state);
        calls.for_each(|(_, reply)| reply(Err(Error::Internal(why.clone()))));
    }

    /// Answers the calls whose time is over, and tells the owner which are cancelled.
    fn give_up_overdue(&self) {
        let mut state = self.state.lock();
        while !state.is_closing {
            if state.calls.is_empty() {
                self.waiting.wait(&mut state);
                continue;
            }
            self.waiting.wait_for(&mut state, LOOK_AGAIN);
            let is_sent = matches!(state.role, Role::Attached(_));
            let overdue = state.calls.overdue(is_sent);
            if let Role::Attached(to) = &state.role {
                for call in &overdue.cancelled {
                    to.outgoing().send(frame::cancel(*call), None);
                }
            }
            if !overdue.failed.is_empty() {
                drop(state);
                overdue.failed.into_iter().for_each(|(reply, error)| reply(Err(error)));
                state = self.state.lock();
            }
        }
    }
}

/// Answers a call with an error, when the state is not locked any more.
fn unlocked(state: parking_lot::MutexGuard<'_, State>, reply: Reply, error: Error) {
    drop(state);
    reply(Err(error));
}

impl State {
    /// Sends a call to the owner, where this process is attached to one. Sending never waits.
    fn send(&mut self, number: u64) {
        if let Role::Attached(to) = &self.role
            && let Some(call) = self.calls.get_mut(number)
        {
            let head = call.frame(number, to.position());
            to.outgoing().send(head, Some(&call.body));
        }
    }

    /// Sends all calls, in their order.
    fn send_all(&mut self) {
        let Role::Attached(to) = &self.role else { return };
        for (number, call) in self.calls.iter_mut() {
            let head = call.frame(number, to.position());
            to.outgoing().send(head, Some(&call.body));
        }
    }
}

impl Owner {
    /// Finishes what runs, closes, and releases the folder.
    fn hand_over(self: Arc<Self>) {
        if let Some(server) = &self.server {
            server.stop_taking();
        }
        self.running.wait(FINISHING);
        self.close_within(CLOSING);
    }
}

/// What comes from one owner.
struct Connection {
    inner: Weak<Inner>,
    number: u64,
}

impl Receiver for Connection {
    fn answered(&self, call: u64, result: Result<Vec<u8>, Error>) {
        let Some(inner) = self.inner.upgrade() else { return };
        let answered = {
            let mut state = inner.state.lock();
            if state.connection == self.number { state.calls.take(call) } else { None }
        };
        if let Some((_, reply)) = answered {
            reply(result);
        }
    }

    fn lost(&self) {
        let Some(inner) = self.inner.upgrade() else { return };
        let mut state = inner.state.lock();
        if state.connection == self.number && matches!(state.role, Role::Attached(_)) {
            state.role = Role::Between;
            drop(state);
            inner.changed.notify_all();
        }
    }
}
