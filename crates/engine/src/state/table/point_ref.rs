//! A point of the table.

use super::PayloadRef;
use super::block::Block;
use crate::state::point::{NO_ROW, Point, Rows};
use crate::types::{OpNumber, PointId, Row};
use std::borrow::Cow;

/// A point in its block. Each part of it is read when it is asked for.
#[derive(Clone, Copy)]
pub struct PointRef<'a> {
    block: &'a Block,
    at: usize,
}

impl<'a> PointRef<'a> {
    pub(super) fn new(block: &'a Block, at: usize) -> PointRef<'a> {
        PointRef { block, at }
    }

    /// The client's id. A number or a UUID is copied, a string is not.
    #[inline]
    pub fn id(self) -> Cow<'a, PointId> {
        self.block.id(self.at)
    }

    /// Operation of its last change.
    #[inline]
    pub fn version(self) -> OpNumber {
        self.block.version(self.at)
    }

    /// Whether it exists; false for a tombstone.
    #[inline]
    pub fn is_live(self) -> bool {
        self.block.is_live(self.at)
    }

    /// Its payload.
    #[inline]
    pub fn payload(self) -> PayloadRef<'a> {
        self.block.payload(self.at)
    }

    /// Its payload as normalised JSON.
    #[inline]
    pub fn document(self) -> &'a [u8] {
        self.payload().bytes()
    }

    /// The row in a field, if the point has a vector there.
    #[inline]
    pub fn row(self, field: usize) -> Option<Row> {
        self.rows().get(field).copied().filter(|row| *row != NO_ROW)
    }

    /// The row in each field, [`NO_ROW`] for none.
    #[inline]
    pub fn rows(self) -> &'a [Row] {
        self.block.rows(self.at)
    }

    /// A copy of the point, which does not belong to the table.
    pub fn to_point(self) -> Point {
        Point {
            id: self.id().into_owned(),
            version: self.version(),
            live: self.is_live(),
            payload: self.payload().to_payload(),
            rows: Rows::of(self.rows()),
        }
    }
}
