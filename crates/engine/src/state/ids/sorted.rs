//! A sorted map from keys of fixed size to offsets: sorted lists of entries, and an ordered map of the lists.
//!
//! An entry takes its own bytes and little more: lists have up to 64 entries and at most eight places that are free.
//! The first write into a list after a view copies it.

use super::Range;
use crate::allocator;
use crate::payload::ordered_map_bytes;
use crate::types::PointOffset;
use imbl::OrdMap;
use std::ops::Bound;
use std::sync::Arc;

/// The most entries of a list.
const MAX_ENTRIES: usize = 64;
/// By so many places a list grows.
const STEP: usize = 8;
/// A list that becomes shorter than this is joined to the next one, if both fit one list.
const FEW_ENTRIES: usize = MAX_ENTRIES / 4;

type Entries<K> = Vec<(K, PointOffset)>;
type Lists<'a, K> = Range<'a, K, Arc<Entries<K>>>;

/// The offset of each key, in the order of the keys. A clone costs a few reference counts and never changes.
#[derive(Clone)]
pub(super) struct SortedOffsets<K> {
    /// Each list by a key that is not above its entries and above those of the list before it; the first list may have
    /// entries below its key, too. No list is empty.
    lists: OrdMap<K, Arc<Entries<K>>>,
    len: usize,
    /// Bytes of the lists, which are counted as they change.
    list_bytes: u64,
}

impl<K> Default for SortedOffsets<K> {
    fn default() -> Self {
        SortedOffsets { lists: OrdMap::new(), len: 0, list_bytes: 0 }
    }
}

impl<K: Copy + Ord> SortedOffsets<K> {
    /// Of some entries; none where a key is there twice.
    pub(super) fn of(mut entries: Vec<(K, PointOffset)>) -> Option<SortedOffsets<K>> {
        // Most ids come in their order, which the sort sees at once.
        entries.sort_unstable_by_key(|(key, _)| *key);
        if entries.array_windows().any(|[(before, _), (key, _)]| before == key) {
            return None;
        }
        let mut sorted = SortedOffsets { len: entries.len(), ..SortedOffsets::default() };
        entries.chunks(MAX_ENTRIES).for_each(|list| sorted.enter(list[0].0, list.to_vec()));
        Some(sorted)
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The list that has a key if any has, with its own key.
    fn list_of(&self, key: &K) -> Option<(K, &Arc<Entries<K>>)> {
        let (own, list) =
            self.lists.get_prev(key).or_else(|| self.lists.get_min().map(|(own, list)| (own, list)))?;
        Some((*own, list))
    }

    pub(super) fn get(&self, key: &K) -> Option<PointOffset> {
        let (_, list) = self.list_of(key)?;
        list.binary_search_by_key(key, |(key, _)| *key).ok().map(|at| list[at].1)
    }

    /// Enters a key. Returns the offset that it had before.
    pub(super) fn insert(&mut self, key: K, offset: PointOffset) -> Option<PointOffset> {
        let Some((own, list)) = self.list_of(&key) else {
            self.enter_alone(key, offset);
            return None;
        };
        let place = list.binary_search_by_key(&key, |(key, _)| *key);
        if place.is_err() && list.len() == MAX_ENTRIES {
            let is_last = self.lists.get_max().is_none_or(|(last, _)| *last == own);
            if is_last && own < key && list.last().is_some_and(|(last, _)| *last < key) {
                // Keys that come in their order leave full lists behind. The first list can have a key above its
                // entries: a key between them is one of that list.
                self.enter_alone(key, offset);
                return None;
            }
            self.split(own);
            return self.insert(key, offset);
        }
        let list = self.list_mut(&own);
        let before = list_bytes(list);
        let replaced = match place {
            Ok(at) => Some(std::mem::replace(&mut Arc::make_mut(list)[at].1, offset)),
            Err(at) => {
                insert_at(list, at, (key, offset));
                None
            }
        };
        let after = list_bytes(list);
        self.list_bytes = self.list_bytes + after - before;
        self.len += usize::from(replaced.is_none());
        replaced
    }

    /// Enters a key that is above all others in a list of its own.
    fn enter_alone(&mut self, key: K, offset: PointOffset) {
        self.enter(key, vec![(key, offset)]);
        self.len += 1;
    }

    /// Makes two lists of a full one.
    fn split(&mut self, own: K) {
        let list = self.leave(&own);
        for half in list.chunks(MAX_ENTRIES / 2) {
            self.enter(half[0].0, half.to_vec());
        }
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<PointOffset> {
        let (own, list) = self.list_of(key)?;
        let at = list.binary_search_by_key(key, |(key, _)| *key).ok()?;
        let list = self.list_mut(&own);
        let before = list_bytes(list);
        let list = Arc::make_mut(list);
        let (_, offset) = list.remove(at);
        if list.capacity() - list.len() > STEP {
            list.shrink_to_fit();
        }
        let (after, is_short) = (list_bytes(list), list.len() < FEW_ENTRIES);
        self.list_bytes = self.list_bytes + after - before;
        self.len -= 1;
        if is_short {
            self.join(own);
        }
        Some(offset)
    }

    /// Joins a short list to the next one, if both fit one list; an empty one is dropped.
    fn join(&mut self, own: K) {
        let short = self.lists.get(&own).map_or(0, |list| list.len());
        if short == 0 {
            self.leave(&own);
            return;
        }
        let mut behind = self.lists.range((Bound::Excluded(own), Bound::Unbounded));
        let next = behind.next().filter(|(_, next)| short + next.len() <= MAX_ENTRIES).map(|(next, _)| *next);
        let Some(next) = next else {
            return;
        };
        let mut list = self.leave(&own);
        let next = self.leave(&next);
        list.reserve_exact(next.len());
        list.extend(next);
        self.enter(list[0].0, list);
    }

    /// The entries from a key on; all without one.
    pub(super) fn from(&self, key: Option<&K>) -> Iter<'_, K> {
        let Some((key, (own, list))) = key.and_then(|key| Some((key, self.list_of(key)?))) else {
            return Iter { entries: [].iter(), lists: self.lists.range::<_, K>(..) };
        };
        let start = list.partition_point(|(entry, _)| entry < key);
        let lists = self.lists.range((Bound::Excluded(own), Bound::Unbounded));
        Iter { entries: list[start..].iter(), lists }
    }

    /// Bytes of memory. What several views share is counted in each of them. The map of the lists is estimated.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.list_bytes + ordered_map_bytes(self.lists.len(), size_of::<(K, Arc<Entries<K>>)>())
    }

