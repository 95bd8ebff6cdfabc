//! The configuration of a collection (C4.3): the requested settings, with defaults filled in.

mod field_indexes;
pub(crate) mod fields;
mod graph_params;
mod hnsw;
mod info;
mod layout;
mod maintenance;
mod memory;
mod model;
mod optimizers;
mod patch;
mod quantization;
mod reembedding;
mod residency;
mod sparse;
mod strict_mode;
#[cfg(test)]
pub(crate) mod tests;
mod vectors;
mod wal;

pub use field_indexes::FieldIndexes;
pub use graph_params::{Coding, GraphParams};
pub use hnsw::{EffectiveHnsw, HnswConfig, HnswDiff};
pub use layout::{FieldKey, NewField, check_field_name};
pub use maintenance::{Indexing, Placement};
pub use memory::MemoryPlacement;
pub use model::{FieldModel, NamedModels, VectorModels};
pub use optimizers::{OptimizersConfig, OptimizersDiff};
pub use patch::CollectionPatch;
pub use quantization::{Quantization, QuantizationPatch};
pub use reembedding::{NewReembedding, Reembedding, read_rate};
pub use residency::Residency;
pub use sparse::{Modifier, SparseIndexParams, SparseParams};
pub use strict_mode::StrictMode;
pub(crate) use vectors::vector_size as read_vector_size;
pub use vectors::{MAX_VECTOR_SIZE, MultivectorComparator, MultivectorConfig, VectorParams};
pub use wal::{WalConfig, WalDiff};

use crate::error::Error;
use crate::json::{Reader, TwoNames, read_payload, write_string, write_u64};
use crate::limits::Limits;
use crate::payload::JsonPath;
use crate::types::IdKind;
use crate::vectors::VectorKind;
use crate::wal::Durability;
use fields::{ObjectWriter, choice};
use layout::Layout;

/// `ids` of a collection.
const ID_KINDS: [(&str, IdKind); 2] = [("default", IdKind::Default), ("string", IdKind::String)];
/// The greatest number of vector names that an error lists.
const MAX_LISTED_NAMES: usize = 10;

/// The configuration of a collection.
///
/// [`CollectionConfig::to_json`] is the form on disk. [`CollectionConfig::restore`] reads it back as an equal value.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionConfig {
    vectors: Vec<(Box<str>, VectorParams)>,
    sparse: Vec<(Box<str>, SparseParams)>,
    /// Fields that are being embedded anew. Their shadows are the last of `vectors`, in this order.
    reembeddings: Vec<Reembedding>,
    /// When these changed.
    layout: Layout,
    /// Graph settings of every vector field that does not override them.
    pub hnsw: HnswConfig,
    /// Maintenance.
    pub optimizers: OptimizersConfig,
    /// The log.
    pub wal: WalConfig,
    /// Codes of every vector field that does not override them.
    pub quantization: Option<Quantization>,
    /// Replication and placement.
    pub params: PlacementParams,
    /// The user's own JSON object, normalised.
    pub metadata: Option<Box<[u8]>>,
    /// `strict_mode_config` as sent, normalised: see [`CollectionConfig::strict_mode`].
    pub strict_mode: Option<Box<[u8]>>,
    /// The payload field with the time at which a point comes to its end (C17).
    pub expire_at_key: Option<JsonPath>,
    /// Whether field indexes make themselves (C23).
    pub field_indexes: FieldIndexes,
    /// Whether it may sleep (C24).
    pub residency: Residency,
    /// Which ids the points have (C21). It never changes.
    pub ids: IdKind,
}

/// Sharding and replication of a collection. Stored and answered, without effect on one node.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementParams {
    /// Shards, at least 1.
    pub shard_number: u64,
    /// Copies of a shard, at least 1.
    pub replication_factor: u64,
    /// Copies that must have a write before it is answered, at least 1.
    pub write_consistency_factor: u64,
    /// Further copies that a read queries.
    pub read_fan_out_factor: Option<u64>,
    /// Milliseconds before a read queries further copies.
    pub read_fan_out_delay_ms: Option<u64>,
    /// Payloads on disk.
    pub on_disk_payload: bool,
    /// `payload.memory`, without effect: the system keeps of payloads in memory what is used.
    pub payload_memory: Option<MemoryPlacement>,
}

