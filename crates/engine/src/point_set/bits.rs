//! A set of points with a membership test of one or two nanoseconds.

use super::bitmap::{Bitmap, WORDS, has};
use super::{PointSet, split};
use crate::types::PointOffset;
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
    pub fn contains(&self, offset: PointOffset) -> bool {
        let (key, member) = split(offset);
        has(self.words(key), member)
    }

    /// The bitmap of a container.
    #[inline(always)]
    pub(super) fn words(&self, key: u16) -> &Bitmap {
        self.bitmaps.get(usize::from(key)).unwrap_or(&self.empty)
    }
}
