//! Finding the nearest rows: exactly ([`flat`]), by a graph ([`hnsw`]), or, of sparse vectors, by an inverted index
//! ([`sparse`]).
//!
//! Everything here works on rows and *distances*, of which smaller is better for every metric. Points, ids, filters and
//! versions belong to the caller, which passes them as closures. Both methods compute a distance by the same sequence of
//! operations, so the distance of a row does not depend on the method. Both offer rows to a [`TopK`], which breaks ties by the
//! caller's order. A table ([`fetch`]) says how rows are prefetched; its entries can be measured ([`tuning`]).

pub mod distance;
pub mod fetch;
pub mod flat;
pub mod hnsw;
pub mod max_sim;
pub mod space;
pub mod sparse;
pub mod topk;
pub mod tuning;

pub use distance::Distance;
pub use hnsw::{
    BuildScratch, Candidate, Further, GraphError, Hnsw, HnswParams, ReadGraph, Slot, Traversal, WalkParams,
    WalkScratch,
};
pub use max_sim::MaxSim;
pub use space::{Codes, Originals, Space};
pub use topk::TopK;

use std::fmt;

/// A search ended early because its stop check said so (a deadline, or the caller no longer waits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the search was stopped")
    }
}

impl std::error::Error for Stopped {}
