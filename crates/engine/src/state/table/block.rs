//! Points that follow each other in the table, column by column.

use super::payloads::{PayloadRef, Payloads};
use crate::allocator;
use crate::state::point::{NO_ROW, Point};
use crate::types::{OpNumber, PointId, Row, TextId};
use std::borrow::Cow;

/// Points of a full block. With more of them, the first write into a block after a view would copy more; with fewer, the
/// columns' own bytes would be a larger part.
pub(super) const BLOCK_POINTS: usize = u64::BITS as usize;

/// Points that follow each other in the table.
#[derive(Clone)]
pub(super) struct Block {
    /// Bit n: whether point n is live.
    live: u64,
    /// Rows of a point.
    fields: usize,
    ids: Ids,
    versions: Vec<OpNumber>,
    /// The rows of each point, one for each field.
    rows: Vec<Row>,
    payloads: Payloads,
}

/// The ids of a block, in the narrowest form that fits all of them.
#[derive(Clone)]
enum Ids {
    Numbers(Vec<u64>),
    Uuids(Vec<u128>),
    /// Strings, or ids of several kinds.
    Any(Vec<PointId>),
}

impl Block {
    /// An empty block, for points with so many fields. Its columns have room for so many of them.
    pub(super) fn new(fields: usize, room: usize) -> Block {
        Block {
            live: 0,
            fields,
            ids: Ids::Numbers(Vec::with_capacity(room)),
            versions: Vec::with_capacity(room),
            rows: Vec::with_capacity(room * fields),
            payloads: Payloads::Empty,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.versions.len()
    }

    #[inline]
    pub(super) fn id(&self, at: usize) -> Cow<'_, PointId> {
        match &self.ids {
            Ids::Numbers(numbers) => Cow::Owned(PointId::Num(numbers[at])),
            Ids::Uuids(uuids) => Cow::Owned(PointId::Uuid(uuids[at])),
            Ids::Any(ids) => Cow::Borrowed(&ids[at]),
        }
    }

    pub(super) fn text(&self, at: usize) -> Option<&TextId> {
        match &self.ids {
            Ids::Any(ids) => match &ids[at] {
                PointId::Text(text) => Some(text),
                PointId::Num(_) | PointId::Uuid(_) => None,
            },
            Ids::Numbers(_) | Ids::Uuids(_) => None,
        }
    }

    #[inline]
    pub(super) fn version(&self, at: usize) -> OpNumber {
        self.versions[at]
    }

    #[inline]
    pub(super) fn is_live(&self, at: usize) -> bool {
        self.live >> at & 1 == 1
    }

    #[inline]
    pub(super) fn payload(&self, at: usize) -> PayloadRef<'_> {
        self.payloads.get(at)
    }

    #[inline]
    pub(super) fn rows(&self, at: usize) -> &[Row] {
        &self.rows[at * self.fields..(at + 1) * self.fields]
    }

    /// Replaces a point, or appends the next one.
    pub(super) fn put(&mut self, at: usize, point: Point) {
        let Point { id, version, live, payload, rows } = point;
        debug_assert_eq!(rows.fields(), self.fields, "a row for each field");
        self.payloads.put(at, (self.len(), self.versions.capacity()), payload);
        self.ids.put(at, id);
        for field in 0..self.fields {
            let row = rows.row(field).unwrap_or(NO_ROW);
            put(&mut self.rows, at * self.fields + field, row, BLOCK_POINTS * self.fields);
        }
        put(&mut self.versions, at, version, BLOCK_POINTS);
        self.live = self.live & !(1 << at) | u64::from(live) << at;
    }

    pub(super) fn set_row(&mut self, at: usize, field: usize, row: Row) {
        assert!(field < self.fields, "field {field} of {}", self.fields);
        self.rows[at * self.fields + field] = row;
    }

    pub(super) fn rearranged(&self, from: &[Option<usize>]) -> Block {
        let row = |at: usize, from: &Option<usize>| {
            from.and_then(|old| self.rows(at).get(old).copied()).unwrap_or(NO_ROW)
        };
        let mut rows = Vec::with_capacity(self.len() * from.len());
        (0..self.len()).for_each(|at| rows.extend(from.iter().map(|from| row(at, from))));
        Block {
            live: self.live,
            fields: from.len(),
            ids: self.ids.clone(),
            versions: self.versions.clone(),
            rows,
            payloads: self.payloads.clone(),
        }
    }

    /// Bytes of the block and its columns.
    pub(super) fn memory_bytes(&self) -> u64 {
        allocator::shared_bytes(size_of::<Block>())
            + column_bytes(&self.versions)
            + column_bytes(&self.rows)
            + self.ids.memory_bytes()
            + self.payloads.memory_bytes()
    }
}

impl Ids {
    fn put(&mut self, at: usize, id: PointId) {
        match (&mut *self, id) {
            (Ids::Numbers(numbers), PointId::Num(number)) => put(numbers, at, number, BLOCK_POINTS),
            (Ids::Uuids(uuids), PointId::Uuid(uuid)) => put(uuids, at, uuid, BLOCK_POINTS),
            (Ids::Any(ids), id) => put(ids, at, id, BLOCK_POINTS),
            (Ids::Numbers(numbers), PointId::Uuid(uuid)) if numbers.is_empty() => {
                let mut uuids = Vec::with_capacity(numbers.capacity().max(1));
                uuids.push(uuid);
                *self = Ids::Uuids(uuids);
            }
            (_, id) => {
                let mut ids = self.to_ids();
                put(&mut ids, at, id, BLOCK_POINTS);
                *self = Ids::Any(ids);
            }
        }
    }

    fn to_ids(&self) -> Vec<PointId> {
        match self {
            Ids::Numbers(numbers) => numbers.iter().copied().map(PointId::Num).collect(),
            Ids::Uuids(uuids) => uuids.iter().copied().map(PointId::Uuid).collect(),
            Ids::Any(ids) => ids.clone(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        match self {
            Ids::Numbers(numbers) => column_bytes(numbers),
            Ids::Uuids(uuids) => column_bytes(uuids),
            Ids::Any(ids) => column_bytes(ids),
        }
    }
}

/// Bytes of a column.
pub(super) fn column_bytes<T>(column: &Vec<T>) -> u64 {
    allocator::bytes(column.capacity() * size_of::<T>())
}

/// Replaces a value of a column, or appends the next one. A column grows to powers of two, and never beyond `most` values,
/// so that a full one has no room that is unused.
pub(super) fn put<T>(column: &mut Vec<T>, at: usize, value: T, most: usize) {
    if let Some(place) = column.get_mut(at) {
        *place = value;
        return;
    }
    debug_assert_eq!(at, column.len(), "points are appended one after the other");
    if column.len() == column.capacity() {
        let grown = (column.len() + 1).next_power_of_two().min(most).max(column.len() + 1);
        column.reserve_exact(grown - column.len());
    }
    column.push(value);
}
