//! The members of a set among 65,536 neighbouring offsets.

use crate::allocator;
use std::slice;
use std::sync::Arc;

/// Offsets that share their upper half.
const SPAN: usize = 1 << 16;
/// Words of 64 bits that make a piece.
pub(super) const WORDS: usize = SPAN / 64;
/// So many members at most are kept as a list. Roaring bitmaps have lists up to four times as long, where these take no
/// more memory than bits; but the union of thousands of values is then mostly work on lists.
pub(super) const MAX_LIST: usize = 1024;
/// Of two lists, one so many times as long as the other is searched rather than read.
const LONGER: usize = 16;

/// A bit for each offset.
pub(super) type Words = [u64; WORDS];

/// A piece of a set, never empty. Clones share what they hold until one of them changes.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The upper half of the offsets.
    pub key: u16,
    len: u32,
    members: Members,
}

/// Lower halves of offsets: a list of up to [`MAX_LIST`], or else bits.
#[derive(Clone, Debug)]
enum Members {
    /// Ascending.
    List(Arc<[u16]>),
    Bits(Arc<Words>),
}

impl PartialEq for Piece {
    fn eq(&self, other: &Piece) -> bool {
        self.key == other.key
            && self.len == other.len
            && match (&self.members, &other.members) {
                (Members::List(one), Members::List(other)) => one == other,
                (Members::Bits(one), Members::Bits(other)) => Arc::ptr_eq(one, other) || one == other,
                _ => false,
            }
    }
}

impl Piece {
    pub fn one(key: u16, member: u16) -> Piece {
        Piece::from_list(key, &[member])
    }

    /// Ascending members, at least one and at most [`MAX_LIST`].
    fn from_list(key: u16, list: &[u16]) -> Piece {
        Piece { key, len: list.len() as u32, members: Members::List(list.into()) }
    }

    /// Ascending members, if there are any.
    pub fn from_sorted(key: u16, members: &[u16]) -> Option<Piece> {
        match members.len() {
            0 => None,
            1..=MAX_LIST => Some(Piece::from_list(key, members)),
            len => Some(Piece { key, len: len as u32, members: Members::Bits(Arc::new(bits_of(members))) }),
        }
    }

    /// The members whose bits are set, if there are any.
    pub fn from_words(key: u16, words: Words) -> Option<Piece> {
        let len = count(&words);
        Piece::from_counted(key, words, len)
    }

    fn from_counted(key: u16, words: Words, len: u32) -> Option<Piece> {
        match len {
            0 => None,
            _ if len as usize <= MAX_LIST => {
                let list: Vec<u16> = BitIter::new(&words).collect();
                Some(Piece::from_list(key, &list))
            }
            _ => Some(Piece { key, len, members: Members::Bits(Arc::new(words)) }),
        }
    }

    pub fn len(&self) -> u32 {
        self.len
    }

    fn is_full(&self) -> bool {
        self.len as usize == SPAN
    }

