//! The index of ids: the offset of the point of each id, in the order in which a scroll returns them.
//!
//! Integers and UUIDs are keys of fixed size in [`sorted`] lists. Strings are kept in the points alone;
//! [`strings`] says how they are found. No id has a reference count of its own here: the first write into a
//! list after a view copies the list, and that copy is one of bytes.

mod sorted;
mod strings;

use super::PointTable;
use crate::allocator;
use crate::types::{PointId, PointOffset};
use imbl::ordmap::RangedIter;
use imbl::shared_ptr::DefaultSharedPtr;
use sorted::SortedOffsets;
use strings::Strings;

/// An iterator over entries of a map, in the order of the keys.
type Range<'a, K, V> = RangedIter<'a, K, V, DefaultSharedPtr>;

/// The key of an integer. Packed: an entry with its offset takes 12 bytes, not 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(4))]
struct Integer(u64);

/// The key of a UUID. Packed: an entry with its offset takes 20 bytes, not 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(Rust, packed(4))]
struct Uuid(u128);

/// The offsets of ids. A clone costs a few reference counts and never changes.
///
/// The argument `points` of its methods is the table of points by offset. It must have the point of each
/// string that is entered here, since the string is read from that point.
#[derive(Clone, Default)]
pub struct IdIndex {
    integers: SortedOffsets<Integer>,
    uuids: SortedOffsets<Uuid>,
    strings: Strings,
}

/// The ids of a checkpoint, which are entered together: one by one each would be a search in the index.
#[derive(Default)]
pub struct LoadedIds {
    integers: Vec<(Integer, PointOffset)>,
    uuids: Vec<(Uuid, PointOffset)>,
    /// The strings, which are entered one by one: their order is in the points.
    index: IdIndex,
    has_repeated_string: bool,
}

impl LoadedIds {
    /// Adds the id of a point that may be put into the table of points afterwards. Without memory it unwinds to the next `catch`
    /// of the allocator.
    pub fn add(&mut self, id: &PointId, offset: PointOffset, points: &PointTable) {
        match id {
            PointId::Num(number) => allocator::push(&mut self.integers, (Integer(*number), offset)),
            PointId::Uuid(uuid) => allocator::push(&mut self.uuids, (Uuid(*uuid), offset)),
            PointId::Text(_) => self.has_repeated_string |= self.index.insert(id, offset, points).is_some(),
        }
    }

    /// The index of all ids; none where one of them was there twice.
    pub fn into_index(self) -> Option<IdIndex> {
        let (integers, uuids) = (SortedOffsets::of(self.integers)?, SortedOffsets::of(self.uuids)?);
        (!self.has_repeated_string).then_some(IdIndex { integers, uuids, ..self.index })
    }
}

