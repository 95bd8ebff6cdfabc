//! `memory`: where the data of a component is wanted. Qdrant's newer form of `on_disk` and `always_ram`, which it overrides.

use super::fields;
use crate::error::Error;
use crate::json::{Reader, write_string};

/// Where the data of a component is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPlacement {
    /// On the disk, and as little as possible of it in memory.
    Cold,
    /// On the disk, with what is used in memory.
    Cached,
    /// In memory.
    Pinned,
}

impl MemoryPlacement {
    const ALL: [(&str, MemoryPlacement); 3] = [
        ("cold", MemoryPlacement::Cold),
        ("cached", MemoryPlacement::Cached),
        ("pinned", MemoryPlacement::Pinned),
    ];

    /// Reads one, which may be absent.
    ///
    /// # Errors
    /// `BadRequest` for another text.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<MemoryPlacement>, Error> {
        reader.optional(|r| fields::choice(r, &MemoryPlacement::ALL))
    }

    /// Reads the placement of a component that is never held in memory apart from the files.
    ///
    /// # Errors
    /// `BadRequest` for `pinned` too.
    pub(super) fn read_unpinned(reader: &mut Reader<'_>) -> Result<Option<MemoryPlacement>, Error> {
        match MemoryPlacement::read(reader)? {
            Some(MemoryPlacement::Pinned) => {
                Err(reader.error("memory: pinned is not supported here, expected cold or cached"))
            }
            other => Ok(other),
        }
    }

    /// Appends its name.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let name = MemoryPlacement::ALL
            .iter()
            .find(|(_, placement)| *placement == self)
            .map_or("", |(name, _)| name);
        write_string(out, name);
    }
}