    fn list_mut(&mut self, own: &K) -> &mut Arc<Entries<K>> {
        self.lists.get_mut(own).expect("the key of a list")
    }

    fn enter(&mut self, own: K, list: Entries<K>) {
        self.list_bytes += list_bytes(&list);
        self.lists.insert(own, Arc::new(list));
    }

    /// Takes a list out of the map.
    fn leave(&mut self, own: &K) -> Entries<K> {
        let list = self.lists.remove(own).expect("the key of a list");
        self.list_bytes -= list_bytes(&list);
        Arc::unwrap_or_clone(list)
    }
}

/// Inserts an entry. A list that a view shares is copied once, with room for the entry.
fn insert_at<K: Copy>(list: &mut Arc<Entries<K>>, at: usize, entry: (K, PointOffset)) {
    let room = STEP.min(MAX_ENTRIES - list.len());
    if let Some(list) = Arc::get_mut(list) {
        if list.len() == list.capacity() {
            list.reserve_exact(room);
        }
        list.insert(at, entry);
        return;
    }
    let mut copy = Vec::with_capacity(list.len() + room);
    copy.extend_from_slice(&list[..at]);
    copy.push(entry);
    copy.extend_from_slice(&list[at..]);
    *list = Arc::new(copy);
}

/// Bytes of a list.
fn list_bytes<K>(list: &Entries<K>) -> u64 {
    allocator::shared_bytes(size_of::<Entries<K>>())
        + allocator::bytes(list.capacity() * size_of::<(K, PointOffset)>())
}

/// An iterator over offsets, in the order of their keys.
pub(super) struct Iter<'a, K> {
    entries: std::slice::Iter<'a, (K, PointOffset)>,
    lists: Lists<'a, K>,
}

