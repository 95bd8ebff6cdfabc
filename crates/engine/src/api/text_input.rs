//! A text in place of a vector: `{text, model, options}` (C16).

use super::body::{Result, field_error};
use crate::config::fields::shorten;
use crate::embedding::{Bm25, EmbeddingPurpose, MAX_TEXT_BYTES, MAX_TEXTS, MAX_TEXTS_BYTES};
use crate::error::Error;
use crate::json::{Mark, Reader};
use crate::types::TextInput;
use crate::vectors::VectorValue;

/// Stands for the vector of a text that is given out, while the rest of the body is read.
const PLACEHOLDER: [f32; 1] = [0.0];

/// Reads the texts of one request. The model of the last options is kept: most requests have one set of options.
#[derive(Default)]
pub(super) struct TextInputReader {
    purpose: EmbeddingPurpose,
    last: Option<(Box<str>, Bm25)>,
    /// The model of the input that was read last.
    model: Option<Box<str>>,
    /// Its text, where the vector of it was in the body.
    text: Option<Box<str>>,
    /// Whether the texts are counted elsewhere.
    takes_any_number: bool,
}

/// The fields of an input.
#[derive(Default)]
struct Fields<'a> {
    text: Option<Box<str>>,
    model: Option<Box<str>>,
    /// A reader before the options, and their text.
    options: Option<(Reader<'a>, &'a str)>,
    /// The vector of the text, where it has been made.
    vector: Option<Vec<f32>>,
}

impl TextInputReader {
    pub(super) fn new(purpose: EmbeddingPurpose) -> TextInputReader {
        TextInputReader { purpose, ..TextInputReader::default() }
    }

    /// A reader for a request of which not all texts need a vector.
    pub(super) fn with_any_number_of_texts(self) -> TextInputReader {
        TextInputReader { takes_any_number: true, ..self }
    }

    /// Reads an input of a model, and answers its vector. A text of a model that is not built in is marked, where the reader
    /// takes marks.
    pub(super) fn vector(&mut self, reader: &mut Reader<'_>) -> Result<VectorValue> {
        let start = reader.position();
        let fields = read_fields(reader)?;
        let model = fields.model.ok_or_else(|| reader.missing("model"))?;
        self.model = Some(model.clone());
        if let Some(vector) = fields.vector {
            self.text = fields.text;
            return Ok(VectorValue::Dense(vector));
        }
        let text = fields.text.ok_or_else(|| reader.missing("text"))?;
        if text.len() > MAX_TEXT_BYTES {
            let why = format!("at most {MAX_TEXT_BYTES} bytes a text, got {}", text.len());
            return Err(field_error(reader, "text", why));
        }
        if is_built_in(&model) {
            let purpose = self.purpose;
            let model = self.built_in(fields.options)?;
            return Ok(VectorValue::Sparse(model.embed(&text, purpose)));
        }
        if let Some((mut options, _)) = fields.options {
            options.object(|r, _| Err(r.error(format!("the model '{}' has no options", shorten(&model)))))?;
        }
        if !self.takes_any_number && reader.marked().is_some_and(|marked| marked >= MAX_TEXTS) {
            return Err(field_error(reader, "text", format!("at most {MAX_TEXTS} texts a request")));
        }
        reader.mark(start);
        Ok(VectorValue::Dense(PLACEHOLDER.to_vec()))
    }

    /// The model of the input that was read last, once.
    pub(super) fn take_model(&mut self) -> Option<Box<str>> {
        self.model.take()
    }

    /// The text of the input that was read last, once, where the vector of it was in the body.
    pub(super) fn take_text(&mut self) -> Option<Box<str>> {
        self.text.take()
    }

    fn built_in(&mut self, options: Option<(Reader<'_>, &str)>) -> Result<&Bm25> {
        let Some((mut reader, raw)) = options else { return Ok(Bm25::with_defaults()) };
        if self.last.as_ref().is_none_or(|(known, _)| **known != *raw) {
            self.last = Some((raw.into(), Bm25::read_options(&mut reader)?));
        }
        Ok(match &self.last {
            Some((_, model)) => model,
            None => Bm25::with_defaults(),
        })
    }
}

fn read_fields<'a>(reader: &mut Reader<'a>) -> Result<Fields<'a>> {
    let mut fields = Fields::default();
    reader.object(|r, key| {
        match key {
            "text" => fields.text = r.optional(|r| r.string().map(|text| Box::from(&*text)))?,
            "model" => fields.model = r.optional(read_model)?,
            "options" => fields.options = r.optional(read_options)?,
            // Put in by whoever took the text out: see `crate::embedding::insert_vectors`.
            "vector" if r.marked().is_some() => fields.vector = r.optional(read_components)?,
            "image" | "object" if !r.take_null()? => {
                return Err(r.error("models take texts only, send the vector itself"));
            }
            "image" | "object" => {}
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(fields)
}

/// A reader before the options, and their text.
fn read_options<'a>(reader: &mut Reader<'a>) -> Result<(Reader<'a>, &'a str)> {
    Ok((reader.clone(), reader.raw()?))
}

/// Reads the components of a vector.
pub(super) fn read_components(reader: &mut Reader<'_>) -> Result<Vec<f32>> {
    let mut components = Vec::new();
    reader.f32_array(&mut components)?;
    if components.is_empty() { Err(reader.error("dense vector must not be empty")) } else { Ok(components) }
}

/// Whether a model is built in.
pub(super) fn is_built_in(model: &str) -> bool {
    model.eq_ignore_ascii_case(Bm25::NAME)
}

/// The name of a model. One that is not built in is known only to who takes the texts of the request.
fn read_model(reader: &mut Reader<'_>) -> Result<Box<str>> {
    let name = reader.string()?;
    if is_built_in(&name) || reader.marked().is_some() {
        return Ok(Box::from(&*name));
    }
    Err(reader.error(format!("unknown model '{}', expected {}", shorten(&name), Bm25::NAME)))
}

/// The error that gives out the texts that were marked in a body.
pub(super) fn wanted(body: &[u8], marks: &[Mark]) -> Error {
    let inputs = match inputs(body, marks) {
        Ok(inputs) => inputs,
        Err(error) => return error,
    };
    let mut bytes = 0;
    for input in &inputs {
        bytes += input.text.len();
        if bytes > MAX_TEXTS_BYTES {
            let place = &input.place;
            return Error::bad(format!("{place}.text: at most {MAX_TEXTS_BYTES} bytes of texts a request"));
        }
    }
    Error::VectorsWanted(inputs)
}

/// The texts that were marked in a body.
pub(super) fn inputs(body: &[u8], marks: &[Mark]) -> Result<Vec<TextInput>> {
    let input = |Mark { place, start, end }: &Mark| {
        let (text, model) = read_marked(&mut Reader::new(&body[*start..*end])?)?;
        Ok(TextInput { place: place.clone(), model: model.into(), text: text.into(), at: end - 1 })
    };
    marks.iter().map(input).collect()
}

/// The text and the model of an input that has been read before.
fn read_marked(reader: &mut Reader<'_>) -> Result<(Box<str>, Box<str>)> {
    reader.take_marks_from_now();
    let fields = read_fields(reader)?;
    let text = fields.text.ok_or_else(|| reader.missing("text"))?;
    Ok((text, fields.model.ok_or_else(|| reader.missing("model"))?))
}
