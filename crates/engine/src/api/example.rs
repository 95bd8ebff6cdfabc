//! Examples of a query: vectors, or ids of points that have them (C6.3).

use super::body::{Budget, Result};
use super::id::read_id_of;
use super::query::read_lookup;
use super::vector::{INPUT_KEYS, VectorReader};
use crate::json::{Kind, KindOf, Reader};
use crate::query::tree::{Example, Pair};
use crate::types::IdKind;

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
        Kind::Number | Kind::String => {
            let kind = reader.ids.of_examples.unwrap_or(reader.ids.kind);
            read_id_of(reader, kind).map(Example::Id)
        }
        other => Err(reader.error(format!("expected a vector or a point ID, got {}", other.word()))),
    }
}

/// Reads an object with examples, whose ids are those of the collection that its `lookup_from` names, before or behind them.
pub(super) fn with_ids_of_lookup<T>(
    reader: &mut Reader<'_>,
    read: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<T> {
    let before = reader.ids.of_examples;
    reader.ids.of_examples = reader.ids.of_others.and_then(|kinds| kind_of_lookup(reader.clone(), kinds));
    let result = read(reader);
    reader.ids.of_examples = before;
    result
}

/// The kind of ids of the collection that the next object's `lookup_from` names; `None` where it names none. What is wrong
/// with the object is found when it is read.
fn kind_of_lookup(mut ahead: Reader<'_>, KindOf(kind_of): KindOf<'_>) -> Option<IdKind> {
    let mut lookup = None;
    let read = ahead.object(|r, key| {
        match key {
            "lookup_from" => lookup = r.optional(read_lookup)?,
            _ => r.skip()?,
        }
        Ok(())
    });
    read.ok()?;
    lookup.map(|from| kind_of(&from.collection))
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
