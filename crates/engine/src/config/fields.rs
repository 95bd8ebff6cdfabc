//! Reading and writing the fields of a configuration object. Each may be absent.

use crate::error::Error;
use crate::json::{Reader, write_key};
use crate::limits::Limits;

type Result<T> = std::result::Result<T, Error>;

/// Reads an optional integer that is at least `min`.
pub(super) fn integer(reader: &mut Reader<'_>, min: u64) -> Result<Option<u64>> {
    reader.optional(|r| r.integer_in(min, u64::MAX))
}

/// Reads an optional integer from `min` to `max` as a `usize`.
pub(super) fn size(reader: &mut Reader<'_>, min: u64, max: u64) -> Result<Option<usize>> {
    reader.optional(|r| r.integer_in(min, max).map(|value| value as usize))
}

/// Reads an optional boolean.
pub(super) fn flag(reader: &mut Reader<'_>) -> Result<Option<bool>> {
    reader.optional(Reader::bool)
}

/// Reads an optional number from `min` to `max`.
pub(super) fn fraction(reader: &mut Reader<'_>, min: f64, max: f64) -> Result<Option<f64>> {
    reader.optional(|r| {
        let value = r.f64()?;
        if (min..=max).contains(&value) {
            Ok(value)
        } else {
            Err(r.error(format!("value {value} invalid, must be from {min} to {max}")))
        }
    })
}

/// Reads a recall that searches are to reach (C14).
pub(crate) fn recall(reader: &mut Reader<'_>) -> Result<f64> {
    let value = reader.f64()?;
    if !(0.5..=0.999).contains(&value) {
        return Err(reader.error(format!("value {value} invalid, must be 0.5 to 0.999")));
    }
    Ok(value)
}

/// Reads the name of one of `choices`.
pub(crate) fn choice<T: Copy>(reader: &mut Reader<'_>, choices: &[(&str, T)]) -> Result<T> {
    let name = reader.string()?;
    if let Some((_, value)) = choices.iter().find(|(known, _)| *known == name) {
        return Ok(*value);
    }
    let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
    Err(reader.error(format!("expected one of {}, got '{}'", known.join(", "), shorten(&name))))
}

/// The first 100 characters of a text of the request, for a message.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 100;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Adds what a request says of a named vector. The last of a repeated name counts.
///
/// # Errors
/// `BadRequest` that names `place`, the map of the request, if it has too many names.
pub(crate) fn insert_named<T>(
    found: &mut Vec<(Box<str>, T)>,
    name: &str,
    value: T,
    limits: &Limits,
    place: &str,
) -> Result<()> {
    match found.iter().position(|(known, _)| **known == *name) {
        Some(earlier) => found[earlier].1 = value,
        None if found.len() >= limits.max_named_vectors => {
            return Err(Error::bad(format!(
                "{place}: at most {} named vectors a collection (max_named_vectors)",
                limits.max_named_vectors
            )));
        }
        None => found.push((name.into(), value)),
    }
    Ok(())
}

/// Appends a boolean.
pub(super) fn write_flag(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Appends an object field by field, commas included.
pub(crate) struct ObjectWriter<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> ObjectWriter<'o> {
    /// Opens the object.
    pub(crate) fn start(out: &'o mut Vec<u8>) -> ObjectWriter<'o> {
        out.push(b'{');
        ObjectWriter { out, empty: true }
    }

    /// Appends the key of a new field. The caller appends the value to the buffer returned.
    pub(crate) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
        write_key(self.out, key);
        self.out
    }

    /// Appends a field if it is present. `write` appends its value.
    pub(crate) fn field<T>(&mut self, key: &str, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
        if let Some(value) = value {
            write(self.key(key), value);
        }
    }

    /// Closes the object.
    pub(crate) fn end(self) {
        self.out.push(b'}');
    }
}
