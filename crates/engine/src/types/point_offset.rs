//! Offsets of points.

/// Where a collection keeps a point: its position among the points, deleted ones included, from 0 on.
///
/// A point keeps its offset as long as it lives. Afterwards another point may get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct PointOffset(u32);

impl PointOffset {
    /// The offset of that number.
    #[inline(always)]
    pub const fn new(number: u32) -> PointOffset {
        PointOffset(number)
    }

    /// The offset as a number.
    #[inline(always)]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The offset as an index into a slice of points.
    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
