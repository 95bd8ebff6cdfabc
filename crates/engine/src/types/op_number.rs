//! Numbers of operations.

use std::fmt;

/// The number of an operation of a collection. Numbers start at 1, and every write of the collection takes the next one,
/// unless it has a position in a replicated stream (docs/cluster.md): then its number is that of the position.
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

    /// Bits of a number below the position: the number of a position is the position shifted by so many. What an engine does
    /// by itself takes numbers between those of two positions.
    pub const POSITION_BITS: u32 = 20;
    /// Positions are below this, so that every number is an integer of JSON.
    pub const POSITIONS_END: u64 = 1 << 33;

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

    /// The number of the operation before this one.
    pub const fn previous(self) -> OpNumber {
        OpNumber(self.0.saturating_sub(1))
    }

    /// The number of the write at a position of a replicated stream.
    ///
    /// # Errors
    /// A sentence for what is no position: they are from 1 on, and below [`OpNumber::POSITIONS_END`].
    pub fn of_position(position: u64) -> Result<OpNumber, String> {
        if (1..Self::POSITIONS_END).contains(&position) {
            Ok(OpNumber(position << Self::POSITION_BITS))
        } else {
            Err(format!("position: must be from 1 to {}, got {position}", Self::POSITIONS_END - 1))
        }
    }

    /// The position of the last write from a replicated stream that a collection has whose last operation this is; 0 for
    /// none.
    pub const fn position(self) -> u64 {
        self.0 >> Self::POSITION_BITS
    }

    /// Whether it is the number of a position.
    pub const fn is_of_position(self) -> bool {
        self.0 != 0 && self.0.trailing_zeros() >= Self::POSITION_BITS
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_has_a_number_that_leaves_others_between_it_and_the_next() {
        for position in [1, 2, 1000, OpNumber::POSITIONS_END - 1] {
            let number = OpNumber::of_position(position).expect("it is one");
            assert!(number.is_of_position() && number.get() < 1 << 53);
            assert_eq!((number.position(), number.previous().position()), (position, position - 1));
            assert!(!number.next().is_of_position());
            assert_eq!(number.plus((1 << OpNumber::POSITION_BITS) - 1).position(), position);
        }
        assert!(!OpNumber::NONE.is_of_position());
        for position in [0, OpNumber::POSITIONS_END, u64::MAX] {
            assert!(OpNumber::of_position(position).is_err(), "{position}");
        }
    }
}
