//! Point ids and field names, from bodies and from paths.

use super::body::Result;
use crate::config::fields::shorten;
use crate::error::Error;
use crate::json::{Kind, Reader};
use crate::payload::JsonPath;
use crate::types::PointId;

/// Reads an id from a body.
pub(super) fn read_id(reader: &mut Reader<'_>) -> Result<PointId> {
    let found = match reader.peek()? {
        Kind::Number => {
            let text = reader.number_text()?;
            text.parse().map(PointId::Num).map_err(|_| shorten(text))
        }
        Kind::String => {
            let text = reader.string()?;
            PointId::parse_uuid(&text).map(PointId::Uuid).ok_or_else(|| format!("\"{}\"", shorten(&text)))
        }
        other => Err(other.word().to_string()),
    };
    found.map_err(|what| {
        reader.error(format!(
            "value {what} is not a valid point ID, valid values are either an unsigned integer or a UUID"
        ))
    })
}

/// Reads the id of a request's path, percent-decoded.
///
/// # Errors
/// `BadRequest` when it is neither an unsigned integer nor a UUID.
pub fn path_id(text: &str) -> Result<PointId> {
    PointId::parse_path(text)
        .ok_or_else(|| Error::bad(format!("id: Can not recognize \"{}\" as point id", shorten(text))))
}

/// Reads the field name of a request's path, percent-decoded.
///
/// # Errors
/// `BadRequest` when it is not a payload path.
pub fn path_field(text: &str) -> Result<JsonPath> {
    JsonPath::parse(text).map_err(|error| Error::bad(format!("field_name: {error}")))
}
