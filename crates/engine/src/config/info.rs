//! The configuration in a collection's info (C4.2).

use super::fields::ObjectWriter;
use super::{CollectionConfig, HnswConfig, HnswDiff, MemoryPlacement, Quantization, sparse, vectors};
use crate::types::Datatype;

impl CollectionConfig {
    /// Appends the `config` object of a collection's info. Official clients parse it strictly: names that they do
    /// not know appear only where their models ignore unknown names.
    pub fn write_info_config(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        let mut params = ObjectWriter::start(object.key("params"));
        vectors::write_fields(self.declared_fields(), params.key("vectors"), true);
        if !self.sparse.is_empty() {
            sparse::write_fields(&self.sparse, params.key("sparse_vectors"), true);
        }
        self.params.write_fields(&mut params);
        params.end();
        self.hnsw.write(object.key("hnsw_config"));
        self.optimizers.write(object.key("optimizer_config"));
        self.wal.write(object.key("wal_config"));
        let quantization = object.key("quantization_config");
        match &self.quantization {
            Some(asked) => asked.write(quantization),
            None => quantization.extend_from_slice(b"null"),
        }
        object.field("strict_mode_config", self.strict_mode.as_deref(), Vec::extend_from_slice);
        object.field("metadata", self.metadata.as_deref(), Vec::extend_from_slice);
        object.end();
    }

    /// A sentence for each setting that was accepted and has no effect, in the order of the configuration.
    /// Settings at their default cause none.
    pub fn warnings(&self) -> Vec<String> {
        let mut ignored = Vec::new();
        for (name, params) in self.declared_fields() {
            let place = if name.is_empty() { "vectors".to_string() } else { format!("vectors.{name}") };
            for setting in hnsw_ignored(&params.hnsw, &self.hnsw.with(&params.hnsw)) {
                ignored.push(format!("{place}.hnsw_config.{setting}"));
            }
            if params.quantization.as_ref().is_some_and(Quantization::ignores_query_encoding) {
                ignored.push(format!("{place}.quantization_config.binary.query_encoding"));
            }
        }
        for (name, params) in &self.sparse {
            if params.changes_full_scan_threshold() {
                ignored.push(format!("sparse_vectors.{name}.index.full_scan_threshold"));
            }
        }
        let of_collection = hnsw_ignored(&changed(&self.hnsw), &self.hnsw);
        ignored.extend(of_collection.into_iter().map(|name| format!("hnsw_config.{name}")));
        ignored.extend(
            self.optimizers
                .changed_without_effect()
                .into_iter()
                .map(|name| format!("optimizers_config.{name}")),
        );
        ignored
            .extend(self.wal.changed_without_effect().into_iter().map(|name| format!("wal_config.{name}")));
        if self.quantization.as_ref().is_some_and(Quantization::ignores_query_encoding) {
            ignored.push("quantization_config.binary.query_encoding".to_string());
        }
        if !self.params.on_disk_payload {
            ignored.push("on_disk_payload".to_string());
        }
        if self.params.payload_memory == Some(MemoryPlacement::Cached) {
            ignored.push("payload.memory".to_string());
        }
        let mut sentences: Vec<String> =
            ignored.iter().map(|place| format!("{place} has no effect in this release")).collect();
        let finer =
            self.declared_fields().iter().filter(|(_, params)| params.datatype == Some(Datatype::Turbo4));
        sentences.extend(finer.map(|(name, _)| match &**name {
            "" => "vectors.datatype: turbo4 is kept as float16".to_string(),
            name => format!("vectors.{name}.datatype: turbo4 is kept as float16"),
        }));
        let single_node = [
            ("shard_number", self.params.shard_number != 1),
            ("replication_factor", self.params.replication_factor != 1),
            ("write_consistency_factor", self.params.write_consistency_factor != 1),
            ("read_fan_out_factor", self.params.read_fan_out_factor.is_some()),
            ("read_fan_out_delay_ms", self.params.read_fan_out_delay_ms.is_some()),
        ];
        let set = single_node.into_iter().filter(|(_, set)| *set);
        sentences.extend(set.map(|(name, _)| format!("{name} has no effect on one node")));
        sentences
    }
}

/// The settings without effect that differ from their default, where these are `in_force`.
fn hnsw_ignored(diff: &HnswDiff, in_force: &HnswConfig) -> Vec<&'static str> {
    let is_degree = in_force.m == 0 && in_force.degree() > 0;
    [
        ("on_disk", diff.on_disk == Some(true)),
        ("memory", diff.memory == Some(MemoryPlacement::Cold)),
        ("payload_m", diff.payload_m.is_some() && !is_degree),
        ("inline_storage", diff.inline_storage == Some(true)),
    ]
    .into_iter()
    .filter_map(|(name, set)| set.then_some(name))
    .collect()
}

fn changed(config: &HnswConfig) -> HnswDiff {
    HnswDiff {
        on_disk: Some(config.on_disk),
        memory: config.memory,
        payload_m: config.payload_m,
        inline_storage: config.inline_storage,
        ..HnswDiff::default()
    }
}
