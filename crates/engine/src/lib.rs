//! The KithDB engine: points, indexes and durability. It knows nothing of Node or HTTP.
//!
//! The interface is what this page lists: [`Engine`], what its calls take and answer, and what is done with a data
//! directory that no engine has open. The modules behind it are public with the feature `internals`, for benchmarks and
//! tests only. The table of modules in `ARCHITECTURE.md` has their order: each uses only those above it.

mod allocator;
#[cfg(not(feature = "internals"))]
mod api;
#[cfg(feature = "internals")]
pub mod api;
#[cfg(not(feature = "internals"))]
mod arena;
#[cfg(feature = "internals")]
pub mod arena;
#[cfg(not(feature = "internals"))]
mod catalog;
#[cfg(feature = "internals")]
pub mod catalog;
#[cfg(not(feature = "internals"))]
mod collection;
#[cfg(feature = "internals")]
pub mod collection;
#[cfg(not(feature = "internals"))]
mod config;
#[cfg(feature = "internals")]
pub mod config;
#[cfg(not(feature = "internals"))]
mod deadline;
#[cfg(feature = "internals")]
pub mod deadline;
#[cfg(not(feature = "internals"))]
mod engine;
#[cfg(feature = "internals")]
pub mod engine;
#[cfg(not(feature = "internals"))]
mod error;
#[cfg(feature = "internals")]
pub mod error;
#[cfg(not(feature = "internals"))]
mod field;
#[cfg(feature = "internals")]
pub mod field;
#[cfg(not(feature = "internals"))]
mod filter;
#[cfg(feature = "internals")]
pub mod filter;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
#[cfg(not(feature = "internals"))]
mod index;
#[cfg(feature = "internals")]
pub mod index;
#[cfg(not(feature = "internals"))]
mod integrity;
#[cfg(feature = "internals")]
pub mod integrity;
#[cfg(not(feature = "internals"))]
mod json;
#[cfg(feature = "internals")]
pub mod json;
mod json_writer;
#[cfg(not(feature = "internals"))]
mod limits;
#[cfg(feature = "internals")]
pub mod limits;
#[cfg(not(feature = "internals"))]
mod name;
#[cfg(feature = "internals")]
pub mod name;
#[cfg(not(feature = "internals"))]
mod payload;
#[cfg(feature = "internals")]
pub mod payload;
#[cfg(not(feature = "internals"))]
mod point_set;
#[cfg(feature = "internals")]
pub mod point_set;
#[cfg(not(feature = "internals"))]
mod query;
#[cfg(feature = "internals")]
pub mod query;
mod scheduling;
#[cfg(not(feature = "internals"))]
mod storage;
#[cfg(feature = "internals")]
pub mod storage;
mod sync;
#[cfg(not(feature = "internals"))]
mod types;
#[cfg(feature = "internals")]
pub mod types;
#[cfg(not(feature = "internals"))]
mod vectors;
#[cfg(feature = "internals")]
pub mod vectors;
#[cfg(not(feature = "internals"))]
mod wal;
#[cfg(feature = "internals")]
pub mod wal;

pub use catalog::OpenError;
pub use collection::{Losses, MemoryReport};
pub use engine::{
    Body, Claim, Engine, HealthIssue, HealthIssueKind, InstructionSets, Operation, Options, Reply, Request,
    ScrubFinding, ScrubOptions, ScrubReport, Status, check_directory, instruction_sets, repair_directory,
    verify_directory,
};
pub use error::{Error, message_details};
pub use integrity::{
    CheckReport, CheckedCollection, Finding, Findings, LogEnd, Mended, RepairReport, Severity, UnsoundFile,
};
pub use limits::{Limits, Thresholds};
pub use query::Tally;
#[cfg(feature = "testing")]
pub use storage::CrashPoint;
