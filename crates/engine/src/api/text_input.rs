//! A text in place of a vector: `{text, model, options}` (C16).

use super::body::{Result, field_error};
use crate::config::fields::shorten;
use crate::embedding::{Bm25, EmbeddingPurpose, MAX_TEXT_BYTES};
use crate::json::Reader;
use crate::vectors::VectorValue;

/// Reads the texts of one request. The model of the last options is kept: most requests have one set of options.
#[derive(Default)]
pub(super) struct TextInputReader {
    purpose: EmbeddingPurpose,
    last: Option<(Box<str>, Bm25)>,
}

impl TextInputReader {
    pub(super) fn new(purpose: EmbeddingPurpose) -> TextInputReader {
        TextInputReader { purpose, last: None }
    }

    /// Reads an input of a model, and answers its vector.
    pub(super) fn vector(&mut self, reader: &mut Reader<'_>) -> Result<VectorValue> {
        let (mut text, mut model) = (None, None);
        let mut has_options = false;
        reader.object(|r, key| {
            match key {
                "text" => text = r.optional(Reader::string)?,
                "model" => model = r.optional(check_model)?,
                "options" => has_options = r.optional(|r| self.read_options(r))?.is_some(),
                "image" | "object" if !r.take_null()? => {
                    return Err(r.error("models take texts only, send the vector itself"));
                }
                "image" | "object" => {}
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let text = text.ok_or_else(|| reader.missing("text"))?;
        model.ok_or_else(|| reader.missing("model"))?;
        if text.len() > MAX_TEXT_BYTES {
            let why = format!("at most {MAX_TEXT_BYTES} bytes a text, got {}", text.len());
            return Err(field_error(reader, "text", why));
        }
        let model = match &self.last {
            Some((_, model)) if has_options => model,
            _ => Bm25::with_defaults(),
        };
        Ok(VectorValue::Sparse(model.embed(&text, self.purpose)))
    }

    fn read_options(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let mut options = reader.clone();
        let raw = reader.raw()?;
        if self.last.as_ref().is_none_or(|(known, _)| **known != *raw) {
            self.last = Some((raw.into(), Bm25::read_options(&mut options)?));
        }
        Ok(())
    }
}

fn check_model(reader: &mut Reader<'_>) -> Result<()> {
    let name = reader.string()?;
    if name.eq_ignore_ascii_case(Bm25::NAME) {
        return Ok(());
    }
    Err(reader.error(format!("unknown model '{}', expected {}", shorten(&name), Bm25::NAME)))
}