    pub fn is_same(&self, other: &Piece) -> bool {
        match (&self.members, &other.members) {
            (Members::List(one), Members::List(other)) => Arc::ptr_eq(one, other),
            (Members::Bits(one), Members::Bits(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    #[inline]
    pub fn contains(&self, member: u16) -> bool {
        match &self.members {
            Members::List(list) => list.binary_search(&member).is_ok(),
            Members::Bits(words) => has(words, member),
        }
    }

    /// The smallest member that is no smaller than this one.
    pub fn at_or_after(&self, member: u16) -> Option<u16> {
        match &self.members {
            Members::List(list) => list.get(list.partition_point(|&one| one < member)).copied(),
            Members::Bits(words) => {
                let first = usize::from(member) / 64;
                let head = words[first] & (u64::MAX << (member % 64));
                let rest = words[first + 1..].iter().copied();
                let (at, word) =
                    (first..).zip(std::iter::once(head).chain(rest)).find(|(_, word)| *word != 0)?;
                Some((at * 64) as u16 + word.trailing_zeros() as u16)
            }
        }
    }

    pub fn max(&self) -> u16 {
        match &self.members {
            Members::List(list) => list[list.len() - 1],
            Members::Bits(words) => {
                let at = words.iter().rposition(|word| *word != 0).expect("a piece is not empty");
                (at * 64) as u16 + 63 - words[at].leading_zeros() as u16
            }
        }
    }

    /// The member that so many are smaller than.
    pub fn nth(&self, rank: u32) -> Option<u16> {
        match &self.members {
            Members::List(list) => list.get(rank as usize).copied(),
            Members::Bits(words) => {
                let mut left = rank;
                for (at, word) in words.iter().enumerate() {
                    if left < word.count_ones() {
                        let rest = (0..left).fold(*word, |word, _| word & (word - 1));
                        return Some((at * 64) as u16 + rest.trailing_zeros() as u16);
                    }
                    left -= word.count_ones();
                }
                None
            }
        }
    }

    pub fn iter(&self) -> PieceIter<'_> {
        match &self.members {
            Members::List(list) => PieceIter::List(list.iter()),
            Members::Bits(words) => PieceIter::Bits(BitIter::new(words)),
        }
    }

    /// The members as bits; without a copy where they are kept so.
    pub fn to_words(&self) -> Arc<Words> {
        match &self.members {
            Members::List(list) => Arc::new(bits_of(list)),
            Members::Bits(words) => Arc::clone(words),
        }
    }

    /// Sets the bits of the members.
    pub fn add_to(&self, words: &mut [u64]) {
        match &self.members {
            Members::List(list) => list.iter().for_each(|&member| set(words, member)),
            Members::Bits(own) => words.iter_mut().zip(&**own).for_each(|(word, own)| *word |= own),
        }
    }

    /// Adds a member that it does not have.
    pub fn insert(&mut self, member: u16) {
        match &mut self.members {
            Members::List(list) => {
                let at = list.partition_point(|&one| one < member);
                let longer = [&list[..at], &[member], &list[at..]].concat();
                *self = Piece::from_sorted(self.key, &longer).expect("it has the new member");
            }
            Members::Bits(words) => {
                set(&mut Arc::make_mut(words)[..], member);
                self.len += 1;
            }
        }
    }

    /// Takes out one of at least two members.
    pub fn remove(&mut self, member: u16) {
        match &mut self.members {
            Members::Bits(words) if self.len as usize > MAX_LIST + 1 => {
                clear(Arc::make_mut(words), member);
                self.len -= 1;
            }
            _ => *self = self.minus(&Piece::one(self.key, member)).expect("another member is left"),
        }
    }

    /// What both have.
    pub fn and(&self, other: &Piece) -> Option<Piece> {
        if self.is_same(other) || other.is_full() {
            return Some(self.clone());
        }
        if self.is_full() {
            return Some(other.clone());
        }
        match (&self.members, &other.members) {
            (Members::List(one), Members::List(two)) if one.len() > two.len() => other.and(self),
            (Members::List(one), Members::List(two)) => self.only(common(one, two)),
            (Members::List(one), Members::Bits(words)) => {
                self.only(one.iter().copied().filter(|&member| has(words, member)).collect())
            }
            (Members::Bits(_), Members::List(_)) => other.and(self),
            (Members::Bits(one), Members::Bits(two)) => {
                self.shared_or_new(other, each_word(one, two, |one, two| one & two))
            }
        }
    }

    /// What any of the two has.
    pub fn or(&self, other: &Piece) -> Piece {
        if self.is_same(other) || self.is_full() {
            return self.clone();
        }
        if other.is_full() {
            return other.clone();
        }
        match (&self.members, &other.members) {
            (Members::List(one), Members::List(two)) => {
                let both = merged(one, two);
                Piece::from_sorted(self.key, &both).expect("neither is empty")
            }
            (Members::List(_), Members::Bits(_)) => other.or(self),
            (Members::Bits(words), Members::List(list)) => {
                let added = list.iter().filter(|&&member| !has(words, member)).count() as u32;
                if added == 0 {
                    return self.clone();
                }
                let mut words = **words;
                list.iter().for_each(|&member| set(&mut words, member));
                Piece { key: self.key, len: self.len + added, members: Members::Bits(Arc::new(words)) }
            }
            (Members::Bits(one), Members::Bits(two)) => {
                let words = each_word(one, two, |one, two| one | two);
                self.shared_or_new(other, words).expect("neither is empty")
            }
        }
    }

    /// What this one has and the other has not.
    pub fn minus(&self, other: &Piece) -> Option<Piece> {
        if self.is_same(other) || other.is_full() {
            return None;
        }
        match (&self.members, &other.members) {
            (Members::List(list), Members::Bits(words)) => {
                self.only(list.iter().copied().filter(|&member| !has(words, member)).collect())
            }
            (Members::List(list), Members::List(gone)) => {
                let mut is_gone = asked_in_order(gone);
                self.only(list.iter().copied().filter(|&member| !is_gone(member)).collect())
            }
            (Members::Bits(words), Members::List(gone)) => {
                let removed = gone.iter().filter(|&&member| has(words, member)).count() as u32;
                if removed == 0 {
                    return Some(self.clone());
                }
                let mut words = **words;
                gone.iter().for_each(|&member| clear(&mut words, member));
                Piece::from_counted(self.key, words, self.len - removed)
            }
            (Members::Bits(one), Members::Bits(two)) => {
                self.shared_or_new(self, each_word(one, two, |one, two| one & !two))
            }
        }
    }

    /// A part of a list.
    fn only(&self, part: Vec<u16>) -> Option<Piece> {
        if part.len() == self.len as usize { Some(self.clone()) } else { Piece::from_sorted(self.key, &part) }
    }

    /// The members whose bits are set: all that any of the two has, or only what both have. If that is what one of them
    /// has anyway, it is not kept twice.
    fn shared_or_new(&self, other: &Piece, words: Words) -> Option<Piece> {
        let len = count(&words);
        match [self, other].into_iter().find(|piece| piece.len == len) {
            Some(piece) => Some(piece.clone()),
            None => Piece::from_counted(self.key, words, len),
        }
    }

    /// Takes the members of another piece of the same key in.
    pub fn add(&mut self, other: &Piece) {
        let own = match &mut self.members {
            Members::Bits(own) if !other.is_full() => Arc::get_mut(own),
            _ => None,
        };
        match own {
            Some(own) => {
                other.add_to(own);
                self.len = count(own);
            }
            None => *self = self.or(other),
        }
    }

    /// Bytes that the piece takes outside of itself.
    pub fn memory_bytes(&self) -> u64 {
        allocator::shared_bytes(match &self.members {
            Members::List(list) => size_of_val(&**list),
            Members::Bits(_) => size_of::<Words>(),
        })
    }
}

/// The members of a piece, ascending.
#[derive(Clone)]
pub(super) enum PieceIter<'a> {
    List(slice::Iter<'a, u16>),
    Bits(BitIter<'a>),
}

impl Iterator for PieceIter<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        match self {
            PieceIter::List(list) => list.next().copied(),
            PieceIter::Bits(bits) => bits.next(),
        }
    }
}

/// The places of the bits that are set, ascending.
#[derive(Clone)]
pub(super) struct BitIter<'a> {
    words: &'a Words,
    at: usize,
    /// What is left of the word there.
    word: u64,
}

impl<'a> BitIter<'a> {
    fn new(words: &'a Words) -> BitIter<'a> {
        BitIter { words, at: 0, word: words[0] }
    }
}

impl Iterator for BitIter<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        while self.word == 0 {
            self.at += 1;
            self.word = *self.words.get(self.at)?;
        }
        let member = (self.at * 64) as u16 + self.word.trailing_zeros() as u16;
        self.word &= self.word - 1;
        Some(member)
    }
}

