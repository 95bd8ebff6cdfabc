//! `hnsw_config`: how the graph of a vector field is built and searched.

use super::{MemoryPlacement, fields};
use crate::error::Error;
use crate::index::Hnsw;
use crate::json::{Reader, TwoNames, write_f64, write_u64};

/// The greatest number of links per node.
const MAX_M: u64 = Hnsw::MAX_M as u64;

/// The greatest number of candidates of a build or a search.
const MAX_EF: u64 = 100_000;

/// The settings of a collection's graphs, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct HnswConfig {
    /// Links per node on the upper layers, twice as many on the base layer; 0 for no graph, or for one with
    /// [`payload_m`](Self::payload_m) links.
    pub m: usize,
    /// Candidates kept while a node is inserted.
    pub ef_construct: usize,
    /// Candidates kept while searching, if the request does not say.
    pub ef_search: usize,
    /// Recall that searches choose their width for instead, if the request does not say (C14).
    pub target_recall: Option<f64>,
    /// KiB of vectors below which no graph is built.
    pub full_scan_threshold: u64,
    /// Threads that index this collection in the background at a time; 0 for the server's choice.
    pub max_indexing_threads: u64,
    /// Stored and answered, without effect: links and codes stay in memory.
    pub on_disk: bool,
    /// Stored and answered, without effect: links and codes stay in memory.
    pub memory: Option<MemoryPlacement>,
    /// Links per node where `m` is 0. Otherwise stored and answered, without effect: the planner finds filtered neighbours
    /// without extra links.
    pub payload_m: Option<u64>,
    /// Stored and answered, without effect.
    pub inline_storage: Option<bool>,
}

impl Default for HnswConfig {
    fn default() -> Self {
        HnswConfig {
            m: 16,
            ef_construct: 100,
            ef_search: 64,
            target_recall: None,
            full_scan_threshold: 10_000,
            max_indexing_threads: 0,
            on_disk: false,
            memory: None,
            payload_m: None,
            inline_storage: None,
        }
    }
}

impl HnswConfig {
    /// These settings, overridden by those of `diff`.
    pub fn with(&self, diff: &HnswDiff) -> HnswConfig {
        HnswConfig {
            m: diff.m.unwrap_or(self.m),
            ef_construct: diff.ef_construct.unwrap_or(self.ef_construct),
            ef_search: diff.ef_search.unwrap_or(self.ef_search),
            target_recall: diff.target_recall.unwrap_or(self.target_recall),
            full_scan_threshold: diff.full_scan_threshold.unwrap_or(self.full_scan_threshold),
            max_indexing_threads: diff.max_indexing_threads.unwrap_or(self.max_indexing_threads),
            on_disk: diff.on_disk.unwrap_or(self.on_disk),
            memory: diff.memory.or(self.memory),
            payload_m: diff.payload_m.or(self.payload_m),
            inline_storage: diff.inline_storage.or(self.inline_storage),
        }
    }

    /// Links per node of the graph, 0 for no graph. Filtered searches use the same graph as all others, so `m: 0` with
    /// `payload_m`, which asks for graphs of filtered searches alone, is one graph of that degree.
    pub fn degree(&self) -> usize {
        match (self.m, self.payload_m) {
            (0, Some(links)) => usize::try_from(links).unwrap_or(Hnsw::MAX_M),
            (m, _) => m,
        }
    }

    /// Appends the settings as a JSON object, `ef_search` included: clients ignore unknown names here.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        HnswDiff {
            m: Some(self.m),
            ef_construct: Some(self.ef_construct),
            ef_search: Some(self.ef_search),
            target_recall: Some(self.target_recall),
            full_scan_threshold: Some(self.full_scan_threshold),
            max_indexing_threads: Some(self.max_indexing_threads),
            on_disk: Some(self.on_disk),
            memory: self.memory,
            payload_m: self.payload_m,
            inline_storage: self.inline_storage,
        }
        .write(out);
    }
}

/// The settings that a request or a vector field overrides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HnswDiff {
    /// As [`HnswConfig::m`].
    pub m: Option<usize>,
    /// As [`HnswConfig::ef_construct`].
    pub ef_construct: Option<usize>,
    /// As [`HnswConfig::ef_search`].
    pub ef_search: Option<usize>,
    /// As [`HnswConfig::target_recall`]. `Some(None)` is an override only of a request: it removes what there is.
    pub target_recall: Option<Option<f64>>,
    /// As [`HnswConfig::full_scan_threshold`].
    pub full_scan_threshold: Option<u64>,
    /// As [`HnswConfig::max_indexing_threads`].
    pub max_indexing_threads: Option<u64>,
    /// As [`HnswConfig::on_disk`].
    pub on_disk: Option<bool>,
    /// As [`HnswConfig::memory`].
    pub memory: Option<MemoryPlacement>,
    /// As [`HnswConfig::payload_m`].
    pub payload_m: Option<u64>,
    /// As [`HnswConfig::inline_storage`].
    pub inline_storage: Option<bool>,
}

