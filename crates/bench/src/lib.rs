//! What the benchmarks in `src/bin` share. Each of them says at its head what it measures and how to run it.

pub mod data_set;
pub mod empty_catalog;
pub mod flags;
pub mod requests;
pub mod scatter;
pub mod texts;
