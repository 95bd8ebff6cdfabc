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

/// The points of all these postings.
pub(super) fn union<'a>(all: impl Iterator<Item = &'a Postings>) -> RoaringBitmap {
    let mut bitmap = RoaringBitmap::new();
    let mut singles = Vec::new();
    for postings in all {
        match postings {
            Postings::One(offset) => singles.push(*offset),
            Postings::Many(many) => bitmap |= many.as_ref(),
        }
    }
    // In the order of the values the offsets jump about; sorted they fill the bitmap from the front.
    singles.sort_unstable();
    singles.dedup();
    bitmap | RoaringBitmap::from_sorted_iter(singles).expect("sorted and without repeats")
}
