//! Bounds on a value, as `range` and `values_count` give them.

/// Up to four bounds, all of which must hold. Without a bound everything is inside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<T> {
    /// Inside is greater than this.
    pub gt: Option<T>,
    /// Inside is at least this.
    pub gte: Option<T>,
    /// Inside is less than this.
    pub lt: Option<T>,
    /// Inside is at most this.
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

    /// Whether `value` satisfies the lower bounds. Monotone: once true it stays true for larger values.
    pub fn above_lower(&self, value: T) -> bool {
        self.gt.is_none_or(|bound| value > bound) && self.gte.is_none_or(|bound| value >= bound)
    }

    /// Whether `value` satisfies the upper bounds. Monotone: once false it stays false for larger values.
    pub fn below_upper(&self, value: T) -> bool {
        self.lt.is_none_or(|bound| value < bound) && self.lte.is_none_or(|bound| value <= bound)
    }
}
