//! Whether a data directory is what it was written as, and what can be done where it is not: checks at rest, the
//! scrub of a directory that is served, and repairs.

mod advice;
mod check;
mod finding;
mod repair;
mod verify;

pub use check::{CheckReport, CheckedCollection, check};
pub use finding::{Finding, Findings, Severity};
pub use repair::{Mended, RepairReport, SALVAGE, repair};
pub use verify::{LogEnd, UnsoundFile, verify_files};
