//! Copies of request bodies, in memory that is used again.

use crate::completions::lock;
use std::sync::{Arc, Mutex};

/// Buffers that are kept for the next bodies.
const KEPT: usize = 64;

/// Buffers for copies of bodies. The event loop fills them and the engine's threads are done with them; were they
/// freed there, the two would contend for the allocator's lock at every request.
#[derive(Default)]
pub struct Bodies {
    spare: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Bodies {
    /// A copy of a body.
    pub fn copy(&self, body: &[u8]) -> Copied {
        let mut bytes = lock(&self.spare).pop().unwrap_or_default();
        bytes.extend_from_slice(body);
        Copied { bytes, home: Arc::clone(&self.spare) }
    }
}

/// A copied body; its memory goes back when it is dropped.
pub struct Copied {
    bytes: Vec<u8>,
    home: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl AsRef<[u8]> for Copied {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let mut spare = lock(&self.home);
        if spare.len() < KEPT {
            self.bytes.clear();
            spare.push(std::mem::take(&mut self.bytes));
        }
    }
}
