//! Resolved changes: what a log record holds.
//!
//! A change is validated and names every id it touches, so replaying it is pure: the same changes in the same
//! order give the same state. Vectors are as they are kept (normalised, rounded). The encoding is described
//! byte by byte in `docs/formats.md`.

use crate::payload::JsonPath;
use crate::types::PointId;
use crate::vectors::{MultiVector, SparseVector, VectorValue};

/// A vector of one point: the field's position ([`CollectionConfig::vector_position`]), and the vector.
///
/// [`CollectionConfig::vector_position`]: crate::config::CollectionConfig::vector_position
pub type FieldVector = (u16, VectorValue);

/// One resolved change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Insert or replace a whole point.
    Put {
        /// The point.
        id: PointId,
        /// Its vectors.
        vectors: Vec<FieldVector>,
        /// Its payload, normalised JSON.
        payload: Box<[u8]>,
    },
    /// Remove points; absent ids are ignored.
    Delete(Vec<PointId>),
    /// Replace some vectors of a point that exists.
    SetVectors {
        /// The point.
        id: PointId,
        /// The vectors to replace.
        vectors: Vec<FieldVector>,
    },
    /// Remove vectors of points that exist.
    DropVectors {
        /// Positions of the fields.
        fields: Vec<u16>,
        /// The points.
        ids: Vec<PointId>,
    },
    /// Edit the payload of points that exist.
    EditPayload {
        /// What to do.
        edit: PayloadEdit,
        /// The points.
        ids: Vec<PointId>,
    },
    /// Declare a field index, replacing one on the same path.
    CreateIndex {
        /// The field.
        path: JsonPath,
        /// The schema as JSON.
        schema: Box<[u8]>,
    },
    /// Remove a field index; an absent one is ignored.
    DropIndex(JsonPath),
    /// Replace the collection's configuration: its canonical JSON.
    SetConfig(Box<[u8]>),
}

impl Change {
    /// Points that it names.
    pub fn touched(&self) -> usize {
        match self {
            Change::Put { .. } | Change::SetVectors { .. } => 1,
            Change::Delete(ids) | Change::DropVectors { ids, .. } | Change::EditPayload { ids, .. } => {
                ids.len()
            }
            Change::CreateIndex { .. } | Change::DropIndex(_) | Change::SetConfig(_) => 0,
        }
    }
}

/// An edit of a payload.
#[derive(Clone, Debug, PartialEq)]
pub enum PayloadEdit {
    /// Merge an object at the top level, or at a path.
    Merge {
        /// Normalised JSON object.
        patch: Box<[u8]>,
        /// Where; the top level when absent.
        at: Option<JsonPath>,
    },
    /// Replace the payload, or what is at a path.
    Overwrite {
        /// Normalised JSON object.
        payload: Box<[u8]>,
        /// What; everything when absent.
        at: Option<JsonPath>,
    },
    /// Remove paths.
    Remove(Vec<JsonPath>),
    /// Leave `{}`.
    Clear,
}

impl PayloadEdit {
    /// Whether anything of the payload before may be left in the one after.
    pub(super) fn keeps_a_part(&self) -> bool {
        !matches!(self, PayloadEdit::Overwrite { at: None, .. } | PayloadEdit::Clear)
    }
}

/// Why a record's body cannot be decoded: its checksum held, so it was written by something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable;

/// Encodes the body of a record: the operation number, then the changes.
pub fn encode(op: u64, changes: &[Change], out: &mut Vec<u8>) {
    // An upsert of many points is a megabyte: growing step by step would copy it several times.
    out.reserve(changes.iter().map(usual_len).sum());
    out.extend_from_slice(&op.to_le_bytes());
    put_len(out, changes.len());
    for change in changes {
        match change {
            Change::Put { id, vectors, payload } => {
                out.push(if all_dense(vectors) { 1 } else { 9 });
                put_id(out, *id);
                put_vectors(out, vectors);
                put_bytes(out, payload);
            }
            Change::Delete(ids) => {
                out.push(2);
                put_ids(out, ids);
            }
            Change::SetVectors { id, vectors } => {
                out.push(if all_dense(vectors) { 3 } else { 10 });
                put_id(out, *id);
                put_vectors(out, vectors);
            }
            Change::DropVectors { fields, ids } => {
                out.push(4);
                put_len(out, fields.len());
                for field in fields {
                    out.extend_from_slice(&field.to_le_bytes());
                }
                put_ids(out, ids);
            }
            Change::EditPayload { edit, ids } => {
                out.push(5);
                put_edit(out, edit);
                put_ids(out, ids);
            }
            Change::CreateIndex { path, schema } => {
                out.push(6);
                put_bytes(out, path.to_string().as_bytes());
                put_bytes(out, schema);
            }
            Change::DropIndex(path) => {
                out.push(7);
                put_bytes(out, path.to_string().as_bytes());
            }
            Change::SetConfig(config) => {
                out.push(8);
                put_bytes(out, config);
            }
        }
    }
}

