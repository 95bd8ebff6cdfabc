//! The bounds of `range` and `values_count`.

/// An interval of up to four bounds, all of which must hold. Without bounds it contains everything.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<T> {
    /// Values are greater than this.
    pub gt: Option<T>,
    /// Values are at least this.
    pub gte: Option<T>,
    /// Values are less than this.
    pub lt: Option<T>,
    /// Values are at most this.
    pub lte: Option<T>,
}

impl<T> Default for Interval<T> {
    /// Without bounds.
    fn default() -> Self {
        Interval { gt: None, gte: None, lt: None, lte: None }
    }
}

impl<T: PartialOrd + Copy> Interval<T> {
    /// Whether `value` is inside.
    pub fn contains(&self, value: T) -> bool {
        self.above_lower(value) && self.below_upper(value)
    }

    /// Whether `value` satisfies the lower bounds. If it does, so do all larger values.
    pub fn above_lower(&self, value: T) -> bool {
        self.gt.is_none_or(|bound| value > bound) && self.gte.is_none_or(|bound| value >= bound)
    }

    /// Whether `value` satisfies the upper bounds. If it does, so do all smaller values.
    pub fn below_upper(&self, value: T) -> bool {
        self.lt.is_none_or(|bound| value < bound) && self.lte.is_none_or(|bound| value <= bound)
    }
}
