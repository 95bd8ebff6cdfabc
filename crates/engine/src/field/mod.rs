//! Vector fields: the rows of one field, its graph and codes, and exact re-ranking.
//!
//! This module depends on rows and on the offsets of the points that own them, and not on collections, payloads or the log.
//! `arena` and `table` hold the rows of dense vectors and multi-vectors for the writer and for readers, `sparse_table` those
//! of sparse vectors. `graph` is the HNSW graph over the rows with its `coding`, `graph_search` searches it, `calibration` has the recall that its
//! walks reach, and `reranking`
//! orders the results by the original vectors.

pub(crate) mod arena;
pub mod calibration;
mod coding;
mod exploration;
pub(crate) mod graph;
mod graph_search;
mod graph_slot;
mod grouped_ranking;
mod places;
mod reranking;
mod rewriting;
mod run;
mod sparse_rows;
pub(crate) mod sparse_table;
pub(crate) mod table;

pub use arena::FieldArena;
pub use graph::{FieldGraph, IndexScratch};
pub use graph_search::{GraphSearch, QuantizationParams};
pub use graph_slot::GraphSlot;
pub use grouped_ranking::{GroupRows, best_rows};
pub use reranking::Ranked;
pub use sparse_table::{SparseArena, SparseTable};
pub use table::FieldTable;
