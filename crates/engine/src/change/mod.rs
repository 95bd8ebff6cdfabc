//! Resolved changes: what a log record holds.
//!
//! A change is validated and names every id it touches, so replaying it is pure: the same changes in the same
//! order give the same state. Vectors are as they are kept (normalised, rounded). The encoding is described
//! byte by byte in `docs/formats.md`.

mod decode;
mod encode;
mod revision;

pub(crate) use decode::Input;
pub use decode::{Undecodable, decode, operations_of};
pub use encode::encode;
pub(crate) use encode::{put_id, put_skipped};
pub use revision::Revision;

use crate::payload::JsonPath;
use crate::types::{OpNumber, PointId};
use crate::vectors::VectorValue;

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
    /// Replace the collection's configuration: its canonical JSON. The vector fields are the same.
    SetConfig(Box<[u8]>),
    /// Changes nothing: what an update of the record left alone, for the answer to a repeat of the call.
    Skipped(Skipped),
    /// Vectors of a re-embedding, which are put beside those of points that exist. The versions of these stay.
    FillVectors {
        /// Position of the shadow.
        field: u16,
        /// Points and their vectors.
        vectors: Vec<(PointId, Vec<f32>)>,
    },
    /// Replace the configuration by one with a field more or less. Positions in later changes are those of this one.
    SetFields(Box<[u8]>),
    /// Changes nothing, and is the first of its record: the operation before that of the record, where there may be numbers
    /// between them that no operation has.
    After(OpNumber),
}

/// Points that the `update_filter` or `update_mode` of an update left as they were (C25).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The place of the update among those of its request.
    pub at: u32,
    /// How many.
    pub count: u32,
    /// The first [`LISTED_SKIPS`] of them, in the order of the request.
    pub ids: Vec<PointId>,
}

/// Skipped points that an answer lists.
pub const LISTED_SKIPS: usize = 1000;

impl Skipped {
    /// In place of the place of an update: the note is what a sync did, for the answer to a repeat of the call. The count is that
    /// of added points; then come, as ids, the counts of points that were updated, left alone and deleted, and the revision.
    pub const OF_SYNC: u32 = u32::MAX;

    /// Whether it is the note of a sync (C20).
    pub fn is_of_sync(&self) -> bool {
        self.at == Skipped::OF_SYNC
    }

    /// Takes note of another one.
    pub fn add(&mut self, id: PointId) {
        self.count += 1;
        if self.ids.len() < LISTED_SKIPS {
            self.ids.push(id);
        }
    }
}

/// The operation that a state must have to be changed by the record of operation `op` with these changes.
pub fn previous_of(op: OpNumber, changes: &[Change]) -> OpNumber {
    match changes.first() {
        Some(Change::After(previous)) => *previous,
        _ => op.previous(),
    }
}

/// An operation that is missing between the last one of a state and the record of operation `op`, which comes behind `previous`.
/// `None` where that record does not fit to the state although nothing is missing: the state has more than `previous`.
pub fn missing_before(last: OpNumber, previous: OpNumber, op: OpNumber) -> Option<OpNumber> {
    if previous.next() == op {
        Some(last.next())
    } else {
        // The numbers in between may be of no operation.
        (previous > last).then_some(previous)
    }
}

impl Change {
    /// Points that it names.
    pub fn touched(&self) -> usize {
        match self {
            Change::Put { .. } | Change::SetVectors { .. } => 1,
            Change::Delete(ids) | Change::DropVectors { ids, .. } | Change::EditPayload { ids, .. } => {
                ids.len()
            }
            Change::FillVectors { vectors, .. } => vectors.len(),
            Change::CreateIndex { .. }
            | Change::DropIndex(_)
            | Change::SetConfig(_)
            | Change::SetFields(_)
            | Change::After(_)
            | Change::Skipped(_) => 0,
        }
    }

    /// Points that it changes and does not remove.
    pub fn kept(&self) -> impl Iterator<Item = &PointId> + '_ {
        let (one, many) = match self {
            Change::Put { id, .. } | Change::SetVectors { id, .. } => (Some(id), &[][..]),
            Change::DropVectors { ids, .. } | Change::EditPayload { ids, .. } => (None, &ids[..]),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(many)
    }

    /// Points whose payloads it writes.
    pub fn edited(&self) -> impl Iterator<Item = &PointId> + '_ {
        let (one, many) = match self {
            Change::Put { id, .. } => (Some(id), &[][..]),
            Change::EditPayload { ids, .. } => (None, &ids[..]),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(many)
    }
}

/// What replaying one point of a record costs beside the record's bytes, in bytes of the same cost. Measured with
/// `checkpoint_bench` in `crates/bench`: vectors are replayed at several hundred MB/s, points without any at about a million a second.
const POINT_WORK: usize = 256;

