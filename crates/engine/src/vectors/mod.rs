//! How a vector is kept: its original, as bytes, and its code.
//!
//! | type | one line |
//! |---|---|
//! | [`VectorValue`] | a vector of any kind, as requests hold it and answers show it |
//! | [`RowFormat`] | originals: what exact search compares, and what clients read back |
//! | [`SparseFormat`] | rows of sparse vectors |
//! | [`CodeParams`] | how many bits a component keeps |
//! | [`Encoder`] | mean, rotation and rounding: from a vector to its code |
//! | [`CodeTable`] | the codes of one graph's nodes, and distances to them |
//! | [`CodeQuery`] | a vector as the codes are compared with it |
//! | [`Neighbourhood`] | a vector and its nearest, on which codes are tested |

mod code_query;
mod code_table;
mod element;
mod encoder;
mod encoder_format;
mod layout;
mod rotation;
mod scatter;
mod sparse_format;
mod value;

#[cfg(test)]
mod tests;

pub use code_query::CodeQuery;
pub use code_table::CodeTable;
pub use element::RowFormat;
pub(crate) use element::inverse_norm;
pub use encoder::Encoder;
pub use encoder_format::FormatError;
pub use layout::CodeParams;
pub(crate) use rotation::{digest, split_mix};
pub use scatter::Neighbourhood;
pub(crate) use sparse_format::finite;
pub use sparse_format::{SparseFormat, SparseRow};
pub use value::{MAX_ELEMENTS, MultiVector, SparseFault, SparseVector, VectorKind, VectorValue};
