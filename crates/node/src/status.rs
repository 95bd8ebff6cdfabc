//! The status, health issues and counters of an engine, as JavaScript gets them.

use kithdb_engine::{
    BackgroundPanic, CollectionFigures, DURATION_BOUNDS, DurationCounts, HealthIssue, IndexBacklog,
    MemoryReport, MemoryUse, Report, ScrubFinding, ScrubReport, Status, Tally, Task, instruction_sets,
};
use napi::bindgen_prelude::Float64Array;
use napi_derive::napi;

/// What an engine serves.
#[napi(object, object_from_js = false)]
pub struct NativeStatus {
    /// Collections, quarantined ones included.
    pub collections: u32,
    /// Those that are asleep.
    pub asleep: u32,
    /// Live points of all of them.
    pub points: f64,
    /// Quarantined collections.
    pub quarantined: u32,
    /// What is wrong with them; at most 1,000.
    pub faults: Vec<NativeFault>,
    /// Damage that the log had when the engine was opened.
    pub log_damages: Vec<NativeLogDamage>,
    /// Bytes that all collections hold.
    pub memory: NativeMemory,
    /// What is held of the memory that is allowed.
    pub memory_use: NativeMemoryUse,
    /// What is held of the disk.
    pub disk: NativeDiskBytes,
    /// What is in no index yet, over all collections.
    pub index_backlog: NativeIndexBacklog,
    /// How long the syncs of the log took.
    pub log_syncs: NativeDurations,
    /// How long the checkpoints of collections took.
    pub checkpoints: NativeDurations,
    /// How long collections took to wake.
    pub wakes: NativeDurations,
    /// Points that were removed since the engine was opened because their time had come.
    pub expired_points: f64,
    /// Field indexes that the engine made by itself.
    pub auto_indexes: f64,
    /// Cursors that are open.
    pub cursors: f64,
    /// Bytes that they hold at most.
    pub cursor_bytes: f64,
    /// What searches did since the engine was opened.
    pub searches: NativeSearches,
    /// The recall of searches of the collection where it is least; absent where none is measured.
    pub recall: Option<NativeRecall>,
    /// Reads that wait and run.
    pub reads: NativeReads,
    /// Which instructions this CPU runs the engine with.
    pub kernels: NativeKernels,
}

/// What the scrub did since the engine was opened.
#[napi(object, object_from_js = false)]
pub struct NativeScrub {
    /// Passes that came to their end.
    pub passes: f64,
    /// When the last one did, in seconds since 1970.
    pub finished_at: Option<f64>,
    /// Bytes compared with a checksum.
    pub bytes: f64,
    /// Pieces of data files that failed.
    pub data_failures: f64,
    /// Pieces of graph files that failed.
    pub graph_failures: f64,
    /// Manifests that failed.
    pub manifest_failures: f64,
    /// Times that the catalog's file or its copy failed.
    pub catalog_failures: f64,
    /// Segments of the log that failed.
    pub log_failures: f64,
    /// The last findings, oldest first, but for those of the start that the status has.
    pub findings: Vec<NativeScrubFinding>,
}

/// One piece of a file that was not as it was written.
#[napi(object, object_from_js = false)]
pub struct NativeScrubFinding {
    /// Grows from finding to finding of this process.
    pub number: f64,
    /// Name of the collection, where the file belongs to one.
    pub collection: Option<String>,
    /// The file, relative to the data directory.
    pub file: String,
    /// What is wrong, and what was done.
    pub what: String,
}

/// A quarantined collection.
#[napi(object, object_from_js = false)]
pub struct NativeFault {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub fault: String,
}

/// A fault that an operator has to deal with.
#[napi(object, object_from_js = false)]
pub struct NativeHealthIssue {
    /// `disk_full`, `memory_limit`, `log`, `quarantine`, `collection`, `checkpoint`, `removal` or `background`.
    pub kind: &'static str,
    /// Name of the collection, where it is one.
    pub collection: Option<String>,
    /// What is wrong.
    pub what: String,
}

/// Panics of background work, which are caught.
#[derive(Default)]
#[napi(object, object_from_js = false)]
pub struct NativePanics {
    /// How many each task had.
    pub counts: Vec<NativePanicCount>,
    /// The last ones, oldest first.
    pub events: Vec<NativePanicEvent>,
}

/// The panics of one task.
#[napi(object, object_from_js = false)]
pub struct NativePanicCount {
    /// Name of the task.
    pub task: &'static str,
    /// Since the engine was opened.
    pub count: f64,
    /// How often its thread was taken up again after one.
    pub restarts: f64,
}

/// A panic.
#[napi(object, object_from_js = false)]
pub struct NativePanicEvent {
    /// Grows from panic to panic of this process.
    pub number: f64,
    /// Name of the task.
    pub task: &'static str,
    /// Name of the collection, where the task worked on one.
    pub collection: Option<String>,
    /// What the panic said.
    pub what: String,
}

/// A piece of damage of the log.
#[napi(object, object_from_js = false)]
pub struct NativeLogDamage {
    /// The file, relative to the data directory.
    pub file: String,
    /// What is wrong, and which records it takes.
    pub what: String,
}