impl Default for PlacementParams {
    fn default() -> Self {
        PlacementParams {
            shard_number: 1,
            replication_factor: 1,
            write_consistency_factor: 1,
            read_fan_out_factor: None,
            read_fan_out_delay_ms: None,
            on_disk_payload: true,
            payload_memory: None,
        }
    }
}

/// The origin of a configuration that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A client's request.
    Request,
    /// [`CollectionConfig::to_json`], which also has fields that only a patch can set.
    Stored,
}

impl CollectionConfig {
    /// A configuration with these vector fields and the defaults of everything else. Names must be distinct;
    /// the unnamed vector is `""`.
    pub fn with_fields(vectors: Vec<(Box<str>, VectorParams)>) -> CollectionConfig {
        CollectionConfig {
            vectors,
            sparse: Vec::new(),
            reembeddings: Vec::new(),
            layout: Layout::default(),
            hnsw: HnswConfig::default(),
            optimizers: OptimizersConfig::default(),
            wal: WalConfig::default(),
            quantization: None,
            params: PlacementParams::default(),
            metadata: None,
            strict_mode: None,
            expire_at_key: None,
            field_indexes: FieldIndexes::default(),
            residency: Residency::default(),
            ids: IdKind::default(),
        }
    }

    /// Reads the body of a create request (C4.3).
    ///
    /// # Errors
    /// `VectorsConfigRequired` when it declares no vector and the reader is not lenient (C12); `BadRequest` or `MissingField` that names the place.
    pub fn parse(reader: &mut Reader<'_>, limits: &Limits) -> Result<CollectionConfig, Error> {
        let config = Self::read(reader, limits, Source::Request)?;
        if config.positions() == 0 {
            if !reader.is_lenient() {
                return Err(Error::VectorsConfigRequired);
            }
            reader.warn("vectors", "none is declared, so points are payloads alone");
        }
        Ok(config)
    }

    /// The limits of strict mode, if it is enabled.
    pub fn strict_mode(&self) -> Option<StrictMode> {
        strict_mode::enabled(self.strict_mode.as_deref()?)
    }

    /// Checks that the limits can be read, also what an earlier release kept without reading it.
    fn check_strict_mode(&self) -> Result<(), Error> {
        self.strict_mode.as_deref().map_or(Ok(()), strict_mode::check)
    }

    /// Reads what [`CollectionConfig::to_json`] wrote. The present limits do not apply.
    ///
    /// # Errors
    /// `BadRequest` for other bytes.
    pub fn restore(json: &[u8]) -> Result<CollectionConfig, Error> {
        let limits = Limits { max_named_vectors: usize::MAX, ..Limits::default() };
        let mut reader = Reader::new(json)?;
        let config = Self::read(&mut reader, &limits, Source::Stored)?;
        reader.finish()?;
        Ok(config)
    }

