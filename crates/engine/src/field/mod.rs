//! Vector fields: the rows of one field, its graph and codes, and exact re-ranking.
//!
//! A field knows rows and the points that own them, and nothing of collections, payloads or the log. `table` and
//! `sparse_table` hold the rows; `graph` is the HNSW graph over them with its `coding`; `graph_search` searches it and
//! `reranking` orders what was found by the original vectors.

mod coding;
pub(crate) mod graph;
mod graph_search;
mod reranking;
mod rewriting;
mod run;
mod sparse_rows;
pub(crate) mod sparse_table;
pub(crate) mod table;

pub use graph::{FieldGraph, IndexScratch};
pub use graph_search::{GraphSearch, QuantizationParams};
pub use sparse_table::{SparseArena, SparseTable};
pub use table::{FieldArena, FieldTable};