/// The number of the operation whose record has that body.
pub fn operation_of(body: &[u8]) -> Option<u64> {
    body.first_chunk().map(|number| u64::from_le_bytes(*number))
}

/// Decodes the body of a record.
///
/// # Errors
/// [`Undecodable`] when the bytes are not what [`encode`] writes.
pub fn decode(body: &[u8]) -> Result<(u64, Vec<Change>), Undecodable> {
    let mut input = Input(body);
    let op = u64::from_le_bytes(input.array()?);
    let count = input.len()?;
    let mut changes = Vec::with_capacity(count.min(body.len()));
    for _ in 0..count {
        changes.push(match input.byte()? {
            tag @ (1 | 9) => Change::Put {
                id: input.id()?,
                vectors: input.vectors(tag == 9)?,
                payload: input.bytes()?.into(),
            },
            2 => Change::Delete(input.ids()?),
            tag @ (3 | 10) => Change::SetVectors { id: input.id()?, vectors: input.vectors(tag == 10)? },
            4 => {
                let fields = (0..input.len()?)
                    .map(|_| Ok(u16::from_le_bytes(input.array()?)))
                    .collect::<Result<_, Undecodable>>()?;
                Change::DropVectors { fields, ids: input.ids()? }
            }
            5 => Change::EditPayload { edit: input.edit()?, ids: input.ids()? },
            6 => Change::CreateIndex { path: input.path()?, schema: input.bytes()?.into() },
            7 => Change::DropIndex(input.path()?),
            8 => Change::SetConfig(input.bytes()?.into()),
            _ => return Err(Undecodable),
        });
    }
    if input.0.is_empty() { Ok((op, changes)) } else { Err(Undecodable) }
}

/// About as many bytes as a change is encoded in, where that is many.
fn usual_len(change: &Change) -> usize {
    /// What stands around a vector, a payload, and the rest of a change.
    const AROUND: usize = 32;
    match change {
        Change::Put { vectors, payload, .. } => {
            let vectors = vectors.iter().map(|(_, vector)| AROUND + vector.bytes());
            AROUND + vectors.sum::<usize>() + payload.len()
        }
        _ => AROUND,
    }
}

