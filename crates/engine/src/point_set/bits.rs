//! A set of points with a membership test of one or two nanoseconds.

use super::PointSet;
use super::bitmap::{Bitmap, WORDS, has};
use std::sync::Arc;

/// A [`PointSet`] as bitmaps, for loops that test many offsets in random order. A test needs neither the binary search for
/// the container nor the one in its array. Bitmaps are shared with the set.
pub struct Bits {
    /// By the upper 16 bits of the offsets.
    bitmaps: Vec<Arc<Bitmap>>,
    empty: Arc<Bitmap>,
}

impl PointSet {
    /// The set as bitmaps.
    pub fn bits(&self) -> Bits {
        let empty = Arc::new([0; WORDS]);
        let keys = self.containers.last().map_or(0, |container| usize::from(container.key) + 1);
        let mut bitmaps = vec![Arc::clone(&empty); keys];
        self.containers
            .iter()
            .for_each(|container| bitmaps[usize::from(container.key)] = container.to_words());
        Bits { bitmaps, empty }
    }
}

impl Bits {
    /// Whether the offset is in the set.
    #[inline(always)]
    pub fn contains(&self, offset: u32) -> bool {
        let words = self.bitmaps.get((offset >> 16) as usize).unwrap_or(&self.empty);
        has(words, offset as u16)
    }
}
