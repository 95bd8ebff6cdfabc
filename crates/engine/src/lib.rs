//! The KithDB engine: points, indexes and durability. It knows nothing of Node or HTTP.
//!
//! The modules are floors of one house; each uses only those before it:
//! [`types`], [`name`], [`error`], [`limits`], [`deadline`], [`json`] → [`storage`] → [`wal`] → [`arena`] → [`vectors`] → [`index`] → [`config`] → [`field`] → [`payload`] → [`filter`] →
//! [`collection`] → [`query`] → [`catalog`] → [`integrity`] → [`api`] → [`engine`].
//!
//! Beside the house stand `sync`, the locks and atomics that a scheduler of tests can take the place of, `scheduling`,
//! by which background work yields to reads, and [`fuzzing`], what the fuzzers call.

pub mod api;
pub mod arena;
pub mod catalog;
pub mod collection;
pub mod config;
pub mod deadline;
pub mod engine;
pub mod error;
pub mod field;
pub mod filter;
#[doc(hidden)]
pub mod fuzzing;
mod heap;
pub mod index;
pub mod integrity;
pub mod json;
pub mod limits;
pub mod name;
pub mod payload;
pub mod point_set;
pub mod query;
mod scheduling;
pub mod storage;
mod sync;
pub mod types;
pub mod vectors;
pub mod wal;
