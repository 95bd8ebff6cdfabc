//! Sets of points with cheap snapshots and cheap changes.
//!
//! A set consists of containers of 65,536 neighbouring offsets. A container is a sorted array or, when it has many members, a
//! bitmap: the layout of Roaring bitmaps (Lemire et al., "Roaring Bitmaps: Implementation of an Optimized Software
//! Library", 2018). Unlike Roaring bitmaps, sets share their containers. A change copies one container (8 KiB at most) and a
//! reference to each of the others, whatever the size of the set. The result of an operation shares the containers
//! that it leaves unchanged.

mod array;
mod bitmap;
mod bits;
mod container;
#[cfg(test)]
mod tests;

use crate::allocator;
use crate::types::PointOffset;
use bitmap::WORDS;
pub use bits::Bits;
use container::{Container, ContainerIter, Place};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub};
use std::slice;
use std::sync::Arc;

/// 2³² divided by the golden ratio: its multiples are spread evenly over all numbers of 32 bits (Weyl's sequence).
const SCATTERING: u32 = 0x9e37_79b9;

/// A set of points, by their offsets. A clone takes constant time, and changes of one do not affect the other.
#[derive(Clone, Default, PartialEq)]
pub struct PointSet {
    /// Ascending by their keys.
    containers: Arc<Vec<Container>>,
}

impl PointSet {
    /// The empty set.
    pub fn new() -> PointSet {
        PointSet::default()
    }

    /// The set of these offsets, which are ascending and distinct.
    pub fn from_sorted(offsets: &[PointOffset]) -> PointSet {
        debug_assert!(offsets.is_sorted_by(|one, next| one < next));
        let mut lower = Vec::new();
        let containers = offsets.chunk_by(|one, next| split(*one).0 == split(*next).0).filter_map(|chunk| {
            lower.clear();
            lower.extend(chunk.iter().map(|&offset| split(offset).1));
            Container::from_sorted(split(chunk[0]).0, &lower)
        });
        containers.collect()
    }

    /// The set of the offsets whose bits are set. Bit 0 of the first word is offset 0.
    pub fn from_words(words: &[u64]) -> PointSet {
        let containers = words.chunks(WORDS).zip(0..=u16::MAX).filter_map(|(chunk, key)| {
            let mut own = [0; WORDS];
            own[..chunk.len()].copy_from_slice(chunk);
            Container::from_words(key, own)
        });
        containers.collect()
    }

    /// Sets the bits of the offsets. Bit 0 of the first word is offset 0. The greatest offset must have
    /// a bit in `words`.
    pub fn add_to_words(&self, words: &mut [u64]) {
        for container in self.containers.iter() {
            container.add_to(&mut words[usize::from(container.key) * WORDS..]);
        }
    }

    /// The set of the offsets of these numbers.
    #[cfg(test)]
    pub(crate) fn of(numbers: impl IntoIterator<Item = u32>) -> PointSet {
        numbers.into_iter().map(PointOffset::new).collect()
    }

