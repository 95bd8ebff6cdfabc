//! What the owner of a folder has: the engine, and the server for other processes.

use super::server::{Running, Server};
use crate::engine::Engine;
use crate::storage::LockGuard;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// An owner that hands the folder over finishes what runs within this time, and gives up the rest, which is repeated.
const FINISHING: Duration = Duration::from_secs(7);
/// After that it writes checkpoints for about so long.
pub const CLOSING: Duration = Duration::from_secs(2);

/// The engine of this process, and its server for others.
pub struct Owner {
    pub engine: Arc<Engine>,
    /// Empty where other processes are kept out, and as long as there is no socket for them.
    pub server: OnceLock<Server>,
    /// The calls that run in the engine.
    pub running: Arc<Running>,
    /// Released last.
    _lock: LockGuard,
}

impl Owner {
    /// An owner that serves no other process yet.
    pub fn new(engine: Arc<Engine>, lock: LockGuard) -> Owner {
        Owner { engine, server: OnceLock::new(), running: Arc::default(), _lock: lock }
    }

    /// Takes no more calls of others, closes the engine, and releases the folder with the last reference.
    pub fn close_within(&self, time: Duration) {
        self.stop_taking();
        self.engine.close_within(time);
    }

    /// Finishes what runs, closes, and releases the folder.
    pub fn hand_over(self: Arc<Self>) {
        self.stop_taking();
        self.running.wait(FINISHING);
        self.close_within(CLOSING);
    }

    fn stop_taking(&self) {
        if let Some(server) = self.server.get() {
            server.stop_taking();
        }
    }
}
