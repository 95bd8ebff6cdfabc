//! Bodies whose texts were given out, until their vectors are there.

use crate::bodies::Arrived;
use crate::completions::lock;
use kithdb_engine::insert_vectors;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Bytes in front of a vector that is handed back: the byte of the body that it goes before, and its number of components,
/// both 32 bits, little-endian. The components follow as 32-bit floats.
const HEAD_BYTES: usize = 8;

/// The bodies that wait, by the numbers of their calls. Who gives a call up takes its body out.
#[derive(Default)]
pub struct Handles {
    waiting: Mutex<HashMap<u32, Kept>>,
}

/// A body whose texts were given out.
pub struct Kept {
    pub body: Arc<Arrived>,
    /// Whether its vectors are packed.
    pub is_packed: bool,
}

/// A body that a request shares with its handle.
pub struct Shared(pub Arc<Arrived>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl Handles {
    /// Keeps a body under the number of its call.
    pub fn keep(&self, id: u32, kept: Kept) {
        lock(&self.waiting).insert(id, kept);
    }

    /// Takes a body out.
    pub fn take(&self, id: u32) -> Option<Kept> {
        lock(&self.waiting).remove(&id)
    }
}

impl Kept {
    /// The body with the vectors of `frame` in it.
    ///
    /// # Errors
    /// A sentence for a frame that does not fit the body.
    pub fn with_vectors(&self, frame: &[u8]) -> Result<Vec<u8>, &'static str> {
        with_vectors((*self.body).as_ref(), self.is_packed, frame)
    }
}

/// A body with the vectors of `frame` in it: for each its head and its components.
///
/// # Errors
/// A sentence for a frame that does not fit the body.
pub fn with_vectors(body: &[u8], is_packed: bool, frame: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut vectors: Vec<(usize, Vec<f32>)> = Vec::new();
    let mut left = frame;
    while !left.is_empty() {
        let (head, rest) = left.split_at_checked(HEAD_BYTES).ok_or("vectors that are cut off")?;
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize;
        let (at, components) = (number(0), number(4));
        let (bytes, rest) = rest.split_at_checked(components * 4).ok_or("vectors that are cut off")?;
        let floats =
            bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        vectors.push((at, floats.collect()));
        left = rest;
    }
    let vectors: Vec<(usize, &[f32])> = vectors.iter().map(|(at, vector)| (*at, &vector[..])).collect();
    insert_vectors(body, is_packed, &vectors)
}

/// The answer of an endpoint for `count` texts as the number of components (32 bits) and the components of all, little-endian.
///
/// # Errors
/// A sentence that says nothing of the answer's content.
pub fn vectors_of_answer(answer: &[u8], count: usize) -> Result<Vec<u8>, &'static str> {
    let (dim, components) = kithdb_engine::read_endpoint_answer(answer, count)?;
    let mut out = Vec::with_capacity(4 + components.len() * 4);
    out.extend_from_slice(&(dim as u32).to_le_bytes());
    out.extend(components.iter().flat_map(|component| component.to_le_bytes()));
    Ok(out)
}
