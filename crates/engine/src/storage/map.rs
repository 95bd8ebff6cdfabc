//! Read-only maps of immutable files: the one place in this module with `unsafe`.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

use memmap2::Mmap;

/// The bytes of an immutable file, shared by all clones; unmapped with the last of them. One word: every stored
/// payload has one.
#[derive(Clone)]
pub struct Map(Arc<Source>);

enum Source {
    Mapped(Mmap),
    Owned(Box<[u8]>),
}

impl Map {
    /// Maps the whole of `file`.
    pub(super) fn of_file(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::of_bytes(Vec::new()));
        }
        // SAFETY: the slice is valid while the file is neither changed nor shortened. The engine maps a file only after
        // its last write (rule of the `Storage` trait), never truncates such a file, and removing its name keeps the
        // content until the last map is gone. Other processes are kept out by the directory lock and mode 0700.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(Arc::new(Source::Mapped(map))))
    }

    /// Advises the system that the map is read in random order, so that it does not read ahead.
    pub fn expect_random_reads(&self) {
        #[cfg(unix)]
        if let Source::Mapped(map) = &*self.0 {
            // A system that ignores the advice only reads more than it needs to.
            let _ = map.advise(memmap2::Advice::Random);
        }
    }

    /// Releases the pages of a range of bytes. A later access reads them from the file again.
    pub fn drop_resident(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Source::Mapped(map) = &*self.0 {
            let range = range.start.min(map.len())..range.end.min(map.len());
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the map is shared and its file is never written, so the pages come back unchanged.
            let _ = unsafe { map.unchecked_advise_range(advice, range.start, range.len()) };
        }
    }

    /// Bytes in memory in place of a map, for simulated disks and tests.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Source::Owned(bytes.into())))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Source::Mapped(map) => map,
            Source::Owned(bytes) => bytes,
        }
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Map({} bytes)", self.len())
    }
}
