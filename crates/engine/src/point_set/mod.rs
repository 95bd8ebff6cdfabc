//! Sets of points, of which a snapshot costs nothing and a change next to nothing.
//!
//! A set is cut into pieces of 65,536 neighbouring offsets, each a sorted list or, when it has many members, bits: the
//! layout of Roaring bitmaps (Lemire et al., "Roaring Bitmaps: Implementation of an Optimized Software Library", 2018).
//! Unlike those, sets share their pieces. So a change copies one piece (8 KiB at most) and a reference to each of the
//! others, however large the set is, and what an operation leaves as it was is not copied at all.

mod bits;
mod piece;
#[cfg(test)]
mod tests;

use crate::allocator;
pub use bits::Bits;
use piece::{Piece, PieceIter, WORDS};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Sub};
use std::slice;
use std::sync::Arc;

/// A set of points, by their offsets. A clone takes constant time and never changes.
#[derive(Clone, Default, PartialEq)]
pub struct PointSet {
    /// Ascending.
    pieces: Arc<Vec<Piece>>,
}

impl PointSet {
    /// The empty set.
    pub fn new() -> PointSet {
        PointSet::default()
    }

    /// The set of these offsets, ascending and without repeats.
    pub fn from_sorted(offsets: &[u32]) -> PointSet {
        debug_assert!(offsets.is_sorted_by(|one, next| one < next));
        let mut lower = Vec::new();
        let pieces = offsets.chunk_by(|one, next| one >> 16 == next >> 16).filter_map(|chunk| {
            lower.clear();
            lower.extend(chunk.iter().map(|&offset| offset as u16));
            Piece::from_sorted((chunk[0] >> 16) as u16, &lower)
        });
        pieces.collect()
    }

    /// The set of the offsets whose bits are set, from the lowest bit of the first word on.
    pub fn from_words(words: &[u64]) -> PointSet {
        let pieces = words.chunks(WORDS).zip(0..=u16::MAX).filter_map(|(chunk, key)| {
            let mut own = [0; WORDS];
            own[..chunk.len()].copy_from_slice(chunk);
            Piece::from_words(key, own)
        });
        pieces.collect()
    }

    /// Sets the bits of the offsets, in words that have room for them.
    ///
    /// # Panics
    /// When the words end before the set does.
    pub fn add_to_words(&self, words: &mut [u64]) {
        for piece in self.pieces.iter() {
            piece.add_to(&mut words[usize::from(piece.key) * WORDS..]);
        }
    }

    /// How many points.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| u64::from(piece.len())).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Whether a point is in the set.
    #[inline]
    pub fn contains(&self, offset: u32) -> bool {
        let (key, member) = split(offset);
        self.find(key).is_ok_and(|at| self.pieces[at].contains(member))
    }

    /// The smallest offset.
    pub fn min(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The greatest offset.
    pub fn max(&self) -> Option<u32> {
        self.pieces.last().map(|piece| join(piece.key, piece.max()))
    }

    /// The smallest offset that is no smaller than this one.
    pub fn at_or_after(&self, offset: u32) -> Option<u32> {
        let (key, member) = split(offset);
        let rest = match self.find(key) {
            Ok(at) => match self.pieces[at].at_or_after(member) {
                Some(member) => return Some(join(key, member)),
                None => at + 1,
            },
            Err(at) => at,
        };
        self.pieces.get(rest)?.iter().next().map(|member| join(self.pieces[rest].key, member))
    }

    /// The offset that so many are smaller than.
    pub fn nth(&self, rank: u32) -> Option<u32> {
        let mut left = rank;
        for piece in self.pieces.iter() {
            if left < piece.len() {
                return piece.nth(left).map(|member| join(piece.key, member));
            }
            left -= piece.len();
        }
        None
    }

    /// The offsets, ascending.
    pub fn iter(&self) -> Iter<'_> {
        Iter { pieces: self.pieces.iter(), base: 0, piece: None }
    }

    /// Adds a point; false if it was there.
    pub fn insert(&mut self, offset: u32) -> bool {
        let (key, member) = split(offset);
        match self.find(key) {
            Ok(at) => {
                let is_new = !self.pieces[at].contains(member);
                if is_new {
                    Arc::make_mut(&mut self.pieces)[at].insert(member);
                }
                is_new
            }
            Err(at) => {
                Arc::make_mut(&mut self.pieces).insert(at, Piece::one(key, member));
                true
            }
        }
    }

