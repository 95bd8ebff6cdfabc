//! The operations that calls gave an identity, so that a repeated call gets the answer of the first (C25).

use crate::change::{Input, Undecodable};
use crate::types::{Lsn, OperationId};
use imbl::{OrdMap, Vector};

/// Operations that are kept of a collection, and of the catalog.
pub const KEPT_OPERATIONS: usize = 65_536;
/// Bytes of an operation in a file.
const ENTRY_BYTES: usize = 24;
/// About what an operation takes in memory: in the map and in the order.
const MEMORY_BYTES: u64 = 64;

/// The identity of a call that may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallIdentity {
    /// Of its operation.
    pub id: OperationId,
    /// For a call that is repeated: an LSN that the next record might have got when it was sent the first time. No record
    /// of its operation has a lower one.
    pub first_sent: Option<Lsn>,
}

/// The last [`KEPT_OPERATIONS`] operations that came with an identity, each with a number from which its answer is written
/// again. A clone costs a few reference counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentOperations {
    numbers: OrdMap<OperationId, u64>,
    /// Oldest first.
    order: Vector<OperationId>,
}

/// What is known of a call before it is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was not applied.
    New,
    /// It was applied: the number of its operation.
    Applied(u64),
    /// It may have been applied and forgotten.
    Unknown,
}

impl RecentOperations {
    /// Whether a call was applied. `next` is the LSN that the next record would get.
    pub fn find(&self, call: &CallIdentity, next: Lsn) -> Known {
        match self.numbers.get(&call.id) {
            Some(number) => Known::Applied(*number),
            None if self.may_have_forgotten(call, next, KEPT_OPERATIONS) => Known::Unknown,
            None => Known::New,
        }
    }

    /// Whether a call may have been applied that is not here. Each operation that was noted behind it has a record of its
    /// own behind the one that it would have, and only as many as are kept make it forgotten.
    fn may_have_forgotten(&self, call: &CallIdentity, next: Lsn, kept: usize) -> bool {
        let records = |first_sent: Lsn| next.get().saturating_sub(first_sent.get());
        self.order.len() >= kept && call.first_sent.is_some_and(|sent| records(sent) > kept as u64)
    }

    /// The number of an operation that is kept.
    pub fn number_of(&self, id: OperationId) -> Option<u64> {
        self.numbers.get(&id).copied()
    }

    /// Takes note of an operation, and forgets the oldest where there are too many.
    pub fn note(&mut self, id: OperationId, number: u64) {
        self.note_within(id, number, KEPT_OPERATIONS);
    }

    fn note_within(&mut self, id: OperationId, number: u64, kept: usize) {
        if self.numbers.insert(id, number).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > kept {
            if let Some(oldest) = self.order.pop_front() {
                self.numbers.remove(&oldest);
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The operations, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (OperationId, u64)> {
        self.order.iter().filter_map(|id| Some((*id, self.number_of(*id)?)))
    }

    /// About what it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.order.len() as u64 * MEMORY_BYTES
    }

    /// Appends a count, and of each operation its identity and its number, oldest first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.reserve(4 + self.order.len() * ENTRY_BYTES);
        out.extend_from_slice(&(self.order.len() as u32).to_le_bytes());
        for (id, number) in self.iter() {
            out.extend_from_slice(&id.get().to_le_bytes());
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// [`Undecodable`] when the bytes are something else: too many operations, or one twice.
    pub(crate) fn decode(input: &mut Input<'_>) -> Result<RecentOperations, Undecodable> {
        let count = input.len()?;
        if count > KEPT_OPERATIONS {
            return Err(Undecodable);
        }
        let mut operations = RecentOperations::default();
        for _ in 0..count {
            let id = OperationId::new(u128::from_le_bytes(input.array()?));
            operations.note(id, u64::from_le_bytes(input.array()?));
        }
        if operations.order.len() == count { Ok(operations) } else { Err(Undecodable) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u128) -> OperationId {
        OperationId::new(number)
    }

    #[test]
    fn only_the_last_are_kept_in_their_order() {
        let mut operations = RecentOperations::default();
        (0..5).for_each(|n| operations.note_within(id(n), n as u64 + 10, 3));
        operations.note_within(id(3), 13, 3);
        assert_eq!(operations.iter().collect::<Vec<_>>(), [(id(2), 12), (id(3), 13), (id(4), 14)]);
        assert_eq!((operations.number_of(id(1)), operations.number_of(id(4))), (None, Some(14)));
        assert_eq!(operations.numbers.len(), 3);
    }

    #[test]
    fn a_repeat_is_of_unknown_outcome_only_if_enough_was_logged_since_it_was_sent() {
        let mut operations = RecentOperations::default();
        (0..2).for_each(|n| operations.note_within(id(n), n as u64, 3));
        let repeat = |sent| CallIdentity { id: id(9), first_sent: Some(Lsn::new(sent)) };
        // Nothing was forgotten yet.
        assert!(!operations.may_have_forgotten(&repeat(1), Lsn::new(1000), 3));
        operations.note_within(id(2), 2, 3);
        assert!(operations.may_have_forgotten(&repeat(1), Lsn::new(5), 3));
        assert!(!operations.may_have_forgotten(&repeat(1), Lsn::new(4), 3));
        // Nobody says when it was sent first: it is taken for the first time.
        let first = CallIdentity { id: id(9), first_sent: None };
        assert!(!operations.may_have_forgotten(&first, Lsn::new(1000), 3));
    }

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else_is() {
        let mut operations = RecentOperations::default();
        (0..100).rev().for_each(|n| operations.note(id(n << 70), n as u64));
        let mut bytes = Vec::new();
        operations.encode(&mut bytes);
        let mut input = Input(&bytes);
        assert_eq!(RecentOperations::decode(&mut input).as_ref(), Ok(&operations));
        assert!(input.0.is_empty());
        assert_eq!(RecentOperations::decode(&mut Input(&bytes[..bytes.len() - 1])), Err(Undecodable));
        let twice = [&2u32.to_le_bytes()[..], &[7; 24], &[7; 24]].concat();
        assert_eq!(RecentOperations::decode(&mut Input(&twice)), Err(Undecodable));
    }
}
