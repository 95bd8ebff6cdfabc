//! The payloads of a block, in the narrowest form that fits all of them.

use super::block::{BLOCK_POINTS, column_bytes, put};
use crate::state::point::{Payload, StoredPayload};
use crate::storage::Map;
use std::sync::Arc;

/// A payload of the table.
#[derive(Clone, Copy)]
pub enum PayloadRef<'a> {
    /// `{}`
    Empty,
    /// Not yet in a checkpoint.
    Memory(&'a Arc<[u8]>),
    /// In a data file.
    Stored {
        /// Number of the data file.
        file: u32,
        /// The file.
        map: &'a Map,
        /// Place in the file.
        offset: u64,
        /// Length in bytes.
        len: u32,
    },
}

impl<'a> PayloadRef<'a> {
    /// The normalised JSON.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            PayloadRef::Empty => b"{}",
            PayloadRef::Memory(bytes) => bytes,
            // The range was checked when the checkpoint was written or loaded.
            PayloadRef::Stored { map, offset, len, .. } => {
                &map[offset as usize..offset as usize + len as usize]
            }
        }
    }

    /// Bytes that it takes in memory.
    pub fn memory_bytes(self) -> u64 {
        match self {
            PayloadRef::Empty | PayloadRef::Stored { .. } => 0,
            PayloadRef::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Bytes of the normalised JSON, none of `{}`.
    pub fn json_bytes(self) -> u64 {
        match self {
            PayloadRef::Stored { len, .. } => u64::from(len),
            PayloadRef::Empty | PayloadRef::Memory(_) => self.memory_bytes(),
        }
    }

    /// A copy, which does not belong to the table. The bytes are shared.
    pub fn to_payload(self) -> Payload {
        match self {
            PayloadRef::Empty => Payload::Empty,
            PayloadRef::Memory(bytes) => Payload::Memory(Arc::clone(bytes)),
            PayloadRef::Stored { file, map, offset, len } => {
                Payload::Stored(StoredPayload { file, map: map.clone(), offset, len })
            }
        }
    }
}

/// The payloads of a block.
#[derive(Clone)]
pub(super) enum Payloads {
    /// All are `{}`.
    Empty,
    /// None is in memory.
    Stored(Stored),
    /// Some are in memory.
    Any(Vec<Payload>),
}

/// Payloads in data files, and empty ones.
#[derive(Clone)]
pub(super) struct Stored {
    /// The files that places name, each once: mostly one.
    files: Vec<(u32, Map)>,
    places: Vec<Place>,
}

/// A place in one of the files of a block.
///
/// Packed: it takes 12 bytes, not 16.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(Rust, packed(4))]
struct Place {
    /// The position of the file in the list in the upper byte, the offset in the file in the others.
    word: u64,
    len: u32,
}

const OFFSET_BITS: u32 = 56;

// A block has no more files than points.
const _: () = assert!(BLOCK_POINTS < 1 << (u64::BITS - OFFSET_BITS));

impl Place {
    /// Of `{}`, which is in no file.
    const NONE: Place = Place { word: u64::MAX, len: 0 };

    fn new(file: usize, offset: u64, len: u32) -> Place {
        debug_assert!(offset >> OFFSET_BITS == 0, "a place inside a map of the address space");
        Place { word: (file as u64) << OFFSET_BITS | offset, len }
    }

    /// The position of the file; beyond all files for [`Place::NONE`].
    fn file(self) -> usize {
        (self.word >> OFFSET_BITS) as usize
    }

    fn offset(self) -> u64 {
        self.word & ((1 << OFFSET_BITS) - 1)
    }

    fn with_file(self, file: usize) -> Place {
        Place::new(file, self.offset(), self.len)
    }
}

impl Payloads {
    #[inline]
    pub(super) fn get(&self, at: usize) -> PayloadRef<'_> {
        match self {
            Payloads::Empty => PayloadRef::Empty,
            Payloads::Stored(stored) => stored.get(at),
            Payloads::Any(payloads) => match &payloads[at] {
                Payload::Empty => PayloadRef::Empty,
                Payload::Memory(bytes) => PayloadRef::Memory(bytes),
                Payload::Stored(StoredPayload { file, map, offset, len }) => {
                    PayloadRef::Stored { file: *file, map, offset: *offset, len: *len }
                }
            },
        }
    }

    /// Replaces one of `len` payloads, or appends the next one. `room` is that of other columns of the block.
    pub(super) fn put(&mut self, at: usize, (len, room): (usize, usize), payload: Payload) {
        match (&mut *self, payload) {
            (Payloads::Empty, Payload::Empty) => {}
            (Payloads::Any(payloads), payload) => {
                put(payloads, at, payload, BLOCK_POINTS);
                if !payloads.iter().any(|payload| matches!(payload, Payload::Memory(_))) {
                    *self = Payloads::without_memory(std::mem::take(payloads));
                }
            }
            (_, payload @ Payload::Memory(_)) => {
                let mut payloads: Vec<Payload> = (0..len).map(|at| self.get(at).to_payload()).collect();
                put(&mut payloads, at, payload, BLOCK_POINTS);
                *self = Payloads::Any(payloads);
            }
            (Payloads::Empty, payload) => {
                let mut places = Vec::with_capacity(room.max(len));
                places.resize(len, Place::NONE);
                let mut stored = Stored { files: Vec::new(), places };
                stored.put(at, payload);
                *self = Payloads::Stored(stored);
            }
            (Payloads::Stored(stored), payload) => {
                stored.put(at, payload);
                if stored.files.is_empty() {
                    *self = Payloads::Empty;
                }
            }
        }
    }

    /// Payloads none of which is in memory.
    fn without_memory(payloads: Vec<Payload>) -> Payloads {
        let mut stored = Stored { files: Vec::new(), places: Vec::with_capacity(payloads.len()) };
        for (at, payload) in payloads.into_iter().enumerate() {
            stored.put(at, payload);
        }
        if stored.files.is_empty() { Payloads::Empty } else { Payloads::Stored(stored) }
    }

    /// Bytes of the columns, without the payloads that are in memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        match self {
            Payloads::Empty => 0,
            Payloads::Stored(stored) => column_bytes(&stored.files) + column_bytes(&stored.places),
            Payloads::Any(payloads) => column_bytes(payloads),
        }
    }
}

