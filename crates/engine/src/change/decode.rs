//! Bytes of a log record to changes.

use super::{Change, FieldVector, LISTED_SKIPS, PayloadEdit, Skipped};
use crate::payload::JsonPath;
use crate::types::{IdKind, OpNumber, PointId};
use crate::vectors::{MultiVector, SparseVector, VectorValue};

/// Why a record's body cannot be decoded: its checksum held, so it was written by something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable;

/// First byte of a change that names the operation before that of its record.
const AFTER: u8 = 21;

/// The operation that a state must have to be changed by the record with that body, and the operation of the record.
pub fn operations_of(body: &[u8]) -> Option<(OpNumber, OpNumber)> {
    let mut input = Input(body);
    let op = OpNumber::new(u64::from_le_bytes(input.array().ok()?));
    let has_changes = u32::from_le_bytes(input.array().ok()?) > 0;
    if has_changes && input.byte().ok()? == AFTER {
        return Some((OpNumber::new(u64::from_le_bytes(input.array().ok()?)), op));
    }
    Some((op.previous(), op))
}

/// Decodes the body of a record.
///
/// # Errors
/// [`Undecodable`] when the bytes are not what [`encode`] writes.
pub fn decode(body: &[u8]) -> Result<(OpNumber, Vec<Change>), Undecodable> {
    let mut input = Input(body);
    let op = OpNumber::new(u64::from_le_bytes(input.array()?));
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
            12 => {
                let field = u16::from_le_bytes(input.array()?);
                let vectors = (0..input.len()?)
                    .map(|_| Ok((input.id()?, input.components()?)))
                    .collect::<Result<_, Undecodable>>()?;
                Change::FillVectors { field, vectors }
            }
            20 => Change::Skipped(input.skipped()?),
            11 => Change::SetFields(input.bytes()?.into()),
            AFTER if changes.is_empty() => Change::After(input.operation_before(op)?),
            _ => return Err(Undecodable),
        });
    }
    if input.0.is_empty() { Ok((op, changes)) } else { Err(Undecodable) }
}

/// What is left to decode. Every method fails on bytes that are too short.
pub(crate) struct Input<'a>(pub &'a [u8]);

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
            2 => {
                let len = u16::from_le_bytes(self.array()?);
                let text = std::str::from_utf8(self.take(usize::from(len))?).map_err(|_| Undecodable)?;
                PointId::of_string(text, IdKind::String).ok_or(Undecodable)
            }
            _ => Err(Undecodable),
        }
    }

    /// The number of an operation before another one.
    fn operation_before(&mut self, op: OpNumber) -> Result<OpNumber, Undecodable> {
        let before = OpNumber::new(u64::from_le_bytes(self.array()?));
        if before < op { Ok(before) } else { Err(Undecodable) }
    }

    pub fn skipped(&mut self) -> Result<Skipped, Undecodable> {
        let at = u32::from_le_bytes(self.array()?);
        let count = u32::from_le_bytes(self.array()?);
        let ids = self.ids()?;
        if ids.len() > LISTED_SKIPS { Err(Undecodable) } else { Ok(Skipped { at, count, ids }) }
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
