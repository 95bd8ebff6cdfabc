//! The members of a set among 65,536 neighbouring offsets: an array or a bitmap.

use super::array::{in_order, intersection, union};
use super::bitmap::{BitIter, Bitmap, bits_of, clear, count, each_word, has, set};
use crate::allocator;
use std::slice;
use std::sync::Arc;

/// Offsets of a container. They share their upper 16 bits.
pub(super) const SPAN: usize = 1 << 16;
/// The greatest number of members of an array. Roaring bitmaps have arrays of up to 4,096 members, which take no more memory
/// than a bitmap. But with long arrays the union of thousands of values is mostly work on arrays, which is slow.
pub(super) const MAX_ARRAY: usize = 1024;

/// A container. It is never empty. Clones share their members until one of them changes.
#[derive(Clone, Debug)]
pub(super) struct Container {
    /// The upper 16 bits of the offsets.
    pub key: u16,
    len: u32,
    members: Members,
}

/// The lower 16 bits of the offsets. Up to [`MAX_ARRAY`] members are an array and more are a bitmap, so equal sets have
/// equal representations.
#[derive(Clone, Debug)]
enum Members {
    /// Ascending.
    Array(Arc<[u16]>),
    Bitmap(Arc<Bitmap>),
}

impl PartialEq for Container {
    fn eq(&self, other: &Container) -> bool {
        self.key == other.key
            && self.len == other.len
            && match (&self.members, &other.members) {
                (Members::Array(one), Members::Array(other)) => one == other,
                (Members::Bitmap(one), Members::Bitmap(other)) => Arc::ptr_eq(one, other) || one == other,
                _ => false,
            }
    }
}

/// A word of a bitmap, and how many members are before it.
#[derive(Default)]
pub struct Place {
    word: usize,
    before: u32,
}

impl Container {
    /// A container of one member.
    pub fn one(key: u16, member: u16) -> Container {
        Container::from_array(key, &[member])
    }

    /// A container of ascending members, at least one and at most [`MAX_ARRAY`].
    fn from_array(key: u16, array: &[u16]) -> Container {
        Container { key, len: array.len() as u32, members: Members::Array(array.into()) }
    }

    /// A container of ascending members; `None` if there are none.
    pub fn from_sorted(key: u16, members: &[u16]) -> Option<Container> {
        match members.len() {
            0 => None,
            1..=MAX_ARRAY => Some(Container::from_array(key, members)),
            len => {
                Some(Container { key, len: len as u32, members: Members::Bitmap(Arc::new(bits_of(members))) })
            }
        }
    }

    /// A container of the members whose bits are set; `None` if there are none.
    pub fn from_words(key: u16, words: Bitmap) -> Option<Container> {
        let len = count(&words);
        Container::from_counted(key, words, len)
    }

    /// As [`Container::from_words`], with the number of bits that are set.
    fn from_counted(key: u16, words: Bitmap, len: u32) -> Option<Container> {
        match len {
            0 => None,
            _ if len as usize <= MAX_ARRAY => {
                let array: Vec<u16> = BitIter::new(&words).collect();
                Some(Container::from_array(key, &array))
            }
            _ => Some(Container { key, len, members: Members::Bitmap(Arc::new(words)) }),
        }
    }

    /// How many members.
    pub fn len(&self) -> u32 {
        self.len
    }

    fn is_full(&self) -> bool {
        self.len as usize == SPAN
    }

