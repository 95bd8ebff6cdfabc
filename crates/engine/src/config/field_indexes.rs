//! Whether a collection makes field indexes by itself (C23).

use crate::error::Error;
use crate::json::Reader;

/// `field_indexes` of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldIndexes {
    /// Filters that cost more than an index get one.
    #[default]
    Auto,
    /// Only those that clients declare.
    Manual,
}

impl FieldIndexes {
    /// Reads the name.
    ///
    /// # Errors
    /// `BadRequest` for another one.
    pub fn parse(reader: &mut Reader<'_>) -> Result<FieldIndexes, Error> {
        match &*reader.string()? {
            "auto" => Ok(FieldIndexes::Auto),
            "manual" => Ok(FieldIndexes::Manual),
            _ => Err(reader.error("expected auto or manual")),
        }
    }

    /// The name where it is not the default: the default is shown and stored nowhere.
    pub fn chosen(self) -> Option<&'static str> {
        match self {
            FieldIndexes::Auto => None,
            FieldIndexes::Manual => Some("manual"),
        }
    }
}
