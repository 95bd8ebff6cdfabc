//! The engine of a folder, in this process or in another.

use super::address::described;
use super::calls::Call;
use super::member::{Member, Role};
use super::membership::{Membership, NotOpened, OpenEngine};
use super::owner::CLOSING;
use super::size::too_large;
use super::takeover::FolderEntry;
use crate::engine::{Engine, Reply, Request};
use crate::error::Error;
use crate::supervision::{Stop, Supervisor, Task};
use parking_lot::Mutex;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A folder that several processes use: one of them, the owner, has the engine. A call is made in the same way whichever
/// process that is, and goes on when another one becomes the owner.
pub struct SharedFolder {
    member: Arc<Member>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Ends the pause of a thread after a panic.
    stop: Arc<Stop>,
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
        let member = Arc::new(Member::new(entry));
        let folder =
            SharedFolder { member: Arc::clone(&member), threads: Mutex::default(), stop: Arc::default() };
        member.become_member(got)?;
        // A server and an exclusive owner stay what they are. What waits for a socket is done by the first thread.
        if member.may_change() || member.is_to_listen() {
            let moving = Arc::clone(&member);
            folder.spawn("kith-folder", move || moving.follow_owners())?;
        }
        if member.may_change() {
            folder.spawn("kith-deadline", move || member.give_up_overdue())?;
        }
        Ok(folder)
    }

    fn spawn(&self, name: &str, work: impl FnMut() + Send + 'static) -> io::Result<()> {
        let supervisor = &self.member.entry.supervisor;
        self.threads.lock().push(supervisor.spawn(name.into(), Task::Folder, &self.stop, work)?);
        Ok(())
    }

    /// Answers a short read on the calling thread, where this process is the owner: as [`Engine::answer_here`].
    pub fn answer_here(&self, request: &Request) -> Option<Vec<u8>> {
        self.engine()?.answer_here(request)
    }

    /// Executes a request; the reply is called exactly once, on a thread of the engine, of this folder or on the caller's.
    pub fn execute(&self, request: Request, reply: Reply) {
        let member = &self.member;
        if let Some(why) = too_large(&request) {
            return reply(Err(Error::BadRequest(why)));
        }
        if member.entry.membership.read_only && request.operation.is_write() {
            return reply(Err(Error::BadRequest("the folder is open for reading only (readOnly)".into())));
        }
        if !member.may_change() {
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
        member.submit(Call::new(request), reply);
    }

    /// The engine, while this process has it.
    pub fn engine(&self) -> Option<Arc<Engine>> {
        match &self.member.state.lock().role {
            Role::Owner(owner) => Some(Arc::clone(&owner.engine)),
            _ => None,
        }
    }

    /// What this process is at the moment, in words: `owner`, `attached to process 7`, `waiting for an owner`.
    pub fn role(&self) -> String {
        match &self.member.state.lock().role {
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
            let mut state = self.member.state.lock();
            state.is_closing = true;
            let role = std::mem::replace(&mut state.role, Role::Between);
            (role, state.calls.take_all())
        };
        self.stop.request();
        self.member.changed.notify_all();
        self.member.waiting.notify_all();
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
