//! The points that hold one value, and sets of them put together.

use super::memory::{Weight, shared_bytes};
use roaring::RoaringBitmap;
use std::sync::{Arc, OnceLock};

/// Offsets of the points that hold a value.
///
/// Most values of a wide field are held by one point, which costs no allocation.
#[derive(Clone, Debug)]
pub enum Postings {
    /// One point.
    One(u32),
    /// Any number of points, shared with the clones of the index until it changes.
    Many(Arc<Holders>),
}

impl Postings {
    /// How many points.
    pub fn len(&self) -> u64 {
        match self {
            Postings::One(_) => 1,
            Postings::Many(holders) => holders.points.len(),
        }
    }

    /// Whether there are none, which an index never keeps.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offsets, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let (one, many) = match self {
            Postings::One(offset) => (Some(*offset), None),
            Postings::Many(holders) => (None, Some(holders.points.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    pub(super) fn contains(&self, offset: u32) -> bool {
        match self {
            Postings::One(held) => *held == offset,
            Postings::Many(holders) => holders.points.contains(offset),
        }
    }

    /// Whether this is that point and no other.
    pub(super) fn is_only(&self, offset: u32) -> bool {
        self.len() == 1 && self.contains(offset)
    }

    /// The points as a bitmap, where they are kept as one.
    pub(super) fn bitmap(&self) -> Option<&RoaringBitmap> {
        match self {
            Postings::One(_) => None,
            Postings::Many(holders) => Some(&holders.points),
        }
    }

    pub(super) fn insert(&mut self, offset: u32) {
        match self {
            Postings::One(held) if *held == offset => {}
            Postings::One(held) => *self = Postings::many(RoaringBitmap::from_iter([*held, offset])),
            Postings::Many(holders) => {
                if !holders.points.contains(offset) {
                    Arc::make_mut(holders).change(|points| points.insert(offset));
                }
            }
        }
    }

    /// Takes a point out; another one stays.
    pub(super) fn remove(&mut self, offset: u32) {
        if let Postings::Many(holders) = self
            && holders.points.contains(offset)
        {
            Arc::make_mut(holders).change(|points| points.remove(offset));
        }
    }

    pub(super) fn many(points: RoaringBitmap) -> Postings {
        Postings::Many(Arc::new(Holders { points, words: OnceLock::new() }))
    }
}

impl Weight for Postings {
    fn outside(&self) -> u64 {
        match self {
            Postings::One(_) => 0,
            Postings::Many(holders) => {
                let words = holders.words.get().map_or(0, |words| size_of_val(&*words.words));
                let points = holders.points.serialized_size();
                shared_bytes(size_of::<Holders>()) + (points + words) as u64
            }
        }
    }
}

/// Points with less than one in so many between the first and the last are not kept as words: these would take more
/// than eight bytes for each.
const SPARSEST: u64 = 64;
/// Fewer points are added up one by one.
const FEWEST: u64 = 256;

/// Several points that hold a value.
#[derive(Debug)]
pub struct Holders {
    points: RoaringBitmap,
    /// The same once more, for sets that are dense. A bitmap keeps some of these as lists, and counts anew whenever it
    /// takes others in, which takes ten times as long as adding words to words. Made when it is asked for first; a
    /// change drops it.
    words: OnceLock<Words>,
}

/// Bits of points, from the word of the first one to that of the last.
#[derive(Debug)]
struct Words {
    first: usize,
    words: Box<[u64]>,
}

impl Clone for Holders {
    /// A clone is made to be changed.
    fn clone(&self) -> Holders {
        Holders { points: self.points.clone(), words: OnceLock::new() }
    }
}

impl Holders {
    fn change(&mut self, change: impl FnOnce(&mut RoaringBitmap) -> bool) {
        change(&mut self.points);
        self.words = OnceLock::new();
    }

    /// The points as words, where it is worth while.
    fn words(&self) -> Option<&Words> {
        let (first, last, len) = (self.points.min()?, self.points.max()?, self.points.len());
        let wide = u64::from(last - first) + 1;
        let pays = len >= FEWEST && len * SPARSEST >= wide;
        pays.then(|| self.words.get_or_init(|| Words::new(&self.points, first, last)))
    }
}

impl Words {
    fn new(points: &RoaringBitmap, first: u32, last: u32) -> Words {
        let first = word_of(first);
        let mut words = vec![0; word_of(last) + 1 - first];
        points.iter().for_each(|offset| words[word_of(offset) - first] |= 1 << (offset % 64));
        Words { first, words: words.into() }
    }
}

fn word_of(offset: u32) -> usize {
    offset as usize / 64
}

/// Points that are gathered before they are put where they belong.
const GATHERED: usize = 1 << 13;
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
    bitmap: RoaringBitmap,
}

impl Union {
    /// Adds the holders of a value.
    pub(super) fn add(&mut self, postings: &Postings) {
        match postings {
            Postings::One(offset) => self.loose.push(*offset),
            Postings::Many(holders) => match holders.words() {
                Some(words) => self.add_words(words),
                None if holders.points.len() < GATHERED as u64 => self.loose.extend(&holders.points),
                None => self.bitmap |= &holders.points,
            },
        }
        if self.loose.len() >= GATHERED {
            self.merge();
        }
    }

