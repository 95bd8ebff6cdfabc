//! Read-only maps of immutable files: the one place in this module with `unsafe`.
//!
//! Every map of a file is registered, so that a page that cannot be read is a fault of its collection and does not end
//! the process: see `signal`.

mod reads;
mod registry;
#[cfg(unix)]
mod signal;

pub use reads::{Exceeding, maps_fit, will_need};
#[cfg(test)]
pub use registry::fault_elsewhere;
pub(super) use registry::faulted_files;
pub use registry::{map_faults, mapped_bytes};

use registry::Registration;
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
    Mapped(Registered),
    Owned(Box<[u8]>),
}

/// A map of a file. The order of the parts is that in which they are dropped.
struct Registered {
    /// Nothing where the registry is full, or the system has no such signal: then a page that cannot be read ends the
    /// process.
    registration: Option<Registration>,
    map: Mmap,
}

impl Map {
    /// Maps the whole of `file`, which is `path` of a disk of that number.
    pub(super) fn of_file(file: &File, disk: u64, path: &str) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::of_bytes(Vec::new()));
        }
        // SAFETY: the slice is valid while the file is neither changed nor shortened. The engine maps a file only after
        // its last write (rule of the `Storage` trait), never truncates such a file, and removing its name keeps the
        // content until the last map is gone. Other processes are kept out by the directory lock and mode 0700. Where one
        // cuts the file all the same, or the device fails, `signal` puts zeros in the place of the pages; the threads that
        // read them then see bytes change, which no code of the engine relies on: it checks what it reads of a map.
        let map = unsafe { Mmap::map(file)? };
        #[cfg(unix)]
        signal::install();
        let start = map.as_ptr().addr();
        let registration = Registration::of(start, map.len(), disk, path).filter(|_| cfg!(unix));
        reads::advise_new_maps();
        Ok(Self(Arc::new(Source::Mapped(Registered { registration, map }))))
    }

    /// Advises the system that the map is read in random order, so that it does not read ahead.
    pub fn expect_random_reads(&self) {
        if let Source::Mapped(Registered { registration, map }) = &*self.0 {
            registration.iter().for_each(Registration::keep_random);
            reads::expect_random(map);
        }
    }

    /// Releases the pages of a range of bytes. A later access reads them from the file again.
    pub fn drop_resident(&self, range: Range<usize>) {
        #[cfg(unix)]
        if let Source::Mapped(Registered { map, .. }) = &*self.0 {
            let range = range.start.min(map.len())..range.end.min(map.len());
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the map is shared and its file is never written, so the pages come back unchanged.
            let _ = unsafe { map.unchecked_advise_range(advice, range.start, range.len()) };
        }
        #[cfg(not(unix))]
        let _ = range;
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
            Source::Mapped(Registered { map, .. }) => map,
            Source::Owned(bytes) => bytes,
        }
    }
}

impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Map({} bytes)", self.len())
    }
}
