//! Read-only maps of immutable files: the one place in this module with `unsafe`.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::Mmap;

/// The bytes of an immutable file, shared by all clones; unmapped with the last of them.
#[derive(Clone)]
pub struct Map(Source);

#[derive(Clone)]
enum Source {
    Mapped(Arc<Mmap>),
    Owned(Arc<[u8]>),
}

impl Map {
    /// Maps the whole of `file`.
    pub(super) fn of_file(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self::of_bytes(Vec::new()));
        }
        // SAFETY: the slice is valid while nobody changes or shortens the file. The engine maps a file only after its
        // last write (rule of the `Storage` trait), never truncates such a file, and removing its name keeps the
        // content until the last map is gone. Other processes are kept out by the directory lock and mode 0700.
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(Source::Mapped(Arc::new(map))))
    }

    /// A map that is not one: bytes in memory, for simulated disks and tests.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(Source::Owned(bytes.into()))
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
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
