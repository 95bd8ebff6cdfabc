//! Cached unions of the points of neighbouring values, from which a wide range is assembled.

use super::memory::Weight;
use super::postings::{Postings, Union};
use crate::point_set::PointSet;
use imbl::OrdMap;
use std::borrow::Borrow;
use std::ops::{Bound, Range};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Parts of a level that one part of the next level covers.
const FANOUT: usize = 4;
/// The least number of points of a zone. A range reads the two zones at its ends value by value.
const MIN_ZONE_POINTS: u64 = 512;
const MAX_ZONES: u64 = 1024;
/// Zones are rebuilt once the number of changes exceeds the number of points divided by this.
const REBUILD_DIVISOR: u64 = 8;
/// Zones are built once unions without them have read this many times the points of the column: then reading has cost as
/// much as building them.
const BUILD_AFTER_SCANS: u64 = 2;

/// The zones of one version of a column, if they are built. Versions share the cache until they differ.
#[derive(Debug)]
pub(super) struct ZoneCache<K> {
    zones: OnceLock<Zones<K>>,
    /// Points and values that unions of this version have read without zones.
    scanned: AtomicU64,
}

impl<K> Default for ZoneCache<K> {
    fn default() -> Self {
        ZoneCache { zones: OnceLock::new(), scanned: AtomicU64::new(0) }
    }
}

impl<K: Ord + Clone> ZoneCache<K> {
    /// The points that hold values from `first` to `last`. `points` is how many points the column has.
    pub(super) fn union(&self, map: &OrdMap<K, Postings>, first: &K, last: &K, points: u64) -> PointSet {
        if first > last {
            return PointSet::new();
        }
        let zones = self.zones.get().or_else(|| {
            let is_due = self.scanned.load(Ordering::Relaxed)
                >= BUILD_AFTER_SCANS * points.max(MIN_ZONE_POINTS * FANOUT as u64);
            is_due.then(|| self.zones.get_or_init(|| Zones::new(map, points)))
        });
        if let Some(zones) = zones {
            return zones.union(map, first, last);
        }
        let (mut union, mut read) = (Union::default(), 0);
        for (_, postings) in map.range::<_, K>((Bound::Included(first), Bound::Included(last))) {
            read += 1 + postings.len();
            union.add(postings);
        }
        self.scanned.fetch_add(read, Ordering::Relaxed);
        union.finish()
    }

    /// Makes `cache` that of the column's next version, in which other points hold `key`.
    pub(super) fn changed<Q>(cache: &mut Arc<ZoneCache<K>>, key: &Q)
    where
        Q: Ord + ?Sized,
        K: Borrow<Q>,
    {
        if let Some(own) = Arc::get_mut(cache) {
            *own.scanned.get_mut() = 0;
            let needs_rebuild = own.zones.get_mut().is_some_and(|zones| zones.invalidate(key));
            if needs_rebuild {
                own.zones = OnceLock::new();
            }
            return;
        }
        let mut zones = cache.zones.get().cloned();
        let needs_rebuild = zones.as_mut().is_some_and(|zones| zones.invalidate(key));
        let zones = zones.filter(|_| !needs_rebuild).map(OnceLock::from).unwrap_or_default();
        *cache = Arc::new(ZoneCache { zones, scanned: AtomicU64::new(0) });
    }

    /// Bytes of the zones.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.zones.get().map_or(0, Zones::memory_bytes)
    }

    #[cfg(test)]
    pub(super) fn has_zones(&self) -> bool {
        self.zones.get().is_some()
    }
}

/// A column in zones of about equally many points. The parts of level 0 are the zones, and each part of a higher level covers
/// [`FANOUT`] parts of the level below. The union of a part is built when a range first needs it, and dropped by a change to
/// one of its values.
#[derive(Clone, Debug)]
struct Zones<K> {
    /// First value of each zone but the first. Answers are right for any ascending values.
    borders: Arc<[K]>,
    /// The unions by level and part. The last level has at most [`FANOUT`] parts.
    levels: Vec<Vec<OnceLock<Postings>>>,
    /// Changes until the zones are rebuilt.
    changes_left: u64,
}

impl<K: Ord + Clone> Zones<K> {
    fn new(map: &OrdMap<K, Postings>, points: u64) -> Zones<K> {
        let full = MIN_ZONE_POINTS.max(points.div_ceil(MAX_ZONES));
        let (mut borders, mut held) = (Vec::new(), 0);
        for (key, postings) in map {
            if held >= full && (borders.len() as u64) < MAX_ZONES {
                borders.push(key.clone());
                held = 0;
            }
            held += postings.len();
        }
        let mut levels = Vec::new();
        let mut parts = borders.len() + 1;
        loop {
            levels.push(vec![OnceLock::new(); parts]);
            if parts <= FANOUT {
                break;
            }
            parts = parts.div_ceil(FANOUT);
        }
        Zones { borders: borders.into(), levels, changes_left: points / REBUILD_DIVISOR }
    }

    /// Heap bytes that the borders refer to count for the column, which shares them.
    fn memory_bytes(&self) -> u64 {
        let parts = self.levels.iter().flatten();
        let made: u64 = parts.clone().filter_map(OnceLock::get).map(Weight::outside).sum();
        (size_of_val(&*self.borders) + parts.count() * size_of::<OnceLock<Postings>>()) as u64 + made
    }

    /// The number of the zone of a value.
    fn zone<Q>(&self, key: &Q) -> usize
    where
        Q: Ord + ?Sized,
        K: Borrow<Q>,
    {
        self.borders.partition_point(|border| border.borrow() <= key)
    }

