//! Vectors of points and of queries. This release keeps dense vectors only.

use super::body::Result;
use crate::collection::update::NamedVectors;
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::limits::Limits;

/// Keys of an inference input, which other servers turn into a vector themselves.
const INFERENCE_KEYS: [&str; 5] = ["text", "image", "object", "model", "options"];

/// What a component takes in a body, its comma included, where it is short.
const USUAL_COMPONENT_BYTES: usize = 8;
/// Components that are reserved before the first vector has shown how long they are.
const MOST_RESERVED: usize = 1024;

const NO_MULTI: &str = "multi vectors are not available in this release, which keeps dense vectors only";
const NO_SPARSE: &str = "sparse vectors are not available in this release, which keeps dense vectors only";
const NO_INFERENCE: &str = "inference inputs are not available, send the vector itself";

/// Reads the vectors of one request. They mostly have one length, so that of the last is reserved for the next.
#[derive(Default)]
pub(super) struct VectorReader {
    last_len: usize,
}

impl VectorReader {
    /// Reads a dense vector.
    pub(super) fn dense(&mut self, reader: &mut Reader<'_>) -> Result<Vec<f32>> {
        match reader.peek()? {
            Kind::Array => {}
            Kind::Object => return Err(refuse_object(reader)),
            other => {
                return Err(
                    reader.error(format!("expected a vector (an array of numbers), got {}", other.word()))
                );
            }
        }
        if reader.peek_first()? == Some(Kind::Array) {
            return Err(reader.error(NO_MULTI));
        }
        let expected = match self.last_len {
            0 => (reader.remaining() / USUAL_COMPONENT_BYTES).min(MOST_RESERVED),
            last => last,
        };
        let mut components = Vec::with_capacity(expected);
        reader.f32_array(&mut components)?;
        if components.is_empty() {
            return Err(reader.error("dense vector must not be empty"));
        }
        self.last_len = components.len();
        Ok(components)
    }

    /// Reads the vectors of a point: an array for the unnamed one, or a map of names to arrays.
    pub(super) fn of_point(&mut self, reader: &mut Reader<'_>, limits: &Limits) -> Result<NamedVectors> {
        if reader.peek()? != Kind::Object {
            return Ok(vec![("".into(), self.dense(reader)?)]);
        }
        let place = reader.path();
        let mut vectors: NamedVectors = Vec::new();
        reader.object(|r, name| {
            match r.peek()? {
                Kind::Null => return r.skip(),
                Kind::String if INFERENCE_KEYS.contains(&name) => return Err(r.error(NO_INFERENCE)),
                _ => {}
            }
            let components = self.dense(r)?;
            let earlier = vectors.iter().position(|(known, _)| **known == *name);
            match earlier {
                Some(at) => vectors[at].1 = components,
                None if vectors.len() >= limits.max_named_vectors => {
                    return Err(Error::bad(format!(
                        "{place}: at most {} named vectors (max_named_vectors)",
                        limits.max_named_vectors
                    )));
                }
                None => vectors.push((name.into(), components)),
            }
            Ok(())
        })?;
        Ok(vectors)
    }
}

/// The error for an object in place of a dense vector: says which form of vector it seems to be.
pub(super) fn refuse_object(reader: &mut Reader<'_>) -> Error {
    let mut why = "expected a vector (an array of numbers), got an object";
    let read = reader.object(|r, key| {
        match key {
            "indices" | "values" => why = NO_SPARSE,
            key if INFERENCE_KEYS.contains(&key) => why = NO_INFERENCE,
            _ => {}
        }
        r.skip()
    });
    match read {
        Ok(()) => reader.error(why),
        Err(error) => error,
    }
}

/// Whether an object with this key is a vector in a form that this release refuses.
pub(super) fn is_refused_form(key: &str) -> bool {
    matches!(key, "indices" | "values") || INFERENCE_KEYS.contains(&key)
}
