//! An ordered map from values to the points that hold them.

use super::memory::{Weight, ordered_map_bytes};
use super::postings::Postings;
use super::zones::ZoneCache;
use crate::point_set::PointSet;
use crate::types::PointOffset;
use imbl::OrdMap;
use std::borrow::Borrow;
use std::ops::{RangeBounds, RangeInclusive};
use std::sync::Arc;

/// An ordered map from values to [`Postings`]. A clone takes constant time and is a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Column<K: Ord + Clone> {
    map: OrdMap<K, Postings>,
    zone_cache: Arc<ZoneCache<K>>,
}

impl<K: Ord + Clone> Default for Column<K> {
    fn default() -> Self {
        Column { map: OrdMap::new(), zone_cache: Arc::default() }
    }
}

impl<K: Ord + Clone> Column<K> {
    pub(super) fn insert<Q>(&mut self, key: &Q, offset: PointOffset)
    where
        Q: Ord + ToOwned + ?Sized,
        K: Borrow<Q> + From<Q::Owned>,
    {
        ZoneCache::changed(&mut self.zone_cache, key);
        match self.map.get_mut(key) {
            Some(postings) => postings.insert(offset),
            None => drop(self.map.insert(K::from(key.to_owned()), Postings::One(offset))),
        }
    }

    pub(super) fn remove<Q>(&mut self, key: &Q, offset: PointOffset)
    where
        Q: Ord + ?Sized,
        K: Borrow<Q>,
    {
        let Some(postings) = self.map.get(key) else { return };
        ZoneCache::changed(&mut self.zone_cache, key);
        if postings.is_only(offset) {
            self.map.remove(key);
        } else if let Some(postings) = self.map.get_mut(key) {
            postings.remove(offset);
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

    /// The points that hold a value of a range. `points` is how many points hold any value.
    pub(super) fn union_within(&self, range: RangeInclusive<K>, points: u64) -> PointSet {
        self.zone_cache.union(&self.map, range.start(), range.end(), points)
    }

    /// Bytes of the values, of their points, and of the zones.
    pub(super) fn memory_bytes(&self) -> u64
    where
        K: Weight,
    {
        let outside: u64 = self.map.iter().map(|(key, postings)| key.outside() + postings.outside()).sum();
        ordered_map_bytes(self.map.len(), size_of::<(K, Postings)>())
            + outside
            + self.zone_cache.memory_bytes()
    }

    #[cfg(test)]
    pub(super) fn has_zones(&self) -> bool {
        self.zone_cache.has_zones()
    }
}
