//! The answer of an endpoint that speaks OpenAI's embeddings API:
//! `{"data": [{"index": 0, "embedding": [0.1, …]}, …], …}`.

use crate::error::Error;
use crate::json::Reader;

/// Reads the answer for `count` texts: their vectors one after the other, in the order of the texts, and the number of
/// components of each. An element without `index` has its place in the list. Whatever else the answer has is passed over.
///
/// # Errors
/// A sentence, which says nothing of the answer's content.
pub fn read_endpoint_answer(answer: &[u8], count: usize) -> Result<(usize, Vec<f32>), &'static str> {
    let mut vectors: Vec<Option<Vec<f32>>> = vec![None; count];
    read(answer, &mut vectors).map_err(|_| "its answer is not what the embeddings API answers")?;
    let mut all = Vec::new();
    let mut dim = None;
    for vector in vectors {
        let vector = vector.ok_or("its answer lacks the vector of a text")?;
        if vector.is_empty() {
            return Err("its answer has an empty vector");
        }
        if *dim.get_or_insert(vector.len()) != vector.len() {
            return Err("its answer has vectors of different lengths");
        }
        all.extend_from_slice(&vector);
    }
    dim.map(|dim| (dim, all)).ok_or("its answer has no vectors")
}

fn read(answer: &[u8], vectors: &mut [Option<Vec<f32>>]) -> Result<(), Error> {
    let mut reader = Reader::new(answer)?;
    reader.object(|r, key| match key {
        "data" => r.array(|r, place| read_element(r, place, vectors)),
        _ => r.skip(),
    })?;
    reader.finish()
}

fn read_element(
    reader: &mut Reader<'_>,
    place: usize,
    vectors: &mut [Option<Vec<f32>>],
) -> Result<(), Error> {
    let (mut index, mut vector) = (place as u64, None);
    reader.object(|r, key| {
        match key {
            "index" => index = r.optional(Reader::u64)?.unwrap_or(index),
            "embedding" => {
                let mut components = Vec::new();
                r.f32_array(&mut components)?;
                vector = Some(components);
            }
            _ => r.skip()?,
        }
        Ok(())
    })?;
    let slot = usize::try_from(index).ok().and_then(|index| vectors.get_mut(index));
    match (slot, vector) {
        (Some(slot), Some(vector)) if slot.is_none() => {
            *slot = Some(vector);
            Ok(())
        }
        _ => Err(reader.error("an element that no text has")),
    }
}
