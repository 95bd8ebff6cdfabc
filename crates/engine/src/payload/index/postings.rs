//! The points that hold one value, and sets of them put together.

use super::memory::Weight;
use crate::point_set::PointSet;

/// Offsets of the points that hold a value.
///
/// Most values of a wide field are held by one point, which costs no allocation.
#[derive(Clone, Debug)]
pub enum Postings {
    /// One point.
    One(u32),
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

    /// Whether there are none, which an index never keeps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offsets, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let (one, many) = match self {
            Postings::One(offset) => (Some(*offset), None),
            Postings::Many(points) => (None, Some(points.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    pub(super) fn contains(&self, offset: u32) -> bool {
        match self {
            Postings::One(held) => *held == offset,
            Postings::Many(points) => points.contains(offset),
        }
    }

    /// Whether this is that point and no other.
    pub(super) fn is_only(&self, offset: u32) -> bool {
        self.len() == 1 && self.contains(offset)
    }

    /// The points as a set.
    pub(super) fn to_set(&self) -> PointSet {
        match self {
            Postings::One(offset) => PointSet::from([*offset]),
            Postings::Many(points) => points.clone(),
        }
    }

    pub(super) fn insert(&mut self, offset: u32) {
        match self {
            Postings::One(held) if *held == offset => {}
            Postings::One(held) => *self = Postings::Many(PointSet::from([*held, offset])),
            Postings::Many(points) => {
                points.insert(offset);
            }
        }
    }

    /// Takes a point out; another one stays.
    pub(super) fn remove(&mut self, offset: u32) {
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

/// Points with less than one in so many up to the last are not put into words: these would take more than eight bytes
/// for each.
const SPARSEST: u64 = 64;
/// Points that are gathered before they are put where they belong.
const GATHERED: usize = 1 << 13;
/// Fewer points are added up one by one.
const FEWEST: u64 = 256;
/// Fewer points are rather sorted than put into words.
const SORTED: usize = 128;
/// Words for each point that are rather cleared than it is sorted.
const CLEARED: usize = 64;

/// The points of many sets.
///
/// A range covers thousands of values with few points each. Merging those one by one is slow, because lists are merged
/// with lists; so points are gathered first, and then become bits.
#[derive(Default)]
pub(super) struct Union {
    loose: Vec<u32>,
    /// Bits from offset 0 on.
    words: Vec<u64>,
    /// What is too sparse for words.
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
        if len >= FEWEST && len * SPARSEST >= (end * 64) as u64 {
            self.grow(end);
            points.add_to_words(&mut self.words);
        } else if len < GATHERED as u64 {
            self.loose.extend(points);
        } else {
            self.sparse |= points;
        }
        self.merge_when_many();
    }

    fn merge_when_many(&mut self) {
        if self.loose.len() >= GATHERED {
            self.merge();
        }
    }

    fn grow(&mut self, end: usize) {
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
    }

    /// Puts the gathered points where they belong.
    fn merge(&mut self) {
        let loose = &mut self.loose;
        let end = loose.iter().max().map_or(0, |&last| word_of(last) + 1);
        if loose.len() < SORTED || loose.len() * CLEARED < end {
            loose.sort_unstable();
            loose.dedup();
            self.sparse |= &PointSet::from_sorted(loose);
            loose.clear();
            return;
        }
        self.grow(end);
        self.loose.drain(..).for_each(|offset| self.words[word_of(offset)] |= 1 << (offset % 64));
    }

    /// All of them.
    pub(super) fn finish(mut self) -> PointSet {
        self.merge();
        &PointSet::from_words(&self.words) | &self.sparse
    }
}

fn word_of(offset: u32) -> usize {
    offset as usize / 64
}

/// The points of all these postings.
pub(super) fn union<'a>(mut all: impl Iterator<Item = &'a Postings>) -> PointSet {
    let Some(first) = all.next() else { return PointSet::new() };
    let Some(second) = all.next() else { return first.to_set() };
    let mut union = Union::default();
    [first, second].into_iter().chain(all).for_each(|postings| union.add(postings));
    union.finish()
}

/// The points that all these postings have; none for no postings.
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

    proptest! {
        #[test]
        fn a_union_has_the_points_of_all_its_postings(
            values in prop::collection::vec((0u32..300_000, 1u32..20_000, 1usize..50), 0..12),
            wide in prop::collection::vec((0u32..900_000, 900_000u32..2_000_000, 90usize..200), 0..3),
            singles in prop::collection::vec(0u32..400_000, 0..50),
        ) {
            let many = values.iter().chain(&wide).map(|&(from, length, step)| {
                Postings::Many((from..from + length).step_by(step).collect())
            });
            let all: Vec<Postings> = many.chain(singles.into_iter().map(Postings::One)).collect();
            let expected: PointSet = all.iter().flat_map(Postings::iter).collect();
            prop_assert_eq!(union(all.iter()), expected);
        }
    }

    #[test]
    fn an_intersection_has_the_points_that_are_in_all() {
        let many = |offsets: &[u32]| Postings::Many(offsets.iter().copied().collect());
        let common = |all: &[Postings]| intersection(all.iter().collect()).iter().collect::<Vec<_>>();
        assert_eq!(common(&[many(&[1, 2, 3]), many(&[2, 3, 4]), many(&[3, 9, 2, 7])]), [2, 3]);
        assert_eq!(common(&[many(&[1, 2]), Postings::One(2)]), [2]);
        // One point that is kept as a set, because there were more.
        assert!(common(&[many(&[3]), Postings::One(0)]).is_empty());
        assert_eq!(common(&[Postings::One(1), Postings::One(1)]), [1]);
        assert_eq!(common(&[many(&[5])]), [5]);
        assert!(common(&[]).is_empty());
    }

    #[test]
    fn a_union_of_few_distant_points_has_them_in_order() {
        let all = [Postings::One(3), Postings::One(1 << 24), Postings::One(0)];
        assert_eq!(union(all.iter()).iter().collect::<Vec<_>>(), [0, 3, 1 << 24]);
        assert!(union(std::iter::empty()).is_empty());
    }
}
