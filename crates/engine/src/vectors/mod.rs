//! How vectors are represented as bytes.
//!
//! [`RowFormat`] is the representation of originals: what exact search compares, and what clients read back.

mod element;

pub use element::RowFormat;
pub(crate) use element::inverse_norm;
