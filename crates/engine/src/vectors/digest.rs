//! Digests of words. Files and clients keep digests, so they never change.

use super::rotation::split_mix;

/// A digest that words are added to, of 64 bits for each seed. It tells apart what comes by chance, and not what is made to have
/// the digest of something else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest([u64; 2]);

impl Digest {
    /// Of nothing.
    pub fn new(seeds: [u64; 2]) -> Digest {
        Digest(seeds)
    }

    /// Adds a word.
    #[inline(always)]
    pub fn word(&mut self, word: u64) {
        self.0 = self.0.map(|state| split_mix(&mut (state ^ word)));
    }

    /// Adds bytes, and how many they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// Adds numbers of 32 bits, and how many they are.
    pub fn halves(&mut self, halves: impl ExactSizeIterator<Item = u32>) {
        self.word(halves.len() as u64);
        let mut halves = halves;
        while let Some(low) = halves.next() {
            self.word(u64::from(halves.next().unwrap_or_default()) << 32 | u64::from(low));
        }
    }

    /// The digest of what was added.
    pub fn bits(self) -> u128 {
        let [high, low] = self.0;
        u128::from(high) << 64 | u128::from(low)
    }
}

/// The digest of some words.
pub(crate) fn digest(words: &[u64], seeds: [u64; 2]) -> u128 {
    let mut digest = Digest::new(seeds);
    words.iter().for_each(|word| digest.word(*word));
    digest.bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_words_never_changes() {
        assert_eq!(digest(&[], [3, 4]), 3 << 64 | 4);
        assert_eq!(digest(&[0], [0, 0]) >> 64, 0xe220_a839_7b1d_cdaf, "the first number of SplitMix64");
        let words: u128 = digest(&[1, 2, 3], [7, 8]);
        let mut one_by_one = Digest::new([7, 8]);
        [1, 2, 3].into_iter().for_each(|word| one_by_one.word(word));
        assert_eq!(one_by_one.bits(), words);
    }

    #[test]
    fn parts_of_other_lengths_have_other_digests() {
        let of = |parts: &[&[u8]]| {
            let mut digest = Digest::new([1, 2]);
            parts.iter().for_each(|part| digest.bytes(part));
            digest.bits()
        };
        let all =
            [of(&[b"ab", b"c"]), of(&[b"a", b"bc"]), of(&[b"abc"]), of(&[b"abc", b""]), of(&[b"abc\0"])];
        for (at, one) in all.iter().enumerate() {
            assert!(all[..at].iter().all(|other| other != one), "{at}");
        }
        let halves = |numbers: &[u32]| {
            let mut digest = Digest::new([1, 2]);
            digest.halves(numbers.iter().copied());
            digest.bits()
        };
        assert_ne!(halves(&[1]), halves(&[1, 0]));
        let mut bytes = Digest::new([1, 2]);
        bytes.word(2);
        bytes.word(7 << 32 | 5);
        assert_eq!(halves(&[5, 7]), bytes.bits());
    }
}