#[inline(always)]
pub(super) fn has(words: &Words, member: u16) -> bool {
    words[usize::from(member) / 64] >> (member % 64) & 1 == 1
}

fn set(words: &mut [u64], member: u16) {
    words[usize::from(member) / 64] |= 1 << (member % 64);
}

fn clear(words: &mut Words, member: u16) {
    words[usize::from(member) / 64] &= !(1 << (member % 64));
}

fn bits_of(members: &[u16]) -> Words {
    let mut words = [0; WORDS];
    members.iter().for_each(|&member| set(&mut words, member));
    words
}

fn count(words: &Words) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

fn each_word(one: &Words, two: &Words, combine: impl Fn(u64, u64) -> u64) -> Words {
    let mut words = [0; WORDS];
    words.iter_mut().zip(one.iter().zip(two)).for_each(|(word, (one, two))| *word = combine(*one, *two));
    words
}

/// What two ascending lists have in common, the first being no longer than the second.
fn common(one: &[u16], two: &[u16]) -> Vec<u16> {
    if one.len() * LONGER < two.len() {
        return one.iter().copied().filter(|member| two.binary_search(member).is_ok()).collect();
    }
    let mut is_in_both = asked_in_order(two);
    one.iter().copied().filter(|&member| is_in_both(member)).collect()
}

/// Whether an ascending list has a member, for members that are asked for in ascending order.
fn asked_in_order(list: &[u16]) -> impl FnMut(u16) -> bool {
    let mut rest = list.iter().peekable();
    move |member| {
        while rest.next_if(|other| **other < member).is_some() {}
        rest.peek() == Some(&&member)
    }
}

/// Two ascending lists in one.
fn merged(one: &[u16], two: &[u16]) -> Vec<u16> {
    let mut both = Vec::with_capacity(one.len() + two.len());
    let (mut one, mut two) = (one.iter().peekable(), two.iter().peekable());
    while let (Some(&&first), Some(&&second)) = (one.peek(), two.peek()) {
        both.push(first.min(second));
        one.next_if(|_| first <= second);
        two.next_if(|_| second <= first);
    }
    both.extend(one);
    both.extend(two);
    both
}
