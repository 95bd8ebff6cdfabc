//! `sparse_vectors`: the sparse fields that a collection declares.

use super::MemoryPlacement;
use super::fields::{self, ObjectWriter};
use super::model::{self, FieldModel};
use super::vectors::DATATYPES;
use crate::error::Error;
use crate::json::{Reader, TwoNames, write_string, write_u64};
use crate::limits::Limits;
use crate::name::vector_name_fault;
use crate::types::Datatype;
use std::collections::BTreeMap;

/// The default `full_scan_threshold`, in sparse vectors.
const FULL_SCAN_THRESHOLD: u64 = 5_000;

/// The change of a query's weights before they are multiplied with those of the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// None.
    None,
    /// Each is multiplied with the inverse document frequency of its index among the present points.
    Idf,
}

impl Modifier {
    fn name(self) -> &'static str {
        match self {
            Modifier::None => "none",
            Modifier::Idf => "idf",
        }
    }
}

/// The requested `index` of a sparse field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseIndexParams {
    /// Stored and answered, without effect: every search is exact.
    pub full_scan_threshold: Option<u64>,
    /// Where the original vectors are kept; see [`Placement`](super::Placement).
    pub on_disk: Option<bool>,
    /// Where the original vectors are kept; overrides `on_disk`.
    pub memory: Option<MemoryPlacement>,
    /// The element type of the values.
    pub datatype: Option<Datatype>,
}

/// What a collection declares of one sparse field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseParams {
    /// Present where the request had it.
    pub index: Option<SparseIndexParams>,
    /// Present where the request named one.
    pub modifier: Option<Modifier>,
    /// The model that its vectors are of.
    pub model: Option<FieldModel>,
}

/// The sparse fields of a collection in the order of the request.
pub(super) type SparseFields = Vec<(Box<str>, SparseParams)>;

impl SparseParams {
    /// The element type that values are kept in.
    pub fn datatype(&self) -> Datatype {
        self.index.as_ref().and_then(|index| index.datatype).unwrap_or(Datatype::Float32)
    }

    /// How query weights are changed.
    pub fn modifier(&self) -> Modifier {
        self.modifier.unwrap_or(Modifier::None)
    }

    /// Whether `index.full_scan_threshold` differs from its default.
    pub(super) fn changes_full_scan_threshold(&self) -> bool {
        let asked = self.index.as_ref().and_then(|index| index.full_scan_threshold);
        asked.is_some_and(|asked| asked != FULL_SCAN_THRESHOLD)
    }

