//! Measures what is held of the memory, and makes room where little is left.

use crate::allocator;
use crate::catalog::Catalog;
use crate::collection::Collection;
use crate::storage::mapped_bytes;
use crate::supervision::{Stop, Task};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two measurements.
const INTERVAL: Duration = Duration::from_millis(200);
/// The next measurement waits this many times the duration of the last: with many collections a few percent of a core.
const INTERVAL_FACTOR: u32 = 30;
/// Time between two attempts to give free memory back to the system, where little is left, and how many times the duration
/// of the last it is at least.
const TRIM_INTERVAL: Duration = Duration::from_secs(5);
const TRIM_FACTOR: u32 = 100;

/// Starts the thread, unless nothing limits the memory.
///
/// # Errors
/// The error of the system when it refuses the thread.
pub fn start(catalog: &Arc<Catalog>, stop: &Arc<Stop>) -> std::io::Result<Option<JoinHandle<()>>> {
    if !catalog.shared().memory.is_limited() {
        return Ok(None);
    }
    let supervisor = &catalog.shared().supervisor;
    let mut watch = Watch::default();
    let work = {
        let (catalog, stop) = (Arc::clone(catalog), Arc::clone(stop));
        move || {
            while !stop.is_requested() {
                let took = watch.look(&catalog);
                catalog.shared().supervisor.succeeded(Task::Memory);
                stop.wait(INTERVAL.max(took * INTERVAL_FACTOR));
            }
        }
    };
    supervisor.spawn("kith-memory".into(), Task::Memory, stop, work).map(Some)
}

/// Measures what all collections hold, with what the graphs behind their writes will take. Where that is much, automatic
/// indexes are the first to go: an indexer drops them.
fn measure(catalog: &Catalog) {
    let held = |one: &Arc<Collection>| one.memory().resident() + one.unbuilt_bytes();
    let collections = catalog.collections();
    let memory = &catalog.shared().memory;
    memory.note_automatic(collections.iter().map(|one| one.automatic_bytes()).sum());
    memory.measure(collections.iter().map(held).sum());
    memory.note_maps(mapped_bytes());
    memory.make_room_in_time();
    if memory.is_making_room() {
        collections.iter().for_each(|collection| catalog.shared().indexer.push(collection));
    }
}

#[derive(Default)]
struct Watch {
    /// When free memory may be given back again.
    trim_due: Option<Instant>,
    was_refusing: bool,
}

impl Watch {
    /// One measurement, and what follows from it. Returns how long it took.
    fn look(&mut self, catalog: &Catalog) -> Duration {
        let started = Instant::now();
        let shared = catalog.shared();
        let was_making_room = shared.memory.is_making_room();
        measure(catalog);
        if was_making_room && !shared.memory.is_making_room() {
            // What automatic indexes held is free.
            allocator::trim();
        }
        let is_refusing = shared.memory.is_refusing();
        if self.was_refusing && !is_refusing {
            // What waited for memory goes on.
            catalog.collections().iter().for_each(|collection| shared.indexer.push(collection));
        }
        self.was_refusing = is_refusing;
        let trimming = Instant::now();
        if shared.memory.is_pressed() && self.trim_due.is_none_or(|due| trimming >= due) {
            allocator::trim();
            let took = trimming.elapsed();
            self.trim_due = Some(trimming + took + TRIM_INTERVAL.max(took * TRIM_FACTOR));
        }
        started.elapsed()
    }
}
