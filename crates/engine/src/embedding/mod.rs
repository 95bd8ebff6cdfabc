//! Texts in place of vectors (C16), and the models that make vectors of them.
//!
//! One model is built in: [`Bm25`], whose vectors are sparse. The texts of other models leave the engine before anything is
//! queued ([`TextInput`](crate::types::TextInput)), and the request comes back with their vectors in its body
//! ([`insert_vectors`]).

mod bm25;
mod endpoint_answer;
mod insertion;
mod murmur3;
#[cfg(test)]
mod tests;

pub use bm25::Bm25;
pub use endpoint_answer::read_endpoint_answer;
pub use insertion::insert_vectors;

/// What a vector that a model makes is for: the two sides of a search may have different vectors of the same text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    /// It is stored with a point.
    #[default]
    Document,
    /// It is searched with.
    Query,
}

/// The longest text that is an input of a model, in bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// Texts of one request whose vectors are made outside the engine.
pub const MAX_TEXTS: usize = 4096;

/// Bytes of these texts.
pub const MAX_TEXTS_BYTES: usize = 16 << 20;
