//! Bodies of the requests that embed a vector field anew (C19).

use super::body::{self, Result, field_error, list};
use super::strictness::RequestBody;
use super::text_input::{TextInputReader, is_built_in, read_components};
use crate::collection::{Ending, NewVector};
use crate::config::fields::shorten;
use crate::config::{FieldModel, MAX_VECTOR_SIZE, NewReembedding, read_rate, read_vector_size};
use crate::embedding::{Bm25, EmbeddingPurpose, MAX_TEXTS};
use crate::error::Error;
use crate::json::Reader;
use crate::types::{OpNumber, PointOffset, TextInput};

/// The text whose vector says how long those of a model are.
const TRIAL: &str = "text";

/// What is asked for, before the model was tried.
#[derive(Clone, Debug)]
pub struct ReembedRequest {
    model: FieldModel,
    size: Option<usize>,
    rate: Option<u64>,
    /// Components of the vector with which the model was tried.
    tried: Option<usize>,
    /// Whether models that are not built in can be asked.
    gives_out_texts: bool,
    /// The byte of the body before which that vector is to be put.
    end: usize,
}

/// `POST …/vectors/{name}/reembed`.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn reembed_vectors(body: &(impl RequestBody + ?Sized)) -> Result<ReembedRequest> {
    let end = body.bytes().iter().rposition(|byte| *byte == b'}').unwrap_or_default();
    let asked = body::parse(body, read_new)?;
    Ok(ReembedRequest { gives_out_texts: body.gives_out_texts(), end, ..asked })
}

impl ReembedRequest {
    /// Whether the model was tried.
    pub fn is_tried(&self) -> bool {
        self.tried.is_some()
    }

    /// The same request before a size was tried: with the size that it named, or 1.
    pub fn untried(&self) -> NewReembedding {
        NewReembedding { model: self.model.clone(), size: self.size.unwrap_or(1), rate: self.rate }
    }

    /// The re-embedding, where the model was tried.
    ///
    /// # Errors
    /// `VectorsWanted` for a text with which it is tried; `BadRequest` for a model that cannot be asked, or makes vectors of
    /// another size.
    pub fn tried(self) -> Result<NewReembedding> {
        let name = &self.model.name;
        if is_built_in(name) {
            let why = format!("model: {} makes sparse vectors, expected dense ones", Bm25::NAME);
            return Err(Error::bad(why));
        }
        if !self.gives_out_texts {
            let (name, known) = (shorten(name), Bm25::NAME);
            return Err(Error::bad(format!("model: unknown model '{name}', expected {known}")));
        }
        let Some(got) = self.tried else {
            let (model, text) = (name.to_string(), TRIAL.to_string());
            return Err(Error::VectorsWanted(vec![TextInput {
                place: String::new(),
                model,
                text,
                at: self.end,
            }]));
        };
        if got > MAX_VECTOR_SIZE || self.size.is_some_and(|size| size != got) {
            let expected = self.size.map_or(format!("at most {MAX_VECTOR_SIZE}"), |size| size.to_string());
            return Err(Error::bad(format!(
                "size: expected vectors of {expected} components, and the model '{name}' makes {got}"
            )));
        }
        Ok(NewReembedding { size: got, ..self.untried() })
    }
}

fn read_new(reader: &mut Reader<'_>) -> Result<ReembedRequest> {
    let (mut model, mut size, mut rate, mut tried) = (None, None, None, None);
    reader.object(|r, key| {
        match key {
            "model" => model = r.optional(FieldModel::parse_or_name)?,
            "size" => size = r.optional(read_vector_size)?,
            "rate" => rate = read_rate(r)?,
            // Put in by whoever took the text out.
            "vector" if r.marked().is_some() => {
                tried = r.optional(read_components)?.map(|components| components.len());
            }
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    let model = model.ok_or_else(|| reader.missing("model"))?;
    Ok(ReembedRequest { model, size, rate, tried, gives_out_texts: false, end: 0 })
}

/// `POST …/vectors/{name}/reembed/commit`.
///
/// # Errors
/// `BadRequest` that names the place.
pub fn commit_reembedding(body: &(impl RequestBody + ?Sized)) -> Result<Ending> {
    body::parse(body, |reader| {
        let mut allow_missing = false;
        reader.object(|r, key| {
            match key {
                "allow_missing" => allow_missing = r.optional(Reader::bool)?.unwrap_or_default(),
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        Ok(Ending::Commit { allow_missing })
    })
}

/// What a worker asks for: how many texts, and why those that it got last were not embedded.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place.
pub fn next_texts(body: &(impl RequestBody + ?Sized)) -> Result<(usize, Option<String>)> {
    body::parse(body, |reader| {
        let (mut limit, mut error) = (None, None);
        reader.object(|r, key| {
            match key {
                "limit" => limit = r.optional(Reader::u64)?,
                "error" => error = r.optional(|r| r.string().map(|text| text.to_string()))?,
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        let limit = limit.ok_or_else(|| reader.missing("limit"))?;
        if !(1..=MAX_TEXTS as u64).contains(&limit) {
            return Err(field_error(reader, "limit", format!("must be from 1 to {MAX_TEXTS}")));
        }
        Ok((limit as usize, error))
    })
}

/// What a worker sends back: the operation that began the re-embedding, and vectors of the texts that it got.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place; `VectorsWanted` for the texts.
pub fn fill_vectors(body: &(impl RequestBody + ?Sized)) -> Result<(OpNumber, Vec<NewVector>)> {
    body::parse(body, |reader| {
        let mut inputs = TextInputReader::new(EmbeddingPurpose::Document);
        let (mut begun, mut points) = (None, None);
        reader.object(|r, key| {
            match key {
                "begun" => begun = Some(OpNumber::new(r.u64()?)),
                "points" => points = Some(list(r, MAX_TEXTS, "points", |r| read_vector(r, &mut inputs))?),
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        let begun = begun.ok_or_else(|| reader.missing("begun"))?;
        Ok((begun, points.ok_or_else(|| reader.missing("points"))?))
    })
}

fn read_vector(reader: &mut Reader<'_>, inputs: &mut TextInputReader) -> Result<NewVector> {
    let (mut at, mut input) = (None, None);
    reader.object(|r, key| {
        match key {
            "at" => at = Some(r.u64()?),
            // The name of the point, for the failure of its text.
            "point" => r.skip()?,
            "input" => {
                let vector = inputs.vector(r)?;
                input = Some((inputs.take_text().unwrap_or_default(), vector));
            }
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let at = at.ok_or_else(|| reader.missing("at"))?;
    let at = u32::try_from(at).map_err(|_| field_error(reader, "at", "is no place of a point"))?;
    let (text, vector) = input.ok_or_else(|| reader.missing("input"))?;
    Ok(NewVector { at: PointOffset::new(at), text, vector })
}
