//! Examples of a query: vectors, or ids of points that have them (C6.3).

use super::body::{Budget, Result};
use super::id::read_id;
use super::vector::{INPUT_KEYS, VectorReader};
use crate::json::{Kind, Reader};
use crate::query::tree::{Example, Pair};

/// Keys of a sparse vector. An object that begins with one of them, or with one of an input of a model, is an example.
const SPARSE_KEYS: [&str; 2] = ["indices", "values"];

/// Reads a vector, a text in its place, or the id of a point.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Example> {
    match reader.peek()? {
        Kind::Array | Kind::Object => {
            let mut forms = VectorReader::of_queries();
            let vector = forms.value(reader)?;
            Ok(Example::Vector(vector, forms.take_model()))
        }
        Kind::Number | Kind::String => read_id(reader).map(Example::Id),
        other => Err(reader.error(format!("expected a vector or a point ID, got {}", other.word()))),
    }
}

/// Whether the next object is an example: a sparse vector or an input of a model. Consumes nothing.
pub(super) fn is_object(reader: &mut Reader<'_>) -> Result<bool> {
    Ok(reader.peek_key()?.is_some_and(|key| SPARSE_KEYS.contains(&&*key) || INPUT_KEYS.contains(&&*key)))
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
