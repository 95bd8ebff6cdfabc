//! Request bodies on their way into the engine, in buffers that are reused.

use crate::completions::lock;
use kithdb_engine::{Error, try_reserve_exact_in};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Greatest capacity of a short buffer: most requests except upserts fit.
const SHORT_BYTES: usize = 64 * 1024;
/// Short buffers that are kept for the next bodies.
const KEPT_SHORT: usize = 64;
/// Bytes of longer buffers that are kept. Fresh memory of that size costs a page fault for each 4 KiB.
const KEPT_LONG_BYTES: usize = 16 << 20;

/// Bodies that are arriving, and buffers for the next ones. The event loop fills them, and the engine's threads return
/// them. If the engine's threads freed them, both would contend for the allocator's lock at every request.
#[derive(Default)]
pub struct Bodies {
    /// Arriving bodies by call number; `None` where the system refused the memory for one.
    arriving: Mutex<HashMap<u32, Option<Vec<u8>>>>,
    spare: Arc<Mutex<Spare>>,
}

impl Bodies {
    /// Adds a part to the body of the call `id`, which then has room for at least `capacity` bytes. The caller lets
    /// `capacity` grow with what has arrived, and never to a length that is only announced. Where the system refuses the
    /// memory, what has arrived is forgotten, the rest passed over, and the call [refused](Self::take).
    pub fn append(&self, id: u32, part: &[u8], capacity: usize) {
        let mut arriving = lock(&self.arriving);
        let Some(body) = arriving.entry(id).or_insert_with(|| Some(Vec::new())) else { return };
        let capacity = capacity.max(body.len() + part.len());
        if capacity > body.capacity() {
            let mut spare = lock(&self.spare);
            let larger = spare.take(capacity);
            // Copying into memory that is used already costs less than the page faults of fresh memory.
            if body.capacity() == 0 || larger.capacity() >= capacity {
                let smaller = std::mem::replace(body, larger);
                body.extend_from_slice(&smaller);
                let refused = spare.keep(smaller);
                drop((spare, refused));
            }
        }
        match try_reserve_exact_in(body, capacity - body.len()) {
            Ok(()) => body.extend_from_slice(part),
            Err(_) => drop(arriving.insert(id, None)),
        }
    }

    /// Makes `bytes` the body of the call `id`.
    pub fn put(&self, id: u32, bytes: Vec<u8>) {
        lock(&self.arriving).insert(id, Some(bytes));
    }

    /// The body of a call as far as it has arrived; empty when nothing has.
    ///
    /// # Errors
    /// `MemoryLimit` where the system refused the memory for it.
    pub fn take(&self, id: u32) -> Result<Arrived, Error> {
        let arrived = lock(&self.arriving).remove(&id).unwrap_or_else(|| Some(Vec::new()));
        let bytes = arrived.ok_or(Error::MemoryLimit)?;
        Ok(Arrived { bytes, home: Arc::clone(&self.spare) })
    }
}

/// A body; its memory goes back when it is dropped.
pub struct Arrived {
    bytes: Vec<u8>,
    home: Arc<Mutex<Spare>>,
}

impl AsRef<[u8]> for Arrived {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        if self.bytes.capacity() > 0 {
            let refused = lock(&self.home).keep(std::mem::take(&mut self.bytes));
            drop(refused);
        }
    }
}

/// Empty buffers.
#[derive(Default)]
struct Spare {
    short: Vec<Vec<u8>>,
    /// By their capacity, the smallest first.
    long: Vec<Vec<u8>>,
    long_bytes: usize,
}

impl Spare {
    /// A buffer for `capacity` bytes; one without memory when no kept buffer is large enough.
    fn take(&mut self, capacity: usize) -> Vec<u8> {
        if capacity <= SHORT_BYTES {
            return self.short.pop().unwrap_or_default();
        }
        let at = self.long.partition_point(|buffer| buffer.capacity() < capacity);
        if at == self.long.len() {
            return Vec::new();
        }
        let buffer = self.long.remove(at);
        self.long_bytes -= buffer.capacity();
        buffer
    }

    /// Keeps a buffer, or gives it back when enough are kept or it has no memory.
    fn keep(&mut self, mut buffer: Vec<u8>) -> Option<Vec<u8>> {
        buffer.clear();
        let capacity = buffer.capacity();
        if capacity == 0 {
            return Some(buffer);
        }
        if capacity <= SHORT_BYTES {
            if self.short.len() == KEPT_SHORT {
                return Some(buffer);
            }
            self.short.push(buffer);
        } else {
            if self.long_bytes + capacity > KEPT_LONG_BYTES {
                return Some(buffer);
            }
            self.long_bytes += capacity;
            let at = self.long.partition_point(|kept| kept.capacity() < capacity);
            self.long.insert(at, buffer);
        }
        None
    }
}
