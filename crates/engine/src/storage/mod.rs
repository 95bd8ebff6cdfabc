//! All input and output of the engine goes through [`Storage`].
//!
//! The implementations: [`RealDisk`]; [`MemoryDisk`], for what is not to be kept; and with the feature `testing` a
//! simulated disk, which can lose power, tear writes, fill up and fail at a chosen call, all decided by a seed. Code
//! above this module that survives the simulated disk survives the real one.
//!
//! The rules that a caller follows (they are POSIX's, spelled out):
//! - bytes are durable after [`StorageFile::sync`], a *name* (created, renamed, removed) after
//!   [`Storage::sync_dir`] on the directory that holds it; neither implies the other;
//! - after a failed sync nothing is known about the bytes, and a later success does not bring them back: the file must
//!   be abandoned or written again;
//! - a file is mapped only once nothing will ever write to it again.

#[cfg(feature = "testing")]
mod crash_points;
mod disk;
mod error;
mod file_system;
pub mod header;
mod map;
mod memory;
mod other_format;
mod path;
mod read_only;
mod replace;
mod reserve;
#[cfg(feature = "testing")]
pub mod sim;

#[cfg(feature = "testing")]
pub use crash_points::{CrashPoint, CrashPoints};
pub use disk::RealDisk;
pub use error::{ErrorKind, StorageError};
pub use file_system::{Decision, decide_for, file_system_name};
#[cfg(test)]
pub use map::fault_elsewhere;
pub use map::{Exceeding, Map, map_faults, mapped_bytes, maps_fit, will_need};
pub use memory::MemoryDisk;
pub use other_format::OtherFormat;
pub use read_only::ReadOnly;
pub use replace::{OTHER_IS_SOUND, make_dir, replace};
pub use reserve::Reserve;
#[cfg(feature = "testing")]
pub use sim::{Call, Fault, OtherWork, SimDisk};

use std::sync::Arc;

/// Shorthand for what every storage call returns.
pub type Result<T> = std::result::Result<T, StorageError>;

/// A directory tree that belongs to one engine.
///
/// Paths are relative to the data directory, with `/` between their parts; `""` is the data directory itself. A part is
/// never empty, `.` or `..`, and never holds a backslash or NUL: such a path is an [`ErrorKind::Io`] error.
pub trait Storage: Send + Sync {
    /// Creates `dir` and what is missing above it. Each new name is durable after a [`sync_dir`](Self::sync_dir) on its
    /// parent.
    fn create_dir_all(&self, dir: &str) -> Result<()>;

    /// Creates a new empty file and opens it for appending. [`ErrorKind::Exists`] if the name is taken.
    fn create(&self, path: &str) -> Result<Box<dyn StorageFile>>;

    /// Opens an existing file for appending.
    fn open_append(&self, path: &str) -> Result<Box<dyn StorageFile>>;

    /// The whole file.
    fn read(&self, path: &str) -> Result<Vec<u8>>;

    /// `len` bytes of a file from `offset` on; fewer where it ends before. Read and not mapped, so that a page that the
    /// device cannot give is an error.
    fn read_range(&self, path: &str, offset: u64, len: usize) -> Result<Vec<u8>> {
        let bytes = self.read(path)?;
        let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        Ok(bytes[at(offset)..at(offset.saturating_add(len as u64))].to_vec())
    }

    /// The length of a file in bytes.
    fn len_of(&self, path: &str) -> Result<u64> {
        Ok(self.read(path)?.len() as u64)
    }

    /// The whole file as a read-only map. Only for files that are never written again.
    fn map(&self, path: &str) -> Result<Map>;

    /// The names of the files and directories directly in `dir`, sorted; empty if there is no such directory.
    fn list(&self, dir: &str) -> Result<Vec<String>>;

    /// Whether a file or directory of that name exists.
    fn exists(&self, path: &str) -> Result<bool>;

    /// Renames a file or directory within its directory, replacing a file of the new name: after a crash the new name
    /// holds the old content or the new, never neither. `from` and `to` must share their directory (what a crash makes
    /// of a move between two directories depends on the file system).
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Gives an immutable file a second name, in any directory of the tree; a copy where the file system has no links.
    /// [`ErrorKind::Exists`] if the name is taken. Durable after a [`sync_dir`](Self::sync_dir) on the new name's
    /// directory.
    fn link(&self, from: &str, to: &str) -> Result<()> {
        let bytes = self.read(from)?;
        let mut file = self.create(to)?;
        file.append(&bytes)?;
        file.sync()
    }

    /// Removes a file.
    fn remove(&self, path: &str) -> Result<()>;

    /// Removes a directory and everything in it; a missing one is no error.
    fn remove_dir_all(&self, dir: &str) -> Result<()>;

    /// Makes creations, renames and removals of names in `dir` durable.
    fn sync_dir(&self, dir: &str) -> Result<()>;

    /// Cuts a file to `len` bytes (never longer than it is). Durable after the next sync of the file.
    fn truncate(&self, path: &str, len: u64) -> Result<()>;

    /// Locks the whole tree for this process until the guard is dropped. [`ErrorKind::Locked`] names the holder.
    fn lock(&self) -> Result<LockGuard>;

    /// Locks the tree for a process that only reads: no file is created for it. Where there is none to lock, no
    /// process serves the tree.
    fn lock_to_read(&self) -> Result<LockGuard> {
        self.lock()
    }

    /// Background work calls this between two steps, when it holds nothing that requests wait for. A simulation runs
    /// requests and other work here, and a test can end the process here; a real disk does nothing.
    fn yield_point(&self, place: &'static str) {
        let _ = place;
    }

    /// Bytes that can still be written, where the implementation knows.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Files of which a map had a page that could not be read since the tree was opened: zeros were read in its place.
    /// Only worth asking when [`map_faults`] is not 0.
    fn unreadable_maps(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A file open for writing.
pub trait StorageFile: Send {
    /// Writes all of `bytes` at the end. After an error any part of them may be there: see [`len`](Self::len).
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_at(self.len(), bytes)
    }

    /// Writes all of `bytes` from `offset` on, in the place of what is there and behind it; `offset` is at most
    /// [`len`](Self::len). After an error any part of them may be there.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Makes content and length durable. Not the name: that is [`Storage::sync_dir`].
    fn sync(&mut self) -> Result<()>;

    /// Cuts the file to `len` bytes. Durable after the next [`sync`](Self::sync).
    fn truncate(&mut self, len: u64) -> Result<()>;

    /// The length in bytes, what a failed append left behind included.
    fn len(&self) -> u64;

    /// Whether the file is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Holds the data directory for one process until it is dropped.
pub struct LockGuard {
    _held: Arc<dyn Send + Sync>,
}

impl LockGuard {
    fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Arc::new(held) }
    }

    /// Another handle on the same lock, which ends when the last handle is dropped.
    pub fn share(&self) -> LockGuard {
        Self { _held: Arc::clone(&self._held) }
    }
}

impl std::fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LockGuard")
    }
}

#[cfg(test)]
mod tests;