impl Stored {
    #[inline]
    fn get(&self, at: usize) -> PayloadRef<'_> {
        let place = self.places[at];
        match self.files.get(place.file()) {
            None => PayloadRef::Empty,
            Some((file, map)) => {
                PayloadRef::Stored { file: *file, map, offset: place.offset(), len: place.len }
            }
        }
    }

    /// Replaces a payload that is not in memory, or appends the next one.
    fn put(&mut self, at: usize, payload: Payload) {
        let place = match payload {
            Payload::Stored(StoredPayload { file, map, offset, len }) => {
                Place::new(self.position_of(file, map), offset, len)
            }
            Payload::Empty => Place::NONE,
            Payload::Memory(_) => unreachable!("a payload in memory is put into the other form"),
        };
        let before = self.places.get(at).map_or(usize::MAX, |place| place.file());
        put(&mut self.places, at, place, BLOCK_POINTS);
        if before < self.files.len() && before != place.file() {
            self.forget_unused(before);
        }
    }

    fn position_of(&mut self, file: u32, map: Map) -> usize {
        let position = self.files.iter().position(|(known, _)| *known == file);
        position.unwrap_or_else(|| {
            self.files.reserve_exact(1);
            self.files.push((file, map));
            self.files.len() - 1
        })
    }

    /// Drops a file that no place names any more, so that the system can free it. The last one takes its position.
    fn forget_unused(&mut self, position: usize) {
        if self.places.iter().any(|place| place.file() == position) {
            return;
        }
        self.files.swap_remove(position);
        let moved = self.files.len();
        for place in self.places.iter_mut().filter(|place| place.file() == moved) {
            *place = place.with_file(position);
        }
    }
}
