//! What a process is in a folder at the moment, and its calls.

use super::address::Address;
use super::attachment::{Attachment, Receiver};
use super::calls::{Call, Calls};
use super::frame::{self, Purpose};
use super::membership::{Membership, NotOpened};
use super::owner::{CLOSING, Owner};
use super::repeated::error_of;
use super::server::Server;
use super::takeover::{FolderEntry, InFolder, Owned};
use crate::engine::Reply;
use crate::error::Error;
use crate::supervision::Task;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::io;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// How often calls are looked through whose time may be over.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Time between two attempts to open a folder that cannot be opened, and to listen in one where there is no socket.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// A process that has a folder open, or waits for it.
pub struct Member {
    pub entry: FolderEntry,
    pub state: Mutex<State>,
    /// Notified when the state has changed, for the thread that follows owners.
    pub changed: Condvar,
    /// Notified when there are calls, for the thread that answers those whose time is over.
    pub waiting: Condvar,
}

/// What it is, and what it waits for.
pub struct State {
    pub role: Role,
    pub calls: Calls,
    pub is_closing: bool,
    /// Number of the connection to the owner; what comes from an earlier one is ignored.
    connection: u64,
    wants_hand_over: bool,
}

/// What this process is.
pub enum Role {
    /// Neither: there is no owner at the moment, or none that was found yet.
    Between,
    Owner(Arc<Owner>),
    Attached(Attachment),
    /// The folder cannot be opened: why, and when to try again.
    Failed(String, Instant),
}

/// What the thread that follows owners is to do.
enum Change {
    /// To find the next owner, or to become it.
    NoOwner,
    /// To hand over the folder, which is no longer used.
    HandOver(Arc<Owner>),
    /// To listen for other processes.
    Listen(Arc<Owner>),
}

impl Member {
    /// A process that is neither the owner nor attached yet.
    pub fn new(entry: FolderEntry) -> Member {
        let state = State {
            role: Role::Between,
            calls: Calls::default(),
            is_closing: false,
            connection: 0,
            wants_hand_over: false,
        };
        Member { entry, state: Mutex::new(state), changed: Condvar::new(), waiting: Condvar::new() }
    }

    /// Whether another process may become the owner while this one has the folder open.
    pub fn may_change(&self) -> bool {
        let Membership { purpose, exclusive, .. } = self.entry.membership;
        purpose == Purpose::Embedded && !exclusive
    }

    /// Whether it is the owner and has no socket for others, who are not to be kept out.
    pub fn is_to_listen(&self) -> bool {
        let has_none = match &self.state.lock().role {
            Role::Owner(owner) => owner.server.get().is_none(),
            _ => false,
        };
        has_none && !self.entry.membership.exclusive
    }

