//! The columns `id` and `if_version`.

use super::columns::{Column, Values};
use super::faults::Valued;
use super::schema::UUID_BYTES;
use crate::config::fields::shorten;
use crate::faults::PlantedFault;
use crate::types::{IdKind, PointId};

/// The id of a row: an unsigned integer, the text of a UUID or its 16 bytes, or a string in a collection of
/// string ids (C21).
pub(super) fn id(column: &Column<'_>, kind: IdKind, row: usize) -> Valued<PointId> {
    let invalid = |what: &str| {
        format!("value {what} is not a valid point ID, valid values are {}", kind.valid_values())
    };
    if column.is_null(row) && !PlantedFault::NullIdIsZero.is_on() {
        return Err(invalid("null").into());
    }
    match (&column.values, kind) {
        (Values::Int(ints), _) => {
            let number = ints.get(row);
            u64::try_from(number).map(PointId::Num).map_err(|_| invalid(&number.to_string()).into())
        }
        (Values::Text(_) | Values::Dictionary(..), _) => {
            let text = column.text(row)?.ok_or_else(|| invalid("null"))?;
            let id = PointId::of_string(text, kind);
            id.ok_or_else(|| invalid(&format!("\"{}\"", shorten(text))).into())
        }
        // Where ids are strings, a UUID is one of several texts (upper case, without hyphens), and bytes do
        // not say which.
        (Values::Bytes(bytes), IdKind::Default) => {
            let uuid = bytes[row * UUID_BYTES..].first_chunk().copied();
            uuid.map(|uuid| PointId::Uuid(u128::from_be_bytes(uuid))).ok_or_else(|| invalid("cut off").into())
        }
        _ => Err(invalid("of another type").into()),
    }
}

/// The version that the point of a row must have (C25); `None` where any version will do.
pub(super) fn version(column: &Column<'_>, row: usize) -> Valued<Option<u64>> {
    match &column.values {
        Values::Int(ints) if !column.is_null(row) => {
            let number = ints.get(row);
            let version = u64::try_from(number);
            version.map(Some).map_err(|_| format!("expected an unsigned integer, got {number}").into())
        }
        _ => Ok(None),
    }
}
