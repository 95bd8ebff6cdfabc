//! A vector field that is being embedded anew by another model (C19): what the configuration keeps of it.
//!
//! The new vectors are in a field of their own, the *shadow*. Shadows are the last of the dense fields, and lookups by name
//! find none of them. A shadow has the identity that its field gets by the commit, so its rows and its graph stay as they
//! are then.

use super::fields::ObjectWriter;
use super::{CollectionConfig, FieldModel, VectorParams, fields, write_path};
use crate::embedding::MAX_TEXT_BYTES;
use crate::error::Error;
use crate::faults::PlantedFault;
use crate::json::{Kind, Reader, write_string, write_u64};
use crate::payload::{Document, JsonPath, JsonStr, Value};
use crate::types::OpNumber;
use std::borrow::Cow;

/// A re-embedding under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Reembedding {
    /// Name of the field.
    pub field: Box<str>,
    /// The operation that began it.
    pub begun: OpNumber,
    /// Where payloads have the texts.
    pub text_key: JsonPath,
    /// Texts a second at most.
    pub rate: Option<u64>,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReembedding {
    /// The new model. What it leaves out of `text_key` and `required` is that of the field's model.
    pub model: FieldModel,
    /// Components of the new vectors.
    pub size: usize,
    /// Texts a second at most.
    pub rate: Option<u64>,
}

impl FieldModel {
    /// Reads a model, or its name alone.
    ///
    /// # Errors
    /// `BadRequest` or `MissingField` that names the place.
    pub fn parse_or_name(reader: &mut Reader<'_>) -> Result<FieldModel, Error> {
        if reader.peek()? == Kind::String {
            let name = super::model::read_name(reader)?;
            return Ok(FieldModel { name, revision: None, text_key: None, required: None });
        }
        FieldModel::parse(reader)
    }
}

/// Reads `rate`: texts a second.
///
/// # Errors
/// `BadRequest` that names the place.
pub fn read_rate(reader: &mut Reader<'_>) -> Result<Option<u64>, Error> {
    fields::integer(reader, 1)
}