/// Bytes by component.
#[napi(object, object_from_js = false)]
pub struct NativeMemory {
    /// Original vectors in memory.
    pub originals: f64,
    /// Original vectors on read-only maps, which are not memory of this process.
    pub originals_mapped: f64,
    /// Codes of the graphs' nodes.
    pub codes: f64,
    /// Links of the graphs.
    pub links: f64,
    /// Points, their ids, and what is known of each row.
    pub points: f64,
    /// Payloads that no checkpoint has written yet.
    pub payloads: f64,
    /// Field indexes, as they were when they were last measured, seconds ago.
    pub field_indexes: f64,
}

/// Bytes that are held of the memory that is allowed; all 0 without a limit.
#[napi(object, object_from_js = false)]
pub struct NativeMemoryUse {
    /// What the process may hold.
    pub limit: f64,
    /// What it holds.
    pub process: f64,
    /// The engine's part of the limit.
    pub engine_limit: f64,
    /// What the engine holds.
    pub engine: f64,
    /// Growth that was accepted lately.
    pub charged: f64,
}

/// Counts over searches.
#[napi(object, object_from_js = false)]
pub struct NativeSearches {
    /// Exact scans of originals.
    pub exact_scans: f64,
    /// Scans of the matches by their codes, as the first plan.
    pub scans: f64,
    /// Walks through all rows, as the first plan.
    pub wide_walks: f64,
    /// Walks through matches only, as the first plan.
    pub two_hop_walks: f64,
    /// Plans given up for the next one.
    pub fallbacks: f64,
    /// Nodes that walks expanded.
    pub hops: f64,
    /// Rows that walks compared.
    pub distances: f64,
    /// Vectors that exact searches compared.
    pub compared: f64,
    /// Rows that scans compared by code.
    pub scanned: f64,
    /// Rows that were compared again by their originals.
    pub reranked: f64,
}

/// Bytes on disk.
#[napi(object, object_from_js = false)]
pub struct NativeDiskBytes {
    /// Bytes of the log's segments.
    pub log: f64,
    /// Bytes of the collections' files, at most some seconds old.
    pub data: f64,
}

/// What is in no index yet.
#[napi(object, object_from_js = false)]
pub struct NativeIndexBacklog {
    /// Rows of dense fields that are not in the graph.
    pub dense: f64,
    /// Rows of sparse fields that are in no block.
    pub sparse: f64,
    /// Points that the builders of field indexes have not read.
    pub field: f64,
}

/// How long something took, since the engine was opened.
#[napi(object, object_from_js = false)]
pub struct NativeDurations {
    /// Upper bounds of the buckets, in seconds.
    pub bounds: Vec<f64>,
    /// How many were in each bucket, and above the last bound; not cumulative.
    pub counts: Vec<f64>,
    /// The sum of all, in seconds.
    pub seconds: f64,
}

/// Figures of some collections, in columns.
#[napi(object, object_from_js = false)]
pub struct NativeCollectionFigures {
    /// Their names.
    pub names: Vec<String>,
    /// For each of them: points, bytes in memory, bytes on disk, rows of dense fields, rows of sparse fields and points of
    /// field indexes that are in no index yet, searches, writes, and the measured recall with the ends of its interval, which
    /// are NaN where none is measured.
    pub figures: Float64Array,
}