    fn add_words(&mut self, added: &Words) {
        let end = added.first + added.words.len();
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
        self.words[added.first..end].iter_mut().zip(&added.words).for_each(|(word, added)| *word |= added);
    }

    /// Puts the gathered points where they belong.
    fn merge(&mut self) {
        let loose = &mut self.loose;
        let end = loose.iter().max().map_or(0, |&last| word_of(last) + 1);
        if loose.len() < SORTED || loose.len() * CLEARED < end {
            loose.sort_unstable();
            loose.dedup();
            let points =
                RoaringBitmap::from_sorted_iter(loose.drain(..)).expect("sorted and without repeats");
            self.bitmap |= points;
            return;
        }
        if self.words.len() < end {
            self.words.resize(end, 0);
        }
        loose.drain(..).for_each(|offset| self.words[word_of(offset)] |= 1 << (offset % 64));
    }

    /// All of them.
    pub(super) fn finish(mut self) -> RoaringBitmap {
        self.merge();
        if self.words.is_empty() {
            return self.bitmap;
        }
        let mut bytes = vec![0; self.words.len() * 8];
        let places = bytes.as_chunks_mut::<8>().0.iter_mut();
        places.zip(&self.words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        let dense = RoaringBitmap::from_lsb0_bytes(0, &bytes);
        if self.bitmap.is_empty() { dense } else { self.bitmap | dense }
    }
}

/// The points of all these postings.
pub(super) fn union<'a>(mut all: impl Iterator<Item = &'a Postings>) -> RoaringBitmap {
    let Some(first) = all.next() else { return RoaringBitmap::new() };
    let Some(second) = all.next() else {
        return first.bitmap().cloned().unwrap_or_else(|| first.iter().collect());
    };
    let mut union = Union::default();
    [first, second].into_iter().chain(all).for_each(|postings| union.add(postings));
    union.finish()
}

/// The points that all these postings have; none for no postings.
pub(super) fn intersection(mut all: Vec<&Postings>) -> RoaringBitmap {
    let one = all.iter().find_map(|postings| match postings {
        Postings::One(offset) => Some(*offset),
        Postings::Many(_) => None,
    });
    if let Some(offset) = one {
        return all.iter().all(|postings| postings.contains(offset)).then_some(offset).into_iter().collect();
    }
    all.sort_unstable_by_key(|postings| postings.len());
    let mut bitmaps = all.into_iter().filter_map(Postings::bitmap);
    // The first two without a copy of either.
    let mut common = match (bitmaps.next(), bitmaps.next()) {
        (Some(first), Some(second)) => first & second,
        (first, _) => return first.cloned().unwrap_or_default(),
    };
    for bitmap in bitmaps {
        if common.is_empty() {
            break;
        }
        common &= bitmap;
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
            singles in prop::collection::vec(0u32..400_000, 0..50),
        ) {
            let many = values.iter().map(|&(from, length, step)| {
                Postings::many((from..from + length).step_by(step).collect())
            });
            let all: Vec<Postings> = many.chain(singles.into_iter().map(Postings::One)).collect();
            let expected: RoaringBitmap = all.iter().flat_map(Postings::iter).collect();
            // The second time with what was kept of the first.
            prop_assert_eq!(&union(all.iter()), &expected);
            prop_assert_eq!(&union(all.iter()), &expected);
        }
    }

    #[test]
    fn what_is_kept_of_a_value_ends_with_its_change_and_not_for_its_clones() {
        let mut postings = Postings::many((0..60_000).step_by(20).collect());
        let before = union([&postings].into_iter());
        let snapshot = postings.clone();
        postings.insert(7);
        postings.remove(20);
        let after = union([&postings].into_iter());
        assert_eq!(after.iter().take(3).collect::<Vec<_>>(), [0, 7, 40]);
        postings.insert(8);
        postings.remove(7);
        assert_eq!(union([&postings].into_iter()).iter().take(3).collect::<Vec<_>>(), [0, 8, 40]);
        assert_eq!(union([&snapshot].into_iter()), before);
    }

    #[test]
    fn an_intersection_has_the_points_that_are_in_all() {
        let many = |offsets: &[u32]| Postings::many(offsets.iter().copied().collect());
        let common = |all: &[Postings]| intersection(all.iter().collect()).iter().collect::<Vec<_>>();
        assert_eq!(common(&[many(&[1, 2, 3]), many(&[2, 3, 4]), many(&[3, 9, 2, 7])]), [2, 3]);
        assert_eq!(common(&[many(&[1, 2]), Postings::One(2)]), [2]);
        // One point that is kept as a bitmap, because there were more.
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