    /// The offsets as numbers, ascending.
    #[cfg(test)]
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.iter().map(PointOffset::get).collect()
    }

    /// How many points.
    pub fn len(&self) -> u64 {
        self.containers.iter().map(|container| u64::from(container.len())).sum()
    }

    /// How many points are also in a set of which there are the bits.
    pub fn count_in(&self, bits: &Bits) -> u64 {
        self.containers.iter().map(|container| u64::from(container.count_in(bits.words(container.key)))).sum()
    }

    /// Whether the set has no points.
    pub fn is_empty(&self) -> bool {
        self.containers.is_empty()
    }

    /// Whether a point is in the set.
    #[inline]
    pub fn contains(&self, offset: PointOffset) -> bool {
        let (key, member) = split(offset);
        self.find(key).is_ok_and(|at| self.containers[at].contains(member))
    }

    /// The smallest offset.
    pub fn min(&self) -> Option<PointOffset> {
        self.iter().next()
    }

    /// The greatest offset.
    pub fn max(&self) -> Option<PointOffset> {
        self.containers.last().map(|container| join(container.key, container.max()))
    }

    /// The smallest offset that is equal to this one or greater.
    pub fn at_or_after(&self, offset: PointOffset) -> Option<PointOffset> {
        let (key, member) = split(offset);
        let rest = match self.find(key) {
            Ok(at) => match self.containers[at].at_or_after(member) {
                Some(member) => return Some(join(key, member)),
                None => at + 1,
            },
            Err(at) => at,
        };
        self.containers.get(rest)?.iter().next().map(|member| join(self.containers[rest].key, member))
    }

    /// The offset that has `rank` smaller ones.
    pub fn nth(&self, rank: u32) -> Option<PointOffset> {
        let mut left = rank;
        for container in self.containers.iter() {
            if left < container.len() {
                return container.nth(left).map(|member| join(container.key, member));
            }
            left -= container.len();
        }
        None
    }

    /// The offsets that have so many smaller ones, for ascending ranks; those beyond the last offset are left out.
    pub fn at_ranks(&self, ranks: impl IntoIterator<Item = u32>) -> Vec<PointOffset> {
        let mut containers = self.containers.iter();
        let (mut current, mut before, mut place) = (containers.next(), 0, Place::default());
        let at = |rank: u32| {
            loop {
                let container = current?;
                let within = rank - before;
                if within < container.len() {
                    let member = container.nth_from(&mut place, within);
                    return member.map(|member| join(container.key, member));
                }
                before += container.len();
                (current, place) = (containers.next(), Place::default());
            }
        };
        ranks.into_iter().map_while(at).collect()
    }

    /// So many offsets, ascending and evenly spread over all that are in the set; one may come twice. All of them where there
    /// are no more.
    pub fn sample(&self, count: u32) -> Vec<PointOffset> {
        let all = self.len();
        if all <= u64::from(count) {
            return self.iter().collect();
        }
        self.at_ranks((0..count).map(|place| {
            // At a varying position in the step, so that the sample is fair for points that were written in turns.
            let exact = (u64::from(place) << 32) | u64::from(place.wrapping_mul(SCATTERING));
            ((u128::from(exact) * u128::from(all) / u128::from(count)) >> 32) as u32
        }))
    }

    /// The offsets, ascending.
    pub fn iter(&self) -> Iter<'_> {
        Iter { containers: self.containers.iter(), key: 0, container: None }
    }

    /// Adds a point. False if the set had it already.
    pub fn insert(&mut self, offset: PointOffset) -> bool {
        let (key, member) = split(offset);
        match self.find(key) {
            Ok(at) => {
                let is_new = !self.containers[at].contains(member);
                if is_new {
                    Arc::make_mut(&mut self.containers)[at].insert(member);
                }
                is_new
            }
            Err(at) => {
                Arc::make_mut(&mut self.containers).insert(at, Container::one(key, member));
                true
            }
        }
    }

    /// Removes a point. False if the set did not have it.
    pub fn remove(&mut self, offset: PointOffset) -> bool {
        let (key, member) = split(offset);
        let Some(at) = self.find(key).ok().filter(|&at| self.containers[at].contains(member)) else {
            return false;
        };
        let containers = Arc::make_mut(&mut self.containers);
        if containers[at].len() == 1 {
            containers.remove(at);
        } else {
            containers[at].remove(member);
        }
        true
    }

    /// Bytes of the set on the heap. Shared containers count in each set.
    pub fn memory_bytes(&self) -> u64 {
        let members: u64 = self.containers.iter().map(Container::memory_bytes).sum();
        allocator::shared_bytes(size_of::<Vec<Container>>())
            + allocator::bytes(size_of_val(&self.containers[..]))
            + members
    }

    /// The position of the container of a key, or where it would be inserted.
    #[inline]
    fn find(&self, key: u16) -> Result<usize, usize> {
        // In a set without gaps the key is the position.
        match self.containers.get(usize::from(key)) {
            Some(container) if container.key == key => Ok(usize::from(key)),
            _ => self.containers.binary_search_by_key(&key, |container| container.key),
        }
    }

    /// Merges the containers of two sets by key: `combine` is applied where both have one, and `keep` says whether those
    /// that only the first or only the second has are kept.
    fn combine(
        &self,
        other: &PointSet,
        keep: (bool, bool),
        combine: impl Fn(&Container, &Container) -> Option<Container>,
    ) -> PointSet {
        let (mut one, mut two) = (self.containers.iter().peekable(), other.containers.iter().peekable());
        let mut containers = Vec::with_capacity(self.containers.len());
        loop {
            let order = match (one.peek(), two.peek()) {
                (Some(first), Some(second)) => first.key.cmp(&second.key),
                (Some(_), None) if keep.0 => Ordering::Less,
                (None, Some(_)) if keep.1 => Ordering::Greater,
                _ => break,
            };
            match order {
                Ordering::Less => containers.extend(one.next().filter(|_| keep.0).cloned()),
                Ordering::Greater => containers.extend(two.next().filter(|_| keep.1).cloned()),
                Ordering::Equal => {
                    containers.extend(one.next().zip(two.next()).and_then(|(one, two)| combine(one, two)))
                }
            }
        }
        PointSet { containers: Arc::new(containers) }
    }
}

