//! `vectors`: the vector fields that a collection declares.

use super::fields;
use super::model::FieldModel;
use super::{HnswDiff, MemoryPlacement, Quantization};
use crate::error::Error;
use crate::json::{Kind, Reader, TwoNames, write_string, write_u64};
use crate::limits::Limits;
use crate::name::vector_name_fault;
use crate::types::{Datatype, Metric};
use crate::vectors::RowFormat;

/// Components of a vector (C4.3).
pub const MAX_VECTOR_SIZE: usize = 65_536;

/// Element types by name.
pub(super) const DATATYPES: [(&str, Datatype); 4] = [
    ("float32", Datatype::Float32),
    ("float16", Datatype::Float16),
    ("uint8", Datatype::Uint8),
    ("turbo4", Datatype::Turbo4),
];

/// Ways to compare vectors by name.
pub(super) const METRICS: [(&str, Metric); 4] = [
    ("Cosine", Metric::Cosine),
    ("Euclid", Metric::Euclid),
    ("Dot", Metric::Dot),
    ("Manhattan", Metric::Manhattan),
];

/// The fields of [`VectorParams`] whose values are not objects. One of them distinguishes the unnamed vector's
/// parameters from a map of names to parameters.
const SCALAR_FIELDS: [&str; 5] = ["size", "distance", "on_disk", "memory", "datatype"];

/// What a collection declares of one vector field.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorParams {
    /// Components, 1 to [`MAX_VECTOR_SIZE`].
    pub size: usize,
    /// How vectors are compared.
    pub metric: Metric,
    /// Overrides of the collection's graph settings.
    pub hnsw: HnswDiff,
    /// Codes of its graph, which override the collection's.
    pub quantization: Option<Quantization>,
    /// Where the original vectors are kept; see [`Placement`].
    pub on_disk: Option<bool>,
    /// Where the original vectors are kept; overrides `on_disk`.
    pub memory: Option<MemoryPlacement>,
    /// The element type, where the request named one.
    pub datatype: Option<Datatype>,
    /// Present if points have several vectors in the field.
    pub multivector: Option<MultivectorConfig>,
    /// The model that its vectors are of.
    pub model: Option<FieldModel>,
}

/// `multivector_config`: how several vectors of a point are compared with those of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultivectorConfig {
    /// How their similarities are combined.
    pub comparator: MultivectorComparator,
}

/// How the similarities of the vectors of a query to those of a point are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultivectorComparator {
    /// The sum over the query's vectors of the best similarity to one of the point's.
    MaxSim,
}

