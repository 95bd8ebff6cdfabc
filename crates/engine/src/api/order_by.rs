//! `order_by`: a path, or `{key, direction, start_from}` (C6.4).

use super::body::Result;
use crate::config::fields::{choice, shorten};
use crate::json::{Kind, Reader};
use crate::payload::{JsonPath, parse_datetime};
use crate::query::request::{Direction, OrderBy, StartFrom};

const DIRECTIONS: [(&str, Direction); 2] = [("asc", Direction::Asc), ("desc", Direction::Desc)];

/// Reads an ordering.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<OrderBy> {
    match reader.peek()? {
        Kind::String => {
            Ok(OrderBy { key: JsonPath::read(reader)?, direction: Direction::Asc, start_from: None })
        }
        Kind::Object => {
            let (mut key, mut direction, mut start_from) = (None, None, None);
            reader.object(|r, name| {
                match name {
                    "key" => key = r.optional(JsonPath::read)?,
                    "direction" => direction = r.optional(|r| choice(r, &DIRECTIONS))?,
                    "start_from" => start_from = r.optional(read_start)?,
                    _ => r.unknown()?,
                }
                Ok(())
            })?;
            Ok(OrderBy {
                key: key.ok_or_else(|| reader.missing("key"))?,
                direction: direction.unwrap_or(Direction::Asc),
                start_from,
            })
        }
        other => Err(reader.error(format!("expected a path or an object with key, got {}", other.word()))),
    }
}

fn read_start(reader: &mut Reader<'_>) -> Result<StartFrom> {
    match reader.peek()? {
        Kind::Number => {
            // Read ahead: only the text shows whether the number is an integer.
            let text = reader.clone().number_text()?;
            match text.parse() {
                Ok(integer) => {
                    reader.skip()?;
                    Ok(StartFrom::Integer(integer))
                }
                Err(_) => reader.f64().map(StartFrom::Float),
            }
        }
        Kind::String => {
            let text = reader.string()?;
            parse_datetime(&text).map(StartFrom::Datetime).ok_or_else(|| {
                reader.error(format!(
                    "'{}' does not match accepted datetime format (RFC3339). Example: 2014-01-01T00:00:00Z",
                    shorten(&text)
                ))
            })
        }
        other => Err(reader.error(format!("expected a number or a date-time, got {}", other.word()))),
    }
}
