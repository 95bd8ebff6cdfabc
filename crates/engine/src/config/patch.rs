//! Changing a collection's configuration (C4.4).

use super::{
    CollectionConfig, FieldIndexes, HnswDiff, MemoryPlacement, OptimizersDiff, QuantizationPatch, Residency,
    WalDiff, expiry_key, fields, json_object,
    model::{self, FieldModel},
    read_payload_params,
    sparse::{self, SparsePatch},
    strict_mode,
};
use crate::error::Error;
use crate::json::{Reader, TwoNames};
use crate::payload::{JsonPath, edit};
use std::collections::BTreeMap;

/// The changes of a request. Absent objects and fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CollectionPatch {
    vectors: BTreeMap<Box<str>, VectorPatch>,
    sparse: BTreeMap<Box<str>, SparsePatch>,
    hnsw: HnswDiff,
    optimizers: OptimizersDiff,
    wal: WalDiff,
    params: PlacementPatch,
    quantization: Option<QuantizationPatch>,
    /// A normalised JSON object, merged at the top level. A `null` removes its key.
    metadata: Option<Box<[u8]>>,
    /// A normalised JSON object, merged in the same way.
    strict_mode: Option<Box<[u8]>>,
    /// `Some(None)` removes it.
    expire_at_key: Option<Option<JsonPath>>,
    /// `null` is the default.
    field_indexes: Option<FieldIndexes>,
    /// Likewise.
    residency: Option<Residency>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct VectorPatch {
    /// An empty diff removes the field's overrides.
    hnsw: Option<HnswDiff>,
    quantization: Option<QuantizationPatch>,
    on_disk: Option<bool>,
    /// `Some(None)` removes it.
    model: Option<Option<FieldModel>>,
    memory: Option<MemoryPlacement>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct PlacementPatch {
    replication_factor: Option<u64>,
    write_consistency_factor: Option<u64>,
    read_fan_out_factor: Option<u64>,
    read_fan_out_delay_ms: Option<u64>,
    on_disk_payload: Option<bool>,
    payload_memory: Option<MemoryPlacement>,
}

impl CollectionPatch {
    /// Reads the body of a patch request.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<CollectionPatch, Error> {
        let mut patch = CollectionPatch::default();
        let (mut optimizers, mut quantization) = (TwoNames::default(), TwoNames::default());
        reader.object(|r, key| {
            match key {
                "vectors" => patch.vectors = r.optional(parse_vectors)?.unwrap_or_default(),
                "sparse_vectors" => patch.sparse = r.optional(sparse::parse_patch)?.unwrap_or_default(),
                "hnsw_config" => patch.hnsw = r.optional(HnswDiff::parse)?.unwrap_or_default(),
                "optimizers_config" | "optimizer_config" => {
                    optimizers.put(key == "optimizer_config", r.optional(OptimizersDiff::parse)?);
                }
                "wal_config" => patch.wal = r.optional(WalDiff::parse)?.unwrap_or_default(),
                "params" => patch.params = r.optional(PlacementPatch::parse)?.unwrap_or_default(),
                "quantization_config" | "quantization" => {
                    quantization.put(key == "quantization", r.optional(QuantizationPatch::parse)?);
                }
                "metadata" => patch.metadata = r.optional(json_object)?,
                "strict_mode_config" => patch.strict_mode = r.optional(strict_mode::parse)?,
                "expire_at_key" => patch.expire_at_key = Some(r.optional(expiry_key)?),
                "field_indexes" => {
                    patch.field_indexes = Some(r.optional(FieldIndexes::parse)?.unwrap_or_default());
                }
                "residency" => {
                    patch.residency = Some(r.optional(Residency::parse)?.unwrap_or_default());
                }
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        patch.optimizers = optimizers.take().unwrap_or_default();
        patch.quantization = quantization.take();
        Ok(patch)
    }

    pub(super) fn apply(&self, to: &CollectionConfig) -> Result<CollectionConfig, Error> {
        let mut config = to.clone();
        for (name, change) in &self.vectors {
            let at = config.field_index(name).ok_or_else(|| Error::VectorNotFound(name.to_string()))?;
            let params = &mut config.vectors[at].1;
            match &change.hnsw {
                Some(diff) if diff.is_empty() => params.hnsw = HnswDiff::default(),
                Some(diff) => params.hnsw = params.hnsw.with(diff),
                None => {}
            }
            if let Some(quantization) = &change.quantization {
                params.quantization = quantization.result();
            }
            params.on_disk = change.on_disk.or(params.on_disk);
            if let Some(model) = &change.model {
                if to.reembedding_of(name).is_ok() {
                    let why = format!(
                        "the model of vector '{name}' changes by its re-embedding, which is under way"
                    );
                    return Err(Error::ReembeddingConflict(why));
                }
                params.model.clone_from(model);
            }
            params.memory = change.memory.or(params.memory);
        }
        for (name, change) in &self.sparse {
            let declared = config.sparse.iter_mut().find(|(known, _)| known == name);
            let (_, params) = declared.ok_or_else(|| Error::VectorNotFound(name.to_string()))?;
            *params = params.patched(name, change)?;
        }
        config.follow_fields();
        config.hnsw = config.hnsw.with(&self.hnsw);
        config.optimizers = config.optimizers.with(&self.optimizers);
        config.wal = config.wal.with(&self.wal);
        if let Some(quantization) = &self.quantization {
            config.quantization = quantization.result();
        }
        let placement = &mut config.params;
        placement.replication_factor = self.params.replication_factor.unwrap_or(placement.replication_factor);
        placement.write_consistency_factor =
            self.params.write_consistency_factor.unwrap_or(placement.write_consistency_factor);
        placement.read_fan_out_factor = self.params.read_fan_out_factor.or(placement.read_fan_out_factor);
        placement.read_fan_out_delay_ms =
            self.params.read_fan_out_delay_ms.or(placement.read_fan_out_delay_ms);
        placement.on_disk_payload = self.params.on_disk_payload.unwrap_or(placement.on_disk_payload);
        placement.payload_memory = self.params.payload_memory.or(placement.payload_memory);
        config.metadata = merged("metadata", to.metadata.as_deref(), self.metadata.as_deref())?;
        config.strict_mode =
            merged("strict_mode_config", to.strict_mode.as_deref(), self.strict_mode.as_deref())?;
        if let Some(key) = &self.expire_at_key {
            config.expire_at_key.clone_from(key);
        }
        config.field_indexes = self.field_indexes.unwrap_or(config.field_indexes);
        config.residency = self.residency.unwrap_or(config.residency);
        config.check_strict_mode()?;
        Ok(config)
    }
}

impl VectorPatch {
    fn parse(reader: &mut Reader<'_>) -> Result<VectorPatch, Error> {
        let mut patch = VectorPatch::default();
        let mut quantization = TwoNames::default();
        reader.object(|r, key| {
            match key {
                "hnsw_config" => patch.hnsw = r.optional(HnswDiff::parse)?,
                "quantization_config" | "quantization" => {
                    quantization.put(key == "quantization", r.optional(QuantizationPatch::parse)?);
                }
                "on_disk" => patch.on_disk = fields::flag(r)?,
                "model" => patch.model = Some(model::parse_patch(r)?),
                "memory" => patch.memory = MemoryPlacement::read_unpinned(r)?,
                "size" | "distance" | "datatype" | "multivector_config" => {
                    if !r.take_null()? {
                        return Err(r.error("cannot be changed"));
                    }
                }
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        patch.quantization = quantization.take();
        Ok(patch)
    }
}

impl PlacementPatch {
    fn parse(reader: &mut Reader<'_>) -> Result<PlacementPatch, Error> {
        let mut patch = PlacementPatch::default();
        reader.object(|r, key| {
            match key {
                "replication_factor" => patch.replication_factor = fields::integer(r, 1)?,
                "write_consistency_factor" => patch.write_consistency_factor = fields::integer(r, 1)?,
                "read_fan_out_factor" => patch.read_fan_out_factor = fields::integer(r, 0)?,
                "read_fan_out_delay_ms" => patch.read_fan_out_delay_ms = fields::integer(r, 0)?,
                "on_disk_payload" => patch.on_disk_payload = fields::flag(r)?,
                "payload" => patch.payload_memory = r.optional(read_payload_params)?.flatten(),
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        Ok(patch)
    }
}

/// Reads the changes by vector name. The last of a repeated name counts.
fn parse_vectors(reader: &mut Reader<'_>) -> Result<BTreeMap<Box<str>, VectorPatch>, Error> {
    let mut changes = BTreeMap::new();
    reader.object(|r, name| {
        if let Some(change) = r.optional(VectorPatch::parse)? {
            changes.insert(name.into(), change);
        }
        Ok(())
    })?;
    Ok(changes)
}

/// `kept` with the keys of `changes` replaced, or removed if they are null.
fn merged(field: &str, kept: Option<&[u8]>, changes: Option<&[u8]>) -> Result<Option<Box<[u8]>>, Error> {
    let Some(changes) = changes else {
        return Ok(kept.map(Box::from));
    };
    let merged = edit::merge(kept.unwrap_or(b"{}"), changes)
        .map_err(|error| Error::bad(format!("{field}: {error}")))?;
    Ok(Some(merged.into_boxed_slice()))
}