    /// Executes a call here, sends it to the owner, or keeps it until there is one.
    pub fn submit(self: &Arc<Self>, call: Call, reply: Reply) {
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
        match state.keep(call, reply) {
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
        let member = Arc::clone(self);
        let request = call.request();
        owner.engine.execute(
            request,
            Box::new(move |result| {
                drop(running);
                match result {
                    Err(Error::ShuttingDown) if !member.is_closing() => member.submit_later(call, reply),
                    result => reply(result.map_err(|error| error_of(error, call.may_be_applied()))),
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
        match state.keep(call, reply) {
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
    pub fn become_member(self: &Arc<Self>, got: InFolder) -> Result<(), NotOpened> {
        match got {
            InFolder::Attached(attachment, reader) => {
                let mut state = self.state.lock();
                state.connection += 1;
                let receiver = Connection { member: Arc::downgrade(self), number: state.connection };
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

    /// Serves other processes, where it can listen.
    fn serve(self: &Arc<Self>, owned: Owned) -> io::Result<Owner> {
        let Owned { engine, listening, lock } = owned;
        let owner = Owner::new(engine, lock);
        if let Some(listening) = listening {
            let _ = owner.server.set(self.start_server(&owner, listening)?);
        }
        Ok(owner)
    }

    fn start_server(
        self: &Arc<Self>,
        owner: &Owner,
        listening: (UnixListener, Address),
    ) -> io::Result<Server> {
        let member = Arc::downgrade(self);
        let hand_over = Box::new(move || {
            if let Some(member) = member.upgrade() {
                member.state.lock().wants_hand_over = true;
                member.changed.notify_all();
            }
        });
        let (engine, running) = (Arc::clone(&owner.engine), Arc::clone(&owner.running));
        Server::start(listening, engine, self.entry.membership.purpose, running, hand_over)
    }

    /// Tries once more to listen for other processes: the disk may have been full before. Where the file system has no
    /// sockets it fails every time, and others find a folder that keeps them out.
    fn listen(self: &Arc<Self>, owner: &Owner) {
        let listening = Address::listen(&self.entry.path);
        let Ok(server) = listening.and_then(|listening| self.start_server(owner, listening)) else { return };
        let state = self.state.lock();
        // A process that leaves meanwhile drops the server here, before it releases the folder.
        if matches!(state.role, Role::Owner(_)) {
            let _ = owner.server.set(server);
        }
    }

    /// Finds the next owner, or becomes it, whenever there is none; hands the folder over when it is asked for.
    pub fn follow_owners(self: &Arc<Self>) {
        while let Some(change) = self.wait_for_change() {
            match change {
                Change::Listen(owner) => self.listen(&owner),
                Change::HandOver(owner) => {
                    owner.hand_over();
                    self.enter();
                }
                Change::NoOwner => self.enter(),
            }
            self.entry.supervisor.succeeded(Task::Folder);
        }
    }

    fn enter(self: &Arc<Self>) {
        let entered = self.entry.enter(None, &|| self.is_closing());
        if let Err(error) = entered.and_then(|got| self.become_member(got)) {
            self.failed(&error);
        }
    }

    /// Waits until there is something to do; nothing when this process leaves.
    fn wait_for_change(&self) -> Option<Change> {
        let listens_again = Instant::now() + TRY_AGAIN;
        let mut state = self.state.lock();
        loop {
            if state.is_closing {
                return None;
            }
            match &state.role {
                Role::Between => return Some(Change::NoOwner),
                Role::Failed(_, again) => {
                    let again = *again;
                    if Instant::now() >= again {
                        return Some(Change::NoOwner);
                    }
                    self.changed.wait_until(&mut state, again);
                }
                Role::Owner(_) if state.wants_hand_over => {
                    state.wants_hand_over = false;
                    let Role::Owner(owner) = std::mem::replace(&mut state.role, Role::Between) else {
                        continue;
                    };
                    return Some(Change::HandOver(owner));
                }
                Role::Owner(owner) if owner.server.get().is_none() => {
                    if Instant::now() >= listens_again {
                        return Some(Change::Listen(Arc::clone(owner)));
                    }
                    self.changed.wait_until(&mut state, listens_again);
                }
                Role::Owner(_) | Role::Attached(_) => self.changed.wait(&mut state),
            }
        }
    }

    /// The folder could not be entered. While another process has it, calls wait until their time is over. Otherwise they
    /// fail, but for the writes that were sent: they may have been applied, so they wait for an owner that knows it.
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
        let calls = state.calls.take_unapplied();
        drop(state);
        calls.into_iter().for_each(|(_, reply)| reply(Err(Error::Internal(why.clone()))));
    }

    /// Answers the calls whose time is over, and tells the owner which are cancelled.
    pub fn give_up_overdue(&self) {
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
fn unlocked(state: MutexGuard<'_, State>, reply: Reply, error: Error) {
    drop(state);
    reply(Err(error));
}

impl State {
    /// Adds a call to those that wait, and returns its number; the reply where there is no room.
    fn keep(&mut self, call: Call, reply: Reply) -> Result<u64, Reply> {
        let unsent = if let Role::Attached(to) = &self.role { to.outgoing().unsent_bytes() } else { 0 };
        self.calls.add(call, reply, unsent)
    }

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

/// What comes from one owner.
struct Connection {
    member: Weak<Member>,
    number: u64,
}

impl Receiver for Connection {
    fn answered(&self, call: u64, result: Result<Vec<u8>, Error>) {
        let Some(member) = self.member.upgrade() else { return };
        let answered = {
            let mut state = member.state.lock();
            if state.connection == self.number { state.calls.take(call) } else { None }
        };
        if let Some((_, reply)) = answered {
            reply(result);
        }
    }

    fn lost(&self) {
        let Some(member) = self.member.upgrade() else { return };
        let mut state = member.state.lock();
        if state.connection == self.number && matches!(state.role, Role::Attached(_)) {
            state.role = Role::Between;
            drop(state);
            member.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests;
