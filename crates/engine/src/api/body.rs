//! Reading a request's body: functions that all parsers of this module use.

use super::strictness::{RequestBody, Strictness};
use super::text_input;
use crate::error::Error;
use crate::json::{Mark, Reader};
use crate::limits::Limits;

pub(super) type Result<T> = std::result::Result<T, Error>;

/// Reads a body with `read`. Nothing may follow its value. An absent body is read as `{}`, so that the error names the
/// first required field.
pub(super) fn parse<T>(
    body: &(impl RequestBody + ?Sized),
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let (value, marks) = parse_with_marks(body, read)?;
    if marks.is_empty() { Ok(value) } else { Err(text_input::wanted(body.bytes(), &marks)) }
}

/// As [`parse`], for a body of lines. An absent one has none.
pub(super) fn parse_lines<T>(
    body: &(impl RequestBody + ?Sized),
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let (value, marks) = parse_bytes(body, body.bytes(), read)?;
    if marks.is_empty() { Ok(value) } else { Err(text_input::wanted(body.bytes(), &marks)) }
}

/// As [`parse`], for a body of which not all texts need a vector: those that were marked are answered, too.
pub(super) fn parse_with_marks<T>(
    body: &(impl RequestBody + ?Sized),
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<(T, Vec<Mark>)> {
    let bytes = body.bytes();
    parse_bytes(body, if is_absent(bytes) { b"{}" } else { bytes }, read)
}

fn parse_bytes<T>(
    body: &(impl RequestBody + ?Sized),
    bytes: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<(T, Vec<Mark>)> {
    let mut reader = Reader::new(bytes)?;
    reader.unpack(body.floats());
    reader.be_watched(body.watch());
    reader.ids = body.ids();
    if body.strictness() == Strictness::Lenient {
        reader.pass_over_unknown();
    }
    if body.gives_out_texts() {
        reader.take_marks_from_now();
    }
    let value = read(&mut reader)?;
    reader.finish()?;
    let marks = reader.take_marks();
    if marks.is_empty() {
        body.warn(reader.take_warnings());
    }
    Ok((value, marks))
}

/// As [`parse`], for bodies without a required field: they may be `{}` but not absent.
pub(super) fn parse_present<T>(
    body: &(impl RequestBody + ?Sized),
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    if is_absent(body.bytes()) {
        return Err(Error::bad("body: expected an object"));
    }
    parse(body, read)
}

fn is_absent(body: &[u8]) -> bool {
    body.iter().all(|byte| b" \t\r\n".contains(byte))
}

/// An error for a field of the object that has just been read.
pub(super) fn field_error(reader: &Reader<'_>, field: &str, why: impl AsRef<str>) -> Error {
    let path = reader.path();
    let dot = if path.is_empty() { "" } else { "." };
    Error::bad(format!("{path}{dot}{field}: {}", why.as_ref()))
}

/// Reads `shard_key`, which must be `null`: there is one shard.
pub(super) fn shard_key(reader: &mut Reader<'_>) -> Result<()> {
    if reader.take_null()? {
        Ok(())
    } else {
        Err(reader.error("shard keys are not available: a server is one node"))
    }
}

/// Reads a list of at most `max` elements. `what` names them in the message `at most <max> …`.
pub(super) fn list<T>(
    reader: &mut Reader<'_>,
    max: usize,
    what: &str,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let place = reader.path();
    let mut found = Vec::new();
    reader.array(|r, index| {
        if index >= max {
            return Err(Error::bad(format!("{place}: at most {max} {what}")));
        }
        found.push(read(r)?);
        Ok(())
    })?;
    Ok(found)
}

/// Counts the points and ids of one request, in all its operations together (C2.7).
pub(super) struct Budget<'l> {
    pub(super) limits: &'l Limits,
    left: usize,
}

impl<'l> Budget<'l> {
    pub(super) fn new(limits: &'l Limits) -> Budget<'l> {
        Budget { limits, left: limits.max_points_per_request }
    }

    /// Reads a list of points or ids, and counts them.
    pub(super) fn list<T>(
        &mut self,
        reader: &mut Reader<'_>,
        mut read: impl FnMut(&mut Reader<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let place = reader.path();
        let mut found = Vec::new();
        reader.array(|r, _| {
            self.take(&place)?;
            found.push(read(r)?);
            Ok(())
        })?;
        Ok(found)
    }

    /// Counts a point or an id of the list at a place.
    pub(super) fn take(&mut self, place: &str) -> Result<()> {
        if self.left == 0 {
            let max = self.limits.max_points_per_request;
            return Err(Error::bad(format!(
                "{place}: at most {max} points or ids a request (max_points_per_request)"
            )));
        }
        self.left -= 1;
        Ok(())
    }
}