impl<K: Copy + Ord> Iterator for Iter<'_, K> {
    type Item = PointOffset;

    fn next(&mut self) -> Option<PointOffset> {
        loop {
            if let Some((_, offset)) = self.entries.next() {
                return Some(*offset);
            }
            self.entries = self.lists.next()?.1.iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Model = BTreeMap<u64, PointOffset>;

    /// The entries are those of the model, and what the map relies on holds.
    fn check(map: &SortedOffsets<u64>, model: &Model) {
        assert_eq!(map.len(), model.len());
        assert_eq!(map.from(None).collect::<Vec<_>>(), model.values().copied().collect::<Vec<_>>());
        let mut before = None;
        for (own, list) in map.lists.iter() {
            assert!(!list.is_empty() && list.len() <= MAX_ENTRIES && list.capacity() <= MAX_ENTRIES);
            assert!(list.capacity() - list.len() <= STEP, "{} of {}", list.len(), list.capacity());
            assert!(list.is_sorted_by(|a, b| a.0 < b.0));
            assert!(before.is_none_or(|before| before < *own && before < list[0].0 && *own <= list[0].0));
            before = Some(list[list.len() - 1].0);
        }
        let bytes = map.lists.values().map(|list| list_bytes(list)).sum::<u64>();
        assert_eq!(map.list_bytes, bytes, "the count of bytes that is kept");
    }

    /// Steps near each other and far, so that lists are split and joined: whether the key is entered, and the key. Runs begin at
    /// multiples of 100 and often have about as many keys as a list, and steps between them are often about where one began: that
    /// is the key of a list.
    fn steps() -> impl Strategy<Value = Vec<(bool, u64)>> {
        let full = MAX_ENTRIES as u64;
        let len = prop_oneof![1 => 0u64..400, 2 => full - 2..full + 3];
        let run = (5u64..25, len, prop::bool::weighted(0.7), any::<bool>());
        let keys = run.prop_map(|(start, len, enters, ascends)| {
            let of = move |at| if ascends { start * 100 + at } else { start * 100 - at };
            (0..len).map(move |at| (enters, of(at))).collect::<Vec<_>>()
        });
        let near_start = (5u64..25, 0u64..5).prop_map(|(start, at)| start * 100 + at - 2);
        let key = prop_oneof![9 => 0u64..2900, 9 => near_start, 1 => any::<u64>()];
        let single = (any::<bool>(), key).prop_map(|step| vec![step]);
        let others = proptest::collection::vec(prop_oneof![1 => keys.clone(), 4 => single], 0..40);
        (keys, others).prop_map(|(first, others)| [first, others.concat()].concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn it_is_a_sorted_map_and_a_clone_never_changes(steps in steps(), asked in proptest::collection::vec(0u64..3000, 20)) {
            let (mut map, mut model) = (SortedOffsets::default(), Model::new());
            let mut kept = (map.clone(), model.clone());
            for (at, &(enters, key)) in steps.iter().enumerate() {
                let offset = PointOffset::new(at as u32);
                if enters {
                    assert_eq!(map.insert(key, offset), model.insert(key, offset));
                } else {
                    assert_eq!(map.remove(&key), model.remove(&key));
                }
                if at == steps.len() / 2 {
                    kept = (map.clone(), model.clone());
                }
            }
            check(&map, &model);
            check(&kept.0, &kept.1);
            for key in asked.iter().chain(steps.iter().map(|(_, key)| key)) {
                assert_eq!(map.get(key), model.get(key).copied());
                let from: Vec<_> = map.from(Some(key)).take(100).collect();
                assert_eq!(from, model.range(key..).take(100).map(|(_, offset)| *offset).collect::<Vec<_>>());
            }
            for key in model.into_keys() {
                assert!(map.remove(&key).is_some());
            }
            assert_eq!((map.len(), map.memory_bytes()), (0, 0));
        }
    }

    /// The first list keeps its key when the entry of that key is removed, so all its entries can be below it.
    #[test]
    fn a_key_above_all_entries_of_the_first_list_and_not_above_its_own_key_is_entered_in_its_order() {
        const OWN: u64 = 100;
        let enter = |(map, model): &mut (SortedOffsets<u64>, Model), key| {
            let offset = PointOffset::new(key as u32);
            assert_eq!(map.insert(key, offset), model.insert(key, offset));
        };
        for key in [OWN - 1, OWN, OWN + 1] {
            let mut both = (SortedOffsets::default(), Model::new());
            (1..MAX_ENTRIES as u64).chain([OWN]).rev().for_each(|key| enter(&mut both, key));
            assert_eq!(both.0.remove(&OWN), both.1.remove(&OWN));
            enter(&mut both, MAX_ENTRIES as u64);
            assert_eq!(both.0.lists.keys().copied().collect::<Vec<_>>(), [OWN], "a full list below its key");
            enter(&mut both, key);
            let (map, model) = both;
            check(&map, &model);
            assert!(model.iter().all(|(key, offset)| map.get(key) == Some(*offset)));
        }
    }

    #[test]
    fn an_entry_takes_two_bytes_more_than_its_own_where_keys_ascend_and_at_most_five_where_they_do_not() {
        let bytes = |key: fn(u64) -> u64| {
            let mut map = SortedOffsets::default();
            for at in 0..100_000 {
                map.insert(key(at), PointOffset::new(at as u32));
            }
            (map.memory_bytes() as f64 / map.len() as f64) - size_of::<(u64, PointOffset)>() as f64
        };
        let scattered = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (key, most) in [(bytes(|at| at), 2.0), (bytes(scattered), 5.0), (bytes(|at| !at), 5.0)] {
            assert!(key < most, "{key} of {most}");
        }
    }
}