fn put_len(out: &mut Vec<u8>, len: usize) {
    let len = u32::try_from(len).expect("a request is bounded far below 2^32 items");
    out.extend_from_slice(&len.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_len(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// Appends an id: one byte of kind, then 8 or 16 bytes.
pub(super) fn put_id(out: &mut Vec<u8>, id: PointId) {
    match id {
        PointId::Num(number) => {
            out.push(0);
            out.extend_from_slice(&number.to_le_bytes());
        }
        PointId::Uuid(uuid) => {
            out.push(1);
            out.extend_from_slice(&uuid.to_le_bytes());
        }
    }
}

fn put_ids(out: &mut Vec<u8>, ids: &[PointId]) {
    put_len(out, ids.len());
    for &id in ids {
        put_id(out, id);
    }
}

/// Whether the vectors are written without their kinds, as every record of the first release is.
fn all_dense(vectors: &[FieldVector]) -> bool {
    vectors.iter().all(|(_, vector)| matches!(vector, VectorValue::Dense(_)))
}

fn put_vectors(out: &mut Vec<u8>, vectors: &[FieldVector]) {
    let with_kinds = !all_dense(vectors);
    put_len(out, vectors.len());
    for (field, vector) in vectors {
        out.extend_from_slice(&field.to_le_bytes());
        if with_kinds {
            out.push(match vector {
                VectorValue::Dense(_) => 0,
                VectorValue::Sparse(_) => 1,
                VectorValue::Multi(_) => 2,
            });
        }
        match vector {
            VectorValue::Dense(components) => put_components(out, components),
            VectorValue::Sparse(SparseVector { indices, values }) => {
                put_len(out, indices.len());
                out.reserve(indices.len() * 8);
                indices.iter().for_each(|index| out.extend_from_slice(&index.to_le_bytes()));
                values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
            }
            VectorValue::Multi(MultiVector { dim, components }) => {
                put_len(out, *dim);
                put_components(out, components);
            }
        }
    }
}

fn put_components(out: &mut Vec<u8>, components: &[f32]) {
    put_len(out, components.len());
    out.reserve(components.len() * 4);
    for component in components {
        out.extend_from_slice(&component.to_le_bytes());
    }
}

fn put_path(out: &mut Vec<u8>, path: Option<&JsonPath>) {
    match path {
        None => out.push(0),
        Some(path) => {
            out.push(1);
            put_bytes(out, path.to_string().as_bytes());
        }
    }
}

fn put_edit(out: &mut Vec<u8>, edit: &PayloadEdit) {
    match edit {
        PayloadEdit::Merge { patch, at } => {
            out.push(1);
            put_bytes(out, patch);
            put_path(out, at.as_ref());
        }
        PayloadEdit::Overwrite { payload, at } => {
            out.push(2);
            put_bytes(out, payload);
            put_path(out, at.as_ref());
        }
        PayloadEdit::Remove(keys) => {
            out.push(3);
            put_len(out, keys.len());
            for key in keys {
                put_bytes(out, key.to_string().as_bytes());
            }
        }
        PayloadEdit::Clear => out.push(4),
    }
}

/// What is left to decode. Every method fails on bytes that are too short.
pub(super) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Undecodable> {
        if len > self.0.len() {
            return Err(Undecodable);
        }
        let (taken, rest) = self.0.split_at(len);
        self.0 = rest;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Undecodable> {
        self.take(N)?.try_into().map_err(|_| Undecodable)
    }

    pub fn byte(&mut self) -> Result<u8, Undecodable> {
        Ok(self.take(1)?[0])
    }

    /// A count or a length. Every item takes at least a byte, so one beyond what is left is refused early.
    pub fn len(&mut self) -> Result<usize, Undecodable> {
        let len = u32::from_le_bytes(self.array()?) as usize;
        if len > self.0.len() { Err(Undecodable) } else { Ok(len) }
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], Undecodable> {
        let len = self.len()?;
        self.take(len)
    }

    pub fn id(&mut self) -> Result<PointId, Undecodable> {
        match self.byte()? {
            0 => Ok(PointId::Num(u64::from_le_bytes(self.array()?))),
            1 => Ok(PointId::Uuid(u128::from_le_bytes(self.array()?))),
            _ => Err(Undecodable),
        }
    }

    fn ids(&mut self) -> Result<Vec<PointId>, Undecodable> {
        (0..self.len()?).map(|_| self.id()).collect()
    }

    fn vectors(&mut self, with_kinds: bool) -> Result<Vec<FieldVector>, Undecodable> {
        (0..self.len()?)
            .map(|_| {
                let field = u16::from_le_bytes(self.array()?);
                let kind = if with_kinds { self.byte()? } else { 0 };
                let vector = match kind {
                    0 => VectorValue::Dense(self.components()?),
                    1 => VectorValue::Sparse(self.sparse()?),
                    2 => VectorValue::Multi(self.multi()?),
                    _ => return Err(Undecodable),
                };
                Ok((field, vector))
            })
            .collect()
    }

    fn components(&mut self) -> Result<Vec<f32>, Undecodable> {
        let len = self.len()?;
        self.words(len).map(|words| words.map(f32::from_le_bytes).collect())
    }

    fn sparse(&mut self) -> Result<SparseVector, Undecodable> {
        let len = self.len()?;
        let indices: Vec<u32> = self.words(len)?.map(u32::from_le_bytes).collect();
        let values = self.words(len)?.map(f32::from_le_bytes).collect();
        // What reads the rows counts on the order.
        if indices.is_sorted_by(|a, b| a < b) {
            Ok(SparseVector { indices, values })
        } else {
            Err(Undecodable)
        }
    }

    fn multi(&mut self) -> Result<MultiVector, Undecodable> {
        let dim = self.len()?;
        let components = self.components()?;
        if dim > 0 && !components.is_empty() && components.len().is_multiple_of(dim) {
            Ok(MultiVector { dim, components })
        } else {
            Err(Undecodable)
        }
    }

    /// So many groups of four bytes.
    fn words(&mut self, count: usize) -> Result<impl Iterator<Item = [u8; 4]> + use<'a>, Undecodable> {
        let bytes = self.take(count.checked_mul(4).ok_or(Undecodable)?)?;
        Ok(bytes.as_chunks::<4>().0.iter().copied())
    }

    pub fn path(&mut self) -> Result<JsonPath, Undecodable> {
        let text = std::str::from_utf8(self.bytes()?).map_err(|_| Undecodable)?;
        JsonPath::parse(text).map_err(|_| Undecodable)
    }

    fn optional_path(&mut self) -> Result<Option<JsonPath>, Undecodable> {
        match self.byte()? {
            0 => Ok(None),
            1 => self.path().map(Some),
            _ => Err(Undecodable),
        }
    }

    fn edit(&mut self) -> Result<PayloadEdit, Undecodable> {
        Ok(match self.byte()? {
            1 => PayloadEdit::Merge { patch: self.bytes()?.into(), at: self.optional_path()? },
            2 => PayloadEdit::Overwrite { payload: self.bytes()?.into(), at: self.optional_path()? },
            3 => PayloadEdit::Remove((0..self.len()?).map(|_| self.path()).collect::<Result<_, _>>()?),
            4 => PayloadEdit::Clear,
            _ => return Err(Undecodable),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn every_kind() -> Vec<FieldVector> {
        let sparse = SparseVector { indices: vec![0, 9, u32::MAX], values: vec![0.5, -1.0, 0.0] };
        let multi = MultiVector { dim: 2, components: vec![1.0, 2.0, 3.0, 4.0] };
        vec![
            (2, VectorValue::Sparse(sparse)),
            (0, vec![1.0].into()),
            (1, VectorValue::Multi(multi)),
            (3, VectorValue::Sparse(SparseVector::default())),
        ]
    }

    fn samples() -> Vec<Change> {
        let path = JsonPath::parse("a[].\"b c\"").unwrap();
        vec![
            Change::Put {
                id: PointId::Num(7),
                vectors: vec![(0, vec![1.0, -0.0].into())],
                payload: (*b"{\"a\":1}").into(),
            },
            Change::Put { id: PointId::Uuid(u128::MAX), vectors: vec![], payload: (*b"{}").into() },
            Change::Delete(vec![PointId::Num(u64::MAX), PointId::Uuid(3)]),
            Change::SetVectors { id: PointId::Num(0), vectors: vec![(3, vec![0.5; 9].into())] },
            Change::Put { id: PointId::Num(8), vectors: every_kind(), payload: (*b"{}").into() },
            Change::SetVectors { id: PointId::Num(8), vectors: every_kind()[1..].to_vec() },
            Change::DropVectors { fields: vec![0, 9], ids: vec![PointId::Num(1)] },
            Change::EditPayload {
                edit: PayloadEdit::Merge { patch: (*b"{}").into(), at: Some(path.clone()) },
                ids: vec![PointId::Num(2)],
            },
            Change::EditPayload {
                edit: PayloadEdit::Overwrite { payload: (*b"{}").into(), at: None },
                ids: vec![],
            },
            Change::EditPayload { edit: PayloadEdit::Remove(vec![path.clone()]), ids: vec![] },
            Change::EditPayload { edit: PayloadEdit::Clear, ids: vec![] },
            Change::CreateIndex { path: path.clone(), schema: (*b"\"keyword\"").into() },
            Change::DropIndex(path),
            Change::SetConfig((*b"{}").into()),
        ]
    }

    #[test]
    fn every_change_round_trips() {
        let mut body = Vec::new();
        encode(42, &samples(), &mut body);
        assert_eq!(decode(&body), Ok((42, samples())));
    }

    #[test]
    fn records_of_dense_vectors_are_those_of_the_first_release() {
        let put = Change::Put {
            id: PointId::Num(1),
            vectors: vec![(2, vec![1.0].into())],
            payload: (*b"{}").into(),
        };
        let mut body = Vec::new();
        encode(5, &[put], &mut body);
        let mut expected = 5u64.to_le_bytes().to_vec();
        expected.extend([1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0]);
        expected.extend(1.0f32.to_le_bytes());
        expected.extend([2, 0, 0, 0, b'{', b'}']);
        assert_eq!(body, expected);
    }

    proptest! {
        #[test]
        fn damaged_bodies_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>()) {
            let mut body = Vec::new();
            encode(42, &samples(), &mut body);
            for (at, value) in flips {
                let at = at.index(body.len());
                body[at] = value;
            }
            let _ = decode(&body);
            let _ = decode(&body[..cut.index(body.len())]);
        }
    }
}