impl Reembedding {
    /// The text that is embedded for a payload: a string of 1 byte to 1 MiB.
    pub fn text<'a>(&self, payload: &'a [u8]) -> Option<Cow<'a, str>> {
        let raw = self.raw_text(payload)?;
        let text = raw.decode();
        (1..=MAX_TEXT_BYTES).contains(&text.len()).then_some(text)
    }

    /// Whether two payloads have the same text, or none.
    pub fn is_same_text(&self, before: &[u8], after: &[u8]) -> bool {
        let raw = |payload| self.raw_text(payload).map(|text| text.raw());
        raw(before) == raw(after)
    }

    fn raw_text<'a>(&self, payload: &'a [u8]) -> Option<JsonStr<'a>> {
        let mut found = None;
        Document::new(payload).values_at(&self.text_key, |value| {
            if let Value::String(text) = value {
                found = Some(text);
            }
        });
        found
    }

    /// The name of its shadow in messages. No client can declare a field of such a name.
    fn shadow_name(&self) -> Box<str> {
        format!("{}/reembedding", self.field).into()
    }

    fn write(&self, params: &VectorParams, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        write_string(object.key("field"), &self.field);
        write_u64(object.key("begun"), self.begun.get());
        write_path(object.key("text_key"), &self.text_key);
        object.field("rate", self.rate, write_u64);
        params.write(object.key("params"), false);
        object.end();
    }

    fn parse(reader: &mut Reader<'_>) -> Result<(Reembedding, VectorParams), Error> {
        let (mut field, mut begun, mut text_key, mut rate, mut params) = (None, None, None, None, None);
        reader.object(|r, key| {
            match key {
                "field" => field = Some(Box::from(&*r.string()?)),
                "begun" => begun = Some(OpNumber::new(r.u64()?)),
                "text_key" => text_key = Some(JsonPath::read(r)?),
                "rate" => rate = read_rate(r)?,
                "params" => params = Some(VectorParams::parse(r)?),
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let field = field.ok_or_else(|| reader.missing("field"))?;
        let begun = begun.ok_or_else(|| reader.missing("begun"))?;
        let text_key = text_key.ok_or_else(|| reader.missing("text_key"))?;
        let params = params.ok_or_else(|| reader.missing("params"))?;
        Ok((Reembedding { field, begun, text_key, rate }, params))
    }
}

impl CollectionConfig {
    /// The re-embeddings under way, in the order of their shadows.
    pub fn reembeddings(&self) -> &[Reembedding] {
        &self.reembeddings
    }

    /// The re-embedding of the field of that name.
    ///
    /// # Errors
    /// `VectorNotFound` when the name is not declared, `ReembeddingNotFound` when there is none.
    pub fn reembedding_of(&self, name: &str) -> Result<&Reembedding, Error> {
        self.declared_position(name)?;
        let found = self.reembeddings.iter().find(|one| *one.field == *name);
        found.ok_or_else(|| Error::ReembeddingNotFound(name.to_string()))
    }

    /// How many of the dense fields are declared. Those behind them are shadows.
    pub(super) fn declared(&self) -> usize {
        self.vectors.len() - self.reembeddings.len()
    }

    /// Whether the field at a position is a shadow, which is hidden from clients.
    pub fn is_shadow(&self, position: usize) -> bool {
        self.reembedding_at(position).is_some()
    }

    /// The re-embedding whose shadow is at a position.
    pub fn reembedding_at(&self, position: usize) -> Option<&Reembedding> {
        self.reembeddings.get(position.checked_sub(self.declared())?)
    }

    /// Position of the shadow of a re-embedding of this configuration.
    pub fn shadow_of(&self, reembedding: &Reembedding) -> usize {
        let at = self.reembeddings.iter().position(|one| one.field == reembedding.field);
        self.declared() + at.unwrap_or_default()
    }

    /// Position of the shadow of the field at a position.
    pub fn shadow_at(&self, position: usize) -> Option<usize> {
        if self.reembeddings.is_empty() {
            return None;
        }
        let (name, _) = self.vectors.get(position).filter(|_| position < self.declared())?;
        let at = self.reembeddings.iter().position(|one| one.field == *name)?;
        Some(self.declared() + at)
    }

    /// This configuration with a re-embedding that operation `op` begins.
    ///
    /// # Errors
    /// `VectorNotFound`; `ReembeddingConflict` where there is one of the field; `BadRequest` for a field of another kind, or
    /// without a text to embed.
    pub fn with_reembedding(
        &self,
        op: OpNumber,
        name: &str,
        asked: &NewReembedding,
    ) -> Result<CollectionConfig, Error> {
        let position = self.declared_position(name)?;
        let params = self.vectors.get(position).map(|(_, params)| params);
        let Some(params) = params.filter(|params| params.multivector.is_none()) else {
            return Err(Error::bad(format!(
                "vector_name: vector '{name}' is not a field of one dense vector a point, which alone can be embedded anew"
            )));
        };
        if self.reembeddings.iter().any(|one| *one.field == *name) {
            return Err(Error::ReembeddingConflict(format!(
                "vector '{name}' is being embedded anew already"
            )));
        }
        let model = asked.model.completed_by(params.model.as_ref());
        let Some(text_key) = &model.text_key else {
            return Err(Error::bad(format!(
                "model.text_key: the model of vector '{name}' has none, so the request must say where payloads have the texts"
            )));
        };
        let text_key = text_path(text_key)?;
        let begun = Reembedding { field: name.into(), begun: op, text_key, rate: asked.rate };
        let mut config = self.clone();
        config.vectors.push((
            begun.shadow_name(),
            VectorParams { size: asked.size, model: Some(model), ..params.clone() },
        ));
        config.reembeddings.push(begun);
        config.layout.change(op);
        Ok(config)
    }

    /// This configuration after the re-embedding of a field has come to its end: operation `op` puts the shadow in the place
    /// of the field.
    ///
    /// # Errors
    /// As [`reembedding_of`](Self::reembedding_of).
    pub fn with_new_vectors(&self, op: OpNumber, name: &str) -> Result<CollectionConfig, Error> {
        let ended = self.reembedding_of(name)?;
        let (_, params) = &self.vectors[self.shadow_of(ended)];
        let mut config = self.without_reembedding(op, name)?;
        if let Some(at) = config.field_index(name) {
            let model = PlantedFault::CommitForgetsModel.forgets(params.model.clone());
            config.vectors[at].1 = VectorParams { model, ..params.clone() };
        }
        config.layout.add(name, ended.begun);
        Ok(config)
    }

    /// This configuration without the re-embedding of a field, which operation `op` gives up.
    ///
    /// # Errors
    /// As [`reembedding_of`](Self::reembedding_of).
    pub fn without_reembedding(&self, op: OpNumber, name: &str) -> Result<CollectionConfig, Error> {
        self.reembedding_of(name)?;
        let mut config = self.clone();
        config.drop_reembedding(name);
        config.layout.change(op);
        Ok(config)
    }

    /// Takes out the re-embedding of a field, if there is one.
    pub(super) fn drop_reembedding(&mut self, name: &str) {
        if let Some(at) = self.reembeddings.iter().position(|one| *one.field == *name) {
            self.vectors.remove(self.declared() + at);
            self.reembeddings.remove(at);
        }
    }

    /// Gives the shadows what their fields have, apart from size and model.
    pub(super) fn follow_fields(&mut self) {
        for at in 0..self.reembeddings.len() {
            let Some(field) = self.field(&self.reembeddings[at].field).cloned() else { continue };
            let place = self.declared() + at;
            let shadow = &mut self.vectors[place].1;
            *shadow = VectorParams { size: shadow.size, model: shadow.model.clone(), ..field };
        }
    }

    /// Reads what [`write_reembeddings`](Self::write_reembeddings) wrote; the declared fields have been read.
    pub(super) fn read_reembeddings(
        reader: &mut Reader<'_>,
    ) -> Result<Vec<(Reembedding, VectorParams)>, Error> {
        let mut all = Vec::new();
        reader.array(|r, _| {
            all.push(Reembedding::parse(r)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Adds re-embeddings that were read.
    pub(super) fn restore_reembeddings(&mut self, read: Vec<(Reembedding, VectorParams)>) {
        for (reembedding, params) in read {
            self.vectors.push((reembedding.shadow_name(), params));
            self.reembeddings.push(reembedding);
        }
    }

    /// Appends the re-embeddings with the parameters of their shadows.
    pub(super) fn write_reembeddings(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        let shadows = self.vectors[self.declared()..].iter();
        for (at, (reembedding, (_, params))) in self.reembeddings.iter().zip(shadows).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            reembedding.write(params, out);
        }
        out.push(b']');
    }
}

/// The path of a text, which names one value.
fn text_path(text: &str) -> Result<JsonPath, Error> {
    let path = JsonPath::parse(text).map_err(|error| Error::bad(format!("model.text_key: {error}")))?;
    if path.names_one_value() {
        return Ok(path);
    }
    Err(Error::bad("model.text_key: the path must name one value, and has []"))
}
