//! Comparing extents with their checksums.
//!
//! Files are read piece by piece and not through their maps: a page that the device cannot give is an error here, while
//! touching it in a map ends the process, and with it the service of every other collection.

use super::cause::{Cause, Unopened};
use super::extents::{Extent, file_name};
use super::file_path;
use crate::faults::PlantedFault;
use crate::scheduling::in_pieces;
use crate::storage::{Storage, StorageError};

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 1 << 20;

/// Why an extent cannot be relied on.
#[derive(Clone, Debug)]
pub(crate) enum Unsound {
    /// The file ends before it.
    Short,
    /// Its bytes do not have their checksum.
    Damaged,
    /// The disk does not give its bytes; another time it may.
    Unreadable(StorageError),
    /// The check was stopped before its end.
    Stopped,
}

impl Unsound {
    /// Why the collection cannot be opened with it.
    pub fn unopened(&self, extent: &Extent) -> Unopened {
        let cause = match self {
            Unsound::Unreadable(error) => Cause::of(error),
            Unsound::Short | Unsound::Damaged | Unsound::Stopped => Cause::Damaged,
        };
        Unopened { what: self.sentence(extent), cause }
    }

    /// A sentence that names the file without its folders.
    pub fn sentence(&self, extent: &Extent) -> String {
        let file = file_name(extent.file);
        match self {
            Unsound::Short => format!("the file {file} is shorter than MANIFEST says"),
            Unsound::Damaged => {
                let (from, to) = (extent.offset, extent.offset.saturating_add(extent.len));
                format!("the file {file} is damaged between the bytes {from} and {to}")
            }
            Unsound::Unreadable(error) => format!("the file {file}: {}", error.public()),
            Unsound::Stopped => format!("the check of the file {file} was stopped"),
        }
    }
}

/// Compares one extent of a folder with its checksum. `pace` is called for every piece that was read, with its bytes,
/// and stops the check by returning false.
///
/// # Errors
/// Why it cannot be relied on.
pub(crate) fn verify_extent(
    storage: &dyn Storage,
    dir: &str,
    extent: &Extent,
    pace: &mut dyn FnMut(u64) -> bool,
) -> Result<(), Unsound> {
    let path = file_path(dir, extent.file);
    let (mut crc, mut done) = (0, 0);
    while done < extent.len {
        let want = PIECE_BYTES.min(extent.len - done);
        let at = extent.offset.checked_add(done).ok_or(Unsound::Short)?;
        let bytes = storage.read_range(&path, at, want as usize).map_err(Unsound::Unreadable)?;
        if (bytes.len() as u64) < want {
            return Err(Unsound::Short);
        }
        crc = crc32c::crc32c_append(crc, &bytes);
        done += want;
        if !pace(want) {
            return Err(Unsound::Stopped);
        }
    }
    if crc == extent.crc || PlantedFault::ChecksumsNotCompared.is_on() {
        Ok(())
    } else {
        Err(Unsound::Damaged)
    }
}

/// Compares extents of a folder with their checksums, on several threads.
///
/// # Errors
/// The first that cannot be relied on, and why.
pub(crate) fn verify_all(
    storage: &dyn Storage,
    dir: &str,
    extents: &[Extent],
    threads: usize,
) -> Result<(), (Extent, Unsound)> {
    let check = |at: usize| {
        let extent = &extents[at];
        verify_extent(storage, dir, extent, &mut |_| true).map_err(|why| (*extent, why))
    };
    in_pieces(threads, extents.len(), check).map(|_| ())
}
