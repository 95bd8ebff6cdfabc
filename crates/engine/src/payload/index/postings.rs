//! The points that hold one value, and unions and intersections of them.

use super::memory::Weight;
use crate::point_set::{Bits, PointSet};
use crate::types::PointOffset;

/// Offsets of the points that hold a value. A single point, which is frequent in fields with many values, takes no allocation.
#[derive(Clone, Debug)]
pub enum Postings {
    /// One point.
    One(PointOffset),
    /// Any number of points.
    Many(PointSet),
}

impl Postings {
    /// How many points.
    pub fn len(&self) -> u64 {
        match self {
            Postings::One(_) => 1,
            Postings::Many(points) => points.len(),
        }
    }

    /// How many of the points are in a set.
    pub fn count_in(&self, bits: &Bits) -> u64 {
        match self {
            Postings::One(offset) => u64::from(bits.contains(*offset)),
            Postings::Many(points) => points.count_in(bits),
        }
    }

    /// Whether there are no points. An index never keeps such postings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offsets, ascending.
    pub fn iter(&self) -> impl Iterator<Item = PointOffset> + '_ {
        let (one, many) = match self {
            Postings::One(offset) => (Some(*offset), None),
            Postings::Many(points) => (None, Some(points.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    pub(super) fn contains(&self, offset: PointOffset) -> bool {
        match self {
            Postings::One(held) => *held == offset,
            Postings::Many(points) => points.contains(offset),
        }
    }

    /// Whether this point is the only one.
    pub(super) fn is_only(&self, offset: PointOffset) -> bool {
        self.len() == 1 && self.contains(offset)
    }

    /// The points as a set.
    pub(super) fn to_set(&self) -> PointSet {
        match self {
            Postings::One(offset) => PointSet::from([*offset]),
            Postings::Many(points) => points.clone(),
        }
    }

    pub(super) fn insert(&mut self, offset: PointOffset) {
        match self {
            Postings::One(held) if *held == offset => {}
            Postings::One(held) => *self = Postings::Many(PointSet::from([*held, offset])),
            Postings::Many(points) => {
                points.insert(offset);
            }
        }
    }

    /// Removes a point, which is not the only one.
    pub(super) fn remove(&mut self, offset: PointOffset) {
        if let Postings::Many(points) = self {
            points.remove(offset);
        }
    }
}

impl Weight for Postings {
    fn outside(&self) -> u64 {
        match self {
            Postings::One(_) => 0,
            Postings::Many(points) => points.memory_bytes(),
        }
    }
}

/// Sets are added to the bitmap only if they have at least their greatest offset divided by this many points: the bitmap takes
/// at most eight bytes for each of them.
const SPARSITY_LIMIT: u64 = 64;
/// Loose points are merged when there are this many.
const MERGE_THRESHOLD: usize = 1 << 13;
/// Smaller sets are added as loose points.
const MIN_SET: u64 = 256;
/// Fewer loose points are sorted instead of being added to the bitmap.
const MIN_BITMAP_POINTS: usize = 128;
/// With more words than this for each loose point, the points are sorted instead of being added to the bitmap.
const MAX_WORDS_PER_POINT: usize = 64;

/// The union of many sets, built step by step.
///
/// A range may cover thousands of values with few points each. Merging their sets one by one is slow, because arrays are
/// merged with arrays. So points are collected first, and then set in a bitmap.
#[derive(Default)]
pub(super) struct Union {
    /// Points that are not merged yet.
    loose: Vec<PointOffset>,
    /// A bitmap from offset 0 on.
    words: Vec<u64>,
    /// Merged points that are too sparse for the bitmap.
    sparse: PointSet,
}

impl Union {
    /// Adds the holders of a value.
    pub(super) fn add(&mut self, postings: &Postings) {
        match postings {
            Postings::One(offset) => self.loose.push(*offset),
            Postings::Many(points) => return self.add_set(points),
        }
        self.merge_when_many();
    }

    /// Adds points.
    pub(super) fn add_set(&mut self, points: &PointSet) {
        let (len, end) = (points.len(), points.max().map_or(0, |last| word_of(last) + 1));
        if len >= MIN_SET && len * SPARSITY_LIMIT >= (end * 64) as u64 {
            self.grow(end);
            points.add_to_words(&mut self.words);
        } else if len < MERGE_THRESHOLD as u64 {
            self.loose.extend(points);
        } else {
            self.sparse |= points;
        }
        self.merge_when_many();
    }

    fn merge_when_many(&mut self) {
        if self.loose.len() >= MERGE_THRESHOLD {
            self.merge();
        }
    }

    fn grow(&mut self, end: usize) {
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
    }

    /// Adds the loose points to the bitmap or to the sparse set.
    fn merge(&mut self) {
        let loose = &mut self.loose;
        let end = loose.iter().max().map_or(0, |&last| word_of(last) + 1);
        if loose.len() < MIN_BITMAP_POINTS || loose.len() * MAX_WORDS_PER_POINT < end {
            loose.sort_unstable();
            loose.dedup();
            self.sparse |= &PointSet::from_sorted(loose);
            loose.clear();
            return;
        }
        self.grow(end);
        self.loose.drain(..).for_each(|offset| self.words[word_of(offset)] |= 1 << (offset.get() % 64));
    }

    /// The union.
    pub(super) fn finish(mut self) -> PointSet {
        self.merge();
        &PointSet::from_words(&self.words) | &self.sparse
    }
}

/// The bitmap word of an offset.
fn word_of(offset: PointOffset) -> usize {
    offset.index() / 64
}

/// The points of all these postings.
pub(super) fn union<'a>(mut all: impl Iterator<Item = &'a Postings>) -> PointSet {
    let Some(first) = all.next() else { return PointSet::new() };
    let Some(second) = all.next() else { return first.to_set() };
    let mut union = Union::default();
    [first, second].into_iter().chain(all).for_each(|postings| union.add(postings));
    union.finish()
}

/// The points that are in all these postings; empty without postings.
pub(super) fn intersection(mut all: Vec<&Postings>) -> PointSet {
    let one = all.iter().find_map(|postings| match postings {
        Postings::One(offset) => Some(*offset),
        Postings::Many(_) => None,
    });
    if let Some(offset) = one {
        return all.iter().all(|postings| postings.contains(offset)).then_some(offset).into_iter().collect();
    }
    all.sort_unstable_by_key(|postings| postings.len());
    let mut sets = all.into_iter().map(Postings::to_set);
    let mut common = sets.next().unwrap_or_default();
    for set in sets {
        if common.is_empty() {
            break;
        }
        common &= &set;
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(number: u32) -> Postings {
        Postings::One(PointOffset::new(number))
    }

    proptest! {
        #[test]
        fn a_union_has_the_points_of_all_its_postings(
            values in prop::collection::vec((0u32..300_000, 1u32..20_000, 1usize..50), 0..12),
            wide in prop::collection::vec((0u32..900_000, 900_000u32..2_000_000, 90usize..200), 0..3),
            singles in prop::collection::vec(0u32..400_000, 0..50),
        ) {
            let many = values.iter().chain(&wide).map(|&(from, length, step)| {
                Postings::Many(PointSet::of((from..from + length).step_by(step)))
            });
            let all: Vec<Postings> = many.chain(singles.into_iter().map(one)).collect();
            let expected: PointSet = all.iter().flat_map(Postings::iter).collect();
            prop_assert_eq!(union(all.iter()), expected);
        }
    }

    #[test]
    fn an_intersection_has_the_points_that_are_in_all() {
        let many = |offsets: &[u32]| Postings::Many(PointSet::of(offsets.iter().copied()));
        let common = |all: &[Postings]| intersection(all.iter().collect()).numbers();
        assert_eq!(common(&[many(&[1, 2, 3]), many(&[2, 3, 4]), many(&[3, 9, 2, 7])]), [2, 3]);
        assert_eq!(common(&[many(&[1, 2]), one(2)]), [2]);
        // One point that is kept as a set, because the value had more.
        assert!(common(&[many(&[3]), one(0)]).is_empty());
        assert_eq!(common(&[one(1), one(1)]), [1]);
        assert_eq!(common(&[many(&[5])]), [5]);
        assert!(common(&[]).is_empty());
    }

    #[test]
    fn a_union_of_few_distant_points_has_them_in_order() {
        let all = [one(3), one(1 << 24), one(0)];
        assert_eq!(union(all.iter()).numbers(), [0, 3, 1 << 24]);
        assert!(union(std::iter::empty()).is_empty());
    }
}
