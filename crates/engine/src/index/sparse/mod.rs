//! The inverted index of a sparse field: for each index of a vector the rows that have it, with their values.
//!
//! Rows are indexed in blocks of a few thousand, so that the sums of a query over the rows of a block stay in the nearest
//! cache. A block never changes; small ones are merged into greater ones as rows come, and one with many dead rows is made
//! anew without them. The last rows are in no block: a search multiplies them one by one.

mod block;
mod blocks;
mod scan;
#[cfg(test)]
mod tests;

pub use block::Block;
pub use blocks::{BlockSizes, Blocks};
pub use scan::{Found, Sums, scan};
