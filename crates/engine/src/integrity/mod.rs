//! Integrity of a data directory: checks at rest, repairs, and verification of the files of a backup.

mod advice;
mod check;
mod finding;
mod repair;
mod verify;

pub use check::{CheckReport, CheckedCollection, check};
pub use finding::{Finding, Findings, Severity};
pub use repair::{RepairReport, RepairedCollection, SALVAGE, repair};
pub use verify::{LogEnd, UnsoundFile, verify_files};
