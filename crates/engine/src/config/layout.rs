//! Which vector fields a collection has, and adding and removing them while it has points (C4.8).

use super::fields::{self, ObjectWriter};
use super::vectors::{DATATYPES, METRICS, MultivectorConfig, vector_size};
use super::{CollectionConfig, SparseIndexParams, SparseParams, VectorParams, sparse};
use crate::error::Error;
use crate::json::{Reader, write_u64};
use crate::limits::Limits;
use crate::name::vector_name_fault;
use crate::types::OpNumber;
use std::collections::BTreeMap;

/// When the fields of a collection changed. Kept with the configuration, and shown to nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// The last operation that added or removed a field; none since the creation if it is [`OpNumber::NONE`].
    changed: OpNumber,
    /// The operation that added each field; those of the creation are left out.
    added: BTreeMap<Box<str>, OpNumber>,
}

/// The identity of a field: a field that is added under the name of one that was removed is another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldKey {
    /// The name.
    pub name: Box<str>,
    /// The operation that added it; [`OpNumber::NONE`] for a field of the creation.
    pub added: OpNumber,
}

/// What a request declares of a field that is to be added.
#[derive(Clone, Debug, PartialEq)]
pub enum NewField {
    /// Dense vectors, or several for each point.
    Dense(VectorParams),
    /// Sparse vectors.
    Sparse(SparseParams),
}

impl NewField {
    /// Reads the body of the request: `{"dense": …}` or `{"sparse": …}`.
    ///
    /// # Errors
    /// `BadRequest` or `MissingField` that names the place.
    pub fn parse(reader: &mut Reader<'_>) -> Result<NewField, Error> {
        let (mut dense, mut sparse) = (None, None);
        reader.object(|r, key| {
            match key {
                "dense" => dense = r.optional(read_dense)?,
                "sparse" => sparse = r.optional(read_sparse)?,
                _ => r.unknown_in_body()?,
            }
            Ok(())
        })?;
        match (dense, sparse) {
            (Some(params), None) => Ok(NewField::Dense(params)),
            (None, Some(params)) => Ok(NewField::Sparse(params)),
            (None, None) => Err(reader.missing("dense")),
            (Some(_), Some(_)) => Err(reader.error("dense and sparse exclude each other")),
        }
    }
}

