//! What a configuration comes to for the work in the background: when a field is indexed, by how many threads, when
//! it is vacuumed, and where its vectors are kept.

use super::{CollectionConfig, EffectiveHnsw, OptimizersConfig};

/// Whether rows of a vector field are put into a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// The field has no graph, and loses the one it has: `m: 0`.
    Never,
    /// Nothing is added to a graph, and none is made: `indexing_threshold: 0`, or no threads.
    Paused,
    /// The field gets a graph when its vectors (4 bytes a component, whatever the datatype) are more than this.
    Above {
        /// Bytes.
        bytes: u64,
    },
}

/// Where the original vectors of a field are once a checkpoint has written them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In memory: `on_disk: false`.
    Memory,
    /// On a read-only map, whose pages the system keeps in memory as it sees fit.
    Mapped,
    /// On a read-only map of which as little as possible stays in memory: `on_disk: true`.
    Disk,
}

impl CollectionConfig {
    /// Whether rows of the vector field at this position are put into a graph.
    pub fn indexing(&self, field: usize) -> Indexing {
        let hnsw = EffectiveHnsw::of(&self.hnsw.with(&self.vectors[field].1.hnsw));
        let optimizers = &self.optimizers;
        if hnsw.m == 0 {
            return Indexing::Never;
        }
        if optimizers.indexing_threshold == 0 || optimizers.max_optimization_threads == Some(0) {
            return Indexing::Paused;
        }
        // The default of this setting is not told from its absence, and must not undo a lower full_scan_threshold.
        let asked = optimizers.indexing_threshold;
        let asked = if asked == OptimizersConfig::default().indexing_threshold { 0 } else { asked };
        Indexing::Above { bytes: hnsw.full_scan_threshold_bytes.max(asked.saturating_mul(1_024)) }
    }

    /// Greatest number of background threads that index this collection at a time.
    pub fn max_indexers(&self) -> usize {
        let fields = self.vectors.iter().map(|(_, params)| self.hnsw.with(&params.hnsw).max_indexing_threads);
        let limit = |threads: u64| usize::try_from(threads).unwrap_or(usize::MAX);
        // One thread takes the collection's fields in turn, so the most generous field decides.
        let asked = fields.map(|threads| if threads == 0 { usize::MAX } else { limit(threads) }).max();
        let bound = self.optimizers.max_optimization_threads.map_or(usize::MAX, limit);
        asked.unwrap_or(usize::MAX).min(bound)
    }

    /// Where the vectors of the field at this position, of any kind, are kept.
    pub fn placement(&self, position: usize) -> Placement {
        let on_disk = match self.vectors.get(position) {
            Some((_, params)) => params.on_disk,
            None => {
                self.sparse[position - self.vectors.len()].1.index.as_ref().and_then(|index| index.on_disk)
            }
        };
        match on_disk {
            Some(false) => Placement::Memory,
            None => Placement::Mapped,
            Some(true) => Placement::Disk,
        }
    }
}
