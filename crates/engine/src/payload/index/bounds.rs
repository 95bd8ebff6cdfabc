//! What is known of the set of points that satisfy a condition.

use roaring::RoaringBitmap;

/// Lower and upper bound of a set of points: `certain` ⊆ the set ⊆ `certain` ∪ `doubtful`. The two are disjoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    certain: RoaringBitmap,
    doubtful: RoaringBitmap,
}

impl Bounds {
    /// Bounds from the points that are in the set and those that may be; what is in both is in the set.
    pub fn new(certain: RoaringBitmap, doubtful: RoaringBitmap) -> Bounds {
        let doubtful = if doubtful.is_empty() { doubtful } else { doubtful - &certain };
        Bounds { certain, doubtful }
    }

    /// The set itself.
    pub fn exact(set: RoaringBitmap) -> Bounds {
        Bounds { certain: set, doubtful: RoaringBitmap::new() }
    }

    /// A superset of the set, of which nothing is certain.
    pub fn within(superset: RoaringBitmap) -> Bounds {
        Bounds { certain: RoaringBitmap::new(), doubtful: superset }
    }

    /// Points that are in the set.
    pub fn certain(&self) -> &RoaringBitmap {
        &self.certain
    }

    /// Points that may be in the set and have to be looked at.
    pub fn doubtful(&self) -> &RoaringBitmap {
        &self.doubtful
    }

    /// Whether the set is known.
    pub fn is_exact(&self) -> bool {
        self.doubtful.is_empty()
    }

    /// Every point that may be in the set.
    pub fn possible(&self) -> RoaringBitmap {
        if self.is_exact() { self.certain.clone() } else { &self.certain | &self.doubtful }
    }

    /// Every point that may be in the set, and those that are; without a copy when these are the same.
    pub fn into_possible(self) -> RoaringBitmap {
        if self.is_exact() { self.certain } else { self.certain | self.doubtful }
    }

    /// The points in both sets.
    pub fn and(self, other: Bounds) -> Bounds {
        if self.is_exact() && other.is_exact() {
            return Bounds::exact(self.certain & other.certain);
        }
        let possible = self.possible() & other.possible();
        Bounds::new(self.certain & other.certain, possible)
    }

    /// The points in either set.
    pub fn or(self, other: Bounds) -> Bounds {
        Bounds::new(self.certain | other.certain, self.doubtful | other.doubtful)
    }

    /// The points of `live` that are not in the set.
    pub fn not(self, live: &RoaringBitmap) -> Bounds {
        let mut certain = live - &self.certain;
        certain -= &self.doubtful;
        Bounds { certain, doubtful: self.doubtful & live }
    }

    /// The same bounds with nothing certain: one more condition, of which nothing is known, must hold too.
    pub fn and_unknown(self) -> Bounds {
        Bounds::within(self.possible())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(offsets: &[u32]) -> RoaringBitmap {
        offsets.iter().copied().collect()
    }

    #[test]
    fn bounds_stay_bounds_under_and_or_not() {
        let live = set(&[0, 1, 2, 3, 4]);
        let a = Bounds::new(set(&[0, 1]), set(&[1, 2]));
        let b = Bounds::new(set(&[1, 2]), set(&[3]));
        assert_eq!(a.clone().and(b.clone()), Bounds::new(set(&[1]), set(&[2])));
        assert_eq!(a.clone().or(b.clone()), Bounds::new(set(&[0, 1, 2]), set(&[3])));
        assert_eq!(a.clone().not(&live), Bounds::new(set(&[3, 4]), set(&[2])));
        assert_eq!(a.and_unknown(), Bounds::within(set(&[0, 1, 2])));
        assert!(Bounds::exact(set(&[1])).and(Bounds::exact(set(&[2]))).is_exact());
    }
}
