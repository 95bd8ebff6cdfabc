//! Code that the benchmarks in `src/bin` share. The head of each says what it measures and how to run it.

pub mod data_set;
pub mod empty_catalog;
pub mod flags;
pub mod quantile;
pub mod requests;
pub mod scatter;
pub mod texts;
