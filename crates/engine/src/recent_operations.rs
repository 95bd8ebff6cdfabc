//! The operations that calls gave an identity, so that a repeated call gets the answer of the first (C25).

use crate::change::{Input, Skipped, Undecodable, put_skipped};
use crate::types::{Lsn, OperationId, PointId};
use imbl::{OrdMap, Vector};
use std::sync::Arc;

/// Operations that are kept of a collection, and of the catalog.
pub const KEPT_OPERATIONS: usize = 65_536;
/// Bytes of an operation in a file.
const ENTRY_BYTES: usize = 24;
/// About what an operation takes in memory: in the map and in the order.
const MEMORY_BYTES: u64 = 64;
/// Skipped points that are kept for the answers of all operations together. Of older operations only their count is kept.
pub const KEPT_SKIPS: usize = 1 << 18;
/// Bytes of a skipped point in memory.
const SKIP_BYTES: u64 = 32;

/// The identity of a call that may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallIdentity {
    /// The operation id.
    pub id: OperationId,
    /// For a call that is repeated: an LSN that the next record might have got when it was sent the first time. No record
    /// of its operation has a lower one.
    pub first_sent: Option<Lsn>,
}

/// The last [`KEPT_OPERATIONS`] operations that came with an identity, each with what its answer is written from again: a
/// number, and the points that it skipped or what a sync did. A clone costs a few reference counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentOperations {
    numbers: OrdMap<OperationId, u64>,
    /// Oldest first.
    order: Vector<OperationId>,
    /// The points that operations skipped, for operations that skipped any.
    skipped: OrdMap<OperationId, Arc<[Skipped]>>,
    /// Operations whose skipped points are listed, oldest first; some may be forgotten already.
    listed: Vector<OperationId>,
    /// The points that these list.
    listed_points: usize,
    /// Bytes of their ids that are long strings.
    listed_bytes: u64,
}

/// What is known of an operation that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The number of the operation.
    pub number: u64,
    /// What its updates skipped, where any did.
    pub skipped: Arc<[Skipped]>,
}

/// What is known of a call before it is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was not applied.
    New,
    /// It was applied.
    Applied(Applied),
    /// It may have been applied and forgotten.
    Unknown,
}

impl RecentOperations {
    /// Whether a call was applied. `next` is the LSN that the next record would get.
    pub fn find(&self, call: &CallIdentity, next: Lsn) -> Known {
        match self.numbers.get(&call.id) {
            Some(number) => {
                let skipped = self.skipped.get(&call.id).cloned().unwrap_or_default();
                Known::Applied(Applied { number: *number, skipped })
            }
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

    /// Whether a call is a repeat: its operation is kept.
    pub fn is_repeat(&self, call: Option<CallIdentity>) -> bool {
        call.is_some_and(|call| self.numbers.contains_key(&call.id))
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
                if let Some(skipped) = self.skipped.remove(&oldest) {
                    self.listed_points -= points_of(&skipped);
                    self.listed_bytes -= id_bytes_of(&skipped);
                }
            }
        }
    }

    /// Takes note of the points that an operation skipped which was just noted.
    pub fn note_skipped(&mut self, id: OperationId, skipped: Vec<Skipped>) {
        self.note_skipped_within(id, skipped, KEPT_SKIPS);
    }

