//! Vectors of points and of queries, in their three forms (C2.3), and the texts that stand for them (C16).

use super::body::{Result, list};
use super::text_input::TextInputReader;
use crate::collection::update::NamedVectors;
use crate::config::VectorModels;
use crate::embedding::EmbeddingPurpose;
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::limits::Limits;
use crate::vectors::{MAX_ELEMENTS, MultiVector, SparseVector, VectorValue};

/// Keys of an input of a model.
pub(super) const INPUT_KEYS: [&str; 5] = ["text", "image", "object", "model", "options"];

/// Bytes of a short component in a body, its comma included.
const USUAL_COMPONENT_BYTES: usize = 8;
/// Components that are reserved for the first vector.
const MAX_RESERVED: usize = 1024;

/// Reads a vector in any of its forms.
pub(crate) fn read_vector(reader: &mut Reader<'_>) -> Result<VectorValue> {
    VectorReader::of_documents().value(reader)
}

/// Reads the vectors of one request. Memory is reserved for a vector of the previous one's length.
#[derive(Default)]
pub(super) struct VectorReader {
    last_len: usize,
    texts: TextInputReader,
    /// The fields and models of what was read, by name of the field.
    models: VectorModels,
}

impl VectorReader {
    /// A reader of vectors that are stored.
    pub(super) fn of_documents() -> VectorReader {
        VectorReader::default()
    }

    /// A reader of vectors that are searched with.
    pub(super) fn of_queries() -> VectorReader {
        VectorReader { texts: TextInputReader::new(EmbeddingPurpose::Query), ..VectorReader::default() }
    }

    /// A reader for a request of which not all texts need a vector.
    pub(super) fn with_any_number_of_texts(self) -> VectorReader {
        VectorReader { texts: self.texts.with_any_number_of_texts(), ..self }
    }

    /// The fields of all vectors so far, and the models that made them.
    pub(super) fn into_models(self) -> VectorModels {
        self.models
    }

    /// Notes that the vector that was read last is one of `field`.
    pub(super) fn note(&mut self, reader: &Reader<'_>, field: &str) {
        let model = self.texts.take_model();
        self.models.note(field, model.as_deref(), || reader.path());
    }

    /// The model of the vector that was read last, if it was made by one.
    pub(super) fn take_model(&mut self) -> Option<Box<str>> {
        self.texts.take_model()
    }

    /// Reads a vector in any form: numbers, rows of numbers, `{indices, values}`, or `{text, model}`.
    pub(super) fn value(&mut self, reader: &mut Reader<'_>) -> Result<VectorValue> {
        match reader.peek()? {
            Kind::Object if has_input(reader)? => self.texts.vector(reader),
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
            0 => (reader.remaining() / USUAL_COMPONENT_BYTES).min(MAX_RESERVED),
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
        if reader.peek()? != Kind::Object || has_input(reader)? {
            let vector = self.value(reader)?;
            self.note(reader, "");
            return Ok(vec![("".into(), vector)]);
        }
        let place = reader.path();
        let mut vectors: NamedVectors = Vec::new();
        reader.object(|r, name| {
            if r.take_null()? {
                return Ok(());
            }
            let vector = self.value(r)?;
            self.note(r, name);
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

/// Whether the next object is an input of a model: it names the model, or has a text. A map of vectors may have these
/// names, but no strings. Consumes nothing.
fn has_input(reader: &mut Reader<'_>) -> Result<bool> {
    let is_input_key = |key: &str| INPUT_KEYS.contains(&key);
    if !reader.peek_key()?.is_some_and(|key| is_input_key(&key)) {
        return Ok(false);
    }
    let mut has_string = false;
    reader.clone().object(|r, key| {
        has_string |= is_input_key(key) && r.peek()? == Kind::String;
        r.skip()
    })?;
    Ok(has_string)
}

/// Reads `{indices, values}`.
fn read_sparse(reader: &mut Reader<'_>) -> Result<SparseVector> {
    let place = reader.path();
    let (mut indices, mut values): (Option<Vec<u32>>, Option<Vec<f32>>) = (None, None);
    reader.object(|r, key| {
        match key {
            "indices" => indices = r.optional(read_indices)?,
            "values" => values = r.optional(read_values)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
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
