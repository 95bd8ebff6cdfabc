//! The limits of C2.7, each but the last eight a setting of the server, and the sizes at which background work starts.

use crate::wal::MAX_BODY_BYTES;
use std::time::Duration;

/// Limits on requests and collections. A request beyond one is a 400 that names it.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Points or ids in one request.
    pub max_points_per_request: usize,
    /// Conditions in one filter.
    pub max_filter_conditions: usize,
    /// Nesting of prefetches.
    pub max_prefetch_depth: usize,
    /// Prefetches in one query, all levels together.
    pub max_prefetches: usize,
    /// `limit + offset` of a read.
    pub max_result_window: usize,
    /// Named vectors of a collection.
    pub max_named_vectors: usize,
    /// Field indexes of a collection.
    pub max_field_indexes: usize,
    /// Collections of a server.
    pub max_collections: usize,
    /// Cursors that are open at a time.
    pub max_cursors: usize,
    /// Replay work in the log, in bytes, beyond which writes that make data grow are refused with 429. It is a multiple of
    /// [`Thresholds::log_budget_bytes`] and is reached only if checkpoints cannot keep up.
    pub max_unsaved_work: usize,
    /// Rows of one vector field, dead ones included, because row numbers of 32 bits are never reused. A request that is
    /// admitted may go beyond this, up to 2³². No setting.
    pub max_rows: u32,
    /// Bytes of one operation in the log. Only an update by a filter that matches very many points comes near. No setting.
    pub max_record_bytes: usize,
    /// Bytes that the edits of one request may add to payloads: a patch is written into every point that the request
    /// selects. No setting.
    pub max_added_payload_bytes: u64,
    /// Work of the filters of one update request, in bytes of payload times conditions, over the points that field indexes
    /// leave to look at: many minutes of a processor. No setting.
    pub max_filter_work: u64,
    /// Bytes of payloads that the edits of one request may read, each as often as it is edited. No setting.
    pub max_edited_bytes: u64,
    /// Filter work up to which the filters of an update are resolved by the writer itself, which takes a few milliseconds;
    /// beyond, beside it. No setting.
    pub light_filter_work: u64,
    /// Bytes of one answer: a hundred thousand points with their vectors may exceed the server's memory. No setting.
    pub max_answer_bytes: usize,
    /// Bytes of all answers above 1 MiB that are being written; further ones are refused with 429. One answer alone must
    /// fit. No setting.
    pub max_answer_bytes_in_progress: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_points_per_request: 10_000,
            max_filter_conditions: 1_024,
            max_prefetch_depth: 64,
            max_prefetches: 64,
            max_result_window: 100_000,
            max_named_vectors: 64,
            max_field_indexes: 256,
            max_collections: 65_536,
            max_cursors: 1_000,
            max_unsaved_work: 512 << 20,
            max_rows: u32::MAX - (1 << 26),
            max_record_bytes: MAX_BODY_BYTES,
            max_added_payload_bytes: 1 << 30,
            max_filter_work: 1 << 38,
            max_edited_bytes: 16 << 30,
            light_filter_work: 1 << 20,
            max_answer_bytes: 256 << 20,
            max_answer_bytes_in_progress: 256 << 20,
        }
    }
}

/// The greatest `min_token_len` and `max_token_len` of a text index, in characters.
pub const MAX_TOKEN_LEN: u32 = 65_536;
/// The longest prefix that the prefix tokenizer makes, in characters: a word of n characters has n prefixes, which have
/// n² / 2 characters together. Longer words are found by their prefix of this length.
pub const MAX_PREFIX_LEN: usize = 64;
/// The longest word that is stemmed, in bytes. Longer words are identifiers, not words of a language.
pub const MAX_STEMMED_LEN: usize = 128;
/// Stop words of one text index beside those of languages.
pub const MAX_CUSTOM_STOP_WORDS: usize = 10_000;
/// Tokens that text indexes read for all conditions of one plan, some 10 ms. Beyond that, payloads are read, which observes
/// the deadline.
pub const MAX_TOKENS_PER_PLAN: usize = 4_000_000;
/// Values that keyword indexes unite for all prefixes of one plan, some 50 ms. Beyond that, payloads are read.
pub const MAX_PREFIXED_PER_PLAN: usize = 4_000_000;
/// Components of examples that one query compares with points: all components of its examples multiplied by the points
/// that match. A core takes some minutes for it.
pub const MAX_COMPARED_COMPONENTS: u64 = 1 << 40;
/// Bytes that all open cursors hold: hits, and what their views keep from being freed.
pub const MAX_CURSOR_BYTES: u64 = 256 << 20;
/// Columns of an Arrow IPC stream, with the fields that are nested in them.
pub const MAX_ARROW_FIELDS: usize = 4_096;
/// Bytes of the vectors and payloads of an Arrow IPC stream, as points have them: its columns may refer to the same bytes again
/// and again.
pub const MAX_ARROW_POINT_BYTES: usize = 256 << 20;
/// Points of a source in one request of a sync (C20), those with content and those without.
pub const MAX_SYNC_ENTRIES: usize = 1_000_000;
/// Syncs of which parts are staged at a time.
pub const MAX_STAGED_SYNCS: usize = 64;
/// Bytes that the staged parts of all syncs hold.
pub const MAX_STAGED_BYTES: u64 = 256 << 20;
/// Points of a projection (C6.10). With a hundred neighbours each, it holds some 200 MB while it is made.
pub const MAX_PROJECTED_POINTS: usize = 100_000;
/// Projections that are made at a time; more are refused with 429.
pub const MAX_PROJECTIONS: usize = 2;
/// Aliases of all collections.
pub const MAX_ALIASES: usize = 65_536;
/// Different values of a field that is faceted.
pub const MAX_FACET_VALUES: usize = 1 << 22;
/// Terms of one formula, and variables with defaults.
pub const MAX_FORMULA_TERMS: usize = 1_024;
/// Nesting of one formula.
pub const MAX_FORMULA_DEPTH: usize = 64;

