//! Numbers of operations.

use std::fmt;

/// The number of an operation of a collection. Numbers start at 1, and every write of the collection takes the next.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpNumber(u64);

impl OpNumber {
    /// Before every operation: stands for no operation.
    pub const NONE: OpNumber = OpNumber(0);
    /// The number of the first operation.
    pub const FIRST: OpNumber = OpNumber(1);
    /// The highest number; `u64::MAX` stands for the end of a row that has none.
    pub const MAX: OpNumber = OpNumber(u64::MAX - 1);

    /// From the number that stands in a file.
    pub const fn new(number: u64) -> OpNumber {
        OpNumber(number)
    }

    /// The number, as it stands in files and answers.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of the operation after this one.
    pub const fn next(self) -> OpNumber {
        self.plus(1)
    }

    /// The number of the operation that comes `operations` operations after this one.
    pub const fn plus(self, operations: u64) -> OpNumber {
        OpNumber(self.0 + operations)
    }
}

impl fmt::Display for OpNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
