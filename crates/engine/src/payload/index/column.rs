//! Values in order, each with the points that hold it.

use imbl::OrdMap;
use roaring::RoaringBitmap;
use std::borrow::Borrow;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Offsets of the points that hold a value.
///
/// Most values of a wide field are held by one point, which costs no allocation.
#[derive(Clone, Debug)]
pub enum Postings {
    /// One point.
    One(u32),
    /// Any number of points, shared with the clones of the index until it changes.
    Many(Arc<RoaringBitmap>),
}

impl Postings {
    /// How many points.
    pub fn len(&self) -> u64 {
        match self {
            Postings::One(_) => 1,
            Postings::Many(bitmap) => bitmap.len(),
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
            Postings::Many(bitmap) => (None, Some(bitmap.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    fn contains(&self, offset: u32) -> bool {
        match self {
            Postings::One(held) => *held == offset,
            Postings::Many(bitmap) => bitmap.contains(offset),
        }
    }

    fn insert(&mut self, offset: u32) {
        match self {
            Postings::One(held) if *held == offset => {}
            Postings::One(held) => {
                *self = Postings::Many(Arc::new(RoaringBitmap::from_iter([*held, offset])))
            }
            Postings::Many(bitmap) => {
                if !bitmap.contains(offset) {
                    Arc::make_mut(bitmap).insert(offset);
                }
            }
        }
    }
}

/// An ordered map from values to [`Postings`]. A clone takes constant time and stays as it was.
#[derive(Clone, Debug)]
pub(super) struct Column<K: Ord + Clone> {
    map: OrdMap<K, Postings>,
}

impl<K: Ord + Clone> Default for Column<K> {
    fn default() -> Self {
        Column { map: OrdMap::new() }
    }
}

impl<K: Ord + Clone> Column<K> {
    pub(super) fn insert<Q>(&mut self, key: &Q, offset: u32)
    where
        Q: Ord + ToOwned + ?Sized,
        K: Borrow<Q> + From<Q::Owned>,
    {
        match self.map.get_mut(key) {
            Some(postings) => postings.insert(offset),
            None => drop(self.map.insert(K::from(key.to_owned()), Postings::One(offset))),
        }
    }

    pub(super) fn remove<Q>(&mut self, key: &Q, offset: u32)
    where
        Q: Ord + ?Sized,
        K: Borrow<Q>,
    {
        let is_last = match self.map.get(key) {
            None => return,
            Some(Postings::One(held)) => *held == offset,
            Some(Postings::Many(bitmap)) => bitmap.len() == 1 && bitmap.contains(offset),
        };
        if is_last {
            self.map.remove(key);
        } else if let Some(Postings::Many(bitmap)) = self.map.get_mut(key)
            && bitmap.contains(offset)
        {
            Arc::make_mut(bitmap).remove(offset);
        }
    }

    pub(super) fn get<Q>(&self, key: &Q) -> Option<&Postings>
    where
        Q: Ord + ?Sized,
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    pub(super) fn range<Q>(
        &self,
        range: impl RangeBounds<Q>,
    ) -> impl DoubleEndedIterator<Item = (&K, &Postings)>
    where
        Q: Ord + ?Sized,
        K: Borrow<Q>,
    {
        self.map.range(range)
    }
}

/// Points that are gathered before they become a bitmap: sorting so many is cheap.
const GATHERED: usize = 1 << 13;

/// The points of all these postings.
///
/// A range covers thousands of values with few points each. Merging those one by one is slow while the result is small
/// too, because lists are merged with lists; so the first thousands of points are gathered. A result that has become
/// bits takes further points in as fast as they are read.
pub(super) fn union<'a>(mut all: impl Iterator<Item = &'a Postings>) -> RoaringBitmap {
    let Some(first) = all.next() else { return RoaringBitmap::new() };
    let mut bitmap = match first {
        Postings::One(offset) => RoaringBitmap::from_iter([*offset]),
        Postings::Many(many) => RoaringBitmap::clone(many),
    };
    let mut loose: Vec<u32> = Vec::new();
    for postings in all {
        match postings {
            Postings::One(offset) => loose.push(*offset),
            Postings::Many(many) if bitmap.len() + many.len() < GATHERED as u64 => loose.extend(many.iter()),
            Postings::Many(many) => bitmap |= many.as_ref(),
        }
        if loose.len() >= GATHERED && bitmap.len() < GATHERED as u64 {
            merge(&mut bitmap, &mut loose);
        }
    }
    merge(&mut bitmap, &mut loose);
    bitmap
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
    let mut bitmaps = all.into_iter().filter_map(|postings| match postings {
        Postings::Many(bitmap) => Some(bitmap.as_ref()),
        Postings::One(_) => None,
    });
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

/// Moves gathered points into the bitmap.
fn merge(bitmap: &mut RoaringBitmap, loose: &mut Vec<u32>) {
    if loose.len() < GATHERED / 8 {
        loose.sort_unstable();
        loose.dedup();
        *bitmap |= RoaringBitmap::from_sorted_iter(loose.drain(..)).expect("sorted and without repeats");
    } else {
        *bitmap |= RoaringBitmap::from_lsb0_bytes(0, &bits(loose));
        loose.clear();
    }
}

/// A bit for each offset up to the last one.
fn bits(offsets: &[u32]) -> Vec<u8> {
    let bytes = offsets.iter().max().map_or(0, |&last| last as usize / 8 + 1);
    let mut bits = vec![0; bytes];
    for &offset in offsets {
        bits[offset as usize / 8] |= 1 << (offset % 8);
    }
    bits
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
                Postings::Many(Arc::new((from..from + length).step_by(step).collect()))
            });
            let all: Vec<Postings> = many.chain(singles.into_iter().map(Postings::One)).collect();
            let expected: RoaringBitmap = all.iter().flat_map(Postings::iter).collect();
            prop_assert_eq!(union(all.iter()), expected);
        }
    }

    #[test]
    fn an_intersection_has_the_points_that_are_in_all() {
        let many = |offsets: &[u32]| Postings::Many(Arc::new(offsets.iter().copied().collect()));
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
