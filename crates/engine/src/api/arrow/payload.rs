//! Payloads from columns: values are written as JSON.

use super::columns::{Column, Values, bit};
use super::faults::{Fault, Valued};
use super::schema::{Field, Role};
use crate::error::Error;
use crate::json::{Reader, read_payload, write_f32, write_f64, write_string};
use crate::limits::MAX_ARROW_POINT_BYTES;
use crate::payload::write_datetime;
use half::f16;

/// Appends the payload of a row, where whole payloads are in one column.
pub(super) fn whole(column: &Column<'_>, row: usize, out: &mut Vec<u8>) -> Valued<()> {
    if is_absent(column, row)? {
        out.extend_from_slice(b"{}");
        return Ok(());
    }
    match column.text(row)? {
        Some(text) => read_text(text, out),
        None => value(column, row, out),
    }
}

/// Appends a payload that is a text of JSON, checked as the payload of a JSON body is.
fn read_text(text: &str, out: &mut Vec<u8>) -> Valued<()> {
    let read = Reader::new(text.as_bytes()).and_then(|mut reader| {
        read_payload(&mut reader, out)?;
        reader.finish()
    });
    read.map_err(|error| match error {
        Error::BadRequest(why) => match why.split_once(": ") {
            Some(("body", why)) => Fault::from(why.to_string()),
            // The message begins with the place in the payload.
            Some((place, rest)) if !place.contains(' ') => {
                Fault::named(&format!(".{place}"), rest.to_string())
            }
            _ => Fault::from(why),
        },
        other => Fault::from(other.to_string()),
    })
}

/// Appends the payload of a row, where columns have the values of its keys; a key whose value is null is left
/// out.
///
/// # Errors
/// The position of the column, and the fault.
pub(super) fn of_keys(
    columns: &[Column<'_>],
    fields: &[(Field, Role)],
    row: usize,
    out: &mut Vec<u8>,
) -> Result<(), (usize, Fault)> {
    out.push(b'{');
    let mut is_first = true;
    for (place, (column, (field, role))) in columns.iter().zip(fields).enumerate() {
        if matches!(role, Role::Key) {
            entry(field, column, row, &mut is_first, out).map_err(|fault| (place, fault))?;
        }
    }
    out.push(b'}');
    Ok(())
}

/// Appends a key with its value, unless the value is null.
fn entry(
    field: &Field,
    column: &Column<'_>,
    row: usize,
    is_first: &mut bool,
    out: &mut Vec<u8>,
) -> Valued<()> {
    if is_absent(column, row)? {
        return Ok(());
    }
    if !std::mem::replace(is_first, false) {
        out.push(b',');
    }
    out.extend_from_slice(&field.key);
    value(column, row, out)
}

/// Whether a row has no value: it is null, or its text in a dictionary is null.
fn is_absent(column: &Column<'_>, row: usize) -> Valued<bool> {
    match &column.values {
        Values::Dictionary(..) => Ok(column.text(row)?.is_none()),
        _ => Ok(column.is_null(row)),
    }
}

/// Appends a value; a null as `null`. Several values may refer to the same long text, so the length of the
/// payload is checked after each value.
fn value(column: &Column<'_>, row: usize, out: &mut Vec<u8>) -> Valued<()> {
    if column.is_null(row) {
        out.extend_from_slice(b"null");
    } else {
        match &column.values {
            Values::Null => out.extend_from_slice(b"null"),
            Values::Bool(bits) => out.extend_from_slice(if bit(bits, row) { b"true" } else { b"false" }),
            Values::Int(ints) => out.extend_from_slice(itoa::Buffer::new().format(ints.get(row)).as_bytes()),
            Values::Float(bytes, width) => float(&bytes[row * width..(row + 1) * width], out)?,
            Values::Text(_) | Values::Dictionary(..) => match column.text(row)? {
                Some(text) => write_string(out, text),
                None => out.extend_from_slice(b"null"),
            },
            Values::Days(days) => moment(days.get(row) * 86_400, 1, out)?,
            Values::Timestamp(units, per_second) => moment(units.get(row), *per_second, out)?,
            Values::List(lists, items) => {
                out.push(b'[');
                for (place, item) in lists.range(row, items.len)?.enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    value(items, item, out).map_err(|fault| fault.of_item(place))?;
                }
                out.push(b']');
            }
            Values::Struct(fields) => {
                out.push(b'{');
                let mut is_first = true;
                for (field, column) in fields {
                    entry(field, column, row, &mut is_first, out)
                        .map_err(|fault| fault.of_field(&field.name))?;
                }
                out.push(b'}');
            }
            Values::Bytes(..) => return Err("bytes have no form in JSON".into()),
        }
    }
    if out.len() > MAX_ARROW_POINT_BYTES { Err("a payload that is too long".into()) } else { Ok(()) }
}

/// Appends a float of 2, 4 or 8 bytes with the fewest digits that are read back as the same float.
fn float(bytes: &[u8], out: &mut Vec<u8>) -> Valued<()> {
    let short = match *bytes {
        [a, b] => Some(f16::from_le_bytes([a, b]).to_f32()),
        [a, b, c, d] => Some(f32::from_le_bytes([a, b, c, d])),
        _ => None,
    };
    let long = bytes.first_chunk::<8>().map(|bytes| f64::from_le_bytes(*bytes));
    let value = short.map(f64::from).or(long).unwrap_or(f64::NAN);
    if !value.is_finite() {
        return Err(format!("expected a finite number, got {value}").into());
    }
    match short {
        Some(short) => write_f32(out, short),
        None => write_f64(out, value),
    }
    Ok(())
}

/// Appends a moment, in units of time since the epoch, as a date-time.
fn moment(units: i128, per_second: i64, out: &mut Vec<u8>) -> Valued<()> {
    let per_second = i128::from(per_second);
    let (seconds, rest) = (units.div_euclid(per_second), units.rem_euclid(per_second));
    let nanos = rest * (1_000_000_000 / per_second);
    let moment = i64::try_from(seconds).ok().zip(u32::try_from(nanos).ok());
    let is_written = moment.is_some_and(|(seconds, nanos)| write_datetime(out, seconds, nanos));
    if is_written { Ok(()) } else { Err("a moment outside the years 0 to 9999".into()) }
}
