//! Point ids and field names, from bodies and from paths.

use super::body::Result;
use crate::config::fields::shorten;
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::payload::JsonPath;
use crate::types::{IdKind, PointId};

/// Reads an id of a point of the request's collection from a body.
pub(crate) fn read_id(reader: &mut Reader<'_>) -> Result<PointId> {
    let kind = reader.ids.kind;
    read_id_of(reader, kind)
}

/// Reads an id of a point of a collection of that kind.
pub(crate) fn read_id_of(reader: &mut Reader<'_>, kind: IdKind) -> Result<PointId> {
    let found = match reader.peek()? {
        Kind::Number => {
            let text = reader.number_text()?;
            text.parse().map(PointId::Num).map_err(|_| shorten(text))
        }
        Kind::String => {
            let text = reader.string()?;
            PointId::of_string(&text, kind).ok_or_else(|| format!("\"{}\"", shorten(&text)))
        }
        other => Err(other.word().to_string()),
    };
    found.map_err(|what| {
        let valid = kind.valid_values();
        reader.error(format!("value {what} is not a valid point ID, valid values are {valid}"))
    })
}

/// Reads the id of a request's path, percent-decoded.
///
/// # Errors
/// `BadRequest` when it is none.
pub fn path_id(text: &str, kind: IdKind) -> Result<PointId> {
    textual_id(text, kind)
        .ok_or_else(|| Error::bad(format!("id: Can not recognize \"{}\" as point id", shorten(text))))
}

/// The id that a text stands for where ids are no JSON: in a path, and as the key of an object. Of strings, digits are an
/// integer there, and a string may be in the quotes of JSON.
pub(crate) fn textual_id(text: &str, kind: IdKind) -> Option<PointId> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match kind {
        IdKind::Default => PointId::parse_path(text),
        IdKind::String if is_decimal => text.parse().ok().map(PointId::Num),
        IdKind::String if text.starts_with('"') => PointId::of_string(&unquoted(text).ok()?, kind),
        IdKind::String => PointId::of_string(text, kind),
    }
}

/// The string that a text is in JSON.
fn unquoted(text: &str) -> Result<String> {
    let mut reader = Reader::new(text.as_bytes())?;
    let string = reader.string()?.into_owned();
    reader.finish()?;
    Ok(string)
}

/// Reads the field name of a request's path, percent-decoded.
///
/// # Errors
/// `BadRequest` when it is not a payload path.
pub fn path_field(text: &str) -> Result<JsonPath> {
    JsonPath::parse(text).map_err(|error| Error::bad(format!("field_name: {error}")))
}