    fn union(&self, map: &OrdMap<K, Postings>, first: &K, last: &K) -> PointSet {
        let (from, to) = (self.zone(first), self.zone(last));
        let mut union = Union::default();
        let mut read = |values: (Bound<&K>, Bound<&K>)| {
            map.range::<_, K>(values).for_each(|(_, postings)| union.add(postings));
        };
        if from == to {
            read((Bound::Included(first), Bound::Included(last)));
            return union.finish();
        }
        read((Bound::Included(first), Bound::Excluded(&self.borders[from])));
        read((Bound::Included(&self.borders[to - 1]), Bound::Included(last)));
        self.parts(from + 1..to).for_each(|(level, part)| union.add(self.part(map, level, part)));
        union.finish()
    }

    /// The fewest parts that cover exactly these zones, each as level and part.
    fn parts(&self, zones: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let mut parts = Vec::new();
        let Range { mut start, mut end } = zones;
        for (level, all) in self.levels.iter().enumerate() {
            let is_top = level + 1 == self.levels.len();
            while start < end && (is_top || !start.is_multiple_of(FANOUT)) {
                parts.push((level, start));
                start += 1;
            }
            while start < end && !end.is_multiple_of(FANOUT) && end != all.len() {
                end -= 1;
                parts.push((level, end));
            }
            if start >= end {
                break;
            }
            (start, end) = (start / FANOUT, end.div_ceil(FANOUT));
        }
        // The greatest first: they become bitmaps, to which the smaller ones are added fast.
        parts.into_iter().rev()
    }

    /// The union of a part, built if it is missing.
    fn part(&self, map: &OrdMap<K, Postings>, level: usize, part: usize) -> &Postings {
        let make = || {
            let mut union = Union::default();
            if level == 0 {
                let from = part.checked_sub(1).map(|before| &self.borders[before]);
                let to = self.borders.get(part);
                let values = (
                    from.map_or(Bound::Unbounded, Bound::Included),
                    to.map_or(Bound::Unbounded, Bound::Excluded),
                );
                map.range::<_, K>(values).for_each(|(_, postings)| union.add(postings));
            } else {
                let below = self.levels[level - 1].len();
                let parts = part * FANOUT..below.min((part + 1) * FANOUT);
                parts.for_each(|part| union.add(self.part(map, level - 1, part)));
            }
            Postings::Many(union.finish())
        };
        self.levels[level][part].get_or_init(make)
    }

    /// Drops the unions that have the value `key`. True if the zones have to be rebuilt: after many changes their sizes
    /// may differ much.
    fn invalidate<Q>(&mut self, key: &Q) -> bool
    where
        Q: Ord + ?Sized,
        K: Borrow<Q>,
    {
        let mut part = self.zone(key);
        for level in &mut self.levels {
            level[part] = OnceLock::new();
            part /= FANOUT;
        }
        self.changes_left = self.changes_left.saturating_sub(1);
        self.changes_left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::column::Column;
    use super::*;
    use crate::types::PointOffset;
    use proptest::prelude::*;

    /// The points that hold values within a range, collected value by value.
    fn read(column: &Column<i64>, first: i64, last: i64) -> PointSet {
        if first > last {
            return PointSet::new();
        }
        column.range(first..=last).flat_map(|(_, postings)| postings.iter()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_range_has_the_points_of_its_values_before_and_after_changes(
            values in 1i64..3_000,
            points in 1u32..30_000,
            ranges in prop::collection::vec((-10i64..3_010, -10i64..3_010), 40),
            changes in prop::collection::vec((0u32..40_000, 0i64..3_000, any::<bool>()), 40),
        ) {
            let mut column = Column::<i64>::default();
            for offset in 0..points {
                column.insert(&(i64::from(offset) * 7919 % values), PointOffset::new(offset));
                // One in five holds a second value.
                if offset % 5 == 0 {
                    column.insert(&(i64::from(offset) % values), PointOffset::new(offset));
                }
            }
            let mut versions = Vec::new();
            for ((first, last), (offset, value, inserts)) in ranges.into_iter().zip(changes) {
                let offset = PointOffset::new(offset);
                // Wide ranges until zones are built, then the one under test.
                for (first, last) in [(i64::MIN, i64::MAX), (i64::MIN, last), (first, i64::MAX), (first, last)] {
                    let found = column.union_within(first..=last, u64::from(points));
                    prop_assert_eq!(found, read(&column, first, last), "{}..={}", first, last);
                }
                versions.push(column.clone());
                if inserts {
                    column.insert(&value, offset);
                } else {
                    column.remove(&value, offset);
                }
                let version = &versions[versions.len() / 2];
                prop_assert_eq!(version.union_within(first..=last, 1), read(version, first, last));
            }
        }
    }

    #[test]
    fn zones_outlive_a_few_changes_and_are_rebuilt_after_many() {
        let mut column = Column::<i64>::default();
        let points = 20_000;
        (0..points).for_each(|number| column.insert(&i64::from(number), PointOffset::new(number)));
        let ask = |column: &Column<i64>| column.union_within(100..=15_000, u64::from(points)).len();
        for _ in 0..4 {
            assert_eq!(ask(&column), 14_901);
        }
        assert!(column.has_zones());
        let snapshot = column.clone();
        column.remove(&200, PointOffset::new(200));
        assert!(column.has_zones() && snapshot.has_zones());
        assert_eq!((ask(&column), ask(&snapshot)), (14_900, 14_901));
        (201..4_000).for_each(|number| column.remove(&i64::from(number), PointOffset::new(number)));
        assert!(!column.has_zones());
        assert_eq!((ask(&column), ask(&snapshot)), (11_101, 14_901));
    }
}