    /// The canonical form on disk.
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        let mut object = ObjectWriter::start(&mut out);
        vectors::write_fields(self.declared_fields(), object.key("vectors"), false);
        if !self.sparse.is_empty() {
            sparse::write_fields(&self.sparse, object.key("sparse_vectors"), false);
        }
        if !self.reembeddings.is_empty() {
            self.write_reembeddings(object.key("reembeddings"));
        }
        let layout = Some(&self.layout).filter(|layout| !layout.is_of_creation());
        object.field("fields_changed", layout, |out, layout| layout.write(out));
        self.params.write_fields(&mut object);
        self.hnsw.write(object.key("hnsw_config"));
        self.optimizers.write(object.key("optimizers_config"));
        self.wal.write(object.key("wal_config"));
        object.field("quantization_config", self.quantization.as_ref(), |out, asked| asked.write(out));
        object.field("strict_mode_config", self.strict_mode.as_deref(), Vec::extend_from_slice);
        object.field("metadata", self.metadata.as_deref(), Vec::extend_from_slice);
        object.field("expire_at_key", self.expire_at_key.as_ref(), write_path);
        object.field("field_indexes", self.field_indexes.chosen(), write_string);
        object.field("residency", self.residency.chosen(), write_string);
        object.field("ids", self.ids.chosen(), write_string);
        object.end();
        out
    }

    /// This configuration after a patch (C4.4).
    ///
    /// # Errors
    /// `VectorNotFound` if the patch names a vector that is not declared; `BadRequest` if the metadata would nest too deep.
    pub fn apply_patch(&self, patch: &CollectionPatch) -> Result<CollectionConfig, Error> {
        patch.apply(self)
    }

    /// The same configuration with these sparse fields. The names of all fields must be distinct.
    pub fn with_sparse_fields(self, sparse: Vec<(Box<str>, SparseParams)>) -> CollectionConfig {
        CollectionConfig { sparse, ..self }
    }

    /// The dense and multi-vector fields in the order of their declaration, the unnamed one under `""`; then the shadows of
    /// those that are being embedded anew.
    pub fn fields(&self) -> &[(Box<str>, VectorParams)] {
        &self.vectors
    }

    /// The dense fields without shadows.
    pub fn declared_fields(&self) -> &[(Box<str>, VectorParams)] {
        &self.vectors[..self.declared()]
    }

    /// The sparse fields in the order of their declaration.
    pub fn sparse_fields(&self) -> &[(Box<str>, SparseParams)] {
        &self.sparse
    }

    /// Position of the field of that name: first come [`CollectionConfig::fields`], then
    /// [`CollectionConfig::sparse_fields`]. Points and checkpoints number fields like this, as long as none is added or
    /// removed ([`CollectionConfig::fields_changed`]).
    pub fn vector_position(&self, name: &str) -> Option<usize> {
        let sparse = || self.sparse.iter().position(|(known, _)| **known == *name);
        self.field_index(name).or_else(|| Some(self.vectors.len() + sparse()?))
    }

    /// The number of fields of every kind, shadows included.
    pub fn positions(&self) -> usize {
        self.vectors.len() + self.sparse.len()
    }

    /// The positions that are no shadows.
    pub fn declared_positions(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.positions()).filter(|position| !self.is_shadow(*position))
    }

    /// Name of the field at a position below [`CollectionConfig::positions`].
    pub fn name_at(&self, position: usize) -> &str {
        match self.vectors.get(position) {
            Some((name, _)) => name,
            None => &self.sparse[position - self.vectors.len()].0,
        }
    }

    /// The kind of vector of the field at a position below [`CollectionConfig::positions`].
    pub fn kind_at(&self, position: usize) -> VectorKind {
        match self.vectors.get(position) {
            Some((_, params)) if params.multivector.is_some() => VectorKind::Multi,
            Some(_) => VectorKind::Dense,
            None => VectorKind::Sparse,
        }
    }

    /// As [`vector_position`](Self::vector_position).
    ///
    /// # Errors
    /// `VectorNotFound` when the name is not declared.
    pub fn declared_position(&self, name: &str) -> Result<usize, Error> {
        self.vector_position(name).ok_or_else(|| self.vector_not_found(name))
    }

    /// The error for a name that is not declared. For the empty name, which a request without a name has, it lists the
    /// declared names.
    fn vector_not_found(&self, name: &str) -> Error {
        if !name.is_empty() || self.positions() == 0 {
            return Error::VectorNotFound(name.to_string());
        }
        let names: Vec<&str> =
            self.declared_positions().take(MAX_LISTED_NAMES).map(|at| self.name_at(at)).collect();
        let more = if self.declared_positions().count() > names.len() { ", …" } else { "" };
        Error::VectorNotFound(format!("'' (name one of: {}{more})", names.join(", ")))
    }

    /// The declared model of a field (C19).
    pub fn model_of(&self, name: &str) -> Option<&FieldModel> {
        let sparse = || self.sparse.iter().find(|(known, _)| **known == *name)?.1.model.as_ref();
        self.field(name).and_then(|params| params.model.as_ref()).or_else(sparse)
    }

    /// Position in [`CollectionConfig::fields`] of the declared field of that name.
    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.declared_fields().iter().position(|(known, _)| **known == *name)
    }

    /// The field of that name; `""` is the unnamed vector.
    pub fn field(&self, name: &str) -> Option<&VectorParams> {
        self.field_index(name).map(|at| &self.vectors[at].1)
    }

    /// The settings with which the index of that vector field is built and searched; `None` if it is not declared.
    pub fn effective_hnsw(&self, name: &str) -> Option<EffectiveHnsw> {
        self.field(name).map(|params| EffectiveHnsw::of(&self.hnsw.with(&params.hnsw)))
    }

    /// When a change of this collection counts as durable (C5).
    pub fn durability(&self) -> Durability {
        self.wal.durability
    }

    fn read(reader: &mut Reader<'_>, limits: &Limits, source: Source) -> Result<CollectionConfig, Error> {
        let mut config = CollectionConfig::with_fields(Vec::new());
        let mut reembeddings = Vec::new();
        let mut named = TwiceNamed::default();
        reader.object(|r, key| {
            if named.read(r, key, limits)?
                || config.read_part(r, key, limits)?
                || config.params.read_field(r, key, source)?
            {
                return Ok(());
            }
            match key {
                "fields_changed" if source == Source::Stored => {
                    config.layout = Layout::parse(r)?;
                    Ok(())
                }
                "reembeddings" if source == Source::Stored => {
                    reembeddings = CollectionConfig::read_reembeddings(r)?;
                    Ok(())
                }
                "sharding_method" => refuse_custom_sharding(r),
                _ => r.unknown_in_body(),
            }
        })?;
        named.put_into(&mut config);
        config.check_fields(limits)?;
        config.restore_reembeddings(reembeddings);
        Ok(config)
    }

    /// Reads the value of `key` if it is one of the configuration's other parts. False if it is not.
    fn read_part(&mut self, r: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool, Error> {
        match key {
            "sparse_vectors" => {
                self.sparse = r.optional(|r| sparse::parse_fields(r, limits))?.unwrap_or_default();
            }
            "hnsw_config" => {
                self.hnsw = HnswConfig::default().with(&r.optional(HnswDiff::parse)?.unwrap_or_default());
            }
            "wal_config" => {
                self.wal = WalConfig::default().with(&r.optional(WalDiff::parse)?.unwrap_or_default());
            }
            "metadata" => self.metadata = r.optional(json_object)?,
            "strict_mode_config" => self.strict_mode = r.optional(strict_mode::parse)?,
            "expire_at_key" => self.expire_at_key = r.optional(expiry_key)?,
            "field_indexes" => self.field_indexes = r.optional(FieldIndexes::parse)?.unwrap_or_default(),
            "residency" => self.residency = r.optional(Residency::parse)?.unwrap_or_default(),
            "ids" => self.ids = r.optional(|r| choice(r, &ID_KINDS))?.unwrap_or_default(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Checks the vector fields together.
    ///
    /// # Errors
    /// `BadRequest` for a name of a dense and a sparse field, or too many fields.
    fn check_fields(&self, limits: &Limits) -> Result<(), Error> {
        if let Some((name, _)) = self.sparse.iter().find(|(name, _)| self.field_index(name).is_some()) {
            let why = format!("Dense and sparse vector names must be unique - duplicate found with '{name}'");
            return Err(Error::bad(format!("sparse_vectors: {why}")));
        }
        if self.positions() > limits.max_named_vectors.max(self.vectors.len()) {
            let max = limits.max_named_vectors;
            return Err(Error::bad(format!(
                "sparse_vectors: at most {max} named vectors a collection (max_named_vectors)"
            )));
        }
        Ok(())
    }
}

impl PlacementParams {
    /// Reads the value of `key` if it is one of these parameters. False if it is not.
    fn read_field(&mut self, r: &mut Reader<'_>, key: &str, source: Source) -> Result<bool, Error> {
        let default = PlacementParams::default();
        match key {
            "shard_number" => self.shard_number = fields::integer(r, 1)?.unwrap_or(default.shard_number),
            "replication_factor" => {
                self.replication_factor = fields::integer(r, 1)?.unwrap_or(default.replication_factor);
            }
            "write_consistency_factor" => {
                self.write_consistency_factor =
                    fields::integer(r, 1)?.unwrap_or(default.write_consistency_factor);
            }
            "read_fan_out_factor" if source == Source::Stored => {
                self.read_fan_out_factor = fields::integer(r, 0)?;
            }
            "read_fan_out_delay_ms" if source == Source::Stored => {
                self.read_fan_out_delay_ms = fields::integer(r, 0)?;
            }
            "on_disk_payload" => {
                self.on_disk_payload = fields::flag(r)?.unwrap_or(default.on_disk_payload);
            }
            "payload" => self.payload_memory = r.optional(read_payload_params)?.flatten(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn write_fields(&self, object: &mut ObjectWriter<'_>) {
        write_u64(object.key("shard_number"), self.shard_number);
        write_u64(object.key("replication_factor"), self.replication_factor);
        write_u64(object.key("write_consistency_factor"), self.write_consistency_factor);
        object.field("read_fan_out_factor", self.read_fan_out_factor, write_u64);
        object.field("read_fan_out_delay_ms", self.read_fan_out_delay_ms, write_u64);
        fields::write_flag(object.key("on_disk_payload"), self.on_disk_payload);
        object.field("payload", self.payload_memory, |out, memory| {
            let mut payload = ObjectWriter::start(out);
            memory.write(payload.key("memory"));
            payload.end();
        });
    }
}

/// Reads the path of the payload field that says when a point comes to its end.
fn expiry_key(reader: &mut Reader<'_>) -> Result<JsonPath, Error> {
    let key = JsonPath::read(reader)?;
    if key.names_one_value() {
        return Ok(key);
    }
    Err(reader.error("the path must name one value, and has []"))
}

/// Appends a path as a string.
pub(crate) fn write_path(out: &mut Vec<u8>, path: &JsonPath) {
    write_string(out, &path.to_string());
}

/// Reads the parameters of the storage of payloads.
fn read_payload_params(reader: &mut Reader<'_>) -> Result<Option<MemoryPlacement>, Error> {
    let mut memory = None;
    reader.object(|r, key| {
        match key {
            "memory" => memory = MemoryPlacement::read_unpinned(r)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    Ok(memory)
}

/// Reads a JSON object into its normal form.
fn json_object(reader: &mut Reader<'_>) -> Result<Box<[u8]>, Error> {
    let mut out = Vec::new();
    read_payload(reader, &mut out)?;
    Ok(out.into_boxed_slice())
}

fn refuse_custom_sharding(reader: &mut Reader<'_>) -> Result<(), Error> {
    let custom = reader.optional(|r| fields::choice(r, &[("auto", false), ("custom", true)]))?;
    if custom == Some(true) {
        return Err(reader.error("custom sharding is not available: a server is one node"));
    }
    Ok(())
}

/// The parts of a configuration that have two names.
#[derive(Default)]
struct TwiceNamed {
    vectors: TwoNames<Vec<(Box<str>, VectorParams)>>,
    optimizers: TwoNames<OptimizersDiff>,
    quantization: TwoNames<Quantization>,
}

impl TwiceNamed {
    /// Reads the value of `key` if it is one of them. False if it is not.
    fn read(&mut self, r: &mut Reader<'_>, key: &str, limits: &Limits) -> Result<bool, Error> {
        match key {
            "vectors" | "vectors_config" => {
                self.vectors.put(key == "vectors_config", r.optional(|r| vectors::parse_fields(r, limits))?);
            }
            "optimizers_config" | "optimizer_config" => {
                self.optimizers.put(key == "optimizer_config", r.optional(OptimizersDiff::parse)?);
            }
            "quantization_config" | "quantization" => {
                self.quantization.put(key == "quantization", r.optional(Quantization::parse)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put_into(self, config: &mut CollectionConfig) {
        config.vectors = self.vectors.take().unwrap_or_default();
        config.optimizers = OptimizersConfig::default().with(&self.optimizers.take().unwrap_or_default());
        config.quantization = self.quantization.take();
    }
}