    fn note_skipped_within(&mut self, id: OperationId, skipped: Vec<Skipped>, kept: usize) {
        if skipped.is_empty() {
            return;
        }
        self.listed_points += points_of(&skipped);
        self.listed_bytes += id_bytes_of(&skipped);
        if points_of(&skipped) > 0 {
            self.listed.push_back(id);
        }
        self.skipped.insert(id, skipped.into());
        while self.listed_points > kept {
            let Some(oldest) = self.listed.pop_front() else { break };
            if let Some(of_oldest) = self.skipped.get_mut(&oldest) {
                self.listed_points -= points_of(of_oldest);
                self.listed_bytes -= id_bytes_of(of_oldest);
                let counts = of_oldest.iter().map(|one| Skipped { ids: Vec::new(), ..*one });
                *of_oldest = counts.collect();
            }
        }
        // Those that were forgotten whole are not waited for.
        while self.listed.front().is_some_and(|id| !self.skipped.contains_key(id)) {
            self.listed.pop_front();
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

    /// The operations that skipped points, oldest first.
    pub fn skipping(&self) -> impl Iterator<Item = (OperationId, &Arc<[Skipped]>)> {
        self.order.iter().filter_map(|id| Some((*id, self.skipped.get(id)?)))
    }

    /// Whether none of them skipped points.
    pub fn skipped_nothing(&self) -> bool {
        self.skipped.is_empty()
    }

    /// About what it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.order.len() as u64 * MEMORY_BYTES
            + self.skipped.len() as u64 * MEMORY_BYTES
            + self.listed_points as u64 * SKIP_BYTES
            + self.listed_bytes
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

    /// Appends the skipped points: a count of operations, and of each its place among those that are kept, a count of
    /// updates, and what each skipped.
    pub fn encode_skipped(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.skipped.len() as u32).to_le_bytes());
        for (at, id) in self.order.iter().enumerate() {
            let Some(skipped) = self.skipped.get(id) else { continue };
            out.extend_from_slice(&(at as u32).to_le_bytes());
            out.extend_from_slice(&(skipped.len() as u32).to_le_bytes());
            skipped.iter().for_each(|one| put_skipped(out, one));
        }
    }

    /// Reads what [`encode_skipped`](Self::encode_skipped) wrote behind these operations.
    ///
    /// # Errors
    /// [`Undecodable`] when the bytes are something else.
    pub(crate) fn decode_skipped(&mut self, input: &mut Input<'_>) -> Result<(), Undecodable> {
        let mut next = 0;
        for _ in 0..input.len()? {
            let at = u32::from_le_bytes(input.array()?) as usize;
            let id = *self.order.get(at).filter(|_| at >= next).ok_or(Undecodable)?;
            next = at + 1;
            let skipped = (0..input.len()?).map(|_| input.skipped()).collect::<Result<Vec<_>, _>>()?;
            if skipped.is_empty() || self.listed_points + points_of(&skipped) > KEPT_SKIPS {
                return Err(Undecodable);
            }
            self.note_skipped(id, skipped);
        }
        Ok(())
    }
}

/// Points that are listed.
fn points_of(skipped: &[Skipped]) -> usize {
    // The note of a sync lists no points.
    skipped.iter().filter(|one| !one.is_of_sync()).map(|one| one.ids.len()).sum()
}

/// Bytes of their ids that are long strings.
fn id_bytes_of(skipped: &[Skipped]) -> u64 {
    skipped.iter().flat_map(|one| &one.ids).map(PointId::heap_bytes).sum()
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

    fn skips(ids: std::ops::Range<u64>) -> Vec<Skipped> {
        let mut skipped = Skipped { at: 1, ..Skipped::default() };
        ids.for_each(|id| skipped.add(PointId::Num(id)));
        vec![skipped]
    }

    #[test]
    fn the_points_of_older_operations_are_forgotten_before_their_count() {
        let mut operations = RecentOperations::default();
        for n in 0..4 {
            operations.note_within(id(n), n as u64, 3);
            operations.note_skipped_within(id(n), skips(0..4), 9);
        }
        let skipped = |n| operations.skipped.get(&id(n)).map(|all| (all[0].count, all[0].ids.len()));
        assert_eq!(
            [skipped(0), skipped(1), skipped(2), skipped(3)],
            [None, Some((4, 0)), Some((4, 4)), Some((4, 4))]
        );
        assert_eq!((operations.listed_points, operations.listed.len()), (8, 2));
        let mut bytes = Vec::new();
        operations.encode(&mut bytes);
        operations.encode_skipped(&mut bytes);
        let mut input = Input(&bytes);
        let mut decoded = RecentOperations::decode(&mut input).unwrap();
        decoded.decode_skipped(&mut input).unwrap();
        assert!(input.0.is_empty());
        assert_eq!(decoded, operations);
        let mut again = RecentOperations::decode(&mut Input(&bytes)).unwrap();
        assert_eq!(again.decode_skipped(&mut Input(&bytes[76..bytes.len() - 1])), Err(Undecodable));
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
