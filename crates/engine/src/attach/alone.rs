//! A folder on a system without Unix sockets: one process has it, and all others get the error that says so.

use super::membership::{Membership, NotOpened, OpenEngine};
use super::size::too_large;
use crate::catalog::lock_directory;
use crate::engine::{Engine, Reply, Request};
use crate::error::Error;
use crate::storage::RealDisk;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A folder that this process owns.
pub struct SharedFolder {
    engine: Mutex<Option<Arc<Engine>>>,
}

impl SharedFolder {
    /// Opens a folder, which is created when it is missing.
    ///
    /// # Errors
    /// [`NotOpened`]; also where another process has it, and for one that is to be open for reading only.
    pub fn open(path: &Path, membership: Membership, open: OpenEngine) -> Result<SharedFolder, NotOpened> {
        if membership.read_only {
            return Err(NotOpened::InUse(
                "readOnly needs Unix sockets, which this system does not have".into(),
            ));
        }
        let disk = RealDisk::open(path).map_err(|error| NotOpened::Folder(error.into()))?;
        let lock = lock_directory(&disk)?;
        let engine = open(Arc::new(disk), lock, &Arc::default())?;
        Ok(SharedFolder { engine: Mutex::new(Some(Arc::new(engine))) })
    }

    /// Answers a short read on the calling thread: as [`Engine::answer_here`].
    pub fn answer_here(&self, request: &Request) -> Option<Vec<u8>> {
        self.engine()?.answer_here(request)
    }

    /// Executes a request; the reply is called exactly once.
    pub fn execute(&self, request: Request, reply: Reply) {
        if let Some(why) = too_large(&request) {
            return reply(Err(Error::BadRequest(why)));
        }
        match self.engine() {
            Some(engine) => engine.execute(request, reply),
            None => reply(Err(Error::ShuttingDown)),
        }
    }

    /// The engine, until it is closed.
    pub fn engine(&self) -> Option<Arc<Engine>> {
        self.engine.lock().clone()
    }

    /// What this process is, in words.
    pub fn role(&self) -> String {
        "owner".to_string()
    }

    /// Gives up the requests that run and are not written.
    pub fn give_up_requests(&self) {
        if let Some(engine) = self.engine() {
            engine.give_up_requests();
        }
    }

    /// Closes the engine in about that time.
    pub fn close_within(&self, time: Duration) {
        if let Some(engine) = self.engine.lock().take() {
            engine.close_within(time);
        }
    }
}