impl IdIndex {
    /// How many ids there are.
    pub fn len(&self) -> usize {
        self.integers.len() + self.uuids.len() + self.strings.len()
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset of an id.
    pub fn get(&self, id: &PointId, points: &PointTable) -> Option<PointOffset> {
        match id {
            PointId::Num(number) => self.integers.get(&Integer(*number)),
            PointId::Uuid(uuid) => self.uuids.get(&Uuid(*uuid)),
            PointId::Text(text) => self.strings.get(text, points),
        }
    }

    /// Enters an id. Its point may be put into the table of points afterwards. Returns the offset that the id
    /// had before.
    pub fn insert(&mut self, id: &PointId, offset: PointOffset, points: &PointTable) -> Option<PointOffset> {
        match id {
            PointId::Num(number) => self.integers.insert(Integer(*number), offset),
            PointId::Uuid(uuid) => self.uuids.insert(Uuid(*uuid), offset),
            PointId::Text(text) => self.strings.insert(text, offset, points),
        }
    }

    /// Removes an id, whose point must still be in the table of points. Returns the offset that the id had.
    pub fn remove(&mut self, id: &PointId, points: &PointTable) -> Option<PointOffset> {
        match id {
            PointId::Num(number) => self.integers.remove(&Integer(*number)),
            PointId::Uuid(uuid) => self.uuids.remove(&Uuid(*uuid)),
            PointId::Text(text) => self.strings.remove(text, points),
        }
    }

    /// The offsets of an id and of all ids behind it, in the order of the ids.
    pub fn from<'a>(
        &'a self,
        id: &PointId,
        points: &'a PointTable,
    ) -> impl Iterator<Item = PointOffset> + 'a {
        let (integers, uuids, strings) = match id {
            PointId::Num(number) => (
                Some(self.integers.from(Some(&Integer(*number)))),
                Some(self.uuids.from(None)),
                self.strings.iter(),
            ),
            PointId::Uuid(uuid) => (None, Some(self.uuids.from(Some(&Uuid(*uuid)))), self.strings.iter()),
            PointId::Text(text) => (None, None, self.strings.from(text, points)),
        };
        integers.into_iter().flatten().chain(uuids.into_iter().flatten()).chain(strings)
    }

    /// Estimated bytes of memory. What several views share is counted in each of them.
    pub fn memory_bytes(&self) -> u64 {
        self.integers.memory_bytes() + self.uuids.memory_bytes() + self.strings.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{NO_ROW, Payload, Point, Rows};
    use super::*;
    use crate::types::{IdKind, OpNumber};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// A table of points, its index of ids, and a map that says what the index must have.
    #[derive(Clone, Default)]
    struct Tables {
        points: PointTable,
        index: IdIndex,
        model: BTreeMap<PointId, PointOffset>,
        vacant: Vec<PointOffset>,
    }

    impl Tables {
        fn put(&mut self, id: PointId) {
            if self.model.contains_key(&id) {
                return;
            }
            let point = Point {
                id: id.clone(),
                version: OpNumber::new(1),
                live: true,
                payload: Payload::Empty,
                rows: Rows::One(NO_ROW),
            };
            // In the order in which the state does it: first the id, then the point, at the offset of a
            // tombstone or the next.
            let offset = self.vacant.pop().unwrap_or(PointOffset::new(self.points.len() as u32));
            assert_eq!(self.index.insert(&id, offset, &self.points), None);
            if offset.index() == self.points.len() {
                self.points.push(point);
            } else {
                self.points.set(offset, point);
            }
            self.model.insert(id, offset);
        }

        fn delete(&mut self, id: &PointId) {
            let removed = self.index.remove(id, &self.points);
            assert_eq!(removed, self.model.remove(id));
            self.vacant.extend(removed);
        }

        fn check(&self, asked: &[PointId]) {
            assert_eq!(self.index.len(), self.model.len());
            for id in asked {
                assert_eq!(self.index.get(id, &self.points), self.model.get(id).copied(), "{id}");
                let from: Vec<_> = self.index.from(id, &self.points).collect();
                let expected: Vec<_> = self.model.range(id..).map(|(_, offset)| *offset).collect();
                assert_eq!(from, expected, "from {id}");
            }
            let all: Vec<_> = self.index.from(&PointId::Num(0), &self.points).collect();
            assert_eq!(all, self.model.values().copied().collect::<Vec<_>>());
        }
    }

    fn text(text: &str) -> PointId {
        PointId::of_string(text, IdKind::String).unwrap()
    }

    /// Ids of all kinds. The strings begin with equal bytes, and some have zero bytes, which the padding of
    /// parts has too.
    fn ids() -> impl Strategy<Value = PointId> {
        let strings = (0usize..50, "[a\u{0}]{1,3}", 0usize..40).prop_map(|(alike, middle, behind)| {
            text(&format!("{}{middle}{}", "p".repeat(alike), "s".repeat(behind)))
        });
        prop_oneof![
            1 => (0u64..40).prop_map(PointId::Num),
            1 => (0u128..40).prop_map(|low| PointId::Uuid((low << 64) | low)),
            8 => strings,
        ]
    }

    proptest! {
        #[test]
        fn it_is_a_map_in_the_order_of_ids_c21(
            steps in proptest::collection::vec((ids(), proptest::bool::weighted(0.7)), 1..400),
        ) {
            let mut tables = Tables::default();
            let mut before = None;
            for (at, (id, puts)) in steps.iter().enumerate() {
                if at == steps.len() / 2 {
                    before = Some(tables.clone());
                }
                if *puts {
                    tables.put(id.clone());
                } else {
                    tables.delete(id);
                }
            }
            let asked: Vec<PointId> = steps.into_iter().map(|(id, _)| id).collect();
            tables.check(&asked);
            if let Some(before) = before {
                before.check(&asked);
            }
        }
    }

    proptest! {
        #[test]
        fn ids_of_a_checkpoint_are_found_as_those_that_came_one_by_one_c21(
            ids in proptest::collection::vec(ids(), 0..400),
            twice in proptest::option::weighted(0.2, any::<proptest::sample::Index>()),
        ) {
            let mut tables = Tables::default();
            ids.iter().for_each(|id| tables.put(id.clone()));
            let mut loaded = LoadedIds::default();
            for (offset, point) in (0..).zip(tables.points.iter()) {
                loaded.add(&point.id(), PointOffset::new(offset), &tables.points);
            }
            let twice = twice.filter(|_| !ids.is_empty());
            if let Some(twice) = twice {
                loaded.add(&ids[twice.index(ids.len())], PointOffset::new(0), &tables.points);
            }
            let index = loaded.into_index();
            prop_assert_eq!(index.is_none(), twice.is_some());
            if let Some(index) = index {
                tables.index = index;
                tables.check(&ids);
                // It goes on as any other.
                let deleted: BTreeSet<_> = ids.iter().step_by(2).collect();
                deleted.iter().for_each(|id| tables.delete(id));
                tables.check(&ids);
            }
        }
    }

    #[test]
    fn many_strings_that_differ_late_are_found_and_leave_nothing_c21() {
        for alike in [0, 14, 15, 16, 29, 30, 31, 45, 240] {
            let mut tables = Tables::default();
            let ids: Vec<PointId> =
                (0..2_000).map(|number| text(&format!("{}{number:05}", "p".repeat(alike)))).collect();
            for id in &ids {
                tables.put(id.clone());
            }
            tables.check(&ids[..50]);
            for id in &ids[1..] {
                tables.delete(id);
            }
            tables.check(&ids[..50]);
            tables.delete(&ids[0]);
            assert_eq!((tables.index.len(), tables.index.memory_bytes()), (0, 0));
        }
    }

    #[test]
    fn entries_have_no_padding() {
        assert_eq!(size_of::<(Integer, PointOffset)>(), 12);
        assert_eq!(size_of::<(Uuid, PointOffset)>(), 20);
    }
}