/// Reads what cannot be changed of a field of dense vectors. The rest is that of the collection, or comes by PATCH.
fn read_dense(reader: &mut Reader<'_>) -> Result<VectorParams, Error> {
    let (mut size, mut metric, mut datatype, mut multivector) = (None, None, None, None);
    reader.object(|r, key| {
        match key {
            "size" => size = r.optional(vector_size)?,
            "distance" => metric = r.optional(|r| fields::choice(r, &METRICS))?,
            "datatype" => datatype = r.optional(|r| fields::choice(r, &DATATYPES))?,
            "multivector_config" => multivector = r.optional(MultivectorConfig::parse)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let size = size.ok_or_else(|| reader.missing("size"))?;
    let metric = metric.ok_or_else(|| reader.missing("distance"))?;
    Ok(VectorParams { datatype, multivector, ..VectorParams::new(size, metric) })
}

/// Reads what cannot be changed of a field of sparse vectors.
fn read_sparse(reader: &mut Reader<'_>) -> Result<SparseParams, Error> {
    let (mut modifier, mut datatype) = (None, None);
    reader.object(|r, key| {
        match key {
            "modifier" => modifier = r.optional(sparse::read_modifier)?,
            "datatype" => datatype = r.optional(sparse::read_datatype)?,
            _ => r.unknown()?,
        }
        Ok(())
    })?;
    let index = datatype.is_some().then_some(SparseIndexParams { datatype, ..SparseIndexParams::default() });
    Ok(SparseParams { index, modifier, model: None })
}

/// Checks the name of a field that is to be added or removed.
///
/// # Errors
/// `BadRequest`.
pub fn check_field_name(name: &str) -> Result<(), Error> {
    match vector_name_fault(name) {
        None => Ok(()),
        Some(why) => Err(Error::bad(format!("vector_name: a vector name {why}"))),
    }
}

impl Layout {
    /// Reads what [`Layout::write`] wrote.
    pub(super) fn parse(reader: &mut Reader<'_>) -> Result<Layout, Error> {
        let mut layout = Layout::default();
        reader.object(|r, key| {
            match key {
                "at" => layout.changed = OpNumber::new(r.u64()?),
                "added" => r.object(|r, name| {
                    layout.added.insert(name.into(), OpNumber::new(r.u64()?));
                    Ok(())
                })?,
                _ => r.unknown()?,
            }
            Ok(())
        })?;
        Ok(layout)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::start(out);
        write_u64(object.key("at"), self.changed.get());
        let mut added = ObjectWriter::start(object.key("added"));
        for (name, op) in &self.added {
            write_u64(added.key(name), op.get());
        }
        added.end();
        object.end();
    }

    /// Operation `op` adds or removes a field.
    pub(super) fn change(&mut self, op: OpNumber) {
        self.changed = op;
    }

    /// The field of that name is the one that operation `op` added.
    pub(super) fn add(&mut self, name: &str, op: OpNumber) {
        self.added.insert(name.into(), op);
    }

    /// Whether no field was added or removed since the creation.
    pub(super) fn is_of_creation(&self) -> bool {
        self.changed == OpNumber::NONE
    }
}

impl CollectionConfig {
    /// The last operation that added or removed a field; [`OpNumber::NONE`] if there was none. Configurations of a
    /// collection in which it is the same have the same fields at the same positions.
    pub fn fields_changed(&self) -> OpNumber {
        self.layout.changed
    }

    /// The identity of the field at a position.
    pub fn field_key(&self, position: usize) -> FieldKey {
        if let Some(reembedding) = self.reembedding_at(position) {
            return FieldKey { name: reembedding.field.clone(), added: reembedding.begun };
        }
        let name = self.name_at(position);
        let added = self.layout.added.get(name).copied().unwrap_or(OpNumber::NONE);
        FieldKey { name: name.into(), added }
    }

    /// The identities of all fields, in the order of positions.
    pub fn field_keys(&self) -> Vec<FieldKey> {
        (0..self.positions()).map(|position| self.field_key(position)).collect()
    }

    /// The position of each field in an older or younger configuration of the same collection; none if it is not there.
    pub fn positions_in(&self, other: &CollectionConfig) -> Vec<Option<usize>> {
        let others = other.field_keys();
        let place = |key: FieldKey| others.iter().position(|other| *other == key);
        self.field_keys().into_iter().map(place).collect()
    }

    /// This configuration with one field more, which operation `op` adds; none if there is such a field already. Positions of
    /// sparse fields move by one where the field is one of dense vectors.
    ///
    /// # Errors
    /// `BadRequest` if there is a field of that name with another definition, or if there are too many fields.
    pub fn with_field(
        &self,
        op: OpNumber,
        name: &str,
        field: &NewField,
        limits: &Limits,
    ) -> Result<Option<CollectionConfig>, Error> {
        if let Some(position) = self.vector_position(name) {
            return if self.is_declared_so(position, field) {
                Ok(None)
            } else {
                Err(Error::bad(format!("Vector `{name}` already exists with a different configuration")))
            };
        }
        let most = limits.max_named_vectors;
        if self.declared_positions().count() >= most {
            return Err(Error::bad(format!("at most {most} named vectors a collection (max_named_vectors)")));
        }
        let mut config = self.clone();
        match field {
            NewField::Dense(params) => {
                config.vectors.insert(self.declared(), (name.into(), params.clone()));
            }
            NewField::Sparse(params) => config.sparse.push((name.into(), params.clone())),
        }
        config.layout.change(op);
        config.layout.add(name, op);
        Ok(Some(config))
    }

    /// This configuration without the field of that name, which operation `op` removes; none if there is no such field.
    pub fn without_field(&self, op: OpNumber, name: &str) -> Option<CollectionConfig> {
        self.vector_position(name)?;
        let mut config = self.clone();
        config.drop_reembedding(name);
        config.vectors.retain(|(known, _)| **known != *name);
        config.sparse.retain(|(known, _)| **known != *name);
        config.layout.change(op);
        config.layout.added.remove(name);
        Some(config)
    }

    /// Whether the field at a position was declared as a request declares one, as far as that cannot be changed.
    fn is_declared_so(&self, position: usize, field: &NewField) -> bool {
        match (self.vectors.get(position), field) {
            (Some((_, known)), NewField::Dense(asked)) => {
                let fixed = |params: &VectorParams| {
                    (params.size, params.metric, params.datatype(), params.multivector)
                };
                fixed(known) == fixed(asked)
            }
            (None, NewField::Sparse(asked)) => {
                let known = &self.sparse[position - self.vectors.len()].1;
                (known.modifier(), known.datatype()) == (asked.modifier(), asked.datatype())
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created() -> CollectionConfig {
        let mut reader = Reader::new(
            br#"{"vectors":{"size":2,"distance":"Dot"},"sparse_vectors":{"s":{"modifier":"idf"}}}"#,
        )
        .unwrap();
        CollectionConfig::parse(&mut reader, &Limits::default()).unwrap()
    }

    fn field(body: &str) -> Result<NewField, Error> {
        let mut reader = Reader::new(body.as_bytes())?;
        let field = NewField::parse(&mut reader)?;
        reader.finish().map(|()| field)
    }

    fn dense(size: usize) -> NewField {
        field(&format!(r#"{{"dense":{{"size":{size},"distance":"Cosine"}}}}"#)).unwrap()
    }

    fn with(config: &CollectionConfig, op: u64, name: &str, new: &NewField) -> CollectionConfig {
        config.with_field(OpNumber::new(op), name, new, &Limits::default()).unwrap().expect("it is new")
    }

    #[test]
    fn a_configuration_with_other_fields_is_read_back_as_it_was() {
        let added = with(&created(), 7, "b", &dense(3));
        let sparse = with(&added, 8, "t", &field(r#"{"sparse":{"datatype":"float16"}}"#).unwrap());
        let none = ["", "b", "s", "t"].iter().zip(9..).fold(sparse.clone(), |config, (name, op)| {
            config.without_field(OpNumber::new(op), name).expect("it is there")
        });
        for config in [&added, &sparse, &none] {
            assert_eq!(CollectionConfig::restore(&config.to_json()).as_ref(), Ok(config));
        }
        assert_eq!((none.positions(), none.fields_changed()), (0, OpNumber::new(12)));
    }

    #[test]
    fn a_field_keeps_its_identity_and_one_of_the_same_name_is_another() {
        let before = with(&created(), 7, "b", &dense(3));
        assert_eq!(before.positions_in(&created()), [Some(0), None, Some(1)]);
        let removed = before.without_field(OpNumber::new(8), "b").unwrap();
        let after = with(&removed, 9, "b", &dense(3));
        assert_eq!(after.positions_in(&before), [Some(0), None, Some(2)]);
        assert_eq!(before.positions_in(&after), [Some(0), None, Some(2)]);
        assert_eq!(removed.without_field(OpNumber::new(9), "b"), None);
    }

    #[test]
    fn the_same_field_again_changes_nothing_and_another_one_is_refused_c4_8() {
        let config = with(&created(), 7, "b", &dense(3));
        let again =
            |name: &str, new: &NewField| config.with_field(OpNumber::new(8), name, new, &Limits::default());
        assert_eq!(again("b", &dense(3)), Ok(None));
        assert_eq!(again("s", &field(r#"{"sparse":{"modifier":"idf"}}"#).unwrap()), Ok(None));
        for (name, new) in [("b", dense(4)), ("s", dense(3)), ("s", field(r#"{"sparse":{}}"#).unwrap())] {
            let error = again(name, &new).unwrap_err();
            assert!(error.to_string().contains("already exists"), "{error}");
        }
        let full = Limits { max_named_vectors: 3, ..Limits::default() };
        assert!(config.with_field(OpNumber::new(8), "c", &dense(3), &full).is_err());
    }

    #[test]
    fn what_is_wrong_with_a_field_is_named_c1_11() {
        for (body, place) in [
            (r#"{"dense":{"size":0,"distance":"Dot"}}"#, "dense.size"),
            (r#"{"dense":{"distance":"Dot"}}"#, "size"),
            (r#"{"dense":{"size":1,"distance":"Dot","hnsw_config":{}}}"#, "dense.hnsw_config"),
            (r#"{"sparse":{"modifier":"tf"}}"#, "sparse.modifier"),
            (r#"{"dense":{"size":1,"distance":"Dot"},"sparse":{}}"#, "exclude"),
            (r#"{"desne":{}}"#, "desne"),
            ("{}", "dense"),
        ] {
            let error = field(body).unwrap_err();
            assert!(error.to_string().contains(place), "{body}: {error}");
        }
        assert!(check_field_name("a/b").is_err() && check_field_name("b").is_ok());
    }
}
