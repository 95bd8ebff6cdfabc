//! Memory that one thread grows while many others read it without locks.
//!
//! | type | one line |
//! |---|---|
//! | [`RowArena`] / [`RowTable`] | rows of bytes of one length, appended by one writer, full chunks on maps / a snapshot of them |
//! | [`AtomicColumn`] / [`ColumnTable`] | one integer a row that its writer may change in place / a reader's handle |
//! | [`CodeArena`] | fixed rows of bytes with a tag each, written once by any thread, read by any |
//! | [`LinkArena`] | fixed rows of `AtomicU32`, written and read by any number of threads |
//!
//! The rows of an arena are numbered from 0; the number of one is its *slot*. Which rows or nodes of a field they are is up
//! to the user of the arena.
//!
//! Each arena starts with a few KiB, so that a tiny collection needs little memory, and uses huge pages once it is large. Beside the
//! file map this is the only module of the engine that contains `unsafe`.

mod block;
mod buckets;
mod chunks;
mod codes;
mod column;
mod links;
mod rows;

pub use codes::CodeArena;
pub use column::{
    AtomicColumn, AtomicColumn32, AtomicColumn64, AtomicWord, ColumnTable, ColumnTable32, ColumnTable64,
};
pub use links::LinkArena;
pub use rows::{RowArena, RowTable};

/// Bytes of a cache line; every row of an arena that is longer starts on one.
const LINE_BYTES: usize = 64;

/// Bytes of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