/// A measured recall with its interval of 95 %.
#[napi(object, object_from_js = false)]
pub struct NativeRecall {
    /// The mean.
    pub recall: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Reads that wait for a thread, and threads that run light and heavy ones.
#[napi(object, object_from_js = false)]
pub struct NativeReads {
    /// Waiting reads.
    pub waiting: u32,
    /// Threads that run light reads.
    pub light: u32,
    /// Threads that run heavy reads.
    pub heavy: u32,
}

/// Names of instruction sets, such as `avx512`.
#[napi(object, object_from_js = false)]
pub struct NativeKernels {
    /// For original vectors.
    pub rows: &'static str,
    /// For codes.
    pub codes: &'static str,
}

impl From<Status> for NativeStatus {
    fn from(status: Status) -> NativeStatus {
        let instruction_sets = instruction_sets();
        NativeStatus {
            collections: status.collections as u32,
            asleep: status.asleep as u32,
            points: status.points as f64,
            quarantined: status.quarantined as u32,
            faults: status.faults.into_iter().map(|(name, fault)| NativeFault { name, fault }).collect(),
            log_damages: status
                .log_damages
                .into_iter()
                .map(|(file, what)| NativeLogDamage { file, what })
                .collect(),
            memory: status.memory.into(),
            memory_use: status.memory_use.into(),
            disk: NativeDiskBytes { log: status.disk.log as f64, data: status.disk.data as f64 },
            index_backlog: status.backlog.into(),
            log_syncs: status.log_syncs.into(),
            checkpoints: status.checkpoints.into(),
            wakes: status.wakes.into(),
            expired_points: status.expired_points as f64,
            auto_indexes: status.auto_indexes as f64,
            cursors: status.cursors.open as f64,
            cursor_bytes: status.cursors.bytes as f64,
            searches: status.searches.into(),
            recall: status.recall.map(|of| NativeRecall { recall: of.recall, low: of.low, high: of.high }),
            reads: NativeReads {
                waiting: status.reads.waiting as u32,
                light: status.reads.light as u32,
                heavy: status.reads.heavy as u32,
            },
            kernels: NativeKernels { rows: instruction_sets.rows, codes: instruction_sets.codes },
        }
    }
}

impl NativePanics {
    /// The panics and restarts that a report counts.
    pub fn of(report: &Report) -> NativePanics {
        let count = |(&(task, count), &(_, restarts)): (&(Task, u64), &(Task, u64))| NativePanicCount {
            task: task.name(),
            count: count as f64,
            restarts: restarts as f64,
        };
        let event = |BackgroundPanic { event, collection }: &BackgroundPanic| NativePanicEvent {
            number: event.number as f64,
            task: event.task.name(),
            collection: collection.clone(),
            what: event.what.clone(),
        };
        NativePanics {
            counts: report.panics.iter().zip(&report.restarts).map(count).collect(),
            events: report.panic_events.iter().map(event).collect(),
        }
    }
}

impl NativeCollectionFigures {
    /// The figures of a report's collections.
    pub fn of(report: &Report) -> NativeCollectionFigures {
        let row = |one: &CollectionFigures| {
            let CollectionFigures { points, memory_bytes, disk_bytes, backlog, searches, writes, .. } = *one;
            let recall = one.recall.map_or([f64::NAN; 3], |of| [of.recall, of.low, of.high]);
            let counts = [
                points,
                memory_bytes,
                disk_bytes,
                backlog.dense,
                backlog.sparse,
                backlog.field,
                searches,
                writes,
            ];
            counts.map(|count| count as f64).into_iter().chain(recall)
        };
        NativeCollectionFigures {
            names: report.collections.iter().map(|one| one.name.clone()).collect(),
            figures: report.collections.iter().flat_map(row).collect::<Vec<f64>>().into(),
        }
    }
}

impl From<IndexBacklog> for NativeIndexBacklog {
    fn from(backlog: IndexBacklog) -> NativeIndexBacklog {
        NativeIndexBacklog {
            dense: backlog.dense as f64,
            sparse: backlog.sparse as f64,
            field: backlog.field as f64,
        }
    }
}

impl From<DurationCounts> for NativeDurations {
    fn from(DurationCounts { counts, total }: DurationCounts) -> NativeDurations {
        NativeDurations {
            bounds: DURATION_BOUNDS.iter().map(std::time::Duration::as_secs_f64).collect(),
            counts: counts.iter().map(|&count| count as f64).collect(),
            seconds: total.as_secs_f64(),
        }
    }
}

impl From<HealthIssue> for NativeHealthIssue {
    fn from(HealthIssue { kind, collection, what }: HealthIssue) -> NativeHealthIssue {
        NativeHealthIssue { kind: kind.name(), collection, what }
    }
}

impl From<MemoryUse> for NativeMemoryUse {
    fn from(found: MemoryUse) -> NativeMemoryUse {
        NativeMemoryUse {
            limit: found.limit as f64,
            process: found.process as f64,
            engine_limit: found.engine_limit as f64,
            engine: found.engine as f64,
            charged: found.charged as f64,
        }
    }
}

impl From<MemoryReport> for NativeMemory {
    fn from(report: MemoryReport) -> NativeMemory {
        NativeMemory {
            originals: report.originals as f64,
            originals_mapped: report.originals_mapped as f64,
            codes: report.codes as f64,
            links: report.links as f64,
            points: report.points as f64,
            payloads: report.payloads as f64,
            field_indexes: report.field_indexes as f64,
        }
    }
}

impl From<Tally> for NativeSearches {
    fn from(tally: Tally) -> NativeSearches {
        NativeSearches {
            exact_scans: tally.exact_scans as f64,
            scans: tally.scans as f64,
            wide_walks: tally.wide_walks as f64,
            two_hop_walks: tally.two_hop_walks as f64,
            fallbacks: tally.fallbacks as f64,
            hops: tally.hops as f64,
            distances: tally.distances as f64,
            compared: tally.compared as f64,
            scanned: tally.scanned as f64,
            reranked: tally.reranked as f64,
        }
    }
}

impl From<ScrubReport> for NativeScrub {
    fn from(report: ScrubReport) -> NativeScrub {
        let finding = |ScrubFinding { number, collection, file, what }| NativeScrubFinding {
            number: number as f64,
            collection,
            file,
            what,
        };
        NativeScrub {
            passes: report.passes as f64,
            finished_at: report.finished_at.map(|seconds| seconds as f64),
            bytes: report.bytes as f64,
            data_failures: report.data_failures as f64,
            graph_failures: report.graph_failures as f64,
            manifest_failures: report.manifest_failures as f64,
            catalog_failures: report.catalog_failures as f64,
            log_failures: report.log_failures as f64,
            findings: report.findings.into_iter().map(finding).collect(),
        }
    }
}