/// Payload paths in one request: each is evaluated on every point.
pub const MAX_PATHS: usize = 1_024;

/// Findings of the scrub that are kept; the rest are counted.
pub const MAX_SCRUB_FINDINGS: usize = 100;
/// Ids of lost points that a repair lists for each collection; the rest are counted.
pub const MAX_REPORTED_IDS: usize = 10_000;
/// Findings that one check of a data directory lists; the rest are counted.
pub const MAX_FINDINGS: usize = 10_000;
/// Damaged parts of the log that a start reports.
pub const MAX_REPORTED_DAMAGES: usize = 20;
/// Health issues that an engine reports at a time.
pub const MAX_HEALTH_ISSUES: usize = 1_000;

/// Sizes at which background work starts. Tests make them small so that short runs have every step.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// Replay work of one collection after which it is checkpointed: bytes of its records, plus 256 for each point that they
    /// change.
    pub checkpoint_bytes: usize,
    /// Replay work of all collections, and bytes of the log, above which collections are checkpointed. A start replays 350 to
    /// 620 MB of such work in a second (one Zen 4 core), so the default takes less than a second.
    pub log_budget_bytes: u64,
    /// Bytes after which the log starts a new segment.
    pub log_segment_bytes: u64,
    /// Rows that a graph must have gained to be written again before the server stops.
    pub graph_step_rows: u32,
    /// Dead nodes at which a graph may be vacuumed, if its collection asks for more.
    pub vacuum_rows: u64,
    /// The least number of nodes of a graph that is written in the order of its walks.
    pub order_rows: u32,
    /// Bytes of a full chunk of rows. The number of rows is rounded up to a power of two.
    pub row_chunk_bytes: usize,
    /// Points that a collection must have for what filters cost to be counted towards automatic indexes (C23): scans of
    /// fewer take a few milliseconds.
    pub auto_index_points: usize,
    /// When collections sleep.
    pub residency: ResidencyThresholds,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            checkpoint_bytes: 64 << 20,
            log_budget_bytes: 256 << 20,
            log_segment_bytes: 64 << 20,
            graph_step_rows: 100_000,
            vacuum_rows: u64::MAX,
            order_rows: 20_000,
            row_chunk_bytes: 4 << 20,
            auto_index_points: if cfg!(test) { 16 } else { 10_000 },
            residency: ResidencyThresholds::USUAL,
        }
    }
}

/// When collections sleep (C24).
#[derive(Clone, Copy, Debug)]
pub struct ResidencyThresholds {
    /// Time without a request after which a collection sleeps; it never does when absent.
    pub idle: Option<Duration>,
    /// Bytes of all awake collections above which those sleep that were not used for longest; half of what the engine may
    /// hold when absent.
    pub budget_bytes: Option<u64>,
    /// A start with at most so many collections opens all of them; one with more opens so many at most, of those that are
    /// large the ones that were written last, and those that may not sleep.
    pub opened_at_start: usize,
    /// Collections whose files have at least this many bytes are large: their opening takes long, and uses all cores.
    pub large_bytes: u64,
}

impl ResidencyThresholds {
    /// Those of a server.
    pub const USUAL: ResidencyThresholds = ResidencyThresholds {
        idle: Some(Duration::from_secs(600)),
        budget_bytes: None,
        opened_at_start: 64,
        large_bytes: 4 << 20,
    };
}
