//! Vectors of points and of queries, in their three forms (C2.3).

use super::body::{Result, list};
use crate::collection::update::NamedVectors;
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::vectors::{MAX_ELEMENTS, MultiVector, SparseVector, VectorValue};

/// Keys of an inference input, from which other servers compute a vector.
const INFERENCE_KEYS: [&str; 5] = ["text", "image", "object", "model", "options"];

/// Bytes of a short component in a body, its comma included.
const USUAL_COMPONENT_BYTES: usize = 8;
/// Components that are reserved for the first vector.
const MOST_RESERVED: usize = 1024;

const NO_INFERENCE: &str = "inference inputs are not available, send the vector itself";

/// Reads the vectors of one request. Memory is reserved for a vector of the previous one's length.
#[derive(Default)]
pub(super) struct VectorReader {
    last_len: usize,
}

impl VectorReader {
    /// Reads a vector in any form: numbers, rows of numbers, or `{indices, values}`.
    pub(super) fn value(&mut self, reader: &mut Reader<'_>) -> Result<VectorValue> {
        match reader.peek()? {
            Kind::Object => read_sparse(reader).map(VectorValue::Sparse),
            Kind::Array if reader.peek_first()? == Some(Kind::Array) => {
                self.multi(reader).map(VectorValue::Multi)
            }
            _ => self.dense(reader).map(VectorValue::Dense),
        }
    }

    /// Reads the rows of a multi-vector.
    fn multi(&mut self, reader: &mut Reader<'_>) -> Result<MultiVector> {
        let place = reader.path();
        let (mut components, mut dim) = (Vec::new(), 0);
        reader.array(|r, index| {
            if r.peek_first()?.is_none() {
                return Err(r.error("all vectors must be non-empty"));
            }
            let before = components.len();
            r.f32_array(&mut components)?;
            let found = components.len() - before;
            if index == 0 {
                dim = found;
                components.reserve(self.last_len.saturating_sub(found));
            }
            if found != dim {
                return Err(Error::bad(format!(
                    "{place}: all vectors must have the same dimension, found vector with dimension {found}"
                )));
            }
            if components.len() > MAX_ELEMENTS {
                return Err(Error::bad(format!("{place}: at most {MAX_ELEMENTS} components a multi vector")));
            }
            Ok(())
        })?;
        self.last_len = components.len();
        Ok(MultiVector { dim, components })
    }

    /// Reads a dense vector.
    fn dense(&mut self, reader: &mut Reader<'_>) -> Result<Vec<f32>> {
        let found = reader.peek()?;
        if found != Kind::Array {
            let why = format!("expected a vector (an array of numbers), got {}", found.word());
            return Err(reader.error(why));
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

    /// Reads the vectors of a point: an array for the unnamed one, or a map of names to vectors.
    pub(super) fn of_point(&mut self, reader: &mut Reader<'_>, limits: &Limits) -> Result<NamedVectors> {
        if reader.peek()? != Kind::Object {
            return Ok(vec![("".into(), self.value(reader)?)]);
        }
        let place = reader.path();
        let mut vectors: NamedVectors = Vec::new();
        reader.object(|r, name| {
            match r.peek()? {
                Kind::Null => return r.skip(),
                Kind::String if INFERENCE_KEYS.contains(&name) => return Err(r.error(NO_INFERENCE)),
                _ => {}
            }
            let vector = self.value(r)?;
            let earlier = vectors.iter().position(|(known, _)| **known == *name);
            match earlier {
                Some(at) => vectors[at].1 = vector,
                None if vectors.len() >= limits.max_named_vectors => {
                    return Err(Error::bad(format!(
                        "{place}: at most {} named vectors (max_named_vectors)",
                        limits.max_named_vectors
                    )));
                }
                None => vectors.push((name.into(), vector)),
            }
            Ok(())
        })?;
        Ok(vectors)
    }
}

/// Reads `{indices, values}`.
fn read_sparse(reader: &mut Reader<'_>) -> Result<SparseVector> {
    let place = reader.path();
    let (mut indices, mut values): (Option<Vec<u32>>, Option<Vec<f32>>) = (None, None);
    let mut inference = false;
    reader.object(|r, key| {
        match key {
            "indices" => indices = r.optional(read_indices)?,
            "values" => values = r.optional(read_values)?,
            key if INFERENCE_KEYS.contains(&key) => {
                inference = true;
                r.skip()?;
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    if inference {
        return Err(reader.error(NO_INFERENCE));
    }
    let indices = indices.ok_or_else(|| reader.missing("indices"))?;
    let values = values.ok_or_else(|| reader.missing("values"))?;
    SparseVector::new(indices, values).map_err(|fault| Error::bad(format!("{place}.{fault}")))
}

fn read_indices(reader: &mut Reader<'_>) -> Result<Vec<u32>> {
    list(reader, MAX_ELEMENTS, "elements a sparse vector", |r| {
        r.integer_in(0, u64::from(u32::MAX)).map(|index| index as u32)
    })
}

fn read_values(reader: &mut Reader<'_>) -> Result<Vec<f32>> {
    let mut values = Vec::new();
    reader.f32_array(&mut values)?;
    Ok(values)
}
