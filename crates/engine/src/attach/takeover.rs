//! How a process gets into a folder: by attaching to its owner, by becoming the owner, or by asking the owner for it.

use super::address::{Address, Published, described, lock_succession, published};
use super::attachment::{Attachment, NotConnected};
use super::frame::{self, Purpose};
use super::membership::{Membership, NotOpened, OpenEngine};
use crate::catalog::{OpenError, lock_directory};
use crate::engine::Engine;
use crate::storage::{ErrorKind, LockGuard, RealDisk};
use crate::supervision::Supervisor;
use std::fs;
use std::io::BufReader;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two attempts at first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Longest wait for the greeting of an owner in one attempt: it may be opening the folder, and may end meanwhile.
const GREETING: Duration = Duration::from_millis(1000);
/// How long a folder is held by a process that nobody can attach to before it is taken for one that keeps others out: a
/// process that has just become the owner says so later than it takes the lock.
const SAYS_SO: Duration = Duration::from_millis(1500);
/// How long an owner that is asked for the folder may take: it finishes what runs, and closes.
const HAND_OVER: Duration = Duration::from_secs(20);

/// A folder that this process owns.
pub struct Owned {
    pub engine: Arc<Engine>,
    /// Where other processes are to attach; none where they are kept out.
    pub listening: Option<(UnixListener, Address)>,
    /// Released after `listening`: what that removes is no next owner's.
    pub lock: LockGuard,
}

/// What a process got.
pub enum InFolder {
    Owned(Owned),
    Attached(Attachment, BufReader<UnixStream>),
}

/// The folder, and how this process is to get in.
pub struct FolderEntry {
    pub path: PathBuf,
    pub membership: Membership,
    pub open: OpenEngine,
    /// The supervisor of this process, which is the same as owner and as attached process.
    pub supervisor: Arc<Supervisor>,
}

impl FolderEntry {
    /// Gets into the folder, as soon as possible and before `until`.
    ///
    /// # Errors
    /// [`NotOpened`].
    pub fn enter(&self, until: Option<Instant>, is_closed: &dyn Fn() -> bool) -> Result<InFolder, NotOpened> {
        let mut pause = FIRST_PAUSE;
        let mut unreachable_since: Option<Instant> = None;
        loop {
            if is_closed() {
                return Err(NotOpened::Closed);
            }
            if let Some(got) = self.try_to_enter()? {
                return Ok(got);
            }
            self.refuse_unreachable(&mut unreachable_since)?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Err(NotOpened::TimedOut(self.who_is_late()));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// One attempt; nothing when another process is about to be ready, or has ended.
    fn try_to_enter(&self) -> Result<Option<InFolder>, NotOpened> {
        let Membership { purpose, exclusive, read_only, .. } = self.membership;
        if !exclusive && let Some(Published { socket, .. }) = published(&self.path) {
            match Attachment::connect(&socket, purpose, GREETING, &self.supervisor) {
                Ok((attachment, reader)) if purpose == Purpose::Embedded => {
                    return Ok(Some(InFolder::Attached(attachment, reader)));
                }
                Ok((attachment, _)) => return self.ask_for_it(&attachment),
                Err(NotConnected::OtherVersion(why)) => return Err(NotOpened::OtherVersion(why)),
                Err(NotConnected::Refused(why)) => return Err(NotOpened::InUse(why)),
                Err(NotConnected::Nobody) => {}
            }
        }
        if read_only {
            return Ok(None);
        }
        let disk = self.disk()?;
        match lock_succession(&self.path)? {
            Some(_right) => match lock_directory(&disk) {
                Ok(lock) => self.own(disk, lock).map(|owned| Some(InFolder::Owned(owned))),
                Err(OpenError::Storage(error)) if error.kind() == ErrorKind::Locked && !exclusive => Ok(None),
                Err(error) => Err(error.into()),
            },
            None if exclusive => {
                Err(NotOpened::InUse("another process is about to open the folder".to_string()))
            }
            None => Ok(None),
        }
    }

    fn disk(&self) -> Result<RealDisk, NotOpened> {
        RealDisk::open(&self.path).map_err(|error| NotOpened::Folder(error.into()))
    }

    /// Opens the engine in a folder whose lock this process has.
    fn own(&self, disk: RealDisk, lock: LockGuard) -> Result<Owned, NotOpened> {
        // A file system without sockets is no reason not to open: others then find a folder that keeps them out.
        let listening = if self.membership.exclusive { None } else { Address::listen(&self.path).ok() };
        // What fails below is dropped in this order: the address, then the lock.
        let kept = lock.share();
        let engine = (self.open)(Arc::new(disk), lock, &self.supervisor);
        match engine {
            Ok(engine) => Ok(Owned { engine: Arc::new(engine), listening, lock: kept }),
            Err(error) => {
                drop(listening);
                drop(kept);
                Err(error.into())
            }
        }
    }

    /// Asks an owner for the folder, which it then releases.
    fn ask_for_it(&self, attachment: &Attachment) -> Result<Option<InFolder>, NotOpened> {
        let owner = attachment.owner;
        let name = described(owner.pid, owner.purpose);
        if owner.purpose == Purpose::Server {
            return Err(NotOpened::InUse(format!(
                "the data directory is in use: {name} serves it; stop it first"
            )));
        }
        // Whoever has it becomes the owner first, and this process looks again.
        let Some(_right) = lock_succession(&self.path)? else { return Ok(None) };
        attachment.outgoing().send(frame::hand_over(), None);
        let until = Instant::now() + HAND_OVER;
        while Instant::now() < until {
            let disk = self.disk()?;
            match lock_directory(&disk) {
                Ok(lock) => return self.own(disk, lock).map(|owned| Some(InFolder::Owned(owned))),
                Err(OpenError::Storage(error)) if error.kind() == ErrorKind::Locked => {
                    thread::sleep(FIRST_PAUSE);
                }
                Err(error) => return Err(error.into()),
            }
        }
        let seconds = HAND_OVER.as_secs();
        Err(NotOpened::InUse(format!("{name} has the folder, and did not hand it over within {seconds} s")))
    }

    /// Fails where a process holds the folder to which nobody can attach.
    fn refuse_unreachable(&self, since: &mut Option<Instant>) -> Result<(), NotOpened> {
        let holder = self.holder();
        let says_so = published(&self.path).is_some_and(|published| Some(published.pid) == holder);
        if says_so || holder.is_none() {
            *since = None;
            return Ok(());
        }
        if since.get_or_insert_with(Instant::now).elapsed() < SAYS_SO {
            return Ok(());
        }
        // It is held, or the process ended without a trace: the lock itself knows.
        match lock_directory(&self.disk()?) {
            Err(error @ OpenError::Storage(_)) => Err(error.into()),
            _ => {
                *since = None;
                Ok(())
            }
        }
    }

    /// The process that the lock file names.
    fn holder(&self) -> Option<u32> {
        fs::read_to_string(self.path.join("lock")).ok()?.trim().parse().ok()
    }

    fn who_is_late(&self) -> String {
        let seconds = self.membership.timeout.as_secs_f64();
        match published(&self.path) {
            Some(Published { pid, .. }) => {
                format!("process {pid} has the folder, and did not answer within {seconds} s")
            }
            None => format!("no process has opened the folder within {seconds} s"),
        }
    }
}