impl HnswDiff {
    /// Reads the object.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<HnswDiff, Error> {
        let mut diff = HnswDiff::default();
        let mut full_scan = TwoNames::default();
        reader.object(|r, key| {
            match key {
                "m" => diff.m = fields::size(r, 0, MAX_M)?,
                "ef_construct" => diff.ef_construct = fields::size(r, 4, Hnsw::MAX_EF_CONSTRUCT as u64)?,
                "ef_search" => diff.ef_search = fields::size(r, 1, MAX_EF)?,
                "target_recall" => diff.target_recall = Some(r.optional(fields::recall)?),
                "full_scan_threshold" | "full_scan_threshold_kb" => {
                    full_scan.put(key == "full_scan_threshold_kb", fields::integer(r, 10)?);
                }
                "max_indexing_threads" => diff.max_indexing_threads = fields::integer(r, 0)?,
                "on_disk" => diff.on_disk = fields::flag(r)?,
                "memory" => diff.memory = MemoryPlacement::read(r)?,
                "payload_m" => diff.payload_m = r.optional(|r| r.integer_in(0, MAX_M))?,
                "inline_storage" => diff.inline_storage = fields::flag(r)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        diff.full_scan_threshold = full_scan.take();
        Ok(diff)
    }

    /// These overrides, overridden by those of `newer`.
    pub fn with(&self, newer: &HnswDiff) -> HnswDiff {
        HnswDiff {
            m: newer.m.or(self.m),
            ef_construct: newer.ef_construct.or(self.ef_construct),
            ef_search: newer.ef_search.or(self.ef_search),
            target_recall: newer.target_recall.or(self.target_recall).filter(Option::is_some),
            full_scan_threshold: newer.full_scan_threshold.or(self.full_scan_threshold),
            max_indexing_threads: newer.max_indexing_threads.or(self.max_indexing_threads),
            on_disk: newer.on_disk.or(self.on_disk),
            memory: newer.memory.or(self.memory),
            payload_m: newer.payload_m.or(self.payload_m),
            inline_storage: newer.inline_storage.or(self.inline_storage),
        }
    }

    /// Whether nothing is overridden.
    pub fn is_empty(&self) -> bool {
        *self == HnswDiff::default()
    }

    /// The overrides without `ef_search` and `target_recall`, names that the strict models of the official clients do not know
    /// (C4.2).
    pub(super) fn known_to_clients(&self) -> HnswDiff {
        HnswDiff { ef_search: None, target_recall: None, ..self.clone() }
    }

    /// Appends the overrides as a JSON object, without absent ones.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut object = fields::ObjectWriter::start(out);
        let number = |out: &mut Vec<u8>, value: u64| write_u64(out, value);
        object.field("m", self.m.map(|m| m as u64), number);
        object.field("ef_construct", self.ef_construct.map(|ef| ef as u64), number);
        object.field("ef_search", self.ef_search.map(|ef| ef as u64), number);
        object.field("target_recall", self.target_recall.flatten(), write_f64);
        object.field("full_scan_threshold", self.full_scan_threshold, number);
        object.field("max_indexing_threads", self.max_indexing_threads, number);
        object.field("on_disk", self.on_disk, fields::write_flag);
        object.field("memory", self.memory, |out, memory| memory.write(out));
        object.field("payload_m", self.payload_m, number);
        object.field("inline_storage", self.inline_storage, fields::write_flag);
        object.end();
    }
}

/// The settings with which the index of one vector field is built and searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveHnsw {
    /// Links per node, 0 for no graph, never 1: layers of a graph with one link per node do not shrink.
    pub m: usize,
    /// Candidates kept while a node is inserted, never fewer than `m`.
    pub ef_construct: usize,
    /// Candidates kept while searching, if the request does not say.
    pub ef_search: usize,
    /// Recall that the width is chosen for instead.
    pub target_recall: Option<f64>,
    /// Bytes of vectors (4 a component, whatever the datatype) below which no graph is built.
    pub full_scan_threshold_bytes: u64,
}

impl EffectiveHnsw {
    pub(super) fn of(config: &HnswConfig) -> EffectiveHnsw {
        let m = if config.degree() == 1 { 2 } else { config.degree().min(Hnsw::MAX_M) };
        EffectiveHnsw {
            m,
            ef_construct: config.ef_construct.clamp(m, Hnsw::MAX_EF_CONSTRUCT),
            ef_search: config.ef_search,
            target_recall: config.target_recall,
            full_scan_threshold_bytes: config.full_scan_threshold.saturating_mul(1_024),
        }
    }
}
