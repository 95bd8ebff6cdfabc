//! The KithDB engine: points, indexes and durability. It does not depend on Node or HTTP.
//!
//! The interface is what this page lists: [`Engine`], what its calls take and answer, and what is done with a data
//! directory that no engine has open. The modules behind it are public for benchmarks and tests only. The table of
//! modules in `ARCHITECTURE.md` has their order: each uses only those above it.

#[doc(hidden)]
pub mod allocator;
#[doc(hidden)]
pub mod api;
#[doc(hidden)]
pub mod arena;
#[doc(hidden)]
pub mod attach;
#[doc(hidden)]
pub mod catalog;
#[doc(hidden)]
pub mod change;
#[doc(hidden)]
pub mod checkpoint;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod collection;
#[doc(hidden)]
pub mod config;
#[doc(hidden)]
pub mod deadline;
#[doc(hidden)]
pub mod durations;
#[doc(hidden)]
pub mod embedding;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod error;
mod faults;
#[doc(hidden)]
pub mod field;
#[doc(hidden)]
pub mod filter;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
#[doc(hidden)]
pub mod group_keys;
#[doc(hidden)]
pub mod index;
#[doc(hidden)]
pub mod integrity;
#[doc(hidden)]
pub mod json;
mod json_writer;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod name;
#[doc(hidden)]
pub mod payload;
#[doc(hidden)]
pub mod point_set;
#[doc(hidden)]
pub mod projection;
#[doc(hidden)]
pub mod query;
#[doc(hidden)]
pub mod rates;
#[doc(hidden)]
pub mod recent_operations;
#[doc(hidden)]
pub mod scheduling;
#[doc(hidden)]
pub mod sharding;
#[doc(hidden)]
pub mod state;
#[doc(hidden)]
pub mod storage;
#[doc(hidden)]
pub mod supervision;
mod sync;
#[doc(hidden)]
pub mod types;
#[doc(hidden)]
pub mod vectors;
#[doc(hidden)]
pub mod wal;

#[cfg(feature = "testing")]
pub use allocator::refuse_from;
pub use allocator::try_reserve_exact_in;
pub use api::Strictness;
pub use attach::{Membership, NotOpened, OpenEngine, PROTOCOL_VERSION, Purpose, SharedFolder};
pub use catalog::OpenError;
pub use collection::{IndexBacklog, Losses, MemoryReport};
pub use deadline::Cancellation;
pub use durations::{DURATION_BOUNDS, DurationCounts};
pub use embedding::{insert_vectors, read_endpoint_answer};
pub use engine::{
    Access, BackgroundPanic, Body, BodyForm, CollectionFigures, CollectionSize, DirectoryLock, DiskBytes,
    Engine, HealthIssue, HealthIssueKind, InstructionSets, Load, Operation, Options, Packing, Profile, Reply,
    Report, Reported, Request, ScrubFinding, ScrubOptions, ScrubReport, Status, StrictScope, check_directory,
    filter_problem, instruction_sets, read_auth_generation, repair_directory, verify_directory,
};
pub use error::{Error, message_details};
pub use integrity::{
    CheckReport, CheckedCollection, Finding, Findings, LogEnd, RepairReport, RepairedCollection, Severity,
    UnsoundFile,
};
pub use limits::{Limits, ResidencyThresholds, Thresholds};
pub use memory::{MemoryLimit, MemoryUse};
pub use query::Tally;
pub use recent_operations::CallIdentity;
pub use sharding::{Ask, Layout, ShardedRead, ShardedRequest, Step, join_write, shard_of, split_write};
#[cfg(feature = "testing")]
pub use storage::{CrashPoint, CrashPoints};
pub use storage::{Decision, LockGuard, Storage, decide_for, file_system_name};
#[cfg(feature = "testing")]
pub use supervision::PlantedPanic;
pub use supervision::{Supervisor, Task};
pub use types::{IdKind, Lsn, Metric, OperationId, PointId};
