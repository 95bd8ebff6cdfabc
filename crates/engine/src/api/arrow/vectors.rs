//! Vectors from columns. They are taken and refused by the rules of vectors in JSON bodies (C2.3).

use super::super::body::Result;
use super::columns::{Column, Values};
use super::faults::{Fault, Valued};
use super::schema::{Field, Int, Kind};
use crate::vectors::{MAX_ELEMENTS, MultiVector, SparseVector, VectorValue};
use half::f16;
use std::ops::Range;

/// The only integer type of components: bytes without a sign.
const U8_BYTES: Int = Int { bytes: 1, is_signed: false };

/// Refuses a column whose type is not that of vectors.
///
/// # Errors
/// `BadRequest` that names the column.
pub(super) fn check_kind(field: &Field) -> Result<()> {
    let is_vector = match &field.kind {
        Kind::Null => true,
        Kind::Struct(_) => is_sparse(&field.kind),
        kind => is_list(kind, |item| is_number(item) || is_list(item, is_number)),
    };
    if is_vector {
        return Ok(());
    }
    Err(field.error(
        "expected lists of floats or of unsigned integers of 8 bits, lists of such lists, or structs of indices and \
         values",
    ))
}

fn is_list(kind: &Kind, is_item: impl Fn(&Kind) -> bool) -> bool {
    match kind {
        Kind::FixedList(_, item) | Kind::List(_, item) => is_item(&item.kind),
        _ => false,
    }
}

fn is_number(kind: &Kind) -> bool {
    match kind {
        Kind::Float(_) => true,
        Kind::Int(Int { bytes, is_signed }) => (*bytes, *is_signed) == (U8_BYTES.bytes, U8_BYTES.is_signed),
        _ => false,
    }
}

fn is_sparse(kind: &Kind) -> bool {
    let Kind::Struct(fields) = kind else { return false };
    let has = |name: &str, is_item: fn(&Kind) -> bool| {
        fields.iter().any(|field| *field.name == *name && is_list(&field.kind, is_item))
    };
    fields.len() == 2
        && has("indices", |kind| matches!(kind, Kind::Int(_)))
        && has("values", |kind| matches!(kind, Kind::Float(_)))
}

/// The vector of a row; `None` where the row is null.
pub(super) fn vector(column: &Column<'_>, row: usize) -> Valued<Option<VectorValue>> {
    if column.is_null(row) {
        return Ok(None);
    }
    match &column.values {
        Values::List(lists, items) if matches!(items.values, Values::List(..)) => {
            multi(items, lists.range(row, items.len)?).map(VectorValue::Multi).map(Some)
        }
        Values::List(lists, items) => {
            let range = lists.range(row, items.len)?;
            if range.is_empty() {
                return Err("dense vector must not be empty".into());
            }
            let mut components = Vec::with_capacity(range.len());
            numbers(items, range, &mut components)?;
            Ok(Some(VectorValue::Dense(components)))
        }
        Values::Struct(fields) => sparse(fields, row).map(VectorValue::Sparse).map(Some),
        _ => Ok(None),
    }
}

/// A multi-vector: its rows are the lists of a column in this range.
fn multi(rows: &Column<'_>, range: Range<usize>) -> Valued<MultiVector> {
    let Values::List(lists, items) = &rows.values else { return Err("expected lists".into()) };
    let (mut components, mut dim) = (Vec::new(), 0);
    for (place, row) in range.clone().enumerate() {
        if rows.is_null(row) {
            return Err(Fault::from("expected a vector, got null").of_item(place));
        }
        let part = lists.range(row, items.len).map_err(|why| Fault::from(why).of_item(place))?;
        if part.is_empty() {
            return Err(Fault::from("all vectors must be non-empty").of_item(place));
        }
        if place == 0 {
            dim = part.len();
            components.reserve(dim.saturating_mul(range.len()).min(MAX_ELEMENTS));
        }
        if part.len() != dim {
            let found = part.len();
            return Err(format!(
                "all vectors must have the same dimension, found vector with dimension {found}"
            )
            .into());
        }
        if components.len() + dim > MAX_ELEMENTS {
            return Err(format!("at most {MAX_ELEMENTS} components a multi vector").into());
        }
        numbers(items, part, &mut components).map_err(|fault| fault.of_item(place))?;
    }
    if components.is_empty() {
        return Err("multi vector must not be empty".into());
    }
    Ok(MultiVector { dim, components })
}

