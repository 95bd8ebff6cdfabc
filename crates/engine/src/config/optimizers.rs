//! `optimizers_config`: background maintenance of a collection.

use super::fields;
use crate::error::Error;
use crate::json::{Kind, Reader, TwoNames, write_f64, write_u64};

/// The settings of a collection's maintenance, with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimizersConfig {
    /// Share of dead rows, in a graph or in a chunk of originals, at which they are vacuumed.
    pub deleted_threshold: f64,
    /// Dead rows of a graph below which it is not vacuumed.
    pub vacuum_min_vector_number: u64,
    /// Segments to aim for; 0 for the server's choice.
    pub default_segment_number: u64,
    /// The greatest size of a segment, in KiB.
    pub max_segment_size: Option<u64>,
    /// The size from which a segment is mapped, in KiB.
    pub memmap_threshold: Option<u64>,
    /// KiB of vectors from which a field gets a graph, if this differs from the default and exceeds the graph's own
    /// `full_scan_threshold`. 0 for never: existing graphs stay, and nothing is added.
    pub indexing_threshold: u64,
    /// Seconds between flushes.
    pub flush_interval_sec: u64,
    /// Threads that work on this collection's graphs at a time; the server's choice when absent, 0 for none.
    pub max_optimization_threads: Option<u64>,
    /// Whether updates wait for the optimisation that they cause.
    pub prevent_unoptimized: Option<bool>,
}

impl Default for OptimizersConfig {
    fn default() -> Self {
        OptimizersConfig {
            deleted_threshold: 0.2,
            vacuum_min_vector_number: 1_000,
            default_segment_number: 0,
            max_segment_size: None,
            memmap_threshold: None,
            indexing_threshold: 10_000,
            flush_interval_sec: 5,
            max_optimization_threads: None,
            prevent_unoptimized: None,
        }
    }
}

impl OptimizersConfig {
    /// These settings, overridden by those of `diff`.
    pub fn with(&self, diff: &OptimizersDiff) -> OptimizersConfig {
        OptimizersConfig {
            deleted_threshold: diff.deleted_threshold.unwrap_or(self.deleted_threshold),
            vacuum_min_vector_number: diff.vacuum_min_vector_number.unwrap_or(self.vacuum_min_vector_number),
            default_segment_number: diff.default_segment_number.unwrap_or(self.default_segment_number),
            max_segment_size: diff.max_segment_size.or(self.max_segment_size),
            memmap_threshold: diff.memmap_threshold.or(self.memmap_threshold),
            indexing_threshold: diff.indexing_threshold.unwrap_or(self.indexing_threshold),
            flush_interval_sec: diff.flush_interval_sec.unwrap_or(self.flush_interval_sec),
            max_optimization_threads: diff.max_optimization_threads.unwrap_or(self.max_optimization_threads),
            prevent_unoptimized: diff.prevent_unoptimized.or(self.prevent_unoptimized),
        }
    }

    /// Names of the settings without effect that differ from the default.
    pub(super) fn changed_without_effect(&self) -> Vec<&'static str> {
        let plain = OptimizersConfig::default();
        [
            ("default_segment_number", self.default_segment_number != plain.default_segment_number),
            ("max_segment_size", self.max_segment_size.is_some()),
            ("memmap_threshold", self.memmap_threshold.is_some()),
            ("flush_interval_sec", self.flush_interval_sec != plain.flush_interval_sec),
            ("prevent_unoptimized", self.prevent_unoptimized == Some(true)),
        ]
        .into_iter()
        .filter_map(|(name, changed)| changed.then_some(name))
        .collect()
    }

    /// Appends the settings as a JSON object. Clients require `max_optimization_threads`, even if it is null (C4.2).
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut object = fields::ObjectWriter::start(out);
        write_f64(object.key("deleted_threshold"), self.deleted_threshold);
        write_u64(object.key("vacuum_min_vector_number"), self.vacuum_min_vector_number);
        write_u64(object.key("default_segment_number"), self.default_segment_number);
        object.field("max_segment_size", self.max_segment_size, write_u64);
        object.field("memmap_threshold", self.memmap_threshold, write_u64);
        write_u64(object.key("indexing_threshold"), self.indexing_threshold);
        write_u64(object.key("flush_interval_sec"), self.flush_interval_sec);
        let threads = object.key("max_optimization_threads");
        match self.max_optimization_threads {
            Some(number) => write_u64(threads, number),
            None => threads.extend_from_slice(b"null"),
        }
        object.field("prevent_unoptimized", self.prevent_unoptimized, fields::write_flag);
        object.end();
    }
}

/// The settings of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptimizersDiff {
    deleted_threshold: Option<f64>,
    vacuum_min_vector_number: Option<u64>,
    default_segment_number: Option<u64>,
    max_segment_size: Option<u64>,
    memmap_threshold: Option<u64>,
    indexing_threshold: Option<u64>,
    flush_interval_sec: Option<u64>,
    /// The inner `None` is `"auto"`.
    max_optimization_threads: Option<Option<u64>>,
    prevent_unoptimized: Option<bool>,
}

impl OptimizersDiff {
    /// Reads the object.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<OptimizersDiff, Error> {
        let mut diff = OptimizersDiff::default();
        let [mut segment, mut memmap, mut indexing] = <[TwoNames<u64>; 3]>::default();
        reader.object(|r, key| {
            match key {
                "deleted_threshold" => diff.deleted_threshold = fields::fraction(r, 0.0, 1.0)?,
                "vacuum_min_vector_number" => diff.vacuum_min_vector_number = fields::integer(r, 100)?,
                "default_segment_number" => diff.default_segment_number = fields::integer(r, 0)?,
                "max_segment_size" | "max_segment_size_kb" => {
                    segment.put(key == "max_segment_size_kb", fields::integer(r, 1)?);
                }
                "memmap_threshold" | "memmap_threshold_kb" => {
                    memmap.put(key == "memmap_threshold_kb", fields::integer(r, 0)?);
                }
                "indexing_threshold" | "indexing_threshold_kb" => {
                    indexing.put(key == "indexing_threshold_kb", fields::integer(r, 0)?);
                }
                "flush_interval_sec" => diff.flush_interval_sec = fields::integer(r, 0)?,
                "max_optimization_threads" => diff.max_optimization_threads = r.optional(threads)?,
                "prevent_unoptimized" => diff.prevent_unoptimized = fields::flag(r)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        diff.max_segment_size = segment.take();
        diff.memmap_threshold = memmap.take();
        diff.indexing_threshold = indexing.take();
        Ok(diff)
    }
}

/// Reads a number of threads, or `"auto"` for the server's choice.
fn threads(reader: &mut Reader<'_>) -> Result<Option<u64>, Error> {
    match reader.peek()? {
        Kind::Number => reader.u64().map(Some),
        Kind::String => fields::choice(reader, &[("auto", None)]),
        other => Err(reader.error(format!("expected an integer or \"auto\", got {}", other.word()))),
    }
}
