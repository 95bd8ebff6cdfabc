//! Bounds on the set of points that satisfy a condition.

use crate::point_set::PointSet;

/// Lower and upper bound of a set of points: `certain` ⊆ the set ⊆ `certain` ∪ `doubtful`. The two are disjoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    certain: PointSet,
    doubtful: PointSet,
}

impl Bounds {
    /// Bounds from the points that are in the set and those that may be. Points in both are certain.
    pub fn new(certain: PointSet, doubtful: PointSet) -> Bounds {
        let doubtful = &doubtful - &certain;
        Bounds { certain, doubtful }
    }

    /// The set itself.
    pub fn exact(set: PointSet) -> Bounds {
        Bounds { certain: set, doubtful: PointSet::new() }
    }

    /// Bounds from a superset of the set, without certain points.
    pub fn within(superset: PointSet) -> Bounds {
        Bounds { certain: PointSet::new(), doubtful: superset }
    }

    /// Points that are in the set.
    pub fn certain(&self) -> &PointSet {
        &self.certain
    }

    /// Points that may be in the set and have to be checked.
    pub fn doubtful(&self) -> &PointSet {
        &self.doubtful
    }

    /// Whether no point is doubtful.
    pub fn is_exact(&self) -> bool {
        self.doubtful.is_empty()
    }

    /// Every point that may be in the set.
    pub fn possible(&self) -> PointSet {
        &self.certain | &self.doubtful
    }

    /// The points in both sets.
    pub fn and(self, other: Bounds) -> Bounds {
        let certain = &self.certain & &other.certain;
        if self.is_exact() && other.is_exact() {
            return Bounds::exact(certain);
        }
        Bounds::new(certain, &self.possible() & &other.possible())
    }

    /// The points in either set.
    pub fn or(mut self, other: Bounds) -> Bounds {
        self.certain |= &other.certain;
        self.doubtful |= &other.doubtful;
        Bounds::new(self.certain, self.doubtful)
    }

    /// The points of `live` that are not in the set.
    pub fn not(self, live: &PointSet) -> Bounds {
        Bounds { certain: live - &self.possible(), doubtful: &self.doubtful & live }
    }

    /// The bounds after adding a condition that must hold, too, and of which nothing is known.
    pub fn and_unknown(self) -> Bounds {
        Bounds::within(self.possible())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(offsets: &[u32]) -> PointSet {
        PointSet::of(offsets.iter().copied())
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
