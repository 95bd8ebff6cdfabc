//! Examples of a query: vectors, or ids of points that have them (C6.3).

use super::body::{Budget, Result};
use super::id::read_id;
use super::vector::VectorReader;
use crate::json::{Kind, Reader};
use crate::query::tree::{Example, Pair};

/// Keys of a sparse vector and of an inference input: an object with one of them is an example.
const OBJECT_KEYS: [&str; 7] = ["indices", "values", "text", "image", "object", "model", "options"];

/// Reads a vector or the id of a point.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Example> {
    match reader.peek()? {
        Kind::Array | Kind::Object => VectorReader::default().value(reader).map(Example::Vector),
        Kind::Number | Kind::String => read_id(reader).map(Example::Id),
        other => Err(reader.error(format!("expected a vector or a point ID, got {}", other.word()))),
    }
}

/// Whether the next object is an example: a sparse vector or an inference input. Consumes nothing.
pub(super) fn is_object(reader: &mut Reader<'_>) -> Result<bool> {
    Ok(reader.peek_key()?.is_some_and(|key| OBJECT_KEYS.contains(&&*key)))
}

/// Reads a list of examples.
pub(super) fn read_list(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Vec<Example>> {
    budget.list(reader, read)
}

/// Reads `{positive, negative}`, or a list of such objects.
pub(super) fn read_pairs(reader: &mut Reader<'_>, budget: &mut Budget<'_>) -> Result<Vec<Pair>> {
    if reader.peek()? == Kind::Array { budget.list(reader, read_pair) } else { Ok(vec![read_pair(reader)?]) }
}

fn read_pair(reader: &mut Reader<'_>) -> Result<Pair> {
    let (mut positive, mut negative) = (None, None);
    reader.object(|r, key| {
        match key {
            "positive" => positive = r.optional(read)?,
            "negative" => negative = r.optional(read)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(Pair {
        positive: positive.ok_or_else(|| reader.missing("positive"))?,
        negative: negative.ok_or_else(|| reader.missing("negative"))?,
    })
}
