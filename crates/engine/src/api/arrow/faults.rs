//! Faults of values: why a value cannot be read, and where it is below its row.

use super::schema::Field;
use crate::config::fields::shorten;
use crate::error::Error;
use std::borrow::Cow;

/// A value that cannot be read.
#[derive(Debug)]
pub(super) struct Fault {
    /// The place below the row, such as `[3]` or `.name`, in the notation of C1.11.
    place: String,
    why: Cow<'static, str>,
}

/// A value, or why it cannot be read.
pub(super) type Valued<T> = Result<T, Fault>;

impl From<&'static str> for Fault {
    fn from(why: &'static str) -> Fault {
        Fault { place: String::new(), why: Cow::Borrowed(why) }
    }
}

impl From<String> for Fault {
    fn from(why: String) -> Fault {
        Fault { place: String::new(), why: Cow::Owned(why) }
    }
}

impl Fault {
    /// This fault as one of an item of a list.
    pub(super) fn of_item(self, item: usize) -> Fault {
        Fault { place: format!("[{item}]{}", self.place), why: self.why }
    }

    /// This fault as one of a field of a struct.
    pub(super) fn of_field(self, name: &str) -> Fault {
        Fault { place: format!(".{}{}", shorten(name), self.place), why: self.why }
    }

    /// A fault at a place below the row.
    pub(super) fn named(place: &str, why: String) -> Fault {
        Fault { place: place.to_string(), why: Cow::Owned(why) }
    }

    /// The error of the request: this fault in a row of a column.
    pub(super) fn at(self, column: &Field, row: usize) -> Error {
        Error::bad(format!("{}[{row}]{}: {}", shorten(&column.name), self.place, self.why))
    }
}
