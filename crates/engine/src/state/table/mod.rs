//! The table of points by offset, tombstones included.
//!
//! Points are kept in blocks of 64, and a block keeps each part of its points in a column of its own, in the
//! narrowest form that all of them fit. Blocks are copy-on-write: the first write into one after a view copies it.
//! docs/memory.md says what a point takes.

mod block;
mod payloads;
mod point_ref;
#[cfg(test)]
mod tests;

pub use payloads::PayloadRef;
pub use point_ref::PointRef;

use super::Point;
use crate::allocator;
use crate::types::{PointOffset, Row, TextId};
use block::{BLOCK_POINTS, Block};
use imbl::Vector;
use std::sync::Arc;

/// The points of a collection by offset. A clone costs a few reference counts and never changes.
#[derive(Clone, Default)]
pub struct PointTable {
    /// All blocks but the last are full.
    blocks: Vector<Arc<Block>>,
    len: usize,
    /// Bytes of the blocks, which are counted as they change.
    block_bytes: u64,
    /// Points that there will be at least: the columns of a new block have room for those of it.
    expected: usize,
}

impl PointTable {
    /// Points, tombstones included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no point.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The point at an offset. Panics when there is none.
    #[inline]
    pub fn at(&self, offset: PointOffset) -> PointRef<'_> {
        PointRef::new(&self.blocks[offset.index() / BLOCK_POINTS], offset.index() % BLOCK_POINTS)
    }

    /// The point at an offset, if there is one.
    pub fn get(&self, offset: PointOffset) -> Option<PointRef<'_>> {
        (offset.index() < self.len).then(|| self.at(offset))
    }

    /// The string that is the id of the point at an offset; none if its id is no string.
    pub(super) fn text(&self, offset: PointOffset) -> Option<&TextId> {
        self.blocks[offset.index() / BLOCK_POINTS].text(offset.index() % BLOCK_POINTS)
    }

    /// All points in the order of their offsets.
    pub fn iter(&self) -> impl Iterator<Item = PointRef<'_>> {
        self.blocks.iter().flat_map(|block| (0..block.len()).map(move |at| PointRef::new(block, at)))
    }

    /// Says how many points will be appended, so that columns need not grow point by point.
    pub fn expect_points(&mut self, points: usize) {
        self.expected = self.len.saturating_add(points);
    }

    /// Appends a point.
    pub fn push(&mut self, point: Point) {
        let at = self.len % BLOCK_POINTS;
        if at == 0 {
            let room = self.expected.saturating_sub(self.len).min(BLOCK_POINTS);
            let block = Block::new(point.rows.fields(), room);
            self.block_bytes += block.memory_bytes();
            self.blocks.push_back(Arc::new(block));
        }
        let last = self.blocks.back_mut().expect("the last block has room");
        self.block_bytes = change(last, self.block_bytes, |block| block.put(at, point));
        self.len += 1;
    }

    /// Replaces the point at an offset. Panics when there is none.
    pub fn set(&mut self, offset: PointOffset, point: Point) {
        assert!(offset.index() < self.len, "point {} of {}", offset.get(), self.len);
        self.put(offset.index(), point);
    }

    /// Changes the row of a point in a field. Panics when there is no such point.
    pub fn set_row(&mut self, offset: PointOffset, field: usize, row: Row) {
        let at = offset.index() % BLOCK_POINTS;
        self.change(offset.index() / BLOCK_POINTS, |block| block.set_row(at, field, row));
    }

    fn put(&mut self, index: usize, point: Point) {
        self.change(index / BLOCK_POINTS, |block| block.put(index % BLOCK_POINTS, point));
    }

    fn change(&mut self, at: usize, work: impl FnOnce(&mut Block)) {
        self.block_bytes = change(&mut self.blocks[at], self.block_bytes, work);
    }

    /// The same points with the rows of other fields: for each new position the old one, none for a field that is new.
    #[must_use]
    pub fn rearranged(&self, from: &[Option<usize>]) -> PointTable {
        let blocks: Vector<_> = self.blocks.iter().map(|block| Arc::new(block.rearranged(from))).collect();
        let block_bytes = blocks.iter().map(|block| block.memory_bytes()).sum();
        PointTable { blocks, len: self.len, block_bytes, expected: self.expected }
    }

    /// Bytes of memory, without those of long strings that are ids, and of payloads. What several views share is counted
    /// in each of them.
    pub fn memory_bytes(&self) -> u64 {
        self.block_bytes + allocator::bytes(self.blocks.len() * size_of::<Arc<Block>>())
    }
}

/// Changes a block, and returns the bytes of all blocks afterwards.
fn change(block: &mut Arc<Block>, all_bytes: u64, work: impl FnOnce(&mut Block)) -> u64 {
    let before = block.memory_bytes();
    let block = Arc::make_mut(block);
    work(block);
    all_bytes + block.memory_bytes() - before
}
