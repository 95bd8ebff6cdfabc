//! What embeds in place of the server: a model that makes a vector of a text by arithmetic, and its worker.

use super::common::{Random, TestEngine};
use kithdb_engine::error::Error;
use kithdb_engine::insert_vectors;
use serde_json::{Value, json};

/// Components of the vectors of the new model.
pub const SIZE: usize = 32;

/// The vector of a text.
pub fn vector_of(text: &str) -> Vec<f32> {
    let seed = text.bytes().fold(7u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    Random(seed).vector(SIZE)
}

/// The answer to a request whose texts are embedded, as the server does it.
pub fn send(engine: &TestEngine, operation: &str, target: Option<&str>, body: Value) -> Result<Value, Error> {
    send_bytes(engine, operation, target, body.to_string().into_bytes(), &mut 0)
}

fn send_bytes(
    engine: &TestEngine,
    operation: &str,
    target: Option<&str>,
    body: Vec<u8>,
    embedded: &mut usize,
) -> Result<Value, Error> {
    match execute(engine, operation, target, body.clone()) {
        Err(Error::VectorsWanted(inputs)) => {
            *embedded += inputs.len();
            let vectors: Vec<Vec<f32>> = inputs.iter().map(|input| vector_of(&input.text)).collect();
            let places: Vec<(usize, &[f32])> =
                inputs.iter().zip(&vectors).map(|(input, vector)| (input.at, &vector[..])).collect();
            let body = insert_vectors(&body, false, &places).expect("texts have places");
            execute(engine, operation, target, body)
        }
        answer => answer,
    }
}

fn execute(
    engine: &TestEngine,
    operation: &str,
    target: Option<&str>,
    body: Vec<u8>,
) -> Result<Value, Error> {
    engine.client().call_with_texts(operation, "c", target, body)
}

/// Texts that were given out, and wait for their vectors.
pub struct Batch(Value);

/// The next texts; none if there are none for now.
pub fn next(engine: &TestEngine, target: &str, limit: usize) -> Option<Batch> {
    loop {
        let next = send(engine, "next_texts", Some(target), json!({"limit": limit})).expect("there is one");
        let is_empty = next["points"].as_array().expect("a list").is_empty();
        if !is_empty || next["has_more"] == json!(false) {
            return (!is_empty).then_some(Batch(next));
        }
    }
}

/// Embeds texts and sends their vectors. Returns how many texts were embedded.
pub fn fill(engine: &TestEngine, target: &str, batch: Batch) -> Result<usize, Error> {
    let mut embedded = 0;
    let body = json!({"begun": batch.0["begun"], "points": batch.0["points"]});
    send_bytes(engine, "fill_vectors", Some(target), body.to_string().into_bytes(), &mut embedded)?;
    Ok(embedded)
}

/// Embeds everything. Returns how many texts that were.
pub fn embed_all(engine: &TestEngine, target: &str, limit: usize) -> usize {
    let mut embedded = 0;
    while let Some(batch) = next(engine, target, limit) {
        embedded += fill(engine, target, batch).expect("they are taken");
    }
    embedded
}

/// Begins a re-embedding.
pub fn begin(engine: &TestEngine, target: &str) -> Value {
    send(engine, "reembed_vectors", Some(target), json!({"model": "new"})).expect("it begins")
}

/// How far it is.
pub fn report(engine: &TestEngine, target: &str) -> Value {
    send(engine, "reembedding", Some(target), json!({})).expect("there is one")
}

/// Puts the new vectors in place.
pub fn commit(engine: &TestEngine, target: &str, allow_missing: bool) -> Result<Value, Error> {
    send(engine, "commit_reembedding", Some(target), json!({"allow_missing": allow_missing}))
}

/// Gives it up.
pub fn abort(engine: &TestEngine, target: &str) -> Result<Value, Error> {
    send(engine, "abort_reembedding", Some(target), json!({}))
}
