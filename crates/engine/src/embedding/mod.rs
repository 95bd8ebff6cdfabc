//! Texts in place of vectors (C16), and the models that make vectors of them.
//!
//! One model is built in: [`Bm25`], whose vectors are sparse.

mod bm25;
mod murmur3;
#[cfg(test)]
mod tests;

pub use bm25::Bm25;

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