    /// Takes a point out; false if it was not there.
    pub fn remove(&mut self, offset: u32) -> bool {
        let (key, member) = split(offset);
        let Some(at) = self.find(key).ok().filter(|&at| self.pieces[at].contains(member)) else {
            return false;
        };
        let pieces = Arc::make_mut(&mut self.pieces);
        if pieces[at].len() == 1 {
            pieces.remove(at);
        } else {
            pieces[at].remove(member);
        }
        true
    }

    /// Bytes that the set takes outside of itself. What two sets share counts in both.
    pub fn memory_bytes(&self) -> u64 {
        let members: u64 = self.pieces.iter().map(Piece::memory_bytes).sum();
        allocator::shared_bytes(size_of::<Vec<Piece>>())
            + allocator::bytes(size_of_val(&self.pieces[..]))
            + members
    }

    /// Where the piece of a key is, or belongs.
    #[inline]
    fn find(&self, key: u16) -> Result<usize, usize> {
        // In a set without gaps it is at its number.
        match self.pieces.get(usize::from(key)) {
            Some(piece) if piece.key == key => Ok(usize::from(key)),
            _ => self.pieces.binary_search_by_key(&key, |piece| piece.key),
        }
    }

    /// Goes through the pieces of two sets, which are combined where both have one.
    fn combine(
        &self,
        other: &PointSet,
        keep: (bool, bool),
        combine: impl Fn(&Piece, &Piece) -> Option<Piece>,
    ) -> PointSet {
        let (mut one, mut two) = (self.pieces.iter().peekable(), other.pieces.iter().peekable());
        let mut pieces = Vec::with_capacity(self.pieces.len());
        loop {
            let order = match (one.peek(), two.peek()) {
                (Some(first), Some(second)) => first.key.cmp(&second.key),
                (Some(_), None) if keep.0 => Ordering::Less,
                (None, Some(_)) if keep.1 => Ordering::Greater,
                _ => break,
            };
            match order {
                Ordering::Less => pieces.extend(one.next().filter(|_| keep.0).cloned()),
                Ordering::Greater => pieces.extend(two.next().filter(|_| keep.1).cloned()),
                Ordering::Equal => {
                    pieces.extend(one.next().zip(two.next()).and_then(|(one, two)| combine(one, two)))
                }
            }
        }
        PointSet { pieces: Arc::new(pieces) }
    }
}

fn split(offset: u32) -> (u16, u16) {
    ((offset >> 16) as u16, offset as u16)
}

fn join(key: u16, member: u16) -> u32 {
    u32::from(key) << 16 | u32::from(member)
}

impl FromIterator<Piece> for PointSet {
    fn from_iter<I: IntoIterator<Item = Piece>>(pieces: I) -> PointSet {
        PointSet { pieces: Arc::new(pieces.into_iter().collect()) }
    }
}

impl FromIterator<u32> for PointSet {
    /// The set of these offsets, in any order.
    fn from_iter<I: IntoIterator<Item = u32>>(offsets: I) -> PointSet {
        let mut offsets: Vec<u32> = offsets.into_iter().collect();
        if !offsets.is_sorted_by(|one, next| one < next) {
            offsets.sort_unstable();
            offsets.dedup();
        }
        PointSet::from_sorted(&offsets)
    }
}

impl<const N: usize> From<[u32; N]> for PointSet {
    fn from(offsets: [u32; N]) -> PointSet {
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
        self.combine(other, (false, false), Piece::and)
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
        self.combine(other, (true, false), Piece::minus)
    }
}

impl BitAndAssign<&PointSet> for PointSet {
    fn bitand_assign(&mut self, other: &PointSet) {
        *self = &*self & other;
    }
}

impl BitOrAssign<&PointSet> for PointSet {
    /// Takes the points of another set in; where a piece is not shared, without a copy of it.
    fn bitor_assign(&mut self, other: &PointSet) {
        if other.pieces.iter().any(|piece| self.find(piece.key).is_err()) {
            *self = &*self | other;
            return;
        }
        for piece in other.pieces.iter() {
            if let Ok(at) = self.find(piece.key) {
                Arc::make_mut(&mut self.pieces)[at].add(piece);
            }
        }
    }
}

impl<'a> IntoIterator for &'a PointSet {
    type Item = u32;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The offsets of a set, ascending.
#[derive(Clone)]
pub struct Iter<'a> {
    pieces: slice::Iter<'a, Piece>,
    /// The smallest offset that the piece may have.
    base: u32,
    piece: Option<PieceIter<'a>>,
}

impl Iterator for Iter<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(member) = self.piece.as_mut().and_then(Iterator::next) {
                return Some(self.base | u32::from(member));
            }
            let piece = self.pieces.next()?;
            self.base = join(piece.key, 0);
            self.piece = Some(piece.iter());
        }
    }
}
