//! The model that made the vectors of a field, and what requests say of it (C19).

use super::CollectionConfig;
use super::fields::{self, ObjectWriter};
use crate::embedding::Bm25;
use crate::error::Error;
use crate::json::{Kind, Reader, write_string};
use std::fmt;

/// The longest name of a model, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// `model`: what a collection declares of the model of a vector field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldModel {
    /// Its name, which requests are compared with.
    pub name: Box<str>,
    /// Which version of it; kept and shown.
    pub revision: Option<Box<str>>,
    /// The payload field with the text that a vector is of; kept and shown.
    pub text_key: Option<Box<str>>,
    /// Whether a request has to name the model of its vectors.
    pub required: Option<bool>,
}

impl FieldModel {
    /// Reads the object.
    ///
    /// # Errors
    /// `BadRequest` or `MissingField` that names the place.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<FieldModel, Error> {
        let (mut name, mut revision, mut text_key, mut required) = (None, None, None, None);
        reader.object(|r, key| {
            match key {
                "name" => name = r.optional(read_name)?,
                "revision" => revision = r.optional(read_name)?,
                "text_key" => text_key = r.optional(read_name)?,
                "required" => required = fields::flag(r)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        let name = name.ok_or_else(|| reader.missing("name"))?;
        Ok(FieldModel { name, revision, text_key, required })
    }

    /// This model with `text_key` and `required` of another one where it has none itself.
    pub(super) fn completed_by(&self, other: Option<&FieldModel>) -> FieldModel {
        let (text_key, required) =
            other.map_or((None, None), |other| (other.text_key.clone(), other.required));
        FieldModel {
            text_key: self.text_key.clone().or(text_key),
            required: self.required.or(required),
            ..self.clone()
        }
    }

    /// Appends it as it was requested.
    pub fn write(&self, out: &mut Vec<u8>) {
        let text = |out: &mut Vec<u8>, text: &str| write_string(out, text);
        let mut object = ObjectWriter::start(out);
        write_string(object.key("name"), &self.name);
        object.field("revision", self.revision.as_deref(), text);
        object.field("text_key", self.text_key.as_deref(), text);
        object.field("required", self.required, fields::write_flag);
        object.end();
    }

    /// Whether it is the model of that name.
    fn is(&self, name: &str) -> bool {
        let built_in = |name: &str| name.eq_ignore_ascii_case(Bm25::NAME);
        *self.name == *name || (built_in(&self.name) && built_in(name))
    }
}

/// Reads a `model` of a patch: `null` removes it.
pub(super) fn parse_patch(reader: &mut Reader<'_>) -> Result<Option<FieldModel>, Error> {
    reader.optional(FieldModel::parse)
}

pub(super) fn read_name(reader: &mut Reader<'_>) -> Result<Box<str>, Error> {
    let name = reader.string()?;
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(reader.error(format!("must have 1 to {MAX_NAME_BYTES} bytes, got {}", name.len())));
    }
    Ok(Box::from(&*name))
}

/// What a request says of the models of all its vectors that are no texts: `model`, a name or an object from field to name.
#[derive(Clone, Debug, Default)]
pub struct NamedModels {
    all: Option<Box<str>>,
    by_field: Vec<(Box<str>, Box<str>, String)>,
}

impl NamedModels {
    /// Reads the value of `model`; at most `max_fields` names.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub(crate) fn read(reader: &mut Reader<'_>, max_fields: usize) -> Result<NamedModels, Error> {
        let mut named = NamedModels::default();
        if reader.peek()? != Kind::Object {
            named.all = Some(read_name(reader)?);
            return Ok(named);
        }
        let place = reader.path();
        reader.object(|r, field| {
            if let Some(name) = r.optional(read_name)? {
                named.by_field.retain(|(known, ..)| **known != *field);
                if named.by_field.len() == max_fields {
                    return Err(Error::bad(format!("{place}: at most {max_fields} fields")));
                }
                named.by_field.push((field.into(), name, r.path()));
            }
            Ok(())
        })?;
        Ok(named)
    }

    fn of(&self, field: &str) -> Option<&str> {
        let own = self.by_field.iter().find(|(known, ..)| **known == *field).map(|(_, name, _)| &**name);
        own.or(self.all.as_deref())
    }
}

/// A vector of a request, or several of one field and one model.
#[derive(Clone, PartialEq)]
struct VectorModel {
    field: Box<str>,
    /// The model that made it, where the request says so.
    model: Option<Box<str>>,
    /// Where the first of them stands.
    place: String,
    /// The request names the field where it names the models.
    is_named: bool,
}

/// Without the place, which differs between two forms of the same request.
impl fmt::Debug for VectorModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.field, self.model)
    }
}

/// The fields of a request's vectors and the models that it says they are of; none twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorModels(Vec<VectorModel>);

impl VectorModels {
    /// Notes a vector of a field. `place` is called where the field does not have one of that model yet.
    pub(crate) fn note(&mut self, field: &str, model: Option<&str>, place: impl FnOnce() -> String) {
        let is_known = |known: &VectorModel| *known.field == *field && known.model.as_deref() == model;
        if !self.0.iter().any(is_known) {
            self.0.push(VectorModel {
                field: field.into(),
                model: model.map(Box::from),
                place: place(),
                is_named: false,
            });
        }
    }

    /// Gives vectors without a model the model that the request names for them.
    #[must_use]
    pub(crate) fn naming(mut self, named: &NamedModels) -> VectorModels {
        for vector in self.0.iter_mut().filter(|vector| vector.model.is_none()) {
            vector.model = named.of(&vector.field).map(Box::from);
        }
        self.0.extend(named.by_field.iter().map(|(field, model, place)| VectorModel {
            field: field.clone(),
            model: Some(model.clone()),
            place: place.clone(),
            is_named: true,
        }));
        self
    }

    /// Compares them with what a collection declares.
    ///
    /// # Errors
    /// `ModelMismatch` for another model; `BadRequest` for none where the field requires one; `VectorNotFound` for one that
    /// names the model of a field that is not declared.
    pub fn check(&self, config: &CollectionConfig) -> Result<(), Error> {
        for VectorModel { field, model, place, is_named } in &self.0 {
            if *is_named {
                config.declared_position(field)?;
            }
            let Some(declared) = config.model_of(field) else { continue };
            match model {
                Some(model) if !declared.is(model) => {
                    return Err(Error::ModelMismatch {
                        place: place.clone(),
                        field: field.to_string(),
                        declared: declared.name.to_string(),
                        named: model.to_string(),
                    });
                }
                None if declared.required == Some(true) => {
                    return Err(Error::bad(format!(
                        "{place}: vector field '{field}' requires the name of its model ('{}')",
                        declared.name
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
