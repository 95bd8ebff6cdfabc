//! Points that a part of a query leaves out of its result: the examples that it names by id (C6.3).

use crate::point_set::PointSet;
use crate::types::PointOffset;

/// So few that looking at each is faster than halving.
const FEW: usize = 8;

/// Offsets of points to leave out.
#[derive(Clone, Debug, Default)]
pub struct Excluded(Vec<PointOffset>);

impl Excluded {
    /// These points, each of which may be given several times.
    pub fn new(mut offsets: Vec<PointOffset>) -> Excluded {
        offsets.sort_unstable();
        offsets.dedup();
        Excluded(offsets)
    }

    /// These points, and those that are given.
    pub fn and(&self, offsets: Vec<PointOffset>) -> Excluded {
        Excluded::new([self.0.as_slice(), offsets.as_slice()].concat())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is left out.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the point at an offset is left out.
    #[inline(always)]
    pub fn contains(&self, offset: PointOffset) -> bool {
        if self.0.len() <= FEW { self.0.contains(&offset) } else { self.0.binary_search(&offset).is_ok() }
    }

    /// How many of them are so.
    pub fn count(&self, is_so: impl Fn(PointOffset) -> bool) -> u64 {
        self.0.iter().filter(|&&offset| is_so(offset)).count() as u64
    }

    /// Removes them from a set of offsets.
    pub fn remove_from(&self, offsets: &mut PointSet) {
        for &offset in &self.0 {
            offsets.remove(offset);
        }
    }
}
