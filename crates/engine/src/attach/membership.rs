//! How a process takes part in a folder, and why it may not.

use super::frame::Purpose;
use crate::catalog::OpenError;
use crate::engine::Engine;
use crate::storage::{ErrorKind, LockGuard, Storage};
use crate::supervision::Supervisor;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Opens an engine on a folder whose lock is held. The supervisor is that of the process.
pub type OpenEngine =
    Box<dyn Fn(Arc<dyn Storage>, LockGuard, &Arc<Supervisor>) -> Result<Engine, OpenError> + Send + Sync>;

/// How a process takes part in a folder.
#[derive(Clone, Copy, Debug)]
pub struct Membership {
    /// What it opens the folder for.
    pub purpose: Purpose,
    /// Only this process has the folder, or none.
    pub exclusive: bool,
    /// It is never the owner, and writes nothing.
    pub read_only: bool,
    /// How long opening may wait for another process.
    pub timeout: Duration,
}

/// Why a process did not get into a folder.
#[derive(Debug)]
pub enum NotOpened {
    /// The folder cannot be opened, or a process has it that keeps others out.
    Folder(OpenError),
    /// Another process has it: a sentence.
    InUse(String),
    /// The processes do not understand each other: a sentence.
    OtherVersion(String),
    /// No process became ready in time: a sentence.
    TimedOut(String),
    /// The operating system refuses a socket, a file or a thread.
    System(std::io::Error),
    /// It was closed meanwhile.
    Closed,
}

impl fmt::Display for NotOpened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotOpened::Folder(error) => error.fmt(f),
            NotOpened::InUse(why) | NotOpened::OtherVersion(why) | NotOpened::TimedOut(why) => {
                f.write_str(why)
            }
            NotOpened::System(error) => write!(f, "the socket for other processes cannot be made: {error}"),
            NotOpened::Closed => f.write_str("it was closed while it was opened"),
        }
    }
}

impl std::error::Error for NotOpened {}

impl From<OpenError> for NotOpened {
    fn from(error: OpenError) -> Self {
        NotOpened::Folder(error)
    }
}

impl From<std::io::Error> for NotOpened {
    fn from(error: std::io::Error) -> Self {
        NotOpened::System(error)
    }
}

impl NotOpened {
    /// Whether another process has the folder, so that it may be got later.
    pub fn may_pass(&self) -> bool {
        match self {
            NotOpened::Folder(OpenError::Storage(error)) => error.kind() == ErrorKind::Locked,
            NotOpened::InUse(_) | NotOpened::TimedOut(_) | NotOpened::System(_) => true,
            NotOpened::Folder(_) | NotOpened::OtherVersion(_) | NotOpened::Closed => false,
        }
    }
}