impl MultivectorConfig {
    /// Reads the object.
    ///
    /// # Errors
    /// `BadRequest` or `MissingField` that names the place.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<MultivectorConfig, Error> {
        const COMPARATORS: [(&str, MultivectorComparator); 1] = [("max_sim", MultivectorComparator::MaxSim)];
        let mut comparator = None;
        reader.object(|r, key| {
            match key {
                "comparator" => comparator = r.optional(|r| fields::choice(r, &COMPARATORS))?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        Ok(MultivectorConfig { comparator: comparator.ok_or_else(|| reader.missing("comparator"))? })
    }

    fn write(self, out: &mut Vec<u8>) {
        let MultivectorComparator::MaxSim = self.comparator;
        let mut object = fields::ObjectWriter::start(out);
        write_string(object.key("comparator"), "max_sim");
        object.end();
    }
}

impl VectorParams {
    /// Parameters without optional ones.
    pub fn new(size: usize, metric: Metric) -> VectorParams {
        VectorParams {
            size,
            metric,
            hnsw: HnswDiff::default(),
            quantization: None,
            on_disk: None,
            memory: None,
            datatype: None,
            multivector: None,
            model: None,
        }
    }

    /// The element type of stored vectors: by default 32-bit floats.
    pub fn datatype(&self) -> Datatype {
        self.datatype.unwrap_or(Datatype::Float32)
    }

    /// The format of stored rows.
    pub fn row_format(&self) -> RowFormat {
        RowFormat::of(self.metric, self.datatype())
    }

    /// Bytes of such a row.
    pub fn row_bytes(&self) -> usize {
        self.row_format().row_bytes(self.size)
    }

    /// Reads the object.
    ///
    /// # Errors
    /// `BadRequest` or `MissingField` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<VectorParams, Error> {
        let (mut size, mut metric, mut hnsw) = (None, None, None);
        let mut quantization = TwoNames::default();
        let (mut on_disk, mut memory, mut datatype, mut multivector) = (None, None, None, None);
        let mut model = None;
        reader.object(|r, key| {
            match key {
                "size" => size = r.optional(vector_size)?,
                "distance" => metric = r.optional(|r| fields::choice(r, &METRICS))?,
                "hnsw_config" => hnsw = r.optional(HnswDiff::parse)?,
                "quantization_config" | "quantization" => {
                    quantization.put(key == "quantization", r.optional(Quantization::parse)?);
                }
                "on_disk" => on_disk = fields::flag(r)?,
                "memory" => memory = MemoryPlacement::read_unpinned(r)?,
                "datatype" => datatype = r.optional(|r| fields::choice(r, &DATATYPES))?,
                "multivector_config" => multivector = r.optional(MultivectorConfig::parse)?,
                "model" => model = r.optional(FieldModel::parse)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        Ok(VectorParams {
            size: size.ok_or_else(|| reader.missing("size"))?,
            metric: metric.ok_or_else(|| reader.missing("distance"))?,
            // There is nothing that a null could remove.
            hnsw: HnswDiff::default().with(&hnsw.unwrap_or_default()),
            quantization: quantization.take(),
            on_disk,
            memory,
            datatype,
            multivector,
            model,
        })
    }

    /// Appends the parameters as they were requested, without absent ones. `for_clients` omits those that the strict models
    /// of the official clients do not know.
    pub(super) fn write(&self, out: &mut Vec<u8>, for_clients: bool) {
        let hnsw = if for_clients { self.hnsw.known_to_clients() } else { self.hnsw.clone() };
        let mut object = fields::ObjectWriter::start(out);
        write_u64(object.key("size"), self.size as u64);
        write_string(object.key("distance"), self.metric.name());
        object.field("hnsw_config", Some(&hnsw).filter(|diff| !diff.is_empty()), |out, diff| diff.write(out));
        object.field("quantization_config", self.quantization.as_ref(), |out, asked| asked.write(out));
        object.field("on_disk", self.on_disk, fields::write_flag);
        object.field("memory", self.memory, |out, memory| memory.write(out));
        object.field("datatype", self.datatype, |out, datatype| write_string(out, datatype.name()));
        object.field("multivector_config", self.multivector, |out, config| config.write(out));
        object.field("model", self.model.as_ref().filter(|_| !for_clients), |out, model| model.write(out));
        object.end();
    }
}

/// The dense and multi-vector fields of a collection in the order of their declaration; the unnamed one under `""`.
pub(super) type VectorFields = Vec<(Box<str>, VectorParams)>;

/// Reads the parameters of the unnamed vector, or a map of names to parameters. A map with only the name `""` is the
/// unnamed vector, too: some clients send it.
pub(super) fn parse_fields(reader: &mut Reader<'_>, limits: &Limits) -> Result<VectorFields, Error> {
    if is_unnamed(reader)? {
        return Ok(vec![("".into(), VectorParams::parse(reader)?)]);
    }
    let mut found: VectorFields = Vec::new();
    let place = reader.path();
    reader.object(|r, name| {
        if r.take_null()? {
            return Ok(());
        }
        if !name.is_empty() {
            check_name(r, name)?;
        }
        let params = VectorParams::parse(r)?;
        fields::insert_named(&mut found, name, params, limits, &place)
    })?;
    Ok(found)
}

/// Appends the vector fields as [`parse_fields`] reads them.
pub(super) fn write_fields(declared: &[(Box<str>, VectorParams)], out: &mut Vec<u8>, for_clients: bool) {
    if let [(name, params)] = declared
        && name.is_empty()
    {
        return params.write(out, for_clients);
    }
    let mut object = fields::ObjectWriter::start(out);
    for (name, params) in declared {
        params.write(object.key(name), for_clients);
    }
    object.end();
}

/// Whether the next object has the parameters of the unnamed vector. Consumes nothing.
fn is_unnamed(reader: &Reader<'_>) -> Result<bool, Error> {
    let mut ahead = reader.clone();
    let mut scalar = false;
    ahead.object(|r, key| {
        let value = r.peek()?;
        scalar |= SCALAR_FIELDS.contains(&key) && !matches!(value, Kind::Object | Kind::Null);
        r.skip()
    })?;
    Ok(scalar)
}

/// Reads a number of components.
///
/// # Errors
/// `BadRequest` that names the place.
pub(crate) fn vector_size(reader: &mut Reader<'_>) -> Result<usize, Error> {
    let value = reader.u64()?;
    if (1..=MAX_VECTOR_SIZE as u64).contains(&value) {
        Ok(value as usize)
    } else {
        Err(reader.error(format!("value {value} invalid, must be from 1 to {MAX_VECTOR_SIZE}")))
    }
}

/// Checks a vector's name (C2.2).
fn check_name(reader: &Reader<'_>, name: &str) -> Result<(), Error> {
    match vector_name_fault(name) {
        None => Ok(()),
        Some(why) => Err(reader.error(format!("a vector name {why}"))),
    }
}
