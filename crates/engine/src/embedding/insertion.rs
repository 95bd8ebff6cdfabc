//! Vectors put into the body that has their texts.

use crate::json::{JsonBody, write_f32};

/// Bytes of a component in a body, roughly.
const COMPONENT_BYTES: usize = 12;

/// The body with each vector inserted as `,"vector":[…]` before the byte that its input names
/// ([`TextInput::at`](crate::types::TextInput::at)). `vectors` are in the order of the body. `is_packed` says that the vectors
/// that the body has are packed.
///
/// # Errors
/// A sentence where a place is not the end of an object, or not behind the one before.
pub fn insert_vectors(
    body: &[u8],
    is_packed: bool,
    vectors: &[(usize, &[f32])],
) -> Result<Vec<u8>, &'static str> {
    if !is_packed {
        return insert(body, vectors);
    }
    let unpacked = JsonBody::unpack(body).map_err(|_| "a body whose vectors are packed wrongly")?;
    Ok(unpacked.repack(insert(unpacked.text(), vectors)?))
}

fn insert(body: &[u8], vectors: &[(usize, &[f32])]) -> Result<Vec<u8>, &'static str> {
    let components: usize = vectors.iter().map(|(_, vector)| vector.len()).sum();
    let mut out = Vec::with_capacity(body.len() + components * COMPONENT_BYTES);
    let mut copied = 0;
    for &(at, vector) in vectors {
        if at < copied || body.get(at) != Some(&b'}') {
            return Err("a vector has no place in the body");
        }
        out.extend_from_slice(&body[copied..at]);
        out.extend_from_slice(b",\"vector\":[");
        for (place, component) in vector.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            write_f32(&mut out, *component);
        }
        out.push(b']');
        copied = at;
    }
    out.extend_from_slice(&body[copied..]);
    Ok(out)
}
