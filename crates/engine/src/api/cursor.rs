//! Cursors in bodies (C22): `cursor: {ttl}` opens one, `{cursor: "…"}` alone asks for a further page.

use super::body::{Result, field_error};
use super::strictness::RequestBody;
use crate::json::{Kind, Reader};
use crate::query::request::CursorRequest;

/// The longest time between two pages, in seconds.
const LONGEST_TTL: u64 = 600;
const ALONE: &str = "a further page is asked for by its cursor alone";

/// The cursor of a body that asks for a further page; `None` where the body asks for something else.
///
/// # Errors
/// `BadRequest` where there is anything beside it.
pub fn next_page(body: &(impl RequestBody + ?Sized)) -> Result<Option<String>> {
    let bytes = body.bytes();
    if !begins_with_cursor(bytes) {
        return Ok(None);
    }
    let (mut cursor, mut is_alone) = (None, true);
    let mut read = || -> Result<()> {
        let mut reader = Reader::new(bytes)?;
        reader.object(|r, key| {
            let is_text = r.peek()? == Kind::String;
            match key {
                "cursor" if is_text => cursor = Some(r.string()?.into_owned()),
                "cursor" => {
                    cursor = None;
                    r.skip()?;
                }
                _ => {
                    is_alone = false;
                    r.skip()?;
                }
            }
            Ok(())
        })?;
        reader.finish()
    };
    // A body that this cannot read does not ask for a further page. The parser of the operation reports what is wrong.
    if read().is_err() || cursor.is_none() {
        return Ok(None);
    }
    if is_alone { Ok(cursor) } else { Err(crate::error::Error::bad(format!("cursor: {ALONE}"))) }
}

/// Whether the first key of a body is `cursor`: looking is cheap, and no other body asks for a further page.
fn begins_with_cursor(bytes: &[u8]) -> bool {
    let trimmed = bytes.trim_ascii_start().strip_prefix(b"{");
    trimmed.is_some_and(|rest| rest.trim_ascii_start().starts_with(b"\"cursor\""))
}

/// Reads `{ttl}`.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<CursorRequest> {
    if reader.peek()? == Kind::String {
        return Err(reader.error(ALONE));
    }
    let mut ttl = None;
    reader.object(|r, key| {
        match key {
            "ttl" => ttl = r.optional(|r| r.integer_in(1, LONGEST_TTL))?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let seconds = ttl.ok_or_else(|| reader.missing("ttl"))?;
    Ok(CursorRequest { seconds })
}

/// Refuses a cursor where there are no pages. `reader` is just behind the object.
pub(super) fn refuse<T>(reader: &Reader<'_>, cursor: Option<CursorRequest>, answer: T) -> Result<T> {
    match cursor {
        None => Ok(answer),
        Some(_) => Err(field_error(reader, "cursor", "only a search, a query and a scroll have pages")),
    }
}