    /// Reads the object.
    ///
    /// # Errors
    /// `BadRequest` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<SparseParams, Error> {
        let mut params = SparseParams::default();
        reader.object(|r, key| {
            match key {
                "index" => params.index = r.optional(SparseIndexParams::parse)?,
                "modifier" => params.modifier = r.optional(read_modifier)?,
                "model" => params.model = r.optional(FieldModel::parse)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        Ok(params)
    }

    /// These parameters after a patch.
    ///
    /// # Errors
    /// `BadRequest` for another datatype: stored values are rounded to the present one.
    pub(super) fn patched(&self, name: &str, patch: &SparsePatch) -> Result<SparseParams, Error> {
        let mut params = self.clone();
        let SparsePatch { params: patch, model } = patch;
        if let Some(changes) = &patch.index {
            if changes.datatype.is_some_and(|asked| asked != self.datatype()) {
                return Err(Error::bad(format!("sparse_vectors.{name}.index.datatype: cannot be changed")));
            }
            let index = params.index.get_or_insert_default();
            index.full_scan_threshold = changes.full_scan_threshold.or(index.full_scan_threshold);
            index.on_disk = changes.on_disk.or(index.on_disk);
            index.memory = changes.memory.or(index.memory);
        }
        params.modifier = patch.modifier.or(params.modifier);
        if let Some(model) = model {
            params.model.clone_from(model);
        }
        Ok(params)
    }

    fn write(&self, out: &mut Vec<u8>, for_clients: bool) {
        let mut object = ObjectWriter::start(out);
        object.field("index", self.index.as_ref(), |out, index| index.write(out));
        object.field("modifier", self.modifier, |out, modifier| write_string(out, modifier.name()));
        object.field("model", self.model.as_ref().filter(|_| !for_clients), |out, model| model.write(out));
        object.end();
    }
}

/// The changes of a sparse field.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SparsePatch {
    params: SparseParams,
    /// `Some(None)` removes it.
    model: Option<Option<FieldModel>>,
}

impl SparsePatch {
    fn parse(reader: &mut Reader<'_>) -> Result<SparsePatch, Error> {
        // A removed model is not told from an absent one in the parameters.
        let mut model = None;
        reader.clone().object(|r, key| {
            if key == "model" {
                model = Some(model::parse_patch(r)?);
                return Ok(());
            }
            r.skip()
        })?;
        Ok(SparsePatch { params: SparseParams::parse(reader)?, model })
    }
}

impl SparseIndexParams {
    fn parse(reader: &mut Reader<'_>) -> Result<SparseIndexParams, Error> {
        let mut index = SparseIndexParams::default();
        let mut full_scan = TwoNames::default();
        reader.object(|r, key| {
            match key {
                "full_scan_threshold" | "full_scan_threshold_kb" => {
                    full_scan.put(key == "full_scan_threshold_kb", fields::integer(r, 0)?);
                }
                "on_disk" => index.on_disk = fields::flag(r)?,
                "memory" => index.memory = MemoryPlacement::read(r)?,
                "datatype" => index.datatype = r.optional(read_datatype)?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        index.full_scan_threshold = full_scan.take();
        Ok(index)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        object.field("full_scan_threshold", self.full_scan_threshold, write_u64);
        object.field("on_disk", self.on_disk, fields::write_flag);
        object.field("memory", self.memory, |out, memory| memory.write(out));
        object.field("datatype", self.datatype, |out, datatype| write_string(out, datatype.name()));
        object.end();
    }
}

/// Reads the element type of values: `turbo4` is of dense vectors alone.
pub(super) fn read_datatype(reader: &mut Reader<'_>) -> Result<Datatype, Error> {
    fields::choice(reader, DATATYPES.split_last().map_or(&[], |(_turbo4, of_both)| of_both))
}

/// Reads the name of a modifier.
pub(super) fn read_modifier(reader: &mut Reader<'_>) -> Result<Modifier, Error> {
    fields::choice(reader, &[Modifier::None, Modifier::Idf].map(|modifier| (modifier.name(), modifier)))
}

/// Reads the map of names to parameters. The last of a repeated name counts.
pub(super) fn parse_fields(reader: &mut Reader<'_>, limits: &Limits) -> Result<SparseFields, Error> {
    let mut found: SparseFields = Vec::new();
    let place = reader.path();
    reader.object(|r, name| {
        if r.take_null()? {
            return Ok(());
        }
        if name.is_empty() {
            return Err(r.error("Sparse vector name cannot be empty"));
        }
        if let Some(why) = vector_name_fault(name) {
            return Err(r.error(format!("a vector name {why}")));
        }
        let params = SparseParams::parse(r)?;
        fields::insert_named(&mut found, name, params, limits, &place)
    })?;
    Ok(found)
}

/// Appends the sparse fields as [`parse_fields`] reads them. `for_clients` omits what the strict models of the official
/// clients do not know.
pub(super) fn write_fields(declared: &[(Box<str>, SparseParams)], out: &mut Vec<u8>, for_clients: bool) {
    let mut object = ObjectWriter::start(out);
    for (name, params) in declared {
        params.write(object.key(name), for_clients);
    }
    object.end();
}

/// Reads the changes of a patch by name. The last of a repeated name counts.
pub(super) fn parse_patch(reader: &mut Reader<'_>) -> Result<BTreeMap<Box<str>, SparsePatch>, Error> {
    let mut changes = BTreeMap::new();
    reader.object(|r, name| {
        if let Some(change) = r.optional(SparsePatch::parse)? {
            changes.insert(name.into(), change);
        }
        Ok(())
    })?;
    Ok(changes)
}
