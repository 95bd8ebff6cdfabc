//! What becomes of a vector: its code.
//!
//! | type | one line |
//! |---|---|
//! | [`CodeParams`] | how many bits a component keeps |
//! | [`Encoder`] | mean, rotation and rounding: from a vector to its code |
//! | [`CodeTable`] | the codes of one graph's nodes, and distances to them |
//! | [`CodeQuery`] | a vector as the codes are compared with it |

mod code_query;
mod code_table;
mod encoder;
mod layout;
mod rotation;

#[cfg(test)]
mod tests;

pub use code_query::CodeQuery;
pub use code_table::CodeTable;
pub use encoder::{Encoder, FormatError};
pub use layout::CodeParams;