fn sparse(fields: &[(&Field, Column<'_>)], row: usize) -> Valued<SparseVector> {
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for (field, column) in fields {
        let list = list_of(column, row).and_then(|(items, range)| {
            if range.len() > MAX_ELEMENTS {
                return Err(format!("at most {MAX_ELEMENTS} elements a sparse vector").into());
            }
            match &*field.name {
                "indices" => whole_numbers(items, range, &mut indices),
                _ => numbers(items, range, &mut values),
            }
        });
        list.map_err(|fault| fault.of_field(&field.name))?;
    }
    SparseVector::new(indices, values).map_err(|fault| {
        let fault = fault.to_string();
        let (place, why) = fault.split_once(": ").unwrap_or(("", &fault));
        Fault::from(why.to_string()).of_field(place)
    })
}

/// The items of the list of a row, which must not be null.
fn list_of<'c, 'a>(column: &'c Column<'a>, row: usize) -> Valued<(&'c Column<'a>, Range<usize>)> {
    match &column.values {
        Values::List(lists, items) if !column.is_null(row) => Ok((items, lists.range(row, items.len)?)),
        _ => Err("expected an array, got null".into()),
    }
}

fn whole_numbers(items: &Column<'_>, range: Range<usize>, out: &mut Vec<u32>) -> Valued<()> {
    let Values::Int(ints) = &items.values else { return Err("expected integers".into()) };
    for (place, at) in range.enumerate() {
        let number = if items.is_null(at) { None } else { Some(ints.get(at)) };
        match number.and_then(|number| u32::try_from(number).ok()) {
            Some(index) => out.push(index),
            None => {
                let got = number.map_or("null".to_string(), |number| number.to_string());
                let why = format!("expected an unsigned integer of 32 bits, got {got}");
                return Err(Fault::from(why).of_item(place));
            }
        }
    }
    Ok(())
}

/// Appends the numbers of a list. As in JSON bodies, negative zero becomes zero, and a number that is not
/// finite is refused.
fn numbers(items: &Column<'_>, range: Range<usize>, out: &mut Vec<f32>) -> Valued<()> {
    if let Some(null) = items.first_null(range.clone()) {
        return Err(Fault::from("expected a number, got null").of_item(null - range.start));
    }
    let first = out.len();
    match &items.values {
        Values::Float(bytes, 2) => {
            let parts = bytes[range.start * 2..range.end * 2].chunks_exact(2);
            out.extend(parts.map(|half| f16::from_le_bytes([half[0], half[1]]).to_f32() + 0.0));
        }
        Values::Float(bytes, 4) => {
            let parts = bytes[range.start * 4..range.end * 4].chunks_exact(4);
            out.extend(parts.map(|float| f32::from_le_bytes([float[0], float[1], float[2], float[3]]) + 0.0));
        }
        Values::Float(bytes, _) => {
            let parts = bytes[range.start * 8..range.end * 8].as_chunks::<8>().0;
            out.extend(parts.iter().map(|double| f64::from_le_bytes(*double) as f32 + 0.0));
        }
        Values::Int(ints) => {
            let bytes = ints.as_bytes().ok_or("expected numbers")?;
            out.extend(bytes[range].iter().map(|byte| f32::from(*byte)));
        }
        _ => return Err("expected numbers".into()),
    }
    let added = &out[first..];
    if added.iter().fold(true, |all, number| all & number.is_finite()) {
        return Ok(());
    }
    let place = added.iter().position(|number| !number.is_finite()).unwrap_or_default();
    let why = format!("expected a number within the range of 32-bit floats, got {}", added[place]);
    Err(Fault::from(why).of_item(place))
}
