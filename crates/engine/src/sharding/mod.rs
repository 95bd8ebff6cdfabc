//! A collection of several shards in a cluster: which shard a point is in, what each shard gets of a write, and a read as
//! questions to shards whose answers become one ([docs/cluster.md](../../../../docs/cluster.md)).
//!
//! Nothing here does input or output or takes part in an engine: bytes go in, and bytes come out.
//!
//! With exact searches the answer of shards is that of one collection of the same points, in its order. Otherwise:
//!
//! - The document frequencies of the modifier `idf` are those of each shard.
//! - A walk through a graph misses other points in shards than in one collection.
//! - An estimate of a count is the sum of the estimates of the shards.
//! - The counts of a facet are lower bounds where a shard has more values than the result window.
//! - The steps of a read may see different states; a point that is gone meanwhile is left out.

mod chosen;
mod examples;
mod formula;
mod groups;
mod hits;
mod matrix;
mod members;
mod outcome;
mod pages;
mod placement;
mod questions;
mod read;
mod request;
mod sample;
mod search;
mod similarity;
mod split;
mod values;

pub use outcome::join_write;
pub use placement::shard_of;
pub use questions::{Ask, ShardedRead, Step};
pub use request::{Layout, ShardedRequest};
pub use split::split_write;
