//! The one log of the server: framed records with CRC32C in segment files, group commit, replay.
//!
//! Every record has a log sequence number ([`Lsn`](crate::types::Lsn), LSN): its place in the order of all records of
//! the server. [`Log`] owns the files and has no threads; [`GroupCommit`] shares it between writers. `docs/formats.md`
//! describes the bytes.
//!
//! **What is torn and what is damaged.** A power cut may leave unsynced bytes in any order, so "an invalid record with
//! valid ones behind it" proves nothing by itself. Every record therefore has the LSN that was durable when it was
//! written. An unreadable record is *damage* if any later record, or a later segment, proves that it was once durable;
//! otherwise it and everything behind it was never acknowledged, and is cut.
//!
//! **Opening.** Records that nothing proves durable (the last group, which may live only in the page cache after a
//! failed sync) are copied into a new, synced segment before the owner may rely on them; where the disk has no room for
//! that, the same bytes are written over them. A segment ends where the next begins: what it holds beyond is ignored.
//! The last segment ends where only zeros follow, which are written ahead of records. No file is changed in place but
//! by these two rewrites, and damaged bytes are never touched.
//!
//! **Failing.** A write that fails before its sync is taken back, and its LSNs are given out again, so that the
//! log stays contiguous. A failed sync, or a write that cannot be taken back, poisons the log: every later call fails
//! with [`LogError::Poisoned`] until the log is opened again.

mod continuation;
mod cut_mark;
mod durability;
mod entropy;
mod error;
mod figures;
mod format;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod group;
mod inspection;
mod log;
mod recovery;
mod report;
mod scan;
mod segment;
mod verification;

pub use cut_mark::{MARK_PATHS, MarkFault, mark_fault, repair_mark, was_cut};
pub use durability::{Durability, GroupOptions};
pub use error::LogError;
pub use figures::LogFigures;
pub use format::{CATALOG, MAX_BODY_BYTES};
pub use group::{Appender, Completion, GroupCommit, PendingFlush};
pub use inspection::{inspect, path_holding, remove_segments, salvage, segment_path, start_behind};
pub use log::{Log, LogOptions};
pub use report::{Damage, DamageKind, LogReport, Replayed};
pub use verification::{LogInspection, SegmentFault, verify_closed};

#[cfg(test)]
mod tests;
