//! The effective settings of background work: when a field is indexed, by how many threads, when it is vacuumed, and
//! where its vectors are kept.

use super::{CollectionConfig, EffectiveHnsw, MemoryPlacement, OptimizersConfig};

/// Whether rows of a vector field are added to a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// The field has no graph, and an existing one is dropped: `m: 0` without `payload_m`.
    Never,
    /// No graph is begun or extended: `indexing_threshold: 0`, or no threads.
    Paused,
    /// The field gets a graph when its vectors (4 bytes a component for every datatype) exceed this.
    Above {
        /// Bytes.
        bytes: u64,
    },
}

/// Where the original vectors of a field are kept after a checkpoint has written them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In memory: `on_disk: false`.
    Memory,
    /// In a read-only map. The system decides which pages stay in memory.
    Mapped,
    /// In a read-only map of which as little as possible stays in memory: `on_disk: true`.
    Disk,
}

impl CollectionConfig {
    /// Whether rows of the vector field at this position are added to a graph.
    pub fn indexing(&self, field: usize) -> Indexing {
        let hnsw = EffectiveHnsw::of(&self.hnsw.with(&self.vectors[field].1.hnsw));
        let optimizers = &self.optimizers;
        if hnsw.m == 0 {
            return Indexing::Never;
        }
        if optimizers.indexing_threshold == 0 || optimizers.max_optimization_threads == Some(0) {
            return Indexing::Paused;
        }
        // The default cannot be distinguished from an absent setting, and must not override a lower full_scan_threshold.
        let asked = optimizers.indexing_threshold;
        let asked = if asked == OptimizersConfig::default().indexing_threshold { 0 } else { asked };
        Indexing::Above { bytes: hnsw.full_scan_threshold_bytes.max(asked.saturating_mul(1_024)) }
    }

    /// The greatest number of background threads that index this collection at a time.
    pub fn max_indexers(&self) -> usize {
        let fields = self.vectors.iter().map(|(_, params)| self.hnsw.with(&params.hnsw).max_indexing_threads);
        let limit = |threads: u64| usize::try_from(threads).unwrap_or(usize::MAX);
        // A thread indexes the collection's fields in turn, so the greatest number of any field counts.
        let asked = fields.map(|threads| if threads == 0 { usize::MAX } else { limit(threads) }).max();
        let bound = self.optimizers.max_optimization_threads.map_or(usize::MAX, limit);
        asked.unwrap_or(usize::MAX).min(bound)
    }

    /// Where the vectors of the field at this position, of any kind, are kept.
    pub fn placement(&self, position: usize) -> Placement {
        let (memory, on_disk) = match self.vectors.get(position) {
            Some((_, params)) => (params.memory, params.on_disk),
            None => {
                let index = self.sparse[position - self.vectors.len()].1.index.as_ref();
                index.map_or((None, None), |index| (index.memory, index.on_disk))
            }
        };
        match (memory, on_disk) {
            (Some(MemoryPlacement::Pinned), _) | (None, Some(false)) => Placement::Memory,
            (Some(MemoryPlacement::Cached), _) | (None, None) => Placement::Mapped,
            (Some(MemoryPlacement::Cold), _) | (None, Some(true)) => Placement::Disk,
        }
    }
}
