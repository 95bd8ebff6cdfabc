//! Why a file of a collection cannot be used, and what to do about it.

use crate::allocator::Refused;
use crate::storage::{ErrorKind, OtherFormat, StorageError};
use std::fmt;

/// Why a file, or a piece of one, cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It is not what was written.
    Damaged,
    /// The device refuses to read it.
    Unreadable,
    /// Its owner or its mode does not let this user read it: nothing is wrong with it.
    Denied,
    /// A folder is in its place.
    Folder,
    /// The system refuses memory, address space or file descriptors: nothing is wrong with it.
    Exhausted,
    /// Another release wrote it: nothing is wrong with it.
    OtherFormat,
}

impl Cause {
    /// The cause of a read that failed. A file that is not there is damage.
    pub fn of(error: &StorageError) -> Cause {
        match error.kind() {
            ErrorKind::NotFound => Cause::Damaged,
            ErrorKind::Denied => Cause::Denied,
            ErrorKind::Folder => Cause::Folder,
            ErrorKind::Exhausted => Cause::Exhausted,
            _ => Cause::Unreadable,
        }
    }

    /// Whether the file itself, or the disk, has failed.
    pub fn is_failure(self) -> bool {
        matches!(self, Cause::Damaged | Cause::Unreadable)
    }

    /// Whether nothing can be said of the file: neither that it is sound nor that it is not.
    pub fn is_unknown(self) -> bool {
        matches!(self, Cause::OtherFormat | Cause::Exhausted)
    }

    /// Whether another time the file may be read as it was written.
    pub fn may_pass(self) -> bool {
        matches!(self, Cause::Unreadable | Cause::Denied | Cause::Folder | Cause::Exhausted)
    }
}

/// Why a collection cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unopened {
    /// A sentence, which names the file without its folders.
    pub what: String,
    /// Why the file cannot be used.
    pub cause: Cause,
}

impl Unopened {
    /// A read that failed: what was to be read, and why it was not.
    pub fn unread(what: &str, error: &StorageError) -> Unopened {
        Unopened { what: format!("{what}: {}", error.public()), cause: Cause::of(error) }
    }
}

impl From<Refused> for Unopened {
    fn from(refused: Refused) -> Self {
        Unopened { what: refused.to_string(), cause: Cause::Exhausted }
    }
}

impl From<String> for Unopened {
    fn from(what: String) -> Self {
        Unopened { what, cause: Cause::Damaged }
    }
}

impl From<&str> for Unopened {
    fn from(what: &str) -> Self {
        what.to_string().into()
    }
}

impl From<OtherFormat> for Unopened {
    fn from(other: OtherFormat) -> Self {
        Unopened { what: other.to_string(), cause: Cause::OtherFormat }
    }
}

impl fmt::Display for Unopened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
