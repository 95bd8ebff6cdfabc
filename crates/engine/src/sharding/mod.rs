//! A collection of several shards in a cluster: which shard a point is in, what each shard gets of a write, and a read as
//! questions to shards whose answers become one ([docs/cluster.md](../../../../docs/cluster.md)).
//!
//! Nothing here does input or output or takes part in an engine: bytes go in, and bytes come out.

mod chosen;
mod examples;
mod formula;
mod groups;
mod hits;
mod matrix;
mod members;
mod pages;
mod placement;
mod questions;
mod read;
mod request;
mod sample;
mod search;
mod similarity;
mod split;
#[cfg(test)]
mod tests;
mod values;

pub use placement::shard_of;
pub use questions::{Ask, ShardedRead, Step};
pub use request::{Layout, ShardedRequest};
pub use split::split_write;
