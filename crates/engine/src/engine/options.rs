//! How an engine is opened.

use super::{ScrubOptions, Tuning};
use crate::catalog::{CatalogOptions, Mode};
#[cfg(feature = "testing")]
use crate::limits::ResidencyThresholds;
use crate::limits::{Limits, Thresholds};
use crate::memory::MemoryLimit;
#[cfg(feature = "testing")]
use crate::supervision::PlantedPanic;
use std::time::Duration;

/// What eager background work divides the time by after which collections sleep.
#[cfg(feature = "testing")]
const EAGER_DIVISOR: u32 = 100;

/// How to open an engine.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads that answer reads, at least 1.
    pub search_threads: usize,
    /// Limits on requests and collections.
    pub limits: Limits,
    /// Sizes at which work in the background starts.
    pub thresholds: Thresholds,
    /// What memory is accounted against.
    pub memory: MemoryLimit,
    /// Time between two rounds of background work: vacuums, checkpoints, removals.
    pub housekeeping: Duration,
    /// Threads of its own, or everything on the calling thread.
    pub mode: Mode,
    /// How rows are prefetched. Without threads nothing is measured.
    pub tuning: Tuning,
    /// Share of the processors that measuring recall may use; none is measured at 0.
    pub calibration_share: f64,
    /// Collections that each report has figures of: those that were created first.
    pub reported_collections: usize,
    /// How files are read in the background for signs of decay; not at all when absent, or without threads.
    pub scrub: Option<ScrubOptions>,
    /// Whether the collections are replicas of shards of a cluster (docs/cluster.md): what an engine does by itself must not
    /// make them different. No automatic field indexes are made; points whose time has come are hidden from reads, and there
    /// for writes until one deletes them; and no re-embedding is begun.
    pub is_replica: bool,
    /// Operations on the collection `__panic__` panic: for the test that a panic is survived.
    #[cfg(feature = "testing")]
    pub panics_on_request: bool,
    /// A background task that panics: for the tests of supervision.
    #[cfg(feature = "testing")]
    pub panics_in: Option<PlantedPanic>,
    /// The name of a thread that the system seems to refuse, for a test.
    #[cfg(feature = "testing")]
    pub refuses_thread: Option<&'static str>,
}

impl Default for Options {
    fn default() -> Self {
        let search_threads = std::thread::available_parallelism().map_or(1, usize::from);
        Options {
            search_threads,
            limits: Limits::default(),
            thresholds: Thresholds::default(),
            memory: MemoryLimit::None,
            housekeeping: Duration::from_millis(500),
            mode: Mode::Threaded,
            tuning: Tuning::Measured,
            calibration_share: 0.01,
            reported_collections: 0,
            scrub: None,
            is_replica: false,
            #[cfg(feature = "testing")]
            panics_on_request: false,
            #[cfg(feature = "testing")]
            panics_in: None,
            #[cfg(feature = "testing")]
            refuses_thread: None,
        }
    }
}

impl Options {
    /// How the catalog is opened.
    pub(super) fn of_catalog(&self) -> CatalogOptions {
        let Options { limits, mut thresholds, memory, mode, is_replica, .. } = *self;
        if is_replica {
            thresholds.auto_index_points = usize::MAX;
        }
        CatalogOptions { limits, thresholds, memory, mode, is_replica }
    }
}

#[cfg(feature = "testing")]
impl Options {
    /// Background work starts at thresholds of a few kilobytes and rows, and is due every 10 ms: small collections
    /// are checkpointed, copied forward, vacuumed and cut from the log many times a second. They sleep after a hundredth of
    /// the time.
    pub fn eager(self) -> Options {
        let thresholds = Thresholds {
            checkpoint_bytes: 48 << 10,
            log_budget_bytes: 128 << 10,
            log_segment_bytes: 32 << 10,
            graph_step_rows: 20,
            vacuum_rows: 20,
            order_rows: 100,
            row_chunk_bytes: 8 << 10,
            residency: ResidencyThresholds {
                idle: self.thresholds.residency.idle.map(|idle| idle / EAGER_DIVISOR),
                ..self.thresholds.residency
            },
            ..Thresholds::default()
        };
        Options { thresholds, housekeeping: Duration::from_millis(10), ..self }
    }
}
