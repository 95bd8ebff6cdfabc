//! Which number an operation takes.

use super::Head;
use crate::change::Change;
use crate::error::Error;
use crate::types::OpNumber;

/// How a write gets its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbering {
    /// It takes the next number of its collection.
    #[default]
    Next,
    /// It brings the number of its position in a replicated stream.
    At(OpNumber),
    /// It takes none: it is applied to the head and taken back, to see whether it would be refused.
    DryRun,
}

impl Numbering {
    /// The number of a write behind an operation.
    pub fn number_after(self, op: OpNumber) -> OpNumber {
        match self {
            Numbering::At(number) => number,
            Numbering::Next | Numbering::DryRun => op.next(),
        }
    }
}

impl Head {
    /// The number that the next operation has. In a replica (`is_replica`) the numbers of positions are left to the writes
    /// that bring one.
    ///
    /// # Errors
    /// `PositionPassed` for a number that is not behind the last one; `Overloaded` where the next number is that of a
    /// position: what takes numbers by itself goes on behind the next write that brings one.
    pub fn number(&self, numbering: Numbering, is_replica: bool) -> Result<OpNumber, Error> {
        let number = numbering.number_after(self.op);
        if number <= self.op {
            return Err(Error::PositionPassed);
        }
        if numbering == Numbering::Next && is_replica && number.is_of_position() {
            let why = "the numbers of operations before the next position of the stream are used up";
            return Err(Error::Overloaded(why.into()));
        }
        Ok(number)
    }

    /// What the record of the next operation begins with. The number that a write brings is mostly not the next one; where
    /// it is, the record says so too, because replicas must not differ in which records are too long.
    pub fn record_start(&self, numbering: Numbering) -> Option<Change> {
        (numbering != Numbering::Next).then_some(Change::After(self.op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::config_of;

    #[test]
    fn the_numbers_of_positions_are_left_to_the_writes_that_bring_one() {
        let mut head = Head::new(config_of(r#"{"vectors":{"size":1,"distance":"Dot"}}"#), 4096);
        let second = OpNumber::of_position(2).unwrap();
        let number = |head: &Head, is_replica| head.number(Numbering::Next, is_replica);
        head.op = second.previous();
        assert_eq!(number(&head, true).map_err(|error| error.code()), Err("overloaded"));
        // Without a stream the numbers have no meaning.
        assert_eq!(number(&head, false), Ok(second));
        assert_eq!(head.number(Numbering::DryRun, true), Ok(second));
        assert_eq!(head.number(Numbering::At(second), true), Ok(second));
        head.op = second;
        assert_eq!(number(&head, true), Ok(second.next()));
        let passed = head.number(Numbering::At(second), true);
        assert_eq!(passed.map_err(|error| error.code()), Err("position_passed"));
        assert_eq!(head.record_start(Numbering::Next), None);
        assert_eq!(head.record_start(Numbering::At(second.plus(9))), Some(Change::After(second)));
    }
}