/// What replaying a record costs, in bytes: its own, and [`POINT_WORK`] for each point that it touches.
pub(crate) fn replay_work(body: &[u8], changes: &[Change]) -> usize {
    body.len() + POINT_WORK * changes.iter().map(Change::touched).sum::<usize>()
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
    pub(crate) fn keeps_a_part(&self) -> bool {
        !matches!(self, PayloadEdit::Overwrite { at: None, .. } | PayloadEdit::Clear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::IdKind;
    use crate::vectors::{MultiVector, SparseVector};
    use proptest::prelude::*;

    #[test]
    fn what_is_missing_before_a_record_is_named_by_what_that_says() {
        let missing = |last: u64, previous: u64, op: u64| {
            missing_before(OpNumber::new(last), OpNumber::new(previous), OpNumber::new(op)).map(OpNumber::get)
        };
        // A record of the next number: everything in between is an operation.
        assert_eq!(missing(3, 8, 9), Some(4));
        // One that leaves numbers out: only the one before it is known to be one.
        assert_eq!(missing(3, 8, 20), Some(8));
        // The state has more than the record comes behind.
        assert_eq!(missing(9, 8, 20), None);
    }

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

    fn text(len: usize) -> PointId {
        PointId::of_string(&"x".repeat(len), IdKind::String).unwrap()
    }

    fn samples() -> Vec<Change> {
        let path = JsonPath::parse("a[].\"b c\"").unwrap();
        vec![
            Change::After(OpNumber::new(17)),
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
            Change::Skipped(Skipped { at: 3, count: 1200, ids: vec![PointId::Num(9), PointId::Uuid(4)] }),
            Change::Delete([1, 30, 31, 256].map(text).into()),
            Change::Put { id: text(40), vectors: vec![], payload: (*b"{}").into() },
            Change::SetFields((*b"{}").into()),
            Change::FillVectors { field: 1, vectors: vec![(PointId::Num(7), vec![0.25, -1.0])] },
        ]
    }

    #[test]
    fn every_change_round_trips() {
        let mut body = Vec::new();
        encode(OpNumber::new(42), &samples(), &mut body);
        assert_eq!(decode(&body), Ok((OpNumber::new(42), samples())));
    }

    #[test]
    fn a_record_that_leaves_numbers_out_names_the_operation_before_it_first() {
        let (op, previous) = (OpNumber::new(5 << 20), OpNumber::new(7));
        let encoded = |op: OpNumber, changes: &[Change]| {
            let mut body = Vec::new();
            encode(op, changes, &mut body);
            body
        };
        let body = encoded(op, &[Change::After(previous), Change::DropIndex(JsonPath::parse("a").unwrap())]);
        assert_eq!(operations_of(&body), Some((previous, op)));
        assert_eq!(previous_of(op, &decode(&body).unwrap().1), previous);
        assert_eq!(operations_of(&encoded(op, &[])), Some((op.previous(), op)));
        let second = encoded(op, &[Change::Delete(vec![]), Change::After(previous)]);
        assert_eq!((decode(&second), operations_of(&second)), (Err(Undecodable), Some((op.previous(), op))));
        for not_before in [op, op.next()] {
            assert_eq!(decode(&encoded(op, &[Change::After(not_before)])), Err(Undecodable), "{not_before}");
        }
        assert_eq!(operations_of(&body[..20]), None, "it ends in the number");
    }

    #[test]
    fn records_of_dense_vectors_are_those_of_the_first_release() {
        let put = Change::Put {
            id: PointId::Num(1),
            vectors: vec![(2, vec![1.0].into())],
            payload: (*b"{}").into(),
        };
        let mut body = Vec::new();
        encode(OpNumber::new(5), &[put], &mut body);
        let mut expected = 5u64.to_le_bytes().to_vec();
        expected.extend([1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 0, 0]);
        expected.extend(1.0f32.to_le_bytes());
        expected.extend([2, 0, 0, 0, b'{', b'}']);
        assert_eq!(body, expected);
    }

    #[test]
    fn an_id_of_a_record_is_one_that_a_request_can_have_c21() {
        let mut body = Vec::new();
        encode(OpNumber::new(5), &[Change::Delete(vec![text(3)])], &mut body);
        assert!(body.ends_with(&[1, 0, 0, 0, 2, 3, 0, b'x', b'x', b'x']));
        let end = body.len();
        for (len, bytes) in [(0u16, &b""[..]), (2, b"\xc3("), (1, b"xx"), (257, &[b'x'; 257]), (4, b"xxx")] {
            body.truncate(end - 5);
            body.extend(len.to_le_bytes());
            body.extend(bytes);
            assert_eq!(decode(&body), Err(Undecodable), "{len} {bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn damaged_bodies_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>()) {
            let mut body = Vec::new();
            encode(OpNumber::new(42), &samples(), &mut body);
            for (at, value) in flips {
                let at = at.index(body.len());
                body[at] = value;
            }
            let _ = decode(&body);
            let _ = decode(&body[..cut.index(body.len())]);
        }
    }
}
