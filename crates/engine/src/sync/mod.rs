//! Locks, atomics, channels and threads of what several threads do to a log and a collection.
//!
//! With the feature `shuttle` they are those of a scheduler that runs one thread at a time and tries orders, so that
//! `tests/models.rs` runs the code itself and not a copy of it. Such a build works within that scheduler only.

#[cfg(feature = "shuttle")]
mod modelled;

#[cfg(feature = "shuttle")]
pub use modelled::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "shuttle"))]
pub use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(feature = "shuttle")]
pub use shuttle::{
    sync::{atomic, mpsc},
    thread,
};
#[cfg(not(feature = "shuttle"))]
pub use std::{
    sync::{atomic, mpsc},
    thread,
};
