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

/// `POST …/vectors/{name}/reembed`.
///
/// # Errors
/// `BadRequest` or `MissingField` that names the place; `VectorsWanted` for a text with which the model is tried.
pub fn reembed_vectors(body: &(impl RequestBody + ?Sized)) -> Result<NewReembedding> {
    let read = body::parse(body, read_new)?;
    let New { model, size, rate, vector } = read;
    if is_built_in(&model.name) {
        return Err(Error::bad(format!("model: {} makes sparse vectors, expected dense ones", Bm25::NAME)));
    }
    if !body.gives_out_texts() {
        let (name, known) = (shorten(&model.name), Bm25::NAME);
        return Err(Error::bad(format!("model: unknown model '{name}', expected {known}")));
    }
    let Some(got) = vector else {
        let at = body.bytes().iter().rposition(|byte| *byte == b'}').unwrap_or_default();
        let (model, text) = (model.name.into_string(), TRIAL.to_string());
        return Err(Error::VectorsWanted(vec![TextInput { place: String::new(), model, text, at }]));
    };
    if got > MAX_VECTOR_SIZE || size.is_some_and(|size| size != got) {
        let expected = size.map_or(format!("at most {MAX_VECTOR_SIZE}"), |size| size.to_string());
        let name = &model.name;
        return Err(Error::bad(format!(
            "size: expected vectors of {expected} components, and the model '{name}' makes {got}"
        )));
    }
    Ok(NewReembedding { model, size: got, rate })
}

/// The fields of such a body.
struct New {
    model: FieldModel,
    size: Option<usize>,
    rate: Option<u64>,
    /// Components of the vector with which the model was tried.
    vector: Option<usize>,
}

fn read_new(reader: &mut Reader<'_>) -> Result<New> {
    let (mut model, mut size, mut rate, mut vector) = (None, None, None, None);
    reader.object(|r, key| {
        match key {
            "model" => model = r.optional(FieldModel::parse_or_name)?,
            "size" => size = r.optional(read_vector_size)?,
            "rate" => rate = read_rate(r)?,
            // Put in by whoever took the text out.
            "vector" if r.marked().is_some() => {
                vector = r.optional(read_components)?.map(|components| components.len());
            }
            _ => r.unknown_in_body()?,
        }
        Ok(())
    })?;
    Ok(New { model: model.ok_or_else(|| reader.missing("model"))?, size, rate, vector })
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
