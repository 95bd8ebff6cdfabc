//! Whether a collection may sleep (C24).

use crate::error::Error;
use crate::json::Reader;

/// `residency` of a collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Residency {
    /// It sleeps when it is not used.
    #[default]
    Auto,
    /// It stays in memory.
    Hot,
}

impl Residency {
    /// Reads the name.
    ///
    /// # Errors
    /// `BadRequest` for another one.
    pub fn parse(reader: &mut Reader<'_>) -> Result<Residency, Error> {
        match &*reader.string()? {
            "auto" => Ok(Residency::Auto),
            "hot" => Ok(Residency::Hot),
            _ => Err(reader.error("expected auto or hot")),
        }
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Residency::Auto => "auto",
            Residency::Hot => "hot",
        }
    }

    /// The name where it is not the default: the default is stored nowhere.
    pub fn chosen(self) -> Option<&'static str> {
        (self != Residency::Auto).then(|| self.name())
    }
}
