//! Errors of the [`Storage`](super::Storage) trait.

use std::fmt;
use std::io;

/// The classes of failure that callers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The disk, a quota or a file-size limit refuses more bytes.
    Full,
    /// The file or its directory does not exist.
    NotFound,
    /// The file to be created exists.
    Exists,
    /// Another process (or another handle in this one) holds the data directory.
    Locked,
    /// The owner or the mode of the file, or of a folder above it, denies access to this user.
    Denied,
    /// The path is a folder.
    Folder,
    /// The system refuses memory, a part of the address space or a file descriptor: nothing is wrong with the file.
    Exhausted,
    /// Any other failure, such as one of the device or an invalid path.
    Io,
}

impl ErrorKind {
    /// What to do about a file that is there, where nothing is wrong with it or with the disk.
    pub fn remedy(self) -> Option<&'static str> {
        match self {
            ErrorKind::Denied => Some(
                "this user has no right to it: change its owner or its mode, or use the user of the server",
            ),
            ErrorKind::Folder => {
                Some("a folder stands in the place of the file: move it away, and put the file there")
            }
            _ => None,
        }
    }
}

/// A failed storage call. Cheap to clone, because one failure may answer many writers.
///
/// Neither [`Display`](fmt::Display) nor [`public`](Self::public) ever holds an absolute path; `Display` names the
/// file relative to the data directory (for logs), `public` names no file at all (for answers to clients).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageError {
    kind: ErrorKind,
    operation: &'static str,
    path: String,
    detail: String,
}

impl StorageError {
    /// A failure of `operation` on `path` (relative to the data directory).
    pub fn new(kind: ErrorKind, operation: &'static str, path: &str, detail: impl Into<String>) -> Self {
        Self { kind, operation, path: path.to_owned(), detail: detail.into() }
    }

    /// Classifies an error of the operating system.
    pub fn from_io(operation: &'static str, path: &str, error: &io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                ErrorKind::Full
            }
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::Exists,
            io::ErrorKind::PermissionDenied => ErrorKind::Denied,
            io::ErrorKind::IsADirectory => ErrorKind::Folder,
            _ if is_exhausted(error) => ErrorKind::Exhausted,
            _ => ErrorKind::Io,
        };
        // Only the operating system's own words: a custom error could carry a path.
        let detail = match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code).to_string(),
            None => error.kind().to_string(),
        };
        Self::new(kind, operation, path, detail)
    }

    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The cause in words that may be shown to a client: no file name, no directory.
    pub fn public(&self) -> String {
        match self.kind {
            ErrorKind::Full => "storage full".to_owned(),
            ErrorKind::NotFound => "a file is missing".to_owned(),
            ErrorKind::Exists => "a file exists already".to_owned(),
            ErrorKind::Locked => "the data directory is in use".to_owned(),
            ErrorKind::Denied => "this user has no right to it".to_owned(),
            ErrorKind::Folder => "a folder stands in its place".to_owned(),
            ErrorKind::Exhausted => format!("the system refuses it now: {}", self.detail),
            ErrorKind::Io => format!("input/output error during {}", self.operation),
        }
    }
}

/// Whether a call failed for want of memory, address space or file descriptors.
fn is_exhausted(error: &io::Error) -> bool {
    #[cfg(unix)]
    if let Some(libc::EMFILE | libc::ENFILE | libc::EAGAIN) = error.raw_os_error() {
        return true;
    }
    error.kind() == io::ErrorKind::OutOfMemory
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(f, "{}: {}", self.operation, self.detail)?;
        } else {
            write!(f, "{} {}: {}", self.operation, self.path, self.detail)?;
        }
        self.kind.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for StorageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_never_repeats_a_path_of_the_operating_system() {
        let io = io::Error::other("cannot open /srv/secret/data");
        let error = StorageError::from_io("read", "MANIFEST", &io);
        assert!(!error.to_string().contains("/srv"));
        assert!(!error.public().contains("MANIFEST"));
    }

    #[cfg(unix)]
    #[test]
    fn a_system_without_memory_or_descriptors_is_no_failure_of_the_file() {
        for code in [libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::EAGAIN] {
            let error = StorageError::from_io("map", "x", &io::Error::from_raw_os_error(code));
            assert_eq!(error.kind(), ErrorKind::Exhausted, "{error}");
            assert!(error.public().starts_with("the system refuses it now: "), "{}", error.public());
        }
        let refused = Vec::<u8>::new().try_reserve(usize::MAX / 4).expect_err("more than there is");
        assert_eq!(StorageError::from_io("read", "x", &refused.into()).kind(), ErrorKind::Exhausted);
        let broken = StorageError::from_io("map", "x", &io::Error::from_raw_os_error(libc::EIO));
        assert_eq!(broken.kind(), ErrorKind::Io);
    }

    #[test]
    fn a_full_disk_and_a_quota_are_both_full() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge] {
            assert_eq!(StorageError::from_io("append", "x", &kind.into()).kind(), ErrorKind::Full);
        }
    }

    #[test]
    fn what_to_do_is_said_of_a_file_that_is_there_and_of_no_other() {
        let says = |kind| StorageError::new(kind, "read", "MANIFEST", "why").to_string();
        assert_eq!(says(ErrorKind::Io), "read MANIFEST: why");
        assert_eq!(says(ErrorKind::NotFound), "read MANIFEST: why");
        let denied = says(ErrorKind::Denied);
        assert!(
            denied.starts_with("read MANIFEST: why; ") && denied.contains("change its owner"),
            "{denied}"
        );
        let folder = says(ErrorKind::Folder);
        assert!(folder.starts_with("read MANIFEST: why; ") && folder.contains("move it away"), "{folder}");
    }
}