    /// Whether the two share the memory of their members.
    pub fn is_same(&self, other: &Container) -> bool {
        match (&self.members, &other.members) {
            (Members::Array(one), Members::Array(other)) => Arc::ptr_eq(one, other),
            (Members::Bitmap(one), Members::Bitmap(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Whether a member is in the container.
    #[inline]
    pub fn contains(&self, member: u16) -> bool {
        match &self.members {
            Members::Array(array) => array.binary_search(&member).is_ok(),
            Members::Bitmap(words) => has(words, member),
        }
    }

    /// How many members have their bit set.
    pub fn count_in(&self, words: &Bitmap) -> u32 {
        match &self.members {
            Members::Array(array) => array.iter().map(|&member| u32::from(has(words, member))).sum(),
            Members::Bitmap(own) => own.iter().zip(words).map(|(one, two)| (one & two).count_ones()).sum(),
        }
    }

    /// The smallest member that is no smaller than this one.
    pub fn at_or_after(&self, member: u16) -> Option<u16> {
        match &self.members {
            Members::Array(array) => array.get(array.partition_point(|&one| one < member)).copied(),
            Members::Bitmap(words) => {
                let first = usize::from(member) / 64;
                let head = words[first] & (u64::MAX << (member % 64));
                let rest = words[first + 1..].iter().copied();
                let (at, word) =
                    (first..).zip(std::iter::once(head).chain(rest)).find(|(_, word)| *word != 0)?;
                Some((at * 64) as u16 + word.trailing_zeros() as u16)
            }
        }
    }

    /// The greatest member.
    pub fn max(&self) -> u16 {
        match &self.members {
            Members::Array(array) => array[array.len() - 1],
            Members::Bitmap(words) => {
                let at = words.iter().rposition(|word| *word != 0).expect("a container is not empty");
                (at * 64) as u16 + 63 - words[at].leading_zeros() as u16
            }
        }
    }

    /// The member that has `rank` smaller ones.
    pub fn nth(&self, rank: u32) -> Option<u16> {
        self.nth_from(&mut Place::default(), rank)
    }

    /// As [`Container::nth`], from where the search for a rank that was not greater has ended.
    pub fn nth_from(&self, place: &mut Place, rank: u32) -> Option<u16> {
        match &self.members {
            Members::Array(array) => array.get(rank as usize).copied(),
            Members::Bitmap(words) => loop {
                let word = *words.get(place.word)?;
                let left = rank - place.before;
                if left < word.count_ones() {
                    let rest = (0..left).fold(word, |word, _| word & (word - 1));
                    return Some((place.word * 64) as u16 + rest.trailing_zeros() as u16);
                }
                place.before += word.count_ones();
                place.word += 1;
            },
        }
    }

    /// The members, ascending.
    pub fn iter(&self) -> ContainerIter<'_> {
        match &self.members {
            Members::Array(array) => ContainerIter::Array(array.iter()),
            Members::Bitmap(words) => ContainerIter::Bitmap(BitIter::new(words)),
        }
    }

    /// The members as a bitmap, which is shared where they are one.
    pub fn to_words(&self) -> Arc<Bitmap> {
        match &self.members {
            Members::Array(array) => Arc::new(bits_of(array)),
            Members::Bitmap(words) => Arc::clone(words),
        }
    }

    /// Sets the bits of the members.
    pub fn add_to(&self, words: &mut [u64]) {
        match &self.members {
            Members::Array(array) => array.iter().for_each(|&member| set(words, member)),
            Members::Bitmap(own) => words.iter_mut().zip(&**own).for_each(|(word, own)| *word |= own),
        }
    }

    /// Adds a member that it does not have.
    pub fn insert(&mut self, member: u16) {
        match &mut self.members {
            Members::Array(array) => {
                let at = array.partition_point(|&one| one < member);
                let longer = [&array[..at], &[member], &array[at..]].concat();
                *self = Container::from_sorted(self.key, &longer).expect("it has the new member");
            }
            Members::Bitmap(words) => {
                set(&mut Arc::make_mut(words)[..], member);
                self.len += 1;
            }
        }
    }

    /// Takes out one of at least two members.
    pub fn remove(&mut self, member: u16) {
        match &mut self.members {
            Members::Bitmap(words) if self.len as usize > MAX_ARRAY + 1 => {
                clear(Arc::make_mut(words), member);
                self.len -= 1;
            }
            _ => *self = self.minus(&Container::one(self.key, member)).expect("another member is left"),
        }
    }

    /// The intersection; `None` if it is empty.
    pub fn and(&self, other: &Container) -> Option<Container> {
        if self.is_same(other) || other.is_full() {
            return Some(self.clone());
        }
        if self.is_full() {
            return Some(other.clone());
        }
        match (&self.members, &other.members) {
            (Members::Array(one), Members::Array(two)) if one.len() > two.len() => other.and(self),
            (Members::Array(one), Members::Array(two)) => self.only(intersection(one, two)),
            (Members::Array(one), Members::Bitmap(words)) => {
                self.only(one.iter().copied().filter(|&member| has(words, member)).collect())
            }
            (Members::Bitmap(_), Members::Array(_)) => other.and(self),
            (Members::Bitmap(one), Members::Bitmap(two)) => {
                self.shared_or_new(other, each_word(one, two, |one, two| one & two))
            }
        }
    }

    /// The union.
    pub fn or(&self, other: &Container) -> Container {
        if self.is_same(other) || self.is_full() {
            return self.clone();
        }
        if other.is_full() {
            return other.clone();
        }
        match (&self.members, &other.members) {
            (Members::Array(one), Members::Array(two)) => {
                let both = union(one, two);
                Container::from_sorted(self.key, &both).expect("neither is empty")
            }
            (Members::Array(_), Members::Bitmap(_)) => other.or(self),
            (Members::Bitmap(words), Members::Array(array)) => {
                let added = array.iter().filter(|&&member| !has(words, member)).count() as u32;
                if added == 0 {
                    return self.clone();
                }
                let mut words = **words;
                array.iter().for_each(|&member| set(&mut words, member));
                Container { key: self.key, len: self.len + added, members: Members::Bitmap(Arc::new(words)) }
            }
            (Members::Bitmap(one), Members::Bitmap(two)) => {
                let words = each_word(one, two, |one, two| one | two);
                self.shared_or_new(other, words).expect("neither is empty")
            }
        }
    }

    /// The difference; `None` if it is empty.
    pub fn minus(&self, other: &Container) -> Option<Container> {
        if self.is_same(other) || other.is_full() {
            return None;
        }
        match (&self.members, &other.members) {
            (Members::Array(array), Members::Bitmap(words)) => {
                self.only(array.iter().copied().filter(|&member| !has(words, member)).collect())
            }
            (Members::Array(array), Members::Array(gone)) => {
                let mut is_gone = in_order(gone);
                self.only(array.iter().copied().filter(|&member| !is_gone(member)).collect())
            }
            (Members::Bitmap(words), Members::Array(gone)) => {
                let removed = gone.iter().filter(|&&member| has(words, member)).count() as u32;
                if removed == 0 {
                    return Some(self.clone());
                }
                let mut words = **words;
                gone.iter().for_each(|&member| clear(&mut words, member));
                Container::from_counted(self.key, words, self.len - removed)
            }
            (Members::Bitmap(one), Members::Bitmap(two)) => {
                self.shared_or_new(self, each_word(one, two, |one, two| one & !two))
            }
        }
    }

    /// The container of some of the members; this one itself if they are all of them.
    fn only(&self, part: Vec<u16>) -> Option<Container> {
        if part.len() == self.len as usize {
            Some(self.clone())
        } else {
            Container::from_sorted(self.key, &part)
        }
    }

    /// The container of `words`, which are the union, the intersection or the difference of the two. If the result equals one
    /// of them, that one is shared. Equal lengths suffice to tell that.
    fn shared_or_new(&self, other: &Container, words: Bitmap) -> Option<Container> {
        let len = count(&words);
        match [self, other].into_iter().find(|container| container.len == len) {
            Some(container) => Some(container.clone()),
            None => Container::from_counted(self.key, words, len),
        }
    }

    /// Adds the members of another container of the same key. Unshared bitmaps are changed in place.
    pub fn add(&mut self, other: &Container) {
        let own = match &mut self.members {
            Members::Bitmap(own) if !other.is_full() => Arc::get_mut(own),
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

    /// Bytes of the members on the heap.
    pub fn memory_bytes(&self) -> u64 {
        allocator::shared_bytes(match &self.members {
            Members::Array(array) => size_of_val(&**array),
            Members::Bitmap(_) => size_of::<Bitmap>(),
        })
    }
}

/// Iterator over the members of a container, ascending.
#[derive(Clone)]
pub(super) enum ContainerIter<'a> {
    Array(slice::Iter<'a, u16>),
    Bitmap(BitIter<'a>),
}

impl Iterator for ContainerIter<'_> {
    type Item = u16;

    #[inline]
    fn next(&mut self) -> Option<u16> {
        match self {
            ContainerIter::Array(array) => array.next().copied(),
            ContainerIter::Bitmap(bits) => bits.next(),
        }
    }
}
