//! Bodies with texts in place of vectors (C16), for a coordinator of a cluster, which has the vectors made before it splits them.

use crate::handles::{vectors_of_answer, with_vectors};
use crate::sharding::apart;
use napi::Env;
use napi::bindgen_prelude::{Buffer, Object};
use napi_derive::napi;

/// The JSON `body` with vectors in it, on a thread of its own: `vectors` has, for each text in the order of the body, its `at`,
/// the number of its components, and the components (32 bits each, little-endian).
#[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
pub fn insert_text_vectors(env: &Env, body: Buffer, vectors: Buffer) -> napi::Result<Object<'_>> {
    let (body, vectors) = (body.to_vec(), vectors.to_vec());
    apart(env, move || {
        with_vectors(&body, false, &vectors).map(Buffer::from).map_err(napi::Error::from_reason)
    })
}

/// What `readVectors` of an engine makes of the answer of an endpoint, on a thread of its own.
#[napi(catch_unwind, ts_return_type = "Promise<Buffer>")]
pub fn read_text_vectors(env: &Env, answer: Buffer, count: u32) -> napi::Result<Object<'_>> {
    let answer = answer.to_vec();
    apart(env, move || {
        vectors_of_answer(&answer, count as usize).map(Buffer::from).map_err(napi::Error::from_reason)
    })
}
