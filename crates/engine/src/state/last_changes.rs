//! Which points were changed after an operation, without a look at each point.

use crate::types::{OpNumber, PointOffset};
use imbl::Vector;
use std::ops::Range;

/// Points of a block. With fewer the table would be longer, with more each changed point would cost more looks.
const BLOCK_POINTS: usize = 256;

/// The last operation that changed a point, for each block of offsets. Copy-on-write, like the rest of a state.
#[derive(Clone, Default)]
pub(super) struct LastChanges(Vector<OpNumber>);

impl LastChanges {
    /// Takes note of an operation that changed the point at an offset.
    pub fn note(&mut self, offset: PointOffset, op: OpNumber) {
        let block = offset.index() / BLOCK_POINTS;
        while self.0.len() <= block {
            self.0.push_back(OpNumber::NONE);
        }
        // Most points of an operation share their block: only the first of them writes.
        if self.0[block] < op {
            self.0[block] = op;
        }
    }

    /// The offsets of the blocks in which a point was changed after an operation, as indices.
    pub fn blocks_after(&self, op: OpNumber) -> impl Iterator<Item = Range<usize>> + '_ {
        let blocks = self.0.iter().enumerate().filter(move |(_, last)| **last > op);
        blocks.map(|(block, _)| block * BLOCK_POINTS..(block + 1) * BLOCK_POINTS)
    }
}