/// The key of an offset's container, and the offset's member in it.
#[inline(always)]
fn split(offset: PointOffset) -> (u16, u16) {
    ((offset.get() >> 16) as u16, offset.get() as u16)
}

/// The offset of a member of the container of a key.
#[inline(always)]
fn join(key: u16, member: u16) -> PointOffset {
    PointOffset::new(u32::from(key) << 16 | u32::from(member))
}

impl FromIterator<Container> for PointSet {
    fn from_iter<I: IntoIterator<Item = Container>>(containers: I) -> PointSet {
        PointSet { containers: Arc::new(containers.into_iter().collect()) }
    }
}

impl FromIterator<PointOffset> for PointSet {
    /// The set of these offsets, in any order.
    fn from_iter<I: IntoIterator<Item = PointOffset>>(offsets: I) -> PointSet {
        let mut offsets: Vec<PointOffset> = offsets.into_iter().collect();
        if !offsets.is_sorted_by(|one, next| one < next) {
            offsets.sort_unstable();
            offsets.dedup();
        }
        PointSet::from_sorted(&offsets)
    }
}

impl<const N: usize> From<[PointOffset; N]> for PointSet {
    fn from(offsets: [PointOffset; N]) -> PointSet {
        offsets.into_iter().collect()
    }
}

impl fmt::Debug for PointSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl BitAnd for &PointSet {
    type Output = PointSet;

    fn bitand(self, other: &PointSet) -> PointSet {
        self.combine(other, (false, false), Container::and)
    }
}

impl BitOr for &PointSet {
    type Output = PointSet;

    fn bitor(self, other: &PointSet) -> PointSet {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        self.combine(other, (true, true), |one, two| Some(one.or(two)))
    }
}

impl Sub for &PointSet {
    type Output = PointSet;

    fn sub(self, other: &PointSet) -> PointSet {
        if other.is_empty() {
            return self.clone();
        }
        self.combine(other, (true, false), Container::minus)
    }
}

impl BitAndAssign<&PointSet> for PointSet {
    fn bitand_assign(&mut self, other: &PointSet) {
        *self = &*self & other;
    }
}

impl BitOrAssign<&PointSet> for PointSet {
    /// Adds the points of another set. Unshared containers are changed in place.
    fn bitor_assign(&mut self, other: &PointSet) {
        if other.containers.iter().any(|container| self.find(container.key).is_err()) {
            *self = &*self | other;
            return;
        }
        for container in other.containers.iter() {
            if let Ok(at) = self.find(container.key) {
                Arc::make_mut(&mut self.containers)[at].add(container);
            }
        }
    }
}

impl<'a> IntoIterator for &'a PointSet {
    type Item = PointOffset;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Iterator over the offsets of a set, ascending.
#[derive(Clone)]
pub struct Iter<'a> {
    containers: slice::Iter<'a, Container>,
    /// The key of the current container.
    key: u16,
    container: Option<ContainerIter<'a>>,
}

impl Iterator for Iter<'_> {
    type Item = PointOffset;

    #[inline]
    fn next(&mut self) -> Option<PointOffset> {
        loop {
            if let Some(member) = self.container.as_mut().and_then(Iterator::next) {
                return Some(join(self.key, member));
            }
            let container = self.containers.next()?;
            self.key = container.key;
            self.container = Some(container.iter());
        }
    }
}
