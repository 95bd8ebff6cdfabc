//! The limits of C2.7, each a setting of the server.

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
        }
    }
}
