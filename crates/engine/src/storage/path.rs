//! Relative paths: checked, and split into directory and name.

use super::{ErrorKind, Result, StorageError};

/// Refuses paths that are ambiguous or could leave the data directory.
pub(super) fn check(operation: &'static str, path: &str) -> Result<()> {
    if path.is_empty() {
        return Ok(());
    }
    let part_is_plain =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['\\', '\0', ':']);
    if path.split('/').all(part_is_plain) {
        Ok(())
    } else {
        Err(StorageError::new(ErrorKind::Io, operation, "", "invalid path"))
    }
}

/// Checks the path of a file: like [`check`], and not the data directory itself.
pub(super) fn check_file(operation: &'static str, path: &str) -> Result<()> {
    check(operation, path)?;
    if path.is_empty() {
        Err(StorageError::new(ErrorKind::Io, operation, "", "invalid path"))
    } else {
        Ok(())
    }
}

/// Directory and name: `"a/b/c"` is `("a/b", "c")`, `"c"` is `("", "c")`.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// Checks that a rename stays within one directory.
pub(super) fn check_rename(from: &str, to: &str) -> Result<()> {
    check_file("rename", from)?;
    check_file("rename", to)?;
    if split(from).0 == split(to).0 {
        Ok(())
    } else {
        Err(StorageError::new(
            ErrorKind::Io,
            "rename",
            from,
            "source and target are in different directories",
        ))
    }
}
