//! Options of `open`, as they come from JavaScript.

use crate::milliseconds;
use kithdb_engine::{
    Limits, Membership, MemoryLimit, Options, Purpose, ResidencyThresholds, ScrubOptions, Thresholds,
};
use napi_derive::napi;
use std::time::Duration;

/// How long a server that starts waits for a process that is opening the directory, or hands it over.
const SERVER_TIMEOUT: Duration = Duration::from_secs(60);

/// How to open a data directory.
#[napi(object, object_to_js = false)]
pub struct OpenOptions {
    /// The directory; created when it is not there.
    pub data_dir: String,
    /// Threads that answer reads; the number of cores when absent.
    pub search_threads: Option<u32>,
    /// What memory is accounted against; nothing when absent.
    pub memory: Option<NativeMemoryOptions>,
    /// Limits that differ from their defaults.
    pub limits: Option<NativeLimits>,
    /// Share of the processors that measuring recall may use, 0 for none; a hundredth when absent.
    pub calibration_share: Option<f64>,
    /// Collections that reports have figures of; none when absent.
    pub reported_collections: Option<u32>,
    /// Searches that take half of so many milliseconds complete with their profile; none when absent.
    pub slow_request_ms: Option<f64>,
    /// How files are read in the background for signs of decay; not at all when absent.
    pub scrub: Option<NativeScrubOptions>,
    /// When collections sleep that are not used; as the engine does it when absent.
    pub residency: Option<NativeResidency>,
    /// How the directory is shared with other processes; as a server has it when absent.
    pub sharing: Option<NativeSharing>,
    /// Names of file systems on which a new directory may be made although they do not keep the promises of one.
    pub allowed_file_systems: Option<Vec<String>>,
    /// Whether its collections are replicas of shards of a cluster; false when absent.
    pub is_replica: Option<bool>,
}

/// How a directory is shared with other processes by one that is no server.
#[napi(object, object_to_js = false)]
pub struct NativeSharing {
    /// Only this process has it, or none.
    pub exclusive: bool,
    /// It is never the owner, and writes nothing.
    pub read_only: bool,
    /// How long opening may wait for another process.
    pub timeout_ms: f64,
}

/// When collections sleep (C24).
#[napi(object, object_to_js = false)]
pub struct NativeResidency {
    /// Seconds without a request after which one does; 0 for never.
    pub idle_seconds: f64,
    /// Bytes of all that are awake above which those sleep that were not used for longest; half of the engine's memory when
    /// absent.
    pub budget_bytes: Option<f64>,
}

/// How much memory there is.
#[napi(object, object_to_js = false)]
pub struct NativeMemoryOptions {
    /// Bytes that the process may hold; those of its control groups or of the machine when absent.
    pub limit_bytes: Option<f64>,
    /// Bytes that the machine has.
    pub machine_bytes: f64,
}

/// How often and how fast files are read.
#[napi(object, object_to_js = false)]
pub struct NativeScrubOptions {
    /// Most bytes a second.
    pub bytes_per_second: f64,
    /// Seconds from the end of one pass to the next.
    pub interval_seconds: f64,
}

/// The limits of C2.7; absent ones keep their defaults.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct NativeLimits {
    /// Points or ids in one request.
    pub max_points_per_request: Option<u32>,
    /// Conditions in one filter.
    pub max_filter_conditions: Option<u32>,
    /// Nesting of prefetches.
    pub max_prefetch_depth: Option<u32>,
    /// Prefetches in one query.
    pub max_prefetches: Option<u32>,
    /// `limit + offset` of a read.
    pub max_result_window: Option<u32>,
    /// Named vectors of a collection.
    pub max_named_vectors: Option<u32>,
    /// Field indexes of a collection.
    pub max_field_indexes: Option<u32>,
    /// Collections of a server.
    pub max_collections: Option<u32>,
    /// Cursors that are open at a time.
    pub max_cursors: Option<u32>,
}

impl OpenOptions {
    /// How this process takes part in the directory.
    pub fn membership(&self) -> Membership {
        match &self.sharing {
            None => Membership {
                purpose: Purpose::Server,
                exclusive: false,
                read_only: false,
                timeout: SERVER_TIMEOUT,
            },
            Some(sharing) => Membership {
                purpose: Purpose::Embedded,
                exclusive: sharing.exclusive,
                read_only: sharing.read_only,
                timeout: milliseconds(sharing.timeout_ms),
            },
        }
    }

    /// See the field.
    pub fn allowed_file_systems(&self) -> &[String] {
        self.allowed_file_systems.as_deref().unwrap_or_default()
    }

    /// The engine's options.
    pub fn engine_options(&self) -> Options {
        let defaults = Options::default();
        Options {
            search_threads: self.search_threads.map_or(defaults.search_threads, |threads| threads as usize),
            memory: self.memory.as_ref().map_or(defaults.memory, |memory| match memory.limit_bytes {
                Some(bytes) => MemoryLimit::Bytes(bytes as u64),
                None => MemoryLimit::OfSystem { machine: memory.machine_bytes as u64 },
            }),
            limits: self.limits.as_ref().map_or(defaults.limits, |limits| limits.over(&defaults.limits)),
            calibration_share: self.calibration_share.unwrap_or(defaults.calibration_share),
            reported_collections: self.reported_collections.unwrap_or_default() as usize,
            scrub: self.scrub.as_ref().map(|scrub| ScrubOptions {
                bytes_per_second: scrub.bytes_per_second as u64,
                // An invalid duration becomes one second, because the conversion would panic.
                interval: Duration::try_from_secs_f64(scrub.interval_seconds)
                    .unwrap_or(Duration::from_secs(1)),
            }),
            thresholds: self.thresholds(),
            is_replica: self.is_replica == Some(true),
            ..defaults
        }
    }

    fn thresholds(&self) -> Thresholds {
        let usual = Thresholds::default();
        let Some(asked) = &self.residency else { return usual };
        let residency = ResidencyThresholds {
            // An invalid duration counts as none, because the conversion would panic.
            idle: Duration::try_from_secs_f64(asked.idle_seconds).ok().filter(|idle| !idle.is_zero()),
            budget_bytes: asked.budget_bytes.map(|bytes| bytes as u64),
            ..usual.residency
        };
        Thresholds { residency, ..usual }
    }
}

impl NativeLimits {
    pub fn over(&self, defaults: &Limits) -> Limits {
        let or = |value: Option<u32>, default: usize| value.map_or(default, |value| value as usize);
        Limits {
            max_points_per_request: or(self.max_points_per_request, defaults.max_points_per_request),
            max_filter_conditions: or(self.max_filter_conditions, defaults.max_filter_conditions),
            max_prefetch_depth: or(self.max_prefetch_depth, defaults.max_prefetch_depth),
            max_prefetches: or(self.max_prefetches, defaults.max_prefetches),
            max_result_window: or(self.max_result_window, defaults.max_result_window),
            max_named_vectors: or(self.max_named_vectors, defaults.max_named_vectors),
            max_field_indexes: or(self.max_field_indexes, defaults.max_field_indexes),
            max_collections: or(self.max_collections, defaults.max_collections),
            max_cursors: or(self.max_cursors, defaults.max_cursors),
            ..*defaults
        }
    }
}
