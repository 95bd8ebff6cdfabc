//! Bitmaps of 65,536 bits: the members of a dense container.

use super::container::SPAN;

/// 64-bit words of a bitmap.
pub(super) const WORDS: usize = SPAN / 64;

/// A bit for each offset of a container.
pub(super) type Bitmap = [u64; WORDS];

/// Whether a bit is set.
#[inline(always)]
pub(super) fn has(words: &Bitmap, member: u16) -> bool {
    words[usize::from(member) / 64] >> (member % 64) & 1 == 1
}

/// Sets a bit.
pub(super) fn set(words: &mut [u64], member: u16) {
    words[usize::from(member) / 64] |= 1 << (member % 64);
}

/// Clears a bit.
pub(super) fn clear(words: &mut Bitmap, member: u16) {
    words[usize::from(member) / 64] &= !(1 << (member % 64));
}

/// The bitmap of some members.
pub(super) fn bits_of(members: &[u16]) -> Bitmap {
    let mut words = [0; WORDS];
    members.iter().for_each(|&member| set(&mut words, member));
    words
}

/// How many bits are set.
pub(super) fn count(words: &Bitmap) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// Combines two bitmaps word by word.
pub(super) fn each_word(one: &Bitmap, two: &Bitmap, combine: impl Fn(u64, u64) -> u64) -> Bitmap {
    let mut words = [0; WORDS];
    words.iter_mut().zip(one.iter().zip(two)).for_each(|(word, (one, two))| *word = combine(*one, *two));
    words
}

/// The positions of the bits that are set, ascending.
#[derive(Clone)]
pub(super) struct BitIter<'a> {
    words: &'a Bitmap,
    /// The current word.
    at: usize,
    /// Bits of the current word that are not returned yet.
    word: u64,
}

impl<'a> BitIter<'a> {
    pub fn new(words: &'a Bitmap) -> BitIter<'a> {
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
